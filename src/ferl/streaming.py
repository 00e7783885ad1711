"""Fits from batches of rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ferl._estimator import FERLEstimator
from ferl._judge.judgement import Rule
from ferl._learn.batches import BATCH_ROWS, Batches, GivenBatches, ParquetBatches, rows_in_batches
from ferl._models.decision import AnyDecision, Decision
from ferl._models.evidence import Evidence
from ferl._sklearn import check_parameters
from ferl._tables import TableDescription
from ferl._util.threads import rows_bar
from ferl._wrapper import unfitted
from ferl.rules import FERLClassifier

__all__ = ["fit_batches", "fit_parquet", "predict_batches", "predict_parquet"]


def fit_batches(
    batches: Iterable[Any] | Callable[[], Iterable[Any]],
    *,
    estimator: FERLEstimator[Any] | None = None,
    describe: Any = None,
) -> FERLEstimator[Any]:
    """Fit on rows that come in batches, of which one at a time is in memory.

    The model equals the result of ``estimator.fit`` on all rows at once, to the last bit, for batches of any size.

    Parameters
    ----------
    batches : iterable of (X, y), (X, y, sample_weight) or (X, y, sample_weight, groups), or callable that returns one
        The rows; each entry is what :meth:`FERLClassifier.fit` takes, weights may be None. They are read three or four
        times: for labels and categories, for the rows that the tree is grown on, and for the sums over all rows. A
        list, or a function that begins anew at every call, is simply read again; the batches of an iterator are kept
        in a temporary file.
    estimator : FERLClassifier or FERLTreeClassifier, default=None
        What to fit, ``FERLClassifier()`` by default; it is not changed. With ``verbose=1`` there is a progress bar.
    describe : TableDescription, mapping, str or path-like, default=None
        Description of the table, as in :meth:`FERLClassifier.fit`.

    Returns
    -------
    FERLClassifier or FERLTreeClassifier
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.streaming import fit_batches
    >>> X, y = load_iris(return_X_y=True)
    >>> batches = [(X[i : i + 40], y[i : i + 40]) for i in range(0, 150, 40)]
    >>> model = fit_batches(batches, estimator=FERLClassifier(random_state=0))
    >>> whole = FERLClassifier(random_state=0).fit(X, y)
    >>> bool((model.predict_proba(X) == whole.predict_proba(X)).all())
    True
    """
    with GivenBatches(batches) as given:
        return _fit(given, estimator, TableDescription.of(describe))


def fit_parquet(
    source: Any,
    target: str,
    *,
    estimator: FERLEstimator[Any] | None = None,
    weights: str | None = None,
    groups: str | None = None,
    features: Sequence[str] | None = None,
    batch_rows: int = BATCH_ROWS,
    describe: Any = None,
) -> FERLEstimator[Any]:
    """Fit on a Parquet file, a folder of Parquet files, or a pyarrow dataset, in memory that does not grow with it.

    Text and dictionary columns are categories. Columns that are not needed are not read.

    Parameters
    ----------
    source : str, path or pyarrow.dataset.Dataset
        The rows.
    target : str
        Column of the labels.
    estimator : FERLClassifier or FERLTreeClassifier, default=None
        What to fit, ``FERLClassifier()`` by default; it is not changed. With ``verbose=1`` there is a progress bar.
    weights : str, default=None
        Column with the weight of each row.
    groups : str, default=None
        Column with the group of each row, for rules; see :meth:`ferl.FERLClassifier.fit`.
    features : sequence of str, default=None
        Columns to learn from; by default all others.
    batch_rows : int, default=65_536
        Rows that are read at a time. The model does not depend on it.
    describe : TableDescription, mapping, str or path-like, default=None
        Description of the table, as in :meth:`FERLClassifier.fit`.

    Returns
    -------
    FERLClassifier or FERLTreeClassifier
        Fitted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.streaming import fit_parquet
    >>> X, y = load_iris(return_X_y=True)
    >>> table = pa.table({"petal length": X[:, 2], "petal width": X[:, 3], "kind": load_iris().target_names[y]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, pathlib.Path(folder) / "iris.parquet")
    ...     model = fit_parquet(folder, target="kind", estimator=FERLClassifier(random_state=0))
    >>> model.classes_.tolist(), model.feature_names_in_.tolist()
    (['setosa', 'versicolor', 'virginica'], ['petal length', 'petal width'])
    """
    description = TableDescription.of(describe)
    if not description.target.name:
        description = replace(description, target=replace(description.target, name=target))
    return _fit(ParquetBatches.open(source, target, weights, features, batch_rows, groups), estimator, description)


def _fit(batches: Batches, estimator: FERLEstimator[Any] | None, description: TableDescription) -> FERLEstimator[Any]:
    fitted: FERLEstimator[Any] = FERLClassifier() if estimator is None else unfitted(estimator)
    check_parameters(fitted)
    settings = fitted._settings()
    settings.check()
    with rows_bar(batches.n_rows, settings.verbose > 0) as moved:
        rows = rows_in_batches(settings, batches, moved, description)
        if rows.facts.has_groups and not isinstance(fitted, FERLClassifier):
            raise ValueError("groups are for the inner validation of FERLClassifier; trees have none. Leave them out.")
        return fitted._take(fitted._learn(settings, rows))


def predict_batches(estimator: FERLEstimator[Any], batches: Iterable[Any]) -> Iterator[Evidence]:
    """The evidence of rows that come in batches.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    batches : iterable of array-like or data frame
        Rows, without labels.

    Yields
    ------
    Evidence
        Of one batch, as from :meth:`ferl.FERLClassifier.predict_evidence`: belief, plausibility, probability,
        ignorance, of rules ``rows``, and ``prediction_set()``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.streaming import predict_batches
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FERLClassifier(random_state=0).fit(X, y)
    >>> [len(evidence) for evidence in predict_batches(model, [X[:100], X[100:]])]
    [100, 50]
    """
    for batch in batches:
        yield estimator.predict_evidence(batch)


def predict_parquet(
    estimator: FERLEstimator[Any],
    source: str | Path,
    out: str | Path,
    *,
    decision: AnyDecision = "probable",
    guess: bool = False,
    level: float | None = None,
) -> int:
    """Judge the rows of a Parquet or CSV file, and write them with their answers to another one.

    What ``ferl predict`` does, without a model file: label, probability, set, ignorance, of rules the rows behind the
    answer, novelty and abstention are added to the columns of the file, in memory that does not grow with it. A row
    that abstains has no label, and abstention has the cause. Categories that training did not have give a warning.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    source : str or path
        The rows, a .parquet or .csv file.
    out : str or path
        Where to; its name ends in .parquet, .csv or .jsonl.
    decision : {"probable", "balanced", "mild"}, float, array-like or mapping, default="probable"
        How the label is chosen; see :meth:`ferl.FERLClassifier.predict`.
    guess : bool, default=False
        Whether a row that abstains has its label all the same.
    level : float, default=None
        What the beliefs of a set must sum to; see :meth:`ferl.FERLClassifier.predict_set`. Rules alone; None: 2/3.

    Returns
    -------
    int
        Number of rows.
    """
    from ferl._judge.answers import Wanted, judge_file
    from ferl._tables.table_files import FileForm, TableFile

    model = estimator._fitted()
    chosen = Decision.of(decision, model.classes)
    file, wanted = TableFile(Path(source), FileForm()), Wanted(rule=Rule(chosen, level=level), guess=guess)
    outcome = judge_file(model, file, str(out), wanted, False, estimator.n_jobs)
    for note in outcome.notes:
        warnings.warn(note, UserWarning, stacklevel=2)
    return outcome.n_rows
