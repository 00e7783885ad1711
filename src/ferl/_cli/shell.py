"""Parts that all commands share: options, error messages for the shell, and checks of output files.

Lower layers raise errors with fields and words for Python; this module words them for the shell.
"""

from __future__ import annotations

import inspect
import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import wraps
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer import Argument, Option

from ferl._judge import PromiseError, TakenNameError
from ferl._util.files import TableFileError, replace_text
from ferl._util.text import near_name, one_line

if TYPE_CHECKING:
    from ferl._models.model import Model

# ---------------------------------------------------------------------------------------------------------------------
# Options
# ---------------------------------------------------------------------------------------------------------------------


Kind = StrEnum("Kind", ["rules", "deep", "medium", "compact"])
Score = StrEnum("Score", ["probability", "plausibility", "aps", "raps"])
Signal = StrEnum("Signal", ["margin", "belief", "ignorance", "novelty"])
Map = StrEnum("Map", ["temperature", "isotonic"])
Precision = StrEnum("Precision", ["float64", "float32"])
DemoData = StrEnum("DemoData", ["titanic", "iris", "wine", "breast_cancer"])
Dialect = StrEnum("Dialect", ["duckdb", "postgres", "sqlite", "ansi"])

MODEL = Argument(help="Model file from ferl fit or save_model.")
TABLE = Argument(help="CSV or Parquet file with the columns of the training table.")
FRESH_TABLE = Argument(help="CSV or Parquet file with rows that the model was not fitted on.")
TARGET = Option(help="Column of the labels.")
ROW = Option(help="Number of the row, from 1; the header does not count.")
JSON = Option(False, "--json", help="Print JSON.")
ALPHA = Option(None, help="Largest share of sets that may miss the true class.  [default: as calibrated]")
LEVEL = Option(
    None,
    help="Sum that the beliefs of a set must reach; a higher level makes larger sets. Rules only, no --calibration.  "
    "[default: 2/3]",
)
DECISION = Option(
    None,
    help="How labels are chosen. probable: the most probable class. balanced: the class with the largest ratio of its "
    "probability to its frequency in training, which finds rare classes; mild: the same with the root of the "
    "frequency. A number such as 0.3: the second of two classes from this probability on. A .csv or .json file of "
    "costs: the class of the least expected cost.  [default: probable]",
)
SEPARATOR = Option(None, help="Separator of the fields of a CSV file.  [default: a comma; .tsv: a tab]")
MISSING = Option("", help="Markers of missing values besides empty fields, separated by commas: 'NA,?'.")
JOBS = Option(-1, help="Number of threads; -1: all cores. Results do not depend on it.")
DEBUG = Option(False, "--debug", help="Show the traceback of an error.")


def names_in(listed: str) -> tuple[str, ...]:
    """The names in a text with commas between them."""
    return tuple(name.strip() for name in listed.split(",") if name.strip())


def declare(app: typer.Typer, module: str, stopped: str = "Stopped.") -> Callable[[Callable[..., None]], None]:
    """Make a command of a function that has options and a text for help, and no body.

    What the command does is the function ``run_<name>`` of the module, which is imported when it runs: scikit-learn
    and Arrow take long to load. Every command has ``--debug``; ``form`` stands for the options about the form of files.

    Parameters
    ----------
    app : typer.Typer
        What the command is added to.
    module : str
        Its module in :mod:`ferl._cli`.
    stopped : str, default="Stopped."
        What to print after an interrupt.
    """

    def register(declared: Callable[..., None]) -> None:
        signature = inspect.signature(declared, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            is_form = parameter.name == "form"
            parameters += [_option("separator", str | None, SEPARATOR), _option("missing", str, MISSING)] * is_form
            parameters += [parameter] * (not is_form)

        @wraps(declared)
        def run(debug: bool, **given: Any) -> None:
            with plain_errors(debug, stopped):
                if "form" in signature.parameters:
                    from ferl._tables.table_files import FileForm

                    given["form"] = FileForm(given.pop("separator"), names_in(given.pop("missing")))
                plain = {name: str(item) if isinstance(item, StrEnum) else item for name, item in given.items()}
                getattr(import_module(f"ferl._cli.{module}"), f"run_{declared.__name__}")(Namespace(**plain))

        run.__annotations__ = {}
        run.__signature__ = signature.replace(parameters=[*parameters, _option("debug", bool, DEBUG)])  # type: ignore[attr-defined]
        app.command()(run)

    return register


def _option(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=option, annotation=kind)


# ---------------------------------------------------------------------------------------------------------------------
# Mistakes
# ---------------------------------------------------------------------------------------------------------------------


class CommandError(ValueError):
    """A mistake of the user; the message has the remedy."""


def note(text: str) -> None:
    """Print a note on standard error."""
    typer.echo(f"note: {text}", err=True)


@contextmanager
def plain_errors(debug: bool, stopped: str) -> Iterator[None]:
    """One line and exit code 2 for a mistake of the user, 130 for an interrupt; with ``debug`` tracebacks."""
    try:
        yield
        sys.stdout.flush()  # raises here, and not when Python ends, if the reader has closed the output
    except BrokenPipeError:
        # The reader of the output has closed it; the rest of the buffer is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    # Arrow's errors about the content of files are ValueErrors, KeyErrors or NotImplementedErrors as well.
    except (ValueError, TypeError, KeyError, NotImplementedError, OSError) as error:
        if debug:
            raise
        # Control characters in the user's data are escaped.
        typer.echo(f"error: {one_line(_worded(error))}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        typer.echo(f"\n{stopped}", err=True)
        raise typer.Exit(130) from None


_REMEDIES: dict[type[OSError], str] = {
    FileNotFoundError: "Check the path.",
    IsADirectoryError: "Name a file in it.",
    NotADirectoryError: "Check the path.",
    PermissionError: "Ask its owner for the permission, or choose another place.",
}


def _worded(error: Exception) -> str:
    """What happened and what to do, in the words of the shell."""
    if isinstance(error, PromiseError):
        return error.worded(_option_of, lambda name, value: f"{_option_of(name)} {value:g}")
    if isinstance(error, TakenNameError):
        return (
            f"{error.file} has a column {error.column!r} already. Use --prefix ferl_ to name the answers "
            f"{'ferl_' + error.column!r} and so on, or --only-answers."
        )
    if isinstance(error, TableFileError) and error.option:
        value = "$'\\t'" if error.value == "\t" else shlex.quote(error.value)
        return f"{str(error).rstrip('.')}: add --{error.option} {value}"
    if isinstance(error, OSError) and error.strerror:
        file = "" if error.filename is None else f"{error.filename}: "
        return f"{file}{error.strerror}. {_REMEDIES.get(type(error), 'Choose another place.')}"
    return str(error)


def _option_of(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def check_share(name: str, value: float | None, example: str = "") -> None:
    """Refuse the value of an option that is no share."""
    if value is not None and not 0 < value < 1:
        raise CommandError(f"{_option_of(name)} is {value:g}; it must lie between 0 and 1{example}.")


def check_rules(model: Model, option: str, path: Path) -> None:
    """Refuse what only rules have."""
    if model.kind != "rules":
        raise CommandError(
            f"{option} is about rules, whose evidence adds up; {path.name} holds a tree ({model.title}). Fit with "
            "--model rules."
        )


def label_named(model: Model, text: str | None, option: str) -> Any:
    """The label of a model that text on the command line names, itself or by its meaning; None for no text."""
    labels = model.classes.tolist()
    by_text = {str(item): label for item, label in zip(model.labels, labels, strict=True)}
    by_text |= {str(label): label for label in labels}
    if text is not None and text not in by_text:
        raise CommandError(f"{option} is {text!r}; the classes are {', '.join(map(str, labels))}.")
    return None if text is None else by_text[text]


def check_column(names: Sequence[str], name: str, file: str, otherwise: str) -> None:
    """Refuse a column that a file does not have."""
    if name not in names:
        near = near_name(name, names)
        raise CommandError(f"{file} has no column {name!r}. {f'Did you mean {near!r}?' if near else otherwise}")


def write_page(path: Path, title: str, fragment: str) -> None:
    """Write a fragment of HTML as a page of its own."""
    heading = escape(title)
    replace_text(
        path,
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        '<meta name="color-scheme" content="light dark"></head>'
        f"<body><h1>{heading}</h1>{fragment}</body></html>\n",
    )


def check_places(outputs: Sequence[Path | None], *inputs: Path | str | None) -> None:
    """Refuse places where no file can be written, where it would replace one that is read, and one for two outputs.

    An input that is a text may be a file or something else, as the value of ``--decision``.
    """
    named = [out for out in outputs if out is not None]
    real = [os.path.realpath(out) for out in named]
    read = [one_input for one_input in inputs if one_input is not None and os.path.exists(one_input)]
    for index, out in enumerate(named):
        if real[index] in real[:index]:
            raise CommandError(f"{out} is named for two outputs. Name a different file for each.")
        folder = out.resolve().parent
        if out.is_dir():
            raise CommandError(f"{out} is a folder. Name a file in it.")
        if not folder.is_dir():
            raise CommandError(f"The folder {out.parent} does not exist; create it or choose another place.")
        if out.exists() and not out.is_file():
            raise CommandError(f"{out} is no regular file, so it cannot be replaced by one. Choose another place.")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise CommandError(f"You may not write into the folder {out.parent}. Choose another place.")
        if out.exists() and any(os.path.samefile(one_input, out) for one_input in read):
            raise CommandError(f"{out} would replace the file that is read. Choose another place.")
