"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

SeparatorOption = Annotated[
    str | None, typer.Option(help="Character between the fields of a CSV file.  [default: a comma; .tsv: a tab]")
]
MissingOption = Annotated[
    str, typer.Option(help="What stands for a missing value besides an empty field, with commas between: 'NA,?'.")
]
JobsOption = Annotated[int, typer.Option(help="Threads; -1: all cores. Results do not depend on it.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]


def names_in(listed: str) -> tuple[str, ...]:
    """The names in a text with commas between them."""
    return tuple(name.strip() for name in listed.split(",") if name.strip())
