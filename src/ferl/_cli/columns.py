"""Columns that are hardly meant to be learned from: names, ids, numbers with words among them."""

from __future__ import annotations

import shlex

import pyarrow as pa
import typer

from ferl._tables.columns import LEAST_ROWS, are_ids, are_running_numbers
from ferl._tables.values import spelled_number
from ferl._util.text import shown

_LIKE_NAMES = 0.5  # a column with more categories than this share of its rows looks like names


def remark_on_categories(text: pa.ChunkedArray, name: str) -> bool:
    """Tell the user of columns that are taken as categories and were hardly meant to be; whether it was told."""
    counts = {pair["values"]: pair["counts"] for pair in text.value_counts().to_pylist() if pair["values"] is not None}
    others = [value for value in counts if spelled_number(value) is None]
    n_rows = sum(counts.values())
    if len(others) <= 3 and 2 * sum(counts[value] for value in others) < n_rows:
        typer.echo(
            f"note: column {name!r} holds numbers and {', '.join(map(shown, others))}, and is taken as categories. If "
            f"that stands for missing values, add --missing {shlex.quote(','.join(others))}",
            err=True,
        )
    elif len(counts) > max(_LIKE_NAMES * n_rows, LEAST_ROWS):
        kind = "ids" if are_ids(len(counts), n_rows) else "names"
        typer.echo(
            f"note: column {name!r} has {len(counts):,} categories in {n_rows:,} rows, as {kind} have; to leave it "
            f"out, add --drop {shlex.quote(name)}",
            err=True,
        )
    else:
        return False
    return True


def remark_on_ids(numbers: pa.ChunkedArray, name: str) -> bool:
    """Tell the user of a column of whole numbers with another value in nearly every row; whether it was told."""
    is_like_ids = are_running_numbers(numbers.drop_null().to_numpy(), name)
    if is_like_ids:
        note_ids(name, "another whole number")
    return is_like_ids


def note_ids(name: str, what: str = "another value") -> None:
    """Tell the user that a column may be ids, with what to add to the command."""
    typer.echo(
        f"note: column {name!r} has {what} in nearly every row and may be ids or names, which say nothing of new rows. "
        f"If it is a time or a rank that matters, keep it; to leave it out, add --drop {shlex.quote(name)}",
        err=True,
    )
