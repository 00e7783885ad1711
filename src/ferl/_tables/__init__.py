"""The door for tables: what comes in is checked once, and named in the error when it cannot be used.

:class:`Schema` knows the columns of a training table and turns any table with the same columns into numbers:
:func:`learn_table` for training rows, :func:`encode_rows` for rows to judge.
"""

from ferl._tables.rows import (
    INDICATOR_CATEGORIES,
    add_up_indicators,
    check_rows,
    encode_rows,
    learn_labels,
    learn_table,
    refuse_extreme_scales,
    with_indicators,
)
from ferl._tables.schema import Schema, merge_columns
from ferl._tables.weights import (
    check_weight_span,
    checked_sample_weight,
    class_factors,
    refuse_missing_labels,
    row_weights,
    weights_and_factors,
)

__all__ = [
    "INDICATOR_CATEGORIES",
    "Schema",
    "add_up_indicators",
    "check_rows",
    "check_weight_span",
    "checked_sample_weight",
    "class_factors",
    "encode_rows",
    "learn_labels",
    "learn_table",
    "merge_columns",
    "refuse_extreme_scales",
    "refuse_missing_labels",
    "row_weights",
    "weights_and_factors",
    "with_indicators",
]
