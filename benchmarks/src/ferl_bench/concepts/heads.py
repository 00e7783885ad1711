"""Heads of a concept bottleneck: each is fitted on concepts and judged by its accuracy and size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ferl._util.arrays import Floats
from ferl.concepts.estimator import default_head
from ferl_bench.methods.ferl import MODELS, fit

Labels = NDArray[np.int64]
Figures = dict[str, dict[str, float]]
"""Accuracy and sizes, by head."""

WIDE, FERL, CART, CART_SMALL, LR = "FERL-wide", "FERL-deep", "CART", "CART, as many leaves", "LR"
LR_SAME, LR_TREE, LR_WIDE = "LR, as many as a decision", "LR, as many as the tree", "LR, as many as wide"
LR_CLASS, LR_ROW = "LR, as many for each class", "LR, as many for each row"
LEAST_FIRING = 0.01  # of a rule that counts as part of a decision
HEADS = (WIDE, FERL, CART, CART_SMALL, LR_SAME, LR_CLASS, LR_ROW, LR_TREE, LR_WIDE, LR)
FEW = (4, 6, 8, 12, 16, 24, 32, 48)  # concepts that heads have to do with

# Concepts that a network sees are noisier than measurements: larger leaves than for tables. Entropy, which halves many
# classes where Gini takes them off one by one, and narrow bands make an answer rest on few concepts. Chosen on training
# rows of four sets (docs/guide/concepts.md).
TREE_SETTINGS: dict[str, Any] = {**MODELS["deep"], "criterion": "entropy", "band_scale": 0.75, "min_leaf_weight": 5.0}


@dataclass(frozen=True)
class Budget:
    """Most rules that heads may have: a tree, and wide ones."""

    tree: int
    wide: int


def fit_wide(X: Floats, y: Labels, seed: int, most_rules: int) -> Any:
    """The default head of a concept bottleneck, with at most so many rules."""
    names = [f"x{column}" for column in range(X.shape[1])]
    return default_head(names).set_params(max_rules=most_rules, random_state=seed, n_jobs=1).fit(X, y)


def judge_heads(X: Floats, y: Labels, X_test: Floats, y_test: Labels, seed: int, budget: Budget) -> Figures:
    """Fit every head on the same concepts.

    Parameters
    ----------
    X, X_test : ndarray of shape (n_rows, n_concepts)
        Concepts of training and test rows.
    y, y_test : ndarray of int of shape (n_rows,)
        Their classes.
    seed : int
        Of the trees.
    budget : Budget
        Of FERL. Its tree never has more rules than CART has leaves.

    Returns
    -------
    dict of dict
        "accuracy" in percent; "leaves", "decision" (concepts that decide over a row, on average) and "concepts" (that
        a head asks about at all) where a head has them.
    """
    cart = DecisionTreeClassifier(random_state=seed).fit(X, y)
    ours = fit({**TREE_SETTINGS, "max_rules": min(budget.tree, int(cart.get_n_leaves()))}, X, y, seed)
    wide = fit_wide(X, y, seed, budget.wide)
    small = DecisionTreeClassifier(random_state=seed, max_leaf_nodes=max(2, ours.n_rules_)).fit(X, y)
    regression = _regression().fit(X, y)
    n_tree, n_asked, n_wide = concepts_of_rules(ours), concepts_of_decision(ours, X), concepts_of_rules(wide)
    labels = {
        WIDE: wide.predict(X_test),
        FERL: ours.predict(X_test),
        CART: cart.predict(X_test),
        CART_SMALL: small.predict(X_test),
        LR_TREE: _with_best_concepts(regression, X, y, X_test, n_tree),
        LR_WIDE: _with_best_concepts(regression, X, y, X_test, n_wide),
        LR_SAME: _with_best_concepts(regression, X, y, X_test, n_asked),
        LR_CLASS: _with_best_of_class(regression, X, y, X_test, n_asked),
        LR_ROW: _with_best_of_row(regression, X, X_test, n_asked),
        LR: regression.predict(X_test),
    }
    sizes = {
        WIDE: {"leaves": wide.n_rules_, "decision": n_wide, "concepts": n_wide},
        FERL: {"leaves": ours.n_rules_, "decision": n_asked, "concepts": n_tree},
        CART: {"leaves": cart.get_n_leaves(), **_asked_by_cart(cart, X)},
        CART_SMALL: {"leaves": small.get_n_leaves(), **_asked_by_cart(small, X)},
        LR_SAME: {"decision": n_asked, "concepts": n_asked},
        LR_CLASS: {"decision": n_asked},
        LR_ROW: {"decision": n_asked},
        LR_TREE: {"decision": n_tree, "concepts": n_tree},
        LR_WIDE: {"decision": n_wide, "concepts": n_wide},
        LR: {"decision": X.shape[1], "concepts": X.shape[1]},
    }
    return {
        name: {"accuracy": 100 * float(np.mean(result == y_test)), **{key: float(n) for key, n in sizes[name].items()}}
        for name, result in labels.items()
    }


def judge_few(
    X: Floats, y: Labels, X_test: Floats, y_test: Labels, seed: int, budget: Budget
) -> dict[int, dict[str, float]]:
    """Fit FERL and regression on few concepts, each on its own choice; parameters as in :func:`judge_heads`.

    Each is fitted on all concepts first, and again on those that gained or weighed most.

    Returns
    -------
    dict of dict
        Accuracies in percent of FERL and LR, by the number of concepts.
    """
    settings = {**TREE_SETTINGS, "max_rules": min(budget.tree, _n_leaves_of_cart(X, y, seed))}
    gain = fit(settings, X, y, seed).feature_importances_
    regression = _regression().fit(X, y)
    result = {}
    for n_concepts in (n for n in FEW if n < X.shape[1]):
        order = np.argsort(-gain, kind="stable")[:n_concepts]
        labels = {
            FERL: fit(settings, X[:, order], y, seed).predict(X_test[:, order]),
            LR: _with_best_concepts(regression, X, y, X_test, n_concepts),
        }
        result[n_concepts] = {name: 100 * float(np.mean(label == y_test)) for name, label in labels.items()}
    return result


def _n_leaves_of_cart(X: Floats, y: Labels, seed: int) -> int:
    return int(DecisionTreeClassifier(random_state=seed).fit(X, y).get_n_leaves())


def concepts_of_rules(model: Any) -> int:
    """Number of concepts that some rule asks about."""
    return len(np.unique(model.tree_.feature[1:]))


def concepts_of_decision(model: Any, X: Floats) -> int:
    """Number of concepts that all rules together ask about which fire for a row: the mean over rows, rounded."""
    tree = model.tree_
    asked = np.zeros((len(tree.leaves), X.shape[1]), dtype=bool)
    for place, leaf in enumerate(tree.leaves):
        asked[place, [int(tree.feature[node]) for node in tree.path(int(leaf))]] = True
    fires = tree.fire(X)[:, tree.leaves] >= LEAST_FIRING
    return max(1, round(float((fires.astype(np.int64) @ asked > 0).sum(axis=1).mean())))


def _asked_by_cart(cart: Any, X: Floats) -> dict[str, float]:
    """Numbers of different concepts on a row's way through the tree, on average, and in the whole tree."""
    tests = cart.tree_.feature
    asked = np.zeros((cart.tree_.node_count, X.shape[1]), dtype=np.int64)
    asked[np.flatnonzero(tests >= 0), tests[tests >= 0]] = 1
    on_way = (cart.decision_path(X) @ asked > 0).sum(axis=1).mean()
    return {"decision": float(on_way), "concepts": float((asked.sum(axis=0) > 0).sum())}


def _with_best_concepts(full: Any, X: Floats, y: Labels, X_test: Floats, n_concepts: int) -> Labels:
    """A regression on the concepts with the largest weights over all classes, fitted again on these alone."""
    weight = np.linalg.norm(full.coef_, axis=0) * X.std(axis=0)
    chosen = np.argsort(-weight, kind="stable")[:n_concepts]
    return np.asarray(_regression().fit(X[:, chosen], y).predict(X_test[:, chosen]))


def _with_best_of_class(full: Any, X: Floats, y: Labels, X_test: Floats, n_concepts: int) -> Labels:
    """One regression for each class against the others, on the concepts with the largest weights for this class."""
    classes = np.unique(y)
    scores = np.empty((len(X_test), len(classes)))
    for place, label in enumerate(classes):
        weight = np.abs(full.coef_[min(place, len(full.coef_) - 1)]) * X.std(axis=0)
        chosen = np.argsort(-weight, kind="stable")[:n_concepts]
        regression = _regression().fit(X[:, chosen], y == label)
        scores[:, place] = regression.predict_proba(X_test[:, chosen])[:, 1]
    return np.asarray(classes[scores.argmax(axis=1)])


def _with_best_of_row(full: Any, X: Floats, X_test: Floats, n_concepts: int) -> Labels:
    """The full regression, each row with only the concepts that speak most for or against its label.

    The others are set to their means: would the explanation by its largest parts be the decision?
    """
    mean, classes = X.mean(axis=0), full.classes_
    label = np.searchsorted(classes, full.predict(X_test))
    coefficients = full.coef_[label] if len(full.coef_) > 1 else np.tile(full.coef_, (len(X_test), 1))
    part = np.abs(coefficients * (X_test - mean))
    kept = np.argsort(-part, axis=1, kind="stable")[:, :n_concepts]
    rows = np.tile(mean, (len(X_test), 1))
    np.put_along_axis(rows, kept, np.take_along_axis(X_test, kept, axis=1), axis=1)
    return np.asarray(full.predict(rows))


def _regression() -> Any:
    return LogisticRegression(max_iter=2000)
