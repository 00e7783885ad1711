"""``ferl report``: a model and a table as one HTML file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import typer

from ferl._cli.errors import CommandError, check_place
from ferl._model.model import Model
from ferl._sklearn import changed_parameters
from ferl._tables.categories import CategoryLookup, plain_text
from ferl._tables.column import arrow_column
from ferl._tables.file_rows import RowReader, known_column
from ferl._tables.files import FileForm, TableFile
from ferl._util.arrays import Ints
from ferl._util.files import replace_text
from ferl._util.names import near_name
from ferl._util.progress import file_bar
from ferl._util.text import shown
from ferl._util.threads import n_threads
from ferl.report.summarise import summarise
from ferl.report.table_reading import NO_LABEL, OTHER_LABEL, Cell, TableReading
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
        Heading of the page; None: the name of the model's file.
    """

    target: str | None = None
    title: str | None = None


def run_report(model: Path, table: Path, out: Path, form: FileForm, wanted: Wanted, jobs: int) -> None:
    """Read a table batch by batch, and write what a model says of it."""
    check_place(out, model, table)
    estimator = load_model(model)
    fitted = estimator.model_
    file = TableFile(table, form)
    labels = None if wanted.target is None else Labels(fitted, file, wanted.target)
    names = [name for name in file.names if name != wanted.target]
    rows = RowReader(fitted.schema, fitted.missing_features, names, file.path, file.form)
    reading = TableReading(fitted, n_threads(jobs))
    with file_bar(f"judging {table.name}", file.size) as moved:
        for batch in file.batches(moved):
            truth = None if labels is None else labels.codes(batch)
            read = rows.read(batch)
            rows.count(read)
            reading.add(read.rows, truth, _cells(batch, rows.features))
    if labels is not None:
        labels.refuse_if_all_are_others()
    title = wanted.title or model.stem
    replace_text(out, render(summarise(fitted, changed_parameters(estimator), reading, title, table.name)))
    for line in rows.unseen_lines():
        typer.echo(f"note: {line}", err=True)
    typer.echo(f"{reading.n_rows:,} rows judged; report in {out}", err=True)


def _cells(batch: pa.Table, features: list[str]) -> Cell:
    """Values as the file holds them, by row and feature."""
    return lambda row, feature: batch[features[feature]][row].as_py()


class Labels:
    """The column of labels, as indices of a model's classes."""

    def __init__(self, model: Model, file: TableFile, target: str) -> None:
        if target not in file.names:
            near = near_name(target, file.names)
            hint = f" Did you mean {near!r}?" if near else " Leave --target out if there are no labels."
            raise CommandError(f"{file.path.name} has no column {target!r}.{hint}")
        if target in (model.schema.names or ()):
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
