"""Statements of a model, one by one, with their names and words.

A statement is what everything that lists rules is made of: text, frames, LaTeX, the overview, the report.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.cases import Cases
from ferl._models.model import Model, kept_by_model
from ferl._models.rule_model import RuleModel
from ferl._models.terms import CurvesAndMaps, Rules
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._models.words import STANDARD_WORDS
from ferl._tell.conditions import LEAST_LISTED, MAX_LISTED, Bound, Condition, Memberships, overlap
from ferl._util.arrays import Floats
from ferl._util.text import has_words, listed, one_line, spoken, support_text, words_of


@dataclass(frozen=True, eq=False)
class Statement:
    """What a model states where some conditions are met. It does not hold the model, which keeps it.

    Conditions on one feature are merged into one interval, with a band on either side: it fits fully where all of them
    do, and not at all where one of them does not. (Inside a band several bounds multiply; the tree has each of them.)

    Attributes
    ----------
    node : int
        Where the path of conditions ends in the tree.
    number : int or None
        What it is called wherever rules are shown; None: it does not take part in the evidence.
    path : tuple of int
        The nodes of its conditions.
    conditions : tuple of Condition
        The conditions, each feature once.
    adds : ndarray of shape (n_classes,)
        What it adds: weights of evidence of a rule, the distribution over the classes at a node of a tree.
    support : float
        Training weight behind it.
    share : float
        The same as a share of the whole training weight.
    """

    node: int
    number: int | None
    path: tuple[int, ...]
    conditions: tuple[Condition, ...]
    adds: Floats
    support: float
    share: float

    @property
    def label(self) -> int:
        """Index of the class that it supports most."""
        return int(np.argmax(self.adds))

    @abstractmethod
    def consequence(self, style: Style) -> str:
        """What follows "then"."""

    def lines(self, style: Style) -> list[str]:
        """The statement as a sentence of two lines."""
        start = f"if {style.conditions(self)}" if self.conditions else "always"
        rows = f"applies to {support_text(self.support)} rows ({self.share:.0%})"
        return [f"{self.number:3d}. {start}", f"     then {self.consequence(style)}, {rows}{self.missing(style)}"]

    def missing(self, style: Style) -> str:
        """How far missing values fit the conditions, as a clause; "" where a row goes down both sides of a split."""
        return ""


class RuleStatement(Statement):
    """A rule whose weights of evidence are added up."""

    def consequence(self, style: Style) -> str:
        """Weights of evidence."""
        return style.weight(self.adds)

    def missing(self, style: Style) -> str:
        """How far missing values fit the conditions on columns that had some in training."""
        tree = style.model.tree
        lacking = [node for node in self.path if style.model.had_missing(int(tree.feature[node]))]
        fits = [f"a missing {style.names[tree.feature[node]]} fits by {tree.share[node]:.2f}" for node in lacking]
        return f"; {listed(fits)}" if fits else ""


class TreeStatement(Statement):
    """A path of a tree."""

    def consequence(self, style: Style) -> str:
        """The most probable class, and the others."""
        share, classes = self.adds, style.classes
        answer = f"{classes[self.label]} with confidence {probability_text(share[self.label])}"
        others = [c for c in np.argsort(-share, kind="stable") if c != self.label and share[c] >= 0.005]
        if others:
            answer += f" ({', '.join(f'{classes[c]}: {probability_text(share[c])}' for c in others)})"
        return answer


@singledispatch
def statements(model: Any) -> tuple[Statement, ...]:
    """What a model states, by number; a tree's with the largest training weight first."""
    raise TypeError(f"A {type(model).__name__} has no statements.")


@statements.register
@kept_by_model
def _(model: RuleModel) -> tuple[Statement, ...]:
    return tuple(statement for block in model.terms for statement in term_statements(block, model))


@statements.register
@kept_by_model
def _(model: TreeModel) -> tuple[Statement, ...]:
    return tuple(_tree_statement(model, node) for node in model.rule_numbers)


@singledispatch
def term_statements(block: Any, model: RuleModel) -> Iterable[Statement]:
    """What a block of terms states; a new kind of term is registered here."""
    raise TypeError(f"{type(block).__name__} have no statements.")


@term_statements.register
def _(block: Rules, model: RuleModel) -> Iterable[Statement]:
    weight = model.tree.weight
    for (node, number), adds in zip(model.rule_numbers.items(), block.weight, strict=True):
        path, support = model.tree.path(node), float(weight[node])
        yield RuleStatement(
            node, number, tuple(path), conditions_of(model, path), adds, support, support / float(weight[0])
        )


@term_statements.register
def _(block: CurvesAndMaps, model: RuleModel) -> Iterable[Statement]:
    return ()  # they have no conditions: tables and pictures show them


@term_statements.register
def _(block: Cases, model: RuleModel) -> Iterable[Statement]:
    return ()  # a vote has no conditions: the cases themselves show it


def _tree_statement(model: TreeModel, node: int) -> TreeStatement:
    path, support = model.tree.path(node), float(model.tree.weight[node])
    number, share = model.rule_numbers.get(node), support / float(model.tree.weight[0])
    return TreeStatement(
        node, number, tuple(path), conditions_of(model, path), model.tree.consequent[node], support, share
    )


def path_statements(model: TreeModel, inner: bool) -> list[TreeStatement]:
    """The paths of a tree to its leaves, or to all nodes, the largest training weight first."""
    tree = model.tree
    nodes = range(1, tree.n_nodes) if inner and tree.n_nodes > 1 else tree.leaves.tolist()
    return sorted((_tree_statement(model, node) for node in nodes), key=lambda item: -item.support)


@kept_by_model
def rule_text(model: Model, node: int) -> str:
    """What follows "if" on the way to a node, with names as sentences say them; "" at the root."""
    names = model.column_names()
    return " and ".join(
        [item.text(spoken(names[item.feature])) for item in conditions_of(model, model.tree.path(node))]
    )


@kept_by_model
def rule_texts(model: RuleModel) -> list[str]:
    """The same for all rules, in their order."""
    style = Style(model, [spoken(name) for name in model.column_names()], [])
    return [style.conditions(statement) for statement in statements(model)]


# ---------------------------------------------------------------------------------------------------------------------
# Conditions of a path
# ---------------------------------------------------------------------------------------------------------------------


def conditions_of(model: Model, path: Sequence[int]) -> tuple[Condition, ...]:
    """The conditions of some nodes, each feature once."""
    tree, plain = model.tree, model.has_long_ramps
    by_feature: dict[int, list[int]] = {}
    for node, feature in zip(path, tree.feature[list(path)].tolist(), strict=True):
        by_feature.setdefault(feature, []).append(node)
    result: list[Condition] = []
    for feature, nodes in by_feature.items():
        kind, names = model.column_kinds[feature], model.category_names.get(feature)
        if tree.word and not is_told_by_value(model, feature):
            result += [Condition(feature, None, None, tree.word[node]) for node in nodes]
        elif names is not None:
            product = np.prod([np.nan_to_num(tree.memberships(node)) for node in nodes], axis=0)
            result.append(Condition(feature, None, None, categories=_listed(product), names=names, plain=plain))
        elif kind.is_ordered:
            fits = _listed(_ordered_memberships(tree, nodes, len(kind.order)))
            result.append(Condition(feature, None, None, categories=fits, plain=plain, kind=kind))
        else:
            result.append(_number_condition(model, feature, nodes))
    return tuple(result)


def _number_condition(model: Model, feature: int, nodes: list[int]) -> Condition:
    tree, kind, plain = model.tree, model.column_kinds[feature], model.has_long_ramps
    shares = [math.nan if tree.cuts is None else float(tree.cuts.share[tree.parent[node]]) for node in nodes]
    sides = [(*item, share) for item, share in zip(tree.trapezoid[nodes].tolist(), shares, strict=True)]
    lower = _merged([(a, b, share) for a, b, _, _, share in sides if math.isfinite(a)], outward=-1)
    upper = _merged([(c, d, share) for _, _, c, d, share in sides if math.isfinite(d)], outward=1)
    is_known = kind.is_whole is not None
    whole = model.is_whole(feature) if is_known else plain and feature in tree.whole_columns
    binary = kind.name == "binary" if is_known else whole and tree.support[nodes[0]].tolist() == [0.0, 1.0]
    around = overlap(lower, upper, tree.trapezoid[nodes]) if lower is not None and upper is not None else None
    return Condition(feature, lower, upper, plain=plain, whole=whole, binary=binary, overlap=around, kind=kind)


def _listed(membership: Floats) -> Memberships:
    return tuple((int(code), float(membership[code])) for code in np.flatnonzero(membership >= LEAST_LISTED))


def _ordered_memberships(tree: FuzzyTree, nodes: list[int], n_codes: int) -> Floats:
    """How far ordered categories fit all of these conditions on their indices."""
    codes, product = np.arange(n_codes, dtype=np.float64), np.ones(n_codes)
    for a, b, c, d in tree.trapezoid[nodes].tolist():
        if math.isfinite(a):
            product *= np.interp(codes, [a, b], [0.0, 1.0]) if a < b else codes >= a
        if math.isfinite(d):
            product *= np.interp(codes, [c, d], [1.0, 0.0]) if c < d else codes <= d
    return product


def _merged(bands: list[tuple[float, float, float]], outward: int) -> Bound | None:
    """One bound for all bands on one side of a feature; a band is its two ends and its share of resamples.

    It is full where all of them are, and zero where one of them is. It has the share of the band that reaches zero
    first.
    """
    if not bands:
        return None
    tightest = min if outward > 0 else max
    low, high = (tightest(band[end] for band in bands) for end in (0, 1))
    decisive = tightest(bands, key=lambda band: band[1] if outward > 0 else band[0])
    return Bound((low + high) / 2, (high - low) / 2, decisive[2])


def is_told_by_value(model: Model, feature: int) -> bool:
    """Whether conditions in words name the values that fit: "ht = 1", not "ht is high"; not for an expert's words."""
    kind, words = model.column_kinds[feature], model.words
    if words is None or not (kind.is_ordered or kind.name == "binary"):
        return False
    variable = words[feature]
    return variable is not None and all(one.name in STANDARD_WORDS for one in variable.sets)


def word_meanings(model: Model, names: Sequence[str], columns: Iterable[int] | None = None) -> list[str]:
    """One line for each column that rules use, in the order of the columns; empty for a model without words.

    Parameters
    ----------
    model : Model
        The model.
    names : sequence of str
        Names of the columns, indicators of missing values among them.
    columns : iterable of int, default=None
        Only these; by default all that conditions are on.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl._tell.statements import word_meanings
    >>> iris = load_iris()
    >>> clf = FERLClassifier(words=True, random_state=0).fit(iris.data, iris.target)
    >>> for line in word_meanings(clf.model_, ["sepal length", "sepal width", "petal length", "petal width"]):
    ...     print(line)
    petal length: low below 1.3..4.3, medium around 4.3 (1.3..6.1), high above 4.3..6.1
    petal width: low below 0.2..1.3, medium around 1.3 (0.2..2.3), high above 1.3..2.3
    """
    tree, words = model.tree, model.words
    if not tree.word or words is None:
        return []
    asked = tree.feature[1:].tolist() if columns is None else columns
    return [
        variable.text(names[column], model.column_kinds[column].writer)
        for column in sorted(set(asked))
        if (variable := words[column]) is not None and not is_told_by_value(model, column)
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Names and numbers
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Style:
    """How statements are put into words.

    Attributes
    ----------
    model : Model
        The model.
    names, classes : list of str
        Names of the columns and of the classes.
    decimals : int or None
        Digits after the point of thresholds; None: the significant digits.
    all_classes : bool
        Whether the weights of all classes are printed, or only the weights of the most supported and the most opposed
        class.
    shares, ramps : bool
        Whether bands are printed with the share of resamples behind them, and overlapping bands by their ends.
    max_listed : int or None
        Number of categories that a condition names; None: all.
    """

    model: Model
    names: list[str]
    classes: list[Any]
    decimals: int | None = None
    all_classes: bool = True
    shares: bool = False
    ramps: bool = False
    max_listed: int | None = MAX_LISTED

    @property
    def is_two(self) -> bool:
        """Whether evidence is printed as log-odds of the second class."""
        return len(self.classes) == 2

    def conditions(self, statement: Statement) -> str:
        """What follows "if"."""
        how = self.decimals, self.shares, self.max_listed, self.ramps
        return " and ".join([condition.text(self.names[condition.feature], *how) for condition in statement.conditions])

    def weight(self, evidence: Floats) -> str:
        """Weights of evidence: for the second of two classes, otherwise class by class."""
        if self.is_two:
            return weight_text(evidence[1] - evidence[0])
        order = np.argsort(-evidence, kind="stable")
        if not self.all_classes:
            order = order[[0, -1]] if len(order) > 1 else order
        return ", ".join(f"{weight_text(evidence[c])} for {self.classes[c]}" for c in order)


def weight_text(value: float) -> str:
    """A weight of evidence with its sign and two decimals, or four digits where it is very large."""
    text = f"{value:+.2f}" if abs(value) < 100 else f"{value:+.1f}" if abs(value) < 1000 else f"{value:+.0f}"
    return "0" if text in ("+0.00", "-0.00") else text


def probability_text(value: float) -> str:
    """Two decimals, or three where two would round to certainty."""
    return f"{value:.3f}" if 0.995 <= value < 1 else f"{value:.2f}"


def reader_names(
    model: Model, features: Sequence[str] | None, labels: Sequence[str] | None
) -> tuple[list[str], list[Any]]:
    """Names of columns and classes for a reader; those given, if they fit the model."""
    return [in_sentence(name) for name in model.column_names(features)], reader_classes(model.labels, labels)


def reader_classes(classes: Sequence[Any] | NDArray[Any], given: Sequence[str] | None) -> list[Any]:
    """Names of classes for a reader: the labels, in words where they have them, or those given, if they fit."""
    names = [words_of(name) if has_words(name) else name for name in (classes if given is None else given)]
    if len(names) != len(classes):
        raise ValueError(f"class_names has {len(names)} names; there are {len(classes)} classes.")
    if len({str(name) for name in names}) != len(names):
        raise ValueError(f"class_names are {[str(name) for name in names]}; two of them read the same.")
    return names


def in_sentence(name: Any) -> str:
    """A name without what would break a line of text."""
    words = words_of(name)
    return one_line(words) or repr(words)
