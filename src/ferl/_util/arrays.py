"""Types of arrays, one name for each, and the numbers that the core can hold."""

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Bools = NDArray[np.bool_]

LARGEST = 1e150
"""The largest magnitude of a value: squares of larger numbers overflow, and with them the spread of cuts."""
NARROWEST = 1e-300
"""The narrowest range of a feature and of a ramp: slopes in a narrower one overflow."""


class FrozenArrays:
    """Makes the arrays of a frozen dataclass read-only, and carries its fields alone in copies and pickles.

    What is compiled from the arrays is kept; were they changed, answers would depend on what was asked before.
    """

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                view = value.view()  # whoever made the array may go on with it
                view.flags.writeable = False
                self.__dict__[name] = view

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self._field_names()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        if not isinstance(state, dict) or set(state) != self._field_names():
            raise ValueError(
                f"This pickle of a {type(self).__name__} was made by another version of ferl, or changed since. "
                "Pickles are for one version: load it there and write a file with save_model, or fit again."
            )
        self.__dict__.update(state)
        FrozenArrays.__post_init__(self)

    @classmethod
    def _field_names(cls) -> set[str]:
        return {field.name for field in fields(cls)}  # type: ignore[arg-type]  # subclasses are dataclasses


def core_ready(X: Floats) -> Floats:
    """The table itself, or a copy where its memory cannot be read as whole numbers: a field of records, say."""
    return X if X.flags.aligned and not any(stride % X.itemsize for stride in X.strides) else X.copy()


def arrow() -> Any:
    """The package pyarrow, which text and files need and numbers do not; without it an error explains how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"Text, categories and files need pyarrow ({error}): pip install pyarrow.") from error
    return pyarrow
