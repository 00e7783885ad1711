"""Which parameters each kind of model has. One that a model does not have is refused, so that none is ignored."""

from __future__ import annotations

from typing import Any

from ferl._model.settings import Settings, preset

CRITERIA = {
    "wide": ("evidence",),
    "compact": ("consistent", "cci", "evidence"),
    "medium": ("gini", "entropy", "cci"),
    "deep": ("gini", "entropy", "cci"),
}

_NAMES = {"rules": "wide rules", "words": "a tree of words", "splits": "a tree of learned splits"}
_TREES, _SPLITS, _RULES = ("words", "splits"), ("splits",), ("rules",)
KINDS_OF: dict[str, tuple[str, ...]] = {
    "max_depth": _TREES,
    "min_leaf_weight": _TREES,
    "min_gain": _TREES,
    "patience": _TREES,
    "min_coverage": _TREES,
    "consequents": _TREES,
    "shrinkage": _TREES,
    "sources": _TREES,
    "discount": _TREES,
    "ccp_alpha": _TREES,
    "n_resamples": _SPLITS,
    "band": _SPLITS,
    "band_scale": _SPLITS,
    "two_mode": _SPLITS,
    "n_banded_features": _SPLITS,
    "prune": _RULES,
    "max_conditions": _RULES,
    "min_rule_worth": ("rules", "words"),
    "n_sets": ("rules", "words"),
}
"""The kinds of model that have a parameter; parameters that are not named belong to all."""

UNCHANGED: dict[str, Any] = {
    "min_leaf_weight": 2.0,
    "patience": 3,
    "min_coverage": 0.0,
    "consequents": "shrinkage",
    "shrinkage": 5.0,
    "discount": 0.0,
    "ccp_alpha": 0.0,
    "n_resamples": 25,
    "band": "mean_std",
    "band_scale": 1.0,
    "two_mode": True,
    "n_banded_features": 1,
    "prune": 0.0015,
    "max_conditions": 3,
    "n_sets": 3,
}
"""Defaults of the parameters above, where the default is not None: the constructor's, as a test says."""

_INSTEAD = {
    "max_depth": "max_conditions limits how long wide rules are (1 to 3).",
    "ccp_alpha": "prune and min_rule_worth take wide rules out.",
    "max_conditions": "max_depth limits how long the rules of a tree are.",
    "prune": "ccp_alpha prunes trees.",
}


def check_variant(settings: Settings) -> None:
    """Refuse settings that the variant does not have."""
    criterion, allowed = settings.criterion, CRITERIA[settings.variant]
    if criterion not in allowed:
        own = " or ".join(map(repr, allowed))
        others = " or ".join(f'variant="{other}"' for other, known in CRITERIA.items() if criterion in known)
        raise ValueError(
            f"criterion is {criterion!r}; a {settings.variant} model can be grown by {own}. For {criterion!r} use "
            f"{others}."
        )
    if (settings.combination == "weights") != settings.adds_up:
        raise ValueError(
            f"combination is {settings.combination!r}, which a {settings.variant} model grown by {criterion!r} lacks: "
            'weights of evidence add up for criterion="evidence", and for it alone. Leave combination out, or grow a '
            'tree, for example with variant="deep".'
        )
    kind = _kind(settings)
    unchanged = UNCHANGED | preset(settings.variant, criterion)
    for name, kinds in KINDS_OF.items():
        value = getattr(settings, name)
        if kind not in kinds and value != unchanged[name]:
            instead = f" {_INSTEAD[name]}" if name in _INSTEAD else ""
            owners = " and ".join(_NAMES[other] for other in kinds)
            raise ValueError(
                f"{name} is {value!r}, which {_NAMES[kind]} cannot use: it is for {owners}. Leave it out, or choose "
                f"{_variants(kinds)}.{instead}"
            )
    if settings.n_sets != UNCHANGED["n_sets"] and settings.partition is None:
        raise ValueError(
            f"n_sets is {settings.n_sets}, the number of words made from the table, and none are made: leave it out, "
            'or ask for them, for example with partition="quantile".'
        )


def _kind(settings: Settings) -> str:
    if settings.adds_up:
        return "rules"
    return "words" if settings.variant == "compact" else "splits"


def _variants(kinds: tuple[str, ...]) -> str:
    """The variants of these kinds, as one would write them."""
    return {
        _TREES: 'variant="deep"',
        _SPLITS: 'variant="deep"',
        _RULES: 'variant="wide"',
    }.get(kinds, 'variant="wide" or variant="compact"')
