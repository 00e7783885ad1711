"""The vectors that the oracle wrote: the oracle, Python, ONNX and JavaScript all give them.

Where a change of the method is meant, ``python tests/golden/write_vectors.py`` writes them anew.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import oracle
from ferl._sklearn import check_rows
from golden_vectors import Vectors, assert_answers, load, names
from javascript import judge

ROUNDING = 1e-12
load = cache(load)
with_vectors = pytest.mark.parametrize("name", names())


@with_vectors
def test_the_oracle_still_gives_the_vectors(name):
    own = load(name)
    found = oracle.answer(own.classifier.model_, own.rows)
    assert list(found) == list(own.answers)
    assert_answers(found, own.answers, ROUNDING)


@with_vectors
def test_the_table_is_encoded_to_the_rows(name):
    own = load(name)
    np.testing.assert_array_equal(check_rows(own.classifier, own.table), own.rows)


@with_vectors
def test_python_gives_the_vectors(name):
    own = load(name)
    found = answers_of_python(own)
    assert set(found) == set(own.answers)
    assert_answers(found, own.answers, ROUNDING)


def answers_of_python(own: Vectors):
    clf, table, model = own.classifier, own.table, own.classifier.model_
    evidence = clf.predict_evidence(table)
    shared = {
        "belief": evidence.belief,
        "plausibility": evidence.plausibility,
        "set": clf.predict_set(table),
        "label": np.searchsorted(clf.classes_, clf.predict(table)),
        "ignorance": evidence.ignorance,
        "conflict": evidence.conflict,
        "supportDeficit": clf.support_deficit(table),
        "novelty": clf.novelty(table),
        "noveltyByFeature": clf.novelty_attribution(table),
    }
    if model.kind == "rules":
        return shared | {
            "firing": clf.tree_.fire(own.rows, gated=False),
            "scores": model.decision_scores(own.rows),
            "fade": model.fading(own.rows),
            "contributions": clf.contributions(table),
            "featureContributions": clf.feature_contributions(table),
            "probability": clf.predict_proba(table),
            "rows": evidence.rows,
        }
    return shared | {
        "firing": model.fire(own.rows),
        "pignistic": clf.predict_proba(table),
    }


@with_vectors
def test_onnx_gives_the_vectors(name):
    pytest.importorskip("onnxruntime", reason="onnxruntime runs the models: pip install onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx
    from onnx_examples import NAMES, WIDE_NAMES, run, session_of

    own = load(name)
    has_rules = own.classifier.model_.kind == "rules"
    exported = to_onnx(own.classifier, contributions=has_rules)
    found = run(session_of(exported), onnx_inputs(own.classifier, own.table))
    assert list(found) == (WIDE_NAMES if has_rules else NAMES)
    found["label"] = np.searchsorted(own.classifier.classes_, found["label"])
    assert_answers(found, own.answers, ROUNDING if has_rules else 1e-9)


@with_vectors
def test_javascript_gives_the_vectors(name):
    own = load(name)
    found = judge(own.classifier.model_, own.rows[:, : own.classifier.n_features_in_])
    assert set(found) == set(own.answers)
    assert_answers(found, own.answers, ROUNDING)


def test_the_vectors_reach_what_is_hard():
    every = {name: load(name) for name in names()}
    answers = {name: own.answers for name, own in every.items()}
    readings = [own.classifier.model_.reading for own in every.values()]
    assert {getattr(own, "combination", None) for own in readings} == {"dempster", "cautious", "chain", "vote", None}
    assert {own.sources for own in readings if hasattr(own, "sources")} == {"leaves", "all"}
    assert {own.support_gate for own in readings} == {False, True}
    assert sum((own["ignorance"] == 1).any() for own in answers.values()) >= 5, "rows that nothing applies to"
    assert sum(((own["firing"] > 0) & (own["firing"] < 1)).any() for own in answers.values()) >= 10, "rows in bands"
    assert sum((own["supportDeficit"] > 0).any() for own in answers.values()) >= 8, "rows outside the ranges"
    assert sum(np.isnan(own.rows).any() for own in every.values()) == len(every), "missing values"
    assert (answers["contradictions"]["conflict"] == 1).any(), "masses that underflow"
    assert (answers["wide_mixed"]["conflict"] > 0.1).any(), "rules that cancel each other"
    assert all((own["set"].sum(axis=1) > 1).any() for own in answers.values()), "rows that are left open"
    for name in ("mixed_deep", "mixed_words_chain", "wide_mixed"):
        own = every[name].classifier.model_.schema.n_categories
        unseen = every[name].rows[:, : len(own)] == np.where(own > 0, own, -1)
        assert unseen.any(), "categories that training did not have"
