"""Conformal sets in the benchmark: what is calibrated, on which rows, and what comes out."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ferl_bench.cache import fingerprint
from ferl_bench.conformal import (
    AdaptiveSets,
    AllClasses,
    conformal_quantile,
    with_adaptive_sets,
    with_ferl_sets,
    with_mapie_sets,
)
from ferl_bench.data import DataSet, encode, load_csv
from ferl_bench.errors import NotInstalledError, require
from ferl_bench.method import Method, get_method
from ferl_bench.protocol import evaluate, make_folds


class Table:
    """A classifier that looks its probabilities up: row ``x`` has those of line ``int(x)``."""

    def __init__(self, probabilities: list[list[float]], classes: list[int]) -> None:
        self.probabilities, self.classes_ = np.array(probabilities), np.array(classes)

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.probabilities[X[:, 0].astype(int)])

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


@pytest.fixture
def blobs(tmp_path: Path) -> DataSet:
    """Three overlapping classes of 45 rows, and two rows of a rare one, which two folds do not see in fitting."""
    rng = np.random.default_rng(0)
    lines = [f"{rng.normal(k):.3f},{rng.normal(-k):.3f},{k}" for k in [0, 1, 2] * 45 + [3] * 2]
    (tmp_path / "blobs.csv").write_text("\n".join(["x0,x1,class", *lines]) + "\n")
    return load_csv(tmp_path / "blobs.csv")


def test_the_quantile_counts_the_new_row() -> None:
    assert conformal_quantile(np.arange(1.0, 10.0), 0.1) == 9.0  # the ninth of nine
    assert conformal_quantile(np.arange(1.0, 20.0), 0.1) == 18.0
    with pytest.raises(ValueError, match=r"8 calibration rows are too few for alpha=0\.1; it takes at least 9"):
        conformal_quantile(np.arange(8.0), 0.1)


def test_adaptive_sets_by_hand() -> None:
    """Scores are 0.6, 0.9 and 1 for the first, second and third class; 18 of 19 rows have the second at most."""
    table = Table([[0.6, 0.3, 0.1], [0.95, 0.05, 0.0], [0.4, 0.3, 0.3]], [0, 1, 2])
    adaptive = AdaptiveSets(table, np.zeros((19, 1)), np.array([0] * 12 + [1] * 6 + [2]))
    assert adaptive.threshold == pytest.approx(0.9)
    # In the second row the best class alone has more than 0.9; in the third, equals are out together.
    sets = adaptive.predict_set(np.array([[0.0], [1.0], [2.0]]))
    assert sets.tolist() == [[True, True, False], [False, False, False], [True, False, False]]


def test_a_label_the_classifier_does_not_know_is_the_worst_surprise() -> None:
    table = Table([[0.6, 0.4]], [0, 2])
    for unknown in (1, 3):
        adaptive = AdaptiveSets(table, np.zeros((9, 1)), np.array([0] * 8 + [unknown]))
        assert adaptive.threshold == np.inf
        assert adaptive.predict_set(np.zeros((1, 1))).all()


def test_every_class_has_a_column() -> None:
    padded = AllClasses(Table([[0.6, 0.4]], [0, 2]), 4)
    assert padded.predict_proba(np.zeros((2, 1))).tolist() == [[0.6, 0.0, 0.4, 0.0]] * 2
    assert padded.predict(np.zeros((1, 1))).tolist() == [0]


def test_calibration_sees_the_calibration_part_and_the_answers_stay(blobs: DataSet) -> None:
    seen: list[Any] = []

    def calibrate(fitted: Any, X: np.ndarray, y: np.ndarray) -> Any:
        seen.append((X, y))
        return "calibrated"

    def prediction_set(calibrated: Any, X: np.ndarray) -> np.ndarray:
        assert calibrated == "calibrated"
        return np.ones((len(X), 4), dtype=bool)

    tree = get_method("CART")
    wrapped = replace(tree, calibrate=calibrate, prediction_set=prediction_set)
    fold = next(fold for fold in make_folds(blobs.y) if len(np.unique(blobs.y[fold.fitting])) == 4)
    measured = evaluate(blobs, fold.index, wrapped)
    ((X, y),) = seen
    np.testing.assert_array_equal(y, blobs.y[fold.calibration])
    np.testing.assert_array_equal(X, encode(blobs, fold.fitting, fold.calibration)[1])
    assert measured["accuracy"] == evaluate(blobs, fold.index, tree)["accuracy"]
    assert measured["set_size"] == 4
    with pytest.raises(ValueError, match="cannot be judged on it as well"):
        evaluate(blobs, 0, replace(wrapped, judged_on="calibration"))


def _measured(blobs: DataSet, method: Method) -> dict[str, float]:
    folds = [evaluate(blobs, fold, method) for fold in range(5)]
    return {key: float(np.mean([fold[key] for fold in folds])) for key in folds[0]}


@pytest.mark.parametrize("score", ["plausibility", "probability", "aps"])
def test_sets_of_a_deep_tree_cover_what_they_promise(blobs: DataSet, score: str) -> None:
    deep = get_method("FERL-deep")
    wrapped = with_ferl_sets(deep, f"deep, {score}", score)
    measured = _measured(blobs, wrapped)
    assert measured["set_coverage"] > 0.84
    assert measured["accuracy"] == _measured(blobs, deep)["accuracy"]
    assert fingerprint(blobs, 0, wrapped) != fingerprint(blobs, 0, replace(deep, name=wrapped.name))


def test_sets_of_rivals_cover_what_they_promise(blobs: DataSet) -> None:
    adaptive = _measured(blobs, with_adaptive_sets(get_method("Logistic regression"), "adaptive", {}))
    assert adaptive["set_coverage"] > 0.84
    assert adaptive["set_size"] > 1


def test_mapie_gives_the_textbook_sets_but_for_empty_ones(blobs: DataSet) -> None:
    pytest.importorskip("mapie", reason="mapie is not installed: pip install './benchmarks[rivals]'")
    wrapped = with_mapie_sets(get_method("Logistic regression"), "LR, 1 - p")
    assert "MAPIE" in wrapped.packages
    assert any(3 not in blobs.y[fold.fitting] and 3 in blobs.y[fold.calibration] for fold in make_folds(blobs.y))
    for fold in make_folds(blobs.y):
        X_fit, X_calibration, X_test = encode(blobs, fold.fitting, fold.calibration, fold.test)
        fitted = wrapped.fit(X_fit, blobs.y[fold.fitting], fold.index)
        y = blobs.y[fold.calibration]
        padded = AllClasses(fitted, 4).predict_proba(X_calibration)
        threshold = conformal_quantile(1 - padded[np.arange(len(y)), y], 0.1)
        assert wrapped.calibrate is not None
        assert wrapped.prediction_set is not None
        sets = wrapped.prediction_set(wrapped.calibrate(fitted, X_calibration, y), X_test)
        probability = fitted.predict_proba(X_test)
        best = probability == probability.max(axis=1, keepdims=True)
        np.testing.assert_array_equal(sets, (1 - probability <= threshold) | best)


def test_an_absent_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(NotInstalledError, match=r"xgboost is not installed \(pip install './benchmarks\[rivals\]'\)"):
        require("xgboost")
    with pytest.raises(NotInstalledError, match="xgboost is not installed"):
        get_method("XGBoost").fit(np.zeros((4, 1)), np.array([0, 1, 0, 1]), 0)


def test_xgboost_takes_labels_with_gaps() -> None:
    pytest.importorskip("xgboost", reason="xgboost is not installed: pip install './benchmarks[rivals]'")
    rng = np.random.default_rng(0)
    y = np.repeat([1, 4], 30)
    X = rng.normal(size=(60, 2)) + y[:, None]
    method = get_method("XGBoost")
    fitted = method.fit(X, y, 0)
    assert fitted.classes_.tolist() == [1, 4]
    assert np.mean(fitted.predict(X) == y) > 0.9
    assert method.size is not None
    assert method.size(fitted) >= 100
