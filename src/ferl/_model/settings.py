"""Settings: the parameters of a classifier with every None resolved by its variant, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ferl._model.words import LinguisticVariable

MAX_CONDITIONS = 3  # of a wide rule

PRESETS: dict[str, dict[str, Any]] = {
    "medium": {
        "max_rules": 50,
        "max_depth": 12,
        "min_gain": 0.0,
        "criterion": "gini",
        "combination": "dempster",
        "sources": "leaves",
        "n_exemplars": 128,
        "min_rule_worth": 0.0,
    },
    "wide": {
        "max_rules": 150,
        "max_depth": 3,  # counted by max_conditions
        "min_gain": 0.0,
        "criterion": "evidence",
        "combination": "weights",
        "sources": "leaves",
        "n_exemplars": 1024,
        "min_rule_worth": 0.0,
    },
    "deep": {
        "max_rules": 150,
        "max_depth": 24,
        "min_gain": 0.0,
        "criterion": "gini",
        "combination": "dempster",
        "sources": "leaves",
        "n_exemplars": 128,
        "min_rule_worth": 0.0,
    },
}
# Few wide rules, in words.
PRESETS["compact"] = {**PRESETS["wide"], "max_rules": 15, "partition": "triangles", "min_rule_worth": 0.05}

# The paper's compact: a tree of words, which the other criteria of compact grow.
TREE_OF_WORDS: dict[str, Any] = {
    "max_rules": 15,
    "max_depth": 5,
    "min_gain": 0.005,
    "criterion": "consistent",
    "combination": "dempster",
    "sources": "all",
    "n_exemplars": 256,
    "partition": "quantile",
    "min_rule_worth": 0.045,
}


def preset(variant: str, criterion: str | None) -> dict[str, Any]:
    """What parameters that are None mean for a variant and a criterion."""
    return TREE_OF_WORDS if variant == "compact" and not is_wide(variant, criterion) else PRESETS[variant]


def is_wide(variant: str, criterion: str | None) -> bool:
    """Whether rules are wide, short ones whose weights of evidence add up; compact ones are unless they are a tree."""
    return variant == "wide" or (variant == "compact" and criterion in (None, "evidence"))


@dataclass(frozen=True)
class Reading:
    """How evidence is read from a tree. A model has one; another reading of the same tree is another model.

    Attributes
    ----------
    combination : {"dempster", "cautious", "chain", "vote", "weights"}
        How sources are combined; "weights": what wide rules say adds up.
    sources : {"leaves", "all"}
        Which nodes are sources: the leaves, or every node but the root. ("chain" always reads whole paths.)
    discount : float
        A source backed by training weight W is believed to the share ``W / (W + discount)``.
    support_gate : bool
        Whether the gates of the nodes act.
    gate_margin : float
        Width of a gate's slope, in ranges of its feature.
    """

    combination: str = "dempster"
    sources: str = "leaves"
    discount: float = 0.0
    support_gate: bool = True
    gate_margin: float = 1.0

    def __post_init__(self) -> None:
        # Numbers of NumPy are welcome as parameters; files hold Python's own.
        for name, kind in (("discount", float), ("support_gate", bool), ("gate_margin", float)):
            object.__setattr__(self, name, kind(getattr(self, name)))


READING_PARAMETERS = tuple(field.name for field in fields(Reading))


@dataclass(frozen=True)
class Settings:
    """What learning reads; the meaning of each field is that of the parameter of :class:`ferl.FERLClassifier`."""

    variant: str
    max_rules: int
    max_depth: int
    min_leaf_weight: float
    min_gain: float
    patience: int
    min_coverage: float
    criterion: str
    partition: str | Sequence[LinguisticVariable | None] | None
    n_sets: int
    min_rule_worth: float
    prune: float
    max_conditions: int
    n_resamples: int
    band: str
    band_scale: float
    two_mode: bool
    n_banded_features: int | None
    consequents: str
    shrinkage: float
    combination: str
    sources: str
    discount: float
    support_gate: bool
    gate_margin: float
    ccp_alpha: float
    growth_rows: int | None
    n_exemplars: int
    class_weight: Mapping[Any, float] | str | None
    categorical_features: Any
    missing_conditions: bool
    monotonic_cst: Sequence[int] | Mapping[str, int] | None
    n_jobs: int | None
    random_state: Any
    verbose: int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """Settings of a classifier's parameters, which may hold others besides.

        Examples
        --------
        >>> from ferl import FERLClassifier
        >>> Settings.of(FERLClassifier("compact").get_params()).max_rules
        15
        """
        given = {field.name: parameters[field.name] for field in fields(cls)}
        chosen = preset(given["variant"], given["criterion"])
        missing = {name: value for name, value in chosen.items() if given[name] is None}
        return cls(**(given | missing))

    @property
    def adds_up(self) -> bool:
        """Whether rules are wide: short ones whose weights of evidence add up."""
        return is_wide(self.variant, self.criterion)

    @property
    def reading(self) -> Reading:
        """How the evidence of what is learned will be read."""
        return Reading(self.combination, self.sources, self.discount, self.support_gate, self.gate_margin)
