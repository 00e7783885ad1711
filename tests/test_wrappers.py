"""What the wrappers of a classifier promise, whatever happens to the classifier before and after."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils._param_validation import InvalidParameterError

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector, export_text, load_model, save_model
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.editing import edit
from ferl.export import Scorecard
from ferl.streaming import fit_parquet

X, Y = make_classification(900, 5, n_informative=4, n_redundant=0, class_sep=1.2, random_state=0)
FIRST, HELD, NEW = slice(0, 300), slice(300, 600), slice(600, 900)


def rules() -> FERLClassifier:
    return FERLClassifier(max_rules=10, random_state=0)


def sets(wrapper: ConformalFERL) -> Any:
    return wrapper.predict_p_values(X[NEW])


def signal(wrapper: RiskControlledFERL) -> Any:
    return np.column_stack([wrapper.confidence_signal(X[NEW]), wrapper.predict_set(X[NEW])])


def probability(wrapper: CalibratedFERL) -> Any:
    return wrapper.predict_proba(X[NEW])


WRAPPERS = {
    "sets": (ConformalFERL, ConformalFERL.conformalize, sets),
    "abstention": (partial(RiskControlledFERL, risk=0.2), RiskControlledFERL.calibrate, signal),
    "probabilities": (CalibratedFERL, CalibratedFERL.calibrate, probability),
}
EVERY_WRAPPER = pytest.mark.parametrize(("wrapper", "calibrate", "answers"), WRAPPERS.values(), ids=WRAPPERS)


# ---------------------------------------------------------------------------------------------------------------------
# What was calibrated stays, or is refused
# ---------------------------------------------------------------------------------------------------------------------


@EVERY_WRAPPER
@pytest.mark.parametrize(
    "make",
    [
        rules,
        lambda: FERLTreeClassifier("medium", random_state=0),
        lambda: make_pipeline(StandardScaler(), rules()),
        lambda: CalibratedFERL(rules(), random_state=0),
    ],
    ids=["rules", "tree", "pipeline", "wrapper"],
)
def test_a_classifier_that_learns_on_does_not_change_what_was_calibrated(wrapper, calibrate, answers, make) -> None:
    given = make().fit(X[FIRST], Y[FIRST])
    wrapped = calibrate(wrapper(given, random_state=0), X[HELD], Y[HELD])
    before = answers(wrapped)
    given.fit(X[NEW] + 1, 1 - Y[NEW])
    np.testing.assert_array_equal(answers(wrapped), before)
    np.testing.assert_array_equal(answers(pickle.loads(pickle.dumps(wrapped))), before)
    if isinstance(given, FERLClassifier | FERLTreeClassifier):
        given.fit(X[FIRST], Y[FIRST])
        wrapped = calibrate(wrapper(given, random_state=0), X[HELD], Y[HELD])
        given.partial_fit(X[NEW], 1 - Y[NEW])
        np.testing.assert_array_equal(answers(wrapped), before)


@EVERY_WRAPPER
def test_a_classifier_inside_that_learns_on_is_refused_until_it_is_calibrated(wrapper, calibrate, answers) -> None:
    step = calibrate.__name__
    wrapped = calibrate(wrapper(rules(), random_state=0).fit(X[FIRST], Y[FIRST]), X[HELD], Y[HELD])
    wrapped.estimator_.partial_fit(X[FIRST], Y[FIRST])
    with pytest.raises(ValueError, match=rf"fitted again since {step}.*Call {step}\(X, y\) again"):
        answers(wrapped)
    assert len(answers(calibrate(wrapped, X[HELD], Y[HELD]))) == 300
    prefit = calibrate(wrapper(rules().fit(X[FIRST], Y[FIRST]), random_state=0), X[HELD], Y[HELD])
    prefit.estimator_.fit(X[NEW], Y[NEW])
    with pytest.raises(ValueError, match=r"Fit the classifier that was given, of which estimator_ is a copy, and call"):
        answers(prefit)


def test_frozen_and_cross_fitted_classifiers_that_learn_on_are_refused() -> None:
    inside = rules().fit(X[FIRST], Y[FIRST])
    wrapped = ConformalFERL(FrozenEstimator(inside)).fit(X[FIRST], Y[FIRST]).conformalize(X[HELD], Y[HELD])
    inside.partial_fit(X[NEW], Y[NEW])
    with pytest.raises(ValueError, match="fitted again since conformalize"):
        wrapped.predict_set(X[NEW])
    crossed = ConformalFERL(rules(), cv=2).fit(X[FIRST], Y[FIRST])
    crossed.fold_estimators_[1].partial_fit(X[NEW], Y[NEW])
    with pytest.raises(ValueError, match=r"fitted again since fit.*Call fit\(X, y\) again"):
        crossed.predict_set(X[NEW])


@pytest.mark.parametrize("cv", ["prefit", 0.5])
def test_a_detector_keeps_its_judge_when_the_classifier_inside_learns_on(cv: Any) -> None:
    detector = NoveltyDetector(rules().fit(X[FIRST], Y[FIRST]), cv=cv, random_state=0).fit(X[HELD], Y[HELD])
    before = detector.p_values(X[NEW])
    detector.estimator_.fit(X[NEW] * 9, Y[NEW])
    np.testing.assert_array_equal(detector.p_values(X[NEW]), before)


# ---------------------------------------------------------------------------------------------------------------------
# Edits stay, or are refused
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An edited classifier without its first feature, and the same from a file."""
    changed = edit(rules().fit(X[FIRST], Y[FIRST])).forbid(0)
    path = tmp_path_factory.mktemp("edited") / "edited.json"
    save_model(changed, path)
    return {"edited": changed, "loaded": load_model(path)}


@EVERY_WRAPPER
@pytest.mark.parametrize("name", ["edited", "loaded"])
def test_a_wrapper_keeps_the_edits_of_a_classifier_or_refuses(wrapper, calibrate, answers, edited, name) -> None:
    given = edited[name]
    for around in (
        wrapper(given),
        wrapper(make_pipeline(StandardScaler(), given)),
        wrapper(CalibratedFERL(given)),
        wrapper(given, cv=2),
    ):
        with pytest.raises(ValueError, match=r"edited by hand \(1 edits\), and fit would learn anew.*leave fit out"):
            around.fit(X[FIRST], Y[FIRST])
    wrapped = calibrate(wrapper(given, random_state=0), X[HELD], Y[HELD])
    assert wrapped.estimator_.model_.history == given.model_.history
    before, X[NEW, 0] = answers(wrapped), X[NEW, 0] + 100
    try:
        np.testing.assert_array_equal(answers(wrapped), before)
    finally:
        X[NEW, 0] -= 100
    kept = wrapper(FrozenEstimator(given), cv=2, random_state=0).fit(X[FIRST], Y[FIRST])
    assert kept.estimator_.model_.history == given.model_.history
    anew = wrapper(clone(given), random_state=0).fit(X[FIRST], Y[FIRST])
    assert not anew.estimator_.model_.history


def test_detectors_and_files_keep_the_edits_of_a_classifier_or_refuse(edited, tmp_path) -> None:
    with pytest.raises(ValueError, match="edited by hand"):
        NoveltyDetector(edited["edited"]).fit(X[HELD], Y[HELD])
    detector = NoveltyDetector(edited["edited"], cv="prefit").fit(X[HELD])
    assert detector.estimator_.model_.history
    pd.DataFrame(X[FIRST]).rename(columns=str).assign(y=Y[FIRST]).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="edited by hand"):
        fit_parquet(tmp_path / "rows.parquet", target="y", estimator=edited["edited"])


def test_an_edited_classifier_is_fitted_anew_with_units_and_descriptions(edited) -> None:
    table = pd.DataFrame(X[FIRST], columns=list("abcde"))
    said = {"units": {"b": "mg"}, "describe": {"columns": {"c": {"label": "dose"}}}}
    anew, plain = (clf.fit(table, Y[FIRST], **said) for clf in (clone(edited["edited"]), rules()))
    assert export_text(anew) == export_text(plain)
    assert "mg" in export_text(anew)
    assert "dose" in export_text(anew)
    assert not anew.model_.history
    with pytest.raises(ValueError, match="fitted and not edited"):
        anew.cost(table, Y[FIRST])


# ---------------------------------------------------------------------------------------------------------------------
# Classifiers that are fitted already
# ---------------------------------------------------------------------------------------------------------------------


def test_probabilities_of_a_fitted_classifier_are_calibrated_by_fit(edited) -> None:
    for given in (rules().fit(X[FIRST], Y[FIRST]), edited["edited"]):
        prefit = CalibratedFERL(given, cv="prefit").fit(X[HELD], Y[HELD])
        expected = CalibratedFERL(given).calibrate(X[HELD], Y[HELD])
        np.testing.assert_array_equal(prefit.predict_proba(X[NEW]), expected.predict_proba(X[NEW]))
        np.testing.assert_array_equal(prefit.predict_interval(X[NEW]), expected.predict_interval(X[NEW]))
        assert prefit.estimator_.model_ is given.model_
    weight = 1.0 + np.arange(300) % 3
    weighed = CalibratedFERL(given, cv="prefit").fit(X[HELD], Y[HELD], weight)
    repeated = np.repeat(np.arange(300, 600), weight.astype(int))
    twice = CalibratedFERL(given, cv="prefit").fit(X[repeated], Y[repeated])
    np.testing.assert_allclose(weighed.predict_proba(X[NEW]), twice.predict_proba(X[NEW]), rtol=0, atol=1e-6)
    searched = GridSearchCV(
        CalibratedFERL(FrozenEstimator(given), cv="prefit"), {"method": ["temperature", "isotonic"]}
    )
    assert searched.fit(X[HELD], Y[HELD]).score(X[NEW], Y[NEW]) > 0.7
    for missing in (CalibratedFERL(cv="prefit"), clone(prefit)):
        with pytest.raises(NotFittedError, match=r'cv="prefit" needs an estimator that is fitted already.*cv=5'):
            missing.fit(X[HELD], Y[HELD])
    with pytest.raises(InvalidParameterError, match="'cv' parameter of CalibratedFERL"):
        CalibratedFERL(given, cv="fitted").fit(X[HELD], Y[HELD])


# ---------------------------------------------------------------------------------------------------------------------
# What fit hands on: weights, groups, and what else the classifier inside takes
# ---------------------------------------------------------------------------------------------------------------------

WEIGHT = 1.0 + np.arange(300) % 3
PATIENT = np.arange(300) // 4


class TellsFolds(GroupKFold):
    """Folds that leave each group out as a whole, and are remembered."""

    def split(self, X, y=None, groups=None):
        self.found = list(super().split(X, y, groups))
        return iter(self.found)


def answers_of(wrapper: Any) -> Any:
    """What a fitted wrapper has learned."""
    if isinstance(wrapper, ConformalFERL):
        return wrapper.predict_p_values(X[NEW])
    if isinstance(wrapper, CalibratedFERL):
        return wrapper.predict_proba(X[NEW])
    return wrapper.calibrate(X[HELD], Y[HELD]).confidence_signal(X[NEW])


ROUTERS = [ConformalFERL, CalibratedFERL, partial(RiskControlledFERL, risk=0.3)]


@pytest.mark.parametrize("wrapper", ROUTERS)
def test_weights_and_groups_reach_the_classifier_and_the_splitter_with_and_without_routing(wrapper) -> None:
    plain = wrapper(rules(), cv=TellsFolds(3), random_state=0).fit(X[FIRST], Y[FIRST], WEIGHT, groups=PATIENT)
    for seen, unseen in plain.cv.found:
        assert not set(PATIENT[seen]) & set(PATIENT[unseen])
    direct = rules().fit(X[FIRST], Y[FIRST], WEIGHT, groups=PATIENT)
    np.testing.assert_array_equal(plain.estimator_.predict_proba(X[NEW]), direct.predict_proba(X[NEW]))
    with config_context(enable_metadata_routing=True):
        inside = rules().set_fit_request(sample_weight=True, groups=True)
        routed = wrapper(inside, cv=TellsFolds(3), random_state=0)
        routed.fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT, groups=PATIENT)
        np.testing.assert_array_equal(answers_of(routed), answers_of(plain))
        whole = wrapper(make_pipeline(StandardScaler().set_fit_request(sample_weight=False), inside), cv=TellsFolds(3))
        whole.fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT, groups=PATIENT)
        assert whole.estimator_[-1].model_ is not None
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            wrapper(rules(), cv=2).fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT)
        with pytest.raises(TypeError, match="colour"):
            wrapper(rules(), cv=2).fit(X[FIRST], Y[FIRST], colour=WEIGHT)
        # A weight that the classifier does not ask for is not handed on.
        without = wrapper(rules().set_fit_request(sample_weight=False), cv=2, random_state=0)
        without.fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT)
        alone = rules().fit(X[FIRST], Y[FIRST])
        np.testing.assert_array_equal(without.estimator_.predict_proba(X[NEW]), alone.predict_proba(X[NEW]))
        # In a search the wrapper is a router among others.
        search = GridSearchCV(
            wrapper(inside, cv=2).set_fit_request(sample_weight=True), {"cv": [2]}, cv=GroupKFold(2), scoring=no_score
        )
        search.fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT, groups=PATIENT)
        np.testing.assert_array_equal(
            search.best_estimator_.estimator_.predict_proba(X[NEW]), direct.predict_proba(X[NEW])
        )


def no_score(*_: Any) -> float:
    return 0.0


def test_a_wrapper_that_is_wrapped_hands_weights_on() -> None:
    with config_context(enable_metadata_routing=True):
        inner = CalibratedFERL(rules().set_fit_request(sample_weight=True), cv=2, random_state=0)
        outer = ConformalFERL(inner.set_fit_request(sample_weight=True)).fit(X[FIRST], Y[FIRST], sample_weight=WEIGHT)
    expected = CalibratedFERL(rules(), cv=2, random_state=0).fit(X[FIRST], Y[FIRST], WEIGHT)
    np.testing.assert_array_equal(outer.predict_proba(X[NEW]), expected.predict_proba(X[NEW]))


@pytest.mark.parametrize("wrapper", [*ROUTERS, Scorecard])
def test_units_and_descriptions_reach_the_classifier_inside(wrapper) -> None:
    table = pd.DataFrame(X[FIRST], columns=list("abcde"))
    fitted = wrapper(rules()).fit(table, Y[FIRST], units={"b": "mg"})
    assert "mg" in export_text(fitted.estimator_)
    with pytest.raises(TypeError, match="colour"):
        wrapper(rules()).fit(table, Y[FIRST], colour=1)
    with pytest.raises(TypeError, match=r'cv="prefit" fits no classifier, which units would be for'):
        CalibratedFERL(fitted.estimator_, cv="prefit").fit(table, Y[FIRST], units={"b": "mg"})
