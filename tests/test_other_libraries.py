"""Other libraries around a classifier of a mixed table, and one row in whatever form it comes."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from ferl import FERLClassifier
from ferl.metrics import set_coverage
from table_examples import mixed_table


class OfAnyTable(ClassifierMixin, BaseEstimator):
    """A fitted classifier without ``n_features_in_``: MAPIE tries those that have it on a row of zeros."""

    def __init__(self, classifier):
        self.classifier = classifier

    @property
    def classes_(self):
        return self.classifier.classes_

    def fit(self, X, y):
        return self

    def predict(self, X):
        return self.classifier.predict(X)

    def predict_proba(self, X):
        return self.classifier.predict_proba(X)


@pytest.fixture(scope="module")
def mixed():
    table = mixed_table(np.random.default_rng(0), n=700, n_numbers=3, n_classes=2)
    frame, y = table.frame, np.asarray(table.y)
    assert frame.isna().any().any()
    return frame, y, FERLClassifier(random_state=0).fit(frame.iloc[:300], y[:300])


def test_crepes_wraps_a_classifier_of_a_mixed_table(mixed):
    crepes = pytest.importorskip("crepes", reason="crepes is not installed")
    frame, y, clf = mixed
    wrapped = crepes.WrapClassifier(clf)
    wrapped.calibrate(frame.iloc[300:500], y[300:500])
    sets = wrapped.predict_set(frame.iloc[500:], labels=False, confidence=0.9, smoothing=False).astype(bool)
    assert set_coverage(y[500:], sets, clf.classes_) > 0.8


def test_mapie_wraps_a_classifier_of_a_mixed_table(mixed):
    classification = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    frame, y, clf = mixed
    mapie = classification.SplitConformalClassifier(
        OfAnyTable(clf), confidence_level=0.9, conformity_score="lac", prefit=True
    )
    mapie.conformalize(frame.iloc[300:500], y[300:500])
    sets = mapie.predict_set(frame.iloc[500:])[1][:, :, 0]
    assert set_coverage(y[500:], sets, clf.classes_) > 0.8


def test_one_row_is_a_series_that_names_the_features_or_a_frame(mixed):
    frame, _, clf = mixed
    series, one, polars = frame.iloc[5], frame.iloc[[5]], pl.from_pandas(frame)[5]
    asks = [clf.predict, clf.predict_proba, clf.predict_set, clf.novelty, clf.novelty_rank, clf.certified_radius]
    for ask in asks:
        expected = ask(one)
        for row in (series, series[::-1], polars):
            np.testing.assert_array_equal(ask(row), expected)
    for ask in (clf.explain, lambda x: clf.what_if(x, {"x0": 0.5}).after, lambda x: clf.certificate(x).radius):
        assert str(ask(series)) == str(ask(one)) == str(ask(polars)) == str(ask(series.to_dict()))
    with pytest.raises(ValueError, match=r"2-dimensional|2D"):
        clf.predict(pd.Series(series.tolist()))


def test_shap_explains_probabilities_of_numbers():
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    X = np.random.default_rng(0).normal(size=(120, 3))
    clf = FERLClassifier(random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    found = shap.Explainer(clf.predict_proba, X[:10])(X[:2], silent=True)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, clf.predict_proba(X[:2]), atol=1e-9)
