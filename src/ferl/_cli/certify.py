"""``ferl certify``: the proof of one row's label."""

from __future__ import annotations

from pathlib import Path

import typer

from ferl._cli.explain import read_row_of
from ferl._model.files import read_model
from ferl._read.certificate import certify
from ferl._read.novelty import total_spread
from ferl._tables.files import FileForm, TableFile


def run_certify(model: Path, table: Path, number: int, form: FileForm) -> None:
    """Print the certificate of one row, in spreads; rows are counted from 1."""
    fitted, _ = read_model(model)
    row = read_row_of(fitted, TableFile(table, form), number)
    spread = total_spread(fitted.tree)[: fitted.n_features]
    found = certify(fitted, row.values, spread)
    typer.echo(str(found))
    names = found.names
    units = ", ".join(f"{name} {spread[names.index(name)]:.4g}" for name in found.limits)
    typer.echo("Distances are in spreads, standard deviations over the training rows" + (f": {units}" if units else ""))
