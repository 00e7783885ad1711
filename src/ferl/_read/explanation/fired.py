"""Rules that fired for a row, and what each of them did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ferl._util.text import plain


@dataclass(frozen=True)
class FiredRule:
    """A rule that fired, or the beginning of one where beginnings are evidence too.

    Attributes
    ----------
    node : int
        Where it ends in the tree.
    number : int or None
        Its number in :func:`ferl.export_text` and :func:`ferl.rules_frame`; None where it does not speak on its own.
    conditions : str
        What follows "if"; one interval for each feature, with its band. "" for a tree without conditions.
    label : object
        The class that it speaks for.
    firing : float
        How strongly the row fires it, 0 to 1.
    support : float
        Training weight behind it.
    """

    node: int
    number: int | None
    conditions: str
    label: Any
    firing: float
    support: float


@dataclass(frozen=True)
class TreeRule(FiredRule):
    """A rule of a tree that fired.

    Attributes
    ----------
    confidence : float
        The share of its class behind it.
    belief : tuple of float
        Its share of the belief in each class, by the weights of evidence; over all rules this sums to the belief. What
        silencing it changes may differ from that in size and sign.
    belief_without : tuple of float
        Belief in each class if it were silent.
    probability_without : tuple of float
        Probability of each class if it were silent.
    """

    confidence: float
    belief: tuple[float, ...]
    belief_without: tuple[float, ...]
    probability_without: tuple[float, ...]


@dataclass(frozen=True)
class WideRule(FiredRule):
    """A wide rule that fired.

    Attributes
    ----------
    weight : tuple of float
        What it adds to the score of each class: its firing times its weight of evidence. Over all rules, together with
        the prior, this sums to the scores.
    probability_without : tuple of float
        Probability of each class if it were silent.
    """

    weight: tuple[float, ...]
    probability_without: tuple[float, ...]


def rule_form(rule: FiredRule) -> dict[str, Any]:
    """A rule that fired, in the types of JSON."""
    values = vars(rule).items()
    return {name: list(value) if isinstance(value, tuple) else plain(value) for name, value in values}
