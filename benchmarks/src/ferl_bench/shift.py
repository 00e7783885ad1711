"""Test rows that move away from the training rows, and what prediction sets make of them.

Two shifts: noise on every feature, in growing multiples of its standard deviation; and training below, testing above
the middle of a feature that the classifier does not see. Trees are calibrated on rows that did not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl._util.arrays import Floats
from ferl_bench.conformal import ALPHA
from ferl_bench.data import DataSet, encode
from ferl_bench.errors import BenchError
from ferl_bench.methods.ferl import MODELS, fit
from ferl_bench.protocol import CALIBRATION_SHARE, can_stratify, make_folds, measure_sets

if TYPE_CHECKING:
    from ferl import FERLClassifier
    from ferl.conformal import ConformalFERL

Rows = NDArray[np.intp]
Figures = dict[str, float]

LEVELS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
N_SEEDS = 3
MIN_ROWS = 300
MIN_CLASSES = 3
N_NOISE_SETS = 7
N_HALF_SETS = 10
KINDS = ("ds", "global", "textbook", "native")
"""Conformal by plausibility, conformal by probability, the same where sets may be empty, and the evidence's own."""


def numeric_sets(data_sets: Sequence[DataSet]) -> list[DataSet]:
    """Return the data sets without categories and with enough rows, in alphabetical order."""
    able = [data for data in data_sets if not data.categorical.shape[1] and data.n_rows >= MIN_ROWS]
    return sorted(able, key=lambda data: data.name)


def noise_sets(data_sets: Sequence[DataSet]) -> list[DataSet]:
    """Return the data sets of the noise study: the first seven numeric ones with at least three classes.

    The paper does not name its seven. Its mean set size of 4.10 at level 1 rules out that most have two classes.
    """
    return [data for data in numeric_sets(data_sets) if len(data.class_names) >= MIN_CLASSES][:N_NOISE_SETS]


def half_sets(data_sets: Sequence[DataSet]) -> list[DataSet]:
    """Return the data sets of the half-range study, which the paper does not name: the first ten it can be done on."""
    return [data for data in numeric_sets(data_sets) if data.numeric.shape[1] >= 2][:N_HALF_SETS]


def under_noise(data: DataSet) -> dict[float, Figures]:
    """Return the figures at each level of noise, means over seeds.

    Parameters
    ----------
    data : DataSet
        A numeric data set.

    Returns
    -------
    dict
        By level: accuracy, ignorance, and for each kind of set its coverage and size.
    """
    runs: dict[float, list[Figures]] = {level: [] for level in LEVELS}
    for fold in make_folds(data.y)[:N_SEEDS]:
        reader = Reader.prepare(data, fold.fitting, fold.calibration, fold.index)
        X_fit, X_test = encode(data, fold.fitting, fold.test)
        noise = np.random.default_rng(fold.index).normal(size=X_test.shape) * X_fit.std(axis=0)
        for level in LEVELS:
            runs[level].append(reader.figures(X_test + level * noise, data.y[fold.test]))
    return {level: _mean(figures) for level, figures in runs.items()}


@dataclass(frozen=True)
class Halves:
    """A feature, and the rows below and above the middle of its range."""

    column: int
    lower: Rows
    upper: Rows


def halve(data: DataSet) -> Halves:
    """Divide the rows at the middle of a feature's range, the feature that gives the most equal halves.

    The paper does not say which feature it holds out.
    """
    low, high = data.numeric.min(axis=0), data.numeric.max(axis=0)
    above = data.numeric > low + (high - low) / 2
    column = int(np.argmin(np.abs(above.mean(axis=0) - 0.5)))
    halves = Halves(column, np.flatnonzero(~above[:, column]), np.flatnonzero(above[:, column]))
    if len(np.unique(data.y[halves.lower])) < 2 or not len(halves.upper):
        raise BenchError(f"{data.name} cannot be divided at the middle of a feature: one half lacks rows or classes")
    return halves


def above_the_middle(data: DataSet) -> Figures:
    """Return the figures on the upper half of a held-out feature, fitted and calibrated on the lower; means over seeds.

    Parameters
    ----------
    data : DataSet
        A numeric data set with two features or more.

    Returns
    -------
    dict
        Accuracy, ignorance, and for each kind of set its coverage and size; the feature, and the rows of each half.
    """
    halves = halve(data)
    rest = replace(data, numeric=np.delete(data.numeric, halves.column, axis=1))
    runs = []
    for seed in range(N_SEEDS):
        y = data.y[halves.lower]
        fitting, calibration = train_test_split(
            halves.lower, test_size=CALIBRATION_SHARE, random_state=seed, stratify=y if can_stratify(y) else None
        )
        reader = Reader.prepare(rest, fitting, calibration, seed)
        runs.append(reader.figures(encode(rest, fitting, halves.upper)[1], data.y[halves.upper]))
    return {
        "feature": float(halves.column),
        "n_lower": float(len(halves.lower)),
        "n_upper": float(len(halves.upper)),
        **_mean(runs),
    }


@dataclass(frozen=True)
class Reader:
    """A fitted deep tree with its conformal readings."""

    model: FERLClassifier
    conformal: dict[str, ConformalFERL]
    n_classes: int

    @staticmethod
    def prepare(data: DataSet, fitting: Rows, calibration: Rows, seed: int) -> Reader:
        """Fit on one part and calibrate on another."""
        from ferl.conformal import ConformalFERL

        X_fit, X_calibration = encode(data, fitting, calibration)
        model = fit(MODELS["deep"], X_fit, data.y[fitting], seed)
        wrappers = {
            "ds": ConformalFERL(model, nonconformity="plausibility"),
            "global": ConformalFERL(model, nonconformity="probability"),
            "textbook": ConformalFERL(model, nonconformity="probability", allow_empty=True),
        }
        conformal = {kind: one.conformalize(X_calibration, data.y[calibration]) for kind, one in wrappers.items()}
        return Reader(model, conformal, len(data.class_names))

    def figures(self, X: Floats, y: NDArray[np.int64]) -> Figures:
        """Return accuracy, mean ignorance, and coverage and mean size of each kind of set."""
        model = self.model
        figures = {
            "accuracy": float(np.mean(model.predict(X) == y)),
            "ignorance": float(model.predict_evidence(X).ignorance.mean()),
        }
        sets = {kind: one.predict_set(X, alpha=ALPHA) for kind, one in self.conformal.items()}
        for kind, item in {**sets, "native": model.predict_set(X)}.items():
            measured = measure_sets(y, item, model.classes_, self.n_classes)
            figures |= {f"{kind}_coverage": measured["set_coverage"], f"{kind}_size": measured["set_size"]}
        return figures


def _mean(runs: Sequence[Figures]) -> Figures:
    return {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
