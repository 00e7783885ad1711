"""The door for tables: what comes in is checked once, and named in the error when it cannot be used.

:class:`Schema` knows the columns of a training table and turns any table with the same columns into numbers.
"""

from ferl._tables.labels import (
    check_weight_span,
    checked_sample_weight,
    class_factors,
    codes_of,
    distinct_labels,
    refuse_missing_labels,
    refuse_other_kind,
    weights_and_factors,
)
from ferl._tables.merging import merge_columns
from ferl._tables.rows import (
    INDICATOR_CATEGORIES,
    OneRow,
    add_up_indicators,
    is_one_row,
    read_row,
    refuse_extreme_scales,
    with_indicators,
)
from ferl._tables.schema import Schema

__all__ = [
    "INDICATOR_CATEGORIES",
    "OneRow",
    "Schema",
    "add_up_indicators",
    "check_weight_span",
    "checked_sample_weight",
    "class_factors",
    "codes_of",
    "distinct_labels",
    "is_one_row",
    "merge_columns",
    "read_row",
    "refuse_extreme_scales",
    "refuse_missing_labels",
    "refuse_other_kind",
    "weights_and_factors",
    "with_indicators",
]
