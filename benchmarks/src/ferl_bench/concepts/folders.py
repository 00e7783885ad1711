"""The folders of two sets of images with concepts, CUB and AwA2."""

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
        The files: rows for :func:`ferl_bench.concepts.torch_detector.resnet50_detector`.
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
    result = {}
    for line in read_lines(folder, name):
        number, _, text = line.partition(" ")
        if not number.isdigit() or not text:
            raise ValueError(f"{folder / name}: the line {line!r} is not a number and a text.")
        result[int(number)] = text.strip()
    return result


N_ATTRIBUTES = 312
NOT_VISIBLE = 1  # certainty of an annotator who could not see the part

# fmt: off
KOH_112 = (
    1, 4, 6, 7, 10, 14, 15, 20, 21, 23, 25, 29, 30, 35, 36, 38, 40, 44, 45, 50, 51, 53, 54, 56, 57, 59, 63,
    64, 69, 70, 72, 75, 80, 84, 90, 91, 93, 99, 101, 106, 110, 111, 116, 117, 119, 125, 126, 131, 132, 134,
    145, 149, 151, 152, 153, 157, 158, 163, 164, 168, 172, 178, 179, 181, 183, 187, 188, 193, 194, 196, 198,
    202, 203, 208, 209, 211, 212, 213, 218, 220, 221, 225, 235, 236, 238, 239, 240, 242, 243, 244, 249, 253,
    254, 259, 260, 262, 268, 274, 277, 283, 289, 292, 293, 294, 298, 299, 304, 305, 308, 309, 310, 311,
)
# fmt: on
"""Which of the 312 attributes, from 0, Koh et al. keep: what at least ten classes have in most of their images."""


def load_cub(folder: str | Path, *, attributes: tuple[int, ...] | None = KOH_112) -> ImageConcepts:
    """Read the folder CUB_200_2011.

    Parameters
    ----------
    folder : path
        It holds ``images.txt``, ``classes.txt``, ``image_class_labels.txt``, ``train_test_split.txt``, ``images`` and
        ``attributes/image_attribute_labels.txt``; ``attributes.txt`` is inside or, as in the archive, beside it.
    attributes : tuple of int, default=KOH_112
        Which of the 312 attributes, from 0; by default the 112 of Koh et al. None: all.

    Returns
    -------
    ImageConcepts
        Concepts of images as annotated, NaN where the part was not visible; those of a class are what most of its
        training images have, counting what is visible, after Koh et al.; a tie counts as present.
    """
    folder = Path(folder)
    images, class_names = read_pairs(folder, "images.txt"), read_pairs(folder, "classes.txt")
    label = {int(key): int(value) for key, value in read_pairs(folder, "image_class_labels.txt").items()}
    train = {int(key): value == "1" for key, value in read_pairs(folder, "train_test_split.txt").items()}
    chosen = range(N_ATTRIBUTES) if attributes is None else attributes
    names = _attribute_names(folder)
    numbers = sorted(images)
    present, visible = _annotations(folder, numbers)
    y = np.array([class_names[label[number]] for number in numbers])
    is_train = np.array([train[number] for number in numbers])
    columns = np.array(list(chosen))
    concepts = np.where(visible, present, np.nan)[:, columns]
    return ImageConcepts(
        paths=np.array([folder / "images" / images[number] for number in numbers], dtype=object),
        y=y,
        concepts=concepts,
        class_concepts=_majorities(concepts, y, is_train),
        concept_names=tuple(names[column + 1] for column in columns.tolist()),
        is_train=is_train,
    )


def _attribute_names(folder: Path) -> dict[int, str]:
    """Names by number, from 1, as people would say them: "has bill shape: dagger"."""
    folders = [item for item in (folder, folder / "attributes", folder.parent) if (item / "attributes.txt").is_file()]
    names = read_pairs(folders[0] if folders else folder, "attributes.txt")
    return {number: name.replace("::", ": ").replace("_", " ") for number, name in names.items()}


def _annotations(folder: Path, numbers: list[int]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What annotators saw, and whether they could: a line is image, attribute, present, certainty, seconds."""
    row = {number: index for index, number in enumerate(numbers)}
    present = np.zeros((len(numbers), N_ATTRIBUTES))
    visible = np.zeros((len(numbers), N_ATTRIBUTES), dtype=bool)
    for line in read_lines(folder, "attributes/image_attribute_labels.txt"):
        # Some lines of the archive have more fields than they should; the first four are right.
        image, attribute, is_present, certainty = (int(field) for field in line.split()[:4])
        present[row[image], attribute - 1] = is_present
        # An attribute that is absent because the part was hidden is not known; one that was seen was there.
        visible[row[image], attribute - 1] = bool(is_present) or certainty != NOT_VISIBLE
    return present, visible


def _majorities(
    concepts: NDArray[np.float64], y: NDArray[np.str_], is_train: NDArray[np.bool_]
) -> dict[str, NDArray[np.float64]]:
    result = {}
    for name in np.unique(y).tolist():
        concept = concepts[(y == name) & is_train]
        n_present, n_absent = (concept == 1).sum(axis=0), (concept == 0).sum(axis=0)
        result[name] = ((n_present >= n_absent) & (n_present > 0)).astype(np.float64)
    return result


_IMAGES = "JPEGImages"


def load_awa2(folder: str | Path) -> ImageConcepts:
    """Read the folder Animals_with_Attributes2.

    Parameters
    ----------
    folder : path
        It holds ``classes.txt``, ``predicates.txt``, ``predicate-matrix-binary.txt`` and ``JPEGImages``. Classes
        without a folder of images are left out of the rows.

    Returns
    -------
    ImageConcepts
        Concepts are those of the classes. There is no split: the official one is for zero-shot learning, with other
        classes in the test part.
    """
    folder = Path(folder)
    classes = [line.split()[-1] for line in read_lines(folder, "classes.txt")]
    names = [line.split()[-1] for line in read_lines(folder, "predicates.txt")]
    matrix = np.array([line.split() for line in read_lines(folder, "predicate-matrix-binary.txt")], dtype=np.float64)
    if matrix.shape != (len(classes), len(names)):
        raise ValueError(
            f"predicate-matrix-binary.txt has the shape {matrix.shape} for {len(classes)} classes and {len(names)} "
            "predicates. Unpack the folder again: its files do not belong together."
        )
    paths, y = [], []
    for name in classes:
        result = sorted((folder / _IMAGES / name).glob("*.jpg"))
        paths += result
        y += [name] * len(result)
    if not paths:
        raise FileNotFoundError(
            f"{folder / _IMAGES} holds no images of the classes, such as {_IMAGES}/{classes[0]}/*.jpg."
        )
    table = dict(zip(classes, matrix, strict=True))
    return ImageConcepts(
        paths=np.array(paths, dtype=object),
        y=np.array(y),
        concepts=np.array([table[name] for name in y]),
        class_concepts=table,
        concept_names=tuple(names),
        is_train=None,
    )
