"""Fits on a real cluster are those from memory, to the last bit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.exceptions import NotFittedError

from dask_examples import FEATURES, client, cluster, in_parts, on_cluster, people_in_parts, same_model
from estimators import classifier
from ferl import FERLTreeClassifier
from ferl._learn.rows import Sampling
from ferl.dask import DaskFERLTreeClassifier
from stream_examples import CASES, people

__all__ = ["client", "cluster"]  # fixtures


@pytest.mark.parametrize(
    "case",
    ["sampled words", "balanced", "class weights", "missing", "integers as categories", "rules", "sampled rules"],
)
def test_a_fit_on_a_cluster_is_the_fit_in_memory(client: Client, case: str) -> None:
    X, y, weight = people()
    whole = classifier(random_state=0, **CASES[case]).fit(X, y, weight)
    model = on_cluster(random_state=0, client=client, **CASES[case])
    same_model(whole, model.fit(*people_in_parts(len(y), [700, 750, 1600])))
    assert model.feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize("kind", ["rules", "words", "deep"])
def test_weight_2_is_the_row_twice_where_class_weights_average_below_one(client: Client, kind: str) -> None:
    X, y, _ = people(600)
    own = {"class_weight": {"a": 0.4}, "random_state": 0}
    weighted = classifier(kind, **own).fit(X, y, np.full(600, 2.0))
    frame = in_parts(pd.concat([X.assign(label=y)] * 2), [500, 800])
    repeated = on_cluster(kind, client=client, **own).fit(frame[FEATURES], frame["label"])
    np.testing.assert_allclose(repeated.predict_proba(X), weighted.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize(("n_distinct", "is_enough"), [(6000, True), (300, False)])
def test_partitions_tell_of_few_rows_where_rows_differ_and_the_sample_is_the_same(
    client: Client, n_distinct: int, is_enough: bool
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_distinct, 3))[np.arange(6000) % n_distinct]
    y = np.where(X[:, 0] > 1.8, "rare", "usual")
    codes = (y == "usual").astype(np.int32)
    sampling = Sampling(np.zeros(3, np.int32), 2, 5, 400, 30, np.arange(3, dtype=np.int32), {})
    limited = sampling.limited(np.bincount(codes))
    assert limited is not None
    whole, part = sampling.start(), limited.start()
    for sampler in (whole, part):
        sampler.add(X, codes, np.ones(len(X)), 0, 1)
    state = part.state()
    assert limited.has_enough(state) == is_enough
    if is_enough:
        assert (whole.finish(1).x == part.finish(1).x).all()
    of_half = limited.start()
    of_half.add(X[:600], codes[:600], np.ones(600), 0, 1)
    assert len(of_half.state()["key"]) < 150  # of 400 that are wanted of all
    options: dict[str, Any] = {"growth_rows": 400, "random_state": 0}
    on_cluster = DaskFERLTreeClassifier("deep", client=client, **options)
    on_cluster.fit(da.from_array(X, chunks=(700, 3)), da.from_array(y, chunks=700))
    same_model(FERLTreeClassifier("deep", **options).fit(X, y), on_cluster)


@pytest.mark.parametrize("cuts", [[], [0, 0, 1, 1, 2, 590, 600], list(range(0, 600, 60))])
def test_empty_and_unequal_partitions_change_nothing(client: Client, cuts: list[int]) -> None:
    X, y, _ = people(600)
    own_X, own_y, _ = people_in_parts(600, cuts)
    options = {"kind": "deep", "growth_rows": 200, "random_state": 0, "missing_conditions": True}
    same_model(classifier(**options).fit(X, y), on_cluster(client=client, **options).fit(own_X, own_y))


def test_categories_and_labels_may_be_in_one_partition_only_and_columns_without_value_in_another(
    client: Client,
) -> None:
    X, y, weight = people(900)
    # Objects, which Dask would turn into text: a partition without a value does not even know what the others hold.
    X = X.astype({"city": object, "member": object})
    X.loc[:299, "city"] = None
    X.loc[300:599, ["x", "member"]] = None
    X.loc[600:, "city"] = X.loc[600:, "city"].replace({"Oslo": "Tromsø"})
    y = np.where(np.arange(900) == 899, "d", np.where((y == "c") & (np.arange(900) >= 300), "a", y))
    options = {"kind": "deep", "growth_rows": 300, "random_state": 0}
    with dask.config.set({"dataframe.convert-string": False}):
        frame = in_parts(X.assign(label=y, weight=weight), [300, 600])
        model = on_cluster(client=client, **options).fit(frame[FEATURES], frame["label"], frame["weight"])
    same_model(classifier(**options).fit(X, y, weight), model)
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert "Tromsø" in model.categories_[2]


def test_declared_categories_with_other_categories_in_every_partition(client: Client) -> None:
    X, y, _ = people(400)
    frame = dd.from_pandas(X.assign(label=y), npartitions=3)
    frame["city"] = frame["city"].astype("category")  # each partition finds its own
    frame["label"] = frame["label"].astype("category")
    model = DaskFERLTreeClassifier("deep", random_state=0, client=client).fit(frame[FEATURES], frame["label"])
    same_model(FERLTreeClassifier("deep", random_state=0).fit(X.astype({"city": "category"}), y), model)


@pytest.mark.filterwarnings("ignore::ferl.TableWarning")
def test_dates_ordered_categories_markers_and_names_are_those_of_the_fit_in_memory(client: Client) -> None:
    rng = np.random.default_rng(0)
    sizes = pd.Categorical(rng.choice(["low", "mid", "high"], 300), ["low", "mid", "high"], ordered=True)
    day = pd.to_datetime("2019-01-01") + pd.to_timedelta(rng.integers(0, 90, 300), unit="D")
    X = pd.DataFrame({"day": day, "size": sizes, "code": ["NA" if i % 40 == 7 else str(i % 5) for i in range(300)]})
    y = pd.Series(np.where((X["day"] > "2019-02-10") ^ (X["size"] == "low"), "yes", "no"), name="deny")
    said = {"columns": {"code": {"unit": "points"}}}
    frame = dd.from_pandas(X.assign(deny=y), npartitions=4)
    model = DaskFERLTreeClassifier("deep", random_state=0, client=client).fit(
        frame[list(X)], frame["deny"], describe=said
    )
    local = FERLTreeClassifier("deep", random_state=0).fit(X, y, describe=said)
    same_model(local, model)
    assert model.columns_.target.name == "deny"
    assert [kind.name for kind in model.columns_.kinds] == [kind.name for kind in local.columns_.kinds]
    found = model.predict_proba(dd.from_pandas(X, npartitions=3)).compute()
    np.testing.assert_array_equal(found, local.predict_proba(X))


def test_arrays_with_chunks_across_columns_and_of_unknown_size(client: Client) -> None:
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(500, 4)), rng.integers(0, 3, 500), rng.choice([0.0, 0.5, 2.0], 500)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = np.nan  # a column without any value must not change what is drawn
    whole = FERLTreeClassifier("deep", growth_rows=100, random_state=3).fit(X, y, weight)
    own_X, own_y, own_weight = (da.from_array(own, chunks=(170, 3)[: own.ndim]) for own in (X, y, weight))
    model = DaskFERLTreeClassifier("deep", growth_rows=100, random_state=3, client=client).fit(own_X, own_y, own_weight)
    same_model(whole, model)
    assert not hasattr(model, "feature_names_in_")
    chosen = own_X[:, 0] < 0.5  # how many rows that leaves is known in the end only
    less = X[:, 0] < 0.5
    model.fit(own_X[chosen], own_y[chosen])
    same_model(FERLTreeClassifier("deep", growth_rows=100, random_state=3).fit(X[less], y[less]), model)


@pytest.mark.parametrize("filesystem", [None, "arrow"])
def test_files_that_dask_would_read_together_are_partitions_of_their_own(
    client: Client, tmp_path: Path, filesystem: Any
) -> None:
    X, y, weight = people(800)
    whole = X.assign(label=y, weight=weight, row=np.arange(800), unused=1.5)
    for first in range(0, 800, 100):
        whole.iloc[first : first + 100].to_parquet(tmp_path / f"part{first}.parquet")
    table = dd.read_parquet(tmp_path, filesystem=filesystem)
    table = table[table["row"] >= 250]
    model = DaskFERLTreeClassifier("deep", random_state=0, client=client).fit(
        table[FEATURES], table["label"], table["weight"]
    )
    same_model(FERLTreeClassifier("deep", random_state=0).fit(X[250:], y[250:], weight[250:]), model)


def test_the_path_of_pruning_is_that_in_memory(client: Client) -> None:
    X, y, _ = people(600)
    own_X, own_y, _ = people_in_parts(600, [100])
    path = DaskFERLTreeClassifier("deep", random_state=0, client=client).cost_complexity_pruning_path(own_X, own_y)
    whole = FERLTreeClassifier("deep", random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_array_equal(path.ccp_alphas, whole.ccp_alphas)
    np.testing.assert_array_equal(path.impurities, whole.impurities)


# ---------------------------------------------------------------------------------------------------------------------
# Failures
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "look"), [("deep", 1), ("deep", 4), ("rules", 1), ("rules", 4)])
def test_a_worker_that_is_killed_during_the_fit_costs_time_only(
    client: Client, tmp_path: Path, variant: str, look: int
) -> None:
    # Four passes read the rows: the first is the survey, the last takes the sums.
    log = tmp_path / "looks"

    def deadly(part: pd.DataFrame, place: int) -> pd.DataFrame:
        if place == 1:
            with log.open("a") as file:
                file.write(f"{os.getpid()}\n")
            if len(log.read_text().split()) == look:
                os.kill(os.getpid(), signal.SIGKILL)
        return part

    X, y, weight = people(600)
    options = {"kind": variant, "max_rules": 20, "growth_rows": 200, "random_state": 0}
    model = on_cluster(client=client, **options)
    model.fit(*people_in_parts(600, [200, 400], change=deadly))
    killed = int(log.read_text().split()[look - 1])
    assert killed not in client.run(os.getpid).values()
    assert len(log.read_text().split()) >= 5  # somebody else has read these rows again
    same_model(classifier(**options).fit(X, y, weight), model)


def test_a_client_that_goes_away_during_the_fit_leaves_no_model_behind(cluster: LocalCluster, tmp_path: Path) -> None:
    started = tmp_path / "started"

    def endless(part: pd.DataFrame, place: int) -> pd.DataFrame:
        started.touch()
        time.sleep(2)
        return part

    own = Client(cluster, set_as_default=False)
    model = DaskFERLTreeClassifier("deep", random_state=0, client=own).fit(*people_in_parts(300, [100]))

    def leave() -> None:
        while not started.exists():
            time.sleep(0.01)
        own.close()

    leaving = threading.Thread(target=leave)
    leaving.start()
    with pytest.raises(RuntimeError, match=r"client was closed during the fit, so nothing was fitted\. Start one"):
        model.fit(*people_in_parts(300, [100, 200], change=endless))
    leaving.join()
    with pytest.raises(NotFittedError):
        model.predict(people(300)[0])
    with pytest.raises(RuntimeError, match="The Dask client is closed, so nothing can be fitted"):
        model.fit(*people_in_parts(300, [100]))


def test_without_a_client_the_error_says_how_to_start_one() -> None:
    with pytest.raises(RuntimeError, match=r"There is no Dask client. Start one with distributed.Client\("):
        DaskFERLTreeClassifier("deep").fit(*people_in_parts(300, [100]))
    with pytest.raises(ValueError, match="The 'client' parameter of DaskFERLTreeClassifier must be"):
        DaskFERLTreeClassifier("deep", client="tcp://127.0.0.1:8786").fit(*people_in_parts(300, [100]))


def test_the_default_client_is_taken(cluster: LocalCluster) -> None:
    with Client(cluster):
        model = DaskFERLTreeClassifier("deep", random_state=0).fit(*people_in_parts(300, [100]))
    X, y, weight = people(300)
    same_model(FERLTreeClassifier("deep", random_state=0).fit(X, y, weight), model)


def test_rows_that_are_others_at_the_second_look_are_noticed(client: Client, tmp_path: Path) -> None:
    seen = tmp_path / "seen"

    def changing(part: pd.DataFrame, place: int) -> pd.DataFrame:
        if place == 0:
            with seen.open("a") as file:
                file.write("x")
            return part.iloc[:-1] if len(seen.read_text()) > 1 else part
        return part

    X, y, _ = people_in_parts(300, [100], change=changing)
    with pytest.raises(ValueError, match=r"Partition 0 of X had 100 rows and now has 99.* persist X and y first"):
        DaskFERLTreeClassifier("deep", client=client).fit(X, y)


@pytest.mark.parametrize(
    ("column", "look", "message"),
    [
        ("weight", 3, "Partition 1 now has other labels or weights"),
        ("label", 3, "Partition 1 now has other labels or weights"),
        ("x", 4, "Partition 1 of X now has other values"),
        ("city", 4, "Partition 1 of X now has other values"),
    ],
)
def test_values_labels_and_weights_that_are_others_at_a_later_look_are_noticed(
    client: Client, tmp_path: Path, column: str, look: int, message: str
) -> None:
    # Four looks at the rows: labels and categories, their weights, the sample, the sums. The number of rows stays.
    seen = tmp_path / "seen"

    def changing(part: pd.DataFrame, place: int) -> pd.DataFrame:
        if place != 1:
            return part
        with seen.open("a") as file:
            file.write("x")
        if len(seen.read_text()) < look:
            return part
        value = part[column].iloc[0]
        other = part[column][part[column].notna() & (part[column] != value)].iloc[0]
        return part.assign(**{column: [other, *part[column].iloc[1:]]})

    X, y, weight = people_in_parts(300, [100], change=changing)
    with pytest.raises(ValueError, match=rf"{message}\. .* persist X and y first"):
        DaskFERLTreeClassifier("deep", client=client).fit(X, y, weight)
    assert len(seen.read_text()) == look


def test_without_dask_the_error_names_the_extra() -> None:
    code = "import sys; sys.modules['distributed'] = None; import ferl.dask"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'pip install "ferl[dask]"' in done.stderr.splitlines()[-1]


def test_bad_input_says_what_to_do(client: Client) -> None:
    model = DaskFERLTreeClassifier("deep", client=client)
    X, y, weight = people_in_parts(300, [100])
    with pytest.raises(TypeError, match=r"X is of type pandas.DataFrame; it must be a dask DataFrame.*from_pandas"):
        model.fit(people(300)[0], y)
    with pytest.raises(TypeError, match=r"X is of type dask.Array with 1 dimensions"):
        model.fit(da.zeros(10), da.zeros(10))
    with pytest.raises(TypeError, match=r"y is of type numpy\.ndarray; it must be a dask Series"):
        model.fit(X, people(300)[1])
    with pytest.raises(TypeError, match=r"sample_weight is of type dask\.DataFrame"):
        model.fit(X, y, weight.to_frame())
    with pytest.raises(ValueError, match=r"X has 2 partitions and y has 3\. Cut both in the same places"):
        model.fit(X, people_in_parts(300, [100, 200])[1])
    with pytest.raises(
        ValueError, match=r"Partition (0 of X has 100|1 of X has 200) rows and that of sample_weight has (99|201)"
    ):
        model.fit(X, y, people_in_parts(300, [99])[2])
    array, labels = da.zeros((10, 2), chunks=(5, 2)), da.zeros(10, chunks=(4, 6))
    with pytest.raises(ValueError, match=r"chunks of X have 5, 5 rows and those of y 4, 6. Pass y.rechunk\("):
        model.fit(array, labels)
    frame = people(300)[0].assign(label=people(300)[1])
    halves = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match=r"X is divided at 0, 150, 299 and y at 0, 10, 299. Pass y.repartition\("):
        model.fit(halves[FEATURES], halves["label"].repartition(divisions=[0, 10, 299]))
    with pytest.raises(ValueError, match="y contains NaN: 1 labels are missing, the first in row 50") as caught:
        model.fit(halves[FEATURES], dd.from_pandas(frame["label"].where(frame.index != 200), npartitions=2))
    assert caught.value.__notes__ == ["In partition 1."]
    with pytest.raises(ValueError, match="There is no row with a positive weight"):
        model.fit(X, y, weight * 0)
    assert not hasattr(model, "tree_")
