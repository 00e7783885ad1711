"""Animals_with_Attributes2: 50 animals, 85 predicates of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ferl.concepts.folders import ImageConcepts, read_lines

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
        found = sorted((folder / _IMAGES / name).glob("*.jpg"))
        paths += found
        y += [name] * len(found)
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
