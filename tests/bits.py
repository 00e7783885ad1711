"""Digests of fitted models and their answers: the same table gives the same bits, whatever is rearranged in the code.

All tables are scikit-learn's or made here, so that every digest is compared wherever the tests run.
"""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
from sklearn import datasets

from ferl import FERLClassifier, FERLTreeClassifier

N_CERTIFIED = 20  # rows whose radius is taken in: certificates cost the most
TREE = ("parent", "feature", "trapezoid", "support", "class_weight", "consequent", "gain", "share")
PROFILE = ("mean", "variance", "exemplar", "exemplar_row")

KINDS = {
    "rules": lambda **given: FERLClassifier(**given),
    "words": lambda **given: FERLClassifier(words=True, **given),
    "quantile words": lambda **given: FERLClassifier(words="quantile", n_sets=4, max_rules=25, **given),
    "deep": lambda **given: FERLTreeClassifier("deep", **given),
    "medium": lambda **given: FERLTreeClassifier("medium", criterion="entropy", combination="vote", **given),
    "compact": lambda **given: FERLTreeClassifier("compact", **given),
    "compact cci": lambda **given: FERLTreeClassifier("compact", criterion="cci", words="mdlp", **given),
}


def _numbers(seed, n_rows, n_classes):
    """Numbers on scales that differ, some of them noise, some repeated, with classes that overlap."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 6)) * [1.0, 1e3, 1e-3, 1.0, 5.0, 1.0]
    X[:, 3] = X[:, 3].round()
    score = X[:, 0] + X[:, 1] / 1e3 * X[:, 3] + np.sin(X[:, 4])
    cuts = np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1])
    return X, np.searchsorted(cuts, score + 0.3 * rng.normal(size=n_rows))


def _mixed():
    """Numbers, categories and gaps, labels that are text, weights."""
    rng = np.random.default_rng(7)
    n = 600
    age, income = rng.integers(18, 90, n).astype(float), rng.lognormal(10, 1, n)
    job = rng.choice(["clerk", "cook", "none", "nurse", "pilot"], n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    flag = rng.random(n) < 0.3
    odds = (age - 50) / 15 + np.where(job == "none", 2.0, 0.0) - np.log(income) + 10 + flag
    y = np.where(odds + rng.logistic(size=n) > 0, "late", "paid")
    age[rng.random(n) < 0.1] = np.nan
    gaps = rng.random(n) < 0.15
    table = {"age": age, "income": income, "job": [None if gap else item for item, gap in zip(job, gaps, strict=True)]}
    return pa.table(table | {"flag": flag}), y, rng.integers(1, 4, n).astype(float)


def _of_sklearn(name):
    return *getattr(datasets, f"load_{name}")(return_X_y=True), None


TABLES = {
    "iris": lambda: _of_sklearn("iris"),
    "wine": lambda: _of_sklearn("wine"),
    "breast_cancer": lambda: _of_sklearn("breast_cancer"),
    "digits": lambda: _of_sklearn("digits"),
    "two classes": lambda: (*_numbers(1, 900, 2), None),
    "seven classes": lambda: (*_numbers(2, 1200, 7), None),
    "five thousand rows": lambda: (*_numbers(3, 5000, 3), None),
    "mixed": _mixed,
}
OPTIONS = {"mixed": {"missing_conditions": True, "class_weight": {"late": 2.0, "paid": 1.0}}}
LARGE = ("digits", "five thousand rows")  # compact trees of these take seconds


def cases():
    """Every table with every kind of model, but for those that take long."""
    return [(name, kind) for name in TABLES for kind in KINDS if not (name in LARGE and "compact" in kind)]


def fitted(name, kind):
    """A fitted classifier and the rows it was fitted on."""
    X, y, weight = TABLES[name]()
    return KINDS[kind](random_state=0, **OPTIONS.get(name, {})).fit(X, y, weight), X


def _arrays(clf, X):
    tree, model, evidence = clf.tree_, clf.model_, clf.predict_evidence(X)
    yield from (getattr(tree, item) for item in TREE)
    yield from (getattr(tree.profile, item) for item in PROFILE)
    if tree.cuts is not None:
        yield from (tree.cuts.interval, tree.cuts.share)
    if tree.categories is not None:
        yield from (tree.categories.start, tree.categories.membership)
    if isinstance(clf, FERLClassifier):
        rules = model.rules
        result = (rules.node, rules.weight, model.prior, model.ranges, rules.ridge, model.novelty_scale)
        yield from (array for array in result if array is not None)
    first = X.slice(0, N_CERTIFIED) if isinstance(X, pa.Table) else X[:N_CERTIFIED]
    yield from (evidence.belief, evidence.plausibility, evidence.pignistic, evidence.ignorance, evidence.conflict)
    yield from (clf.predict_proba(X), clf.predict_set(X), clf.novelty(X), clf.support_deficit(X))
    yield from (clf.novelty_attribution(first), clf.novelty_rank(X), clf.feature_importances_, clf.predict(X))
    if isinstance(clf, FERLClassifier):
        yield from (clf.decision_function(X), clf.contributions(first), clf.feature_contributions(first))
    yield from (np.asarray(clf.lipschitz_), clf.certified_radius(first, scale="spread"))


def digest_of(name, kind):
    """SHA-256 of a fitted model's arrays and of what it answers for its training rows."""
    result = hashlib.sha256()
    for array in _arrays(*fitted(name, kind)):
        result.update(f"{array.dtype.str}{array.shape}".encode())
        result.update(np.ascontiguousarray(array).tobytes())
    return result.hexdigest()


def matrix_kernels():
    """Which kernels multiply matrices in NumPy: updates of rules have the bits of these."""
    from threadpoolctl import threadpool_info

    names = {info.get("architecture", "unknown") for info in threadpool_info() if info["user_api"] == "blas"}
    alike = {"Zen": "Haswell", "Cooperlake": "SkylakeX", "Sapphirerapids": "SkylakeX"}
    return " and ".join(sorted({alike.get(name, name) for name in names}))


def update_digest(kind):
    """The digest of a model that saw half of a table first, and the other half by ``partial_fit``."""
    X, y, _ = TABLES["seven classes"]()
    clf = KINDS[kind](random_state=0).partial_fit(X[::2], y[::2], classes=np.unique(y)).partial_fit(X[1::2], y[1::2])
    result = hashlib.sha256()
    for array in _arrays(clf, X):
        result.update(np.ascontiguousarray(array).tobytes())
    return result.hexdigest()
