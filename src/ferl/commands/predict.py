"""``ferl predict``: answers for the rows of a file, in constant memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import typer

from ferl.classifier import FERLClassifier
from ferl.commands.answers import answer_columns, answer_names
from ferl.commands.errors import CommandError
from ferl.commands.rows import RowReader
from ferl.commands.tables import FileForm, TableFile
from ferl.commands.writing import format_of, open_sink
from ferl.model_io import load_model


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
    estimator = load_model(model).set_params(n_jobs=jobs)
    file = TableFile(table, form)
    judge = _Judge(estimator, file, wanted, format_of(out, as_json))
    n_rows = 0
    with progress(f"judging {table.name}", file.size) as moved, open_sink(out, judge.form, judge.schema) as sink:
        for batch in file.batches(moved):
            sink.write(judge.answered(batch))
            n_rows += batch.num_rows
    for line in judge.rows.unseen_lines():
        typer.echo(line, err=True)
    if out != "-":
        typer.echo(f"{n_rows:,} rows judged; answers in {out}", err=True)


class _Judge:
    """Adds answers to batches; all that it returns has one schema."""

    def __init__(self, estimator: FERLClassifier, file: TableFile, wanted: Wanted, form: str) -> None:
        self.estimator = estimator
        self.wanted = wanted
        self.form = form
        self.rows = RowReader(estimator, file.names, file.path, file.form)
        self.kept = [] if wanted.only_answers else file.names
        self.names = answer_names(estimator, wanted.prefix, wanted.every_class, wanted.with_novelty)
        # CSV keeps the text of numbers to the letter. The types of Parquet and JSON are for programs.
        self.as_typed = form != "csv" and not file.is_parquet
        double = [name for name in self.names if name in set(self.kept)]
        if double:
            raise CommandError(
                f"{file.path.name} has a column {double[0]!r} already. Use --prefix ferl_ to name the answers "
                f"{'ferl_' + double[0]!r} and so on, or --only-answers."
            )
        self.schema = self.answered(file.schema.empty_table()).schema

    def answered(self, batch: pa.Table) -> pa.Table:
        typed, rows = self.rows.read(batch)
        answers = answer_columns(self.estimator, rows, self.wanted.every_class, self.wanted.with_novelty)
        numbers = {
            name
            for name, levels in zip(self.rows.features, self.estimator.columns_.levels, strict=True)
            if levels is None and self.as_typed
        }
        kept = [typed[name] if name in numbers else batch[name] for name in self.kept]
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
