"""The rules of a fitted classifier as text and as data frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import narwhals as nw
import numpy as np

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._models.tree import Cuts
from ferl._models.tree_model import TreeModel
from ferl._read.exact_text import exact_lines
from ferl._read.explanation.accuracy import read_accuracy
from ferl._read.explanation.overview import Overview
from ferl._read.explanation.overview import overview as read_overview
from ferl._read.rules import read_rules
from ferl._read.text import TextStyle, rules_text, shown_names, wrapped_lines
from ferl._read.wide_text import WideStyle, wide_text
from ferl.rules import FERLClassifier


def export_text(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    decimals: int | None = None,
    max_rules: int | None = None,
    shares: bool = True,
    all_classes: bool | None = None,
    exact: bool = False,
    width: int = 100,
) -> str:
    """Rules of a fitted classifier as sentences, strongest support first.

    A threshold is printed with its band: inside ``2.46 ±0.09`` both sides of a split fire, in shares. Where two bands
    overlap no value fits fully; the rule then names the value that fits best, the ends of both bands, and by how much
    it fits: ``around 0.35 (above 0.25..0.35, below 0.13..0.45, fits by at most 0.31)``. The percentage behind a band
    says how sure it is: in which share of the bootstrap resamples the best cut lies inside it. What the words of a
    compact tree mean is said below its rules. Confidence is the share of the class behind a rule, smoothed
    towards those of the rules' common paths, so a pure rule does not claim certainty; the shares of other classes
    follow it. Support is the training weight behind a rule.

    Wide rules are grouped by feature, the most important first: all rules on one feature add up to one curve, told by
    its corners, less what it says of the training rows on average. Rules on several features follow one by one. The
    text begins with what all rows begin with, so that an answer can be worked out by hand.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
    class_names : sequence of str, default=None
        Names of the classes, in the order of ``classes_``; by default the labels themselves.
    decimals : int, default=None
        Digits after the point of learned thresholds; by default as many as a band's half-width gives meaning to.
    max_rules : int, default=None
        Print at most this many rules, and say how many are left out. Wide rules on one feature are told together, all
        of those on the strongest feature at least.
    shares : bool, default=True
        Print the share of resamples behind each band; wide rules have none.
    all_classes : bool, default=None
        Wide rules of three and more classes: whether the weight of every class is printed, or only those of the class
        that is spoken for most and of the one that is spoken against most. None: of every class up to four.
    exact : bool, default=False
        Print all that an answer depends on, with every digit: each condition of a path by itself, gates, what missing
        values and unknown categories count, and how rules are combined. Names stand in quotation marks, so that a
        program can read the text; answers that are worked out from it agree with ``predict_proba`` but for rounding.
    width : int, default=100
        Longer lines are wrapped.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, FERLTreeClassifier, export_text
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> names = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> print(export_text(clf, feature_names=names, class_names=iris.target_names))
      1. if petal length > 2.46 ±0.09 (52%) and petal width < 1.68 ±0.06 (56%)
         then versicolor with confidence 0.89 (virginica: 0.10, setosa: 0.01), support 52.6 (35%)
      2. if petal length < 2.46 ±0.09 (52%)
         then setosa with confidence 0.98 (versicolor: 0.01, virginica: 0.01), support 50.0 (33%)
      3. if petal length > 2.46 ±0.09 (52%) and petal width > 1.68 ±0.06 (56%)
         then virginica with confidence 0.94 (versicolor: 0.05, setosa: 0.01), support 47.4 (32%)
    Rules are combined by Dempster's rule; exact=True prints all that an answer depends on,
            gates and every digit among it.
    (%): share of resamples whose best cut lies inside the band

    Wide rules:

    >>> X, y = iris.data[50:], iris.target[50:]
    >>> wide = FERLClassifier(max_rules=2, random_state=0).fit(X, y)
    >>> print(export_text(wide, feature_names=names, class_names=iris.target_names[1:], width=110))
    Evidence for virginica: begin with +0.36 and add what follows. The probability of virginica is 1 / (1
            + exp(-sum)).
    petal width (rule 1)
         the higher petal width, from 1 to 2.5, the more it speaks for virginica: from -5.81 to +7.08
    petal length (rule 2)
         the higher petal length, from 3 to 6.9, the more it speaks for virginica: from -8.21 to +8.59
    Between two values of a number weights change in proportion; beyond the first and last they stay.
    Seen in training: petal length 3..6.9; petal width 1..2.5. A value outside makes the whole sum count
            for less, in proportion to its distance, and for nothing one range away.
    """
    model = model_of(estimator, "export_text")
    names, classes = shown_names(model, feature_names, class_names)
    if exact:
        return _exact_text(model, names, classes, decimals, max_rules, width)
    if isinstance(model, RuleModel):
        return wide_text(model, names, classes, decimals, max_rules, all_classes, width)
    return rules_text(model, names, classes, decimals, max_rules, shares, width)


def _exact_text(
    model: Model, names: list[str], classes: list[Any], decimals: int | None, max_rules: int | None, width: int
) -> str:
    """All of a model, with every digit."""
    for name, value in (("decimals", decimals), ("max_rules", max_rules)):
        if value is not None:
            raise ValueError(f"{name} is {value}; exact=True prints the whole model. Leave one of the two out.")
    return "\n".join(part for line in exact_lines(model, names, classes) for part in wrapped_lines(line, width))


def rules_frame(
    estimator: FERLClassifier,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    inner: bool | None = None,
    backend: str | None = None,
) -> Any:
    """Rules of a fitted classifier as a data frame with one row for each rule, strongest support first.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    feature_names, class_names : sequence of str, default=None
        As in :func:`export_text`.
    inner : bool, default=None
        Whether to list the beginnings of rules, which end at inner nodes. None: where they are sources of evidence of
        their own, as in a compact tree; the list is then all that an answer is made of.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Whose data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``number`` (what the rule is called everywhere; 0: it does not speak on its own), ``conditions`` (what
        follows "if"), ``label``, ``confidence``, ``support`` (training weight), ``share`` (of the whole training
        weight), ``n_conditions``, ``node`` (its index in ``tree_``), ``is_leaf`` (False for the beginning of a rule),
        and ``p(label)``, the share of each class.

        Wide rules, in the order of ``evidence_weights_``, have no ``confidence``, ``is_leaf`` and ``p(label)``; instead
        ``v(label)`` is the weight of evidence for each class, ``label`` the class that a rule speaks for most,
        ``features`` the names of what it asks, ``missing_fits`` how far a missing value fits each of its conditions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, rules_frame
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> frame = rules_frame(clf, class_names=iris.target_names)
    >>> frame[["conditions", "label", "confidence"]].round(2)
                             conditions       label  confidence
    0  x2 > 2.46 ±0.09 and x3 < 1.68 ±0.06  versicolor        0.89
    1                       x2 < 2.46 ±0.09      setosa        0.98
    2  x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06   virginica        0.94
    """
    model = model_of(estimator, "rules_frame")
    names, classes = shown_names(model, feature_names, class_names)
    if isinstance(model, RuleModel):
        return data_frame(_wide_columns(model, names, classes, inner), backend)
    rules = read_rules(model, inner)
    total = float(model.tree.weight[0])
    style = TextStyle(names, classes, total, model.category_names)
    columns: dict[str, list[Any]] = {
        "number": [rule.number or 0 for rule in rules],
        "conditions": [style.conditions(rule) for rule in rules],
        "label": [classes[rule.label] for rule in rules],
        "confidence": [float(rule.consequent[rule.label]) for rule in rules],
        "support": [rule.support for rule in rules],
        "share": [rule.support / total for rule in rules],
        "n_conditions": [len(rule.conditions) for rule in rules],
        "node": [rule.node for rule in rules],
        "is_leaf": [bool(model.tree.is_leaf[rule.node]) for rule in rules],
        **{f"p({label})": [float(rule.consequent[c]) for rule in rules] for c, label in enumerate(classes)},
    }
    return data_frame(columns, backend)


def _wide_columns(model: Model, names: list[str], classes: list[Any], inner: bool | None) -> dict[str, list[Any]]:
    """The columns of :func:`rules_frame` for wide rules."""
    if inner:
        raise ValueError("inner is True; only trees have beginnings of rules. Leave inner out for wide rules.")
    tree, rules, weights = model.tree, read_rules(model), model.rules.weight
    style = WideStyle(model, names, [str(label) for label in classes])
    paths = [tree.path(rule.node) for rule in rules]
    total = float(tree.weight[0])
    return {
        "number": [rule.number for rule in rules],
        "conditions": [style.conditions(rule) for rule in rules],
        "features": [", ".join(dict.fromkeys(names[tree.feature[node]] for node in path)) for path in paths],
        "label": [classes[int(own.argmax())] for own in weights],
        "support": [rule.support for rule in rules],
        "share": [rule.support / total for rule in rules],
        "n_conditions": [len(path) for path in paths],
        "node": [rule.node for rule in rules],
        "missing_fits": [", ".join(f"{tree.share[node]:.6g}" for node in path) for path in paths],
        **{f"v({label})": weights[:, c].tolist() for c, label in enumerate(classes)},
    }


def data_frame(columns: dict[str, list[Any]], backend: str | None) -> Any:
    """Columns as a data frame of this backend; by default the first that is installed."""
    return nw.from_dict(columns, backend=backend or _installed_backend()).to_native()  # type: ignore[arg-type]


def _installed_backend() -> str:
    for name in ("pandas", "polars", "pyarrow"):
        if find_spec(name) is not None:
            return name
    raise ImportError("A data frame needs pandas, polars or pyarrow. Install one: pip install pandas")


def splits_frame(
    estimator: FERLClassifier, *, feature_names: Sequence[str] | None = None, backend: str | None = None
) -> Any:
    """Learned splits of a fitted classifier as a data frame, heaviest first.

    A split's cut was found again in every bootstrap resample. The frame says between which values the best cut lies and
    how many resamples agree with the band that was learned from them. Bootstrap intervals of a threshold are
    approximate; ``docs/results/cuts.md`` has their measured coverage.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, deep or medium. The words of a compact tree are not learned: its frame is empty.
    feature_names : sequence of str, default=None
        Names to print; by default those of the training table.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Whose data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``feature``; ``threshold`` and ``half_width`` of the band; ``low`` and ``high``, between which the best
        cut lies with about 90 % confidence; ``share`` of the resamples whose cut lies inside the band; ``support``
        (training weight that reached the split); ``gain`` (Gini decrease times weight); ``node`` (its index in
        ``tree_``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, splits_frame
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> splits_frame(clf)[["feature", "threshold", "half_width", "low", "high", "share"]].round(2)
      feature  threshold  half_width  low  high  share
    0      x2       2.46        0.09  1.9   3.0   0.52
    1      x3       1.68        0.06  1.5   1.8   0.56
    """
    model = model_of(estimator, "splits_frame", TreeModel, "rules_frame, whose rules have their corners")
    names, tree = shown_names(model, feature_names, None)[0], model.tree
    cuts = tree.cuts or Cuts(np.full((tree.n_nodes, 2), np.nan), np.full(tree.n_nodes, np.nan))
    splits = np.flatnonzero(~np.isnan(cuts.share))  # a split of categories has no threshold
    splits = splits[np.argsort(-tree.weight[splits], kind="stable")]
    low, high = tree.trapezoid[splits + 1, 2], tree.trapezoid[splits + 1, 3]  # a split's left side comes right after it
    columns = {
        "feature": [names[j] for j in tree.feature[splits + 1]],
        "threshold": ((low + high) / 2).tolist(),
        "half_width": ((high - low) / 2).tolist(),
        "low": cuts.interval[splits, 0].tolist(),
        "high": cuts.interval[splits, 1].tolist(),
        "share": cuts.share[splits].tolist(),
        "support": tree.weight[splits].tolist(),
        "gain": tree.gain[splits].tolist(),
        "node": splits.tolist(),
    }
    return data_frame(columns, backend)


def overview(
    estimator: FERLClassifier, X: Any = None, y: Any = None, *, feature_names: Sequence[str] | None = None
) -> Overview:
    """A model at a glance: what matters, its rules by support, and what each class looks like to it.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows that were not used for fitting. The page then says how many of them get their label, beside the share of
        the commonest label, and how many of each class are found.
    y : array-like of shape (n_samples,), default=None
        Labels of these rows.
    feature_names : sequence of str, default=None
        Names to print; None: those of the training table.

    Returns
    -------
    Overview

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, overview
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
    >>> print(overview(clf, X[1::2], y[1::2]).accuracy.section.lines[0])
    Accuracy is 94.7 % on 75 rows. Always answering 0 would be right for 33.3 % of them.
    """
    page = read_overview(model_of(estimator, "overview").with_names(feature_names))
    if X is None and y is None:
        return page
    if X is None or y is None:
        raise ValueError(f"{'X' if X is None else 'y'} is None; give rows and their labels, or neither.")
    told = [own.label for own in page.classes]
    return replace(page, accuracy=read_accuracy(np.asarray(y), estimator.predict(X), told))
