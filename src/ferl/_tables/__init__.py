"""The door for tables: any table, file or row becomes columns of numbers and codes of categories.

``table.py`` reads arrays and data frames as columns, ``columns.py`` learns and encodes one column, ``schema.py`` holds
the columns of a training table and encodes later tables and rows, ``table_files.py`` reads and writes CSV and Parquet.
``kinds.py`` has the kinds of columns and descriptions of tables, ``values.py`` single values, ``labels.py`` labels and
weights, ``derived.py`` the columns that are computed from others.
"""

from ferl._tables.derived import INDICATOR_CATEGORIES, Derived, Missing, add_up_derived, with_derived
from ferl._tables.kinds import NOTHING_SAID, ColumnKind, DescriptionError, TableDescription
from ferl._tables.labels import (
    check_weight_span,
    checked_groups,
    checked_sample_weight,
    class_factors,
    codes_of,
    distinct_labels,
    group_numbers,
    plain_labels,
    refuse_missing_labels,
    refuse_other_kind,
    weights_and_factors,
)
from ferl._tables.schema import OneRow, Schema, is_one_row, merge_columns, read_row, refuse_extreme_scales
from ferl._tables.table import data_frame, read_table
