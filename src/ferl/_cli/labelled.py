"""``ferl drift``, ``ferl update`` and ``ferl report``, and the rows with labels that they and other commands read."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray

from ferl._cli.rows import decision_of
from ferl._cli.shell import CommandError, check_column, check_places, note
from ferl._models.model import Model
from ferl._sklearn import changed_parameters
from ferl._tables.columns import arrow_column, is_text
from ferl._tables.labels import label_markers
from ferl._tables.table_files import FileForm, RowReader, TableFile, known_column, text_as_numbers
from ferl._tables.values import MISSING, CategoryLookup, plain_text
from ferl._util.arrays import Ints
from ferl._util.files import replace_text
from ferl._util.text import plain, shown
from ferl._util.threads import file_bar, n_threads
from ferl.report.content import ModelCard, summarise
from ferl.report.judged_table import NO_LABEL, OTHER_LABEL, Cell, Groups, JudgedTable
from ferl.report.writing import render
from ferl.saving import load_model, save_model

_ALARM = 3.0  # standard errors
_BY_CLASS = ("class_shift", "class_noise")


def run_drift(asked: Namespace) -> None:
    """Print how later rows differ; the model stays as it is."""
    run_update(Namespace(**vars(asked), out=None))


def run_update(asked: Namespace) -> None:
    """Let a model learn from later rows, print how they differ, and write the model where a file is named."""
    check_places([asked.out], asked.table)
    estimator = load_model(asked.model)
    rows = read_labelled(estimator.model_, asked)
    others = rows.labels[rows.codes < 0]
    if len(others):
        raise CommandError(
            f"{len(others):,} rows have a label such as {others[0]!r}, which is no class of the model. Leave them out, "
            "or fit anew on all rows."
        )
    jobs = estimator.n_jobs
    estimator.set_params(n_jobs=asked.jobs).partial_fit(rows.X, estimator.classes_[rows.codes])
    drift = estimator.drift_
    if drift is None:
        raise CommandError(f"{asked.model.name} has no rules to compare later rows with. Fit it first.")
    if asked.as_json:
        figures = drift.to_dict()
        shares = {name: {str(key): plain(item) for key, item in figures.pop(name).items()} for name in _BY_CLASS}
        figures = {name: plain(item) for name, item in figures.items()} | shares
        typer.echo(json.dumps(figures, ensure_ascii=False, indent=2))
    else:
        typer.echo(repr(drift))
        if drift.z > _ALARM:
            typer.echo("The relation between features and labels has changed: fit anew on recent rows.")
    if asked.out is not None:
        save_model(estimator.set_params(n_jobs=jobs), asked.out)
        typer.echo(f"{len(rows.codes):,} rows learned; model in {asked.out}", err=True)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows, in the types that an estimator takes.

    Attributes
    ----------
    X : pyarrow.Table
        The columns that the model reads.
    codes : ndarray of shape (n_samples,)
        Each row's label as an index of the model's classes; -1 for a label of no class. Without a target all
        are -1.
    labels : ndarray of shape (n_samples,), object
        The labels.
    """

    X: pa.Table
    codes: Ints
    labels: NDArray[np.object_]


def read_labelled(model: Model, asked: Namespace) -> LabelledRows:
    """The rows of a table that have a label; without a target, all rows."""
    file = TableFile(asked.table, asked.form)
    known = None if asked.target is None else Labels(model, file, asked.target)
    names = [name for name in file.names if name != asked.target]
    reader = RowReader(model.schema, model.derived, names, file.path, file.form)
    parts, codes = [], []
    labels: list[Any] = []
    n_missing = 0
    for batch in file.batches():
        batch_codes = np.full(batch.num_rows, -1, dtype=np.int32) if known is None else known.codes(batch)
        keep = batch_codes != NO_LABEL if known is not None else np.ones(batch.num_rows, dtype=bool)
        n_missing += int((~keep).sum())
        kept, code = batch.filter(pa.array(keep)), np.maximum(batch_codes[keep], -1)
        read = reader.read(kept)
        reader.count(read)
        columns = [read.numbers.get(name, known_column(kept[name], file.form)) for name in reader.features]
        parts.append(pa.table(columns, names=reader.features))
        codes.append(code)
        texts = [None] * len(code) if known is None else pc.cast(kept[asked.target], pa.string()).to_pylist()
        labels += [model.classes[c].item() if c >= 0 else text for c, text in zip(code.tolist(), texts, strict=True)]
    if known is not None:
        known.refuse_if_all_are_others()
    if n_missing:
        note(f"{n_missing:,} rows have no {asked.target!r} and are left out")
    for line in reader.unseen_lines():
        note(line)
    if not labels:
        raise CommandError(f"{file.path.name} has no row{' with a label' if known else ''}, so there is nothing to do.")
    array = np.empty(len(labels), dtype=object)
    array[:] = labels
    return LabelledRows(pa.concat_tables(parts), np.concatenate(codes), array)


class Labels:
    """The column of labels, as indices of a model's classes."""

    def __init__(self, model: Model, file: TableFile, target: str) -> None:
        check_column(file.names, target, file.path.name, "Leave --target out if there are no labels.")
        if target in (model.schema.names or ()):
            raise CommandError(f"{target!r} is a feature of the model. Name the column that holds the labels.")
        self.target = target
        self.form = file.form
        self.lookup = CategoryLookup(model.classes, label_markers(MISSING, model.classes.tolist()))
        self.n_known = 0
        self.other: str | None = None

    def codes(self, batch: pa.Table) -> Ints:
        """The labels of a batch; ``NO_LABEL`` where one is missing, ``OTHER_LABEL`` for labels of no class."""
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


# ---------------------------------------------------------------------------------------------------------------------
# ferl report
# ---------------------------------------------------------------------------------------------------------------------


def run_report(asked: Namespace) -> None:
    """Read a table batch by batch, and write a page on it and a model."""
    check_places([asked.out], asked.model, asked.table, asked.decision)
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
    card = ModelCard(asked.intended_use, asked.limits, asked.date)
    page = summarise(model, changed_parameters(estimator), judged, title, asked.table.name, compared, card)
    replace_text(asked.out, render(page))
    for line in rows.unseen_lines():
        note(line)
    typer.echo(f"{judged.n_rows:,} rows predicted; report in {asked.out}", err=True)


def _groups(name: str, held: list[pa.Array], form: FileForm) -> Groups:
    """The column that rows are grouped by; text that spells numbers throughout is numbers."""
    column = pa.chunked_array(held)
    numbers = text_as_numbers(column, form.has_decimal_commas) if is_text(column.type) else None
    return Groups(name, arrow_column(f"Column {name!r}", column if numbers is None else numbers))


def _cells(batch: pa.Table, features: list[str]) -> Cell:
    """Values as the file holds them, by row and feature."""
    return lambda row, feature: batch[features[feature]][row].as_py()
