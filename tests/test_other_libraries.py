"""Other libraries around a classifier of a mixed table, and one row in whatever form it comes."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

from estimators import classifier
from ferl import CertifiedCache, FERLClassifier, NoveltyDetector
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.export import reason_codes
from ferl.interop import PlainClassifier
from ferl.metrics import set_coverage
from ferl.plot import plot_contributions, plot_evidence, plot_novelty
from table_examples import mixed_table


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
        PlainClassifier(clf), confidence_level=0.9, conformity_score="lac", prefit=True
    )
    mapie.conformalize(frame.iloc[300:500], y[300:500])
    sets = mapie.predict_set(frame.iloc[500:])[1][:, :, 0]
    assert set_coverage(y[500:], sets, clf.classes_) > 0.8


def test_mapie_fits_a_classifier_of_a_mixed_table_itself(mixed):
    classification = pytest.importorskip("mapie.classification", reason="MAPIE is not installed")
    frame, y, _ = mixed
    mapie = classification.SplitConformalClassifier(
        PlainClassifier(FERLClassifier(max_rules=10, random_state=0)), confidence_level=0.9, prefit=False
    )
    mapie.fit(frame.iloc[:300], y[:300]).conformalize(frame.iloc[300:500], y[300:500])
    sets = mapie.predict_set(frame.iloc[500:])[1][:, :, 0]
    assert set_coverage(y[500:], sets, np.unique(y)) > 0.8


def rows_of(frame, index):
    """One row in the forms that say by themselves that they are one."""
    polars = pl.from_pandas(frame)
    named = polars.row(index, named=True)
    return [frame.iloc[index], frame.iloc[index][::-1], named, polars[index], polars.slice(index, 1)]


def asks(clf, fitted):
    """Every public call that takes rows, by its name."""
    names = (
        "predict predict_proba predict_set predict_evidence decision_function contributions feature_contributions "
        "support_deficit novelty novelty_rank novelty_attribution certified_radius __call__"
    )
    found = {name: getattr(clf, name) for name in names.split() if hasattr(clf, name)}
    found["predict_evidence"] = lambda x: clf.predict_evidence(x).belief
    found["balanced"] = lambda x: clf.predict(x, decision="balanced")
    for name, ask in fitted.items():
        found[name] = ask
    return found


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_every_call_takes_one_row_in_every_form(mixed, variant):
    frame, y, _ = mixed
    clf = classifier(variant, max_rules=12, random_state=0).fit(frame.iloc[:300], y[:300])
    held, labels = frame.iloc[300:], y[300:]
    # All take the classifier as it is: fitting clones of it, and of folds, would be twenty fits.
    conformal = ConformalFERL(clf).conformalize(held, labels)
    risk = RiskControlledFERL(clf, risk=0.4, random_state=0).calibrate(held, labels)
    calibrated = CalibratedFERL(clf).calibrate(held, labels)
    detector = NoveltyDetector(clf, cv="prefit").fit(held)
    fitted = {
        "conformal": conformal.predict_set,
        "risk": risk.predict,
        "calibrated": calibrated.predict_proba,
        "p value": detector.p_values,
        "cache": CertifiedCache(clf).predict,
        "plain": PlainClassifier(clf).predict_proba,
        "reasons": lambda x: str(reason_codes(clf, x)) if variant == "rules" else "",
    }
    for name, ask in asks(clf, fitted).items():
        expected = ask(frame.iloc[[5]])
        for row in rows_of(frame, 5):
            np.testing.assert_array_equal(ask(row), expected, err_msg=f"{name} of a {type(row).__name__}")
    told = [clf.explain, lambda x: clf.what_if(x, {"x0": 0.5}).after, lambda x: clf.certificate(x).radius]
    told += [lambda x: clf.explain(x).changes]
    for ask in told:
        assert len({str(ask(row)) for row in [frame.iloc[[5]], *rows_of(frame, 5)]}) == 1
    draws = [plot_evidence, plot_novelty] + [plot_contributions] * (variant == "rules")
    for draw in draws:
        titles = {_texts(draw(clf, row)) for row in [frame.iloc[[5]], *rows_of(frame, 5)]}
        plt.close("all")
        assert len(titles) == 1


def _texts(ax):
    return tuple(text.get_text() for text in [*ax.get_yticklabels(), ax.title, ax._left_title])


def test_a_series_without_names_may_be_a_column_and_is_a_row_only_where_one_row_is_asked_for():
    X = np.random.default_rng(0).normal(size=(80, 3))
    clf = FERLClassifier(max_rules=5, random_state=0).fit(X, X[:, 0] > 0)
    for row in (pd.DataFrame(X).iloc[0], pl.Series(X[0])):
        assert str(clf.explain(row)) == str(clf.explain(X[0]))
        np.testing.assert_array_equal(clf.predictor().predict_proba(row), clf.predict_proba(X[:1])[0])
    column = X[:3, 0]  # as long as a row
    for given in (X[0], column, pd.Series(column), pl.Series(column), pd.Series(X[0], index=list("abc"))):
        with pytest.raises(ValueError, match=r"2-dimensional|2D|1D"):
            clf.predict(given)


def test_a_series_that_does_not_name_the_features_is_refused(mixed):
    frame, _, clf = mixed
    with pytest.raises(ValueError, match=r"2-dimensional|2D"):
        clf.predict(pd.Series(frame.iloc[5].tolist()))


def test_shap_explains_a_classifier_of_numbers(monkeypatch):
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")  # SHAP's loops are few here, and compiling them takes eight seconds
    shap = pytest.importorskip("shap", reason="SHAP is not installed")
    X = np.random.default_rng(0).normal(size=(120, 3))
    clf = FERLClassifier(max_rules=8, random_state=0).fit(X, (X[:, 0] > 0).astype(int))
    found = shap.Explainer(clf, X[:10])(X[:2], silent=True)
    np.testing.assert_allclose(found.values.sum(axis=1) + found.base_values, clf.predict_proba(X[:2]), atol=1e-9)
