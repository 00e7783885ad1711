"""``ferl predict``: answers for the rows of a file, in constant memory."""

from __future__ import annotations

from pathlib import Path

import typer

from ferl._cli.errors import check_place
from ferl._model.files import read_model
from ferl._read.file_answers import Wanted, judge_file
from ferl._tables.files import FileForm, TableFile


def run_predict(model: Path, table: Path, out: str, form: FileForm, wanted: Wanted, as_json: bool, jobs: int) -> None:
    """Read a table, write it with the answers of a model, and say which categories training did not have."""
    if out != "-":
        check_place(Path(out), model, table)
    n_rows, notes = judge_file(read_model(model)[0], TableFile(table, form), out, wanted, as_json, jobs)
    for note in notes:
        typer.echo(f"note: {note}", err=True)
    if out != "-":
        typer.echo(f"{n_rows:,} rows judged; answers in {out}", err=True)
