"""The exceptions of the benchmark: a mistake the user can correct, and a rival's package that is not there."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class BenchError(Exception):
    """A wrong folder, name or file; the command prints the message on one line and exits with code 2."""


class NotInstalledError(Exception):
    """A method needs a package that is not installed; its row says so, the others are measured."""


def require(package: str, extra: str = "rivals") -> Any:
    """Import a package that only one method needs.

    Parameters
    ----------
    package : str
        Name of the module.
    extra : str, default="rivals"
        The extra of the benchmark that brings it.

    Returns
    -------
    module

    Raises
    ------
    NotInstalledError
        It is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        missing = (error.name or package).partition(".")[0]  # the package, or one that it needs
        raise NotInstalledError(f"{missing} is not installed (pip install './benchmarks[{extra}]')") from error
