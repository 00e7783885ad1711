"""Two classifiers on the same rows: measures, intervals, rows and features, for any classifiers and in the shell."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.svm import LinearSVC
from typer.testing import CliRunner

from ferl import FERLClassifier, FERLTreeClassifier, compare, save_model
from ferl._cli.app import app
from ferl.metrics.two_models import NORMAL_95, auc_components


def tumours():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    names = np.array(["malignant", "benign"])[y]
    return X[::2], names[::2], X[1::2], names[1::2]


def models(X, y):
    return [
        FERLClassifier(random_state=0).fit(X, y),
        FERLTreeClassifier(random_state=0).fit(X, y),
        RandomForestClassifier(20, random_state=0).fit(X, y),
        DummyClassifier().fit(X, y),
    ]


def test_measures_are_those_of_scikit_learn_and_counts_add_up():
    X, y, X_test, y_test = tumours()
    rules, tree, forest, dummy = models(X, y)
    for a, b in ((rules, tree), (forest, rules), (dummy, tree)):
        found = compare(a, b, X_test, y_test)
        figures = {own.measure: own for own in found.measures}
        assert list(figures) == ["accuracy", "AUC", "log-loss"]
        for side, own in (("a", a), ("b", b)):
            p = own.predict_proba(X_test)
            assert getattr(figures["accuracy"], side) == pytest.approx(accuracy_score(y_test, own.predict(X_test)))
            assert getattr(figures["AUC"], side) == pytest.approx(roc_auc_score(y_test, p[:, 1]))
            assert getattr(figures["log-loss"], side) == pytest.approx(log_loss(y_test, p))
        assert found.n_both + found.n_only_a + found.n_only_b + found.n_neither == found.n_rows == len(y_test)
        assert found.n_changed == (a.predict(X_test) != b.predict(X_test)).sum()
        for own in found.measures:
            assert own.difference == pytest.approx(own.b - own.a)
            assert own.low <= own.difference <= own.high
        other_way = compare(b, a, X_test, y_test)
        assert [own.difference for own in other_way.measures] == pytest.approx(
            [-own.difference for own in found.measures]
        )
        assert [own.low for own in other_way.measures] == pytest.approx([-own.high for own in found.measures])


def test_three_classes_have_the_mean_of_one_against_the_others():
    X, y = load_iris(return_X_y=True)
    a, b = FERLClassifier(random_state=0).fit(X[::2], y[::2]), LogisticRegression(max_iter=500).fit(X[::2], y[::2])
    auc = {own.measure: own for own in compare(a, b, X[1::2], y[1::2]).measures}["AUC"]
    assert auc.a == pytest.approx(roc_auc_score(y[1::2], a.predict_proba(X[1::2]), multi_class="ovr"))
    assert auc.b == pytest.approx(roc_auc_score(y[1::2], b.predict_proba(X[1::2]), multi_class="ovr"))


def test_intervals_are_those_of_a_paired_bootstrap():
    X, y, X_test, y_test = tumours()
    rules, tree, forest, _ = models(X, y)
    rng = np.random.default_rng(0)
    for a, b in ((rules, tree), (tree, forest)):
        found = {own.measure: own for own in compare(a, b, X_test, y_test).measures}
        p = [own.predict_proba(X_test) for own in (a, b)]
        drawn = {"accuracy": [], "AUC": [], "log-loss": []}
        for _ in range(600):
            rows = rng.integers(0, len(y_test), len(y_test))
            labels = y_test[rows]
            scores = [
                (
                    accuracy_score(labels, rules.classes_[own[rows].argmax(axis=1)]),
                    roc_auc_score(labels, own[rows, 1]),
                    log_loss(labels, own[rows]),
                )
                for own in p
            ]
            for name, before, after in zip(drawn, *scores, strict=True):
                drawn[name].append(after - before)
        for name, values in drawn.items():
            width = found[name].high - found[name].low
            assert width == pytest.approx(2 * NORMAL_95 * np.std(values), rel=0.25, abs=1e-9)


def test_intervals_of_equal_classifiers_miss_zero_as_rarely_as_they_promise():
    """Two noisy copies of one score: their AUC and accuracy differ by chance alone."""
    rng, n, missed = np.random.default_rng(0), 300, 0
    for _ in range(400):
        truth = (rng.random(n) < 0.4).astype(int)
        signal = truth + rng.normal(size=n)
        parts = [auc_components(truth, np.stack([-own, own], axis=1)) for own in signal + 0.7 * rng.normal(size=(2, n))]
        apart = parts[1] - parts[0]
        missed += abs(apart.mean()) > NORMAL_95 * apart.std(ddof=1) / np.sqrt(n)
    assert 0.02 <= missed / 400 <= 0.09


def test_rows_and_features_are_where_they_differ_most():
    X, y, X_test, y_test = tumours()
    a, b = FERLClassifier(random_state=0).fit(X, y), FERLClassifier(max_rules=4, random_state=1).fit(X, y)
    found = compare(a, b, X_test, y_test, n_rows=5)
    apart = np.abs(a.predict_proba(X_test) - b.predict_proba(X_test)).max(axis=1)
    assert [own.row for own in found.rows] == np.argsort(-apart, kind="stable")[:5].tolist()
    for own in found.rows:
        assert own.truth == y_test[own.row]
        assert own.label_a == a.predict(X_test.iloc[[own.row]])[0]
        column = a.classes_.tolist().index(own.truth)
        assert own.probability_b == pytest.approx(b.predict_proba(X_test.iloc[[own.row]])[0, column])
    parts = [own.feature_contributions(X_test)[:, :-1] for own in (a, b)]
    towards = [own[..., 1] - own[..., 0] for own in parts]
    centred = [own - own.mean(axis=0) for own in towards]
    for own in found.features:
        k = X.columns.get_loc(own.feature)
        assert own.a == pytest.approx(np.abs(centred[0][:, k]).mean())
        assert own.difference == pytest.approx(np.abs(centred[1][:, k] - centred[0][:, k]).mean())
    assert [own.difference for own in found.features] == sorted(
        (own.difference for own in found.features), reverse=True
    )
    assert compare(a, models(X, y)[2], X_test, y_test).features is None
    assert all(own.difference == 0 for own in compare(a, a, X_test, y_test).features)


def test_a_comparison_is_text_html_and_json():
    X, y, X_test, y_test = tumours()
    rules, tree, _, dummy = models(X, y)
    found = compare(rules, dummy, X_test, y_test, names=("champion", "<challenger>"))
    text = str(found)
    assert found.summary.startswith("champion is better by accuracy, AUC and log-loss.")
    assert "paired differences" in text
    assert "&lt;challenger&gt;" in found.to_html()
    form = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert form["measures"][0]["better"] == "a"
    assert form["summary"] == found.summary
    assert "No difference" in compare(tree, tree, X_test, y_test).summary


def test_classes_in_another_order_are_aligned():
    X, y, X_test, y_test = tumours()

    class Turned:
        """The same classifier with its classes the other way round."""

        def __init__(self, inner):
            self.inner, self.classes_ = inner, inner.classes_[::-1]

        def predict(self, X):
            return self.inner.predict(X)

        def predict_proba(self, X):
            return self.inner.predict_proba(X)[:, ::-1]

    clf = FERLClassifier(random_state=0).fit(X, y)
    found = compare(clf, Turned(clf), X_test, y_test)
    assert found.n_changed == 0
    assert all(own.difference == pytest.approx(0) for own in found.measures)


def test_mistakes_are_named():
    X, y, X_test, y_test = tumours()
    clf = FERLClassifier(random_state=0).fit(X, y)
    other = FERLClassifier(random_state=0).fit(X[:40], y[:40] == "benign")
    for call, error, match in (
        (lambda: compare(clf, LinearSVC().fit(X, y), X_test, y_test), TypeError, "LinearSVC without predict_proba"),
        (lambda: compare(clf, clf, X_test, y_test[:3]), ValueError, "y has shape"),
        (lambda: compare(clf, clf, X_test, np.where(y_test == "benign", "x", y_test)), ValueError, "y holds 'x'"),
        (lambda: compare(clf, clf, X_test, y_test, names=("a", "a")), ValueError, "two different names"),
        (lambda: compare(clf, clf, X_test, y_test, n_rows=-1), ValueError, "n_rows is -1"),
        (
            lambda: compare(clf, other, X_test, y_test),
            ValueError,
            "same classes",
        ),
    ):
        with pytest.raises(error, match=match):
            call()


def test_the_shell_compares_two_files(tmp_path):
    X, y, X_test, y_test = tumours()
    champion = FERLClassifier(random_state=0).fit(X[X.columns[:12]], y)
    challenger = FERLTreeClassifier(random_state=0).fit(X[X.columns[5:]], y)
    for name, clf in (("champion", champion), ("challenger", challenger)):
        save_model(clf, tmp_path / f"{name}.json")
    X_test.assign(kind=y_test).to_csv(tmp_path / "rows.csv", index=False)
    arguments = ["compare", *(str(tmp_path / own) for own in ("champion.json", "challenger.json", "rows.csv"))]
    shown = CliRunner().invoke(app, [*arguments, "--target", "kind", "--html", str(tmp_path / "page.html")])
    assert shown.exit_code == 0, shown.output
    assert "Measures on 284 rows" in shown.output
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    form = json.loads(CliRunner().invoke(app, [*arguments, "--target", "kind", "--json"]).stdout)
    accuracy = form["measures"][0]
    assert accuracy["a"] == pytest.approx(champion.score(X_test[X.columns[:12]], y_test))
    assert accuracy["b"] == pytest.approx(challenger.score(X_test[X.columns[5:]], y_test))
    same = CliRunner().invoke(app, ["compare", arguments[1], arguments[1], arguments[3], "--target", "kind"])
    assert same.exit_code == 2
    assert "compared with itself" in same.stderr
