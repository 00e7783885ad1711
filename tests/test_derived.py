"""Derived columns: evidence of categories of many values, parts of dates, and evidence of days."""

from __future__ import annotations

import json
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_random_state

import ferl
import javascript
from ferl import FERLClassifier, _core, load_model, save_model
from ferl._learn import grow_rules
from ferl._learn.derive import calendar_copies, day_columns, evidence_of, fold_of_rows
from ferl._models.model_file import ModelFileError
from ferl._sklearn import check_rows
from ferl._tables.derived import DATE_PARTS, CategoryEvidence, DateInRange, DatePart, DayEvidence, KnownDate
from ferl.export import Scorecard, reason_codes
from ferl.report import report_html
from ferl.streaming import fit_batches
from oracle.evidence_columns import (
    DAY_RULES,
    category_evidence,
    date_columns,
    date_copies,
    date_in_range,
    date_part,
    day_evidence,
    evidence,
    known_date,
    rule_columns,
    sums,
    validation_groups,
)
from oracle.inference import fire
from oracle.weights import softmax
from printed_model import PrintedModel
from stream_examples import in_batches, same_model


def journeys(n_rows=1500, seed=0, n_classes=2, n_lines=60, holes=0.05):
    """Numbers, categories of many and of few values, times of a year and a half; values missing; equal rows."""
    rng = np.random.default_rng(seed)
    line, day = rng.integers(0, n_lines, n_rows), rng.integers(0, 540, n_rows)
    hour = rng.integers(0, 24, n_rows)
    x = rng.normal(size=n_rows).round(1)
    worse = rng.normal(size=n_lines)[line] + rng.normal(size=540)[day] + (day % 7 > 4) + (hour > 16) + x
    y = np.array(["in time", "late", "lost", "never"])[
        np.digitize(worse + rng.logistic(size=n_rows), np.quantile(worse, np.arange(1, n_classes) / n_classes))
    ]
    frame = pd.DataFrame(
        {
            "x": x,
            "line": np.where(rng.random(n_rows) < holes, None, np.char.add("L", line.astype(str))),
            "at": pd.Timestamp("2019-03-01") + pd.to_timedelta(24 * day + hour, unit="h"),
            "kind": rng.choice(["a", "b"], n_rows),
        }
    )
    frame.loc[rng.random(n_rows) < holes, "at"] = pd.NaT
    return frame, y, rng.choice([0.0, 0.5, 1.0, 2.0], n_rows)


def storms(n_rows=4000, seed=0):
    """Times of half a year whose days differ, with the calendar day of a time zone five hours behind; a number."""
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, 24 * 180, n_rows)
    at = pd.Timestamp("2021-01-10") + pd.to_timedelta(hours, unit="h")
    local = at - pd.Timedelta(hours=5)
    x = rng.normal(size=n_rows).round(2)
    # What the number stands for changes in spring.
    worse = 2 * rng.normal(size=181)[(hours - 5) // 24] + np.where(hours < 24 * 90, 2, -2) * x
    frame = pd.DataFrame({"at": at, "month": local.month, "day": local.day, "weekday": local.day_of_week, "x": x})
    return frame, worse + rng.logistic(size=n_rows) > 0


@pytest.fixture(scope="module", params=[2, 4])
def fitted(request):
    X, y, _ = journeys(n_classes=request.param)
    return FERLClassifier(random_state=0).fit(X, y), X, y


# ---------------------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_evidence_of_categories_is_the_oracles(n_classes, weighted):
    X, y, weight = journeys(n_classes=n_classes)
    weight = np.where(weight > 0, 2 * weight, 1.0) if weighted else np.ones(len(y))
    model = FERLClassifier(random_state=0).fit(X, y, weight).model_
    columns = [own for own in model.derived if isinstance(own, CategoryEvidence)]
    codes = [model.classes.tolist().index(label) for label in y]
    lines = X["line"].astype(object).where(X["line"].notna(), None).tolist()
    expected = category_evidence(lines, codes, weight.tolist(), [own.label for own in columns])
    assert [own.label for own in columns] == ([1] if n_classes == 2 else list(range(n_classes)))
    names = [*model.category_names[1], None]
    for own, of_values in zip(columns, expected, strict=True):
        np.testing.assert_allclose(own.evidence, [of_values[name] for name in names], rtol=1e-9, atol=1e-12)


@given(st.floats(-1e5, 1e5), st.sampled_from(DATE_PARTS))
def test_parts_of_dates_are_those_of_the_calendar(days, part):
    whole_seconds = round(days * 86_400) / 86_400
    found = DatePart(0, part).of(np.array([whole_seconds]))[0]
    expected = date_part(whole_seconds, part)
    assert found == pytest.approx(expected, abs=1e-6) or (part == "hour" and found - expected == pytest.approx(24))


def test_evidence_of_days_is_the_oracles():
    rng = np.random.default_rng(0)
    days, y = rng.integers(0, 40, 600), rng.integers(0, 2, 600).astype(np.int32)
    p = np.clip(rng.random(600), 0.1, 0.9)
    y[days < 8] = 1
    x, fold = np.column_stack([days + rng.random(600)]), fold_of_rows(y)
    (column,) = day_columns([0], x, y, np.ones(600), fold, np.column_stack([1 - p, p]))
    (expected,) = evidence([sums(days.tolist(), (y == 1).tolist(), p.tolist(), [1.0] * 600)])
    assert column.derived.days.tolist() == sorted(expected)
    np.testing.assert_allclose(column.derived.evidence, [expected[day] for day in sorted(expected)], rtol=1e-9)
    # A row reads the sums of the other folds.
    t = 4.0**-6
    others = (days == days[0]) & (fold != fold[0])
    g, h = (y - p)[others].sum(), (p * (1 - p))[others].sum()
    assert any(column.numbers[0] == pytest.approx(evidence_of(g, h, t * 4.0**power)) for power in range(9))


@given(st.floats(-1e5, 1e5) | st.just(np.nan), st.integers(-1000, 1000), st.integers(0, 1000))
def test_dates_of_rules_and_of_curves_are_the_oracles(days, first, span):
    for kind, expected in ((KnownDate, known_date), (DateInRange, date_in_range)):
        found = kind(0, float(first), float(first + span)).of(np.array([days]))
        np.testing.assert_array_equal(found, [expected(days, first, first + span)])


PARTS = ("%Y", "%m", "%d", "%j", "%u", "%W", "%H")


@settings(max_examples=25)
@given(
    st.integers(0, 2**16),
    st.integers(90, 700),
    st.sampled_from([1, 20, 200, 900]),
    st.sampled_from([0.0, 0.2, 0.6]),
    st.lists(st.tuples(st.sampled_from(PARTS), st.integers(-20, 20), st.integers(0, 12)), min_size=1, max_size=6),
)
def test_copies_of_dates_are_the_oracles(seed, n, n_days, gaps, columns):
    rng = np.random.default_rng(seed)
    dates = rng.integers(0, 24 * n_days, n) / 24 + rng.integers(-9_000, 18_000)
    x = np.empty((n, 1 + len(columns)))
    for k, (part, hours, n_misses) in enumerate(columns):
        moments = pd.Timestamp(0) + pd.to_timedelta(np.rint(24 * dates) + hours, unit="h")
        x[:, 1 + k] = moments.strftime(part).astype(float)
        x[rng.choice(n, n_misses, replace=False), 1 + k] = -1
    x[:, 0] = np.where(rng.random(n) < gaps, np.nan, dates)
    expected = [1 + k for k in date_copies(x[:, 0].tolist(), x[:, 1:].T.tolist())]
    assert calendar_copies([0], x) == expected


@pytest.mark.parametrize("options", [{}, {"words": "quantile"}, {"max_maps": None}], ids=str)
def test_columns_of_dates_are_the_oracles(options):
    X, y = storms()
    dates = ((X["at"] - pd.Timestamp(0)) / pd.Timedelta(days=1)).tolist()
    for target, evident in ((y, [0]), ((X["x"] > 0) ^ (X["day"] > 20), [])):
        columns, left_out = date_columns(
            [0],
            lambda *_, evident=evident: evident,
            lambda _: [1 + k for k in date_copies(dates, X.iloc[:, 1:].T.to_numpy(float).tolist())],
            not options,
        )
        model = FERLClassifier(random_state=0, **options).fit(X, target).model_
        assert [(own.kind, own.feature) for own in model.derived if not isinstance(own, DatePart)] == columns
        assert model.date_copies == tuple(left_out)


def seasons(n_rows):
    """Three classes and two dates with gaps: single days of the first date differ, and the second has a trend."""
    X, y = storms(n_rows)
    rng = np.random.default_rng(2)
    hours = rng.integers(0, 24 * 500, n_rows)
    is_late = hours / 2_000 - 3 + rng.logistic(size=n_rows) > 0
    X["booked"] = (pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, unit="h")).where(rng.random(n_rows) < 0.9)
    X["at"] = X["at"].where(rng.random(n_rows) < 0.95)
    return X, y.astype(int) + (y & is_late)


def wide_storms(n_rows):
    """More numbers that matter than there are rules that days are learned beyond."""
    X, _ = storms(n_rows)
    rng = np.random.default_rng(1)
    x = pd.DataFrame(rng.normal(size=(n_rows, 60))).add_prefix("x")
    day = 2 * rng.normal(size=180)[(X["at"] - X["at"].min()).dt.days]
    return pd.concat([X[["at"]], x], axis=1), day + 0.25 * x.sum(axis=1) + rng.logistic(size=n_rows) > 0


def no_storms(n_rows):
    X, _ = storms(n_rows)
    return X, X["x"] > 0


def drawn_rows(x, codes, seed):
    """The rows in the order in which the core draws them, which inner validation depends on."""
    columns = np.arange(x.shape[1], dtype=np.int32)
    sampler = _core.Sampler(np.zeros_like(columns), codes.max() + 1, seed, len(x), 0, columns)
    sampler.add(x, codes.astype(np.int32), np.ones(len(x)), 0, 1)
    return sampler.finish(1)


def rules_of_days(clf, sample, columns, seed):
    """The probabilities that the core's rules predict, at most ``DAY_RULES``; the oracle computes their firings."""
    tuning = _core.Tuning(_core.TUNING)
    tuning.grown_rules = DAY_RULES
    most = min(clf.max_rules or DAY_RULES, DAY_RULES)
    options = {"max_conditions": clf.max_conditions, "prune": clf.prune, "seed": seed, "tuning": tuning}
    sample = sample.with_columns(columns, np.zeros(columns.shape[1], np.int32))
    grown = _core.grow_rules(sample, _core.RuleOptions(max_rules=most, max_maps=-1, **options), None)
    firing = fire(SimpleNamespace(**grown, categories=None), columns, gated=False)[:, grown["rule_node"]]
    return softmax(grown["prior"] + firing @ grown["weight"])


def compare_dates_with_the_oracle(X, y, **options):
    """Compare the columns of dates and the evidence of days with the oracle's, and return what the columns are."""
    clf = FERLClassifier(random_state=0, **options).fit(X, y)
    derived = [item for item in clf.model_.derived if not isinstance(item, DatePart)]
    dates = [j for j, kind in enumerate(clf.model_.schema.kinds) if kind.is_date]
    classes = [1] if len(clf.classes_) == 2 else list(range(len(clf.classes_)))
    seed = int(check_random_state(0).randint(np.iinfo(np.int32).max))
    sample = drawn_rows(check_rows(clf, X)[:, : X.shape[1]], np.searchsorted(clf.classes_, y), seed)
    x, codes, weight = sample.x, sample.y.tolist(), sample.weight.tolist()
    of_days = {}

    def has_evidence(left_out, has_numbers):
        p = rules_of_days(clf, sample, rule_columns(x, dates, left_out, has_numbers), seed)
        of_days.update(evident := day_evidence(x, codes, weight, dates, p, classes))
        return list(evident)

    def copies(evident):
        return sorted({k for j in evident for k in date_copies(x[:, j].tolist(), x.T.tolist())} - {*dates})

    columns, left_out = date_columns(dates, has_evidence, copies, True)
    labels = {"day": classes}
    assert [(item.kind, item.feature, getattr(item, "label", None)) for item in derived] == [
        (kind, j, label) for kind, j in columns for label in labels.get(kind, [None])
    ]
    assert clf.model_.date_copies == tuple(left_out)
    for item in derived:
        if isinstance(item, DayEvidence):
            expected = of_days[item.feature][classes.index(item.label)]
            days, evidence_of_days = zip(*sorted(expected.items()), strict=True)
            assert item.days.tolist() == list(days)
            np.testing.assert_allclose(item.evidence, evidence_of_days, rtol=1e-9, atol=1e-12)
    return [item.kind for item in derived]


@pytest.mark.parametrize(
    ("table", "options", "kinds"),
    [
        (storms, {}, ["day", "date in range"]),
        (storms, {"max_rules": 5, "effort": 2}, ["day", "date in range"]),
        (seasons, {"max_conditions": 2}, ["day", "day", "day", "date", "date in range"]),
        (wide_storms, {"max_conditions": 1}, ["day", "date in range"]),
        (no_storms, {}, ["date"]),
    ],
    ids=["storms", "few rules", "two dates", "many columns", "no days"],
)
def test_evidence_of_days_beyond_rules_is_the_oracles(table, options, kinds):
    assert compare_dates_with_the_oracle(*table(1500), **options) == kinds


@pytest.mark.parametrize("most", [39, 41])
def test_another_number_of_rules_gives_other_evidence_of_days(most, monkeypatch):
    monkeypatch.setattr(grow_rules, "DAY_RULES", most)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        compare_dates_with_the_oracle(*wide_storms(1500), max_conditions=1)


@pytest.fixture
def grown_on(monkeypatch):
    """The samples that rules were grown on, and whether the last stage ignored groups; at the end, the model's own."""
    recorded, grow = [], _core.grow_rules

    def recording(sample, options, *arguments):
        recorded.append((sample, options.last_stage_ignores_groups))
        return grow(sample, options, *arguments)

    monkeypatch.setattr(_core, "grow_rules", recording)
    return recorded


def is_whole(sample, groups):
    """Whether each group is in one part of inner validation."""
    parts = pd.Series(_core.stratified_parts(sample, 4))
    return (parts.groupby(pd.Series(groups)).nunique() == 1).to_numpy()


def test_inner_validation_holds_out_the_days_of_the_oracle(grown_on):
    X, y = storms()
    rng = np.random.default_rng(2)
    X["at"] = X["at"].where(rng.random(len(X)) < 0.9)
    unknown = rng.random(len(X)) < 0.3
    X.loc[unknown, "at"] = pd.Timestamp("2021-01-01 12:00")
    model = FERLClassifier(random_state=0).fit(X, y).model_
    assert "day" in [item.kind for item in model.derived]
    sample, ignores = grown_on[-1]
    assert ignores
    dates = sample.x[:, -1]  # the date in its range
    groups = validation_groups(dates.tolist(), sample.weight.tolist())
    assert is_whole(sample, groups).all()
    parts = _core.stratified_parts(sample, 4)
    first_day = np.nanmin(dates)
    for alone in (np.isnan(dates), dates == first_day):
        assert np.bincount(parts[alone]).min() > 0.2 * alone.sum()
    assert len({kind for kind, _ in groups}) == 2
    before, ignored = grown_on[0]  # days were not yet known to differ
    assert not ignored
    assert not is_whole(before, groups).all()


@pytest.mark.parametrize("swapped", [False, True])
def test_with_two_dates_the_days_that_differ_more_are_held_out(grown_on, swapped):
    X, _ = storms()
    rng = np.random.default_rng(3)
    booked = rng.integers(0, 24 * 180, len(X))
    X["booked"] = pd.Timestamp("2020-01-10") + pd.to_timedelta(booked, unit="h")
    of_day = [size * rng.normal(size=181) for size in (1.0, 3.0)]
    worse = of_day[0][(X["at"] - pd.Timestamp("2021-01-10")).dt.days] + of_day[1][booked // 24] + X["x"]
    X = X[["booked", "at", "x"] if swapped else ["at", "booked", "x"]]
    model = FERLClassifier(random_state=0).fit(X, worse + rng.logistic(size=len(X)) > 0).model_
    assert [item.kind for item in model.derived].count("day") == 2
    sample, _ = grown_on[-1]
    first, second = (np.floor(column) for column in sample.x[:, -2:].T)  # the dates in their ranges
    assert is_whole(sample, first if swapped else second).all()
    assert not is_whole(sample, second if swapped else first).all()


def test_groups_of_the_user_count_instead_of_days(grown_on):
    X, y = storms()
    town = np.random.default_rng(2).integers(0, 40, len(X))
    X["town"] = town.astype(float)
    model = FERLClassifier(random_state=0).fit(X, y, groups=town).model_
    assert "day" in [item.kind for item in model.derived]
    sample, ignores = grown_on[-1]
    assert not ignores
    assert is_whole(sample, sample.x[:, 5]).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_what_rows_of_a_day_share_is_not_learned_by_heart(seed):
    """The weather is the same for all rows of a day and means nothing, but days differ."""
    rng = np.random.default_rng(seed)
    n_days, n_rows = 150, 6000
    day = rng.integers(0, n_days, n_rows)
    weather = rng.normal(size=(n_days, 3))[day]
    at = pd.Timestamp("2021-01-01") + pd.to_timedelta(24 * day + rng.integers(0, 24, n_rows), unit="h")
    x = rng.normal(size=n_rows)
    y = x + rng.normal(size=n_days)[day] + rng.logistic(size=n_rows) > 0
    frame = pd.DataFrame({"at": at, "x": x, "wind": weather[:, 0], "rain": weather[:, 1], "sun": weather[:, 2]})
    clf = FERLClassifier(random_state=0).fit(frame, y)
    later = frame.assign(at=at + pd.Timedelta(days=n_days))
    _, x_moves, *weather_moves, _ = clf.feature_contributions(later)[:, :, 1].std(axis=0)
    assert x_moves > 0.3
    assert sum(weather_moves) < 0.1  # where single rows are held out: more than 0.2


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------


@settings(max_examples=6)
@given(st.integers(0, 2**16), st.sampled_from([2, 4]), st.sampled_from([None, 400]), st.booleans())
def test_order_batches_and_threads_change_no_bit(seed, n_classes, growth_rows, weighted):
    X, y, weight = journeys(800, seed, n_classes)
    own = weight if weighted else None
    model = FERLClassifier(random_state=0, growth_rows=growth_rows, max_rules=20)
    whole = model.fit(X, y, own).model_
    assert any(isinstance(one, CategoryEvidence) for one in whole.derived) or whole.derived
    streamed = fit_batches(in_batches(177, X, y, own), estimator=model).model_
    same_model(whole, streamed)
    order = np.random.default_rng(seed).permutation(len(y))
    again = model.set_params(n_jobs=2).fit(X.iloc[order], y[order], None if own is None else own[order]).model_
    assert again.derived == whole.derived
    np.testing.assert_array_equal(again.rules.weight, whole.rules.weight)
    np.testing.assert_array_equal(again.tree.trapezoid, whole.tree.trapezoid)


def test_weight_2_is_the_row_twice():
    X, y, _ = journeys(700)
    twice = np.random.default_rng(1).random(len(y)) < 0.3
    one = FERLClassifier(random_state=0).fit(X, y, 1.0 + twice).model_
    other = FERLClassifier(random_state=0).fit(pd.concat([X, X[twice]]), np.concatenate([y, y[twice]])).model_
    assert one.derived == other.derived
    np.testing.assert_array_equal(one.rules.weight, other.rules.weight)


def test_contributions_add_up(fitted):
    clf, X, _ = fitted
    scores = clf.model_.decision_scores(check_rows(clf, X))
    for parts in (clf.contributions(X), clf.feature_contributions(X)):
        np.testing.assert_allclose(parts.sum(axis=1), scores, atol=1e-9)
    assert clf.feature_contributions(X).shape[1] == X.shape[1] + 1
    assert clf.novelty_attribution(X).shape == X.shape


@pytest.mark.parametrize("n_values", [30, 100, 1000, 4000])
def test_a_column_of_noise_is_dropped(n_values):
    rng = np.random.default_rng(n_values)
    X = pd.DataFrame({"x": rng.normal(size=4000), "noise": rng.integers(0, n_values, 4000).astype(str)})
    y = rng.random(4000) < 1 / (1 + np.exp(-X["x"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ferl.IdColumnWarning)
        # Without curves: whether inner validation takes one differs by chance, here and without the noise.
        rules = FERLClassifier(random_state=0, n_exemplars=0, max_maps=None)
        clf, alone = (clone(rules).fit(X[own], y) for own in (["x", "noise"], ["x"]))
        assert clone(rules).set_params(max_maps=25).fit(X, y).model_.read_columns.tolist() == [0]
    assert clf.model_.derived == ()
    assert clf.model_.replaced == (1,)
    assert abs(clf.predict_proba(X) - alone.predict_proba(X[["x"]])).max() < 0.02


def test_ten_categories_are_sets_and_eleven_are_evidence():
    rng = np.random.default_rng(0)
    for n_values, replaced in ((10, ()), (11, (0,))):
        code = rng.integers(0, n_values, 2000)
        X = pd.DataFrame({"c": [f"v{own:02d}" for own in code], "x": rng.normal(size=2000)})
        clf = FERLClassifier(random_state=0).fit(X, rng.random(2000) < (code % 5) / 5)
        assert clf.model_.replaced == replaced
        assert len(clf.model_.derived) == len(replaced)


# ---------------------------------------------------------------------------------------------------------------------
# New values do not silence the model
# ---------------------------------------------------------------------------------------------------------------------


def test_a_category_that_training_did_not_have_has_no_evidence(fitted):
    clf, X, _ = fitted
    new = X[:50].assign(line="a new line")
    columns = [k for k, own in enumerate(clf.model_.derived) if isinstance(own, CategoryEvidence)]
    assert (check_rows(clf, new)[:, [X.shape[1] + k for k in columns]] == 0).all()
    assert (clf.model_.lost_support(check_rows(clf, new)) == clf.model_.lost_support(check_rows(clf, X[:50]))).all()


def test_later_years_are_judged_by_their_calendar(fitted):
    clf, X, _ = fitted
    later = X[:300].assign(at=X["at"][:300] + pd.Timedelta(days=7 * 52 * 10))
    assert (clf.support_deficit(later) == clf.support_deficit(X[:300])).all()
    probability = clf.predict_proba(later)
    assert (probability.max(axis=0) - probability.min(axis=0)).min() > 0.2  # neither level nor even odds
    days = [own for own in clf.model_.derived if isinstance(own, DayEvidence)]
    for own in days:
        dates = check_rows(clf, later)[:, 2]
        assert (own.of(dates[~np.isnan(dates)]) == 0).all()
        assert np.isnan(own.of(dates[np.isnan(dates)])).all()


def test_days_are_learned_beyond_the_rules():
    X, y, _ = journeys(6000)
    kinds = [own.kind for own in FERLClassifier(random_state=0).fit(X, y).model_.derived]
    assert kinds == ["category", "part", "part", "day", "date in range"]
    clf = FERLClassifier(random_state=0).fit(X[:4000], y[:4000])
    assert roc_auc_score(y[4000:] == "late", clf.predict_proba(X[4000:])[:, 1]) > 0.8


def test_rules_read_no_calendar_day_where_days_have_evidence():
    X, y = storms()
    model = FERLClassifier(random_state=0).fit(X, y).model_
    assert [item.kind for item in model.derived] == ["part", "part", "day", "date in range"]
    assert model.replaced == (0, 1, 2)  # the weekday comes again
    date = X.shape[1] + 3
    assert date not in model.tree.feature.tolist()
    assert [4, date] in model.curves.column.tolist()  # a map of x and the date


def test_the_overview_and_the_report_name_columns_that_repeat_a_date(capsys):
    X, y = storms()
    clf = FERLClassifier(random_state=0, verbose=1).fit(X, y)
    note = "The model does not read month and day, which repeat parts of a date: new rows will leave the training days."
    assert note in capsys.readouterr().out
    told = ferl.overview(clf)
    assert note in told.to_text(width=1000)
    assert told.to_dict()["date_copies"] == note
    assert note in report_html(clf, X[:50])
    alone = FERLClassifier(random_state=0).fit(X.drop(columns=["month", "day"]), y)
    assert ferl.overview(alone).to_dict()["date_copies"] == ""
    assert "repeat parts of a date" not in report_html(alone, X[:50].drop(columns=["month", "day"]))


def test_calendar_columns_stay_where_days_have_no_evidence():
    X, _ = storms()
    model = FERLClassifier(random_state=0).fit(X, (X["x"] > 0) ^ (X["day"] > 20)).model_
    assert model.replaced == (0,)
    assert "date" in [item.kind for item in model.derived]
    assert 2 in model.read_columns


def test_a_constraint_on_a_calendar_column_is_kept():
    X, y = storms()
    clf = FERLClassifier(random_state=0, monotonic_cst={"month": 1}).fit(X, y)
    assert clf.model_.replaced == (0, 2)
    scores = [clf.decision_function(X[:200].assign(month=month)) for month in (1, 3, 6, 9)]
    assert (np.diff(scores, axis=0) >= -1e-12).all()


def test_days_before_and_after_the_training_range_have_the_same_answers():
    X, y = storms()
    clf = FERLClassifier(random_state=0).fit(X, y)
    rows = X[:200].assign(at=X["at"][:200] + pd.Timedelta(days=7 * 52), month=12, day=31)
    before = rows.assign(at=X["at"][:200] - pd.Timedelta(days=7 * 52), month=2, day=3)
    np.testing.assert_array_equal(clf.predict_proba(rows), clf.predict_proba(before))


@pytest.mark.parametrize(
    "options",
    [
        {"words": "quantile"},
        {"missing_conditions": True},
        {"max_maps": None},
        {"monotonic_cst": {"x": 1}},
        {"cases": True},
    ],
    ids=str,
)
def test_no_condition_reads_a_date_where_days_have_evidence(options):
    X, y = storms()
    X.loc[::50, "x"] = np.nan
    clf = FERLClassifier(random_state=0, **options).fit(X, y)
    derived = clf.model_.derived
    assert "day" in [item.kind for item in derived]
    dates = [X.shape[1] + k for k, item in enumerate(derived) if item.kind in ("date", "date in range")]
    assert not set(dates) & set(clf.model_.tree.feature.tolist())
    assert clf.n_maps_ <= 25
    assert ("date in range" in [item.kind for item in derived]) == (options.keys() & {"words", "max_maps"} == set())


def test_a_missing_date_is_no_unknown_day():
    X, _ = storms()
    rng = np.random.default_rng(1)
    day = 2 * rng.normal(size=200)[(X["at"] - X["at"].min()).dt.days]
    y = day + rng.logistic(size=len(X)) > 0
    missing = rng.random(len(X)) < 0.1
    X["at"], y[missing] = X["at"].where(~missing), rng.random(missing.sum()) < 0.95
    clf = FERLClassifier(random_state=0).fit(X[["at", "x"]], y)
    rows = X[["at", "x"]][~missing][:500]
    later = clf.predict_proba(rows.assign(at=rows["at"] + pd.Timedelta(days=700)))[:, 1]
    assert later.mean() < 0.65
    assert clf.predict_proba(rows.assign(at=pd.NaT))[:, 1].mean() > 0.85


def test_few_dates_make_no_column_a_copy():
    X, y = storms()
    X["other"] = pd.NaT
    X.loc[:1, "other"] = pd.Timestamp("2021-02-01")
    X["b"] = np.random.default_rng(0).integers(1, 3, len(X))
    assert FERLClassifier(random_state=0).fit(X, y).model_.replaced == (0, 1, 2, 5)


def test_parts_need_two_periods():
    rng = np.random.default_rng(0)
    for n_days, parts in (
        (1, []),
        (10, ["hour"]),
        (30, ["weekday", "hour"]),
        (800, ["weekday", "hour", "month", "day of the year"]),
    ):
        at = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 24 * n_days, 500), unit="h")
        clf = FERLClassifier(random_state=0).fit(pd.DataFrame({"at": at, "x": rng.normal(size=500)}), at.hour > 12)
        assert [own.part for own in clf.model_.derived if isinstance(own, DatePart)] == parts


def test_a_date_does_not_move_in_a_proof(fitted):
    clf, X, _ = fitted
    rows = X[:40]
    radius = clf.certified_radius(rows)
    assert (radius == clf.certified_radius(rows, scale=[1.0, 1.0, 100.0, 1.0])).all()
    rng = np.random.default_rng(0)
    for _ in range(20):
        moved = rows.assign(x=rows["x"] + rng.uniform(-1, 1, len(rows)) * np.minimum(radius, 1e6) * 0.999)
        assert (clf.predict(moved) == clf.predict(rows))[radius > 0].all()


def test_a_monotone_date_is_refused():
    X, y, _ = journeys(200)
    with pytest.raises(ValueError, match="'at', which holds dates"):
        FERLClassifier(monotonic_cst={"at": 1}).fit(X, y)


# ---------------------------------------------------------------------------------------------------------------------
# Other media
# ---------------------------------------------------------------------------------------------------------------------


def hard_rows(X):
    """Rows with values that training did not have, and without values."""
    rows = X[:60].copy()
    rows.loc[:5, "line"] = "a new line"
    rows.loc[6:9, "line"] = None
    rows.loc[10:15, "at"] = pd.NaT
    rows.loc[16:40, "at"] = pd.date_range("1899-12-30 23:00", periods=25, freq="1777h")
    rows.loc[41:59, "at"] = pd.date_range("2031-02-27", periods=19, freq="100D")
    return rows


def test_a_file_holds_them(fitted, tmp_path):
    clf, X, _ = fitted
    save_model(clf, tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    same_model(clf.model_, read.model_)
    np.testing.assert_array_equal(read.predict_proba(hard_rows(X)), clf.predict_proba(hard_rows(X)))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda own: own.update(feature=99), "feature"),
        (lambda own: own.update(feature=0), "evidence"),
        (lambda own: own.update(label=7), "label"),
        (lambda own: own["evidence"].pop(), "evidence"),
        (lambda own: own.update(part="hour"), "derived"),
        (lambda own: own.update(kind="part"), "derived"),
        (lambda own: own["evidence"].__setitem__(0, "nan"), "evidence"),
    ],
)
def test_a_hostile_column_is_refused(change, named, tmp_path):
    X, y, _ = journeys()
    save_model(FERLClassifier(random_state=0).fit(X, y), tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text())
    change(form["derived"][0])
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=named):
        load_model(tmp_path / "model.json")


def test_the_page_computes_them(fitted):
    clf, X, _ = fitted
    rows = hard_rows(X)
    encoded = check_rows(clf, rows)
    found = javascript.judge(clf.model_, encoded[:, : X.shape[1]])
    np.testing.assert_allclose(found["probability"], clf.predict_proba(rows), atol=1e-9)
    np.testing.assert_allclose(found["novelty"], clf.novelty(rows), atol=1e-9)
    np.testing.assert_allclose(found["featureContributions"], clf.feature_contributions(rows), atol=1e-9)


def test_onnx_computes_them(fitted):
    onnxruntime = pytest.importorskip("onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx

    clf, X, _ = fitted
    session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    names, answers = session.get_outputs(), session.run(None, onnx_inputs(clf, hard_rows(X)))
    found = {own.name: answer for own, answer in zip(names, answers, strict=True)}
    np.testing.assert_allclose(found["probability"], clf.predict_proba(hard_rows(X)), atol=1e-12)
    np.testing.assert_allclose(found["novelty"], clf.novelty(hard_rows(X)), atol=1e-9)


def test_the_exact_text_holds_them(fitted):
    clf, X, _ = fitted
    printed = PrintedModel(ferl.export_text(clf, exact=True, width=10_000_000))
    np.testing.assert_allclose(printed.probabilities(X), clf.predict_proba(X), rtol=0, atol=1e-9)


def test_readers_see_the_values_that_matter(fitted):
    clf, X, y = fitted
    text = ferl.export_text(clf, width=10_000)
    assert " others: between " in text
    alone = FERLClassifier(max_conditions=1, random_state=0).fit(X, y)
    told = [own for reasons in reason_codes(alone, X[:50], positive="late") for own in reasons]
    lines = {own.value for own in told if own.name == "line"}
    assert lines
    assert lines <= {*X["line"][:50].dropna(), "missing"}
    details = [alone.explain(row.to_dict(), details=True).to_text(1000) for _, row in X[:10].iterrows()]
    assert any(re.search(r"\n  line L\d+: .*\n    Rule \d+: .*, if line \(evidence for ", own) for own in details)
    assert abs(Scorecard(clf).predict_proba(X) - clf.predict_proba(X)).max() < 1e-9
    for _, row in hard_rows(X)[::9].iterrows():
        assert clf.explain(row.to_dict()).to_text()
    assert "evidence" in report_html(clf, X[:100])


def test_one_row_is_judged_as_a_table(fitted):
    clf, X, _ = fitted
    predictor = clf.predictor()
    for _, row in hard_rows(X)[::7].iterrows():
        probability = predictor.predict_proba(row.to_dict())
        np.testing.assert_array_equal(probability, clf.predict_proba(row.to_frame().T)[0])
        assert clf.explain(row.to_dict()).probability == tuple(probability.tolist())


def test_later_blocks_read_the_evidence_of_the_first():
    X, y, _ = journeys(2000)
    clf = FERLClassifier(random_state=0).partial_fit(X[:1000], y[:1000])
    derived = clf.model_.derived
    clf.partial_fit(X[1000:].assign(line=np.where(np.arange(1000) < 10, "a new line", X["line"][1000:])), y[1000:])
    assert clf.model_.derived == derived
    assert clf.model_.tree.weight[0] == 2000
