"""Compact by default: few wide rules in words, which everything reads; and its tree of words, in old files as well."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector, load_model, save_model
from ferl._models.settings import PRESETS, TREE_OF_WORDS, preset
from ferl.export import export_latex, export_scorecard, export_text, rules_frame
from ferl.onnx import onnx_inputs, to_onnx
from ferl.plot import plot_memberships, plot_shapes
from ferl.report import write_report
from ferl.streaming import fit_batches
from onnx_examples import WIDE_NAMES, assert_answers, run, session_of
from table_examples import Mixed, mixed_table, rows_beside

matplotlib.use("Agg")
OLD_TREES = sorted((Path(__file__).parent / "golden" / "vectors").glob("*words*.model.json"))
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


def test_the_criterion_chooses_between_wide_rules_and_a_tree() -> None:
    for criterion in (None, "evidence"):
        assert preset("compact", criterion) == PRESETS["compact"]
    for criterion in ("consistent", "cci"):
        assert preset("compact", criterion) == TREE_OF_WORDS
    X, y = load_iris(return_X_y=True)
    default, named = (
        FERLTreeClassifier("compact", criterion=own, random_state=0).fit(X, y) for own in (None, "evidence")
    )
    np.testing.assert_array_equal(default.predict_proba(X), named.predict_proba(X))
    tree = FERLTreeClassifier("compact", criterion="consistent", random_state=0).fit(X, y)
    assert tree.model_.kind == "trees"
    assert tree.partial_fit(X, y).drift_ is not None


@pytest.mark.parametrize("path", OLD_TREES, ids=lambda path: path.name)
def test_a_file_of_a_tree_from_before_says_so_and_is_kept(path: Path, tmp_path: Path) -> None:
    """None was the tree's criterion once; a file that holds it loads as what it was, and can be fitted again."""
    assert json.loads(path.read_text(encoding="utf-8"))["parameters"]["criterion"] is None
    old = load_model(path)
    assert (old.variant, old.criterion, old.model_.weights) == ("compact", "consistent", None)
    assert (old.partition, old.min_rule_worth) == (None, None)
    save_model(old, tmp_path / "again.json")
    again = load_model(tmp_path / "again.json")
    assert again.get_params() == old.get_params()
    assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["version"] == 1
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 3)), rng.integers(2, size=90)
    assert clone(again).fit(X, y).model_.kind == "trees"


def test_a_criterion_that_was_set_after_the_fit_is_not_that_of_the_model(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    for own, later in ((None, "consistent"), ("consistent", None), ("cci", "evidence")):
        fitted = FERLTreeClassifier("compact", criterion=own, random_state=0).fit(X, y)
        expected = fitted.predict_proba(X)
        save_model(fitted.set_params(criterion=later), tmp_path / "model.json")
        loaded = load_model(tmp_path / "model.json")
        np.testing.assert_array_equal(loaded.predict_proba(X), expected)
        read = fitted.reading(support_gate=False)
        for one in (loaded, read):
            assert (clone(one).fit(X, y).model_.kind == "trees") == (own is not None)
