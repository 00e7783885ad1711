"""What the words of a compact tree mean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


def word_meanings(estimator: FERLClassifier, names: Sequence[str], columns: Iterable[int] | None = None) -> list[str]:
    """One line for each column that rules ask, in the order of the columns; none for a tree without words.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    names : sequence of str
        Names of the columns, indicators of missing values among them.
    columns : iterable of int, optional
        Only these; by default all that the tree asks.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.word_meanings import word_meanings
    >>> iris = load_iris()
    >>> clf = FERLClassifier("compact", max_rules=2, random_state=0).fit(iris.data, iris.target)
    >>> for line in word_meanings(clf, ["sepal length", "sepal width", "petal length", "petal width"]):
    ...     print(line)
    sepal width: low below 2.7..3.0, medium between 2.7..3.0 and 3.1..3.4, high above 3.1..3.4
    petal length: low below 1.5..3.9, medium between 1.5..3.9 and 4.7..5.4, high above 4.7..5.4
    petal width: low below 0.2..1.1, medium between 0.2..1.1 and 1.5..1.9, high above 1.5..1.9
    """
    tree, partition = estimator.tree_, estimator.partition_
    if not tree.word or partition is None:
        return []
    asked = tree.feature[1:].tolist() if columns is None else columns
    variables = [(partition[column], names[column]) for column in sorted(set(asked))]
    return [variable.text(name) for variable, name in variables if variable is not None]
