"""A fitted classifier as one ONNX model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.novelty import chosen_measure
from ferl._models.rule_model import RuleModel
from ferl._util.text import shown
from ferl.onnx.evidence import (
    Conditions,
    Firings,
    Rows,
    add_conditions,
    add_evidence,
    add_evidence_of_ends,
    add_firings,
    add_rows,
    add_table,
    speaks_at_ends,
)
from ferl.onnx.graph import IR_VERSION, ML_OPSET, OPSET, Graph, Value
from ferl.onnx.inputs import add_inputs, check_dtype, column_inputs, output_names
from ferl.onnx.novelty import Pairs, add_neighbour_distance, add_novelty, add_wide_novelty
from ferl.onnx.walk import Splits, add_ends
from ferl.onnx.wide import add_contributions, add_masses, add_scores
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from onnx import ModelProto


def to_onnx(
    clf: FERLClassifier, *, novelty: bool | str = True, contributions: bool = False, dtype: str = "float64"
) -> ModelProto:
    """A fitted classifier as an ONNX model, of standard operators only.

    The answers are those of Python up to rounding, about 1e-12: label, evidence, set and novelty, for any number of
    rows at once, with categories, unseen categories and missing values. ``docs/guide/onnx.md`` has examples.

    Parameters
    ----------
    clf : FERLClassifier
        A fitted classifier, of any variant and combination.
    novelty : bool or {"neighbour", "residual"}, default=True
        Whether novelty is among the outputs: the model's own measure, or this one; see
        :meth:`ferl.FERLClassifier.novelty`. The exemplars of "neighbour", which are training rows, make most of the
        file.
    contributions : bool, default=False
        Whether what each wide rule adds to the scores is among the outputs; see
        :meth:`ferl.FERLClassifier.contributions`. Not for trees, which add nothing up.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers that come in and go out. Inside all is double precision: single precision would round values
        across narrow bands.

    Returns
    -------
    onnx.ModelProto
        Inputs: ``X`` of shape (n_samples, n_features) if all features are numbers. Otherwise one input of shape
        (n_samples, 1) for each feature, by its name; categories that are text are strings, with "" for a missing value,
        other categories are doubles. (:func:`ferl.onnx.onnx_inputs` makes them of any table.)

        Outputs: ``label`` (n_samples,), ``pignistic``, ``belief``, ``plausibility`` (n_samples, n_classes),
        ``ignorance`` (n_samples,), ``set``, bool of shape (n_samples, n_classes), and ``novelty`` (n_samples,). Labels
        are strings, int64, bool or double, as in ``clf.classes_``.

        Wide rules have ``probability`` in place of ``pignistic``, ``conflict`` (n_samples,), ``scores`` (n_samples,
        n_classes), the summed weights of evidence, and ``contributions`` (n_samples, n_rules + 1, n_classes) if asked
        for; the last of these are the prior's.

    Raises
    ------
    ImportError
        If the package onnx is not installed: ``pip install "ferl[onnx]"``.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.onnx import onnx_inputs, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    >>> label, ignorance = session.run(["label", "ignorance"], onnx_inputs(clf, X[:3]))
    >>> label.tolist()
    [0, 0, 0]
    >>> bool(abs(ignorance - clf.predict_evidence(X[:3]).ignorance).max() < 1e-12)
    True
    """
    graph = Graph()
    fitted = _checked(clf, novelty, contributions, dtype)
    inputs, encoded = add_inputs(graph, fitted, dtype)
    results = _add_answers(graph, fitted, encoded, novelty, contributions)
    for name, value in results.items():
        is_number = name not in ("label", "set")
        graph.name(graph.cast(value, dtype) if dtype != "float64" and is_number else value, name)
    outputs = [_declared_output(graph, fitted, name, dtype) for name in results]
    helper = graph.onnx.helper
    model: ModelProto = helper.make_model(
        helper.make_graph(graph.nodes, "ferl", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="ferl",
        producer_version=_version(),
        doc_string="Fuzzy rules: label, evidence, prediction set and novelty of each row.",
    )
    helper.set_model_props(model, _properties(fitted))
    return model


def _checked(clf: Any, novelty: bool | str, contributions: bool, dtype: str) -> Model:
    fitted = model_of(clf, "to_onnx")
    check_dtype(dtype)
    if not isinstance(novelty, bool | str):
        raise ValueError(f"novelty is {novelty!r}; it must be True, False, 'neighbour' or 'residual'.")
    if contributions and not isinstance(fitted, RuleModel):
        raise ValueError(
            "contributions=True needs rules, whose weights add up, and this is a tree. Leave it out, or fit a "
            "FERLClassifier."
        )
    return fitted


def _add_answers(
    graph: Graph, model: Model, encoded: Value, novelty: bool | str, contributions: bool
) -> dict[str, Value]:
    """All outputs by their names, rows first."""
    table = add_table(graph, encoded, model.missing_features)
    n_columns = model.n_features + len(model.missing_features)
    asked = None if novelty else model.tree.feature[1:]  # novelty compares in all columns
    if isinstance(model, RuleModel):
        found = _wide_answers(graph, model, add_rows(graph, table, n_columns, asked), novelty, contributions)
    elif (splits := _splits(model)) is not None:
        found = _answers_of_ends(graph, model, splits, table, novelty)
    else:
        found = _tree_answers(graph, model, add_rows(graph, table, n_columns, asked), novelty)
    return {name: found[name] for name in output_names(model) if name in found}


def _gate_margin(model: Model) -> float | None:
    return model.reading.gate_margin if model.reading.support_gate else None


def _splits(model: Model) -> Splits | None:
    """The splits of a tree of which nothing but where paths end is needed."""
    return Splits.of(model.tree, _gate_margin(model)) if speaks_at_ends(model) else None


def _answers_of_ends(graph: Graph, model: Model, splits: Splits, table: Value, novelty: bool | str) -> dict[str, Value]:
    """Outputs of a tree by the leaves that a row reaches; only the residual asks all nodes."""
    tree, measure = model.tree, None if novelty is True else novelty
    ends = add_ends(graph, tree, splits, table)
    found = _tree_outputs(graph, model, *add_evidence_of_ends(graph, model, ends))
    if measure is False:
        return found
    rows = add_rows(graph, table, model.n_features + len(model.missing_features))
    if chosen_measure(model.tree, measure) == "neighbour":
        return found | {"novelty": add_neighbour_distance(graph, tree, rows, Pairs(ends.row, ends.leaf))}
    conditions = add_conditions(graph, tree, rows, _gate_margin(model))
    firings = add_firings(graph, tree, rows, conditions, model.reading.support_gate)
    return found | {"novelty": _tree_novelty(graph, model, rows, conditions, firings, measure)}


def _tree_answers(graph: Graph, model: Model, rows: Rows, novelty: bool | str) -> dict[str, Value]:
    """Outputs of a tree by the firings of all nodes."""
    tree, gated = model.tree, model.reading.support_gate
    conditions = add_conditions(graph, tree, rows, _gate_margin(model)) if tree.n_nodes > 1 else None
    firings = add_firings(graph, tree, rows, conditions, gated)
    found = _tree_outputs(graph, model, *add_evidence(graph, model, firings))
    if novelty is False:
        return found
    measure = None if novelty is True else novelty
    return found | {"novelty": _tree_novelty(graph, model, rows, conditions, firings, measure)}


def _tree_novelty(
    graph: Graph, model: Model, rows: Rows, conditions: Conditions | None, firings: Firings, measure: str | None
) -> Value:
    gated = model.reading.support_gate
    ungated = add_firings(graph, model.tree, rows, conditions, False) if gated else firings
    return add_novelty(graph, model, rows, conditions, firings, ungated, measure)


def _tree_outputs(graph: Graph, model: Model, belief: Value, ignorance: Value) -> dict[str, Value]:
    matrices = {
        "pignistic": graph("Add", belief, graph("Div", ignorance, float(model.tree.n_classes))),
        "belief": belief,
        "plausibility": graph("Add", belief, ignorance),
    }
    return _judged(graph, model, matrices, "pignistic") | {"ignorance": graph.remove_axis(ignorance, 0)}


def _wide_answers(
    graph: Graph, model: RuleModel, rows: Rows, novelty: bool | str, contributions: bool
) -> dict[str, Value]:
    scores = add_scores(graph, model, rows)
    masses = add_masses(graph, scores, len(model.classes))
    matrices = {
        "probability": masses.probability,
        "belief": masses.belief,
        "plausibility": masses.plausibility,
        "scores": scores.scores,
    }
    found = _judged(graph, model, matrices, "probability")
    found |= {name: graph.remove_axis(getattr(masses, name), 0) for name in ("ignorance", "conflict")}
    if contributions:
        found["contributions"] = add_contributions(graph, model, scores, rows)
    if novelty is not False:
        found["novelty"] = add_wide_novelty(graph, model, rows, scores, None if novelty is True else novelty)
    return found


def _judged(graph: Graph, model: Model, matrices: dict[str, Value], probability: str) -> dict[str, Value]:
    """Matrices with the rows first, and what follows of them: set and label."""
    largest = graph("ReduceMax", matrices["belief"], axes=[0], keepdims=1)
    inside = graph("GreaterOrEqual", matrices["plausibility"], graph("Sub", largest, _core.TIE))
    code = graph("ArgMax", matrices[probability], axis=0, keepdims=0)
    found = {name: graph("Transpose", own, perm=[1, 0]) for name, own in {**matrices, "set": inside}.items()}
    return found | {"label": graph("Gather", _labels(model.classes), code)}


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in a type that ONNX and all languages have: text, int64, bool or float64."""
    kind = classes.dtype.kind
    if kind in "iu" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    if kind == "b" or (kind in "OUT" and all(isinstance(label, str) for label in classes.tolist())):
        return classes
    raise ValueError(
        f"The labels are {shown(classes.tolist())}, of {classes.dtype}; labels that are text, integers up to 2**63, "
        "floats or booleans can be exported. Fit with such labels."
    )


def _declared_output(graph: Graph, model: Model, name: str, dtype: str) -> Any:
    """Type and shape of an output."""
    helper = graph.onnx.helper
    per_row = ("label", "ignorance", "conflict", "novelty")
    width = [] if name in per_row else [len(model.classes)]
    if name == "contributions":
        width = [model.n_rules + 1, *width]
    labels = _labels(model.classes)
    own: Any = {"label": object if labels.dtype.kind in "OUT" else labels.dtype, "set": bool}.get(name, dtype)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(own)), ["n_rows", *width])


def _properties(model: Model) -> dict[str, str]:
    """What a reader of the file may want to know, as JSON where it is not one word."""
    inputs = column_inputs(model)
    properties: dict[str, Any] = {
        "ferl_version": _version(),
        "model": model.kind,
        **{name: str(value) for name, value in vars(model.reading).items()},
        "classes": json.dumps(model.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(model.feature_names(), ensure_ascii=False),
    }
    if inputs is not None:
        properties["inputs"] = json.dumps({own.name: own.form for own in inputs}, ensure_ascii=False)
    return properties


def _version() -> str:
    from ferl import __version__

    return __version__
