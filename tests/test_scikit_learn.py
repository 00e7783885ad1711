"""The tools of scikit-learn around classifiers of ferl: each line of docs/guide/scikit_learn.md has its test."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, TunedThresholdClassifierCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl import FERLClassifier, FERLTreeClassifier, NoveltyDetector
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.interop import PlainClassifier

matplotlib.use("Agg")
KINDS = [FERLClassifier(max_rules=8, random_state=0), FERLTreeClassifier("medium", random_state=0)]
each_kind = pytest.mark.parametrize("clf", KINDS, ids=lambda clf: type(clf).__name__)


def people(n: int = 240) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """A number and a category that decide, a number that does not, values missing."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "noise": rng.normal(size=n),
            "town": pd.Series(rng.choice(["Oslo", "Rome", "Lima"], n), dtype=object),
        }
    )
    y = np.where((table["age"] > 42) | (table["town"] == "Rome"), "yes", "no")
    table.loc[::11, "noise"] = np.nan
    return table, y


@each_kind
def test_permutation_importance_ranks_features_of_a_mixed_table(clf: Any) -> None:
    X, y = people()
    found = permutation_importance(clf.fit(X, y), X, y, n_repeats=5, random_state=0).importances_mean
    assert min(found[0], found[2]) > 0.05 > abs(found[1])


@each_kind
def test_partial_dependence_of_numbers_categories_and_pairs(clf: Any) -> None:
    X, y = people()
    clf.fit(X, y)
    rise = partial_dependence(clf, X, ["age"], response_method="predict_proba")["average"][0]
    assert rise[-1] > rise[0] + 0.2
    shown = PartialDependenceDisplay.from_estimator(
        clf, X, ["age", "town", ("age", "noise")], categorical_features=["town"], grid_resolution=8
    )
    assert len(shown.axes_.ravel()) == 3
    by_town = partial_dependence(clf, X, ["town"], categorical_features=["town"], response_method="predict_proba")
    assert dict(zip(by_town["grid_values"][0], by_town["average"][0], strict=True))["Rome"] > 0.7


@each_kind
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_by_scikit_learn(clf: Any, method: str) -> None:
    X, y = people()
    calibrated = CalibratedClassifierCV(clf, method=method, cv=3).fit(X, y)
    probability = calibrated.predict_proba(X)
    np.testing.assert_allclose(probability.sum(axis=1), 1)
    assert calibrated.score(X, y) > 0.85
    assert not np.array_equal(probability, clf.fit(X, y).predict_proba(X))


@each_kind
def test_a_tuned_threshold(clf: Any) -> None:
    X, y = people()
    tuned = TunedThresholdClassifierCV(clf, scoring="balanced_accuracy", cv=3).fit(X, y)
    cut = tuned.estimator_.predict_proba(X)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), np.where(cut, "yes", "no"))


def test_stacks_and_votes_take_the_table_as_it_is() -> None:
    X, y = people()
    members = [("rules", KINDS[0]), ("tree", KINDS[1])]
    stack = StackingClassifier(members, LogisticRegression(), cv=3).fit(X, y)
    crossed = cross_val_predict(KINDS[0], X, y, cv=3, method="predict_proba")[:, 1]
    assert np.corrcoef(stack.transform(X)[:, 0], crossed)[0, 1] > 0.7
    assert stack.score(X, y) > 0.85
    vote = VotingClassifier(members, voting="soft").fit(X, y)
    mean = np.mean([clf.fit(X, y).predict_proba(X) for _, clf in members], axis=0)
    np.testing.assert_allclose(vote.predict_proba(X), mean, atol=1e-12)


def test_bags_of_tables_of_numbers() -> None:
    X, y = people()
    numbers = X[["age", "noise"]].to_numpy()
    bag = BaggingClassifier(KINDS[0], n_estimators=4, random_state=0).fit(numbers, y)
    mean = np.mean([own.predict_proba(numbers) for own in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.predict_proba(numbers), mean, atol=1e-12)


def test_a_search_by_halving() -> None:
    X, y = people()
    search = HalvingGridSearchCV(KINDS[0], {"max_rules": [2, 4, 8]}, cv=2, min_resources=60, random_state=0).fit(X, y)
    assert search.n_resources_[0] == 60 < search.n_resources_[-1]
    assert search.best_params_["max_rules"] in (2, 4, 8)
    assert search.best_estimator_.n_rules_ <= search.best_params_["max_rules"]


@pytest.mark.parametrize(
    "wrapper",
    [
        lambda clf: VotingClassifier([("only", clf)], voting="soft"),
        lambda clf: CalibratedClassifierCV(clf, cv=2, ensemble=False),
        lambda clf: TunedThresholdClassifierCV(clf, scoring=weighed_scorer(), cv=2),
        lambda clf: GridSearchCV(clf, {"max_rules": [8]}, cv=2),
        lambda clf: ConformalFERL(clf),
    ],
    ids=["vote", "calibration", "threshold", "search", "conformal"],
)
def test_routed_weights_reach_the_classifier_in_every_wrapper(wrapper: Any) -> None:
    X, y = people()
    weight = np.where(y == "yes", 5.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = FERLClassifier(max_rules=8, random_state=0).set_fit_request(sample_weight=True)
        fitted = wrapper(clf.set_score_request(sample_weight=True)).fit(X, y, sample_weight=weight)
    inner = {
        VotingClassifier: lambda: fitted.estimators_[0],
        CalibratedClassifierCV: lambda: fitted.calibrated_classifiers_[0].estimator,
        TunedThresholdClassifierCV: lambda: fitted.estimator_,
        GridSearchCV: lambda: fitted.best_estimator_,
        ConformalFERL: lambda: fitted.estimator_,
    }[type(fitted)]()
    direct = FERLClassifier(max_rules=8, random_state=0)
    if isinstance(fitted, VotingClassifier):  # it codes labels
        y = (y == "yes").astype(int)
    np.testing.assert_array_equal(inner.predict_proba(X), direct.fit(X, y, sample_weight=weight).predict_proba(X))


def weighed_scorer() -> Any:
    return make_scorer(balanced_accuracy_score).set_score_request(sample_weight=True)


class Counts:
    """A callback that counts tasks of a fit."""

    def __init__(self) -> None:
        self.begun = self.ended = self.teardowns = 0

    def setup(self, estimator: Any, context: Any) -> None:
        self.begun = self.ended = 0

    def on_fit_task_begin(self, estimator: Any, context: Any, **given: Any) -> None:
        self.begun += 1

    def on_fit_task_end(self, estimator: Any, context: Any, **given: Any) -> bool:
        self.ended += 1
        return False

    def teardown(self, estimator: Any, context: Any) -> None:
        self.teardowns += 1


@pytest.mark.parametrize(
    "make",
    [lambda clf: GridSearchCV(clf, {"max_rules": [2, 4]}, cv=2), lambda clf: make_pipeline(StandardScaler(), clf)],
    ids=["search", "pipeline"],
)
def test_callbacks_of_tools_that_have_them(make: Any) -> None:
    pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 or newer has callbacks")
    X, y = people()
    numbers = X[["age"]]
    counts = Counts()
    outer = make(FERLClassifier(random_state=0)).set_callbacks(counts).fit(numbers, y)
    assert counts.teardowns == 1
    assert counts.begun == counts.ended >= 2
    assert outer.score(numbers, y) > 0.7


@pytest.mark.parametrize(
    "estimator",
    [
        FERLClassifier(),
        FERLTreeClassifier(),
        ConformalFERL(),
        CalibratedFERL(),
        RiskControlledFERL(),
        NoveltyDetector(),
        PlainClassifier(FERLClassifier()),
    ],
    ids=lambda own: type(own).__name__,
)
def test_the_box_in_a_notebook_links_to_the_page_of_the_project(estimator: Any) -> None:
    with (Path(__file__).parent.parent / "pyproject.toml").open("rb") as file:
        home = tomllib.load(file)["project"]["urls"]["Homepage"]
    assert estimator._get_doc_link() == home
    assert f'href="{home}"' in estimator._repr_html_()
