"""What the loaders of image folders share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ImageConcepts:
    """Images of a folder with classes and concepts; the images themselves stay on disk.

    Attributes
    ----------
    paths : ndarray of object of shape (n_images,)
        The files: rows for :func:`ferl.concepts.resnet50_detector`.
    y : ndarray of str of shape (n_images,)
        Names of the classes.
    concepts : ndarray of shape (n_images, n_concepts)
        1 or 0, of each image; NaN where the annotator could not see it.
    class_concepts : dict of str to ndarray of shape (n_concepts,)
        1 or 0, of each class.
    concept_names : tuple of str
        Names of the concepts.
    is_train : ndarray of bool of shape (n_images,), or None
        The official split, where there is one.
    """

    paths: NDArray[np.object_]
    y: NDArray[np.str_]
    concepts: NDArray[np.float64]
    class_concepts: dict[str, NDArray[np.float64]]
    concept_names: tuple[str, ...]
    is_train: NDArray[np.bool_] | None


def read_lines(folder: Path, name: str) -> list[str]:
    """Lines of a text file, the empty ones left out; the error says what the folder should be."""
    path = folder / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there. Give the folder as it is unpacked, the one that holds {name}.")
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def read_pairs(folder: Path, name: str) -> dict[int, str]:
    """Lines "12 text" by their number."""
    found = {}
    for line in read_lines(folder, name):
        number, _, text = line.partition(" ")
        if not number.isdigit() or not text:
            raise ValueError(f"{folder / name}: the line {line!r} is not a number and a text.")
        found[int(number)] = text.strip()
    return found
