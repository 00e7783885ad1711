"""Rows with labels from a file, as a fitted model reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray

from ferl._cli.errors import CommandError
from ferl._cli.report import Labels
from ferl._tables.table_files import FileForm, RowReader, TableFile, known_column
from ferl._util.arrays import Ints
from ferl.report.judged_table import NO_LABEL
from ferl.rules import FERLClassifier


@dataclass(frozen=True)
class Source:
    """A model, a table and how to read it.

    Attributes
    ----------
    model, table : Path
        The files.
    target : str or None
        Column that holds the labels; None: there is none.
    form : FileForm
        How to read the table.
    jobs : int
        Number of threads.
    """

    model: Path
    table: Path
    target: str | None
    form: FileForm
    jobs: int

    @classmethod
    def of(
        cls, model: Path, table: Path, target: str | None, separator: str | None, missing: tuple[str, ...], jobs: int
    ) -> Source:
        """From what a user types."""
        return cls(model, table, target, FileForm(separator, missing), jobs)


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows, in the types that an estimator takes.

    Attributes
    ----------
    X : pyarrow.Table
        The columns that the model reads.
    codes : ndarray of shape (n_samples,)
        Each row's label as an index of the model's classes; -1 for a label that is none of them. Without a target all
        are -1.
    labels : ndarray of shape (n_samples,), object
        The labels.
    """

    X: pa.Table
    codes: Ints
    labels: NDArray[np.object_]


def read_labelled(estimator: FERLClassifier, source: Source) -> LabelledRows:
    """The rows of a table that have a label; without a target, all rows."""
    model = estimator.model_
    file = TableFile(source.table, source.form)
    known = None if source.target is None else Labels(model, file, source.target)
    names = [name for name in file.names if name != source.target]
    reader = RowReader(model.schema, model.missing_features, names, file.path, file.form)
    parts, codes, texts = [], [], []
    n_missing = 0
    for batch in file.batches():
        own = np.full(batch.num_rows, -1, dtype=np.int32) if known is None else known.codes(batch)
        keep = own != NO_LABEL if known is not None else np.ones(batch.num_rows, dtype=bool)
        n_missing += int((~keep).sum())
        kept = batch.filter(pa.array(keep))
        read = reader.read(kept)
        reader.count(read)
        columns = [read.numbers.get(name, known_column(kept[name], file.form)) for name in reader.features]
        parts.append(pa.table(columns, names=reader.features))
        codes.append(np.maximum(own[keep], -1))
        if known is not None and source.target is not None:
            texts += pc.cast(kept[source.target], pa.string()).to_pylist()
    if known is not None:
        known.refuse_if_all_are_others()
    if n_missing:
        typer.echo(f"note: {n_missing:,} rows have no {source.target!r} and are left out", err=True)
    for line in reader.unseen_lines():
        typer.echo(f"note: {line}", err=True)
    if not parts or not sum(part.num_rows for part in parts):
        raise CommandError(f"{file.path.name} has no row{' with a label' if known else ''}, so there is nothing to do.")
    code = np.concatenate(codes)
    labels = np.array([None] * len(code), dtype=object)
    if known is not None:
        labels[:] = [model.classes[c].item() if c >= 0 else t for c, t in zip(code.tolist(), texts, strict=True)]
    return LabelledRows(pa.concat_tables(parts), code, labels)
