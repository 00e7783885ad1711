"""ONNX models run by a real runtime, for the tests of the export."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime

from ferl import FERLClassifier
from ferl._models.evidence import SET_LEVEL
from ferl.onnx import onnx_inputs, to_onnx

NAMES = ["label", "pignistic", "belief", "plausibility", "ignorance", "set", "novelty"]
WIDE_NAMES = [
    *("label", "probability", "belief", "plausibility", "ignorance", "rows", "conflict", "set"),
    *("scores", "contributions", "novelty"),
]
NUMBERS = ("pignistic", "probability", "belief", "plausibility", "ignorance", "conflict")
MARGIN = 1e-9  # labels and sets may differ where Python itself is nearer to a tie than this


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(session: onnxruntime.InferenceSession, feed: dict[str, Any]) -> dict[str, Any]:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, feed), strict=True))


def assert_answers(
    result: dict[str, Any], model: FERLClassifier, rows: Any, measure: str | None = None, tolerance: float = 1e-11
) -> None:
    """What a runtime says is what Python says."""
    evidence = model.predict_evidence(rows)
    expected = {name: getattr(evidence, name) for name in NUMBERS if name in result}
    rounding = _rounding(model, tolerance)
    for name, value in expected.items():
        assert result[name].shape == value.shape
        rests_on_distances = "rows" in result and name in ("belief", "plausibility", "ignorance")
        np.testing.assert_allclose(
            result[name], value, rtol=0, atol=rounding if rests_on_distances else tolerance, err_msg=name
        )
    if "novelty" in result:
        novelty = model.novelty(rows, measure=measure)
        np.testing.assert_allclose(result["novelty"], novelty, rtol=rounding, atol=10 * tolerance)
    ranked = np.sort(evidence.probability, axis=1)
    lead = np.inf if ranked.shape[1] == 1 else ranked[:, -1] - ranked[:, -2]
    is_clear = np.broadcast_to(_is_clear(lead, tolerance), len(ranked))
    np.testing.assert_array_equal(result["label"][is_clear], model.predict(rows)[is_clear])
    if "rows" in result:
        np.testing.assert_allclose(result["rows"], evidence.rows, rtol=rounding, atol=tolerance)
        border = np.abs(np.cumsum(-np.sort(-evidence.belief, axis=1), axis=1) - SET_LEVEL)
    else:
        border = np.abs(evidence.plausibility - evidence.belief.max(axis=1, keepdims=True))
    is_clear = _is_clear(border, tolerance).all(axis=1)
    np.testing.assert_array_equal(result["set"][is_clear], evidence.prediction_set()[is_clear])


def _rounding(model: FERLClassifier, tolerance: float) -> float:
    """What distances may differ by: their terms are differences of values that may be far larger than their spread."""
    profile = model.tree_.profile
    magnitude = np.abs(profile.mean[0]) / np.sqrt(profile.total_variance)
    return 10 * tolerance + 4 * np.finfo(np.float64).eps * float(magnitude.max(initial=0.0))


def _is_clear(gap: Any, tolerance: float) -> Any:
    """Not nearly a tie. Exact ties count: what is equal is computed alike."""
    return (gap > MARGIN + tolerance) | (gap == 0)


def assert_exports(
    model: FERLClassifier, rows: Any, measure: str | None = None, feed: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Export a model, run it on rows, and compare."""
    session = session_of(to_onnx(model, novelty=measure or True))
    result = run(session, onnx_inputs(model, rows) if feed is None else feed)
    assert list(result) == NAMES
    assert_answers(result, model, rows, measure)
    return result
