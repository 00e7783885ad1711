"""What each default of compact was chosen over, measured on training rows only."""

from __future__ import annotations

from typing import Any

from ferl_bench.methods.ferl import MODELS, TREE_OF_WORDS
from ferl_bench.render import Report
from ferl_bench.table import Request, Table
from ferl_bench.tables.defaults import Alternatives, run_alternatives

OTHER_WORDS = (("quantiles", "quantile"), ("MDLP", "mdlp"))

# Each line changes one thing, or two where it says so.
CHANGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("compact", {}),
    *((f"worth {worth:g}", {"min_rule_worth": worth}) for worth in (0.03, 0.04, 0.08)),
    *((label, {"words": words, "max_rules": 15, "min_rule_worth": 0.05}) for label, words in OTHER_WORDS),
    *((f"wide in words, {n} rules", {"min_rule_worth": 0.0, "max_rules": n}) for n in (50, 15, 10, 6)),
)

# The same of the tree of words.
CHANGES_OF_TREE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tree", {}),
    ("tree, worth 0.035", {"min_rule_worth": 0.035}),
    ("tree, worth 0.04", {"min_rule_worth": 0.04}),
    ("tree, worth 0.055", {"min_rule_worth": 0.055}),
    ("tree, gain 0.01", {"min_gain": 0.01}),
    ("tree, gain 0.02", {"min_gain": 0.02}),
    ("tree, patience=0", {"patience": 0}),
    ("tree, 2 sets", {"n_sets": 2}),
    ("tree, 4 sets", {"n_sets": 4}),
    ("tree, 5 sets", {"n_sets": 5}),
    ("tree, width", {"words": "width"}),
    ("tree, MDLP", {"words": "mdlp"}),
    ("tree, MDLP, worth 0.04", {"words": "mdlp", "min_rule_worth": 0.04}),
    ("tree, MDLP, 5 sets", {"words": "mdlp", "n_sets": 5}),
    ("tree, cci", {"criterion": "cci"}),
    ("tree, vote", {"combination": "vote"}),
    ("tree, leaves only", {"sources": "leaves"}),
    ("tree, raw", {"consequents": "raw"}),
)

# One seed: below the size at which rows are sampled, the words and their choice do not depend on it.
N_SEEDS = 1


def run_defaults_compact(request: Request) -> Report:
    """Measure each alternative on the calibration parts."""
    alternatives = [(label, {**MODELS["compact"], **change}) for label, change in CHANGES]
    alternatives += [(label, {**TREE_OF_WORDS, **change}) for label, change in CHANGES_OF_TREE]
    return run_alternatives(request, Alternatives("defaults_compact", "Defaults of compact", alternatives, N_SEEDS))


TABLE = Table(
    summary="What each default of compact was chosen over, on training rows only.",
    run=run_defaults_compact,
    chapter="Choices of defaults",
    minutes=4,
)
