"""Laws of learned curves and maps, in combination with all that a table may hold and all that reads a model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ferl import FERLClassifier
from ferl.onnx import onnx_inputs, to_onnx
from onnx_examples import run, session_of


def table(n=1500, seed=0, n_classes=2):
    """Numbers, a sentinel, few and many categories, an order, booleans, dates, a constant, an empty column, gaps."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.uniform(-1, 1, n),
            "b": rng.normal(size=n),
            "c": rng.normal(size=n).round(1),
            "d": np.where(rng.random(n) < 0.15, -999, rng.integers(0, 30, n)),
            "few": rng.choice(["u", "v", "w"], n),
            "many": [f"k{code}" for code in rng.integers(0, 40, n)],
            "order": pd.Categorical(rng.choice(["lo", "hi"], n), categories=["lo", "hi"], ordered=True),
            "flag": rng.random(n) < 0.4,
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 1000, n), "D"),
            "constant": np.full(n, 3.0),
            "empty": np.full(n, np.nan),
        }
    )
    score = 2 * np.sin(6 * frame["a"]) + frame["b"] * frame["c"] + (frame["few"] == "v") + (frame["d"] == -999)
    score = score + 0.8 * frame["flag"] * np.sin(4 * frame["a"]) + 0.7 * (frame["order"] == "hi")
    score = score.to_numpy() + rng.normal(scale=0.4, size=n)
    y = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    for name in ("a", "b", "few"):
        frame.loc[rng.random(n) < 0.05, name] = None
    return frame, np.array(["no", "yes", "maybe"])[y]


def beside(frame, seed=1, n=120):
    """Rows in and out of range, with gaps and categories that training did not have."""
    rng = np.random.default_rng(seed)
    rows = frame.iloc[rng.integers(0, len(frame), n)].reset_index(drop=True)
    for name in ("a", "b", "c"):
        rows[name] = rows[name] + rng.normal(size=n) * rng.choice([0, 0.1, 1, 10], n)
        rows.loc[rng.random(n) < 0.1, name] = np.nan
    rows["d"] = rows["d"] + rng.choice([0, 1, 50, -2000], n)
    for name in ("few", "many"):
        rows[name] = np.where(rng.random(n) < 0.1, "new", rows[name])
    return rows


def with_maps(frame, y, **options):
    """A classifier fitted on the table, whose curves and maps were learned."""
    clf = FERLClassifier(random_state=0, **options).fit(frame, y)
    assert clf.n_curves_ > 0
    assert clf.n_maps_ > 0
    return clf


@pytest.mark.parametrize("n_classes", [2, 3])
def test_onnx_declares_the_shape_of_the_contributions_of_all_terms(n_classes):
    frame, y = table(n_classes=n_classes)
    clf, rows = with_maps(frame, y), beside(frame)
    session = session_of(to_onnx(clf, contributions=True))
    found = run(session, onnx_inputs(clf, rows))["contributions"]
    (declared,) = (own.shape for own in session.get_outputs() if own.name == "contributions")
    assert declared[1:] == [*found.shape[1:]]
    np.testing.assert_allclose(found, clf.contributions(rows), atol=1e-9)


@pytest.mark.parametrize("missing_conditions", [False, True])
def test_constraints_in_the_order_of_the_features_leave_out_indicators(missing_conditions):
    frame, y = table()
    signs = dict.fromkeys(frame, 0) | {"a": 1, "d": -1}
    options = {"missing_conditions": missing_conditions, "random_state": 0}
    by_name = FERLClassifier(monotonic_cst={"a": 1, "d": -1}, **options).fit(frame, y)
    in_order = FERLClassifier(monotonic_cst=[*signs.values()], **options).fit(frame, y)
    rows = beside(frame)
    np.testing.assert_array_equal(in_order.predict_proba(rows), by_name.predict_proba(rows))
    in_order.partial_fit(frame[:300], y[:300])
    line = pd.concat([rows[:1]] * 400, ignore_index=True).assign(a=np.linspace(-5, 5, 400))
    assert (np.diff(in_order.decision_function(line)) >= -1e-9).all()
