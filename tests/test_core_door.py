"""The door of the compiled core: whatever arrays and states reach it, an error or an answer, never a crash."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

from core_stages import stages
from estimators import classifier
from ferl import FERLTreeClassifier, _core

N_CATEGORIES = np.array([0, 3], dtype=np.int32)
COLUMNS = np.array([0, 1], dtype=np.int32)
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=200), RNG.integers(3, size=200)]).astype(float)
Y = ((X[:, 0] > 0) ^ (X[:, 1] == 1)).astype(np.int32)
WEIGHT = np.ones(200)


def sampler(**changes: Any) -> _core.Sampler:
    own = {
        "n_categories": N_CATEGORIES,
        "n_classes": 2,
        "seed": 1,
        "n_rows": 100,
        "n_class_rows": 10,
        "columns": COLUMNS,
    }
    return _core.Sampler(**(own | changes))


def told() -> dict[str, Any]:
    own = sampler()
    own.add(X, Y, WEIGHT, 0, 1)
    return own.state()


def moments(**changes: Any) -> _core.Moments:
    infinity = np.inf
    own = {
        "parent": np.array([-1, 0, 0], dtype=np.int32),
        "feature": np.array([-1, 1, 1], dtype=np.int32),
        "trapezoid": np.array([[-infinity, -infinity, infinity, infinity]] * 3),
        "share": np.array([1.0, 0.5, 0.5]),
        "category_start": np.array([0, 0, 3, 6], dtype=np.int32),
        "category": np.array([1.0, 0.0, 0.0, 0.0, 1.0, 1.0]),
        "n_categories": N_CATEGORIES,
        "n_classes": 2,
        "low": X.min(axis=0),
        "high": X.max(axis=0),
        "most_weight": 1.0,
        "n_exemplars": 4,
        "key_bound": np.full(3, 2**64 - 1, dtype=np.uint64),
        "seed": 1,
        "columns": COLUMNS,
    }
    return _core.Moments(**(own | changes))


def summed() -> dict[str, Any]:
    own = moments()
    own.add(X, Y, WEIGHT, 1, None)
    return own.state()


@pytest.mark.parametrize(
    ("start", "state"), [(sampler, told), (moments, summed)], ids=["a sampler's state", "a state of sums"]
)
def test_a_state_with_anything_changed_is_refused_or_merged(start, state):
    good = state()
    start().merge(good)
    for name, value in good.items():
        lacking = {key: own for key, own in good.items() if key != name}
        with pytest.raises(ValueError, match=r"version|missing"):
            start().merge(lacking)
        odd: list[Any] = [None, "x", -1, 2.5, np.zeros(1), np.zeros((2, 2, 2)), [1, 2]]
        if isinstance(value, np.ndarray):
            odd += [value[:-1], value[..., None], value.astype(np.complex128), np.concatenate([value, value])]
            odd += [np.full_like(value, fill) for fill in (2**31 - 1, 0, 99) if value.dtype != bool]
            if value.dtype == np.float64:
                odd += [np.full_like(value, fill) for fill in (np.nan, np.inf, -np.inf, -1.0, 1e308)]
            if value.dtype == np.uint64:
                odd += [np.full_like(value, 2**64 - 1), np.full_like(value, 2**63 - 1)]
            if value.dtype == np.int32:
                odd += [np.full_like(value, -2), np.full_like(value, -(2**31))]
        for other in odd:
            merged = start()
            try:
                merged.merge(good | {name: other})
            except ValueError:
                continue
            merged.state()
            try:
                sample = merged.finish(1) if start is sampler else merged.finish()
            except ValueError:
                continue
            if start is sampler:
                grow(sample)


def grow(sample: _core.Sample) -> None:
    """What a sample is for: were a category out of range, this would read outside of arrays."""
    _core.grow_rules(sample, _core.RuleOptions(max_rules=5, max_conditions=2, prune=0.0), None)


def test_a_state_of_another_version_says_what_to_do():
    for start, state in ((sampler, told()), (moments, summed())):
        with pytest.raises(ValueError, match=r"this is version 1\. Run the same version of ferl in all processes"):
            start().merge(state | {"version": 2})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_classes": 0}, "class"),
        ({"n_classes": -5}, "class"),
        ({"n_categories": np.array([0, -3], dtype=np.int32)}, "negative"),
        ({"columns": np.array([0, 2], dtype=np.int32)}, "columns of the table"),
        ({"columns": np.array([-1], dtype=np.int32)}, "columns of the table"),
    ],
)
def test_samplers_and_sums_of_wrong_counts_are_refused(change, message):
    for start in (sampler, moments):
        with pytest.raises(ValueError, match=message):
            start(**change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"high": np.zeros(1)}, "range"),
        ({"low": np.array([-np.inf, 0.0])}, "finite, or empty"),
        ({"key_bound": np.zeros(2, dtype=np.uint64)}, "bound of keys"),
        ({"most_weight": np.nan}, "most_weight"),
        ({"feature": np.array([-1, 7, 7], dtype=np.int32)}, "column that is not there"),
        ({"parent": np.array([-1, 0, 5], dtype=np.int32)}, "pre-order"),
        ({"parent": np.zeros(0, dtype=np.int32)}, "one row per node"),
        ({"trapezoid": np.full((3, 4), np.nan)}, "ascend"),
        ({"trapezoid": np.array([[0.0, 1.0, np.inf, 2.0]] * 3)}, "ascend"),
        ({"trapezoid": np.array([[-np.inf, 0.0, 1.0, 2.0]] * 3)}, "infinite at both ends"),
        ({"share": np.array([1.0, np.nan, 0.5])}, "share"),
        ({"category": np.array([1.0, 0.0, 0.0, 0.0, 7.0, 1.0])}, "membership"),
        ({"category_start": np.array([0, 0, 3, 9], dtype=np.int32)}, "category_start"),
        ({"category_start": np.array([0, 5, 3, 6], dtype=np.int32)}, "category_start"),
        ({"n_exemplars": 2**40}, "n_exemplars"),
    ],
)
def test_sums_of_arrays_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        moments(**change)


@pytest.mark.parametrize(
    ("rows", "labels", "weight", "message"),
    [
        (np.array([[0.0, 3.0]]), [0], [1.0], "category code"),
        (np.array([[0.0, -1.0]]), [0], [1.0], "category code"),
        (np.array([[np.inf, 1.0]]), [0], [1.0], "finite, or missing"),
        (np.array([[0.0, 1.0]]), [2], [1.0], "class code"),
        (np.array([[0.0, 1.0]]), [-1], [1.0], "class code"),
        (np.array([[0.0, 1.0]]), [0], [np.nan], "weight"),
        (np.array([[0.0, 1.0]]), [0], [-1.0], "weight"),
        (np.array([[0.0, 1.0]]), [0], [np.inf], "weight"),
        (np.array([[0.0, 1.0]]), [0, 0], [1.0], "length"),
        (np.array([[0.0, 1.0, 2.0]]), [0], [1.0], "column"),
    ],
)
def test_rows_that_cannot_be_training_rows_are_refused(rows, labels, weight, message):
    given = rows, np.array(labels, dtype=np.int32), np.array(weight)
    with pytest.raises(ValueError, match=message):
        sampler().add(*given, 0, 1)
    with pytest.raises(ValueError, match=message):
        moments().add(*given, 1, None)


def test_rows_outside_the_range_of_the_pass_before_are_refused():
    one = np.array([0], dtype=np.int32)
    for rows, weight in (([[1e9, 0.0]], [1.0]), ([[0.0, 0.0]], [2.0])):
        with pytest.raises(ValueError, match="the same in every pass"):
            moments().add(np.array(rows), one, np.array(weight), 1, None)
    moments().add(np.array([[1e9, 0.0]]), one, np.zeros(1), 1, None)  # a row of no weight says nothing


def test_sums_do_not_overflow():
    state = summed()
    own = moments()
    own.merge(state | {"n_rows": 2**31 - 1 - 200})
    own.merge(state)
    with pytest.raises(ValueError, match=r"2,147,483,647 rows"):
        own.merge(state)


@pytest.mark.parametrize("name", ["of_class", "first", "second", "known"])
def test_sums_that_no_rows_have_are_refused(name):
    state = summed()
    for high in (2**63 - 1, 2**63, 2**42):  # the largest, the smallest, and more than 200 rows can have
        words = np.zeros_like(state[name])
        words[1::2] = high
        with pytest.raises(ValueError, match="larger than those of any rows"):
            moments().merge(state | {name: words})
    if name != "first":
        with pytest.raises(ValueError, match="or negative"):
            moments().merge(state | {name: np.full_like(state[name], 2**64 - 1)})


def test_sides_whose_sums_are_too_large_together_are_refused():
    state = summed()
    words = np.zeros_like(state["first"])
    words[1::2] = (2**31 - 1) << 32
    own = moments()
    own.merge(state | {"first": words, "n_rows": 2**31 - 1})
    with pytest.raises(ValueError, match="larger than those of any rows"):
        own.finish()


def test_a_call_while_another_is_at_work_is_refused():
    own, refused = moments(), []

    def report(progress):  # stands for another thread: it runs in the middle of add
        for call in (own.state, own.finish, lambda: own.merge({}), lambda: own.add(X, Y, WEIGHT, 1, None)):
            with pytest.raises(ValueError, match="Another call is at work on this object"):
                call()
            refused.append(call)

    n = 20_000
    while not refused:  # a report comes where the work takes more than a tenth of a second
        n *= 4
        own.add(np.broadcast_to(X[0], (n, 2)), np.zeros(n, dtype=np.int32), np.ones(n), 1, report)
    own.state()


def test_a_sampler_takes_no_limit_while_it_takes_rows_in():
    own, n, refused = sampler(), 100_000, []
    every_key = np.full(2, 2**64 - 1, dtype=np.uint64)
    while not refused:  # the more rows, the longer the other thread is at work
        n *= 2
        rows, y, weight = np.broadcast_to(X[0], (n, 2)), np.zeros(n, dtype=np.int32), np.ones(n)
        worker = threading.Thread(target=own.add, args=(rows, y, weight, 0, 1))
        worker.start()
        while worker.is_alive() and not refused:
            try:
                own.limit(2**64 - 1, every_key)
            except ValueError as error:
                refused.append(str(error))
        worker.join()
    assert "Another call is at work on this object" in refused[0]
    own.limit(2**64 - 1, every_key)


def test_what_learners_of_wide_rules_are_given_is_checked():
    own = sampler()
    own.add(X, Y, WEIGHT, 0, 1)
    sample = own.finish(1)
    n, none = sample.n_rows, np.zeros(2, dtype=np.int32)
    ones = np.ones(n)
    with pytest.raises(ValueError, match="at most 32"):
        stages().scan(sample, np.ones((n, 40)), ones, ones, none, 0, None)
    with pytest.raises(ValueError, match="-1, 0 or 1"):
        stages().scan(sample, np.ones((n, 1)), ones, ones, none + 7, 0, None)
    with pytest.raises(ValueError, match="max_conditions"):
        stages().path(sample, True, 1.0, 9, 3)
    words = np.array([1], dtype=np.int32), np.array([[0.0, 1.0, 2.0, 3.0]])

    def grow_with(**options: Any) -> None:
        own = {"max_rules": 5, "max_conditions": 2, "prune": 0.0, "n_threads": 10**6}
        _core.grow_rules(sample, _core.RuleOptions(**(own | options)), None)

    grow_with(words=words)
    with pytest.raises(ValueError, match="ascend"):
        grow_with(words=(words[0] - 1, words[1][:, ::-1].copy()))
    with pytest.raises(ValueError, match="must be one of X"):
        grow_with(words=(words[0] + 1, words[1]))
    with pytest.raises(ValueError, match="monotone"):
        grow_with(monotone=[5, 0])
    with pytest.raises(ValueError, match="one number per column"):
        grow_with(monotone=[1])
    with pytest.raises(ValueError, match="max_conditions"):
        grow_with(max_conditions=4)
    one = np.ones(1, dtype=np.int32)
    with pytest.raises(ValueError, match="sign"):
        _core.refit_rules(np.ones((4, 1)), np.ones((4, 3)) / 3, np.ones(4), one, np.ones(1), np.zeros((4, 3)), 1)
    for n_resamples in (0, -1, 10**9):
        with pytest.raises(ValueError, match="n_resamples"):
            stages().resample(sample, n_resamples)


@pytest.mark.parametrize("variant", ["deep", "rules"])
def test_a_pickle_of_changed_arrays_is_refused_or_answers(variant):
    model = classifier(variant, categorical_features=[1], random_state=0).fit(X, Y).model_
    for part in ("tree", "rules"):
        own = getattr(model, part, None)
        if own is None:
            continue
        state = own.__getstate__()
        for name, value in state.items():
            if not isinstance(value, np.ndarray):
                continue
            for other in (value[:-1], np.full_like(value, 10**6), np.full_like(value, -5), value.astype(np.float32)):
                copy = pickle.loads(pickle.dumps(own))
                copy.__setstate__(state | {name: other})
                changed = pickle.loads(pickle.dumps(model))
                changed.__setstate__(model.__getstate__() | {part: copy})
                try:
                    prover = changed.prover
                    outputs = np.zeros((5, 2)), np.zeros(5), np.zeros(5)
                    if variant == "rules":
                        prover.scores(X[:5], 1, outputs[0])
                    else:
                        prover.combine(X[:5], 1, *outputs)
                except (ValueError, TypeError, IndexError):
                    continue


def test_a_pickle_of_another_version_says_what_to_do():
    model = FERLTreeClassifier("deep", random_state=0).fit(X, Y).model_
    state = model.tree.__getstate__()
    del state["gain"]
    with pytest.raises(ValueError, match=r"FuzzyTree was made by another version of ferl.*save_model"):
        pickle.loads(pickle.dumps(model.tree)).__setstate__(state)


@pytest.mark.parametrize(
    ("options", "required"),
    [(_core.SplitOptions, {"class_unit": [1.0]}), (_core.WordOptions, {}), (_core.RuleOptions, {})],
)
def test_options_have_names_and_types(options, required):
    options(**required)
    for wrong in ({"max_rulez": 5}, {"max_rules": "five"}, {"max_rules": -1}, {"n_threads": None}):
        with pytest.raises(TypeError):
            options(**required, **wrong)
    with pytest.raises(ValueError, match="max_rules"):
        options(**required, max_rules=0)
    with pytest.raises(TypeError):
        options(5)
