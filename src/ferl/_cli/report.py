"""``ferl report``: a model and a table as one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import typer

from ferl._cli.errors import CommandError, check_place
from ferl._models.model import Model
from ferl._sklearn import changed_parameters
from ferl._tables.columns import arrow_column, is_text
from ferl._tables.table_files import FileForm, RowReader, TableFile, known_column, text_as_numbers
from ferl._tables.values import CategoryLookup, plain_text
from ferl._util.arrays import Ints
from ferl._util.files import replace_text
from ferl._util.text import near_name, shown
from ferl._util.threads import file_bar, n_threads
from ferl.report.content import summarise
from ferl.report.judged_table import NO_LABEL, OTHER_LABEL, Cell, Groups, JudgedTable
from ferl.report.writing import render
from ferl.saving import load_model


@dataclass(frozen=True)
class Wanted:
    """What is to be reported.

    Attributes
    ----------
    target : str or None
        Column that holds the labels; None: there is none.
    title : str or None
        Heading of the page; None: what is predicted, or the name of the model's file where it does not know.
    groups : str or None
        Column whose values rows are compared by; None: rows are not grouped.
    decision : {"probable", "balanced"}
        How the labels that figures are about are chosen.
    """

    target: str | None = None
    title: str | None = None
    groups: str | None = None
    decision: str = "probable"


def run_report(model: Path, table: Path, out: Path, form: FileForm, wanted: Wanted, jobs: int) -> None:
    """Read a table batch by batch, and write what a model says of it."""
    check_place(out, model, table)
    estimator = load_model(model)
    fitted = estimator.model_
    file = TableFile(table, form)
    labels = None if wanted.target is None else Labels(fitted, file, wanted.target)
    if wanted.groups is not None:
        _check_column(file, wanted.groups, "Leave --groups out if rows are not to be compared.")
    names = [name for name in file.names if name != wanted.target]
    if len(names) > fitted.n_features and wanted.groups not in _names_of(fitted):
        names = [name for name in names if name != wanted.groups]  # without names columns are taken in their order
    rows = RowReader(fitted.schema, fitted.missing_features, names, file.path, file.form)
    reading = JudgedTable(fitted, n_threads(jobs), decision=wanted.decision)
    held: list[pa.Array] = []
    with file_bar(f"judging {table.name}", file.size) as moved:
        for batch in file.batches(moved):
            truth = None if labels is None else labels.codes(batch)
            read = rows.read(batch)
            rows.count(read)
            reading.add(read.rows, truth, _cells(batch, rows.features))
            held += [] if wanted.groups is None else known_column(batch[wanted.groups], file.form).chunks
    if labels is not None:
        labels.refuse_if_all_are_others()
    title = wanted.title or (None if fitted.schema.target.name else model.stem)
    groups = None if wanted.groups is None or not held else _groups(wanted.groups, held, file.form)
    replace_text(out, render(summarise(fitted, changed_parameters(estimator), reading, title, table.name, groups)))
    for line in rows.unseen_lines():
        typer.echo(f"note: {line}", err=True)
    typer.echo(f"{reading.n_rows:,} rows judged; report in {out}", err=True)


def _names_of(model: Model) -> tuple[str, ...]:
    return model.schema.names or ()


def _groups(name: str, held: list[pa.Array], form: FileForm) -> Groups:
    """The column that rows are grouped by; text that spells numbers throughout is numbers."""
    column = pa.chunked_array(held)
    numbers = text_as_numbers(column, form.has_decimal_commas) if is_text(column.type) else None
    return Groups(name, arrow_column(f"Column {name!r}", column if numbers is None else numbers))


def _check_column(file: TableFile, name: str, otherwise: str) -> None:
    if name not in file.names:
        near = near_name(name, file.names)
        hint = f"Did you mean {near!r}?" if near else otherwise
        raise CommandError(f"{file.path.name} has no column {name!r}. {hint}")


def _cells(batch: pa.Table, features: list[str]) -> Cell:
    """Values as the file holds them, by row and feature."""
    return lambda row, feature: batch[features[feature]][row].as_py()


class Labels:
    """The column of labels, as indices of a model's classes."""

    def __init__(self, model: Model, file: TableFile, target: str) -> None:
        _check_column(file, target, "Leave --target out if there are no labels.")
        if target in _names_of(model):
            raise CommandError(f"{target!r} is a feature of the model. Name the column that holds the labels.")
        self.target = target
        self.form = file.form
        self.lookup = CategoryLookup(model.classes)
        self.n_known = 0
        self.other: str | None = None

    def codes(self, batch: pa.Table) -> Ints:
        """The labels of a batch; ``NO_LABEL`` where one is missing, ``OTHER_LABEL`` for those of no class."""
        column = arrow_column(f"Column {self.target!r}", known_column(batch[self.target], self.form))
        known = np.nan_to_num(column.codes(self.lookup), nan=NO_LABEL)
        codes: Ints = np.where(known == self.lookup.n_categories, OTHER_LABEL, known).astype(np.int32)
        self.n_known += int((codes >= 0).sum())
        if self.other is None:
            self.other = next(map(plain_text, column.unseen(self.lookup)), None)
        return codes

    def refuse_if_all_are_others(self) -> None:
        """A column without a single label of the model is the wrong column."""
        if self.n_known == 0 and self.other is not None:
            raise CommandError(
                f"No value of column {self.target!r} (for example {shown(self.other)}) is a class of the model; these "
                f"are {shown(list(map(plain_text, self.lookup.by_value)))}. Name another column, or leave --target out."
            )
