"""Groups of rows: their rates are those of their own rows, whatever groups are made of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, recall_score

from ferl.metrics import metrics_by_group
from ferl.metrics.comparison import wilson_interval

CLASSES = ["no", "yes"]


def answers(seed=0, n=400, classes=CLASSES):
    rng = np.random.default_rng(seed)
    truth = rng.choice(classes, n)
    return truth, np.where(rng.random(n) < 0.7, truth, rng.choice(classes, n)), rng


def test_rates_are_those_of_the_rows_of_the_group():
    truth, answer, rng = answers()
    groups, abstained = rng.choice(["f", "m", "x"], 400, p=[0.5, 0.45, 0.05]), rng.random(400) < 0.2
    found = metrics_by_group(truth, answer, groups, CLASSES, abstained=abstained)
    assert [own.group for own in found] == ["f", "m", "x"]
    for own in found:
        rows = groups == own.group
        (tn, fp), (fn, tp) = confusion_matrix(truth[rows], answer[rows], labels=CLASSES)
        assert own.n_rows == own.n_labelled == rows.sum()
        assert own.accuracy == accuracy_score(truth[rows], answer[rows])
        assert own.accuracy_range[0] < own.accuracy < own.accuracy_range[1]
        assert own.abstention == abstained[rows].mean()
        assert own.recall == pytest.approx(recall_score(truth[rows], answer[rows], labels=CLASSES, average=None))
        assert own.n_by_class == (tn + fp, fn + tp)
        assert own.predicted == pytest.approx([(answer[rows] == label).mean() for label in CLASSES])
        assert own.false_positive_rate == pytest.approx(fp / (fp + tn))
        assert own.false_negative_rate == pytest.approx(fn / (fn + tp))
        assert own.is_small == (rows.sum() < 30)
    turned = metrics_by_group(truth, answer, groups, CLASSES, positive="no")
    assert [own.false_positive_rate for own in turned] == [own.false_negative_rate for own in found]


def test_numbers_are_cut_at_their_quantiles_and_missing_ones_are_a_group():
    truth, answer, rng = answers()
    age = np.where(rng.random(400) < 0.1, np.nan, rng.integers(18, 80, 400))
    found = metrics_by_group(truth, answer, age, CLASSES)
    assert len(found) == 5
    assert found[-1].group == "missing"
    assert found[-1].n_rows == np.isnan(age).sum()
    cuts = [float(own.group.split()[-1]) for own in found[:3]]
    counts, _ = np.histogram(age[~np.isnan(age)], bins=[-np.inf, *(np.nextafter(cut, np.inf) for cut in cuts), np.inf])
    assert [own.n_rows for own in found[:4]] == counts.tolist()
    assert min(counts) > 0.2 * counts.sum()
    assert found[1].group == f"above {cuts[0]:.0f} to {cuts[1]:.0f}"
    assert len(metrics_by_group(truth, answer, age, CLASSES, n_intervals=10)) == 11


def test_numbers_that_are_mostly_equal_have_fewer_intervals():
    truth, answer, _ = answers()
    hours = np.where(np.arange(400) < 380, 0.0, np.arange(400))
    found = metrics_by_group(truth, answer, hours, CLASSES)
    assert [(own.group, own.n_rows) for own in found] == [("up to 0", 380), ("above 0", 20)]


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, lambda held: pd.Series(held, dtype="category")])
def test_groups_come_in_any_type(kind):
    truth, answer, _ = answers()
    held = ["b", "a", None, "c"] * 100
    if kind is np.array:
        held = [str(value) for value in held]
    found = metrics_by_group(truth, answer, kind(held), CLASSES)
    assert sorted(own.group.lower() for own in found)[:3] == ["a", "b", "c"]
    assert [own.n_rows for own in found] == [100] * 4


def test_few_distinct_numbers_are_a_group_each():
    truth, answer, _ = answers()
    assert [own.group for own in metrics_by_group(truth, answer, [2, 10] * 200, CLASSES)] == ["2", "10"]
    assert [own.group for own in metrics_by_group(truth, answer, [True, False] * 200, CLASSES)] == ["False", "True"]


def test_of_many_categories_the_rarest_are_one_group():
    truth, answer, rng = answers()
    town = np.array([f"town {k:02d}" for k in range(60)])[np.minimum(rng.geometric(0.1, 400), 59)]
    found = metrics_by_group(truth, answer, town, CLASSES)
    assert len(found) == 20
    assert found[-1].group == f"{len(np.unique(town)) - 19} rarer values"
    assert sum(own.n_rows for own in found) == 400
    assert min(own.n_rows for own in found[:-1]) >= pd.Series(town).value_counts().iloc[19]


def test_rows_without_a_label_do_not_count_and_other_labels_are_errors():
    truth = ["a", None, float("nan"), "elsewhere", "b", "b"]
    answer = ["a", "b", "b", "b", "b", "a"]
    (own,) = metrics_by_group(truth, answer, ["all"] * 6, ["a", "b", "c"])
    assert (own.n_rows, own.n_labelled, own.accuracy) == (6, 4, 0.5)
    assert own.recall == (1.0, 0.5, None)
    assert own.false_positive_rate is own.false_negative_rate is None
    (own,) = metrics_by_group(None, answer, ["all"] * 6, ["a", "b", "c"])
    assert (own.accuracy, own.n_labelled, own.recall) == (None, 0, (None, None, None))
    assert own.predicted == (1 / 3, 2 / 3, 0.0)


def test_wilson_intervals_hold_the_share_and_stay_inside():
    for n_hits, n_rows in [(0, 5), (5, 5), (1, 1000), (30, 60)]:
        low, high = wilson_interval(n_hits, n_rows)
        assert 0 <= low <= n_hits / n_rows <= high <= 1
        assert high - low > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"groups": ["a"]}, "y_pred has 4 rows but groups has 1"),
        ({"y_true": ["no"]}, "y_pred has 4 rows but y_true has 1"),
        ({"y_pred": ["maybe"] * 4}, "y_pred holds labels that are not in classes: 'maybe'"),
        ({"abstained": [0, 1, 0, 1]}, "abstained holds int64; pass a boolean"),
        ({"positive": "maybe"}, "positive is 'maybe'; the classes are"),
        ({"n_intervals": 1}, "n_intervals is 1; it must be at least 2"),
        ({"groups": [1.0, float("inf"), 2.0, 3.0]}, "groups holds infinity"),
    ],
)
def test_wrong_arguments_are_named_with_the_remedy(options, words):
    given = {"y_true": ["no"] * 4, "y_pred": ["no"] * 4, "groups": ["a"] * 4, "classes": CLASSES} | options
    with pytest.raises(ValueError, match=words):
        metrics_by_group(**given)
