"""``ferl predict``: answers for the rows of a file, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from ferl._cli.errors import CommandError, check_place
from ferl._model.files import read_model
from ferl._model.model import Model
from ferl._read.answers import answer_columns, answer_names
from ferl._tables.file_rows import Batch, RowReader
from ferl._tables.files import FileForm, TableFile
from ferl._tables.sinks import format_of, open_sink
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


def run_predict(model: Path, table: Path, out: str, form: FileForm, wanted: Wanted, as_json: bool, jobs: int) -> None:
    """Read a table, write it with the answers of a model, and say which categories training did not have."""
    if out != "-":
        check_place(Path(out), model, table)
    n_rows = judge_file(read_model(model)[0], TableFile(table, form), out, wanted, as_json, jobs)
    if out != "-":
        typer.echo(f"{n_rows:,} rows judged; answers in {out}", err=True)


def judge_file(model: Model, file: TableFile, out: str, wanted: Wanted, as_json: bool, jobs: int | None) -> int:
    """As :func:`run_predict`, for a model in memory; the number of rows."""
    threads = n_threads(jobs)  # refused, if at all, before anything is written
    judge = _Judge(model, file, wanted, format_of(out, as_json))
    n_rows = 0
    with progress(f"judging {file.path.name}", file.size) as moved, open_sink(out, judge.form, judge.schema) as sink:

        def judged(batch: pa.Table) -> tuple[Batch, Any]:
            read = judge.rows.read(batch)
            return read, sink.prepare(judge.answered(batch, read))

        # Several batches at a time, each on one thread, and written in their order.
        for read, prepared in in_order(judged, file.batches(moved), threads):
            sink.write(prepared)
            judge.rows.count(read)
            n_rows += len(read.rows)
    for line in judge.rows.unseen_lines():
        typer.echo(line, err=True)
    return n_rows


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
        double = [name for name in self.names if name in set(self.kept)]
        if double:
            raise CommandError(
                f"{file.path.name} has a column {double[0]!r} already. Use --prefix ferl_ to name the answers "
                f"{'ferl_' + double[0]!r} and so on, or --only-answers."
            )
        nothing = file.schema.empty_table()
        self.schema = self.answered(nothing, self.rows.read(nothing)).schema

    def answered(self, batch: pa.Table, read: Batch) -> pa.Table:
        """A batch of the file, with the answers for its rows."""
        answers = answer_columns(self.model, read.rows, self.wanted.every_class, self.wanted.with_novelty)
        numbers = read.numbers if self.as_typed else {}
        kept = [numbers.get(name, batch[name]) for name in self.kept]
        return pa.table([*kept, *answers], names=[*self.kept, *self.names])


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], object]]:
    """A bar on standard error, where that is a terminal; yields the function that moves it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(title, total=max(total, 1))
        yield lambda done: bar.update(task, completed=done)
