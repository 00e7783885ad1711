"""What the defaults of conformal sets and of risk-controlled abstention were chosen over, on training rows only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl_bench.method import Method
from ferl_bench.render import Report
from ferl_bench.rows import SETS, Measure, Row, make_row, method_section, require_some
from ferl_bench.table import Request, Table

ALPHA = 0.1
RISK, CONFIDENCE = 0.1, 0.9
INNER_SHARE = 1 / 3  # of the fitting part, to calibrate

# The default first; each other line changes one thing.
SCORES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("probability", {}),
    ("plausibility", {"nonconformity": "plausibility"}),
    ("APS", {"nonconformity": "aps"}),
    ("APS, randomised", {"nonconformity": "aps", "randomised": True}),
    ("RAPS 0.05", {"nonconformity": "raps", "raps_penalty": 0.05}),
    ("RAPS 0.1", {"nonconformity": "raps", "raps_penalty": 0.1}),
    ("RAPS 0.2", {"nonconformity": "raps", "raps_penalty": 0.2}),
    ("RAPS 0.5", {"nonconformity": "raps", "raps_penalty": 0.5}),
    ("RAPS 0.1, 2 free", {"nonconformity": "raps", "raps_penalty": 0.1, "raps_free_classes": 2}),
    ("RAPS 0.2, 2 free", {"nonconformity": "raps", "raps_penalty": 0.2, "raps_free_classes": 2}),
    ("RAPS 0.1, randomised", {"nonconformity": "raps", "raps_penalty": 0.1, "randomised": True}),
    ("RAPS 0.2, randomised", {"nonconformity": "raps", "raps_penalty": 0.2, "randomised": True}),
    ("probability, empty sets", {"allow_empty": True}),
    ("probability, 5 folds", {"cv": 5}),
    ("plausibility, 5 folds", {"nonconformity": "plausibility", "cv": 5}),
    ("probability, 10 folds", {"cv": 10}),
)
ABSTENTION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("margin, 1 start", {}),
    ("margin, 2 starts", {"n_starts": 2}),
    ("margin, 3 starts", {"n_starts": 3}),
    ("margin, 5 starts", {"n_starts": 5}),
    ("margin, 10 starts", {"n_starts": 10}),
    ("margin, Bonferroni of 5", {"method": "bonferroni", "n_thresholds": 5}),
    ("margin, Bonferroni of 10", {"method": "bonferroni", "n_thresholds": 10}),
    ("margin, Bonferroni of 20", {"method": "bonferroni", "n_thresholds": 20}),
    ("margin, Bonferroni of 50", {"method": "bonferroni", "n_thresholds": 50}),
    ("belief", {"signal": "belief"}),
    ("ignorance", {"signal": "ignorance"}),
    ("novelty", {"signal": "novelty"}),
    ("learned", {"signal": "learned"}),
)
SELECTED = (Measure("determinacy", "Answered %", 100, 1), Measure("selective_error", "Wrong among answered %", 100, 1))
NOTES = (
    f"Fitted on two thirds of the fitting part, calibrated on the rest of it (with folds: both on all of it), alpha = "
    f"{ALPHA}, judged on the calibration part. Deep trees.",
    "The first line is the default. 'native': the sets of the evidence alone, fitted on all of the fitting part.",
)
ABSTENTION_NOTES = (
    f"Fitted and calibrated in the same way; risk {RISK}, confidence {CONFIDENCE}. Where the promise cannot be kept "
    "nothing is answered. Wrong among answered: over data sets and folds together.",
)


@dataclass(frozen=True, eq=False)
class Silent:
    """Abstains everywhere: what is left when there are too few rows to promise anything."""

    estimator_: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.estimator_.classes_)

    def predict_set(self, X: NDArray[np.float64]) -> NDArray[np.bool_]:
        """The whole frame for every row."""
        return np.ones((len(X), len(self.classes_)), dtype=bool)


@dataclass(frozen=True, eq=False)
class Judged:
    """A wrapper as a method of the benchmark: answers of its classifier, and its sets."""

    wrapper: Any

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return np.asarray(self.wrapper.classes_)

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Labels without abstention."""
        return np.asarray(self.wrapper.estimator_.predict(X))

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Probabilities."""
        return np.asarray(self.wrapper.estimator_.predict_proba(X))


def _fit_conformal(parameters: dict[str, Any], X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Judged:
    from ferl import FERLTreeClassifier
    from ferl.conformal import ConformalFERL

    model = ConformalFERL(
        FERLTreeClassifier("deep", random_state=seed, n_jobs=1), few_rows="include", random_state=seed, **parameters
    )
    if model.cv is not None:
        return Judged(model.fit(X, y))
    first, second = _halves(y, seed)
    return Judged(model.fit(X[first], y[first]).conformalize(X[second], y[second]))


def _fit_abstention(parameters: dict[str, Any], X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Judged:
    from ferl import FERLTreeClassifier
    from ferl.abstention import RiskControlledFERL, UnmetRiskWarning, least_answered_rows

    first, second = _halves(y, seed)
    model = RiskControlledFERL(
        FERLTreeClassifier("deep", random_state=seed, n_jobs=1),
        risk=RISK,
        confidence=CONFIDENCE,
        random_state=seed,
        **parameters,
    )
    model.fit(X[first], y[first])
    n_tests = model.n_thresholds if model.method == "bonferroni" else 1
    if len(second) < least_answered_rows(RISK, (1 - CONFIDENCE) / n_tests):
        return Judged(Silent(model.estimator_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnmetRiskWarning)
        return Judged(model.calibrate(X[second], y[second]))


def _fit_native(X: NDArray[np.float64], y: NDArray[np.int64], seed: int) -> Any:
    from ferl import FERLTreeClassifier

    return FERLTreeClassifier("deep", random_state=seed, n_jobs=1).fit(X, y)


def _halves(y: NDArray[np.int64], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to fit on and rows to calibrate on, drawn without looking at the labels: that is what is guaranteed for."""
    first, second = train_test_split(np.arange(len(y)), test_size=INNER_SHARE, random_state=seed)
    return first, second


def _set_of(fitted: Any, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    inner = fitted.wrapper if isinstance(fitted, Judged) else fitted
    return np.asarray(inner.predict_set(X))


def _size(fitted: Any) -> int:
    return 0


def _method(kind: str, label: str, parameters: Mapping[str, Any]) -> Method:
    fits = {"sets": _fit_conformal, "abstention": _fit_abstention}
    return Method(
        name=f"{kind}: {label}",
        fit=partial(fits[kind], dict(parameters)),
        size=_size,
        prediction_set=_set_of,
        parameters={**parameters, "alpha": ALPHA, "risk": RISK, "confidence": CONFIDENCE, "inner": INNER_SHARE},
        is_ours=True,
        judged_on="calibration",
    )


def run_defaults_trust(request: Request) -> Report:
    """Measure each alternative on the calibration parts."""
    from ferl import FERLClassifier

    native = Method("sets: native", _fit_native, _size, _set_of, is_ours=True, judged_on="calibration")
    sets = [*(_method("sets", *alternative) for alternative in SCORES), native]
    has_novelty = hasattr(FERLClassifier, "novelty")
    abstention = [_method("abstention", *given) for given in ABSTENTION if has_novelty or given[0] != "novelty"]
    results = request.results([*sets, *abstention])
    set_rows = [_renamed(make_row(method, results)) for method in sets]
    selected = [_with_error(_renamed(make_row(method, results))) for method in abstention]
    require_some([*set_rows, *selected])
    return Report(
        name="defaults_trust",
        title="Defaults of conformal sets and of abstention, judged on the calibration parts (test rows are not "
        "looked at)",
        facts=request.facts(),
        sections=[
            method_section("Conformal sets", set_rows, SETS, [*NOTES, *_failures(set_rows)]),
            method_section("Abstention", selected, SELECTED, [*ABSTENTION_NOTES, *_failures(selected)]),
        ],
        data={
            "sets": {row.method.name: {measure.key: row.centre(measure.key) for measure in SETS} for row in set_rows},
            "abstention": {
                row.method.name: {measure.key: row.centre(measure.key) for measure in SELECTED} for row in selected
            },
        },
        failures=_failures([*set_rows, *selected]),
    )


def _failures(rows: Sequence[Row]) -> list[str]:
    return [
        f"{row.method.name}: {len(row.failures)} folds failed, the first on {row.failures[0].data_set}: "
        f"{row.failures[0].error}"
        for row in rows
        if row.failures
    ]


def _renamed(row: Row) -> Row:
    return replace(row, method=replace(row.method, name=row.method.name.split(": ", 1)[1]))


def _with_error(row: Row) -> Row:
    """Add the error rate among answered rows: an abstention is the whole frame, so only answers can miss."""
    missed = sum(1 - measures["set_coverage"] for measures in row.data_sets.values())
    answered = sum(measures["determinacy"] for measures in row.data_sets.values())
    if not answered:
        return row
    error = {"selective_error": missed / answered}
    return replace(row, data_sets={name: {**item, **error} for name, item in row.data_sets.items()})


TABLE = Table(
    summary="What the defaults of conformal sets and abstention were chosen over, on training rows only.",
    run=run_defaults_trust,
    chapter="Choices of defaults",
    minutes=3,
)
