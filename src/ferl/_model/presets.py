"""What parameters that are None mean, by variant, and which ones a user has set."""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "compact": {
        "max_rules": 15,
        "max_depth": 5,
        "min_gain": 0.005,
        "criterion": "consistent",
        "sources": "all",
        "n_exemplars": 256,
    },
    "medium": {
        "max_rules": 50,
        "max_depth": 12,
        "min_gain": 0.0,
        "criterion": "gini",
        "sources": "leaves",
        "n_exemplars": 128,
    },
    "deep": {
        "max_rules": 150,
        "max_depth": 24,
        "min_gain": 0.0,
        "criterion": "gini",
        "sources": "leaves",
        "n_exemplars": 128,
    },
}


def setting(estimator: Any, name: str) -> Any:
    """A parameter, or the variant's value where it is None."""
    value = getattr(estimator, name)
    return PRESETS[estimator.variant][name] if value is None else value


def changed_parameters(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from the defaults, with their values."""
    defaults = type(estimator)().get_params()
    return {name: value for name, value in estimator.get_params().items() if str(value) != str(defaults[name])}
