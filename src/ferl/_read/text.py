"""Rules in words."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.model import Model
from ferl._read.rules import Rule, is_told_by_value, read_conditions, read_rules
from ferl._util.text import has_words, one_line, spoken, support_text, words_of


def word_meanings(model: Model, names: Sequence[str], columns: Iterable[int] | None = None) -> list[str]:
    """One line for each column that rules ask, in the order of the columns; none for a tree without words.

    Parameters
    ----------
    model : Model
        The model.
    names : sequence of str
        Names of the columns, indicators of missing values among them.
    columns : iterable of int, default=None
        Only these; by default all that the tree asks.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl._read.text import word_meanings
    >>> iris = load_iris()
    >>> clf = FERLClassifier(words=True, random_state=0).fit(iris.data, iris.target)
    >>> for line in word_meanings(clf.model_, ["sepal length", "sepal width", "petal length", "petal width"]):
    ...     print(line)
    petal length: low below 1.3..4.3, medium around 4.3 (1.3..6.1), high above 4.3..6.1
    petal width: low below 0.2..1.3, medium around 1.3 (0.2..2.3), high above 1.3..2.3
    """
    tree, partition = model.tree, model.words
    if not tree.word or partition is None:
        return []
    asked = tree.feature[1:].tolist() if columns is None else columns
    variables = [(partition[column], column) for column in sorted(set(asked))]
    return [
        variable.text(names[column], model.column_kind(column).writer)
        for variable, column in variables
        if variable is not None and not is_told_by_value(model, column)
    ]


@dataclass(frozen=True)
class TextStyle:
    """How rules are put into words: names, the whole training weight, digits, and what bands tell.

    ``shares``: of resamples, behind each band; ``ramps``: the ends of bands that overlap.
    """

    names: list[str]
    classes: list[Any]
    total: float
    categories: dict[int, Sequence[Any]]
    decimals: int | None = None
    shares: bool = False
    ramps: bool = False

    def conditions(self, rule: Rule) -> str:
        """What follows "if"."""
        return " and ".join(
            condition.text(
                self.names[condition.feature],
                self.decimals,
                self.shares,
                self.categories.get(condition.feature),
                with_ramps=self.ramps,
            )
            for condition in rule.conditions
        )

    def rule_lines(self, rule: Rule) -> list[str]:
        """A rule as a sentence of two lines."""
        conditions, share = self.conditions(rule), rule.consequent
        answer = f"{self.classes[rule.label]} with confidence {probability_text(share[rule.label])}"
        others = [c for c in np.argsort(-share, kind="stable") if c != rule.label and share[c] >= 0.005]
        if others:
            answer += f" ({', '.join(f'{self.classes[c]}: {probability_text(share[c])}' for c in others)})"
        return [
            f"{rule.number:3d}. if {conditions}" if conditions else f"{rule.number:3d}. always",
            f"     then {answer}, support {support_text(rule.support)} ({rule.support / self.total:.0%})",
        ]


def rules_text(
    model: Model,
    names: list[str],
    classes: list[Any],
    decimals: int | None = None,
    max_rules: int | None = None,
    shares: bool = True,
    width: int = 100,
) -> str:
    """The rules of a model as sentences; see :func:`ferl.export_text`."""
    for name, value in (("decimals", decimals), ("max_rules", max_rules)):
        if value is not None and value < 0:
            raise ValueError(f"{name} is {value}; it must be at least 0, or None.")
    rules = read_rules(model)
    shown = rules[:max_rules]
    style = TextStyle(names, classes, float(model.tree.weight[0]), model.category_names, decimals, shares, True)
    lines = [line for rule in shown for line in style.rule_lines(rule)]
    if len(shown) < len(rules):
        lines.append(f"... and {len(rules) - len(shown)} more rules")
    lines += [_combined(model)] if model.tree.n_nodes > 1 else []
    lines += _legend(model, shown, names, shares)
    return "\n".join(wrapped for line in lines for wrapped in wrapped_lines(line, width))


def rule_text(model: Model, node: int) -> str:
    """What follows "if" on the way to a node, with names as sentences say them; "" at the root."""
    if node not in model.rule_texts:
        names, categories = model.column_names(), model.category_names
        model.rule_texts[node] = " and ".join(
            own.text(spoken(names[own.feature]), categories=categories.get(own.feature))
            for own in read_conditions(model, node)
        )
    return model.rule_texts[node]


def shown_names(
    model: Model, features: Sequence[str] | None, labels: Sequence[str] | None
) -> tuple[list[str], list[Any]]:
    """Names of columns and classes for a reader; those given, if they fit the model."""
    names = [in_sentence(name) for name in model.column_names(features)]
    return names, checked_class_names(model.labels, labels)


def checked_class_names(classes: Sequence[Any] | NDArray[Any], given: Sequence[str] | None) -> list[Any]:
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


def _legend(model: Model, rules: list[Rule], names: list[str], shares: bool) -> list[str]:
    """What the words of these rules mean, or the percentages behind their bands."""
    if not model.tree.word or model.words is None:
        has_bands = any(own.lower or own.upper for rule in rules for own in rule.conditions)
        has_shares = shares and model.tree.cuts is not None and has_bands
        return ["(%): share of resamples whose best cut lies inside the band"] if has_shares else []
    asked = {condition.feature for rule in rules for condition in rule.conditions}
    lines = [f"     {line}" for line in word_meanings(model, names, asked)]
    return ["where", *lines] if lines else []


def _combined(model: Model) -> str:
    """How rules of a tree become an answer."""
    told = {
        "dempster": "Rules are combined by Dempster's rule",
        "vote": "Rules vote, each by how far it fits",
        "cautious": "Of all rules the strongest counts, class by class",
        "chain": "Along a path the strongest rule counts, and paths are combined by Dempster's rule",
    }
    way = told[model.reading.combination]
    return f"{way}; exact=True prints all that an answer depends on, gates and every digit among it."


def probability_text(value: float) -> str:
    """Two decimals, or three where two would round to certainty."""
    return f"{value:.3f}" if 0.995 <= value < 1 else f"{value:.2f}"


def wrapped_lines(line: str, width: int) -> list[str]:
    """A line as several of at most this width, those after the first indented."""
    # A threshold stays together with its band, and the band with its share.
    kept = re.sub(r" (?=±|\(\d+%\))", "\u00a0", line)
    indent = len(line) - len(line.lstrip())
    wrapped = textwrap.wrap(kept.strip(), width - 8, break_long_words=False)
    lines = [" " * (8 if index else indent) + part for index, part in enumerate(wrapped)]
    return [part.replace("\u00a0", " ") for part in lines]
