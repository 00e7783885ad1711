"""Answers for dask tables, computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl._models.evidence import Evidence
from ferl._tables.schema import refuse_other_names
from ferl.dask.rows import constant, one_column_chunk

if TYPE_CHECKING:
    from ferl.rules import FERLClassifier


class DaskEvidence:
    """The combined evidence of rows, computed on demand: what :class:`ferl.Evidence` holds, as dask arrays.

    Attributes
    ----------
    belief, plausibility, probability, pignistic : dask Array of shape (n_samples, n_classes)
        As in :class:`ferl.Evidence`.
    ignorance, conflict : dask Array of shape (n_samples,)
        As in :class:`ferl.Evidence`.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    """

    def __init__(self, columns: Any, like: Evidence) -> None:
        """``columns``: those of :func:`evidence_columns`; ``like``: the evidence of no rows, which has their order."""
        self._columns, self._like, self.classes = columns, like, like.classes

    def __repr__(self) -> str:
        n_blocks, n_classes = self._columns.numblocks[0], len(self.classes)
        return f"<DaskEvidence: {n_blocks} partitions, {n_classes} classes, not computed>"

    def __getattr__(self, name: str) -> Any:
        if name not in ("belief", "plausibility", "probability", "pignistic", "ignorance", "conflict"):
            raise AttributeError(f"DaskEvidence has no attribute {name!r}")
        return self._map(name)

    def prediction_set(self) -> Any:
        """Classes that no other class dominates, dask Array of bool of shape (n_samples, n_classes)."""
        return self._map("prediction_set")

    def compute(self) -> Evidence:
        """The evidence itself, of all rows, in the memory of the caller."""
        (columns,) = dask.compute(self._columns)
        return _evidence(np.asarray(columns), self._like)

    def _map(self, name: str) -> Any:
        own = _attribute(np.empty((0, self._columns.shape[1])), self._like, name)
        chunks = {} if own.ndim == 1 else {"chunks": (self._columns.chunks[0], (own.shape[1],))}
        dropped = {"drop_axis": 1} if own.ndim == 1 else {}
        return self._columns.map_blocks(_attribute, self._like, name, dtype=own.dtype, meta=own, **chunks, **dropped)


def evidence_columns(evidence: Evidence) -> NDArray[Any]:
    """All arrays of evidence side by side."""
    return np.column_stack(list(evidence.arrays().values()))


def _evidence(columns: NDArray[Any], like: Evidence) -> Evidence:
    """The evidence whose arrays stand side by side."""
    arrays, first = {}, 0
    for name, own in like.arrays().items():
        last = first + (own.shape[1] if own.ndim == 2 else 1)
        arrays[name] = columns[:, first:last] if own.ndim == 2 else columns[:, first]
        first = last
    return replace(like, **arrays)


def _attribute(columns: NDArray[Any], like: Evidence, name: str) -> NDArray[Any]:
    found = getattr(_evidence(columns, like), name)
    return np.asarray(found() if callable(found) else found)


@dataclass(frozen=True)
class Question:
    """What a classifier is asked about rows, and what its answer looks like.

    Attributes
    ----------
    method : str
        Of the classifier; "predict_evidence": its numbers side by side.
    dtype : dtype
        Of the answer.
    columns : sequence or None
        One entry for each column of the answer. None: it is one value a row.
    options : dict
        Keyword arguments of the method.
    series_dtype : dtype or None
        Of the answer as a Series, if it is another one: what pandas makes of text depends on its version, and on
        whether there is any.
    """

    method: str
    dtype: Any
    columns: Sequence[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    series_dtype: Any = None

    def answer(self, classifier: FERLClassifier, part: Any) -> NDArray[Any]:
        """The answer of a classifier for some rows, or for none."""
        if not len(part):
            return np.empty((0,) if self.columns is None else (0, len(self.columns)), dtype=self.dtype)
        if self.method == "predict_evidence":
            return evidence_columns(classifier.predict_evidence(part))
        return np.asarray(getattr(classifier, self.method)(part, **self.options))

    def in_frame(self, values: NDArray[Any], index: Any) -> pd.Series | pd.DataFrame:
        """An answer with the index of its rows."""
        if self.columns is not None:
            return pd.DataFrame(values, index=index, columns=list(self.columns))
        dtype = self.dtype if self.series_dtype is None else self.series_dtype
        return pd.Series(values, index=index, dtype=dtype, name=self.method)


def ask(classifier: FERLClassifier, X: Any, question: Question) -> Any:
    """The answers of a classifier for a dask table, computed on demand, partition by partition.

    Parameters
    ----------
    classifier : FERLClassifier
        Fitted, local: it is sent along once, and then to every worker that needs it.
    X : dask DataFrame or Array of shape (n_samples, n_features)
        Rows.
    question : Question
        What is asked.

    Returns
    -------
    dask Array, or dask Series or DataFrame with the index of X
        In the partitions of X.
    """
    told = constant(classifier)
    if not isinstance(X, da.Array):
        _refuse_other_columns(classifier, X)
        empty = np.empty((0,) if question.columns is None else (0, len(question.columns)), dtype=question.dtype)
        return X.map_partitions(_framed, told, question, meta=question.in_frame(empty, X._meta.index))
    if X.ndim != 2 or X.shape[1] != classifier.n_features_in_:
        raise ValueError(
            f"X has shape {X.shape}, but the training table had {classifier.n_features_in_} features. Pass the same "
            "columns, in the same order."
        )
    X = one_column_chunk(X)
    if question.columns is None:
        return X.map_blocks(_asked, told, question, drop_axis=1, dtype=question.dtype, meta=np.empty(0, question.dtype))
    n_columns = len(question.columns)
    meta = np.empty((0, n_columns), dtype=question.dtype)
    return X.map_blocks(_asked, told, question, chunks=(X.chunks[0], (n_columns,)), dtype=question.dtype, meta=meta)


def _refuse_other_columns(classifier: FERLClassifier, X: Any) -> None:
    """Refuse other columns here, as the workers would later."""
    known, given = classifier.columns_.names, list(X.columns)
    if known is not None and all(type(name) is str for name in given):
        refuse_other_names(set(known), set(given))


def _asked(block: Any, classifier: FERLClassifier, question: Question) -> NDArray[Any]:
    return question.answer(classifier, block)


def _framed(part: Any, classifier: FERLClassifier, question: Question) -> pd.Series | pd.DataFrame:
    return question.in_frame(question.answer(classifier, part), part.index)
