"""Mistakes of the user in one line, with the remedy; tracebacks only for those who ask."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


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
    except BrokenPipeError:
        # Whoever read the output has seen enough. What is still buffered has no place to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    # Arrow's errors about the content of files are ValueErrors, KeyErrors or NotImplementedErrors as well.
    except (ValueError, TypeError, KeyError, NotImplementedError, OSError) as error:
        if debug:
            raise
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        typer.echo(f"\n{on_interrupt}", err=True)
        raise typer.Exit(130) from None
