"""Answers for dask tables, computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import dask
import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl._read.evidence import Evidence, Weighed
from ferl._tables.schema import refuse_other_names
from ferl.dask.rows import constant, one_column_chunk

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


@dataclass(frozen=True, eq=False, repr=False)
class DaskEvidence:
    """The combined evidence of rows, as dask arrays: what :class:`ferl.Evidence` holds, computed on demand.

    Attributes
    ----------
    belief : dask Array of shape (n_samples, n_classes)
        Mass committed to each class.
    ignorance : dask Array of shape (n_samples,)
        Mass committed to no class.
    conflict : dask Array of shape (n_samples,)
        Share of the evidence that contradicted itself.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    weighed : Weighed, optional
        Of wide rules: plausibility and probability, dask Arrays as well.
    """

    belief: Any
    ignorance: Any
    conflict: Any
    classes: NDArray[Any]
    weighed: Weighed | None = None

    @classmethod
    def from_columns(cls, columns: Any, classes: NDArray[Any]) -> DaskEvidence:
        """From a dask array whose columns are those of :func:`evidence_columns`."""
        n = len(classes)
        weighed = Weighed(columns[:, n + 2 : 2 * n + 2], columns[:, 2 * n + 2 :]) if columns.shape[1] > n + 2 else None
        return cls(columns[:, :n], columns[:, n], columns[:, n + 1], classes, weighed)

    def __repr__(self) -> str:
        n_blocks, n_classes = self.belief.numblocks[0], len(self.classes)
        return f"<DaskEvidence: {n_blocks} partitions, {n_classes} classes, not computed>"

    @property
    def plausibility(self) -> Any:
        """What the evidence does not exclude, dask Array of shape (n_samples, n_classes)."""
        return self.belief + self.ignorance[:, None] if self.weighed is None else self.weighed.plausibility

    @property
    def probability(self) -> Any:
        """What ``predict_proba`` gives, dask Array of shape (n_samples, n_classes)."""
        return self.pignistic if self.weighed is None else self.weighed.probability

    @property
    def pignistic(self) -> Any:
        """Each mass shared equally among the classes it lies on, dask Array of shape (n_samples, n_classes)."""
        if self.weighed is None:
            return self.belief + self.ignorance[:, None] / len(self.classes)
        weighed = (self.weighed.plausibility, self.weighed.probability)
        return da.map_blocks(_pignistic, self.belief, *weighed, self.classes, dtype=float, meta=np.empty((0, 0)))

    def prediction_set(self) -> Any:
        """Classes that no other class dominates, dask Array of bool of shape (n_samples, n_classes)."""
        return da.map_blocks(_set, self.plausibility, self.belief, dtype=bool, meta=np.empty((0, 0), dtype=bool))

    def compute(self) -> Evidence:
        """The evidence itself, of all rows, in the memory of the caller."""
        own = () if self.weighed is None else (self.weighed.plausibility, self.weighed.probability)
        belief, ignorance, conflict, *computed = map(
            np.asarray, dask.compute(self.belief, self.ignorance, self.conflict, *own)
        )
        return Evidence(belief, ignorance, conflict, self.classes, weighed=Weighed(*computed) if computed else None)


def evidence_columns(evidence: Evidence) -> NDArray[Any]:
    """Belief, ignorance, conflict and of wide rules plausibility and probability side by side."""
    weighed = evidence.weighed
    others = [] if weighed is None else [weighed.plausibility, weighed.probability]
    return np.column_stack([evidence.belief, evidence.ignorance, evidence.conflict, *others])


def _set(plausibility: Any, belief: Any) -> NDArray[np.bool_]:
    return np.asarray(plausibility >= belief.max(axis=1, keepdims=True))  # dask's max fails where a part has no row


def _pignistic(belief: Any, plausibility: Any, probability: Any, classes: NDArray[Any]) -> NDArray[Any]:
    nothing = np.empty(len(belief))  # ignorance and conflict, on which the shares of wide rules do not depend
    return Evidence(belief, nothing, nothing, classes, weighed=Weighed(plausibility, probability)).pignistic


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
