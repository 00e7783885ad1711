"""The frame of curves and maps: its cells, looked up by hand, give what the model adds to each row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ferl import FERLClassifier, FERLTreeClassifier, curves_frame


def table(n_rows: int = 6000) -> tuple[pd.DataFrame, Any]:
    """A wave with holes, categories, and a chessboard of two numbers; three classes."""
    rng = np.random.default_rng(0)
    x, a, b = rng.random((3, n_rows))
    colour = rng.choice(["red", "green", "blue", "grey"], n_rows)
    score = 2 * np.sin(40 * x) + 2 * np.sign((a - 0.5) * (b - 0.5)) + (colour == "red") - (colour == "grey")
    y = np.where(score + rng.logistic(size=n_rows) > 0, np.where(rng.random(n_rows) < 0.3, "c", "b"), "a")
    frame = pd.DataFrame({"wave": np.where(rng.random(n_rows) < 0.1, np.nan, x), "a": a, "b": b, "colour": colour})
    return frame, y


def is_in(own: Any, prefix: str, value: Any) -> bool:
    """Whether a value lies in the cell of a line of the frame."""
    if isinstance(value, str):
        return bool(own[f"{prefix}range"] == value)
    if np.isnan(value):
        return bool(own[f"{prefix}range"] == "missing")
    return bool(own[f"{prefix}low"] < value <= own[f"{prefix}high"])


def test_the_cells_of_the_frame_add_up_to_the_contributions() -> None:
    X, y = table()
    clf = FERLClassifier(max_rules=10, random_state=0).fit(X, y)
    assert clf.n_curves_ > 0
    assert clf.n_maps_ > 0
    frame = curves_frame(clf)
    assert frame["term"].nunique() == clf.n_curves_ + clf.n_maps_
    assert (frame.groupby("term")["kind"].first() == "map").sum() == clf.n_maps_
    np.testing.assert_allclose(frame.groupby("term")["support"].sum(), len(X))
    np.testing.assert_allclose(frame.groupby("term")["share"].sum(), 1.0)
    values = frame[[f"v({label})" for label in clf.classes_]].to_numpy()
    np.testing.assert_allclose(values.sum(axis=1), 0.0, atol=1e-9)
    rows = X.iloc[:25]
    pictures = clf.contributions(rows)[:, clf.n_rules_ : -1]  # rules, curves and maps, the prior
    for i, row in enumerate(rows.to_dict("records")):
        for term, cells in frame.groupby("term"):
            fits = [
                is_in(own, "", row[own["feature"]])
                and (own["kind"] == "curve" or is_in(own, "second_", row[own["second_feature"]]))
                for own in cells.to_dict("records")
            ]
            assert sum(fits) == 1
            np.testing.assert_allclose(values[cells.index[fits][0]], pictures[i, term - 1], atol=1e-12)


def test_names_of_the_reader_and_backends() -> None:
    X, y = table(3000)
    clf = FERLClassifier(max_rules=10, random_state=0).fit(X, y)
    named = curves_frame(clf, feature_names=["w", "p", "q", "hue"], class_names=["A", "B", "C"])
    assert set(named["feature"]) <= {"w", "p", "q", "hue"}
    assert [name for name in named if name.startswith("v(")] == ["v(A)", "v(B)", "v(C)"]
    arrow = curves_frame(clf, backend="pyarrow")
    assert arrow.column_names == list(curves_frame(clf))
    assert arrow.num_rows == len(named)


def test_a_model_without_curves_has_an_empty_frame_and_a_tree_is_refused() -> None:
    X, y = table(500)
    empty = curves_frame(FERLClassifier(random_state=0).fit(X, y))
    assert len(empty) == 0
    assert {"term", "range", "support", "v(a)"} <= set(empty)
    with pytest.raises(ValueError, match=r"curves_frame is for .* Use rules_frame"):
        curves_frame(FERLTreeClassifier(random_state=0).fit(X[["a", "b"]], y))
