"""What is known of the concepts of training rows: labels for each row, or one table for the classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from ferl._util.arrays import Floats


@dataclass(frozen=True, eq=False)
class ConceptLabels:
    """Concepts of rows.

    Attributes
    ----------
    value : ndarray of shape (n_rows, n_concepts)
        1 where the row has the concept, 0 where not, NaN where nobody knows.
    names : tuple of str
        Names of the concepts.
    """

    value: Floats
    names: tuple[str, ...]


def concept_labels(
    y: NDArray[Any],
    concepts: ArrayLike | None,
    class_concepts: Mapping[Any, ArrayLike] | ArrayLike | None,
    names: Sequence[str] | None,
) -> ConceptLabels:
    """Concepts of the training rows, from labels of their own or from those of their classes.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Classes of the rows.
    concepts : array-like or data frame of shape (n_rows, n_concepts), optional
        Labels of the rows.
    class_concepts : mapping, or array-like or data frame of shape (n_classes, n_concepts), optional
        Labels of the classes: a row for each class by name (a dict, or a data frame with the labels as its index), or
        in the sorted order of the classes that are in ``y``.
    names : sequence of str, optional
        Names of the concepts. None: those of the data frame's columns, or "concept 0", "concept 1", ...

    Returns
    -------
    ConceptLabels

    Examples
    --------
    >>> import numpy as np
    >>> from ferl.concepts.labels import concept_labels
    >>> table = {"swan": [1, 0], "magpie": [1, 1]}
    >>> concept_labels(np.array(["magpie", "swan"]), None, table, ["has white", "has black"]).value
    array([[1., 1.],
           [1., 0.]])
    """
    if concepts is not None:
        value, own_names = _table(concepts), _column_names(concepts)
        if len(value) != len(y):
            raise ValueError(f"concepts has {len(value)} rows and y {len(y)} labels. Pass the concepts of each row.")
    elif class_concepts is not None:
        value, own_names = _of_classes(y, class_concepts), _column_names(class_concepts)
    else:
        raise ValueError(
            "No concept labels. Pass the concepts of each row, fit(X, y, concepts), or those of each class, "
            "ConceptBottleneckFERL(class_concepts={label: [0, 1, ...]})."
        )
    _refuse_other_values(value)
    return ConceptLabels(value, _checked_names(names or own_names, value.shape[1]))


def named_table(concepts: Floats, names: Sequence[str]) -> pa.Table:
    """Concepts of rows as a table with their names, for the head; NaN is a missing value."""
    return pa.table([pa.array(concepts[:, column]) for column in range(len(names))], names=list(names))


def _of_classes(y: NDArray[Any], class_concepts: Any) -> Floats:
    classes, codes = np.unique(y, return_inverse=True)
    class_concepts = _by_label(class_concepts)
    if isinstance(class_concepts, Mapping):
        missing = [label for label in classes.tolist() if label not in class_concepts]
        if missing:
            raise ValueError(f"class_concepts has no row for the class {missing[0]!r}. Add one, or leave its rows out.")
        rows = [class_concepts[label] for label in classes.tolist()]
        if len({np.size(row) for row in rows}) > 1:
            raise ValueError("The rows of class_concepts differ in length. Give each class a value for each concept.")
        return _table(rows)[codes]
    table = _table(class_concepts)
    if len(table) != len(classes):
        raise ValueError(
            f"class_concepts has {len(table)} rows, but y holds {len(classes)} classes. Pass a row for each, in sorted "
            "order, or a dict from label to row, which may hold further classes."
        )
    return table[codes]


def _by_label(class_concepts: Any) -> Any:
    """A data frame whose index holds labels as a mapping; anything else as it is."""
    index = getattr(class_concepts, "index", None)
    if isinstance(class_concepts, Mapping) or index is None or callable(index):
        return class_concepts
    labels = index.tolist()
    if labels == list(range(len(labels))):  # rows that were only counted
        return class_concepts
    return dict(zip(labels, np.asarray(class_concepts), strict=True))


def _table(values: Any) -> Floats:
    try:
        table = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("Concept labels must be numbers: 1, 0, or NaN where a concept is not known.") from error
    if table.ndim != 2 or not table.shape[1]:
        raise ValueError(f"Concept labels have the shape {table.shape}; one column for each concept is needed.")
    return table


def _column_names(values: Any) -> list[str] | None:
    columns = getattr(values, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def _refuse_other_values(value: Floats) -> None:
    odd = ~(np.isnan(value) | (value == 0) | (value == 1))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"The concept label of row {row}, concept {column} is {value[row, column]:g}; use 1, 0, or NaN where it is "
            "not known."
        )


def _checked_names(names: Sequence[str] | None, n_concepts: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"concept {number}" for number in range(n_concepts))
    if len(names) != n_concepts:
        raise ValueError(f"concept_names has {len(names)} names for {n_concepts} concepts. Pass one for each.")
    repeated = sorted({str(name) for name in names if list(names).count(name) > 1})
    if repeated:
        raise ValueError(f"The concept name {repeated[0]!r} is there more than once. Give each concept its own.")
    return tuple(str(name) for name in names)
