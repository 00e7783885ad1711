"""A model at a glance: importances, rules by support, class profiles."""

from __future__ import annotations

import json
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from ferl import FERLTreeClassifier, overview, rules_frame
from ferl._models.shapes import condition_decrease
from law_examples import LAW, Table, fit, impurity, tables
from model_examples import mixed_table as awkward_table
from tree_examples import tree_classifier


@LAW
@given(table=tables(), variant=st.sampled_from(["deep", "compact"]))
def test_importances_are_shares_of_one(table: Table, variant):
    model = fit(table, kind=variant)
    importance = model.feature_importances_
    assert importance.shape == (table[0].shape[1],)
    assert (importance >= 0).all()
    assert importance.sum() == pytest.approx(1 if importance.any() else 0)
    used = np.isin(np.arange(len(importance)), model.tree_.feature[1:])
    assert not importance[~used].any()


@LAW
@given(table=tables())
def test_both_sides_of_a_split_say_the_same_and_sum_to_what_the_tree_explains(table: Table):
    tree = fit(table).tree_
    decrease = condition_decrease(tree)
    inner = np.flatnonzero(~tree.is_leaf)
    sides = [np.flatnonzero(tree.parent == node) for node in inner]
    for one, other in sides:
        assert decrease[one] == pytest.approx(decrease[other], abs=1e-9)
    explained = impurity(tree.class_weight[0]) - impurity(tree.class_weight[tree.leaves]).sum()
    assert decrease.sum() / 2 == pytest.approx(explained, abs=1e-9 * tree.weight[0])


def test_a_question_whether_a_value_is_missing_counts_for_its_feature():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    X = rng.normal(size=(200, 2))
    X[y == 1, 0] = np.nan
    model = FERLTreeClassifier("deep", random_state=0, missing_conditions=True).fit(X, y)
    assert model.feature_importances_[0] > 0.9


def test_a_model_that_is_not_fitted_has_no_importances():
    assert not hasattr(FERLTreeClassifier("deep"), "feature_importances_")
    with pytest.raises(NotFittedError):
        overview(FERLTreeClassifier("deep"))


def test_the_overview_lists_rules_as_rules_frame_does():
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    page, frame = overview(model), rules_frame(model)
    assert [rule.support for rule in page.rules] == frame["support"].tolist()
    assert [rule.label for rule in page.rules] == frame["label"].tolist()
    assert sum(rule.share for rule in page.rules) == pytest.approx(1)
    assert sorted(number for profile in page.classes for number in profile.rules) == list(range(1, len(frame) + 1))
    setosa = page.classes[0]
    assert dict(setosa.typical)["x2"].high < 2.5
    assert [share for _, share in page.importances] == sorted(model.feature_importances_, reverse=True)[
        : len(page.importances)
    ]


@pytest.mark.parametrize("variant", ["deep", "compact"])
@pytest.mark.parametrize("n_exemplars", [0, None])
def test_every_overview_is_text_html_and_json(variant, n_exemplars):
    rows, labels = awkward_table()
    model = tree_classifier(variant, random_state=0, missing_conditions=True, n_exemplars=n_exemplars).fit(rows, labels)
    page = overview(model)
    assert json.loads(json.dumps(page.to_dict(), allow_nan=False))["summary"] == page.summary
    assert max(map(len, page.to_text(70).splitlines())) <= 70
    assert page.to_html().startswith('<div class="ferl-story">')
    console = Console(file=StringIO(), width=300)
    console.print(page)
    assert page.summary in console.file.getvalue()


def test_a_tree_without_conditions_has_an_overview():
    page = overview(FERLTreeClassifier("deep", random_state=0).fit(np.zeros((10, 2)), [0, 1] * 5))
    assert page.summary == "1 rule, and no feature matters: all rows get the same answer."
    assert "Always" in str(page)


def test_hostile_names_are_text_in_an_overview():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"</script>": rng.normal(size=80), "[red]x": rng.normal(size=80)})
    y = np.where(frame["</script>"] > 0, "<b>", "[/red]")
    page = overview(FERLTreeClassifier("deep", random_state=0).fit(frame, y))
    assert "</script>" not in page.to_html()
    assert "<b>" not in page.to_html()
    console = Console(file=StringIO(), width=300)
    console.print(page)
    assert "[/red]" in console.file.getvalue()
