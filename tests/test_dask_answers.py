"""Answers on a real cluster are lazy, and those from memory; the estimator is the local one with a client."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dask_examples import FEATURES, client, cluster, in_parts, on_cluster, people_in_parts, same_model
from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, load_model, save_model
from ferl.dask import DaskFERLClassifier, DaskFERLTreeClassifier
from stream_examples import people, same_tree

__all__ = ["client", "cluster"]  # fixtures


ANSWERS = (
    "predict",
    "predict_proba",
    "predict_set",
    "novelty",
    "novelty_attribution",
    "support_deficit",
    "certified_radius",
)


def answers_of(model: FERLClassifier) -> tuple[str, ...]:
    return ANSWERS if model.model_.kind == "trees" else (*ANSWERS[:-1], "decision_function")


@pytest.fixture(scope="module", params=["deep", "rules"])
def fitted(request: pytest.FixtureRequest, client: Client) -> tuple[DaskFERLClassifier, FERLClassifier]:
    X, y, weight = people(600)
    options = {"kind": request.param, "max_rules": 20, "random_state": 0}
    options |= {"combination": "vote"} if request.param == "deep" else {}
    model = on_cluster(client=client, n_jobs=2, **options).fit(*people_in_parts(600, [100]))
    return model, classifier(**options).fit(X, y, weight)


@pytest.mark.parametrize("number", range(len(ANSWERS)))
def test_answers_for_data_frames_keep_the_index(
    client: Client, fitted: tuple[DaskFERLClassifier, FERLClassifier], number: int
) -> None:
    model, whole = fitted
    answer = answers_of(whole)[number]
    X = people(600)[0].set_index(np.arange(600) * 3)
    lazy = getattr(model, answer)(in_parts(X[FEATURES[::-1]], [0, 250]))  # the first partition is empty
    assert lazy.npartitions == 3
    computed = client.compute(lazy).result()
    np.testing.assert_array_equal(np.asarray(computed), getattr(whole, answer)(X))
    assert computed.index.equals(X.index)
    with pytest.raises(ValueError, match="yet now missing:\n- city"):
        getattr(model, answer)(in_parts(X[["x", "z", "size", "member"]], []))
    if isinstance(computed, pd.Series):
        assert computed.dtype == lazy.dtype
    else:
        assert computed.dtypes.equals(lazy.dtypes)
        assert computed.columns.tolist() in (["a", "b", "c"], FEATURES)


@pytest.mark.parametrize(
    ("variant", "n_classes", "answer"),
    [
        *(("deep", 3, answer) for answer in ANSWERS),
        *(("rules", 3, answer) for answer in ("predict_proba", "support_deficit", "decision_function")),
        ("rules", 2, "decision_function"),
    ],
)
def test_answers_for_arrays_have_their_chunks(client: Client, variant: str, n_classes: int, answer: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, n_classes, 300)
    whole = classifier(variant, max_rules=20, random_state=0).fit(X, y)
    model = on_cluster(kind=variant, random_state=0)
    model.__dict__.update({name: own for name, own in vars(whole).items() if name.endswith("_")})
    lazy = getattr(model, answer)(da.from_array(X, chunks=((120, 0, 180), (1, 3))))
    expected = getattr(whole, answer)(X)
    assert (lazy.shape, lazy.dtype, lazy.chunks[0]) == (expected.shape, expected.dtype, (120, 0, 180))
    np.testing.assert_array_equal(client.compute(lazy).result(), expected)
    with pytest.raises(ValueError, match="X has shape \\(300, 3\\), but the training table had 4 features"):
        getattr(model, answer)(da.from_array(X[:, :3]))


def test_evidence_is_lazy_and_has_the_same_names(
    cluster: LocalCluster, fitted: tuple[DaskFERLClassifier, FERLClassifier]
) -> None:
    model, whole = fitted
    X = people(600)[0]
    lazy, expected = model.predict_evidence(in_parts(X, [0, 250])), whole.predict_evidence(X)
    assert repr(lazy) == "<DaskEvidence: 3 partitions, 3 classes, not computed>"
    with Client(cluster):
        computed = lazy.compute()
        for name in ("belief", "ignorance", "conflict", "plausibility", "probability", "pignistic"):
            np.testing.assert_array_equal(getattr(lazy, name).compute(), getattr(expected, name), err_msg=name)
            np.testing.assert_array_equal(getattr(computed, name), getattr(expected, name), err_msg=name)
        np.testing.assert_array_equal(lazy.prediction_set().compute(), expected.prediction_set())


def test_other_tables_are_judged_at_once(fitted: tuple[DaskFERLClassifier, FERLClassifier]) -> None:
    model, whole = fitted
    X, y, _ = people(50)
    for answer in answers_of(whole):
        np.testing.assert_array_equal(getattr(model, answer)(X), getattr(whole, answer)(X))
    np.testing.assert_array_equal(model.predict_evidence(X).belief, whole.predict_evidence(X).belief)
    assert model.score(X, y) == whole.score(X, y)


def test_balanced_decisions_are_lazy_too(client: Client, fitted: tuple[DaskFERLClassifier, FERLClassifier]) -> None:
    model, whole = fitted
    X = people(600)[0]
    lazy = model.predict(in_parts(X, [250]), decision="balanced")
    np.testing.assert_array_equal(client.compute(lazy).result(), whole.predict(X, decision="balanced"))
    costs = {(whole.classes_[0], whole.classes_[1]): 5}
    lazy = model.predict(in_parts(X, [250]), decision=costs)
    np.testing.assert_array_equal(client.compute(lazy).result(), whole.predict(X, decision=costs))
    with pytest.raises(ValueError, match="decision is 'fair'"):
        model.predict(in_parts(X, [250]), decision="fair")


def test_answers_before_the_fit_are_refused() -> None:
    for answer in (*ANSWERS, "predict_evidence"):
        with pytest.raises(NotFittedError):
            getattr(DaskFERLTreeClassifier("deep"), answer)(da.zeros((3, 2)))


# ---------------------------------------------------------------------------------------------------------------------
# The estimator
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("on_dask", "on_one_machine"),
    [(DaskFERLClassifier, FERLClassifier), (DaskFERLTreeClassifier, FERLTreeClassifier)],
)
def test_the_constructor_is_that_of_the_local_classifier_plus_the_client(on_dask: Any, on_one_machine: Any) -> None:
    own, local = (inspect.signature(kind).parameters for kind in (on_dask, on_one_machine))
    assert list(own.values()) == [*local.values(), own["client"]]
    assert own["client"].default is None
    changed = {name: object() for name in own}
    assert on_dask(**changed).get_params(deep=False) == changed
    for method in (*ANSWERS, "fit", "predict_evidence"):
        assert list(inspect.signature(getattr(on_dask, method)).parameters) == list(
            inspect.signature(getattr(on_one_machine, method)).parameters
        )


def test_local_copies_have_the_model_and_no_client(
    fitted: tuple[DaskFERLClassifier, FERLClassifier], tmp_path: Path
) -> None:
    model, whole = fitted
    local = model.to_local()
    assert type(local) in (FERLClassifier, FERLTreeClassifier)
    same_model(whole, local)
    assert local.get_params() == {**whole.get_params(), "n_jobs": 2}
    save_model(local, tmp_path / "model.json")
    same_tree(load_model(tmp_path / "model.json").tree_, whole.tree_)
    sent = pickle.loads(pickle.dumps(model))
    assert sent.client is None
    assert model.client is not None
    same_model(whole, sent)
    assert not hasattr(DaskFERLTreeClassifier("deep").to_local(), "tree_")


def test_a_clone_shares_the_client(client: Client) -> None:
    model = DaskFERLTreeClassifier("deep", max_rules=7, class_weight={"a": 2.0}, client=client)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert other.client is client
    assert other.class_weight is not model.class_weight


def test_partial_fit_points_to_the_local_model() -> None:
    with pytest.raises(NotImplementedError, match=r"to_local\(\)\.partial_fit"):
        DaskFERLTreeClassifier("deep").partial_fit([[1.0]], [0])


def test_groups_are_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"groups are not read on a cluster.*fit_parquet"):
        DaskFERLClassifier().fit(None, None, groups=[1])
