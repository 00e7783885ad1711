"""Decisions: labels by probability compared with frequency, at a threshold, and by what mistakes cost."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, recall_score
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import ferl.mlflow
import javascript
import oracle.answers
from browser import chromium, open_page
from cli_examples import ferl as command
from cli_examples import read_table, refused, write_lines, write_table
from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier, load_model, save_model
from ferl._cli.app import app
from ferl._learn.grow_rules import prior_of_all_rows
from ferl._models.decision import Decision
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.report import write_report
from ferl.report.page_form import decision_form, numbers
from ferl.streaming import predict_parquet
from oracle import rules as oracle_rules

VARIANTS = pytest.mark.parametrize("variant", ["rules", "deep", "medium", "words"])


@cache
def rare_table(n_rows: int = 4000):
    """One row in twenty is ill, and a few are odd."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 4))
    risk = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] + rng.normal(scale=0.8, size=n_rows)
    return X, np.where(risk > 2.35, "ill", np.where(X[:, 3] > 2.1, "odd", "well"))


@cache
def fitted(variant: str, **parameters) -> FERLClassifier:
    X, y = rare_table()
    return classifier(variant, max_rules=30, random_state=0, **parameters).fit(X[:2000], y[:2000])


@VARIANTS
def test_balanced_decisions_find_more_of_the_rare_classes(variant: str) -> None:
    X, y = rare_table()
    assert 0.03 < (y == "ill").mean() < 0.07
    clf = fitted(variant)
    usual, balanced = clf.predict(X[2000:]), clf.predict(X[2000:], decision="balanced")
    assert (usual == clf.predict(X[2000:], decision="probable")).all()
    assert balanced_accuracy_score(y[2000:], balanced) > balanced_accuracy_score(y[2000:], usual) + 0.05
    found = [recall_score(y[2000:], own, labels=["ill"], average=None)[0] for own in (usual, balanced)]
    assert found[1] > found[0] + 0.1


def test_the_frequencies_are_those_of_the_training_weights() -> None:
    X, y = rare_table()
    weight = np.where(y[:2000] == "ill", 3.0, 1.0)
    model = FERLTreeClassifier("medium", random_state=0).fit(X[:2000], y[:2000], weight).model_
    expected = [weight[y[:2000] == label].sum() for label in model.classes]
    np.testing.assert_allclose(model.class_frequency, np.array(expected) / weight.sum())


def test_rules_are_read_by_probability_and_trees_by_belief_over_frequency() -> None:
    X, y = rare_table()
    rows = X[:2000]  # where all gates are open
    frequency = np.array([(y[:2000] == label).mean() for label in ("ill", "odd", "well")])
    for variant, of in (("rules", "probability"), ("words", "probability"), ("deep", "belief")):
        clf = fitted(variant)
        lift = getattr(clf.predict_evidence(rows), of) / frequency
        assert (clf.predict(rows, decision="balanced") == clf.classes_[lift.argmax(axis=1)]).all()


@VARIANTS
def test_of_nothing_said_no_rare_class_is_made(variant: str) -> None:
    X, _ = rare_table()
    clf = fitted(variant)
    far = X[:5] + 100 * np.ptp(X, axis=0)
    assert clf.predict_set(far).all()
    assert (clf.predict(far, decision="balanced") == clf.predict(far)).all()


def test_half_closed_gates_compare_with_the_frequencies_too() -> None:
    clf = fitted("rules")
    asked = int(clf.model_.gated_columns[0])
    low, high = clf.model_.ranges[asked]
    row = np.zeros((1, 4))
    row[0, asked] = high + 0.5 * (high - low)
    lift = np.log(clf.predict_proba(row)) - np.log(clf.model_.class_frequency)
    assert clf.predict(row, decision="balanced")[0] == clf.classes_[lift[0].argmax()]


def test_after_balanced_weights_both_decisions_are_one() -> None:
    X, _ = rare_table()
    clf = fitted("rules", class_weight="balanced")
    np.testing.assert_allclose(clf.model_.class_frequency, 1 / 3)
    assert (clf.predict(X) == clf.predict(X, decision="balanced")).mean() > 0.999


def test_of_two_classes_it_is_the_threshold_at_the_frequency() -> None:
    X, y = rare_table()
    ill = y == "ill"
    clf = FERLClassifier(max_rules=20, random_state=0).fit(X[:2000], ill[:2000])
    fixed = FixedThresholdClassifier(clf, threshold=ill[:2000].mean(), pos_label=True).fit(X[:2000], ill[:2000])
    assert (fixed.predict(X[:2000]) == clf.predict(X[:2000], decision="balanced")).all()  # where all gates are open


@pytest.mark.parametrize("method", ["predict_proba", "decision_function"])
def test_scikit_learn_tunes_a_threshold(method: str) -> None:
    X, y = rare_table()
    ill = (y == "ill").astype(int)
    clf = FERLClassifier(max_rules=10, random_state=0)
    tuned = TunedThresholdClassifierCV(clf, scoring="balanced_accuracy", response_method=method, cv=2)
    tuned.fit(X[:2000], ill[:2000])
    usual = balanced_accuracy_score(ill[2000:], tuned.estimator_.predict(X[2000:]))
    assert balanced_accuracy_score(ill[2000:], tuned.predict(X[2000:])) > usual + 0.1


def test_files_are_judged_by_the_same_decision(tmp_path) -> None:
    X, y = rare_table()
    table = pa.table({f"x{j}": X[:, j] for j in range(4)})
    clf = FERLClassifier(max_rules=5, random_state=0).fit(table[:1000], y[:1000])
    expected = clf.predict(table, decision="balanced")
    source, model = tmp_path / "new.parquet", tmp_path / "model.json"
    pq.write_table(table, source)
    for wish in ("balanced", {("ill", "well"): 12}):
        predict_parquet(clf, source, tmp_path / "answers.parquet", decision=wish, guess=True)
        found = pq.read_table(tmp_path / "answers.parquet")["label"].to_pylist()
        assert found == clf.predict(table, decision=wish).tolist()
    save_model(clf, model)
    options = [
        "predict",
        str(model),
        str(source),
        "-o",
        str(tmp_path / "cli.parquet"),
        "--decision",
        "balanced",
        "--guess",
    ]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    answers = pq.read_table(tmp_path / "cli.parquet")
    assert answers["label"].to_pylist() == expected.tolist()
    chosen = clf.predict_proba(table)[np.arange(len(X)), np.searchsorted(clf.classes_, expected)]
    assert answers["probability"].to_numpy().tolist() == chosen.tolist()


def test_another_decision_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="decision is 'fair'; it must be 'probable', 'balanced', 'mild', a threshold"):
        fitted("rules").predict(rare_table()[0], decision="fair")
    with pytest.raises(ValueError, match="decision is 'fair'"):
        predict_parquet(fitted("rules"), tmp_path / "no.parquet", tmp_path / "out.parquet", decision="fair")


# ---------------------------------------------------------------------------------------------------------------------
# Laws of thresholds and costs
# ---------------------------------------------------------------------------------------------------------------------

COSTS = np.array([[0.0, 8.0, 20.0], [3.0, 0.0, 5.0], [1.0, 1.5, 0.0]])  # of ill, odd, well


@cache
def fitted_on_two(variant: str) -> FERLClassifier:
    X, y = rare_table()
    return classifier(variant, max_rules=20, random_state=0).fit(X[:2000], (y == "ill")[:2000])


@cache
def hard_rows():
    """Rows like those of training, and some where gates are half and fully closed."""
    X, _ = rare_table()
    return X[2000:3000] * np.random.default_rng(1).choice([1.0, 2.0, 100.0], (1000, 1), p=[0.8, 0.1, 0.1])


@VARIANTS
def test_labels_are_those_of_the_definition(variant: str) -> None:
    wishes = {"mild": ("power", 0.5), "balanced": ("power", 1.0), "probable": ("power", 0.0)}
    X = hard_rows()[:300]
    for clf, more in (
        (fitted(variant), (COSTS, ("costs", COSTS))),
        (fitted_on_two(variant), (0.1, ("threshold", 0.1))),
    ):
        found = oracle.answers.answer(clf.model_, X)
        for wish, definition in [*wishes.items(), more]:
            expected = oracle.answers.decide(clf.model_, found, definition)
            assert (clf.predict(X, decision=wish) == clf.classes_[expected]).mean() > 0.996, wish  # ties are rounded


@VARIANTS
def test_a_threshold_of_one_half_is_the_most_probable_of_two_classes(variant: str) -> None:
    clf, X = fitted_on_two(variant), hard_rows()
    is_tie = clf.predict_proba(X)[:, 1] == 0.5
    halved = clf.predict(X, decision=0.5)
    assert (halved == clf.predict(X))[~is_tie].all()
    assert halved[is_tie].all()  # from the threshold on it is the second class
    assert (clf.predict(X, decision=0.2) >= halved).all()
    np.testing.assert_array_equal(clf.predict(X, decision=0.2), clf.predict_proba(X)[:, 1] >= 0.2)


@VARIANTS
def test_costs_of_one_for_any_mistake_are_the_most_probable_class(variant: str) -> None:
    clf, X = fitted(variant), hard_rows()
    for scale in (1.0, 3.0, 1e-9):
        np.testing.assert_array_equal(clf.predict(X, decision=scale * (1 - np.eye(3))), clf.predict(X))


@VARIANTS
def test_costs_times_a_constant_or_beside_a_constant_for_a_true_class_change_nothing(variant: str) -> None:
    clf, X = fitted(variant), hard_rows()
    labels = clf.predict(X, decision=COSTS)
    assert (labels != clf.predict(X)).any()
    for other in (4 * COSTS, 1000 * COSTS, COSTS + np.array([[1.0], [0.0], [2.0]])):
        np.testing.assert_array_equal(clf.predict(X, decision=other), labels)


@VARIANTS
def test_balanced_is_costs_by_the_inverse_of_the_frequency_and_mild_by_its_root(variant: str) -> None:
    clf, X = fitted(variant), rare_table()[0][:2000]  # where all gates are open
    for name, power in (("balanced", 1.0), ("mild", 0.5)):
        costs = (1 - np.eye(3)) / clf.model_.class_frequency[:, None] ** power
        np.testing.assert_array_equal(clf.predict(X, decision=costs), clf.predict(X, decision=name))


@pytest.mark.parametrize("variant", ["rules", "words"])
def test_costs_of_two_classes_are_a_threshold(variant: str) -> None:
    clf, X = fitted_on_two(variant), hard_rows()
    costs = {(True, False): 7, (False, True): 1}
    np.testing.assert_array_equal(clf.predict(X, decision=costs), clf.predict(X, decision=1 / 8))


@VARIANTS
def test_mild_decisions_lie_between(variant: str) -> None:
    X, y = rare_table()
    clf = fitted(variant)
    n_well = [int((clf.predict(X[2000:], decision=name) == "well").sum()) for name in ("probable", "mild", "balanced")]
    assert n_well == sorted(n_well, reverse=True)
    assert n_well[0] > n_well[2]
    assert (y[2000:] == clf.predict(X[2000:], decision="mild")).mean() > (
        y[2000:] == clf.predict(X[2000:], decision="balanced")
    ).mean()


@VARIANTS
def test_costs_pay(variant: str) -> None:
    X, y = rare_table()
    clf = fitted(variant)
    spent = [
        (confusion_matrix(y[2000:], clf.predict(X[2000:], decision=wish), labels=clf.classes_) * COSTS).sum()
        for wish in (COSTS, "probable", "balanced")
    ]
    assert spent[0] < 0.7 * spent[1]
    assert spent[0] < 1.02 * spent[2]


def test_costly_classes_are_not_made_of_the_ignorance_of_trees() -> None:
    clf, X = fitted("deep"), rare_table()[0]
    costs = {("ill", "well"): 20}
    far = X[:5] + 100 * np.ptp(X, axis=0)
    assert (clf.predict(far, decision=costs) == clf.predict(far)).all()
    by_pignistic = 20 * clf.predict_proba(X)[:, 0] > clf.predict_proba(X)[:, 1:].max(axis=1)
    assert 0 < 1.5 * (clf.predict(X, decision=costs) == "ill").mean() < by_pignistic.mean()


NOWHERE = np.full((3, 4), 900.0)  # far from all training rows


@pytest.mark.parametrize("variant", ["rules", "deep", "medium", "compact", "words"])
def test_without_evidence_the_label_is_the_most_frequent_class(variant: str) -> None:
    X, y = rare_table()
    order = {"ill": "a", "odd": "b", "well": "c"}
    for names in (order, dict(zip(order, "zyx", strict=True))):
        labels = np.array([names[label] for label in y[:600]])
        clf = classifier(variant, max_rules=10, random_state=0).fit(X[:600], labels)
        usual = names["well"]
        assert clf.predict(NOWHERE).tolist() == [usual] * 3
        for decision in ("balanced", "mild"):
            assert clf.predict(NOWHERE, decision=decision).tolist() == [usual] * 3
        assert clf.predictor().predict(NOWHERE[0]) == usual
        assert clf.predict(NOWHERE, no_answer="?").tolist() == ["?"] * 3
        if variant != "words":
            from ferl.onnx import onnx_inputs, to_onnx
            from onnx_examples import run, session_of

            found = run(session_of(to_onnx(clf)), onnx_inputs(clf, NOWHERE))
            assert found["label"].tolist() == [usual] * 3


@pytest.mark.parametrize("variant", ["rules", "deep", "medium", "compact", "words"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_python_marks_the_rows_that_the_shell_leaves_empty(variant: str, form: str, tmp_path) -> None:
    X, y = rare_table()
    names = [f"x{j}" for j in range(4)]
    clf = classifier(variant, max_rules=10, random_state=0).fit(pd.DataFrame(X[:600], columns=names), y[:600])
    rows = pd.DataFrame(np.vstack([X[600:900], NOWHERE]), columns=names)
    save_model(clf, tmp_path / "model.json")
    path = tmp_path / f"rows.{form}"
    rows.to_csv(path, index=False) if form == "csv" else rows.to_parquet(path)
    for more, expected in ((["--guess"], clf.predict(rows)), ([], clf.predict(rows, no_answer=""))):
        command("predict", tmp_path / "model.json", path, "-o", tmp_path / "out.csv", *more)
        assert read_table(tmp_path / "out.csv")["label"] == expected.tolist()
    is_open = clf.predict_set(rows).all(axis=1)
    np.testing.assert_array_equal(clf.predict(rows, no_answer="") == "", is_open)


def test_markers_keep_the_type_of_labels_where_they_can() -> None:
    X, y = rare_table()
    clf = FERLClassifier(random_state=0).fit(X[:600], np.unique(y[:600], return_inverse=True)[1])
    assert clf.predict(NOWHERE, no_answer=-1).dtype.kind == "i"
    assert np.isnan(clf.predict(NOWHERE, no_answer=np.nan)).all()
    assert clf.predict(NOWHERE, no_answer="none").tolist() == ["none"] * 3
    for wrong, kind in ((0, "a class"), ([1], "not one value")):
        with pytest.raises(ValueError, match=f"no_answer is .*which is {kind}"):
            clf.predict(NOWHERE, no_answer=wrong)


@pytest.mark.parametrize("wish", ["mild", COSTS], ids=["mild", "costs"])
def test_labels_do_not_depend_on_batches_order_or_threads(wish) -> None:
    clf, X = fitted("rules"), hard_rows()
    labels, order = clf.predict(X, decision=wish), np.random.default_rng(0).permutation(len(X))
    np.testing.assert_array_equal(clf.predict(X[order], decision=wish), labels[order])
    single = [clf.predict(X[k : k + 1], decision=wish)[0] for k in range(100)]
    asked = clf.predictor()
    assert single == labels[:100].tolist() == [asked.predict(X[k], decision=wish) for k in range(100)]
    threaded = pickle.loads(pickle.dumps(clf)).set_params(n_jobs=2)
    np.testing.assert_array_equal(threaded.predict(X, decision=wish), labels)


# ---------------------------------------------------------------------------------------------------------------------
# Forms of decisions, and wrong ones
# ---------------------------------------------------------------------------------------------------------------------


def test_costs_by_name_are_those_of_the_matrix() -> None:
    clf, X = fitted("rules"), hard_rows()
    labels = clf.predict(X, decision=COSTS)
    pairs = {(t, p): COSTS[i, j] for i, t in enumerate(clf.classes_) for j, p in enumerate(clf.classes_)}
    nested = {t: {p: pairs[t, p] for p in clf.classes_ if p != t} for t in clf.classes_}
    frame = pd.DataFrame(COSTS, clf.classes_, clf.classes_).iloc[::-1, [1, 0, 2]]  # in another order
    for wish in (COSTS.tolist(), pairs, nested, frame, Decision.of(COSTS, clf.classes_)):
        np.testing.assert_array_equal(clf.predict(X, decision=wish), labels)
    left_out = clf.predict(X, decision={("ill", "well"): 20})
    others = 1 - np.eye(3)
    others[0, 2] = 20
    np.testing.assert_array_equal(left_out, clf.predict(X, decision=others))


@pytest.mark.parametrize("wish", ["probable", "balanced", "mild", 0.25, [[0.0, 2.0], [5.5, 1.0]]])
def test_a_decision_is_a_value_that_comes_back_from_its_plain_form(wish) -> None:
    classes = np.array(["no", "yes"])
    decision = Decision.of(wish, classes)
    assert decision.plain == wish
    assert Decision.of(json.loads(json.dumps(decision.plain)), classes) == decision
    assert Decision.read(wish if isinstance(wish, str) else json.dumps(wish), classes) == decision
    assert hash(pickle.loads(pickle.dumps(decision))) == hash(decision)


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        ("probable", "the most probable class"),
        ("mild", "the class that is most probable compared with the square root of its frequency in training"),
        (0.25, "yes where its probability is at least 0.25, else no"),
        (
            [[0, 2], [5, 0]],
            "the class of the least expected cost (no costs 5 where yes is true and yes costs 2 where no is true)",
        ),
    ],
)
def test_a_decision_in_words(wish, text: str) -> None:
    assert Decision.of(wish, np.array(["no", "yes"])).text(["no", "yes"]) == text


def test_many_costs_in_words_are_the_largest() -> None:
    classes = np.arange(5)
    text = Decision.of(np.arange(25).reshape(5, 5) * (1 - np.eye(5)), classes).text(classes)
    assert "3 costs 23 where 4 is true, 2 costs 22 where 4 is true" in text
    assert text.endswith(", and 16 more)")


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (0.5, "decision is 0.5; a threshold is for two classes, and there are 3"),
        (1.0, "decision is 1.0; a threshold must lie strictly between 0 and 1"),
        (float("nan"), "a threshold must lie strictly between 0 and 1"),
        (10**400, "a threshold must lie strictly between 0 and 1"),
        (True, "decision is True; it must be"),
        (None, "decision is None; it must be"),
        ("0.3", "decision is '0.3'; it must be"),
        ([[0, 1], [1, 0]], r"costs have the shape \(2, 2\); with 3 classes it must be \(3, 3\)"),
        ([[0, 1], [1]], "it must be .* costs by true and predicted class"),
        (-COSTS, "the cost of odd for a row of ill is -8; costs must be numbers from 0 up"),
        (np.where(COSTS > 8, np.nan, COSTS), "is nan; costs must be numbers from 0 up"),
        (COSTS + 30 * np.eye(3), "ill for a row of ill costs 30, more than odd for a row of ill, 8"),
        (np.ones((3, 3)), "costs are the same for every label"),
        ({("ill", "healthy"): 2}, "costs names the class 'healthy'; the classes are "),
        ({"ill": 2}, r"costs has the key 'ill'; each must be a pair \(true class, predicted class\)"),
        ({("ill", "odd"): "much"}, "the cost of odd for a row of ill is 'much'; it must be a number"),
        ({("ill", "odd"): None}, "the cost of odd for a row of ill is None; it must be a number"),
    ],
)
def test_a_wrong_decision_is_refused_with_what_is_wrong(wish, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        fitted("rules").predict(hard_rows(), decision=wish)
    with pytest.raises(ValueError, match=told):
        fitted("rules").predictor().predict(hard_rows()[0], decision=wish)


# ---------------------------------------------------------------------------------------------------------------------
# The same decision elsewhere
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wish", ["balanced", "mild", COSTS], ids=["balanced", "mild", "costs"])
def test_wrappers_decide_as_the_classifier_inside(wish) -> None:
    X, y = rare_table()
    clf, rows = fitted("rules"), hard_rows()
    expected = clf.predict(rows, decision=wish)
    conformal = ConformalFERL(clf).conformalize(X[2000:3000], y[2000:3000])
    np.testing.assert_array_equal(conformal.predict(rows, decision=wish), expected)
    controlled = RiskControlledFERL(clf, risk=0.03, decision=wish, random_state=0).calibrate(X[2000:], y[2000:])
    assert controlled.control_.decision == Decision.of(wish, clf.classes_)
    answered = controlled.accept(rows)
    assert 0 < answered.sum() < len(rows)
    np.testing.assert_array_equal(controlled.predict(rows)[answered], expected[answered])
    assert (
        controlled.predict_set(rows)[answered].argmax(axis=1) == np.searchsorted(clf.classes_, expected[answered])
    ).all()


def test_a_promise_on_errors_is_about_the_labels_of_its_decision() -> None:
    X, y = rare_table()
    clf, rows, truth = fitted("rules"), X[2000:], y[2000:]
    answered = {}
    for wish in ("probable", "balanced"):
        controlled = RiskControlledFERL(clf, risk=0.05, decision=wish, random_state=0).calibrate(rows, truth)
        answered[wish] = controlled.accept(rows)
        wrong = clf.predict(rows, decision=wish) != truth
        assert wrong[answered[wish]].mean() <= 0.05
    assert answered["probable"].all()  # so few of the most probable labels are wrong
    assert wrong.mean() > 0.1
    assert answered["balanced"].mean() < 0.95


def test_folds_that_lack_a_class_decide_among_the_others() -> None:
    X, y = rare_table()
    labels = np.where(y[:300] == "odd", "well", y[:300])
    labels[7] = "odd"  # once: the fold that is judged with it was fitted without
    costs = 1 - np.eye(3)
    costs[0, 2] = 5
    controlled = RiskControlledFERL(FERLClassifier(max_rules=5), risk=0.3, decision=costs, random_state=0)
    controlled.fit(X[:300], labels).calibrate(X[300:600], y[300:600])
    assert controlled.control_.decision == Decision.of(costs, controlled.classes_)
    classes = np.array(["no", "yes"])
    assert Decision.of(0.3, classes).among([1]).is_usual
    assert Decision.of([[0, 1], [2, 0]], classes).among([0]).costs == ((0.0,),)


def test_thresholds_and_costs_are_compared_with_calibrated_probabilities() -> None:
    X, y = rare_table()
    calibrated = CalibratedFERL(fitted_on_two("deep")).calibrate(X[2000:], (y == "ill")[2000:])
    probability = calibrated.predict_proba(hard_rows())
    labels = calibrated.predict(hard_rows(), decision=0.2)
    np.testing.assert_array_equal(labels, probability[:, 1] >= 0.2)
    assert (labels != calibrated.estimator_.predict(hard_rows(), decision=0.2)).any()
    by_costs = calibrated.predict(hard_rows(), decision=[[0, 1], [4, 0]])
    np.testing.assert_array_equal(by_costs, labels)
    assert (calibrated.predict(hard_rows()) == calibrated.estimator_.predict(hard_rows())).all()


def test_wrappers_of_pipelines_decide_by_their_last_step() -> None:
    X, y = rare_table()
    pipe = make_pipeline(StandardScaler(), FERLClassifier(max_rules=10, random_state=0)).fit(X[:1000], y[:1000])
    expected = pipe[-1].predict(pipe[0].transform(X), decision="balanced")
    conformal = ConformalFERL(pipe).conformalize(X[1000:2000], y[1000:2000])
    np.testing.assert_array_equal(conformal.predict(X, decision="balanced"), expected)
    calibrated = CalibratedFERL(pipe).calibrate(X[1000:2000], y[1000:2000])
    assert (calibrated.predict(X, decision="balanced") != calibrated.predict(X)).any()


def test_requests_to_mlflow_have_decisions_as_text() -> None:
    clf, rows = fitted("rules"), hard_rows()[:50]
    nested = {t: dict(zip(clf.classes_, own, strict=True)) for t, own in zip(clf.classes_, COSTS.tolist(), strict=True)}
    for wish, text in (("mild", "mild"), (COSTS, json.dumps(nested)), (COSTS, json.dumps(COSTS.tolist()))):
        answers = ferl.mlflow._Server(clf).predict(rows, {"decision": text, "guess": True})
        assert answers["label"].tolist() == clf.predict(rows, decision=wish).tolist()
    for text in ("best", "[" * 100_000):
        with pytest.raises(ValueError, match="decision is "):
            ferl.mlflow._Server(clf).predict(rows, {"decision": text})


def test_a_story_has_the_decided_label_beside_the_most_probable_one() -> None:
    clf, X = fitted_on_two("rules"), hard_rows()
    row = X[np.flatnonzero((clf.predict(X) != clf.predict(X, decision=0.05)) & ~clf.predict_set(X).all(axis=1))[0]]
    story = clf.explain(row, decision=0.05, counterfactual=False)
    assert (story.label, story.decided.label) == (False, True)
    assert story.to_dict()["decided"]["label"] is True
    assert "True, where the label is True where its probability is at least 0.05, else False." in " ".join(
        story.to_text().split()
    )
    assert story.to_text().startswith("False, 87 %.")
    details = replace(story, details=True).to_text()
    assert "All that follows is about False, the most probable class." in details
    assert "decided" not in clf.explain(row, counterfactual=False).to_dict()


DECIDE = """
({ model, rows, decision }) => {
  const engine = ferlEngine(model);
  return rows.map((row) => engine.decided(engine.judge(row.map(Number)), decision));
}
"""


@VARIANTS
def test_the_form_of_the_page_decides_as_python(variant: str) -> None:
    X = hard_rows()[:200]
    for clf, wishes in ((fitted(variant), ("mild", "balanced", COSTS)), (fitted_on_two(variant), (0.1,))):
        for wish in wishes:
            form = decision_form(Decision.of(wish, clf.classes_), clf.model_)
            task = {"model": javascript.page_form(clf.model_), "rows": numbers(X), "decision": form}
            found = clf.classes_[javascript.run(DECIDE, task)]
            np.testing.assert_array_equal(found, clf.predict(X, decision=wish))


def test_the_form_shows_the_label_of_the_decision(tmp_path) -> None:
    clf, X = fitted_on_two("rules"), hard_rows()
    differs = np.flatnonzero(clf.predict(X) != clf.predict(X, decision=0.05))[:1]
    with chromium() as browser:
        open_page(browser, write_report(clf, X[differs], path=tmp_path / "report.html", decision=0.05))
        assert browser.execute_script("return document.getElementById('decided').textContent") == "True"
        assert "By the decision of this page, the label" in browser.find_element("id", "verdict-note").text
        open_page(browser, write_report(clf, X[differs], path=tmp_path / "report.html"))
        assert browser.execute_script("return document.getElementById('decided')") is None


def test_the_report_counts_the_labels_of_the_decision(tmp_path) -> None:
    X, y = rare_table()
    clf = fitted("rules")
    labels = clf.predict(X[2000:], decision=COSTS)
    cost = (confusion_matrix(y[2000:], labels, labels=clf.classes_) * COSTS).sum() / 2000
    page = write_report(clf, X[2000:], y[2000:], tmp_path / "r.html", decision=COSTS).read_text(encoding="utf-8")
    right = f"{100 * (labels == y[2000:]).mean():.1f} % of the predictions are right"
    assert f"{right}. The mean cost of a row is {cost:.4g}" in page
    chosen = "Decision: the predicted class is the class of the least expected cost"
    assert f"{chosen} (well costs 20 where ill is true, " in page
    usual = write_report(clf, X[2000:], y[2000:], tmp_path / "r.html").read_text(encoding="utf-8")
    assert "Decision:" not in usual


# ---------------------------------------------------------------------------------------------------------------------
# The shell
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of two classes, rows, and files of costs."""
    folder = tmp_path_factory.mktemp("decisions")
    X, y = rare_table()
    names = [f"x{j}" for j in range(4)]
    labels = np.where(y == "ill", "yes", "no")
    for name, part in (("train", slice(0, 1500)), ("held_out", slice(1500, 2500)), ("new", slice(2500, 3500))):
        columns = dict(zip(names, X[part].T.tolist(), strict=True))
        write_table(folder / f"{name}.csv", columns | {"kind": labels[part].tolist()})
    command("fit", folder / "train.csv", "--target", "kind", "--set", "max_rules=8", "-o", folder / "model.json")
    write_lines(folder / "costs.csv", ",yes,no", "no,1,0", "yes,,9")
    write_lines(folder / "costs.json", '{"yes": {"no": 9}}')
    return folder


@pytest.mark.parametrize(
    ("option", "wish"),
    [
        ("mild", "mild"),
        ("0.2", 0.2),
        ("costs.csv", {("yes", "no"): 9}),
        ("costs.json", {("yes", "no"): 9}),
    ],
)
def test_commands_decide_as_python(folder, option: str, wish) -> None:
    clf = load_model(folder / "model.json")
    decision = ["--decision", folder / option if option.startswith("costs") else option]
    rows = [folder / "model.json", folder / "new.csv"]
    command("predict", *rows, *decision, "--guess", "-o", folder / "answers.csv")
    found = read_table(folder / "answers.csv")
    table = pd.DataFrame({f"x{j}": np.array(found[f"x{j}"], float) for j in range(4)})
    labels = clf.predict(table, decision=wish)
    assert found["label"] == labels.tolist()
    truth = np.array(found["kind"])
    told = command("evaluate", *rows, "--target", "kind", *decision).stdout
    assert f"decision           {Decision.of(wish, clf.classes_).text(clf.classes_)}" in told
    figures = json.loads(command("evaluate", *rows, "--target", "kind", *decision, "--json").stdout)
    assert figures["accuracy"] == pytest.approx((labels == truth).mean())
    assert figures["decision"] == Decision.of(wish, clf.classes_).plain
    if option.startswith("costs"):
        cost = (9 * ((truth == "yes") & (labels == "no")) + ((truth == "no") & (labels == "yes"))).mean()
        assert figures["cost"] == pytest.approx(cost)
        assert figures["cost_of_one_class"] == pytest.approx(min(9 * (truth == "yes").mean(), (truth == "no").mean()))
        assert f"test cost          {cost:.4g} a row; always predicting one class costs at least" in told
    story = command("explain", *rows, "--row", 1, *decision, "--plain").stdout
    assert f"{labels[0]}, where the label is" in " ".join(story.split())
    command("report", *rows, "--target", "kind", *decision, "-o", folder / "report.html")
    assert "Decision: the predicted class is" in (folder / "report.html").read_text(encoding="utf-8")


def test_a_promise_on_errors_keeps_its_decision_in_the_calibration_file(folder) -> None:
    calibrate = ["calibrate", folder / "model.json", folder / "held_out.csv", "--target", "kind"]
    told = command(*calibrate, "--risk", 0.2, "--decision", "0.2", "-o", folder / "calibration.json").stdout
    assert "decision       yes where its probability is at least 0.2, else no" in told
    assert json.loads((folder / "calibration.json").read_text())["abstention"]["decision"] == 0.2
    predict = ["predict", folder / "model.json", folder / "new.csv", "--guess", "-o", folder / "answers.csv"]
    command(*predict, "--calibration", folder / "calibration.json")
    kept = read_table(folder / "answers.csv")["label"]
    command(*predict, "--decision", "0.2")
    assert read_table(folder / "answers.csv")["label"] == kept
    told = refused(*predict, "--calibration", folder / "calibration.json", "--decision", "mild")
    assert "for another label: yes where its probability is at least 0.2, else no. Leave --decision out" in told
    form = json.loads((folder / "calibration.json").read_text())
    for wrong in ([[0, 1]], "fair", 2, [[[1]]], [[0, 10**400], [1, 0]]):
        form["abstention"]["decision"] = wrong
        (folder / "damaged.json").write_text(json.dumps(form))
        assert "abstention.decision" in refused(*predict, "--calibration", folder / "damaged.json")
    for option in (["--decision", "mild"], ["--decision", "mild", "--risk", 0.2, "--probabilities", "temperature"]):
        assert "--decision mild" in refused(*calibrate, *option, "-o", folder / "no.json")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([",yes,no", "yes,0,much"], "has the cost 'much'; costs must be numbers"),
        ([",yes,maybe", "yes,0,1"], "a class in wrong.csv is 'maybe'; the classes are no, yes"),
        ([",yes,no", "yes,0"], "wrong.csv must have a header with the predicted classes"),
        ([""], "wrong.csv must have a header with the predicted classes"),
        ([",yes,no", "yes,0,-1"], "the cost of no for a row of yes is -1"),
    ],
)
def test_a_wrong_file_of_costs_is_refused(folder, lines: list[str], told: str) -> None:
    write_lines(folder / "wrong.csv", *lines)
    rows = [folder / "model.json", folder / "new.csv"]
    assert told in refused("predict", *rows, "--decision", folder / "wrong.csv", "-o", folder / "no.csv")


def test_other_wrong_decisions_are_refused_by_commands(folder) -> None:
    rows = [folder / "model.json", folder / "new.csv"]
    write_lines(folder / "wrong.json", '{"yes": 3}')
    write_lines(folder / "damaged.json", '{"yes": ')
    for option, told in (
        ("fair", "--decision is fair; it must be probable, balanced or mild, a threshold such as 0.3, or a .csv or"),
        ("1.5", "a threshold must lie strictly between 0 and 1"),
        (folder / "missing.csv", "No such file"),
        (folder / "wrong.json", 'wrong.json must be {"true": {"predicted": cost}}'),
        (folder / "damaged.json", "damaged.json: "),
    ):
        for name in ("predict", "report"):
            assert told in refused(name, *rows, "--decision", option, "-o", folder / "no.html")


# ---------------------------------------------------------------------------------------------------------------------
# Frequencies after a sample that favours rare classes
# ---------------------------------------------------------------------------------------------------------------------


def test_the_prior_of_a_sample_becomes_that_of_all_rows() -> None:
    prior, sampled, total = np.array([1.0, -0.25, -0.75]), np.array([500.0, 40.0, 60.0]), np.array([9e4, 50.0, 700.0])
    found = prior_of_all_rows(prior, sampled, total)
    np.testing.assert_allclose(found, oracle_rules.prior_of_all_rows(prior, sampled, total), rtol=1e-12)
    assert found.sum() == pytest.approx(0, abs=1e-12)
    assert prior_of_all_rows(prior, sampled, 3 * sampled) is prior
    lacking = prior_of_all_rows(prior, np.array([5.0, 0.0, 5.0]), np.array([5.0, 0.0, 5.0]))
    assert lacking is prior


def test_probabilities_after_a_sample_are_those_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = (np.arange(20_000) < 100).astype(int)
    X[:100, 0] += 1.5
    clf = FERLClassifier(growth_rows=1000, max_rules=5, random_state=0).fit(X, y)
    assert clf.n_growth_rows_ < 1200
    assert clf.predict_proba(X)[:, 1].mean() == pytest.approx(0.005, rel=0.3)  # 0.035 by the frequencies of the sample
