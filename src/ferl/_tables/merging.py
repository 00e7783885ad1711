"""The columns of two tables that are parts of one, and columns that do not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.kinds import merged_kind
from ferl._tables.schema import Schema, refuse_other_names


def merge_columns(known: Schema, others: Schema) -> Schema:
    """The columns of two tables that are parts of one: their categories together.

    Examples
    --------
    >>> from ferl._tables import Schema, merge_columns
    >>> merge_columns(Schema.learn([[1.0, "b"]]), Schema.learn([[2.0, "a"]])).categories
    (None, array(['a', 'b'], dtype=object))
    """
    if known.names != others.names or len(known.categories) != len(others.categories):
        if known.names is not None and others.names is not None:
            refuse_other_names(set(known.names), set(others.names))
        raise ValueError(
            "Batches have different columns, or the same in another order. Give every batch the columns of the first."
        )
    categories, kinds = [], []
    for j, pair in enumerate(zip(known.categories, others.categories, strict=True)):
        kinds.append(merged_kind(known.label(j), known.kind(j), others.kind(j)))
        categories.append(_merged(known.label(j), *pair))
    return replace(known, categories=tuple(categories), kinds=tuple(kinds))


def first_that_has_values(
    known: Schema, others: Schema, has_values: Sequence[tuple[bool, bool]]
) -> tuple[Schema, Schema]:
    """Two schemas of the same columns; of a column without any value in one, both have what the other says.

    In a part without values the type of a column says nothing: pandas makes floats of a text column that is empty.

    Parameters
    ----------
    known, others : Schema
        The two.
    has_values : sequence of (bool, bool)
        By column, whether it has any value in the first and in the second.

    Returns
    -------
    Schema, Schema
    """
    n_features = range(len(known.categories))
    of_known = [has_first or not has_second for has_first, has_second in has_values]
    of_others = [has_second or not has_first for has_first, has_second in has_values]
    found = []
    for own, use_first in ((known, of_known), (others, [not use for use in of_others])):
        sources = [known if use_first[j] else others for j in n_features]
        found.append(
            replace(
                own,
                categories=tuple(source.categories[j] for j, source in enumerate(sources)),
                kinds=tuple(source.kind(j) for j, source in enumerate(sources)),
            )
        )
    return found[0], found[1]


def _merged(label: str, known: NDArray[Any] | None, others: NDArray[Any] | None) -> NDArray[Any] | None:
    # A column without any value has no categories, whatever its type.
    has_categories = any(own is not None and len(own) for own in (known, others))
    if (known is None or others is None) and not has_categories:
        return None
    if known is None or others is None or (len(known) and len(others) and known.dtype.kind != others.dtype.kind):
        kinds = ["numbers" if own is None else _CATEGORY_KINDS[own.dtype.kind] for own in (known, others)]
        if {"whole numbers", "numbers with fractions"} == set(kinds):
            return np.union1d(np.asarray(known, dtype=np.float64), np.asarray(others, dtype=np.float64))
        raise ValueError(
            f"{label} holds {kinds[0]} in some batches and {kinds[1]} in others. Give it one type, or name it in "
            "categorical_features."
        )
    if not len(known) or not len(others):
        return others if not len(known) else known
    return np.array(sorted({*known.tolist(), *others.tolist()}), dtype=known.dtype)


_CATEGORY_KINDS = {"O": "text", "b": "booleans", "i": "whole numbers", "f": "numbers with fractions"}
