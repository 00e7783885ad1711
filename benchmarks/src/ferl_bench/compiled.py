"""Compilation by numba, for modules that can be imported without it."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function by numba and keep the machine code on disk; without numba, return it as it is.

    A method that calls such a function asks for numba first, with `ferl_bench.errors.require`: as Python code these
    functions would take hours.
    """
    if find_spec("numba") is None:
        return function
    return import_module("numba").njit(cache=True)(function)
