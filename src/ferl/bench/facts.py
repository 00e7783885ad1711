"""The facts a report starts with, and those a cached result depends on."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ferl

# What every result depends on, whichever the method.
_SHARED_CODE = ("metrics/*.py", "bench/curve.py", "bench/data.py", "bench/protocol.py")
# The library itself, besides the compiled core: all but the benchmark.
_OUR_CODE = ("*.py", "abstention/*.py", "calibration/*.py", "conformal/*.py", "frames/*.py", "partition/*.py")


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
        Further files, relative to the package: those of a rival that is implemented here.
    """
    root = Path(ferl.__file__).parent
    patterns = (*_SHARED_CODE, *further, *(_OUR_CODE if ours else ()))
    files = [file for pattern in patterns for file in sorted(root.glob(pattern))]
    if ours:
        core = importlib.util.find_spec("ferl._core")
        if core is not None and core.origin is not None:
            files.append(Path(core.origin))
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


@lru_cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
