"""How unlike the training rows a row is, by feature, beside what is usual where it arrives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model, kept_by_model
from ferl._models.novelty import share_below, usual_residual
from ferl._tables import OneRow
from ferl._util.arrays import Floats
from ferl._util.text import listed, number_text, plain, spoken

UNUSUAL, VERY_UNUSUAL = 0.95, 0.99  # shares of the training rows
LEAST_FIRING = 0.05  # of a rule whose training rows define what is usual
MOST_USUAL = 4  # categories that are called usual


@dataclass(frozen=True)
class Usual:
    """What the training rows of the rules that a row reaches have in one feature.

    Attributes
    ----------
    low, high : float or None
        Nine rows out of ten lie between; None for categories.
    categories : tuple
        The most frequent ones, of a feature of categories.
    """

    low: float | None = None
    high: float | None = None
    categories: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        """In words; "" where nothing is known."""
        if self.categories:
            return listed([spoken(category) for category in self.categories], "or")
        if self.low is None or self.high is None:
            return ""
        low, high = number_text(self.low), number_text(self.high)
        return low if self.low == self.high else f"{low} to {high}"

    def to_dict(self) -> dict[str, Any]:
        """In the types of JSON."""
        if self.categories:
            return {"categories": [plain(category) for category in self.categories]}
        return {"low": plain(self.low), "high": plain(self.high)}


@dataclass(frozen=True)
class NoveltyPart:
    """One feature's part in novelty.

    Attributes
    ----------
    feature : str
        Its name.
    value : object
        The row's value; None where it is missing.
    part : float
        What it adds to the novelty.
    usual : Usual or None
        What training rows have there; None where nothing is known of them.
    is_unusual : bool
        Whether the value lies clearly outside: by more than one standard deviation inside rules, or an unseen category.
    """

    feature: str
    value: Any
    part: float
    usual: Usual | None
    is_unusual: bool

    @property
    def usual_text(self) -> str:
        """What is usual, in words; "" where nothing is known."""
        return "" if self.usual is None else self.usual.text

    @property
    def is_outside(self) -> bool:
        """Whether a number lies outside what is usual; of other values, whether they are unusual."""
        usual = self.usual
        if usual is None or usual.low is None or usual.high is None or not isinstance(self.value, float):
            return self.is_unusual
        return not usual.low <= self.value <= usual.high


def novelty_parts(model: Model, one: OneRow, values: list[Any]) -> tuple[NoveltyPart, ...]:
    """What each feature adds to the novelty of a row, largest first; ``values``: as a reader knows them."""
    parts, names = model.novelty_attribution(one.values)[0], model.feature_names()
    usual = usual_values(model, _reached_rules(model, one.values))
    unit = model.tree.unit_of_distance.tolist()  # what a feature varies by inside rules
    row, result = one.values[0].tolist(), []
    for f in np.argsort(-parts, kind="stable").tolist():
        around, is_unusual = usual[f], f in one.unseen
        if around is not None and around.low is not None and around.high is not None and not math.isnan(row[f]):
            is_unusual = is_unusual or max(around.low - row[f], row[f] - around.high) > unit[f]
        result.append(NoveltyPart(names[f], values[f], float(parts[f]), around, is_unusual))
    return tuple(result)


def usual_values(model: Model, nodes: NDArray[np.intp]) -> list[Usual | None]:
    """What is usual in each feature among the training rows of some nodes.

    From the training rows that the model keeps; from means and variances where it keeps none.

    Parameters
    ----------
    model : Model
        The model.
    nodes : ndarray of int
        The nodes.

    Returns
    -------
    list of (Usual or None)
    """
    # Rules have the root alone.
    return _usual_among(model, nodes) if len(nodes) > 1 else _usual_at(model, int(nodes[0]))


@kept_by_model
def _usual_at(model: Model, node: int) -> list[Usual | None]:
    return _usual_among(model, np.array([node]))


def _usual_among(model: Model, nodes: NDArray[np.intp]) -> list[Usual | None]:
    profile, n_features, categories = model.tree.profile, model.n_features, model.category_names
    if profile.has_exemplars:
        kept = np.unique(profile.exemplar[nodes])
        values = np.sort(profile.exemplar_row[kept[kept >= 0], :n_features], axis=0)  # missing values last
        n_known = (~np.isnan(values)).sum(axis=0).tolist()
        return [_usual_of(model, f, values[: n_known[f], f]) for f in range(n_features)]
    reach = 2 * np.sqrt(profile.variance[nodes])
    low, high = (profile.mean[nodes] - reach).min(axis=0), (profile.mean[nodes] + reach).max(axis=0)
    return [
        None if f in categories else Usual(model.number(f, float(low[f])), model.number(f, float(high[f])))
        for f in range(n_features)
    ]


def _usual_of(model: Model, feature: int, known: Floats) -> Usual | None:
    """What is usual among values in ascending order, as people write them."""
    categories = model.category_names.get(feature)
    if not len(known):
        return None
    if categories is None:
        last = len(known) - 1
        low, high = (model.number(feature, float(known[round(share * last)])) for share in (0.05, 0.95))
        return Usual(low, high)
    counts = np.bincount(known.astype(np.intp), minlength=len(categories))
    order = np.argsort(-counts, kind="stable")[: min(MOST_USUAL, np.count_nonzero(counts))]
    return Usual(categories=tuple(categories[code] for code in order))


def _reached_rules(model: Model, row: Floats) -> NDArray[np.intp]:
    """Leaves that a row reaches with all gates open; the root if it reaches no leaf, as may happen with words."""
    tree, profile = model.tree, model.tree.profile
    firing = tree.fire(row, gated=False)[0]
    reached = tree.leaves[firing[tree.leaves] >= LEAST_FIRING]
    if profile.has_exemplars:
        reached = reached[profile.exemplar[reached, 0] >= 0]
    return reached if len(reached) else np.zeros(1, dtype=np.intp)


def novelty_verdict(rank: float, is_outside: bool = False) -> str:
    """How unusual a row is among the training rows; without a full stop.

    Parameters
    ----------
    rank : float
        Share of the training rows that are less novel, in whole percents, rounded down.
    is_outside : bool, default=False
        Whether a value lies outside the training range, or is a category that training did not have.

    Returns
    -------
    str

    Examples
    --------
    >>> novelty_verdict(0.38)
    'Ordinary: more unusual than 38 % of the training rows'
    >>> novelty_verdict(0.97)
    'Unusual: more unusual than 97 % of the training rows'
    >>> novelty_verdict(1.0)
    'Very unusual: more unusual than all training rows that were compared'
    >>> novelty_verdict(0.0)
    'Ordinary: at least 99 % of the training rows are at least as unusual'
    >>> novelty_verdict(0.38, is_outside=True)
    'Unlike the training rows in single values; as a whole more unusual than 38 % of the training rows'
    """
    word = "Very unusual" if rank >= VERY_UNUSUAL else "Unusual" if rank >= UNUSUAL else "Ordinary"
    if is_outside and rank < UNUSUAL:
        whole = novelty_verdict(rank).partition(": ")[2]
        return f"Unlike the training rows in single values; as a whole {whole}"
    if rank >= 1:
        return f"{word}: more unusual than all training rows that were compared"
    if rank <= 0:
        return f"{word}: at least 99 % of the training rows are at least as unusual"
    return f"{word}: more unusual than {100 * rank:.0f} % of the training rows"


@dataclass(frozen=True, eq=False)
class NoveltyScale:
    """What the novelty of a row is compared with.

    Attributes
    ----------
    training : ndarray of shape (101,) or (0,)
        Quantiles of the novelty of the training rows at whole percents; empty where the model does not store them.
    usual : float or None
        The mean novelty of rows like the training rows, for a model that keeps no rows; None otherwise.
    """

    training: Floats
    usual: float | None

    def share(self, novelty: float) -> float | None:
        """The share of the training rows that are less novel, in whole percents; None where nobody knows."""
        return float(share_below(self.training, np.array([novelty]))[0]) if len(self.training) else None


def novelty_scale(model: Model) -> NoveltyScale:
    """Return what the novelty of rows is compared with."""
    quantiles = model.novelty_quantiles
    if quantiles is not None:
        return NoveltyScale(quantiles, None)
    return NoveltyScale(np.zeros(0), None if model.tree.profile.has_exemplars else usual_residual(model.tree))
