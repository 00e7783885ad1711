"""Curves and maps in everything that reads a model: each medium adds them up to the same answers."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

import javascript
import oracle.answers
from curve_examples import with_curves
from ferl import FERLClassifier, ModelFileError, export_text, load_model, save_model
from ferl._models.shapes import read_shapes
from ferl._models.terms import cells_from_cuts
from ferl._sklearn import check_rows
from ferl.export import Scorecard, export_scorecard, reason_codes
from ferl.onnx import onnx_inputs, to_onnx
from onnx_examples import assert_answers, run, session_of
from printed_model import PrintedModel
from table_examples import mixed_table, rows_beside
from test_report_engine import assert_same


def numeric(load, seed=0):
    X, y = load(return_X_y=True)
    clf = with_curves(FERLClassifier(random_state=0).fit(X, y), X, 6, 6, seed)
    rng = np.random.default_rng(seed)
    rows = X + rng.normal(0, 0.3, X.shape) * X.std(axis=0)
    rows[rng.uniform(size=X.shape) < 0.05] = np.nan
    return clf, rows


def mixed(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    table = mixed_table(rng, n=300, n_numbers=3, n_classes=n_classes)
    clf = with_curves(FERLClassifier(random_state=0).fit(table.frame, table.y), table.frame, 6, 6, seed)
    return clf, rows_beside(table, seed)


@pytest.fixture(params=["two classes", "three classes", "mixed, two", "mixed, four"])
def example(request):
    return {
        "two classes": lambda: numeric(load_breast_cancer),
        "three classes": lambda: numeric(load_wine),
        "mixed, two": lambda: mixed(2),
        "mixed, four": lambda: mixed(4),
    }[request.param]()


def test_scores_are_those_of_the_rules_and_the_values_of_the_cells(example):
    clf, rows = example
    model, encoded = clf.model_.with_gates_open, check_rows(clf, rows)
    curves = model.curves
    expected = model.rules.contributions(model.tree, encoded, np.ones(len(encoded))).sum(axis=1) + model.prior
    for term, columns in enumerate(curves.term_columns):
        cells = tuple(
            cells_from_cuts(encoded[:, column], cuts, int(curves.n_categories[column]))
            for column, cuts in zip(columns, curves.cuts(term), strict=True)
        )
        expected = expected + curves.table(term)[cells]
    np.testing.assert_allclose(model.decision_scores(encoded), expected, atol=1e-11)


def test_contributions_add_up_to_the_scores(example):
    clf, rows = example
    scores = clf.model_.decision_scores(check_rows(clf, rows))
    np.testing.assert_allclose(clf.contributions(rows).sum(axis=1), scores, atol=1e-11)
    np.testing.assert_allclose(clf.feature_contributions(rows).sum(axis=1), scores, atol=1e-11)


def test_any_batch_and_number_of_threads_gives_the_same_bits(example):
    clf, rows = example
    encoded, model = check_rows(clf, rows), clf.model_
    together = model.probabilities(encoded)
    assert (together == model.probabilities(encoded, 3)).all()
    assert (together[:40] == np.vstack([model.probabilities(encoded[i : i + 1]) for i in range(40)])).all()


def test_shapes_add_up_to_the_scores(example):
    clf, rows = example
    encoded, model = check_rows(clf, rows)[:60], clf.model_.with_gates_open
    shapes = read_shapes(model)
    found = shapes.prior + sum(own.at(encoded[:, own.feature]) for own in shapes.curves)
    found = found + sum(own.at(*(encoded[:, f] for f in own.features)) for own in shapes.interactions)
    np.testing.assert_allclose(found, model.decision_scores(encoded), atol=1e-10)


def test_a_file_keeps_them_to_the_last_bit(example, tmp_path):
    clf, rows = example
    save_model(clf, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert (loaded.predict_proba(rows) == clf.predict_proba(rows)).all()
    assert (loaded.n_curves_, loaded.n_maps_) == (6, 6)
    assert (loaded.novelty(rows) == clf.novelty(rows)).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda own: own["column"].__setitem__(0, [99, -1]), "column"),
        (lambda own: own["column"].reverse(), "before maps|one cell"),
        (lambda own: own["value"][0].pop(), "one number for each cell"),
        (lambda own: own["value"][0][0].__setitem__(0, 3.0), "sum to 0"),
        (lambda own: own["cuts"][-1][0].append(-1e99), "ascend|one cell"),
        (lambda own: own["support"][0].__setitem__(0, -1.0), "support"),
    ],
)
def test_a_file_with_wrong_curves_is_refused(change, message, tmp_path):
    clf, _ = numeric(load_wine)
    save_model(clf, tmp_path / "model.json")
    form = json.loads((tmp_path / "model.json").read_text())
    change(form["weights"]["curves"])
    (tmp_path / "model.json").write_text(json.dumps(form))
    with pytest.raises(ModelFileError, match=message):
        load_model(tmp_path / "model.json")


def test_onnx_says_the_same(example):
    clf, rows = example
    found = run(session_of(to_onnx(clf, contributions=True)), onnx_inputs(clf, rows))
    assert_answers(found, clf, rows, tolerance=1e-9)
    np.testing.assert_allclose(found["contributions"], clf.contributions(rows), atol=1e-9)


def test_the_page_says_the_same(example):
    clf, rows = example
    rows = rows[:80]
    encoded = check_rows(clf, rows)[:, : clf.n_features_in_]
    assert_same(javascript.judge(clf.model_, encoded), clf, rows)


def test_the_exact_text_reproduces_the_answers(example):
    clf, rows = example
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=clf.model_.feature_names())
    printed = PrintedModel(export_text(clf, exact=True, width=1_000_000))
    np.testing.assert_allclose(printed.probabilities(frame), clf.predict_proba(rows), atol=1e-9)
    assert "map" in export_text(clf)


def test_the_scorecard_adds_up_to_the_same_probabilities(example):
    clf, rows = example
    card = Scorecard(clf)
    np.testing.assert_allclose(card.predict_proba(rows), clf.predict_proba(rows), atol=1e-9)
    frame = export_scorecard(clf)
    maps = sum(clf.model_.curves.is_map)
    assert frame["feature"].str.contains(" and ").sum() >= maps


def test_reasons_share_what_maps_cost_among_their_features(example):
    clf, rows = example
    model, encoded = clf.model_, check_rows(clf, rows)
    names = model.feature_names()
    reasons = reason_codes(clf, rows, n=len(names), positive=clf.classes_[0])
    assert len(reasons) == len(rows)
    lost = model.fading(encoded)[:, None, None] * model.mean_contributions - model.contributions(encoded)
    towards = lost[..., 0] - (lost[..., 1] if len(clf.classes_) == 2 else 0.0)
    by_terms, by_maps = np.zeros((2, len(rows), len(names)))
    for term, columns in enumerate(model.term_columns):
        for column in columns:
            by_terms[:, model.feature_of(column)] += towards[:, term] / len(columns)
            if len(columns) == 2 and term >= model.n_rules:
                by_maps[:, model.feature_of(column)] += towards[:, term] / 2
    found = np.zeros_like(by_terms)
    for k, own in enumerate(reasons):
        for reason in own:
            assert reason.text.startswith(f"{reason.name} is {reason.value}: ")
            found[k, names.index(reason.name)] = reason.lost
    np.testing.assert_allclose(found, np.maximum(by_terms, 0.0), atol=1e-8)
    assert ((found > 0) & (by_maps > 0.01)).any()


def test_labels_that_are_proven_to_stay_do_not_flip():
    rng = np.random.default_rng(1)
    for load in (load_breast_cancer, load_wine):
        clf, rows = numeric(load)
        rows = rows[:40]
        radius, labels = clf.certified_radius(rows, scale="spread"), clf.predict(rows)
        unit = np.sqrt(clf.model_.tree.profile.total_variance)
        assert np.median(radius) > 0.02
        for row, reach, label in zip(rows, radius, labels, strict=True):
            if not np.isfinite(reach):
                continue
            moved = row + rng.uniform(-1, 1, (2000, len(row))) * reach * unit
            moved[1000:] = row + rng.choice([-1, 1], (1000, len(row))) * reach * unit
            assert (clf.predict(moved) == label).all()


def test_explanations_of_all_rows_add_up(example):
    clf, rows = example
    for k in range(5):
        row = rows.iloc[[k]] if isinstance(rows, pd.DataFrame) else rows[k : k + 1]
        told = clf.explain(row, details=True)
        turned = told.balance.between(told.best, told.rival)
        for own in told.effects:
            parts = [turned.apart(part.weight) for part in turned.parts if part.feature == own.feature]
            assert sum(parts) == pytest.approx(own.weight, abs=1e-9)
        from_average = sum(own.weight for own in told.effects) + turned.apart(turned.base)
        assert from_average == pytest.approx(turned.apart(turned.scores), abs=1e-9)
        drawn = [own.weight for own in turned.parts if own.name.startswith(("The curve", "The map with "))]
        model, support = clf.model_, turned.support
        usual = support * model.mean_contributions[model.n_rules : model.n_rules + model.n_curves + model.n_maps]
        np.testing.assert_allclose(np.sum(drawn, axis=0), turned.pictures - usual.sum(axis=0), atol=1e-9)
        assert re.search(r"\n    The (curve|map with \S+): [x/] \d", told.to_text(1000))


def test_answers_are_those_of_the_oracle(example):
    clf, rows = example
    encoded, model = check_rows(clf, rows)[:40], clf.model_
    expected = oracle.answers.wide_answer(model, encoded)
    evidence = model.evidence(encoded)
    np.testing.assert_allclose(model.decision_scores(encoded), expected["scores"], atol=1e-9)
    np.testing.assert_allclose(model.contributions(encoded), expected["contributions"], atol=1e-9)
    for name in ("belief", "plausibility", "probability", "ignorance", "conflict"):
        np.testing.assert_allclose(getattr(evidence, name), expected[name], atol=1e-9, err_msg=name)
    np.testing.assert_allclose(model.novelty(encoded), expected["novelty"], rtol=1e-6)
