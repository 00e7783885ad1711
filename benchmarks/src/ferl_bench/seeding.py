"""A seed for packages that draw from NumPy's global generator, whatever their random_state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Seed NumPy's global generator for a while, and leave it as it was."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002
