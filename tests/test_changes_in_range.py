"""Nearest changes are advice: values that training saw, whole where the column is, to where rules speak."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._models.nearest import nearest_changes
from real_tables import real_table, rows_to_judge

TABLES = ("hdma", "pima", "pbc", "titanic", "bank")


@lru_cache
def fitted(name: str, variant: str) -> FERLClassifier:
    table = real_table(name)
    return classifier(variant, random_state=0).fit(table.frame, table.y, describe=table.describe)


def label_of(clf: FERLClassifier, rows: NDArray[np.float64]) -> NDArray[np.intp]:
    """Indices of the labels of rows as the model reads them."""
    return np.asarray(clf.model_.evidence(rows).probability.argmax(axis=1))


@pytest.mark.filterwarnings("ignore::ferl.TableWarning")
@pytest.mark.parametrize("variant", ["rules", "medium"])
@pytest.mark.parametrize("name", TABLES)
def test_changes_are_values_that_the_columns_can_have(name: str, variant: str) -> None:
    clf, frame, n_numbers = fitted(name, variant), real_table(name).frame, 0
    names = clf.model_.feature_names()
    rows = pd.concat([frame.iloc[::40], rows_to_judge(real_table(name), 0, 10)])
    for index in range(len(rows)):
        story = clf.explain(rows.iloc[[index]])
        for change in story.changes or ():
            column = names.index(change.feature)
            if not isinstance(change.to, float):
                continue
            low, high = clf.model_.training_range(column)
            assert low <= change.to <= high
            assert change.to.is_integer() or not clf.model_.is_whole(column)
            assert not (change.is_silent and variant == "rules")
            if pd.api.types.is_numeric_dtype(frame[str(change.feature)]):
                assert frame[str(change.feature)].min() <= change.to <= frame[str(change.feature)].max()
            n_numbers += 1
        told = replace(story, details=True).to_text()
        assert "first of equals" not in told
        assert re.search(r"If [^:]* were -\d", told) is None  # none of the columns has numbers below zero
    assert n_numbers > 0


def three_equal_features() -> tuple[pd.DataFrame, FERLClassifier]:
    """Two of three features settle the label: no single change alters that of a row where all agree."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(0, 1, (600, 3)).round(3), columns=["a", "b", "c"])
    return frame, FERLClassifier(random_state=0).fit(frame, np.where(frame.sum(axis=1) > 1.5, "high", "low"))


def test_where_no_value_that_training_saw_changes_the_label_one_sentence_says_so() -> None:
    _, clf = three_equal_features()
    story = clf.explain(pd.Series({"a": 0.95, "b": 0.95, "c": 0.95}), details=True)
    assert story.changes == ()
    assert "What would change it: no single value within the training range.\n" in story.to_text(200)
    line = "Proven: no change of a single value within the training range makes the label other than high."
    assert line in story.to_text(200)
    other = clf.explain(pd.Series({"a": 0.9, "b": 0.9, "c": 0.4}), details=True)
    assert {change.feature for change in other.changes} == {"a", "b"}
    assert "Each number is the nearest within the training range, rounded to few digits." in str(other)


def test_a_row_from_outside_is_led_back_into_the_range() -> None:
    frame, clf = three_equal_features()
    row = clf.model_.schema.encode(pd.DataFrame({"a": [frame["a"].max() + 0.2], "b": [0.6], "c": [0.5]}))
    (label,) = label_of(clf, row)
    (change,) = [own for own in nearest_changes(clf.model_, row, int(label), {}).found if own.feature == "a"]
    assert frame["a"].min() <= change.to < frame["a"].max()
    assert clf.predict(pd.DataFrame({"a": [change.to], "b": [0.6], "c": [0.5]}))[0] == change.label == "low"
    # A label that differs at the end of the range already: the nearest value is that end.
    (other,) = [own for own in nearest_changes(clf.model_, row, 1 - int(label), {}).found if own.feature == "a"]
    assert other.exact == frame["a"].max()
    assert other.proven == pytest.approx(0.2 / np.sqrt(clf.tree_.profile.total_variance[0]))


def test_whole_numbers_are_tried_where_the_label_comes_back_between_two_of_them() -> None:
    """Of the label in between no whole number is left: the next one further away is told, or none."""
    n = np.arange(400)
    frame = pd.DataFrame({"n": n % 40, "x": (n * 7 % 13) / 13})
    y = np.where((frame["n"] % 8 == 3) | (frame["n"] > 33), "odd", "even")
    clf = FERLTreeClassifier("deep", random_state=0).fit(frame, y)
    n_changes = 0
    for index in range(40):
        row = clf.model_.schema.encode(frame.iloc[[index]])
        (label,) = label_of(clf, row)
        along = np.repeat(row, 40, axis=0)
        along[:, 0] = np.arange(40)
        others = np.flatnonzero(label_of(clf, along) != label)
        changes = [own for own in nearest_changes(clf.model_, row, int(label), {}).found if own.feature == "n"]
        assert len(changes) == bool(len(others))
        for change in changes:
            assert change.to in others
            if not change.is_silent:
                assert abs(change.to - row[0, 0]) == np.abs(others - row[0, 0]).min()
            n_changes += 1
    assert n_changes > 20


def test_what_if_says_that_a_value_lies_outside_the_range() -> None:
    frame, clf = three_equal_features()
    found = clf.what_if(frame.iloc[0], {"a": -0.86, "b": 0.5})
    low, high = frame["a"].min(), frame["a"].max()
    assert f"a -0.86 lies outside the training range, {low:g} to {high:g}." in found.to_text(200)
    assert found.to_dict()["outside"] == [{"feature": "a", "to": -0.86, "low": low, "high": high}]
    assert clf.what_if(frame.iloc[0], {"a": 0.5, "b": None}).outside == ()


@pytest.mark.parametrize("tree", [{"kind": "deep"}, {"kind": "compact"}])
def test_trees_do_not_say_of_training_values_that_training_never_saw_them(tree: dict[str, Any]) -> None:
    """They know the range at their splits and of the rows they keep, which may be smaller."""
    frame, _ = three_equal_features()
    clf = classifier(n_exemplars=2, max_rules=2, random_state=0, **tree).fit(frame, frame["a"] > 0.5)
    column = next(own for f, own in enumerate(frame) if clf.model_.training_range(f)[1] < frame[own].max())
    found = clf.what_if(frame.iloc[0], {column: frame[column].max()})
    (outside,) = found.outside
    assert outside[:2] == (column, frame[column].max())
    said = found.to_text(200)
    assert f"{column} {frame[column].max():g} lies outside the range that the model keeps.\n" in said
    stories = "".join(clf.explain(frame.iloc[index], details=True).to_text(200) for index in range(20))
    assert "within the range that the model keeps" in stories
    assert re.search("training range|seen in training", said + stories) is None
