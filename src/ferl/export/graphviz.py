"""The tree in DOT, the language of Graphviz."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TextIO

import numpy as np

from ferl._answers import model_of
from ferl._models.tree import Folded, fold
from ferl._models.tree_model import TreeModel
from ferl._tell.conditions import LEAST_LISTED, listed_categories, threshold_text
from ferl._tell.statements import in_sentence, probability_text, reader_names
from ferl._util.files import replace_text
from ferl._util.text import class_colours, support_text, tint
from ferl.export.text import check_counts
from ferl.rules import FERLClassifier

_FILL = 0.4  # of a class's colour: black letters can be read on it


def export_graphviz(
    estimator: FERLClassifier,
    out_file: str | PathLike[str] | TextIO | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    max_rules: int | None = None,
    decimals: int | None = None,
    filled: bool = True,
    rotate: bool = False,
) -> str | None:
    r"""The tree of a fitted classifier as a graph in DOT.

    An inner node of learned splits holds the threshold with its band, and its branches are labelled with their side. In
    a tree of words a node holds its condition. Leaves, and all nodes of a tree of words, hold the label with its
    confidence and the support.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    out_file : str, path or text file, default=None
        Where to write. None: the text is returned.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    max_depth : int, default=None
        Fold up what lies below this depth; 0 is the root alone.
    max_rules : int, default=None
        Show at most this many ends of paths, the heaviest subtrees unfolded first.
    decimals : int, default=None
        Digits after the point of thresholds; by default enough digits for the half-width of the band.
    filled : bool, default=True
        Fill nodes with the colour of their most probable class.
    rotate : bool, default=False
        From left to right instead of downwards.

    Returns
    -------
    str or None
        The text; None when it was written to a file. ``dot -Tsvg tree.dot -o tree.svg`` draws it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier, export_graphviz
    >>> iris = load_iris()
    >>> clf = FERLTreeClassifier("medium", max_rules=2, random_state=0).fit(iris.data, iris.target)
    >>> print(export_graphviz(clf, class_names=iris.target_names, filled=False))
    digraph ferl {
        graph [rankdir=TB]
        node [shape=box, style="rounded", fontname="Helvetica"]
        edge [fontname="Helvetica", fontsize=10]
        0 [label="x2\n2.46 ±0.09\n150.0 rows (100%)"]
        1 [label="setosa 0.98\n50.0 rows (33%)"]
        2 [label="versicolor 0.49\n100.0 rows (67%)"]
        0 -> 1 [label="below"]
        0 -> 2 [label="above"]
    }
    """
    model = model_of(estimator, "export_graphviz", TreeModel, "ferl.plot.plot_shapes")
    names, labels = reader_names(model, feature_names, class_names)
    check_counts(decimals=decimals)
    texts = [in_sentence(str(label)) for label in labels]
    graph = _Graph(model, fold(model.tree, max_depth, max_rules), names, texts, decimals, filled)
    text = "\n".join(graph.lines("LR" if rotate else "TB"))
    if out_file is None:
        return text
    if isinstance(out_file, str | PathLike):
        replace_text(out_file, text + "\n")
    else:
        out_file.write(text + "\n")
    return None


def quoted(text: str) -> str:
    r"""Text as a string of DOT that shows it letter by letter.

    A backslash would begin an escape, an ampersand an entity, and a quotation mark end the string; line breaks stay.

    Examples
    --------
    >>> print(quoted('a "b" \\N &lt; <i>'))
    "a \"b\" \\N &amp;lt; <i>"
    """
    escaped = text.replace("\\", "\\\\").replace("&", "&amp;").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@dataclass(frozen=True)
class _Graph:
    """A tree and how its parts are called."""

    model: TreeModel
    folded: Folded
    names: list[str]
    labels: list[str]
    decimals: int | None
    filled: bool

    def lines(self, direction: str) -> list[str]:
        nodes = [self._node(node) for node in self.folded.nodes]
        edges = [edge for node, children in self.folded.children.items() for edge in self._edges(node, children)]
        return [
            "digraph ferl {",
            f"    graph [rankdir={direction}]",
            f'    node [shape=box, style="{"rounded, filled" if self.filled else "rounded"}", fontname="Helvetica"]',
            '    edge [fontname="Helvetica", fontsize=10]',
            *(f"    {line}" for line in (*nodes, *edges)),
            "}",
        ]

    def _node(self, node: int) -> str:
        tree, hidden = self.model.tree, self.folded.n_hidden.get(node)
        shares, weight = tree.consequent[node], float(tree.weight[node])
        label = int(np.argmax(shares))
        lines = [f"{self.labels[label]} {probability_text(float(shares[label]))}"]
        if tree.word:
            feature = int(tree.feature[node])
            lines.insert(0, f"{self.names[feature]} is {tree.word[node]}" if node else "all rows")
        elif node in self.folded.children:
            lines = self._split(self.folded.children[node][0])
        lines.append(f"{support_text(weight)} rows ({weight / float(tree.weight[0]):.0%})")
        lines += [] if hidden is None else [f"... {hidden} rules"]
        attributes = [f"label={quoted(chr(10).join(lines))}"]
        if self.filled:
            attributes.append(f'fillcolor="{tint(class_colours(len(self.labels))[label], _FILL)}"')
        attributes += [] if hidden is None else ["peripheries=2"]
        return f"{node} [{', '.join(attributes)}]"

    def _split(self, side: int) -> list[str]:
        """The split above this left side."""
        feature = int(self.model.tree.feature[side])
        if feature in self.model.category_names:
            return [self.names[feature]]
        low, high = self.model.tree.trapezoid[side, 2:].tolist()
        return [self.names[feature], threshold_text(self.model.column_kinds[feature], low, high, self.decimals)]

    def _edges(self, node: int, children: list[int]) -> list[str]:
        if self.model.tree.word:
            return [f"{node} -> {child}" for child in children]
        names, sides = self.model.category_names.get(int(self.model.tree.feature[children[0]])), ["below", "above"]
        if names is not None:
            fits = [np.nan_to_num(self.model.tree.memberships(child)).tolist() for child in children]
            inside = [tuple((code, item) for code, item in enumerate(side) if item >= LEAST_LISTED) for side in fits]
            sides = [listed_categories(side, names) for side in inside]
        return [f"{node} -> {child} [label={quoted(side)}]" for child, side in zip(children, sides, strict=True)]
