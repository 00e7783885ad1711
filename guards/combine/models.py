"""Laws of the model alone: its answers, fits, certificates, edits and explanations."""

from __future__ import annotations

import json
import tempfile
import warnings
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from combine.case import Case, through_a_file
from combine.laws import NONE, ROUNDING, answers, assert_same, is_clear, law
from estimators import classifier
from ferl import OtherColumnsWarning, rules_frame, save_model
from ferl.streaming import fit_batches, fit_parquet, predict_batches

LEVELS = (0.5, 2 / 3, 0.8, 0.95)
N_ATTACKED = 4  # rows whose certificates are attacked
N_MOVES = 150  # of each of them


@law()
def belief_probability_and_plausibility_are_in_this_order(case: Case) -> None:
    evidence = case.model.predict_evidence(case.rows)
    probability = case.model.predict_proba(case.rows)
    assert min(evidence.belief.min(), evidence.ignorance.min()) >= 0
    np.testing.assert_allclose(evidence.belief.sum(axis=1) + evidence.ignorance, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=ROUNDING)
    assert (evidence.belief <= probability + ROUNDING).all()
    assert (probability <= evidence.plausibility + ROUNDING).all()


@law()
def contributions_add_up_to_the_probability(case: Case) -> Any:
    if not case.is_rules:
        return NONE
    probability = case.model.predict_proba(case.rows)
    for parts in (case.model.contributions(case.rows), case.model.feature_contributions(case.rows)):
        scores = parts.sum(axis=1)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(power / power.sum(axis=1, keepdims=True), probability, atol=ROUNDING)


@law()
def a_file_keeps_every_bit(case: Case) -> None:
    again = through_a_file(case, case.model, case.rng)
    assert_same(answers(again, case.rows), answers(case.model, case.rows), "file")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("one.json", "two.json")]
        for path, own in zip(paths, (case.model, again), strict=True):
            save_model(own, path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@law()
def answers_depend_neither_on_threads_nor_on_batches_nor_on_order(case: Case) -> None:
    expected, order = answers(case.model, case.rows), case.rng.permutation(len(case.rows))
    threaded = clone(case.model)._take(case.model.model_).set_params(n_jobs=2)
    assert_same(answers(threaded, case.rows), expected, "threads")
    moved = answers(case.model, case.rows.iloc[order])
    assert_same({name: own[np.argsort(order)] for name, own in moved.items()}, expected, "order")
    single = [answers(case.model, case.rows.iloc[k : k + 1]) for k in range(6)]
    parts = {name: np.concatenate([own[name] for own in single]) for name in expected}
    assert_same(parts, {name: own[:6] for name, own in expected.items()}, "single rows")


@law()
def a_fit_depends_neither_on_threads_nor_on_the_order_of_rows(case: Case) -> None:
    other = case.fitted(case.rng.permutation(len(case.table.y)), n_jobs=2)
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "order of training rows")


@law()
def batches_are_the_whole_table(case: Case) -> None:
    frame, y, weight, groups = case.table.frame, case.table.y, case.weight, case.groups
    cuts = np.r_[0, np.sort(case.rng.integers(1, len(y), size=3)), len(y)]
    pieces = [slice(a, b) for a, b in pairwise(cuts) if a < b]
    more = [own for own in (weight, groups) if own is not None]
    if weight is None and groups is not None:
        more = [np.ones(len(y)), groups]
    batches = [(frame.iloc[k], y[k], *(own[k] for own in more)) for k in pieces]
    other = fit_batches(batches, estimator=classifier(case.kind, **case.options))
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "batches")


@law()
def weight_two_is_the_row_twice(case: Case) -> None:
    weight = case.rng.choice([1, 2, 3, 5, 7], size=len(case.table.y))
    order = np.repeat(np.arange(len(weight)), weight)
    weighted = Case(case.seed, case.kind, case.options, case.table, weight.astype(float), case.groups)
    found, expected = answers(case.fitted(order, times=weight), case.rows), answers(weighted.first, case.rows)
    assert_same(found, expected, "twice")


@law()
def certificates_stand_attacks(case: Case) -> Any:
    model, rng = case.model, case.rng
    if model.model_.unproven:
        try:
            model.certified_radius(case.rows[:1])
        except ValueError:
            return None
        raise AssertionError("a radius where nothing is proven")
    frame = case.rows.iloc[:N_ATTACKED]
    numbers = case.numbers
    rows, radius = model._rows(frame), model.certified_radius(frame)
    columns = [list(case.table.frame.columns).index(name) for name in numbers]
    moved = np.repeat(rows[:, None], N_MOVES, axis=1)
    steps = rng.choice([-1.0, 0.0, 1.0], (len(rows), N_MOVES, len(columns)))
    steps[:, N_MOVES // 2 :] *= rng.random((len(rows), N_MOVES - N_MOVES // 2, len(columns)))
    moved[:, :, columns] += steps * np.minimum(radius, 1e9)[:, None, None] * (1 - 1e-9)
    n_features = len(case.table.frame.columns)
    back = with_derived_again(model, moved.reshape(-1, rows.shape[1])[:, :n_features])
    labels = model.model_.probabilities(back).argmax(axis=1).reshape(len(rows), N_MOVES)
    usual = model.model_.probabilities(rows).argmax(axis=1)
    is_proven = radius > 0
    assert (labels == usual[:, None])[is_proven].all(), "a label changed within its proven radius"
    return None


def with_derived_again(model: Any, rows: Any) -> Any:
    """Rows with the derived columns of a model, computed anew."""
    from ferl._tables import with_derived

    return with_derived(np.asfortranarray(rows), model.model_.derived)


@law()
def sets_are_nested_and_labels_are_marked_where_all_classes_stay(case: Case) -> None:
    model = case.model
    usual = model.predict_set(case.rows)
    if case.is_rules:
        nested = [model.predict_set(case.rows, level=level) for level in LEVELS]
        assert all((small <= large).all() for small, large in pairwise(nested))
    marker = "?" if model.classes_.dtype.kind in "OUT" else -1
    marked, labels = model.predict(case.rows, no_answer=marker), model.predict(case.rows)
    is_open = usual.all(axis=1) & (usual.shape[1] > 1)
    np.testing.assert_array_equal(marked == marker, is_open)
    np.testing.assert_array_equal(marked[~is_open].astype(labels.dtype), labels[~is_open])


@law()
def decisions_are_those_of_the_probabilities(case: Case) -> None:
    model, n = case.model, len(case.model.classes_)
    probability = model.predict_proba(case.rows)
    if n == 2:
        threshold = float(case.rng.choice([0.1, 0.35, 0.5, 0.9]))
        expected = model.classes_[(probability[:, 1] >= threshold).astype(int)]
        np.testing.assert_array_equal(model.predict(case.rows, decision=threshold), expected)
    even, clear = model.predict(case.rows, decision=1.0 - np.eye(n)), is_clear(model, case.rows)
    np.testing.assert_array_equal(even[clear], model.predict(case.rows)[clear])
    asked = model.predictor()
    for decision in ("probable", "balanced", "mild"):
        labels = model.predict(case.rows, decision=decision)
        row = case.rows.iloc[3].to_dict()
        assert asked.predict(row, decision=decision) == labels[3]


@law()
def columns_that_no_rule_reads_change_no_probability(case: Case) -> None:
    model, frame = case.model, case.rows
    probability = model.predict_proba(frame)
    unread = [name for j, name in enumerate(frame.columns) if j not in model.model_.read_features]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OtherColumnsWarning)
        np.testing.assert_array_equal(model.predict_proba(frame.assign(more="text")), probability)
        if len(unread) < len(frame.columns):
            np.testing.assert_array_equal(model.predict_proba(frame.drop(columns=unread)), probability)


@law()
def monotone_features_move_the_odds_one_way(case: Case) -> Any:
    sign = (case.options.get("monotonic_cst") or {}).get("x0")
    if sign is None or not case.is_rules or edits(case, "set_weight", "drop", "smooth", "monotone", "flatten"):
        return NONE
    rows = case.rows.iloc[np.repeat(np.arange(1, 6), 40)].reset_index(drop=True)
    values = case.table.frame["x0"]
    middle, width = values.mean(), 6 * values.std()
    rows["x0"] = np.tile(np.linspace(middle - width, middle + width, 40), 5)
    rise = sign * np.diff(case.model.decision_function(rows).reshape(5, 40), axis=1)
    assert (rise >= -ROUNDING).all()
    return None


def edits(case: Case, *names: str) -> list[dict[str, Any]]:
    """The edits of some names in the history of the model."""
    return [own for own in getattr(case.model.model_, "history", ()) if own["edit"] in names]


@law()
def edited_away_is_away(case: Case) -> Any:
    model = case.model
    forbidden = [own["feature"] for own in edits(case, "forbid")]
    gone = {case_number for own in edits(case, "strike") if own["cases"] != "all" for case_number in own["cases"]}
    if not forbidden and not gone:
        return NONE
    frame, rng = case.rows, case.rng
    assert not {list(case.table.frame.columns).index(name) for name in forbidden} & set(model.model_.read_features)
    other = frame.copy()
    for name in forbidden:
        other[name] = case.table.frame[name].to_numpy()[rng.integers(len(case.table.y), size=len(frame))]
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    if case.has_cases and gone and "updated" not in case.steps:
        assert not gone & set(model.model_.cases.place.tolist())
    return None


@law()
def rules_keep_their_numbers_through_edits(case: Case) -> Any:
    numbers = getattr(case.model.model_, "numbers", None)
    if numbers is None or "edited" not in case.steps:
        return NONE
    assert len(set(numbers)) == len(numbers) == case.model.n_rules_
    own, first = rules_frame(case.model).set_index("number"), rules_frame(case.first).set_index("number")
    assert own.index.tolist() == list(numbers)
    assert (own["conditions"] == first.loc[own.index, "conditions"]).all()
    return None


@law()
def similar_cases_add_up_to_their_vote(case: Case) -> Any:
    if not case.has_cases:
        return NONE
    model, cases = case.model, case.model.model_.cases
    rows = case.rows[:6]
    try:
        found = model.similar(rows, n=cases.n_cases)
    except ValueError:
        if cases.read_columns:
            raise
        return None
    assert (np.diff(found.distance, axis=1) >= -ROUNDING).all()
    assert (np.sort(found.case, axis=1) == np.sort(cases.place)).all()
    added, classes = cases.added(model._rows(rows)), model.classes_.tolist()
    for k in range(len(rows)):
        nearest = found.label[k, 0]
        total = found.adds[k][found.label[k] == nearest].sum()
        voted = (found.label[k] == nearest) & (found.adds[k] != 0)
        if voted.any():  # a class that no case votes for loses evidence to no case
            np.testing.assert_allclose(total, added[k, classes.index(nearest)], atol=1e-7)
    few = model.similar(rows, n=2)
    np.testing.assert_array_equal(few.case, found.case[:, : few.case.shape[1]])
    return None


@law()
def tables_of_other_libraries_are_the_same_rows(case: Case) -> None:
    import polars as pl
    import pyarrow as pa

    expected = case.model.predict_proba(case.rows)
    table = pa.Table.from_pandas(case.rows, preserve_index=False)
    np.testing.assert_array_equal(case.model.predict_proba(table), expected)
    np.testing.assert_array_equal(case.model.predict_proba(pl.from_arrow(table)), expected)
    asked = case.model.predictor()
    for k in range(4):
        np.testing.assert_array_equal(asked.predict_proba(case.rows.iloc[k].to_dict()), expected[k])
    batches = [case.rows[:7], case.rows[7:8], case.rows[8:]]
    parts = list(predict_batches(case.model, batches))
    belief = case.model.predict_evidence(case.rows).belief
    np.testing.assert_array_equal(np.concatenate([own.belief for own in parts]), belief)


@law(every=3)
def a_file_of_rows_is_the_table(case: Case) -> None:
    frame = case.table.frame.assign(target=case.table.y)
    more: dict[str, Any] = {}
    if case.weight is not None:
        frame["weight of the row"], more["weights"] = case.weight, "weight of the row"
    if case.groups is not None:
        frame["group of the row"], more["groups"] = case.groups, "group of the row"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame.to_parquet(path, index=False)
        other = fit_parquet(path, target="target", estimator=classifier(case.kind, **case.options), **more)
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "parquet")


@law(every=2)
def a_change_that_an_explanation_names_changes_the_label(case: Case) -> Any:
    model, row = case.model, case.rows.iloc[5]
    story = model.explain(row.to_dict())
    assert len(str(story)) > 0
    json.dumps(story.to_dict(), allow_nan=False)
    for change in (story.changes or ())[:2]:
        other = model.what_if(row.to_dict(), {change.feature: change.to})
        assert other.after.label is None or other.after.label != story.label, change
    return None


@law(every=3)
def an_update_after_a_file_is_the_update_before_it(case: Case) -> Any:
    frame, y = case.two_rows()
    if len(np.unique(y)) < len(case.model.classes_):
        return NONE
    found = []
    for model in (copy(case.model), through_a_file(case, case.model, case.rng)):
        try:
            found.append(answers(model.partial_fit(frame, y), case.rows))
        except ValueError as error:
            found.append({"error": str(error)})
    assert_same(found[0], found[1], "update after a file")
    return None


@law()
def one_row_has_one_story(case: Case) -> None:
    row = case.rows.iloc[2]
    story = case.model.explain(row.to_dict(), counterfactual=False)
    marker = "?" if case.model.classes_.dtype.kind in "OUT" else -1
    label = case.model.predict(case.rows, no_answer=marker)[2]
    assert (story.label is None and label == marker) or story.label == label
    assert len(story.summary) > 0
