"""``ferl report``: a model and a table as one HTML file."""

from __future__ import annotations

from argparse import Namespace

import pyarrow as pa
import typer

from ferl._cli.labelled import Labels
from ferl._cli.rows import decision_of
from ferl._cli.shell import check_column, check_places, note
from ferl._sklearn import changed_parameters
from ferl._tables.columns import arrow_column, is_text
from ferl._tables.table_files import FileForm, RowReader, TableFile, known_column, text_as_numbers
from ferl._util.files import replace_text
from ferl._util.threads import file_bar, n_threads
from ferl.report.content import summarise
from ferl.report.judged_table import Cell, Groups, JudgedTable
from ferl.report.writing import render
from ferl.saving import load_model


def run_report(asked: Namespace) -> None:
    """Read a table batch by batch, and write a page on it and a model."""
    check_places([asked.out], asked.model, asked.table)
    estimator = load_model(asked.model)
    model, target, groups = estimator.model_, asked.target, asked.groups
    decision = decision_of(asked.decision, model)
    file = TableFile(asked.table, asked.form)
    labels = None if target is None else Labels(model, file, target)
    if groups is not None:
        check_column(file.names, groups, file.path.name, "Leave --groups out if rows are not to be compared.")
    names = [name for name in file.names if name != target]
    if len(names) > model.n_features and groups not in (model.schema.names or ()):
        names = [name for name in names if name != groups]  # without names columns are taken in their order
    rows = RowReader(model.schema, model.derived, names, file.path, file.form)
    judged = JudgedTable(model, n_threads(asked.jobs), decision=decision)
    held: list[pa.Array] = []
    with file_bar(f"judging {asked.table.name}", file.size) as moved:
        for batch in file.batches(moved):
            truth = None if labels is None else labels.codes(batch)
            read = rows.read(batch)
            rows.count(read)
            judged.add(read.rows, truth, _cells(batch, rows.features))
            held += [] if groups is None else known_column(batch[groups], file.form).chunks
    if labels is not None:
        labels.refuse_if_all_are_others()
    title = asked.title or (None if model.schema.target.name else asked.model.stem)
    compared = None if groups is None or not held else _groups(groups, held, file.form)
    page = summarise(model, changed_parameters(estimator), judged, title, asked.table.name, compared)
    replace_text(asked.out, render(page))
    for line in rows.unseen_lines():
        note(line)
    typer.echo(f"{judged.n_rows:,} rows judged; report in {asked.out}", err=True)


def _groups(name: str, held: list[pa.Array], form: FileForm) -> Groups:
    """The column that rows are grouped by; text that spells numbers throughout is numbers."""
    column = pa.chunked_array(held)
    numbers = text_as_numbers(column, form.has_decimal_commas) if is_text(column.type) else None
    return Groups(name, arrow_column(f"Column {name!r}", column if numbers is None else numbers))


def _cells(batch: pa.Table, features: list[str]) -> Cell:
    """Values as the file holds them, by row and feature."""
    return lambda row, feature: batch[features[feature]][row].as_py()
