"""What the wrappers of a classifier promise, whatever happens to the classifier before and after."""

from __future__ import annotations

import pickle
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL

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
