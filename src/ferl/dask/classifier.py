"""The classifiers for tables on a cluster, and answers that are computed on demand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, ClassVar, Self

import dask
import dask.array as da
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ferl._answers import Answers
from ferl._estimator import FERLEstimator
from ferl._judge.judgement import Rule, labels_or_marker
from ferl._learn.rows import Rows
from ferl._models.decision import AnyDecision, Decision
from ferl._models.evidence import SET_LEVEL, Evidence, checked_level
from ferl._sklearn import HasMethods
from ferl._tables import NOTHING_SAID, TableDescription
from ferl.dask.rows import Parts, constant, is_dask_table, one_column_chunk, rows_on_cluster, running_client
from ferl.rules import FERLClassifier
from ferl.trees import FERLTreeClassifier

_DOUBLE = np.dtype(np.float64)


class DaskEvidence:
    """The combined evidence of rows, computed on demand: what :class:`ferl.Evidence` holds, as dask arrays.

    Attributes
    ----------
    belief, plausibility, probability, pignistic : dask Array of shape (n_samples, n_classes)
        As in :class:`ferl.Evidence`.
    ignorance, conflict : dask Array of shape (n_samples,)
        As in :class:`ferl.Evidence`.
    rows : dask Array of shape (n_samples,)
        Rules: as in :class:`ferl.RuleEvidence`.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    """

    def __init__(self, columns: Any, like: Evidence) -> None:
        """``columns``: from :func:`evidence_columns`; ``like``: evidence without rows, which has their order."""
        self._columns, self._like, self.classes = columns, like, like.classes

    def __repr__(self) -> str:
        n_blocks, n_classes = self._columns.numblocks[0], len(self.classes)
        return f"<DaskEvidence: {n_blocks} partitions, {n_classes} classes, not computed>"

    def __getattr__(self, name: str) -> Any:
        names = ("belief", "plausibility", "probability", "pignistic", "ignorance", "conflict", "rows")
        if name not in names or not hasattr(self._like, name):
            raise AttributeError(f"DaskEvidence has no attribute {name!r}")
        return self._map(name)

    def prediction_set(self, level: float | None = None) -> Any:
        """Classes in the prediction set, dask Array of bool of shape (n_samples, n_classes).

        ``level`` as in :meth:`ferl.FERLClassifier.predict_set`, for rules alone; None: 2/3.
        """
        return self._map("prediction_set", level)

    def compute(self) -> Evidence:
        """The evidence itself, of all rows, in the memory of the caller."""
        (columns,) = dask.compute(self._columns)
        return _evidence(np.asarray(columns), self._like)

    def _map(self, name: str, *options: Any) -> Any:
        empty = _attribute(np.empty((0, self._columns.shape[1])), self._like, name, *options)
        chunks = {} if empty.ndim == 1 else {"chunks": (self._columns.chunks[0], (empty.shape[1],))}
        dropped = {"drop_axis": 1} if empty.ndim == 1 else {}
        shape = {"dtype": empty.dtype, "meta": empty, **chunks, **dropped}
        return self._columns.map_blocks(_attribute, self._like, name, *options, **shape)


def evidence_columns(evidence: Evidence) -> NDArray[Any]:
    """All arrays of evidence side by side."""
    return np.column_stack(list(evidence.arrays().values()))


def _evidence(columns: NDArray[Any], like: Evidence) -> Evidence:
    """The evidence whose arrays stand side by side."""
    arrays, first = {}, 0
    for name, item in like.arrays().items():
        last = first + (item.shape[1] if item.ndim == 2 else 1)
        arrays[name] = columns[:, first:last] if item.ndim == 2 else columns[:, first]
        first = last
    return replace(like, **arrays)


def _attribute(columns: NDArray[Any], like: Evidence, name: str, *options: Any) -> NDArray[Any]:
    result = getattr(_evidence(columns, like), name)
    return np.asarray(result(*options) if callable(result) else result)


@dataclass(frozen=True)
class Question:
    """A method of a classifier that is called on rows, and the form of its result.

    Attributes
    ----------
    method : str
        Method of the classifier; "predict_evidence": its numbers side by side.
    dtype : dtype
        Type of the result.
    columns : sequence or None
        One entry for each column of the result. None: one value a row.
    options : dict
        Keyword arguments of the method.
    series_dtype : dtype or None
        Type of the result as a Series, if it differs: the type of text in pandas depends on its version, and on whether
        there is any.
    """

    method: str
    dtype: Any
    columns: Sequence[Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    series_dtype: Any = None

    def answer(self, classifier: FERLEstimator[Any], part: Any) -> NDArray[Any]:
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


def ask(classifier: FERLEstimator[Any], X: Any, question: Question) -> Any:
    """The answers of a classifier for a dask table, computed on demand, partition by partition.

    Parameters
    ----------
    classifier : FERLClassifier or FERLTreeClassifier
        Fitted, local: it is sent along once, and then to every worker that needs it.
    X : dask DataFrame or Array of shape (n_samples, n_features)
        Rows.
    question : Question
        The method to call.

    Returns
    -------
    dask Array, or dask Series or DataFrame with the index of X
        In the partitions of X.
    """
    shared = constant(classifier)
    if not isinstance(X, da.Array):
        _refuse_other_columns(classifier, X)
        empty = np.empty((0,) if question.columns is None else (0, len(question.columns)), dtype=question.dtype)
        return X.map_partitions(_framed, shared, question, meta=question.in_frame(empty, X._meta.index))
    if X.ndim != 2 or X.shape[1] != classifier.n_features_in_:
        raise ValueError(
            f"X has shape {X.shape}, but the training table had {classifier.n_features_in_} features. Pass the same "
            "columns, in the same order."
        )
    X = one_column_chunk(X)
    if question.columns is None:
        return X.map_blocks(
            _asked, shared, question, drop_axis=1, dtype=question.dtype, meta=np.empty(0, question.dtype)
        )
    n_columns = len(question.columns)
    meta = np.empty((0, n_columns), dtype=question.dtype)
    return X.map_blocks(_asked, shared, question, chunks=(X.chunks[0], (n_columns,)), dtype=question.dtype, meta=meta)


def _refuse_other_columns(classifier: FERLEstimator[Any], X: Any) -> None:
    """Refuse other columns here, as the workers would later."""
    known, given = classifier.columns_.names, list(X.columns)
    if known is not None and all(type(name) is str for name in given):
        classifier.columns_.accept_names(given, classifier.model_.read_features)


def _asked(block: Any, classifier: FERLEstimator[Any], question: Question) -> NDArray[Any]:
    return question.answer(classifier, block)


def _framed(part: Any, classifier: FERLEstimator[Any], question: Question) -> pd.Series | pd.DataFrame:
    return question.in_frame(question.answer(classifier, part), part.index)


def _lazy(local: Callable[..., Any], by: str | None = None, dtype: Any = _DOUBLE) -> Any:
    """A method of the local classes whose answer for a dask table is computed on demand.

    Parameters
    ----------
    local : callable
        The method.
    by : {"class", "feature"} or None, default=None
        The columns of the result; None: one value a row.
    dtype : dtype
        Type of the result.
    """

    @wraps(local)
    def answer(self: OnCluster, X: Any, **options: Any) -> Any:
        if not is_dask_table(X):
            return local(self, X, **options)
        check_is_fitted(self)
        columns: dict[str | None, Any] = {
            "class": self.classes_.tolist(),
            "feature": self.columns_.names or range(self.n_features_in_),
        }
        return self._ask(X, Question(local.__name__, dtype, columns.get(by), options))

    return answer


class OnCluster(FERLEstimator[Any]):
    """What both classifiers do with tables that are spread over a Dask cluster; the rest is their local class's."""

    _local: ClassVar[type[FERLEstimator[Any]]]
    client: Any

    def __init_subclass__(cls) -> None:
        """Give a class the parameters of its local one, from the signature, and the client."""
        super().__init_subclass__()
        local = inspect.signature(cls._local.__init__)
        client = inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")

        def __init__(self: Any, *arguments: Any, client: Any = None, **parameters: Any) -> None:
            cls._local.__init__(self, *arguments, **parameters)
            self.client = client

        __init__.__signature__ = local.replace(parameters=[*local.parameters.values(), client])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        cls._parameter_constraints = {
            **cls._local._parameter_constraints,
            "client": [HasMethods(["compute", "close"]), None],
        }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, units: Any = None, describe: Any = None) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : dask DataFrame or Array of shape (n_samples, n_features)
            Numbers and categories, with or without missing values. Numbers of rows need not be known, and partitions
            may be empty.
        y : dask Series or Array of shape (n_samples,)
            Labels, in the partitions of X.
        sample_weight : dask Series or Array of shape (n_samples,), default=None
            How often each row counts, in the partitions of X.
        units, describe : default=None
            As in the local class.

        Returns
        -------
        self : estimator
            The fitted classifier itself.
        """
        super().fit(X, y, sample_weight, units=units, describe=describe)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Raise: ``to_local().partial_fit(X, y)`` goes on with this model, block by block, and not on the cluster."""
        raise NotImplementedError(
            "partial_fit takes blocks that are in memory. Go on with the local model: to_local().partial_fit(X, y)."
        )

    def _training_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        description: TableDescription = NOTHING_SAID,
        groups: Any = None,
    ) -> Rows:
        parts = Parts.checked(X, y, sample_weight)
        return rows_on_cluster(self._settings(), parts, running_client(self.client), description)

    def to_local(self) -> Any:
        """The local classifier with the same parameters and the same model, if there is one."""
        parameters = self.get_params(deep=False)
        del parameters["client"]
        local = self._local(**parameters)
        return local._take(self.model_) if self.__sklearn_is_fitted__() else local

    def predict(self, X: Any, *, decision: AnyDecision = "probable", no_answer: Any = None) -> Any:
        """Label of each row, shape (n_samples,); lazy for a dask table."""
        if not is_dask_table(X):
            return super().predict(X, decision=decision, no_answer=no_answer)
        check_is_fitted(self)
        chosen = Decision.of(decision, self.classes_)  # a wrong one is refused now, not when it is computed
        nothing = np.empty((0, len(self.model_.column_names())))
        labels = labels_or_marker(self.model_, nothing, Rule(chosen), no_answer)
        series_dtype = pd.Series(self.classes_.astype(labels.dtype)).dtype
        options = {"decision": chosen, "no_answer": no_answer}
        return self._ask(X, Question("predict", labels.dtype, None, options, series_dtype))

    def predict_evidence(self, X: Any) -> Any:
        """Belief, plausibility, ignorance and conflict of each row.

        Parameters
        ----------
        X : dask DataFrame or Array, or another table, of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        DaskEvidence or Evidence
            For a dask table: dask arrays by the same names, which share their work when they are computed together.
        """
        if not is_dask_table(X):
            return super().predict_evidence(X)
        check_is_fitted(self)
        nothing = self.model_.evidence(np.empty((0, self.n_features_in_ + len(self.model_.derived))))
        columns = self._ask(X, Question("predict_evidence", _DOUBLE, range(evidence_columns(nothing).shape[1])))
        return DaskEvidence(getattr(columns, "values", columns), nothing)

    predict_proba = _lazy(Answers.predict_proba, by="class")
    predict_set = _lazy(Answers.predict_set, by="class", dtype=np.dtype(np.bool_))
    novelty = _lazy(Answers.novelty)
    novelty_attribution = _lazy(Answers.novelty_attribution, by="feature")
    support_deficit = _lazy(Answers.support_deficit, by="feature")
    certified_radius = _lazy(Answers.certified_radius)

    def _ask(self, X: Any, question: Question) -> Any:
        check_is_fitted(self)
        return ask(self.to_local().set_params(n_jobs=None), X, question)

    def __getstate__(self) -> dict[str, Any]:
        # A connection cannot be sent anywhere; where the copy wakes up, the default client is the right one.
        return {**super().__getstate__(), "client": None}

    def __sklearn_clone__(self) -> Self:
        # Two estimators can share a connection, which cannot be copied.
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "client"}
        return type(self)(**{name: clone(value, safe=False) for name, value in parameters.items()}, client=self.client)


class DaskFERLClassifier(OnCluster, FERLClassifier):
    """:class:`ferl.FERLClassifier` for tables that are spread over a Dask cluster.

    The model equals the result of ``FERLClassifier.fit`` on all rows at once, to the last bit, for any partitioning.
    Every partition sends its labels and categories, its part of the sample that the tree is grown on (at most
    ``growth_rows`` distinct rows, and some more of rare classes), and its sums; they are merged by pairs. Growth itself
    runs on the client.

    Rows are computed again for each of these looks, four or five in all. Call ``X.persist()`` and ``y.persist()``
    before if they fit into the memory of the cluster.

    Answers for dask tables are lazy: arrays for arrays; for data frames a Series, or a DataFrame with one column for
    each class or feature, with the index of X. Other tables are judged at once, as by the parent class.

    Parameters
    ----------
    words, max_rules, max_conditions, max_maps, n_sets, min_rule_worth, prune, effort, support_gate, gate_margin, \
growth_rows, n_exemplars, class_weight, categorical_features, missing_conditions, monotonic_cst, random_state, verbose
        As in :class:`ferl.FERLClassifier`. With ``growth_rows=None`` all distinct rows come to the client.
    n_jobs : int, default=None
        Threads of the growth, on the client. Tasks use one thread each: the cluster runs one task for each core.
    client : distributed.Client, default=None
        Client of the cluster. None: the default client, which is the one created last. Pickled copies have no client.

    Attributes
    ----------
    classes_, tree_, words_, n_rules_, lipschitz_, n_growth_rows_, columns_, categories_, missing_features_, \
n_features_in_, feature_names_in_
        As in :class:`ferl.FERLClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.datasets import load_iris
    >>> from ferl.dask import DaskFERLClassifier
    >>> X, y = (da.from_array(array, chunks=len(array) // 5) for array in load_iris(return_X_y=True))
    >>> with Client(processes=False, n_workers=1, dashboard_address=":0") as client:
    ...     model = DaskFERLClassifier(random_state=0).fit(X, y)
    ...     proba = model.predict_proba(X)  # nothing is computed yet
    ...     accuracy = (model.predict(X) == y).mean().compute()
    >>> proba.chunks
    ((30, 30, 30, 30, 30), (3,))
    >>> bool(accuracy > 0.95)
    True
    >>> model.to_local()
    FERLClassifier(random_state=0)
    """

    _local = FERLClassifier

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, units: Any = None, describe: Any = None
    ) -> Self:
        """Learn the rules, as :class:`OnCluster` does.

        Parameters
        ----------
        X, y, sample_weight
            Dask tables in the same partitions.
        groups : default=None
            Refused: on a cluster inner validation goes by rows. ``ferl.streaming.fit_parquet`` and ``fit_batches``
            take groups, in memory that does not grow with the table.
        units, describe : default=None
            As in the local class.

        Returns
        -------
        self : estimator
            The fitted classifier itself.
        """
        if groups is not None:
            raise ValueError(
                "groups are not read on a cluster. Fit with ferl.streaming.fit_parquet(..., groups=...), or leave them "
                "out."
            )
        return super().fit(X, y, sample_weight, units=units, describe=describe)

    def predict_set(self, X: Any, *, level: float = SET_LEVEL) -> Any:
        """Sets of classes, as in the local class; lazy for a dask table."""
        checked = checked_level(level)  # a wrong one is refused now, not when it is computed
        return _lazy(FERLClassifier.predict_set, by="class", dtype=np.dtype(np.bool_))(self, X, level=checked)

    def decision_function(self, X: Any) -> Any:
        """The summed weights of evidence, as in the local class; lazy for a dask table."""
        return _lazy(FERLClassifier.decision_function, by="class" if len(self.classes_) > 2 else None)(self, X)


class DaskFERLTreeClassifier(OnCluster, FERLTreeClassifier):
    """:class:`ferl.FERLTreeClassifier` for tables that are spread over a Dask cluster.

    Everything else is as in :class:`DaskFERLClassifier`.

    Parameters
    ----------
    variant, words, max_rules, max_depth, n_sets, min_rule_worth, min_leaf_weight, min_gain, patience, min_coverage, \
criterion, n_resamples, band, band_scale, two_mode, n_banded_features, consequents, shrinkage, combination, sources, \
discount, support_gate, gate_margin, ccp_alpha, growth_rows, n_exemplars, class_weight, categorical_features, \
missing_conditions, monotonic_cst, random_state, verbose
        As in :class:`ferl.FERLTreeClassifier`. With ``growth_rows=None`` all distinct rows come to the client.
    n_jobs : int, default=None
        Threads of the growth, on the client.
    client : distributed.Client, default=None
        Client of the cluster. None: the default client, which is the one created last. Pickled copies have no client.
    """

    _local = FERLTreeClassifier
