"""Story: what there is to say of one row, as plain values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ferl._read.explanation.balance import Balance
from ferl._read.explanation.counterfactual import Change
from ferl._read.explanation.fired import FiredRule
from ferl._read.explanation.ignorance import Doubt
from ferl._read.explanation.typical import NoveltyPart, Usual
from ferl._util.text import plain


@dataclass(frozen=True)
class Certified:
    """How far all features may move at once without changing the label.

    Attributes
    ----------
    radius : float
        In spreads (standard deviations over the training rows) of each feature; infinity: as far as they like.
    """

    radius: float


@dataclass(frozen=True)
class Story:
    """One row's story as plain values: why it got its answer, and what would change it.

    Attributes
    ----------
    label : object
        The most probable class, what ``predict`` answers; None where the row gets no answer (:attr:`abstains`).
    classes : tuple
        The classes, in the order of the tuples below.
    probability, belief, plausibility : tuple of float
        Of each class.
    in_set : tuple of bool
        Whether a class is in the prediction set: its plausibility reaches the largest belief.
    ignorance, conflict : float
        As in :class:`ferl.Evidence`.
    doubt : Doubt
        The ignorance by cause; the parts add up to it.
    rules : tuple of FiredRule
        Those that fired, the one that matters most first: :class:`TreeRule`, by how far the probability of the most
        probable class moves without them, or of wide models :class:`WideRule`, by how far they move the two classes
        apart that ``balance`` compares.
    novelty : float
        How unlike the training rows the row is.
    novelty_parts : tuple of NoveltyPart
        What each feature adds to it, largest first.
    lost_support : tuple of (str, float)
        Features at which gates closed, and the firing lost there, largest first.
    certified : Certified or None
        None where there is no label, or labels cannot be certified (``combination`` "cautious" and "chain").
    changes : tuple of Change or None
        Nearest change of each single feature that alters the label, nearest first; None if they were not asked for, or
        there is no label.
    unproven : tuple of str
        Features of which no such change was found, without a proof that there is none.
    missing : tuple of str
        Features whose value is missing.
    unseen : tuple of (str, object)
        Features whose category training did not have, and the category.
    words : tuple of str
        What the words of the rules mean; empty where rules have none.
    balance : Balance or None
        Of wide models: what each feature adds to the scores. None for trees.
    """

    label: Any
    classes: tuple[Any, ...]
    probability: tuple[float, ...]
    belief: tuple[float, ...]
    plausibility: tuple[float, ...]
    in_set: tuple[bool, ...]
    ignorance: float
    conflict: float
    doubt: Doubt
    rules: tuple[FiredRule, ...]
    novelty: float
    novelty_parts: tuple[NoveltyPart, ...]
    lost_support: tuple[tuple[str, float], ...]
    certified: Certified | None
    changes: tuple[Change, ...] | None
    unproven: tuple[str, ...]
    missing: tuple[str, ...]
    unseen: tuple[tuple[str, Any], ...]
    words: tuple[str, ...] = ()
    balance: Balance | None = None

    @property
    def abstains(self) -> bool:
        """Whether the prediction set is the whole frame, of more than one class."""
        return len(self.classes) > 1 and all(self.in_set)

    @property
    def prediction_set(self) -> tuple[Any, ...]:
        """The classes in the prediction set."""
        return tuple(label for label, inside in zip(self.classes, self.in_set, strict=True) if inside)

    @property
    def best(self) -> int:
        """Index of the most probable class."""
        return self.probability.index(max(self.probability))


def novelty_form(part: NoveltyPart) -> dict[str, Any]:
    """What a feature adds to novelty, in the types of JSON."""
    form = {"feature": part.feature, "value": plain(part.value), "part": plain(part.part)}
    return form | {"usual": usual_form(part.usual), "is_unusual": part.is_unusual}


def usual_form(usual: Usual | None) -> dict[str, Any] | None:
    """What is usual, in the types of JSON."""
    if usual is None:
        return None
    if usual.categories:
        return {"categories": [plain(category) for category in usual.categories]}
    return {"low": plain(usual.low), "high": plain(usual.high)}


def certified_form(certified: Certified) -> dict[str, Any]:
    """How far features may move, in the types of JSON."""
    return {"radius": plain(certified.radius), "is_unlimited": math.isinf(certified.radius)}
