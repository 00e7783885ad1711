"""A folder of image features with concepts as data sets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl._util.arrays import Floats
from ferl_bench.errors import BenchError

TEST_SHARE = 0.2  # of a set that comes without a split, as in the paper


@dataclass(frozen=True, eq=False)
class ConceptSet:
    """Images as features, with classes and concepts.

    Attributes
    ----------
    name : str
        As it stands in the tables.
    features : ndarray of float32 of shape (n_rows, n_features)
        From a frozen network.
    y : ndarray of int of shape (n_rows,)
        Classes; -1 for images of no known class.
    concepts : ndarray of shape (n_rows, n_concepts)
        1 or 0.
    concept_names : tuple of str
        Names of the concepts.
    part : ndarray of str of shape (n_rows,)
        "train", "test", or the name of a kind that is in no class.
    digest : str
        SHA-256 of the file and of which classes are read.
    """

    name: str
    features: NDArray[np.float32]
    y: NDArray[np.int64]
    concepts: Floats
    concept_names: tuple[str, ...]
    part: NDArray[np.str_]
    digest: str

    @property
    def train(self) -> NDArray[np.intp]:
        """Numbers of the training rows; a validation part counts as training, for cross-fitting needs none."""
        return np.flatnonzero(self.part == "train")

    @property
    def test(self) -> NDArray[np.intp]:
        """Numbers of the test rows."""
        return np.flatnonzero(self.part == "test")

    @property
    def unknown_kinds(self) -> list[str]:
        """Kinds of images that are in no class."""
        return sorted(set(self.part.tolist()) - {"train", "test"})


def _cub(arrays: Any, n_classes: int) -> tuple[Any, ...]:
    y = arrays["y"].astype(np.int64)
    chosen = y < n_classes
    part = np.where(arrays["split"] == "test", "test", "train")
    names = [name.replace("::", ": ").replace("_", " ") for name in arrays["concept_names"].tolist()]
    return arrays["feat"][chosen], y[chosen], arrays["class_concepts"][y[chosen]], names, part[chosen]


def _wbc(arrays: Any) -> tuple[Any, ...]:
    part = np.where(arrays["split"] == "val", "train", arrays["split"])
    part = np.char.replace(part, "ood_", "")
    names = [name.replace("=", ": ").replace("_", " ") for name in arrays["concept_names"].tolist()]
    return arrays["feat"], arrays["y"].astype(np.int64), arrays["concepts"], names, part


def _animals(arrays: Any) -> tuple[Any, ...]:
    y = arrays["y"].astype(np.int64)
    test = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, stratify=y, random_state=0)[1]
    part = np.where(np.isin(np.arange(len(y)), test), "test", "train")
    return arrays["feat"], y, arrays["predicate_matrix"][y], arrays["predicates"].tolist(), part


READERS: dict[str, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    "CUB-20": ("cub.npz", lambda arrays: _cub(arrays, 20)),
    "CUB-200": ("cub.npz", lambda arrays: _cub(arrays, 200)),
    "WBCAtt": ("wbc.npz", _wbc),
    "Animals-38": ("animals38.npz", _animals),
}
"""File and reader of each set."""


def load_concept_set(folder: Path, name: str) -> ConceptSet:
    """Read one set.

    Parameters
    ----------
    folder : Path
        Where the files are.
    name : str
        One of `READERS`.

    Returns
    -------
    ConceptSet

    Raises
    ------
    BenchError
        The file is not there, or lacks an array.
    """
    file, read = READERS[name]
    path = folder / file
    if not path.is_file():
        raise BenchError(f"{name} needs {file}, which the folder {folder} does not hold; give another --concepts")
    content = path.read_bytes()
    with np.load(path, allow_pickle=False) as arrays:
        try:
            features, y, concepts, names, part = read(arrays)
        except KeyError as error:
            raise BenchError(f"{file} is not the file that {name} is read from: {error.args[0]}") from error
    return ConceptSet(
        name=name,
        features=features.astype(np.float32),
        y=y,
        concepts=concepts.astype(np.float64),
        concept_names=tuple(names),
        part=part,
        digest=hashlib.sha256(content + name.encode()).hexdigest(),
    )
