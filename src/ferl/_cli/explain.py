"""``ferl explain``: the story of one row of a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer
from rich.console import Console

from ferl._cli.errors import CommandError, check_place
from ferl._models.model import Model
from ferl._models.model_file import read_model
from ferl._tables import OneRow
from ferl._tables.table_files import FileForm, RowReader, TableFile
from ferl._tell.explain import explain
from ferl._tell.explanation import Explanation
from ferl._util.files import replace_text


@dataclass(frozen=True)
class StoryForm:
    """How a story is to be told.

    Attributes
    ----------
    as_json, is_plain : bool
        JSON or plain text on standard output, instead of colours.
    html : Path or None
        A file for HTML.
    with_changes : bool
        Whether to look for the changes that would alter the label.
    """

    as_json: bool = False
    is_plain: bool = False
    html: Path | None = None
    with_changes: bool = True


def run_explain(model: Path, table: Path, number: int, form: FileForm, told: StoryForm) -> None:
    """Tell the story of one row; rows are counted from 1, the header not among them."""
    if told.html is not None:
        check_place(told.html, model, table)
    fitted, _ = read_model(model)
    file = TableFile(table, form)
    story = explain(fitted, read_row_of(fitted, file, number), counterfactual=told.with_changes)
    if told.html is not None:
        _write_html(story, told.html, f"Row {number} of {table.name}")
    if told.as_json:
        typer.echo(json.dumps(story.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    elif told.is_plain:
        typer.echo(story.to_text())
    else:
        Console().print(story)
    if told.html is not None:
        typer.echo(f"story written to {told.html}", err=True)


def read_row_of(model: Model, file: TableFile, number: int) -> OneRow:
    """The row of this number, from 1; the file is read up to there."""
    if number < 1:
        raise CommandError(f"--row is {number}; rows are counted from 1, the header not among them.")
    reader = RowReader(model.schema, model.missing_features, file.names, file.path, file.form)
    read = reader.read(_row_of(file, number))
    features = {name: f for f, name in enumerate(reader.features)}
    unseen: dict[int, Any] = {features[name]: next(iter(found)) for name, found in read.unseen.items()}
    return OneRow(read.rows, unseen)


def _row_of(file: TableFile, number: int) -> pa.Table:
    n_rows = 0
    for batch in file.batches():
        if number <= n_rows + batch.num_rows:
            return batch.slice(number - 1 - n_rows, 1)
        n_rows += batch.num_rows
    rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    raise CommandError(f"--row is {number}; {file.path.name} has {rows}. Choose one of them, counted from 1.")


def _write_html(story: Explanation, path: Path, title: str) -> None:
    page = (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="color-scheme" content="light dark"></head>'
        f"<body><h1>{escape(title)}</h1>{story.to_html()}</body></html>\n"
    )
    replace_text(path, page)
