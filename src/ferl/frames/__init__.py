"""The door for tables: what comes in is checked once, and named in the error when it cannot be used.

:class:`Columns` knows the columns of a training table and turns any table with the same columns into numbers:
:func:`learn_table` for training rows, :func:`encode_rows` for rows to judge.
"""

from ferl.frames.checks import check_rows, check_training_table, refuse_missing_labels, row_weights
from ferl.frames.columns import Columns
from ferl.frames.tables import encode_rows, learn_table

__all__ = [
    "Columns",
    "check_rows",
    "check_training_table",
    "encode_rows",
    "learn_table",
    "refuse_missing_labels",
    "row_weights",
]
