"""A real cluster of two workers, and tables cut into partitions, for the tests of `ferl.dask`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pytest
from distributed import Client, LocalCluster

import stream_examples
from estimators import TREES
from ferl import FERLClassifier
from ferl.dask import DaskFERLClassifier, DaskFERLTreeClassifier
from stream_examples import people

FEATURES = ["x", "size", "city", "member", "z"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local_cluster:
        yield local_cluster


@pytest.fixture(scope="module")
def client(cluster: LocalCluster) -> Iterator[Client]:
    # Not the default one, so that an estimator which forgets its client is found out.
    with Client(cluster, set_as_default=False) as local_client:
        yield local_client


def in_parts(frame: pd.DataFrame, cuts: list[int], change: Callable[[pd.DataFrame, int], Any] | None = None) -> Any:
    """A dask frame cut at these rows; ``change`` sees every partition when it is computed, and its number."""
    ends = list(zip([0, *cuts], [*cuts, len(frame)], strict=True))
    parts = [frame.iloc[first:last] for first, last in ends]
    changed = (lambda part, place: part) if change is None else change
    return dd.from_map(lambda part, place: changed(part, place), parts, range(len(parts)), meta=frame.iloc[:0])


def people_in_parts(n_rows: int, cuts: list[int], **options: Any) -> tuple[Any, Any, Any]:
    X, y, weight = people(n_rows)
    frame = in_parts(X.assign(label=y, weight=weight), cuts, **options)
    return frame[FEATURES], frame["label"], frame["weight"]


def same_model(one: FERLClassifier, other: FERLClassifier) -> None:
    stream_examples.same_model(one.model_, other.model_)
    assert one.n_features_in_ == other.n_features_in_


def on_cluster(kind: str, **parameters: Any) -> DaskFERLClassifier | DaskFERLTreeClassifier:
    """What :func:`estimators.classifier` gives, on a cluster."""
    if kind in TREES:
        return DaskFERLTreeClassifier(kind, **parameters)
    return DaskFERLClassifier(**({"words": True} if kind == "words" else {}), **parameters)
