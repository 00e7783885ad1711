"""Fits from batches are those from memory, to the last bit."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from estimators import KINDS, classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._learn.survey import ExactSums
from ferl.streaming import fit_batches, fit_parquet, predict_batches, predict_parquet
from stream_examples import CASES, in_batches, people, same_model, same_tree


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_fit_in_batches_is_the_fit_in_memory(case: str, weighted: bool) -> None:
    X, y, weight = people()
    model = classifier(random_state=0, **CASES[case])
    own = weight if weighted else None
    whole = model.fit(X, y, own)
    for size in (137, 3000):
        stream = fit_batches(in_batches(size, X, y, own), estimator=model)
        same_model(whole.model_, stream.model_)
        np.testing.assert_array_equal(stream.predict_proba(X), whole.predict_proba(X))


CLASS_WEIGHTS = [{"a": 0.4}, {"a": 0.25, "c": 0.5}, {"a": 0.0, "b": 0.4}, "balanced"]


@pytest.mark.parametrize("class_weight", CLASS_WEIGHTS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_weight_2_is_the_row_twice_where_class_weights_average_below_one(
    kind: str, class_weight: Any, tmp_path: Path
) -> None:
    X, y, _ = people(600)
    weight = np.where(y == "b", 0.0, 2.0) if class_weight == "balanced" else np.full(len(y), 2.0)
    model = classifier(kind, class_weight=class_weight, random_state=0)
    weighted = model.fit(X, y, weight).predict_proba(X)
    twice = np.repeat(np.arange(len(y)), 2)
    repeated = clone(model).fit(X.iloc[twice], y[twice], weight[twice] / 2)
    np.testing.assert_allclose(repeated.predict_proba(X), weighted, atol=1e-9)
    files = {}
    for name, rows in {"weighted": slice(None), "repeated": twice}.items():
        own = X.assign(label=y, weight=weight if name == "weighted" else weight / 2).iloc[rows]
        pq.write_table(pa.Table.from_pandas(own, preserve_index=False), files.setdefault(name, tmp_path / name))
        fitted = fit_parquet(files[name], "label", weights="weight", estimator=clone(model))
        np.testing.assert_allclose(fitted.predict_proba(X), weighted, atol=1e-9)


def test_what_wide_rules_take_from_the_sample_and_what_from_all_rows() -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(6000, 3)), rng.random(6000) < 0.1
    X[:, 0] += 2 * labels
    model = FERLClassifier(max_rules=5, growth_rows=300, n_exemplars=1000, random_state=0)
    whole = fit_batches(in_batches(700, X, labels), estimator=model).model_
    assert whole.n_growth_rows < 400
    np.testing.assert_array_equal(whole.ranges, np.column_stack([X.min(axis=0), X.max(axis=0)]))
    np.testing.assert_array_equal(whole.tree.class_weight[0], np.bincount(labels))
    kept = whole.tree.profile.exemplar_row
    assert len(kept) > 900
    assert {tuple(row) for row in kept} <= {tuple(row) for row in X}


@settings(max_examples=15, deadline=None)
@given(size=st.integers(1, 400), seed=st.integers(0, 10**6), n_jobs=st.integers(1, 3))
def test_any_batch_size_and_number_of_threads_give_the_same_bits(size: int, seed: int, n_jobs: int) -> None:
    X, y, weight = people(400, seed)
    model = FERLTreeClassifier("medium", growth_rows=150, random_state=0)
    whole = model.fit(X, y, weight)
    same_tree(whole.tree_, fit_batches(in_batches(size, X, y, weight), estimator=model.set_params(n_jobs=n_jobs)).tree_)


@pytest.mark.parametrize("n_times", [1, 2])
def test_exemplars_are_the_same_where_more_rows_are_held_than_kept(
    n_times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many columns that rows which no node keeps any more are forgotten on the way; and rows that are equal."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)  # it limits the number of threads
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(9_000 // n_times, 400)).round(3), n_times, axis=0)
    y = (X[:, 0] > 0).astype(int)
    model = FERLTreeClassifier("deep", random_state=0, max_rules=3, growth_rows=300, n_exemplars=2_500)
    whole = model.fit(X, y)
    assert whole.tree_.profile is not None
    assert (whole.tree_.profile.exemplar[0] >= 0).sum() == 2_500
    for n_jobs, size in ((3, 9_000), (1, 1_700), (2, 4_100)):
        fitted = fit_batches(in_batches(size, X, y), estimator=clone(model).set_params(n_jobs=n_jobs))
        same_tree(whole.tree_, fitted.tree_)


def test_the_order_of_rows_changes_nothing() -> None:
    X, y, weight = people()
    place = np.random.default_rng(1).permutation(len(y))
    model = FERLTreeClassifier("deep", growth_rows=700, random_state=0)
    mixed = fit_batches(in_batches(500, X.iloc[place], y[place], weight[place]), estimator=model)
    same_tree(model.fit(X, y, weight).tree_, mixed.tree_)


def test_an_iterator_is_kept_in_a_file_and_a_function_is_called_again() -> None:
    X, y, _ = people(600)
    batches = in_batches(100, X, y)
    model = FERLTreeClassifier("deep", random_state=0)
    whole = model.fit(X, y)
    same_tree(whole.tree_, fit_batches(iter(batches), estimator=model).tree_)
    same_tree(whole.tree_, fit_batches(lambda: iter(batches), estimator=model).tree_)


def test_arrays_without_names() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 4)), rng.integers(0, 2, 500)
    X[:, 2] = np.nan  # a column without any value must not change what is drawn
    model = FERLTreeClassifier("deep", random_state=3, growth_rows=100)
    stream = fit_batches(in_batches(60, X, y), estimator=model)
    same_tree(model.fit(X, y).tree_, stream.tree_)
    assert not hasattr(stream, "feature_names_in_")


def write_parquet(folder: Path, X: pd.DataFrame, y: np.ndarray, weight: np.ndarray, n_files: int) -> None:
    for k, own in enumerate(np.array_split(np.arange(len(y)), n_files)):
        table = pa.Table.from_pandas(X.iloc[own].assign(label=y[own], weight=weight[own]), preserve_index=False)
        city = table.schema.get_field_index("city")
        if k % 2:  # text in one file, a dictionary in the next
            table = table.set_column(city, "city", table["city"].cast(pa.string()))
        pq.write_table(table, folder / f"part{k}.parquet", row_group_size=200)


@pytest.mark.parametrize(
    "options",
    [{}, {"missing_conditions": True}, {"categorical_features": ["size", "city", "member"]}, {"kind": "rules"}],
)
def test_parquet_gives_the_fit_in_memory(tmp_path: Path, options: dict[str, Any]) -> None:
    X, y, weight = people(1500)
    write_parquet(tmp_path, X, y, weight, 3)
    model = classifier(**{"kind": "medium", "growth_rows": 600, "random_state": 0, **options})
    whole = model.fit(X, y, weight)
    stream = fit_parquet(tmp_path, "label", estimator=model, weights="weight", batch_rows=170)
    same_model(whole.model_, stream.model_)
    assert stream.feature_names_in_.tolist() == list(X.columns)
    fewer = fit_parquet(
        str(tmp_path), target="label", estimator=FERLTreeClassifier("deep", random_state=0), features=["x", "z"]
    )
    same_tree(FERLTreeClassifier("deep", random_state=0).fit(X[["x", "z"]], y).tree_, fewer.tree_)


def test_a_rare_class_gets_rows_into_the_sample_and_only_there() -> None:
    rng = np.random.default_rng(0)
    n_rows = 20_000
    X = rng.normal(size=(n_rows, 3))
    y = (np.arange(n_rows) < 40).astype(int)
    X[:40] += np.array([4, 0, 0])
    model = FERLTreeClassifier("medium", growth_rows=1000, random_state=0).fit(X, y)
    assert 1000 < model.n_growth_rows_ <= 1040  # all 40, although two of a thousand are its share
    assert model.tree_.class_weight[0, 1] == 40
    assert (model.predict(rng.normal(size=(200, 3)) + np.array([4, 0, 0])) == 1).mean() > 0.6
    same_tree(model.tree_, fit_batches(in_batches(999, X, y), estimator=model).tree_)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1e9), max_size=40), st.integers(0, 40))
def test_exact_sums_are_those_of_fsum(values: list[float], cut: int) -> None:
    first, second = ExactSums(1), ExactSums(1)
    for sums, own in ((first, values[:cut]), (second, values[cut:])):
        sums.add(np.zeros(len(own), dtype=np.intp), np.array(own))
    first.merge(second)
    assert first.totals()[0] == first.total() == math.fsum(values)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 5e-324, 1e9 / 3])
def test_exact_sums_of_one_value_are_those_of_fsum(value: float) -> None:
    cells, sums = np.array([0, 2, 2, 0, 2, 2, 2]), ExactSums(4)
    sums.add(cells, np.full(7, value))
    sums.add(cells[:3], np.array([value, 0.3, 0.7]))
    expected = [[value] * 3, [], [value] * 5 + [0.3, 0.7], []]
    assert sums.totals().tolist() == [math.fsum(own) for own in expected]


@pytest.mark.parametrize("variant", ["deep", "rules"])
def test_answers_in_batches(tmp_path: Path, variant: str) -> None:
    X, y, _ = people(800)
    model = classifier(variant, max_rules=20, random_state=0).fit(X, y)
    blocks = list(predict_batches(model, (X.iloc[i : i + 90] for i in range(0, 800, 90))))
    for name in ("belief", "plausibility", "probability"):
        found = np.vstack([getattr(evidence, name) for evidence in blocks])
        np.testing.assert_array_equal(found, getattr(model.predict_evidence(X), name))
    pq.write_table(pa.Table.from_pandas(X), tmp_path / "new.parquet")
    assert predict_parquet(model, tmp_path / "new.parquet", tmp_path / "answers.parquet") == 800
    assert pq.read_table(tmp_path / "answers.parquet")["novelty"].to_numpy() == pytest.approx(model.novelty(X))


def test_bad_input_says_what_to_do(tmp_path: Path) -> None:
    X, y, weight = people(300)
    batches = in_batches(100, X, y)
    with pytest.raises(TypeError, match="Batch 1 is of type ndarray; every batch must be a tuple"):
        fit_batches([batches[0], np.zeros(3)])
    with pytest.raises(ValueError, match="There is no row with a positive weight"):
        fit_batches([])
    with pytest.raises(ValueError, match="'x' holds numbers in some batches and text in others"):
        fit_batches([batches[0], (X.iloc[:5].assign(x="one"), y[:5])])
    with pytest.raises(ValueError, match="Some labels are text and others are not"):
        fit_batches([batches[0], (X.iloc[:5], [1, 2, 1, 2, 1])])
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        fit_batches([batches[0], (X.iloc[:5][["x", "z"]], y[:5])])
    with pytest.raises(ValueError, match="y contains NaN: 1 labels are missing, the first in row 1"):
        fit_batches([(X.iloc[:2], ["a", None])])
    with pytest.raises(FileNotFoundError, match="does not exist"):
        fit_parquet(tmp_path / "nothing", "label")
    write_parquet(tmp_path, X, y, weight, 1)
    with pytest.raises(ValueError, match="There is no column 'lable'; the columns are 'x'"):
        fit_parquet(tmp_path, "lable")
    with pytest.raises(TypeError, match="int is neither a path nor a pyarrow dataset"):
        fit_parquet(3, "label")
    with pytest.raises(ValueError, match="batch_rows is 0"):
        fit_parquet(tmp_path, "label", batch_rows=0)
    with pytest.raises(ValueError, match="Column 'x' holds a value of magnitude 1e\\+200"):
        fit_batches([(X.assign(x=1e200), y)])


def test_the_estimator_given_is_not_changed_and_progress_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    X, y, _ = people(300)
    model = FERLTreeClassifier("deep", random_state=0, verbose=1)
    fitted = fit_batches(in_batches(100, X, y), estimator=model)
    assert not hasattr(model, "tree_")
    assert fitted.verbose == 1
    assert "choosing rows" in capsys.readouterr().out


@pytest.mark.parametrize("nothing", [None, np.nan])
@pytest.mark.parametrize("column", ["city", "member", "x"])
def test_a_batch_in_which_a_column_has_no_value_does_not_contradict_the_others(column: str, nothing: Any) -> None:
    X, y, _ = people(600)
    X = X.astype({"city": object, "member": object})
    X.loc[100:199, column] = nothing
    model = FERLTreeClassifier("deep", random_state=0)
    batches = [(part.infer_objects(), labels) for part, labels in in_batches(100, X, y)]
    if column == "city":
        batches[1] = (batches[1][0].assign(city=pd.Series(nothing, index=X.index[100:200], dtype=float)), y[100:200])
    whole = model.fit(X, y)
    for order in (batches, batches[::-1]):
        stream = fit_batches(order, estimator=model)
        same_tree(whole.tree_, stream.tree_)
        assert stream.columns_ == whole.columns_


def test_a_column_without_any_value_stays_what_it_is_in_memory() -> None:
    X, y, _ = people(300)
    model = FERLTreeClassifier("deep", random_state=0)
    for nothing in (pd.Series(None, index=X.index, dtype=object), pd.Series(np.nan, index=X.index)):
        whole = model.fit(X.assign(city=nothing), y)
        assert fit_batches(in_batches(100, X.assign(city=nothing), y), estimator=model).columns_ == whole.columns_


def changing(change: Any, at_pass: int, n_rows: int = 300) -> Any:
    """A function that gives batches, others from a certain pass on."""
    X, y, weight = people(n_rows)
    n_passes = 0

    def begin() -> Any:
        nonlocal n_passes
        n_passes += 1
        own = X.copy(), np.array(y), np.array(weight, dtype=float)
        if n_passes >= at_pass:
            own = change(*own)
        return iter(in_batches(100, *own))

    return begin


def with_swapped_values(X: Any, y: Any, weight: Any) -> Any:
    column = next(name for name in X if pd.api.types.is_float_dtype(X[name]))
    known = np.flatnonzero(X[column].notna())
    values = X[column].to_numpy().copy()
    values[known[0]], values[known[1]] = values[known[1]], values[known[0]]
    assert values[known[0]] != values[known[1]]
    return X.assign(**{column: values}), y, weight


CHANGES = {
    "fewer rows": lambda X, y, weight: (X[:-1], y[:-1], weight[:-1]),
    "other values": with_swapped_values,
    "other weights": lambda X, y, weight: (X, y, np.roll(weight, 1)),
    "other labels": lambda X, y, weight: (X, np.roll(y, 1), weight),
}


# The first two passes look at labels, weights and categories only: of values there is nothing to compare before pass 4.
@pytest.mark.parametrize(
    ("name", "at_pass"), [*((name, 4) for name in CHANGES), ("fewer rows", 3), ("other labels", 3)]
)
def test_batches_that_change_between_passes_are_noticed(name: str, at_pass: int) -> None:
    with pytest.raises(ValueError, match=r"between two passes|in every pass"):
        fit_batches(changing(CHANGES[name], at_pass), estimator=FERLTreeClassifier("medium", random_state=0))


def test_other_categories_in_a_later_pass_are_noticed() -> None:
    def change(X: Any, y: Any, weight: Any) -> Any:
        return X.assign(**{name: "new" for name in X if not pd.api.types.is_numeric_dtype(X[name])}), y, weight

    for at_pass in (2, 3):
        with pytest.raises(ValueError, match=r"other categories|category code|between two passes"):
            fit_batches(changing(change, at_pass), estimator=FERLTreeClassifier("medium", random_state=0))


def test_passes_may_come_in_another_order() -> None:
    def change(X: Any, y: Any, weight: Any) -> Any:
        order = np.random.default_rng(0).permutation(len(X))
        return X.iloc[order], y[order], weight[order]

    model = FERLTreeClassifier("medium", random_state=0)
    same_tree(
        fit_batches(changing(change, 3), estimator=model).tree_, fit_batches(changing(change, 9), estimator=model).tree_
    )


def test_a_parquet_file_that_lacks_a_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": [1.0, 0.0], "y": ["u", "v"]}), tmp_path / "one.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": ["u", "v"]}), tmp_path / "two.parquet")
    with pytest.raises(ValueError, match=r"two\.parquet has no column 'b', which other files have"):
        fit_parquet(tmp_path, target="y")
    assert fit_parquet(tmp_path, target="y", features=["a"]).n_features_in_ == 1


def test_sums_of_large_batches_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    from ferl._learn import survey

    monkeypatch.setattr(survey, "_EXACT_VALUES", 7)
    values = np.random.default_rng(0).random(100)
    sums = ExactSums(1)
    sums.add(np.zeros(100, dtype=np.intp), values)
    assert sums.total() == math.fsum(values)
