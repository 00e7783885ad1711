"""Mistakes of the user in one line, with the remedy; tracebacks only for those who ask."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ferl._util.files import TableFileError
from ferl._util.text import one_line

if TYPE_CHECKING:
    from ferl._models.model import Model
from ferl._models.rule_model import RuleModel


class CommandError(ValueError):
    """A mistake of the user; the message says what to do."""


@contextmanager
def plain_errors(debug: bool, on_interrupt: str) -> Iterator[None]:
    """One line and exit code 2 for a mistake of the user, 130 for an interrupt.

    Parameters
    ----------
    debug : bool
        Let errors through, with their traceback.
    on_interrupt : str
        What to say after an interrupt.
    """
    try:
        yield
        sys.stdout.flush()  # a reader who has gone is noticed here, and not when Python ends
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    # Arrow's errors about the content of files are ValueErrors, KeyErrors or NotImplementedErrors as well.
    except (ValueError, TypeError, KeyError, NotImplementedError, OSError) as error:
        if debug:
            raise
        typer.echo(f"error: {_told(error)}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        typer.echo(f"\n{on_interrupt}", err=True)
        raise typer.Exit(130) from None


def _told(error: Exception) -> str:
    """What happened and what to do, without letters of the user's data that a terminal would take for orders."""
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{error.filename}: "
        text = f"{file}{error.strerror}. {_REMEDIES.get(type(error), 'Choose another place.')}"
    if isinstance(error, TableFileError) and error.option:
        value = "$'\\t'" if error.value == "\t" else shlex.quote(error.value)
        text = f"{text.rstrip('.')}: add --{error.option} {value}"
    return one_line(text)


_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "Check the path.",
    IsADirectoryError: "Name a file in it.",
    NotADirectoryError: "Check the path.",
    PermissionError: "Ask who owns it for the right to, or choose another place.",
}


def check_wide(model: Model, option: str, path: Path) -> None:
    """Refuse what only wide rules have."""
    if not isinstance(model, RuleModel):
        raise CommandError(
            f"{option} is about rules, whose evidence adds up; {path.name} holds a tree ({model.title}). Fit with "
            "--model rules."
        )


def check_outputs(*outputs: Path | None) -> None:
    """Refuse two outputs that go to one file: the second would replace the first."""
    named = [out for out in outputs if out is not None]
    real = [os.path.realpath(out) for out in named]
    for index, own in enumerate(real):
        if own in real[:index]:
            raise CommandError(f"{named[index]} is named for two outputs. Give each a file of its own.")


def check_place(out: Path, *inputs: Path) -> None:
    """Refuse a place where no file can be written, or where it would replace one that the command reads.

    Parameters
    ----------
    out : Path
        The file to be written.
    *inputs : Path
        Files that are read.
    """
    folder = out.resolve().parent
    if out.is_dir():
        raise CommandError(f"{out} is a folder. Name a file in it.")
    if not folder.is_dir():
        raise CommandError(f"The folder {out.parent} does not exist; create it or choose another place.")
    if out.exists() and not out.is_file():
        raise CommandError(f"{out} is no regular file, so it cannot be replaced by one. Choose another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandError(f"You may not write into the folder {out.parent}. Choose another place.")
    for own in inputs:
        if own.exists() and out.exists() and own.samefile(out):
            raise CommandError(f"{out} would replace the file that is read. Choose another place.")
