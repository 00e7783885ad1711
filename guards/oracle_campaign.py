"""The compiled core against the oracle, on as many random tables as there is time for, over all kinds of models.

Of three cases two are answers: a table with categories, missing values, ties and weights that no test has seen, a model
fitted on it, and rows to judge; all that the model says must be what the slow NumPy FERL of ``tests/oracle`` says. The
third is growth: a tree that the oracle grows again by brute force, or the best conditions of rules.

::

    python guards/oracle_campaign.py --cases 100000 --minutes 10
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE)]

import campaign  # noqa: E402

import oracle  # noqa: E402
import oracle_examples  # noqa: E402
import test_linguistic  # noqa: E402
import test_oracle  # noqa: E402
import test_rules_core  # noqa: E402
import test_table_oracle  # noqa: E402
from estimators import classifier  # noqa: E402
from ferl._sklearn import check_rows  # noqa: E402
from golden_vectors import Vectors, assert_answers  # noqa: E402
from oracle.rows_behind import SET_LEVEL  # noqa: E402
from table_examples import Mixed, mixed_table, rows_beside  # noqa: E402
from test_golden import answers_of_python  # noqa: E402

ROUNDING = 1e-9  # relative, and a hundredth of it absolute: sums of many rows, in another order
BORDER = 1e-9  # classes so near to the border of a set, or to each other, may fall on either side of it
BEYOND_THE_TESTS = 10_000  # the first number of a case, as a seed; the tests take smaller ones

KINDS: dict[str, dict[str, Any]] = {
    "rules": {"kind": "rules"},
    "rules in words": {"kind": "rules", "words": "quantile"},
    "deep": {"kind": "deep"},
    "medium": {"kind": "medium"},
    "words": {"kind": "words"},
    "compact": {"kind": "compact"},
}
COMBINATIONS = ("dempster", "cautious", "chain", "vote")


def random_table(rng: np.random.Generator) -> tuple[Mixed, Any]:
    """A table, and weights or None."""
    table = mixed_table(
        rng,
        n=int(rng.integers(60, 200)),
        n_numbers=int(rng.integers(1, 5)),
        n_categories=[(), (4,), (2, 5), (12, 3), (30,)][rng.integers(5)],
        n_classes=int(rng.choice([2, 2, 3, 5])),
        missing=float(rng.choice([0.0, 0.1, 0.4])),
    )
    for name in table.numbers[1:]:  # ties
        table.frame[name] = table.frame[name].round(int(rng.integers(0, 3)))
    return table, oracle_examples.random_weight(rng, len(table.y))


def answers_agree(seed: int, kind: str) -> str:
    """All that a model answers is what the oracle answers."""
    rng = np.random.default_rng([seed, 11])
    table, weight = random_table(rng)
    options = KINDS[kind] | {"max_rules": int(rng.choice([3, 8, 20])), "random_state": seed % 2**31}
    options |= {"missing_conditions": bool(rng.random() < 0.3), "support_gate": bool(rng.random() < 0.8)}
    if kind in ("deep", "medium", "compact"):
        options |= {"combination": str(rng.choice(COMBINATIONS)), "sources": str(rng.choice(["leaves", "all"]))}
    model = classifier(**options).fit(table.frame, table.y, weight)
    rows = rows_beside(table, seed)
    own = Vectors(model, rows, check_rows(model, rows), {})
    found, expected = answers_of_python(own), oracle.answer(model.model_, own.rows)
    assert set(found) == set(expected)
    assert_choices_agree(found, expected)
    assert_answers({name: own for name, own in found.items() if name not in ("set", "label")}, expected, ROUNDING)
    return f"answers of {kind}"


def assert_choices_agree(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """The same sets and labels, but for classes that rounding puts on the border."""
    is_other = found["set"] != expected["set"]
    if "rows" in expected:
        border = np.cumsum(-np.sort(-expected["belief"], axis=1), axis=1) - SET_LEVEL
        assert (np.abs(border[is_other.any(axis=1)]).min(axis=1) < BORDER).all(), "a set is another one"
    else:
        lead = expected["plausibility"] - expected["belief"].max(axis=1, keepdims=True)
        assert (np.abs(lead[is_other]) < BORDER).all(), "a set is another one"
    chances = expected["probability" if "probability" in expected else "pignistic"]
    index = np.arange(len(chances))
    assert (chances[index, found["label"]] >= chances.max(axis=1) - BORDER).all(), "a label is another one"


def growth_of_splits(seed: int) -> None:
    """On continuous numbers the tree is the oracle's, node by node; with ties every split reaches the best gain."""
    if seed % 2:
        case = oracle_examples.continuous_case.__wrapped__(seed, ("gini", "entropy", "cci")[seed % 3])
        test_oracle.assert_same_tree(case)
        return
    test_oracle.test_every_split_reaches_the_best_gain_of_its_node(seed)
    test_oracle.test_growth_is_best_first_until_a_budget_stops_it(seed)


def growth_on_tables(seed: int) -> None:
    """Categories and missing values among the splits."""
    test_table_oracle.test_the_tree_is_the_oracles_node_by_node(seed, "gini")


def growth_of_words(seed: int) -> None:
    """Trees in words."""
    test_linguistic.test_the_tree_is_the_oracles_node_by_node(seed, ("consistent", "cci")[seed % 2])


def growth_of_rules(seed: int) -> None:
    """The best condition of every feature, by brute force."""
    test_rules_core.test_a_scan_finds_the_gain_of_the_best_candidate(seed, bool(seed % 2))


GROWTHS: dict[str, Callable[[int], None]] = {
    "growth of splits": growth_of_splits,
    "growth of splits on mixed tables": growth_on_tables,
    "growth of words": growth_of_words,
    "scans of rules": growth_of_rules,
}
CACHES = (
    oracle_examples.tied_case,
    oracle_examples.continuous_case,
    test_oracle.replay,
    test_table_oracle.table_case,
    test_linguistic.random_case,
    test_linguistic.oracle_growth,
)


def case(campaign_seed: int, number: int) -> str:
    """Of three cases two are answers, of all kinds in turn, and one is growth."""
    seed = BEYOND_THE_TESTS + campaign_seed * 10_000_000 + number
    if number % 3 == 2:
        name = list(GROWTHS)[number // 3 % len(GROWTHS)]
        GROWTHS[name](seed)
        for own in CACHES:  # nothing is asked twice, and a campaign is long
            own.cache_clear()
        return name
    return answers_agree(seed, list(KINDS)[number // 3 * 2 % len(KINDS) + number % 3])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(campaign.run("oracle", "cases", case))
