"""The command line: ``ferl demo`` and ``ferl bench``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ferl.bench.command import app as bench_app

app = typer.Typer(
    help="Fuzzy rule trees that justify their answers and say when not to trust them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(bench_app, name="bench", help="Measure ferl against its peers; every figure in the docs comes from here.")


class DemoData(StrEnum):
    """Data sets that come with scikit-learn."""

    iris = "iris"
    wine = "wine"
    breast_cancer = "breast_cancer"


def _print_version(wanted: bool) -> None:
    if wanted:
        from ferl import __version__

        typer.echo(f"ferl {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Fuzzy rule trees that justify their answers and say when not to trust them."""


@app.command()
def demo(
    data: Annotated[DemoData, typer.Option(help="Which of scikit-learn's embedded data sets to use.")] = DemoData.iris,
    picture: Annotated[Path | None, typer.Option(help="Also write what is printed as an SVG picture.")] = None,
) -> None:
    """Fit an embedded data set; show the rules, the evidence of three rows, and an abstention."""
    from ferl.demo import run

    if picture is not None and not picture.parent.is_dir():
        typer.echo(f"The folder {picture.parent} does not exist; create it or choose another place.", err=True)
        raise typer.Exit(2)
    run(data.value, picture)


if __name__ == "__main__":
    app()
