"""Laws of what is put around a model: conformal sets, calibration, risk control, the detector of novelty."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from combine.case import Case
from combine.laws import NONE, ROUNDING, law
from estimators import classifier
from ferl import NoveltyDetector
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL

ALPHAS = (0.05, 0.1, 0.3)


@law()
def wrappers_keep_their_promises_about_form(case: Case) -> Any:
    return (conformal_form, calibrated_form, controlled_form, detector_form)[case.seed % 4](case)


def conformal_form(case: Case) -> None:
    """Sets are nested, are those of the p-values, of a group are those of the group's rows, and survive a pickle."""
    frame, y = case.two_rows()
    rng, rows = case.rng, case.rows
    options: dict[str, Any] = {"few_rows": "include", "allow_empty": True, "random_state": 0}
    options["nonconformity"] = str(rng.choice(["probability", "plausibility", "aps", "raps"]))
    options["class_conditional"] = bool(rng.random() < 0.4)
    options["randomised"] = options["nonconformity"] in ("aps", "raps") and bool(rng.random() < 0.5)
    usual = ConformalFERL(case.model, **options).conformalize(frame, y)
    p = usual.predict_p_values(rows)
    assert ((p > 0) & (p <= 1)).all()
    nested = [usual.predict_set(rows, alpha) for alpha in ALPHAS]
    assert all((large >= small).all() for large, small in pairwise(nested))
    for alpha, sets in zip(ALPHAS, nested, strict=True):
        clear = np.abs(p - alpha) > ROUNDING
        np.testing.assert_array_equal(sets[clear], (p > alpha)[clear])
    again = pickle.loads(pickle.dumps(usual))
    np.testing.assert_array_equal(again.predict_p_values(rows), p)
    np.testing.assert_array_equal(np.vstack([usual.predict_p_values(rows[k : k + 1]) for k in range(4)]), p[:4])
    order = rng.permutation(len(y))
    moved = ConformalFERL(case.model, **options).conformalize(frame.iloc[order], y[order])
    np.testing.assert_array_equal(moved.predict_p_values(rows), p)
    even = ConformalFERL(case.model, **options).conformalize(frame, y, np.ones(len(y)))
    np.testing.assert_allclose(even.predict_p_values(rows, np.ones(len(rows))), p, atol=ROUNDING)
    group, own = rng.integers(3, size=len(y)), rng.integers(3, size=len(rows))
    by_group = (
        ConformalFERL(case.model, **options).conformalize(frame, y, groups=group).predict_p_values(rows, groups=own)
    )
    for k in np.unique(group):
        alone = ConformalFERL(case.model, **options).conformalize(frame[group == k], y[group == k])
        np.testing.assert_array_equal(by_group[own == k], alone.predict_p_values(rows)[own == k])


def calibrated_form(case: Case) -> None:
    """Ignorance and labels stay, evidence stays in order, intervals are intervals, and a pickle changes nothing."""
    frame, y = case.two_rows()
    method = str(case.rng.choice(["temperature", "isotonic"]))
    model = CalibratedFERL(case.model, method=method, cv="prefit").fit(frame, y)
    probability, evidence = model.predict_proba(case.rows), model.predict_evidence(case.rows)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=ROUNDING)
    assert (evidence.belief <= probability + ROUNDING).all()
    assert (probability <= evidence.plausibility + ROUNDING).all()
    np.testing.assert_allclose(evidence.ignorance, case.model.predict_evidence(case.rows).ignorance, atol=ROUNDING)
    interval = CalibratedFERL(case.model).calibrate(frame, y).predict_interval(case.rows)
    assert ((interval[..., 0] >= 0) & (interval[..., 0] <= interval[..., 1]) & (interval[..., 1] <= 1)).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(case.rows), probability)
    order = case.rng.permutation(len(y))
    other = CalibratedFERL(case.model, method=method, cv="prefit").fit(frame.iloc[order], y[order])
    np.testing.assert_array_equal(other.predict_proba(case.rows), probability)


def controlled_form(case: Case) -> None:
    """Rows above the threshold are answered, and no others."""
    frame, y = case.two_rows()
    signal = str(case.rng.choice(["margin", "belief", "ignorance", "novelty", "learned"]))
    signal = "margin" if signal == "novelty" and not case.options["n_exemplars"] else signal
    model = RiskControlledFERL(case.model, risk=0.4, confidence=0.5, signal=signal, random_state=0).calibrate(frame, y)
    answered, labels = model.accept(case.rows), model.predict(case.rows)
    np.testing.assert_array_equal([own is not None for own in labels.tolist()], answered)
    assert (labels[answered] == case.model.predict(case.rows)[answered]).all()
    heights = model.confidence_signal(case.rows)
    assert not answered.any() or answered.all() or heights[answered].min() >= heights[~answered].max()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).accept(case.rows), answered)
    sets = model.predict_set(case.rows)
    assert (sets.sum(axis=1)[answered] == 1).all()
    assert sets[~answered].all()


def detector_form(case: Case) -> Any:
    """p-values are shares, and do not depend on the batch."""
    if not case.options["n_exemplars"]:
        return NONE
    detector = NoveltyDetector(case.model, cv="prefit").fit(case.table.frame)
    p = detector.p_values(case.rows)
    assert ((p > 0) & (p <= 1)).all()
    np.testing.assert_array_equal(np.concatenate([detector.p_values(case.rows[k : k + 1]) for k in range(4)]), p[:4])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).p_values(case.rows), p)
    return None


@law(every=4)
def wrappers_fit_with_weights_and_groups(case: Case) -> Any:
    """Wrappers that fit give the same answers in any order of the rows, and keep them in a pickle."""
    _, n_rows = np.unique(case.table.y, return_counts=True)
    if n_rows.min() < 6 or len(n_rows) < 2:
        return NONE
    template = classifier(case.kind, **case.options)
    kinds: list[Any] = [
        ConformalFERL(template, cv=3, few_rows="include", random_state=0),
        CalibratedFERL(template, cv=3, random_state=0),
        CalibratedFERL(template, method="isotonic", cv=3, random_state=0),
        RiskControlledFERL(template, risk=0.4, confidence=0.5, signal="learned", cv=3, random_state=0),
    ]
    wrapper = kinds[case.seed // 4 % 4]
    frame, y, more = case.table.frame, case.table.y, {} if case.groups is None else {"groups": case.groups}
    try:
        model = clone(wrapper).fit(frame, y, case.weight, **more)
    except ValueError as error:
        if len(str(error)) < 20 or case.groups is None:
            raise
        return None
    if isinstance(model, RiskControlledFERL):
        model.calibrate(frame, y)
    found = model.predict_proba(case.rows)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=ROUNDING)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(case.rows), found)
    if isinstance(model, ConformalFERL):
        sets = [model.predict_set(case.rows, alpha=alpha) for alpha in ALPHAS]
        assert all((small <= large).all() for large, small in pairwise(sets))
    else:
        np.testing.assert_array_equal(again.predict(case.rows), model.predict(case.rows))
    return None
