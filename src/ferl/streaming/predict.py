"""Answers for batches of rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ferl.classifier import FERLClassifier
from ferl.evidence import Evidence


def predict_batches(estimator: FERLClassifier, batches: Iterable[Any]) -> Iterator[Evidence]:
    """The evidence of rows that come in batches.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    batches : iterable of array-like or data frame
        Rows, without labels.

    Yields
    ------
    Evidence
        Of one batch: belief, plausibility, ignorance, ``pignistic``, ``prediction_set()``.

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


def predict_parquet(estimator: FERLClassifier, source: str | Path, out: str | Path) -> int:
    """Judge the rows of a Parquet or CSV file, and write them with their answers to another one.

    What ``ferl predict`` does, without a model file: label, probability, set, ignorance and novelty are added to the
    columns of the file, in memory that does not grow with it.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    source : str or path
        The rows, a .parquet or .csv file.
    out : str or path
        Where to; its name ends in .parquet, .csv or .jsonl.

    Returns
    -------
    int
        Number of rows.
    """
    from ferl.commands.predict import Wanted, judge_file
    from ferl.commands.tables import FileForm, TableFile

    return judge_file(estimator, TableFile(Path(source), FileForm()), str(out), Wanted(), False, estimator.n_jobs)
