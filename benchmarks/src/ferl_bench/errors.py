"""What the benchmark refuses: a mistake the user can correct, a rival's package that is not there, missing values."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray


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


def refuse_missing(X: NDArray[np.float64], method: str) -> None:
    """Refuse missing values, for a method that has no way to read them."""
    n_missing = int(np.isnan(X).sum())
    if n_missing:
        raise ValueError(f"X has {n_missing} missing values; {method} takes complete rows, impute them first.")
