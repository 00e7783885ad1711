"""Answers of a model as columns of a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl._read.evidence import Evidence, Fitted, evidence_of_rows
from ferl._read.novelty import novelty_of_rows
from ferl._util.arrays import Floats


def answer_names(model: Fitted, prefix: str, every_class: bool, with_novelty: bool) -> list[str]:
    """Names of the columns that :func:`answer_columns` gives."""
    names = ["label", "probability", "set", "ignorance"] + ["novelty"] * with_novelty
    if every_class:
        names += [f"{what}({label})" for what in ("probability", "belief", "plausibility") for label in model.classes_]
    return [prefix + name for name in names]


def answer_columns(
    model: Fitted, rows: Floats, every_class: bool, with_novelty: bool
) -> list[pa.Array | pa.ChunkedArray]:
    """Label, its probability, the prediction set as text, ignorance and novelty.

    Parameters
    ----------
    model : Fitted
        A fitted classifier, or the contents of its file.
    rows : ndarray of shape (n_rows, n_columns)
        Rows as the tree reads them; there may be none.
    every_class : bool
        Add probability, belief and plausibility of each class.
    with_novelty : bool
        Whether novelty is among the answers.

    Returns
    -------
    list of pyarrow.Array
    """
    evidence = evidence_of_rows(model, rows) if len(rows) else _nothing(model)
    probability = evidence.pignistic
    best = probability.argmax(axis=1) if len(rows) else np.zeros(0, dtype=np.intp)
    columns = [
        pa.array(model.classes_.tolist()).take(pa.array(best)),
        pa.array(probability[np.arange(len(best)), best]),
        set_texts(evidence.prediction_set(), model.classes_),
        pa.array(evidence.ignorance),
    ]
    if with_novelty:
        novelty = novelty_of_rows(model, rows) if len(rows) else np.zeros(0)
        columns.append(pa.array(novelty, from_pandas=True))
    if every_class:
        for block in (probability, evidence.belief, evidence.plausibility):
            columns += [pa.array(np.ascontiguousarray(own)) for own in block.T]
    return columns


def _nothing(model: Fitted) -> Evidence:
    return Evidence(np.zeros((0, len(model.classes_))), np.zeros(0), np.zeros(0), model.classes_)


def set_texts(sets: NDArray[np.bool_], classes: NDArray[Any]) -> pa.Array:
    r"""Prediction sets as text, "a|b"; a bar or backslash inside a label has a backslash before it.

    Examples
    --------
    >>> import numpy as np
    >>> set_texts(np.array([[True, False], [True, True]]), np.array(["a", "b|c"])).to_pylist()
    ['a', 'a|b\\|c']
    """
    labels = [str(label).replace("\\", "\\\\").replace("|", "\\|") for label in classes.tolist()]
    # Rows have few different sets: each text is made once.
    packed = np.packbits(sets, axis=1)
    width = packed.shape[1]
    keys = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(sets), [None, pa.py_buffer(packed)])
    encoded = keys.dictionary_encode()
    found = np.frombuffer(b"".join(encoded.dictionary.to_pylist()), dtype=np.uint8).reshape(-1, width)
    members = np.unpackbits(found, axis=1, count=len(labels)).astype(bool)
    texts = ["|".join(label for label, inside in zip(labels, own, strict=True) if inside) for own in members]
    return pa.array(texts, pa.string()).take(encoded.indices)
