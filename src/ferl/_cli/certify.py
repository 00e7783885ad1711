"""``ferl certify``: the proof of one row's label."""

from __future__ import annotations

from pathlib import Path

import typer

from ferl._cli.explain import read_row_of
from ferl._models.model_file import read_model
from ferl._models.novelty import total_spread
from ferl._read.judgement import ABSTENTIONS, AS_FITTED, judge
from ferl._tables import ColumnKind
from ferl._tables.table_files import FileForm, TableFile
from ferl._tell.stability import certify
from ferl._util.text import spoken


def run_certify(model: Path, table: Path, number: int, form: FileForm, guess: bool) -> None:
    """Print the certificate of one row, in spreads; rows are counted from 1. A row without an answer has no label."""
    fitted, _ = read_model(model)
    row = read_row_of(fitted, TableFile(table, form), number)
    judged = judge(fitted, row.values, AS_FITTED)
    if judged.abstains[0] and not guess:
        probable = spoken(fitted.labels[int(judged.label[0])])
        why = list(ABSTENTIONS.values())[judged.abstention[0]]
        typer.echo(
            f"No answer for row {number:,}: {why}, so that there is no label to prove.\n"
            f"Add --guess for the proof of {probable}, the most probable class."
        )
        return
    spread = total_spread(fitted.tree)[: fitted.n_features]
    found = certify(fitted, row.values, "spread")
    typer.echo(str(found))
    limits = [(name, found.names.index(name)) for name in found.limits]
    units = ", ".join(f"{spoken(name)} {_size(fitted.column_kind(f), spread[f])}" for name, f in limits)
    typer.echo("Distances are in spreads, standard deviations over the training rows" + (f": {units}" if units else ""))


def _size(kind: ColumnKind, spread: float) -> str:
    """One spread of a column, with what it counts where the name does not say it."""
    return f"{spread:.4g}{' days' if kind.is_date else ' categories' if kind.is_ordered else ''}"
