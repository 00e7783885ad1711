"""Loops that numba compiles, in modules that can be imported without numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ParamSpec, TypeVar

from ferl_bench.errors import require

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def compiled(function: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """Return the function, compiled when it is first called; ``__wrapped__`` is the function as it is written.

    The machine code is kept on disk, so that parallel processes do not compile it again.

    Raises
    ------
    NotInstalledError
        At the first call, when numba is not installed.
    """

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        result: Returned = _machine_code(function)(*args, **kwargs)
        return result

    return call


@lru_cache
def _machine_code(function: Callable[..., Any]) -> Any:
    njit = require("numba", "numba").njit
    try:
        return njit(cache=True)(function)
    except RuntimeError:  # neither the folder of the file nor that of the user can be written to
        return njit(function)


def compiled_now(function: Callable[..., Any]) -> Any:
    """Compile a function that compiled ones call, and keep the machine code on disk; without numba, return it as it is.

    A method that calls such a function asks for numba first, with `ferl_bench.errors.require`: as Python code these
    functions would take hours.
    """
    return function if find_spec("numba") is None else import_module("numba").njit(cache=True)(function)
