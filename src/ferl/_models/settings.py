"""Settings: the parameters of a classifier with every None resolved, as one frozen value."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from ferl._models.words import LinguisticVariable, PartitionError
from ferl._tables.labels import check_class_weight
from ferl._util.text import caller_level, shown
from ferl._util.threads import n_threads

MAX_CONDITIONS = 3  # of a rule
N_CASES = 20_000  # that a model keeps at most
MAX_MAPS = 25  # by default; with 50 the AUC of 150,000 flights is .001 higher, with 12 it is .003 lower
AUTO_RULES = 1200  # the most that inner validation chooses from
WORDS_FROM_TABLE = ("quantile", "triangles", "width", "mdlp")


@dataclass(frozen=True)
class Gates:
    """How conditions fade outside the training range. Reading the same conditions in another way is another model.

    Attributes
    ----------
    support_gate : bool
        Whether the gates of the nodes act.
    gate_margin : float
        Width of a gate's slope, in ranges of its feature.
    """

    support_gate: bool = True
    gate_margin: float = 1.0

    def __post_init__(self) -> None:
        # Numbers of NumPy are welcome as parameters; files hold Python's own.
        for field in fields(self):
            kind: Any = type(field.default)
            object.__setattr__(self, field.name, kind(getattr(self, field.name)))


@dataclass(frozen=True)
class TreeReading(Gates):
    """How the evidence of a tree's nodes is combined.

    Attributes
    ----------
    combination : {"dempster", "cautious", "chain", "vote"}
        How sources are combined.
    sources : {"leaves", "all"}
        Which nodes are sources: the leaves, or every node but the root. ("chain" always reads whole paths.)
    discount : float
        A source backed by training weight W is believed to the share ``W / (W + discount)``.
    """

    combination: str = "dempster"
    sources: str = "leaves"
    discount: float = 0.0


@dataclass(frozen=True)
class Settings:
    """The settings of learning; each field has the meaning of the parameter with its name."""

    max_rules: int
    words: str | Sequence[LinguisticVariable | None] | None
    n_sets: int
    min_rule_worth: float
    support_gate: bool
    gate_margin: float
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
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Settings of a classifier's parameters, which may hold others besides."""
        given = {field.name: parameters[field.name] for field in fields(cls)}
        if isinstance(given["words"], np.bool_):  # a grid of parameters may be an array
            given["words"] = bool(given["words"])
        chosen = cls.presets(given)
        return cls(**given | {name: value for name, value in chosen.items() if name == "words" or given[name] is None})

    @staticmethod
    def presets(given: Mapping[str, Any]) -> dict[str, Any]:
        """What parameters that are None mean, for the given others, and what words mean in any case."""
        raise NotImplementedError

    @property
    def reading(self) -> Gates:
        """How the evidence of what is learned will be read."""
        return Gates(self.support_gate, self.gate_margin)

    def unused(self) -> dict[str, Any]:
        """Parameters that have no effect beside the others, with their defaults."""
        result: dict[str, Any] = {} if isinstance(self.words, str) else {"n_sets": 3}
        return result if self.support_gate else result | {"gate_margin": 1.0}

    def refuse(self) -> None:
        """Refuse parameters that cannot be, or that contradict each other."""
        check_words(self.words)
        n_threads(self.n_jobs)  # refuses 0
        if isinstance(self.class_weight, Mapping):
            check_class_weight(self.class_weight)
        wish = self.monotonic_cst
        if wish is not None:
            check_signs(list(wish.values()) if isinstance(wish, Mapping) else wish)

    def check(self) -> None:
        """Refuse what :meth:`refuse` does, and warn of parameters that have no effect."""
        self.refuse()
        for name, default in self.unused().items():
            if getattr(self, name) != default:
                why = _WHY.get(name) or ("words are given" if self.words is not None else "the model has no words")
                warning = UnusedParameterWarning(f"{name}={getattr(self, name)!r} has no effect: {why}.")
                warnings.warn(warning, stacklevel=caller_level())


class UnusedParameterWarning(UserWarning):
    """A parameter that was set and that has no effect beside the others."""


def check_signs(signs: Any) -> None:
    """Refuse monotone constraints that are no signs."""
    if not np.isin(np.asarray(signs), (-1, 0, 1)).all():
        raise ValueError(f"monotonic_cst has the values {np.unique(signs).tolist()}; they must be -1, 0 or 1.")


def check_words(words: Any) -> None:
    """Refuse objects that are no words, and text that names no method to make words from a table."""
    if words is not None and not isinstance(words, str | bool | np.bool_):
        for variable in words:
            if not isinstance(variable, LinguisticVariable | None):
                raise PartitionError(f"words holds {shown(variable)}; it must hold LinguisticVariables.")
    if isinstance(words, str) and words not in WORDS_FROM_TABLE:
        if words in VARIANTS:
            raise ValueError(
                f"words is {words!r}, a tree of the paper: write FERLTreeClassifier({words!r}), or words=True for few "
                "rules in words."
            )
        raise ValueError(
            f"words is {words!r}; it must be {', '.join(map(repr, WORDS_FROM_TABLE))}, true or false, or the words "
            "themselves. To read them from a file, pass ferl.words.load_partition(path)."
        )


@dataclass(frozen=True)
class RuleSettings(Settings):
    """Settings of :class:`ferl.FERLClassifier`.

    Examples
    --------
    >>> from ferl import FERLClassifier
    >>> settings = RuleSettings.of(FERLClassifier(words=True).get_params())
    >>> settings.words, settings.max_rules
    ('triangles', 15)
    """

    max_conditions: int
    max_maps: int | None
    prune: float
    effort: int
    cases: bool
    n_cases: int

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """Settings of a classifier's parameters; ``max_rules="auto"`` leaves the number to inner validation."""
        most = {"max_rules": AUTO_RULES} if parameters["max_rules"] == "auto" else {}
        return super().of({**parameters, **most})

    def unused(self) -> dict[str, Any]:
        """Also unused: the number of maps if rules are in words, and the number of cases without cases."""
        result = super().unused()
        result |= {"max_maps": MAX_MAPS} if self.words is not None else {}
        return result if self.cases else result | {"n_cases": N_CASES}

    def refuse(self) -> None:
        """Refuse as well constraints beside cases, which follow no direction."""
        super().refuse()
        if self.cases and self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst is given with cases=True; the vote of similar cases cannot be held to a direction. "
                "Leave one of the two out."
            )

    @staticmethod
    def presets(given: Mapping[str, Any]) -> dict[str, Any]:
        """``words=True`` means few rules, in words: the paper's compact in spirit."""
        if given["words"] is True:
            return {"words": "triangles", "max_rules": 15, "min_rule_worth": 0.05}
        return {"words": given["words"] or None, "max_rules": 150, "min_rule_worth": 0.0}


VARIANTS: dict[str, dict[str, Any]] = {
    "deep": {"max_rules": 150, "max_depth": 24, "min_gain": 0.0, "n_exemplars": 128, "min_rule_worth": 0.0},
    "medium": {"max_rules": 50, "max_depth": 12, "min_gain": 0.0, "n_exemplars": 128, "min_rule_worth": 0.0},
    "compact": {"max_rules": 15, "max_depth": 5, "min_gain": 0.005, "n_exemplars": 256, "min_rule_worth": 0.045},
}
_WHY = {
    "gate_margin": "support_gate is False",
    "n_cases": "cases is False",
    "shrinkage": "consequents are not shrunken",
    **dict.fromkeys(("n_resamples", "band", "band_scale", "two_mode", "n_banded_features"), "rules are in words"),
}
_OF_SPLITS = {"n_resamples": 25, "band": "mean_std", "band_scale": 1.0, "two_mode": True, "n_banded_features": 1}


@dataclass(frozen=True)
class TreeSettings(Settings):
    """Settings of :class:`ferl.FERLTreeClassifier`."""

    variant: str
    max_depth: int
    min_leaf_weight: float
    min_gain: float
    patience: int
    min_coverage: float
    criterion: str
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
    ccp_alpha: float

    @property
    def reading(self) -> TreeReading:
        """How the evidence of what is learned will be read."""
        return TreeReading(self.support_gate, self.gate_margin, self.combination, self.sources, self.discount)

    @staticmethod
    def presets(given: Mapping[str, Any]) -> dict[str, Any]:
        """The paper's three trees; words, where there are any, are judged by another criterion."""
        words = given["words"]
        if words is True or (words is None and given["variant"] == "compact"):
            words = "quantile"
        has_words = words is not None and words is not False
        return VARIANTS[given["variant"]] | {
            "words": words if has_words else None,
            "criterion": "consistent" if has_words else "gini",
            "sources": "all" if has_words else "leaves",
        }

    def unused(self) -> dict[str, Any]:
        """Also unused: parameters of learned splits in a tree of words, and parameters of words with learned splits."""
        result = super().unused() | ({} if self.consequents == "shrinkage" else {"shrinkage": 5.0})
        if self.words is not None:
            return result | _OF_SPLITS
        return result | {"min_rule_worth": VARIANTS[self.variant]["min_rule_worth"]}

    def refuse(self) -> None:
        """Refuse as well a criterion that the tree cannot be grown by, and constraints on words."""
        super().refuse()
        if self.words is not None and self.monotonic_cst is not None:
            raise ValueError(
                "monotonic_cst works with learned splits and with the rules of FERLClassifier, not with a tree of "
                "words: leave words out (words=False), or use FERLClassifier."
            )
        if self.criterion not in (("gini", "entropy", "cci") if self.words is None else ("consistent", "cci")):
            raise ValueError(
                f"criterion is {self.criterion!r}; a tree of learned splits is grown by 'gini', 'entropy' or 'cci', a "
                "tree of words by 'consistent' or 'cci'. Leave criterion out, or choose learned splits "
                '(variant="deep") or words (variant="compact").'
            )
