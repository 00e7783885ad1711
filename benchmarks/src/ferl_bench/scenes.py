"""Tables in which some rows have few training rows behind them, each in a way of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split

from ferl._util.arrays import Floats

N_ROWS, N_TESTED = 1000, 500  # training rows of the scenes that are drawn, and tested rows of either kind
SPARSE_SHARE, RARE_SHARE = 0.03, 0.01
N_COLUMNS = 5
HOLE_RADIUS = 0.4
TOYS = {"iris": load_iris, "wine": load_wine, "digits": load_digits}

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Scene:
    """A training table, and tested rows: usual ones, and ones that have few training rows or none like them.

    Attributes
    ----------
    X, usual, unusual : array or data frame
        Training rows, and the tested ones.
    y : ndarray of shape (n_rows,)
        Labels of the training rows.
    """

    X: Any
    y: Codes
    usual: Any
    unusual: Any


def sparse_region(random: np.random.Generator) -> Scene:
    """Two clusters, 97 % and 3 % of the rows; the first two columns separate them and decide the label."""
    centre = np.zeros(N_COLUMNS)
    centre[:2] = 4.0

    def rows(n: int, is_sparse: NDArray[np.bool_]) -> Floats:
        return np.asarray(random.normal(size=(n, N_COLUMNS)) + is_sparse[:, None] * centre)

    is_sparse = np.arange(N_ROWS) < SPARSE_SHARE * N_ROWS
    X = rows(N_ROWS, is_sparse)
    y = _flip(expit(2 * (X - is_sparse[:, None] * centre)[:, :2].sum(axis=1)), random)
    return Scene(X, y, rows(N_TESTED, np.zeros(N_TESTED, bool)), rows(N_TESTED, np.ones(N_TESTED, bool)))


def rare_category(random: np.random.Generator) -> Scene:
    """A column of six categories, one of them rare; two numbers and the category decide the label."""
    names = np.array(list("abcdef"))
    effect = random.normal(size=len(names))

    def rows(code: Codes) -> pd.DataFrame:
        numbers = pd.DataFrame(random.normal(size=(len(code), 4)), columns=[f"x{j}" for j in range(4)])
        return numbers.assign(kind=names[code])

    code = random.integers(0, len(names) - 1, N_ROWS)
    code[: round(RARE_SHARE * N_ROWS)] = len(names) - 1
    X = rows(code)
    y = _flip(expit(2 * (X["x0"] - X["x1"]).to_numpy() + effect[code]), random)
    usual, rare = random.integers(0, len(names) - 1, N_TESTED), np.full(N_TESTED, len(names) - 1)
    return Scene(X, y, rows(usual), rows(rare))


def hole(random: np.random.Generator) -> Scene:
    """A hole anywhere inside the range; the label follows a line, a product or waves of two columns."""
    return _with_hole(random, random.uniform(-0.6, 0.6, size=2), LABELS[random.integers(len(LABELS))])


def hole_in_the_middle(random: np.random.Generator) -> Scene:
    """A hole in the very middle, across which a straight line leads."""
    return _with_hole(random, np.zeros(2), LABELS[0])


LABELS: tuple[Callable[[Floats, Floats], Floats], ...] = (
    lambda a, b: 3 * (a + b),
    lambda a, b: 4 * a * b,
    lambda a, b: 3 * np.sin(3 * a) + 3 * np.cos(3 * b) * a,
)
"""Logarithms of the odds of the class 1, of two columns between -1 and 1."""


def _with_hole(random: np.random.Generator, centre: Floats, label: Callable[[Floats, Floats], Floats]) -> Scene:
    """Columns that are uniform between -1 and 1, without training rows near one place of the two that decide."""

    def rows(n: int, is_inside: bool) -> Floats:
        drawn = random.uniform(-1, 1, size=(40 * n, N_COLUMNS))
        distance = np.hypot(drawn[:, 0] - centre[0], drawn[:, 1] - centre[1])
        return np.asarray(drawn[(distance < HOLE_RADIUS) == is_inside][:n])

    X = rows(N_ROWS, is_inside=False)
    y = _flip(expit(label(X[:, 0], X[:, 1])), random)
    return Scene(X, y, rows(N_TESTED, is_inside=False), rows(N_TESTED, is_inside=True))


def one_feature_outside(random: np.random.Generator) -> Scene:
    """Usual rows with one column, any of them, half a range below the least or above the largest training value."""
    X, usual = random.normal(size=(N_ROWS, N_COLUMNS)), random.normal(size=(N_TESTED, N_COLUMNS))
    y = _flip(expit(X @ random.normal(size=N_COLUMNS)), random)
    least, largest = X.min(axis=0), X.max(axis=0)
    half = (largest - least) / 2
    moved, column = usual.copy(), random.integers(0, N_COLUMNS, N_TESTED)
    value = np.where(random.random(N_TESTED) < 0.5, (least - half)[column], (largest + half)[column])
    moved[np.arange(N_TESTED), column] = value
    return Scene(X, y, usual, moved)


DRAWN: dict[str, Callable[[np.random.Generator], Scene]] = {
    "sparse region": sparse_region,
    "rare category": rare_category,
    "hole inside the range": hole,
    "hole in the middle, straight labels": hole_in_the_middle,
    "one feature outside": one_feature_outside,
}


def left_out(name: str, seed: int) -> Iterator[Scene]:
    """Each class of a data set of scikit-learn left out in turn; 30 % of the rows are tested."""
    X, y = TOYS[name](return_X_y=True)
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed)
    for label in np.unique(y):
        known = train[y[train] != label]
        yield Scene(X[known], y[known], X[test[y[test] != label]], X[test[y[test] == label]])


def _flip(probability: Floats, random: np.random.Generator) -> Codes:
    """Labels 0 and 1 with these probabilities of 1."""
    return np.asarray(random.random(len(probability)) < probability, dtype=np.int64)
