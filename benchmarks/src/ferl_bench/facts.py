"""The facts a report starts with, and those a cached result depends on."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# What every result depends on, whichever the method.
_SHARED_CODE = (
    "ferl/metrics/confidence.py",
    "ferl/metrics/sets.py",
    "ferl_bench/curve.py",
    "ferl_bench/data.py",
    "ferl_bench/protocol.py",
)
# The library itself, besides the compiled core.
_OUR_CODE = ("ferl/**/*.py",)


def versions(packages: tuple[str, ...] = ("numpy", "scikit-learn")) -> dict[str, str]:
    """Return the versions of ferl, Python and `packages`."""
    return {
        "ferl": _version("ferl"),
        "python": platform.python_version(),
        **{package: _version(package) for package in packages},
    }


def n_cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache
def code_digest(*, ours: bool, further: tuple[str, ...] = ()) -> str:
    """Return a digest of the code a result depends on.

    The version alone would not do: between two releases the code changes and the version does not, and a table must
    never mix results of both.

    Parameters
    ----------
    ours : bool
        False for a rival, measured by our metrics and protocol only; True when the library itself is measured, so
        that all of its modules and the compiled core count.
    further : tuple of str
        Further files, each beginning with its package (``ferl_bench/methods/c45.py``): those of a rival that is
        implemented here.

    Raises
    ------
    FileNotFoundError
        A name stands for no file: a result would then outlive the code it depends on.
    """
    files = [file for pattern in (*_SHARED_CODE, *further, *(_OUR_CODE if ours else ())) for file in _files(pattern)]
    if ours:
        core = importlib.util.find_spec("ferl._core")
        if core is not None and core.origin is not None:
            files.append(Path(core.origin))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _files(pattern: str) -> list[Path]:
    package, _, name = pattern.partition("/")
    result = sorted(file for folder in import_module(package).__path__ for file in Path(folder).glob(name))
    if not result:
        raise FileNotFoundError(f"{pattern}: no such file")
    return result


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
