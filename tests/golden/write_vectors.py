"""Write tests/golden/vectors anew, after a change of the method that is meant.

    python tests/golden/write_vectors.py [name ...]

Without names all of them.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import oracle
from curve_examples import with_curves
from estimators import classifier
from ferl import FERLTreeClassifier, save_model
from ferl._estimator import FERLEstimator
from ferl._models.model import Model
from ferl._models.tree import Cuts, FuzzyTree, Profile
from ferl._models.tree_model import TreeModel
from ferl._sklearn import check_rows
from ferl._tables import with_derived
from golden_vectors import FOLDER, as_table
from oracle.rows_behind import SET_LEVEL
from table_examples import fit_mixed, mixed_table

Floats = NDArray[np.float64]

CLEAR = 1e-9  # labels and sets of rows that are nearer to a tie than this, and not in it, depend on rounding
UNSEEN = "never seen"

# ---------------------------------------------------------------------------------------------------------------------
# Models
# ---------------------------------------------------------------------------------------------------------------------

SMALL = {"kind": "deep", "max_rules": 8, "n_exemplars": 4, "random_state": 0}
IRIS = {
    "iris_deep": {"kind": "deep"},
    "iris_medium_cautious": {"kind": "medium", "combination": "cautious", "sources": "all"},
    "iris_compact": {"kind": "compact"},
}
BREAST_CANCER = {
    "breast_cancer_chain": {"combination": "chain", "discount": 2.0},
    "breast_cancer_vote": {"kind": "medium", "combination": "vote", "sources": "all", "gate_margin": 0.3},
}
MIXED = {
    "mixed_deep": {},
    "mixed_all_sources": {"missing_conditions": True, "sources": "all", "discount": 2.0, "gate_margin": 0.3},
    "mixed_residual": {"n_exemplars": 0},
    "mixed_no_gates": {"n_exemplars": 0, "missing_conditions": True, "support_gate": False},
    "mixed_no_bands": {"band_scale": 0.0, "combination": "cautious"},
    "mixed_words_chain": {
        "kind": "compact",
        "missing_conditions": True,
        "combination": "chain",
    },
    "mixed_words_vote": {"kind": "compact", "n_exemplars": 0, "combination": "vote"},
}


WIDE = {
    "wide_mixed": {"missing_conditions": True, "gate_margin": 0.3},
    "wide_no_gates": {"support_gate": False},
    "wide_curves": {"max_conditions": 1, "n_exemplars": 0},
}


def fitted() -> dict[str, tuple[FERLEstimator, Any]]:
    """Models and the tables they were fitted on."""
    result: dict[str, tuple[FERLEstimator, Any]] = {}
    X, y = load_iris(return_X_y=True)
    result |= {name: (classifier(**SMALL | item).fit(X, y), X) for name, item in IRIS.items()}
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :6], y[:200]
    result |= {name: (classifier(**SMALL | item).fit(X, y), X) for name, item in BREAST_CANCER.items()}
    table = mixed_table(np.random.default_rng(1), n_classes=3)
    options = {"max_rules": 8, "n_exemplars": 4}
    result |= {name: (fit_mixed(table, **(options | item)), table.frame) for name, item in MIXED.items()}
    table = mixed_table(np.random.default_rng(3), n=300, n_classes=5)
    result |= {name: (fit_mixed(table, kind="rules", **(options | item)), table.frame) for name, item in WIDE.items()}
    with_maps = with_curves(result["wide_mixed"][0], table.frame, 3, 2)  # whose cells are thin
    result["wide_maps"] = with_maps, table.frame
    X, y = load_breast_cancer(return_X_y=True)
    result["wide_breast_cancer"] = classifier(**SMALL | {"kind": "rules"}).fit(X[:, :12], y), X[:, :12]
    signs = {"monotonic_cst": [-1, 0, 0, -1, *[0] * 8]}  # two features whose gates fade no score
    result["wide_monotone"] = classifier(**SMALL | {"kind": "rules"} | signs).fit(X[:, :12], y), X[:, :12]
    X = np.repeat(np.arange(6.0), 20)[:, None] * [1.0, -1.0]
    result["upright_words"] = (
        FERLTreeClassifier("compact", random_state=0, n_exemplars=4).fit(X, X[:, 0] > 2),
        X,
    )
    X = np.zeros((20, 2))
    result["one_rule"] = FERLTreeClassifier("deep", random_state=0).fit(X, [0, 1] * 10), X
    return result


def contradictions(n_splits: int) -> FERLTreeClassifier:
    """A tree of one long path whose nodes are almost certain, of one class and the other in turn."""
    X = np.arange(8.0)[:, None]
    clf = FERLTreeClassifier("deep", sources="all", discount=1e-10, random_state=0).fit(X, X[:, 0] > 3)
    n = 2 * n_splits + 1
    return with_splits_at_zero(clf, n_splits, np.eye(2)[np.arange(n) // 2 % 2])


def ties() -> FERLTreeClassifier:
    """One split; where its gates close the plausibility of a class is the largest belief, but for rounding."""
    X = np.arange(9.0)[:, None]
    clf = FERLTreeClassifier("deep", random_state=0).fit(X, X[:, 0] // 3)
    # Firing phi, at a distance of 8 (1 - phi) from the range, ties classes whose shares are (1 - phi) / phi apart.
    return with_splits_at_zero(clf, 1, np.array([[0.4, 0.3, 0.3], [0.7, 0.1, 0.2], [0.6, 0.6 - 1 / 3, 2 / 15]]))


TIED_ROWS = np.array([[-3.0], [10.0], [-3.0 + 1e-14], [10.0 - 1e-14], [4.0], [-3.1], [np.nan]])


def with_splits_at_zero(clf: FERLTreeClassifier, n_splits: int, consequent: Floats) -> FERLTreeClassifier:
    """A classifier whose tree is one long path of splits between 0 and 1, with these consequents."""
    parent = np.array([-1, *np.repeat(np.arange(0, 2 * n_splits, 2), 2)], dtype=np.int32)
    n = len(parent)
    left, right = [-np.inf, -np.inf, 0.0, 1.0], [0.0, 1.0, np.inf, np.inf]
    cut = np.where(np.isin(np.arange(n), parent), 0.5, np.nan)
    tree = FuzzyTree(
        parent=parent,
        feature=np.array([-1] + [0] * (n - 1), dtype=np.int32),
        trapezoid=np.array([[-np.inf, -np.inf, np.inf, np.inf]] + [left, right] * n_splits),
        support=np.tile([0.0, 8.0], (n, 1)),
        class_weight=1000 * consequent,
        consequent=consequent,
        gain=np.zeros(n),
        share=np.where(np.arange(n) % 2, 0.25, 0.75),
        cuts=Cuts(np.stack([cut, cut], axis=1), cut),
        profile=Profile(np.zeros((n, 1)), np.ones((n, 1)), np.zeros((n, 1), dtype=np.int32), np.zeros((1, 1))),
    )
    clf.model_ = replace(clf.model_, tree=tree)
    return clf


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


def hard_rows(model: Model, X: Floats, seed: int = 0) -> Floats:
    """Rows without indicators: on corners and edges, outside, far away, unseen, missing, none of these."""
    rng = np.random.default_rng(seed)
    tree, n_categories = model.tree, model.schema.n_categories
    rows = X[rng.choice(len(X), 15), : model.n_features].copy()
    for j in range(model.n_features):
        if n_categories[j]:
            rows[[9, 10, 13], j] = n_categories[j]
            continue
        of_feature = tree.feature == j
        ranges = tree.support[of_feature] if isinstance(model, TreeModel) else model.ranges[j]
        corners, edges = np.unique(tree.trapezoid[of_feature]), np.unique(ranges)
        corners, edges = corners[np.isfinite(corners)], edges[np.isfinite(edges)]
        if len(corners):
            rows[1:5, j] = rng.choice(corners, 4)
        if len(edges):
            width = np.ptp(edges) * model.reading.gate_margin
            rows[5:8, j] = edges[0], edges[-1] + 0.4 * width, edges[0] - 0.07 * width
        rows[8, j] = 1e6 * (-1) ** j
        rows[11, j] = 3 * np.nanmax(np.abs(X[:, j])) + j
    rows[14, np.argmin(n_categories)] = 1e12  # the search for the nearest exemplar sees nothing but this number
    rows[0] = np.nan
    rows[[10, 12]] = np.where(rng.random((2, rows.shape[1])) < 0.5, np.nan, rows[[10, 12]])
    return rows


def is_clear(answers: dict[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """Rows whose label and set do not depend on rounding."""
    ranked = np.sort(answers["probability" if "rows" in answers else "plausibility"], axis=1)
    if "rows" in answers:
        to_border = np.abs(np.cumsum(-np.sort(-answers["belief"], axis=1), axis=1) - SET_LEVEL)
    else:
        to_border = np.abs(answers["plausibility"] - answers["belief"].max(axis=1, keepdims=True))
    gaps = np.hstack([ranked[:, -1:] - ranked[:, :-1], to_border])
    return ((gaps > CLEAR) | (gaps < oracle.TIE / 10)).all(axis=1)


def raw(model: Model, rows: Floats) -> list[list[Any]]:
    """Encoded rows as a user has them."""

    def value(x: float, categories: Any) -> Any:
        if np.isnan(x):
            return None
        if categories is None:
            return float(x)
        return categories[int(x)] if x < len(categories) else UNSEEN

    return [[value(x, category) for x, category in zip(row, model.schema.categories, strict=True)] for row in rows]


# ---------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------


def plain(values: NDArray[Any]) -> Any:
    """An array as lists; NaN as None."""
    return np.where(np.isnan(values), None, values).tolist() if values.dtype == float else values.tolist()


def write(name: str, clf: FERLEstimator, rows: Floats) -> None:
    model = clf.model_
    encoded = with_derived(rows, model.derived)
    kept = is_clear(oracle.answer(model, encoded))
    rows, encoded = rows[kept], encoded[kept]
    table = raw(model, rows)
    np.testing.assert_array_equal(check_rows(clf, as_table(clf, table)), encoded)
    answers = {what: plain(values) for what, values in oracle.answer(model, encoded).items()}
    stored = {"table": table, "rows": plain(encoded), "answers": answers}
    (FOLDER / f"{name}.json").write_text(json.dumps(stored, allow_nan=False) + "\n", encoding="utf-8")
    save_model(clf, FOLDER / f"{name}.model.json")
    print(f"{name}: {len(rows)} of {len(kept)} rows, {model.tree.n_nodes} nodes")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    if not wanted:
        for path in FOLDER.glob("*.json"):
            path.unlink()
    for name, (clf, X) in fitted().items():
        if not wanted or name in wanted:
            write(name, clf, hard_rows(clf.model_, check_rows(clf, X)))
    if not wanted or "contradictions" in wanted:
        write("contradictions", contradictions(60), np.array([[5.0], [0.4], [0.999], [-3.0], [12.0], [np.nan]]))
    if not wanted or "ties" in wanted:
        write("ties", ties(), TIED_ROWS)
