"""ferl inside scikit-learn's tools, a web service and MLflow; the gallery of integrations runs as it stands."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ferl
import ferl.mlflow
from ferl import FERLClassifier, FERLTreeClassifier, ModelFileError
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL
from ferl.export import reason_codes

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples" / "integrations").glob("plot_*.py"))
NEEDS = {
    "plot_fastapi_service": ("fastapi", "httpx2"),
    "plot_mlflow_model": ("mlflow", "sqlalchemy"),
    "plot_skops_file": ("skops",),
}


def few_rules(n: int = 6) -> FERLClassifier:
    return FERLClassifier(max_rules=n, random_state=0)


def need(*packages: str) -> None:
    """Skip the test where a package is absent, and say which."""
    for name in packages:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.filterwarnings("default:::mlflow")  # what MLflow says of itself and of pandas
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_of_integrations_run(example: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    need(*NEEDS.get(example.stem, ()))
    matplotlib.use("Agg")
    monkeypatch.setattr(sys, "path", list(sys.path))  # an example may add to it
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed
    assert "same bits: False" not in printed


# ---------------------------------------------------------------------------------------------------------------------
# scikit-learn
# ---------------------------------------------------------------------------------------------------------------------


def test_a_tuned_threshold_cuts_the_probability_of_the_classifier_inside() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5]
    tuned = TunedThresholdClassifierCV(few_rules(), scoring="balanced_accuracy", cv=2).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1
    expected = tuned.estimator_.predict_proba(X)[:, 1] >= tuned.best_threshold_
    np.testing.assert_array_equal(tuned.predict(X), expected.astype(int))


def test_a_frozen_classifier_is_not_fitted_again_and_keeps_its_readings() -> None:
    X, y = load_iris(return_X_y=True)
    fitted = few_rules().fit(X, y)
    frozen = FrozenEstimator(fitted)
    frozen.fit(X[:100], y[:100])
    np.testing.assert_array_equal(frozen.classes_, [0, 1, 2])
    np.testing.assert_array_equal(frozen.predict_evidence(X).belief, fitted.predict_evidence(X).belief)
    np.testing.assert_array_equal(frozen.novelty(X), fitted.novelty(X))


@pytest.mark.parametrize("wrapper", [ConformalFERL, CalibratedFERL])
def test_wrappers_take_a_frozen_classifier_as_it_is(wrapper: Any) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = few_rules().fit(X[::2], y[::2])
    wrapped = wrapper(FrozenEstimator(fitted)).fit(X[::2][:20], y[::2][:20])
    later = wrapped.conformalize if wrapper is ConformalFERL else wrapped.calibrate
    later(X[1::2], y[1::2])
    np.testing.assert_array_equal(wrapped.estimator_.predict_proba(X), fitted.predict_proba(X))
    assert wrapped.predict_set(X).shape == (150, 3)


def test_routed_weights_are_repeated_rows_to_the_last_bit() -> None:
    X, y = load_iris(return_X_y=True)
    weight = 1.0 + np.arange(150) % 3
    with sklearn.config_context(enable_metadata_routing=True):
        scale = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scale, few_rules().set_fit_request(sample_weight=True)).fit(X, y, sample_weight=weight)
    index = np.repeat(np.arange(150), weight.astype(int))
    scaled = scale.fit_transform(X)
    np.testing.assert_array_equal(pipe.predict_proba(X), few_rules().fit(scaled[index], y[index]).predict_proba(scaled))


def test_weights_that_nobody_asked_for_are_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), few_rules())
        with pytest.raises(UnsetMetadataPassedError, match=r"FERLClassifier\.fit"):
            pipe.fit(X, y, sample_weight=np.ones(150))


def test_searches_and_cross_validation_route_weights_and_decisions() -> None:
    X, y = load_iris(return_X_y=True)
    weight = np.where(y == 2, 4.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        clf = few_rules().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(clf, {"max_rules": [3]}, cv=2).fit(X, y, sample_weight=weight)
        direct = few_rules(3).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(search.predict_proba(X), direct.predict_proba(X))
        scores = cross_validate(clf, X, y, params={"sample_weight": weight}, cv=2)["test_score"]
        assert (scores > 0.8).all()
        pipe = make_pipeline(StandardScaler(), few_rules(2).set_predict_request(decision=True)).fit(X[25:], y[25:])
        inner = pipe[-1].predict(pipe[0].transform(X), decision="balanced")
        np.testing.assert_array_equal(pipe.predict(X, decision="balanced"), inner)


def test_a_wrapper_hands_routed_weights_to_the_classifier_inside() -> None:
    X, y = load_iris(return_X_y=True)
    weight = 1.0 + np.arange(150) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        wrapper = ConformalFERL(few_rules().set_fit_request(sample_weight=True)).set_fit_request(sample_weight=True)
        scale = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scale, wrapper).fit(X, y, sample_weight=weight)
    direct = few_rules().fit(scale.transform(X), y, sample_weight=weight)
    np.testing.assert_array_equal(pipe[-1].estimator_.predict_proba(X), direct.predict_proba(X))


# ---------------------------------------------------------------------------------------------------------------------
# A web service
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed() -> tuple[pd.DataFrame, Any, FERLClassifier]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(size=200), "kind": rng.choice(["a", "b"], 200), "is_new": rng.random(200) < 0.5}
    )
    y = np.where(table["size"] + (table["kind"] == "a") + 0.3 * rng.normal(size=200) > 0.5, "yes", "no")
    return table, y, few_rules(10).fit(table, y)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Any:
    need("fastapi", "httpx2")
    spec = importlib.util.spec_from_file_location("service", ROOT / "examples" / "service" / "service.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "service", module)
    spec.loader.exec_module(module)
    return module


def test_the_service_answers_as_the_classifier_does(mixed: Any, service: Any) -> None:
    from fastapi.testclient import TestClient

    table, _, clf = mixed
    client = TestClient(service.create_app(clf))
    rows = table.head(40)
    found = client.post("/answers", json=rows.to_dict("records")).json()
    evidence, sets = clf.predict_evidence(rows), clf.predict_set(rows)
    for c in range(2):
        for name, expected in (("belief", evidence.belief), ("plausibility", evidence.plausibility)):
            np.testing.assert_array_equal([own["support"][c][name] for own in found], expected[:, c])
        np.testing.assert_array_equal([own["support"][c]["in_set"] for own in found], sets[:, c])
    np.testing.assert_allclose([own["novelty"] for own in found], clf.novelty(rows), rtol=1e-12)
    labels = np.where(sets.all(axis=1), None, clf.predict(rows))
    assert [own["label"] for own in found] == labels.tolist()
    best = clf.predict_proba(rows).argmax(axis=1)
    for i, own in enumerate(found):
        expected = reason_codes(clf, rows.iloc[[i]], 4, positive=clf.classes_[1 - best[i]])[0]
        assert [reason["name"] for reason in own["reasons"]] == [reason.name for reason in expected]
    alone = client.post("/answers?reasons=0", json=rows.head(1).to_dict("records")).json()[0]
    assert alone["reasons"] == []


def test_the_service_abstains_on_what_it_has_never_seen_and_names_it(mixed: Any, service: Any) -> None:
    from fastapi.testclient import TestClient

    client = TestClient(service.create_app(mixed[2]))
    answer = client.post("/answers", json=[{"size": 1e6, "kind": "z"}]).json()[0]  # is_new is missing
    assert answer["label"] is None
    assert answer["prediction_set"] == ["no", "yes"]
    assert answer["unusual"][0]["feature"] == "size"
    assert "size" in client.post("/explanation", json={"size": 1e6, "kind": "z"}).json()["text"]


@pytest.mark.parametrize(
    ("rows", "status", "said"),
    [
        ([{"sice": 1.0}], 422, "sice"),
        ([{"size": "large"}], 422, "size"),
        ([{"kind": 3}], 422, "kind"),
        ([], 422, "0 rows"),
        ([{"size": 1.0}] * 1001, 413, "1001 rows"),
    ],
)
def test_the_service_refuses_what_it_does_not_understand(
    rows: list[dict[str, Any]], status: int, said: str, mixed: Any, service: Any
) -> None:
    from fastapi.testclient import TestClient

    refused = TestClient(service.create_app(mixed[2])).post("/answers", json=rows)
    assert refused.status_code == status
    assert said in refused.text


def test_the_schema_of_the_service_is_made_from_the_table(mixed: Any, service: Any) -> None:
    from fastapi.testclient import TestClient

    client = TestClient(service.create_app(mixed[2]))
    row = client.get("/openapi.json").json()["components"]["schemas"]["Row"]
    assert row["additionalProperties"] is False
    kinds = {name: own["anyOf"][0]["type"] for name, own in row["properties"].items()}
    assert kinds == {"size": "number", "kind": "string", "is_new": "boolean"}
    assert client.get("/model").json()["n_rules"] == mixed[2].n_rules_


@pytest.fixture
def coded() -> tuple[pd.DataFrame, FERLClassifier]:
    """A table of dates, times with and without a zone, ordered categories and categories that are numbers."""
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 400, 200), "D")
    times = days + pd.to_timedelta(rng.integers(1, 1000, 200), "min")
    table = pd.DataFrame(
        {
            "day": days,
            "time": times,
            "moment": times.tz_localize("UTC"),
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], 200), ["low", "mid", "high"], ordered=True),
            "stage": pd.Categorical(rng.choice([1, 2, 5], 200), [1, 2, 5], ordered=True),
            "code": pd.Categorical(rng.choice([3, 7], 200)),
            "size": rng.normal(size=200),
        }
    )
    late = (days > "2021-07-01").astype(int) + (table["grade"] == "high") + table["size"]
    return table, few_rules(12).fit(table, np.where(late > 0.8, "yes", "no"))


def test_the_service_takes_dates_and_ordered_categories_as_people_write_them(coded: Any, service: Any) -> None:
    from fastapi.testclient import TestClient

    table, clf = coded
    client = TestClient(service.create_app(clf))
    rows = table.head(20).assign(day=table["day"].dt.strftime("%Y-%m-%d")).to_dict("records")
    for row in rows:
        row.update(time=row["time"].isoformat(), moment=row["moment"].isoformat())
    found = client.post("/answers", json=rows)
    assert found.status_code == 200, found.text
    probability = [[own["probability"] for own in answer["support"]] for answer in found.json()]
    np.testing.assert_array_equal(probability, clf.predict_proba(table.head(20)))
    nothing = client.post("/answers", json=[{}]).json()[0]
    assert {own["value"] for own in nothing["unusual"]} <= {None}
    story = client.post("/explanation", json=rows[0]).json()["text"]
    assert story == str(clf.explain(table.head(1)))
    far = client.post("/answers", json=[{**rows[0], "day": "1960-02-03"}]).json()[0]
    assert "1960-02-03" in [own["value"] for own in far["unusual"]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ('{"day": 18628.0}', "write a date as 2019-03-01"),
        ('{"day": 86400}', "write a date as 2019-03-01"),
        ('{"day": "soon"}', "valid date"),
        ('{"time": "2021-01-01T10:00Z"}', "should not have timezone"),
        ('{"moment": "2021-01-01T10:00"}', "should have timezone"),
        ('{"grade": 2.0}', "'low', 'mid' or 'high'"),
        ('{"grade": "huge"}', "'low', 'mid' or 'high'"),
        ('{"stage": 3}', "1, 2 or 5"),
        ('{"code": "a"}', "valid number"),
        ('{"size": 1e999}', "finite number"),
        ('{"size": NaN}', "finite number"),
    ],
)
def test_the_service_refuses_values_that_are_not_of_the_columns_kind(
    row: str, said: str, coded: Any, service: Any
) -> None:
    from fastapi.testclient import TestClient

    client = TestClient(service.create_app(coded[1]))
    for address, body in (("/answers", f"[{row}]"), ("/explanation", row)):
        refused = client.post(address, content=body, headers={"Content-Type": "application/json"})
        assert refused.status_code == 422
        assert said in refused.text


def test_what_the_library_refuses_is_the_fault_of_the_request(mixed: Any, service: Any) -> None:
    from fastapi import HTTPException

    with pytest.raises(HTTPException, match="Column 'size' holds infinity") as refused:
        service.read(mixed[2], mixed[0].head(2).assign(size=np.inf))
    assert refused.value.status_code == 422


def test_reasons_of_the_service_are_log_odds_of_the_best_class_against_the_second(service: Any) -> None:
    from fastapi.testclient import TestClient

    X, y = load_iris(return_X_y=True)
    clf = few_rules(12).fit(X, y)
    client = TestClient(service.create_app(clf))
    rows = [dict(zip(("x0", "x1", "x2", "x3"), row, strict=True)) for row in X[::7].tolist()]
    probability, all_rows = clf.predict_proba(X[::7]), np.log(clf.predict_proba(X))
    n_pairs = set()
    for row, own, answer in zip(X[::7], probability, client.post("/answers?reasons=20", json=rows).json(), strict=True):
        second, best = np.argsort(own)[1:]
        n_pairs.add((best, second))
        against = reason_codes(clf, row[None], 20, positive=second, rival=best)[0]
        assert [reason["weight"] for reason in answer["reasons"]] == [reason.lost for reason in against]
        # What speaks for the best class less what speaks against it: log-odds, compared with the average row's.
        away = reason_codes(clf, row[None], 20, positive=best, rival=second)[0]
        told = sum(reason.lost for reason in against) - sum(reason.lost for reason in away)
        average = (all_rows[:, best] - all_rows[:, second]).mean()
        assert told == pytest.approx(np.log(own[best] / own[second]) - average, abs=1e-6)
    assert len(n_pairs) >= 3


def test_the_service_serves_a_model_of_one_class_and_one_without_names(service: Any) -> None:
    from fastapi.testclient import TestClient

    X = load_iris().data[:50]
    answer = TestClient(service.create_app(few_rules().fit(X, ["a"] * 50))).post("/answers", json=[{"x0": 5.0}]).json()
    assert (answer[0]["label"], answer[0]["reasons"]) == ("a", [])
    rows = [[own, "red" if own > 5 else "blue"] for own in X[:, 0].tolist()]
    clf = few_rules().fit(rows, X[:, 0] > 5)
    client = TestClient(service.create_app(clf))
    answers = client.post("/answers", json=[{"x0": own, "x1": word} for own, word in rows]).json()
    np.testing.assert_array_equal([own["support"][1]["probability"] for own in answers], clf.predict_proba(rows)[:, 1])


def test_the_service_refuses_models_without_reasons(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="a FERLTreeClassifier; reasons need rules"):
        service.create_app(FERLTreeClassifier("medium", random_state=0).fit(X, y))
    monkeypatch.delenv("FERL_MODEL", raising=False)
    with pytest.raises(ValueError, match="FERL_MODEL"):
        service.create_app()


# ---------------------------------------------------------------------------------------------------------------------
# MLflow
# ---------------------------------------------------------------------------------------------------------------------


def test_mlflow_reasons_of_three_classes_are_about_the_wished_one() -> None:
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names
    for labels, wished in ((y, 2), (y, "2"), (names[y], "virginica")):
        clf = few_rules().fit(X, labels)
        answers = ferl.mlflow._Server(clf).predict(X[:5], {"reasons": 2, "wished": wished})
        expected = reason_codes(clf, X[:5], 2, positive=clf.classes_[2])
        assert answers["reason_1"].tolist() == [own[0].text for own in expected]
        assert "reason_3" not in answers


def test_mlflow_reasons_of_three_classes_speak_by_default_for_the_label() -> None:
    X, y = load_iris(return_X_y=True)
    clf = few_rules().fit(X, y)
    for decision in ("probable", "balanced"):
        answers = ferl.mlflow._Server(clf).predict(X[::10], {"reasons": 1, "decision": decision})
        labels = clf.predict(X[::10], decision=decision)
        for row, label, text in zip(X[::10], labels, answers["reason_1"], strict=True):
            others = np.where(clf.classes_ == label, -1, clf.predict_proba(row[None])[0])
            reason = reason_codes(clf, row[None], 1, positive=others.argmax(), rival=label)[0][0].text
            assert text == reason.replace("below average", f"for {label}")


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"reasons": 1, "wished": "3"}, "wished is '3'; it must be one of the classes, [0, 1, 2]"),
        ({"wished": "2"}, "reasons is 0: wished is about reasons"),
        ({"reasons": 1_000_000_000, "wished": "2"}, "reasons is 1000000000; it must be from 0 to 4"),
        ({"reasons": 5, "wished": "2"}, "from 0 to 4, the number of features"),
        ({"reasons": -1}, "reasons is -1; it must be from 0 to 4"),
        ({"reasons": True}, "reasons is True; it must be a whole number"),
        ({"reasons": "2"}, "reasons is '2'; it must be a whole number"),
        ({"reasons": 1.5}, "reasons is 1.5; it must be a whole number"),
        ({"guess": "false"}, "guess is 'false'; it must be true or false"),
        ({"guess": 1}, "guess is 1; it must be true or false"),
        ({"decision": 1}, "decision is 1; it must be text"),
        ({"decision": "best"}, "decision is 'best'; it must be 'probable', 'balanced', 'mild', a threshold"),
        ({"colour": 1}, "Unknown parameter 'colour'; there are decision, guess, reasons, wished"),
    ],
)
def test_mlflow_requests_are_refused_by_name(params: dict[str, Any], said: str) -> None:
    X, y = load_iris(return_X_y=True)
    server = ferl.mlflow._Server(few_rules().fit(X, y))
    with pytest.raises(ValueError, match=r"^.*") as refused:
        server.predict(X[:2], params)
    assert said in str(refused.value)


def test_mlflow_takes_numbers_of_numpy_in_requests() -> None:
    X, y = load_iris(return_X_y=True)
    server = ferl.mlflow._Server(few_rules().fit(X, y))
    answers = server.predict(X[:2], {"reasons": np.int64(4), "guess": np.True_, "wished": np.int64(1)})
    assert "reason_4" in answers
    assert answers["label"].notna().all()


def test_mlflow_reads_the_file_that_the_description_names_and_none_elsewhere(tmp_path: Path) -> None:
    folder, outside = tmp_path / "model", tmp_path / "outside.json"
    folder.mkdir()
    outside.write_text("{}")
    (folder / "link.json").symlink_to(outside)
    assert ferl.mlflow._file_of(folder, "data/other.json") == folder.resolve() / "data" / "other.json"
    for data in ("../outside.json", str(outside), "data/../../outside.json", "link.json"):
        with pytest.raises(ModelFileError, match="which is not in this folder"):
            ferl.mlflow._file_of(folder, data)
    for nothing in (None, "", 3):
        with pytest.raises(ModelFileError, match="names no file"):
            ferl.mlflow._file_of(folder, nothing)


def test_without_mlflow_an_error_says_how_to_get_it(
    mixed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)
    for call in (
        lambda: ferl.mlflow.save_model(mixed[2], tmp_path / "model"),
        lambda: ferl.mlflow.log_model(mixed[2]),
        lambda: ferl.mlflow.load_model(tmp_path / "model"),
    ):
        with pytest.raises(ImportError, match=r'ferl\.mlflow needs mlflow.*: pip install "ferl\[mlflow\]"'):
            call()


@pytest.mark.filterwarnings("default")  # those of MLflow about itself and its schemas
def test_mlflow_gives_the_classifier_and_its_answers_back(mixed: Any, tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason='mlflow is not installed: pip install "ferl[mlflow]"')
    table, _, clf = mixed
    ferl.mlflow.save_model(clf, tmp_path / "model", input_example=table.head(5))
    back = ferl.mlflow.load_model(tmp_path / "model")
    np.testing.assert_array_equal(back.predict_proba(table), clf.predict_proba(table))
    served = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    answers = served.predict(table, params={"guess": True, "reasons": 1, "wished": "no"})
    evidence = clf.predict_evidence(table)
    np.testing.assert_array_equal(answers["label"], clf.predict(table))
    np.testing.assert_array_equal(answers["belief(yes)"], evidence.belief[:, 1])
    np.testing.assert_array_equal(answers["plausibility(no)"], evidence.plausibility[:, 0])
    np.testing.assert_array_equal(answers["ignorance"], evidence.ignorance)
    texts = [own[0].text if own else None for own in reason_codes(clf, table, 1, positive="no")]
    assert answers["reason_1"].where(answers["reason_1"].notna(), None).tolist() == texts
    silent = served.predict(table)["label"].isna()
    np.testing.assert_array_equal(silent, clf.predict_set(table).all(axis=1))
    description = tmp_path / "model" / "MLmodel"
    (tmp_path / "model" / "data" / "model.json").rename(tmp_path / "model" / "data" / "other.json")
    description.write_text(description.read_text().replace("data/model.json", "data/other.json"))
    moved = ferl.mlflow.load_model(tmp_path / "model")
    np.testing.assert_array_equal(moved.predict_proba(table), clf.predict_proba(table))
    assert "ferl[mlflow]==" in (tmp_path / "model" / "requirements.txt").read_text()
    ferl.mlflow.save_model(clf, tmp_path / "bare", pip_requirements=[])
    assert "ferl" not in (tmp_path / "bare" / "requirements.txt").read_text()


@pytest.mark.filterwarnings("default")
def test_mlflow_models_of_other_flavours_are_refused_by_name(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow", reason='mlflow is not installed: pip install "ferl[mlflow]"')

    class Constant(mlflow.pyfunc.PythonModel):  # type: ignore[misc, name-defined]
        def predict(self, context: Any, model_input: list[str], params: Any = None) -> list[str]:
            return model_input

    mlflow.pyfunc.save_model(str(tmp_path / "model"), python_model=Constant(), pip_requirements=["mlflow"])
    with pytest.raises(ValueError, match="has the flavours python_function, not 'ferl'"):
        ferl.mlflow.load_model(tmp_path / "model")
