"""Answers for the rows of a file, written beside them to another file, in constant memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ferl._model.model import Model
from ferl._read.answers import answer_columns, answer_names
from ferl._tables.file_rows import Batch, RowReader
from ferl._tables.files import TableFile
from ferl._tables.sinks import format_of, open_sink
from ferl._util.files import TableFileError
from ferl._util.progress import file_bar
from ferl._util.threads import in_order, n_threads


@dataclass(frozen=True)
class Wanted:
    """What is to be written.

    Attributes
    ----------
    every_class : bool
        Probability, belief and plausibility of each class as well.
    only_answers : bool
        Leave out the columns of the input.
    with_novelty : bool
        Whether novelty is among the answers.
    prefix : str
        Before the names of the answers.
    """

    every_class: bool = False
    only_answers: bool = False
    with_novelty: bool = True
    prefix: str = ""


def judge_file(
    model: Model, file: TableFile, out: str, wanted: Wanted, as_json: bool, jobs: int | None
) -> tuple[int, list[str]]:
    """Write the rows of a file with the answers of a model.

    Parameters
    ----------
    model : Model
        The model.
    file : TableFile
        The rows.
    out : str
        Where to: a path, or "-" for standard output.
    wanted : Wanted
        What is to be written.
    as_json : bool
        JSON, whatever the name of the output.
    jobs : int or None
        Batches that are judged at a time, as scikit-learn's ``n_jobs``.

    Returns
    -------
    n_rows : int
        Number of rows.
    notes : list of str
        Which categories training did not have.
    """
    threads = n_threads(jobs)  # refused, if at all, before anything is written
    judge = _Judge(model, file, wanted, format_of(out, as_json))
    n_rows = 0
    with file_bar(f"judging {file.path.name}", file.size) as moved, open_sink(out, judge.form, judge.schema) as sink:

        def judged(batch: pa.Table) -> tuple[Batch, Any]:
            read = judge.rows.read(batch)
            return read, sink.prepare(judge.answered(batch, read))

        # Several batches at a time, each on one thread, and written in their order.
        for read, prepared in in_order(judged, file.batches(moved), threads):
            sink.write(prepared)
            judge.rows.count(read)
            n_rows += len(read.rows)
    return n_rows, judge.rows.unseen_lines()


class _Judge:
    """Adds answers to batches; all that it returns has one schema."""

    def __init__(self, model: Model, file: TableFile, wanted: Wanted, form: str) -> None:
        self.model = model
        self.wanted = wanted
        self.form = form
        self.rows = RowReader(model.schema, model.missing_features, file.names, file.path, file.form)
        self.kept = [] if wanted.only_answers else file.names
        self.names = answer_names(model, wanted.prefix, wanted.every_class, wanted.with_novelty)
        # CSV keeps the text of numbers to the letter. The types of Parquet and JSON are for programs.
        self.as_typed = form != "csv" and not file.is_parquet
        kept = set(self.kept)
        double = [name for name in self.names if name in kept]
        if double:
            raise TableFileError(
                f"{file.path.name} has a column {double[0]!r} already. Use --prefix ferl_ to name the answers "
                f"{'ferl_' + double[0]!r} and so on, or --only-answers."
            )
        nothing = file.schema.empty_table()
        self.schema = self.answered(nothing, self.rows.read(nothing)).schema

    def answered(self, batch: pa.Table, read: Batch) -> pa.Table:
        """A batch of the file, with the answers for its rows."""
        answers = answer_columns(self.model, read.rows, self.wanted.every_class, self.wanted.with_novelty)
        numbers = read.numbers if self.as_typed else {}
        kept = [numbers.get(name, own) for name, own in zip(self.kept, batch.columns if self.kept else (), strict=True)]
        return pa.table([*kept, *answers], names=[*self.kept, *self.names])
