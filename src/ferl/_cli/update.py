"""``ferl update`` and ``ferl drift``: later rows, and how they differ from those that a model has learned from."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from ferl._cli.errors import CommandError, check_place
from ferl._cli.labelled import Source, read_labelled
from ferl._util.text import plain
from ferl.saving import load_model, save_model

_ALARM = 3.0  # standard errors


def run_update(source: Source, out: Path | None, as_json: bool) -> None:
    """Let a model learn from later rows, print how they differ, and write the model where a file is named."""
    if out is not None:
        check_place(out, source.table)
    estimator = load_model(source.model)
    rows = read_labelled(estimator, source)
    if (rows.codes < 0).any():
        other = rows.labels[rows.codes < 0][0]
        n_others = int((rows.codes < 0).sum())
        raise CommandError(
            f"{n_others:,} rows have a label such as {other!r}, which is no class of the model. Leave them out, or fit "
            "anew on all rows."
        )
    jobs = estimator.n_jobs
    estimator.set_params(n_jobs=source.jobs).partial_fit(rows.X, estimator.classes_[rows.codes])
    drift = estimator.drift_
    if drift is None:
        raise CommandError(f"{source.model.name} has no rules to compare later rows with. Fit it first.")
    if as_json:
        figures = drift.to_dict()
        shares = {name: {str(key): plain(own) for key, own in figures.pop(name).items()} for name in _BY_CLASS}
        typer.echo(
            json.dumps({name: plain(own) for name, own in figures.items()} | shares, ensure_ascii=False, indent=2)
        )
    else:
        typer.echo(repr(drift))
        if drift.z > _ALARM:
            typer.echo("The labels follow the features in another way than they did: fit anew on recent rows.")
    if out is not None:
        save_model(estimator.set_params(n_jobs=jobs), out)
        typer.echo(f"{len(rows.codes):,} rows learned; model in {out}", err=True)


_BY_CLASS = ("class_shift", "class_noise")
