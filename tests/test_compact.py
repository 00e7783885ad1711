"""Few rules in words, which everything reads; and the tree of words."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector, load_model, save_model
from ferl.export import export_latex, export_scorecard, export_text, rules_frame
from ferl.onnx import onnx_inputs, to_onnx
from ferl.plot import plot_memberships, plot_shapes
from ferl.report import write_report
from ferl.streaming import fit_batches
from onnx_examples import WIDE_NAMES, assert_answers, run, session_of
from table_examples import Mixed, mixed_table, rows_beside

matplotlib.use("Agg")
BOTH = pytest.mark.parametrize("n_classes", [2, 4])


@lru_cache
def example(n_classes: int) -> tuple[Mixed, FERLClassifier]:
    table = mixed_table(np.random.default_rng(n_classes), n=400, n_numbers=3, n_classes=n_classes)
    return table, FERLClassifier(words=True, random_state=0).fit(table.frame, table.y)


@BOTH
def test_rules_are_few_short_and_in_words(n_classes: int) -> None:
    table, clf = example(n_classes)
    assert 0 < clf.n_rules_ <= 15
    assert clf.score(table.frame, table.y) > 1.3 / n_classes
    assert clf.words_ is not None
    words = {word for own in clf.words_ if own is not None for word in (one.name for one in own.sets)}
    assert words == {"low", "medium", "high"}
    text = export_text(clf)
    assert "is medium" in text
    assert len(rules_frame(clf)) == clf.n_rules_
    assert "tabular" in export_latex(clf)


@BOTH
def test_parts_add_up_to_scores_and_explanations(n_classes: int) -> None:
    table, clf = example(n_classes)
    rows = rows_beside(table, 0)
    scores = clf.contributions(rows).sum(axis=1)
    found = clf.decision_function(rows)
    np.testing.assert_allclose(found, scores[:, 1] - scores[:, 0] if n_classes == 2 else scores, atol=1e-12)
    by_feature = clf.feature_contributions(rows)
    np.testing.assert_allclose(by_feature.sum(axis=1), scores, atol=1e-12)
    story = clf.explain(table.frame[:1])
    assert story.label == clf.predict(table.frame[:1])[0]
    assert story.balance is not None
    assert str(story.label) in str(story)
    if n_classes == 2:
        assert "oints" in str(export_scorecard(clf))


@BOTH
def test_no_change_within_the_radius_alters_a_label(n_classes: int) -> None:
    table, clf = example(n_classes)
    rows, rng = table.frame[:60], np.random.default_rng(0)
    radius = clf.certified_radius(rows)
    assert (radius > 0).mean() > 0.5
    labels = clf.predict(rows)
    for _ in range(50):
        moved = rows.copy()
        for name in table.numbers:
            moved[name] += np.minimum(radius, 1e6) * 0.999 * rng.choice([-1.0, 1.0], len(rows))
        np.testing.assert_array_equal(clf.predict(moved), labels)


@BOTH
def test_onnx_reports_and_plots_read_it(n_classes: int, tmp_path: Path) -> None:
    table, clf = example(n_classes)
    rows = rows_beside(table, 1)
    found = run(session_of(to_onnx(clf, novelty=True, contributions=True)), onnx_inputs(clf, rows))
    assert list(found) == WIDE_NAMES
    assert_answers(found, clf, rows, tolerance=1e-12)
    page = write_report(clf, table.frame, table.y, tmp_path / "report.html").read_text(encoding="utf-8")
    assert "medium" in page
    asked = next(name for j, name in enumerate(table.frame) if j in clf.tree_.feature[1:] and name in table.numbers)
    assert len(plot_memberships(clf, asked).lines) >= 3
    assert plot_shapes(clf) is not None
    matplotlib.pyplot.close("all")


def test_far_away_rows_are_novel_and_nothing_is_said_of_them() -> None:
    table, clf = example(2)
    numbers = table.numbers
    far = table.frame[:5].assign(**dict.fromkeys(numbers, 1e6))
    assert (clf.novelty(far) > clf.novelty(table.frame).max()).all()
    assert (clf.predict_evidence(far).ignorance == 1).all()
    detector = NoveltyDetector(FERLClassifier(words=True, random_state=0)).fit(table.frame, table.y)
    assert (detector.predict(far) == -1).all()


def test_batches_give_the_same_model_and_files_the_same_answers(tmp_path: Path) -> None:
    table, clf = example(4)
    pieces = [(table.frame[i : i + 150], table.y[i : i + 150]) for i in range(0, 400, 150)]
    streamed = fit_batches(pieces, estimator=FERLClassifier(words=True, random_state=0))
    save_model(streamed, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == clf.get_params()
    for name in ("predict_proba", "decision_function", "novelty"):
        np.testing.assert_array_equal(getattr(loaded, name)(table.frame), getattr(clf, name)(table.frame))


# ---------------------------------------------------------------------------------------------------------------------
# The tree of words
# ---------------------------------------------------------------------------------------------------------------------


def test_the_class_chooses_between_rules_and_a_tree() -> None:
    X, y = load_iris(return_X_y=True)
    rules = FERLClassifier(words=True, random_state=0).fit(X, y)
    few = FERLClassifier(words="triangles", max_rules=15, min_rule_worth=0.05, random_state=0).fit(X, y)
    np.testing.assert_array_equal(rules.predict_proba(X), few.predict_proba(X))
    default, named = (
        FERLTreeClassifier("compact", criterion=own, random_state=0).fit(X, y) for own in (None, "consistent")
    )
    np.testing.assert_array_equal(default.predict_proba(X), named.predict_proba(X))
    assert (rules.model_.kind, default.model_.kind) == ("rules", "trees")
    assert default.partial_fit(X, y).drift_ is not None


def test_a_criterion_that_was_set_after_the_fit_is_not_that_of_the_model(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    for own, later in ((None, "cci"), ("consistent", None), ("cci", "consistent")):
        fitted = FERLTreeClassifier("compact", criterion=own, random_state=0).fit(X, y)
        expected = fitted.predict_proba(X)
        save_model(fitted.set_params(criterion=later), tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        read = fitted.reading(support_gate=False)
        assert all(clone(one).fit(X, y).model_.kind == "trees" for one in (loaded, read))
