"""Options that several commands have."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ferl._models.model import Model


class Decision(StrEnum):
    """How a label is chosen."""

    probable = "probable"
    balanced = "balanced"


DecisionOption = Annotated[
    Decision,
    typer.Option(
        help="The label: the most probable class, or the one most probable compared with its frequency in training, so "
        "that rare classes are found."
    ),
]

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


def label_named(model: Model, text: str, option: str) -> Any:
    """The label of a model that text on the command line names, itself or by its meaning."""
    labels = model.classes.tolist()
    by_text = {str(own): label for own, label in zip(model.labels, labels, strict=True)}
    by_text |= {str(label): label for label in labels}
    if text not in by_text:
        raise ValueError(f"{option} is {text!r}; the classes are {', '.join(map(str, labels))}.")
    return by_text[text]
