"""CUB_200_2011: 200 birds, with the 112 concepts of Koh et al. (2020)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ferl.concepts.folders import ImageConcepts, read_lines, read_pairs

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
    attributes : tuple of int, optional
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
    places = [place for place in (folder, folder / "attributes", folder.parent) if (place / "attributes.txt").is_file()]
    names = read_pairs(places[0] if places else folder, "attributes.txt")
    return {number: name.replace("::", ": ").replace("_", " ") for number, name in names.items()}


def _annotations(folder: Path, numbers: list[int]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """What annotators saw, and whether they could: a line is image, attribute, present, certainty, seconds."""
    row = {number: place for place, number in enumerate(numbers)}
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
    found = {}
    for name in np.unique(y).tolist():
        own = concepts[(y == name) & is_train]
        n_present, n_absent = (own == 1).sum(axis=0), (own == 0).sum(axis=0)
        found[name] = ((n_present >= n_absent) & (n_present > 0)).astype(np.float64)
    return found
