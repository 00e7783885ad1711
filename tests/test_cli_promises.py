"""ferl calibrate, predict --calibration, evaluate, certify, drift and update, as a user types them."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

from cli_examples import ferl, noisy, read_table, refused, write_table
from ferl import FERLClassifier, NoveltyDetector, load_model
from ferl._judge.promises import calibration_from_form
from ferl._models.form import ModelFileError
from ferl.abstention import RiskControlledFERL
from ferl.calibration import CalibratedFERL
from ferl.conformal import ConformalFERL

ALPHA = 0.2


def frame(rows):
    return pa.table({name: rows[name] for name in ("x", "group")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model, rows to calibrate on, new rows, and calibrations."""
    folder = tmp_path_factory.mktemp("promises")
    for seed, name in enumerate(("train", "held_out", "new")):
        write_table(folder / f"{name}.csv", noisy(300, seed))
    fit = ["fit", folder / "train.csv", "--target", "kind", "--set", "max_rules=10"]
    ferl(*fit, "-o", folder / "model.json")
    command = ["calibrate", folder / "model.json", folder / "held_out.csv", "--target", "kind", "--alpha", ALPHA]
    ferl(*command, "--risk", 0.3, "--probabilities", "isotonic", "-o", folder / "all.json")
    ferl(*command, "--score", "aps", "--class-conditional", "-o", folder / "by_class.json")
    return folder


@pytest.fixture(scope="module")
def answers(folder):
    """What ferl predict writes with all that was calibrated."""
    out = folder / "answers.csv"
    options = ["--calibration", folder / "all.json", "--radius", "--all", "-o", out]
    ferl("predict", folder / "model.json", folder / "new.csv", *options)
    return read_table(out)


def members(sets, classes):
    return ["|".join(label for label, inside in zip(classes, own, strict=True) if inside) for own in sets]


@pytest.mark.parametrize("name", ["all", "by_class"])
def test_sets_are_those_of_conformal_prediction(folder, name):
    model, held_out = load_model(folder / "model.json"), noisy(300, 1)
    settings = {} if name == "all" else {"nonconformity": "aps", "class_conditional": True}
    wrapper = ConformalFERL(model, **settings).conformalize(frame(held_out), np.array(held_out["kind"]))
    for alpha in (ALPHA, 0.05):
        out = folder / "sets.csv"
        options = ["--calibration", folder / f"{name}.json", "--guess", "-o", out]
        options += [] if alpha == ALPHA else ["--alpha", alpha]
        ferl("predict", folder / "model.json", folder / "new.csv", *options)
        sets = wrapper.predict_set(frame(noisy(300, 2)), alpha=alpha)
        assert read_table(out)["set"] == members(sets, model.classes_)


def test_labels_are_those_that_the_promise_on_errors_answers(folder, answers):
    model, held_out = load_model(folder / "model.json"), noisy(300, 1)
    wrapper = RiskControlledFERL(model, risk=0.3, random_state=0)
    wrapper.calibrate(frame(held_out), np.array(held_out["kind"]))
    expected = ["" if own is None else own for own in wrapper.predict(frame(noisy(300, 2)))]
    assert answers["label"] == expected
    assert 0 < expected.count("") < 300
    assert [own == "" for own in answers["probability"]] == [own == "" for own in expected]


def test_probabilities_p_values_and_radii_are_those_of_python(folder, answers):
    model, held_out, new = load_model(folder / "model.json"), noisy(300, 1), frame(noisy(300, 2))
    moved = CalibratedFERL(model, method="isotonic").calibrate(frame(held_out), np.array(held_out["kind"]))
    told = np.array([answers[f"probability({label})"] for label in model.classes_], dtype=float).T
    assert np.allclose(told, moved.predict_proba(new), rtol=0, atol=1e-15)
    detector = NoveltyDetector(model, cv="prefit").fit(frame(held_out))
    assert np.array(answers["novelty_p"], dtype=float).tolist() == detector.p_values(new).tolist()
    spread = np.sqrt(model.tree_.profile.total_variance)
    radius = model.certified_radius(new, scale=spread)
    answered = np.array([label != "" for label in answers["label"]])
    assert np.array(answers["radius"])[answered].astype(float).tolist() == radius[answered].tolist()


def test_novelty_alone_needs_no_labels(folder, tmp_path):
    ferl("calibrate", folder / "model.json", folder / "held_out.csv", "-o", tmp_path / "c.json")
    ferl(
        "predict",
        folder / "model.json",
        folder / "new.csv",
        "--calibration",
        tmp_path / "c.json",
        "-o",
        tmp_path / "o.csv",
    )
    p_values = np.array(read_table(tmp_path / "o.csv")["novelty_p"], dtype=float)
    assert ((p_values > 0) & (p_values <= 1)).all()
    told = refused(
        "calibrate", folder / "model.json", folder / "held_out.csv", "--risk", 0.1, "-o", tmp_path / "d.json"
    )
    assert "need labels: name their column with --target" in told


def test_evaluate_tells_whether_promises_are_kept(folder):
    command = ["evaluate", folder / "model.json", folder / "new.csv", "--target", "kind"]
    told = ferl(*command, "--calibration", folder / "all.json").stdout
    figures = json.loads(ferl(*command, "--calibration", folder / "all.json", "--json").stdout)
    assert f"{figures['set_coverage']:.1%} hold the true class" in told
    assert figures["set_coverage"] > 1 - ALPHA - 0.1
    assert figures["errors_among_answers"] < 0.3
    assert figures["baseline"] < figures["accuracy"]
    assert set(figures["recall"]) == {"high", "low", "mid"}


def test_what_cannot_be_promised_is_said(folder, tmp_path):
    model, held_out = folder / "model.json", folder / "held_out.csv"
    command = ["calibrate", model, held_out, "--target", "kind", "-o", tmp_path / "c.json"]
    assert "Not promised: at most 2 % errors" in ferl(*command, "--risk", 0.02).stdout
    out = tmp_path / "o.csv"
    ferl("predict", model, folder / "new.csv", "--calibration", tmp_path / "c.json", "-o", out)
    assert set(read_table(out)["label"]) == {""}
    assert "needs at least 999 calibration rows" in refused(*command, "--alpha", 0.001)
    assert "--alpha is 2; it must lie between 0 and 1" in refused(*command, "--alpha", 2)
    told = refused("predict", model, folder / "new.csv", "--alpha", 0.1, "-o", out)
    assert "there are no calibrated sets. Run ferl calibrate" in told


def test_a_calibration_belongs_to_one_model(folder, tmp_path):
    ferl("update", folder / "model.json", folder / "held_out.csv", "--target", "kind", "-o", tmp_path / "later.json")
    options = ["--calibration", folder / "all.json", "-o", tmp_path / "o.csv"]
    assert "belongs to another model" in refused("predict", tmp_path / "later.json", folder / "new.csv", *options)
    assert not (tmp_path / "o.csv").exists()
    # Whatever else does not fit: another model may have other classes.
    form = json.loads((folder / "all.json").read_text())
    form["model"], form["sets"]["classes"][0] = "0" * 64, 17
    (tmp_path / "other.json").write_text(json.dumps(form))
    options = ["--calibration", tmp_path / "other.json", "-o", tmp_path / "o.csv"]
    assert "belongs to another model" in refused("predict", folder / "model.json", folder / "new.csv", *options)


def _changed(form, path, value):
    *before, last = path
    for key in before:
        form = form[key]
    form[last] = value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "pickle"),
        (["version"], 2),
        (["model"], 7),
        (["n_rows"], 299),
        (["n_rows"], True),
        (["extra"], 1),
        (["novelty", 3], "nan"),
        (["novelty", 0], 1e9),
        (["sets", "score"], "os.system"),
        (["sets", "alpha"], 2.0),
        (["sets", "scores"], [0.1]),
        (["sets", "scores", 0], None),
        (["sets", "classes", 0], 3),
        (["sets", "class_conditional"], "yes"),
        (["abstention", "threshold"], "high"),
        (["abstention", "signal"], "learned"),
        (["abstention", "n_errors"], 10**6),
        (["abstention", "met"], 1),
        (["probabilities"], {"temperature": 0.0, "sharing": 0.5}),
        (["probabilities", "share"], []),
        (["probabilities", "value", 0], -1.0),
        (["probabilities", "sharing"], "inf"),
        (["probabilities"], [1]),
    ],
)
def test_a_calibration_file_is_untrusted_input(folder, path, value):
    form = json.loads((folder / "all.json").read_text())
    classes = np.array(["high", "low", "mid"])
    calibration_from_form(form, classes)
    _changed(form, path, value)
    with pytest.raises(ModelFileError):
        calibration_from_form(form, classes)


def test_a_calibration_file_that_is_none_is_one_line(folder, tmp_path):
    for content in ("", "[]", "{" * 50, '{"format": "ferl-calibration", "format": 1}', "NaN"):
        (tmp_path / "c.json").write_text(content)
        options = ["--calibration", tmp_path / "c.json", "-o", tmp_path / "o.csv"]
        assert "c.json: " in refused("predict", folder / "model.json", folder / "new.csv", *options)


def test_certify_tells_the_certificate_of_a_row_in_spreads(folder):
    model = load_model(folder / "model.json")
    expected = model.certificate(frame(noisy(300, 2)).slice(4, 1), scale="spread")
    told = ferl("certify", folder / "model.json", folder / "new.csv", "--row", 5).stdout
    assert told.startswith(str(expected))
    assert "Standard deviations over the training rows: x " in told


def test_update_goes_on_as_partial_fit_does_and_drift_changes_nothing(folder, tmp_path):
    before = (folder / "model.json").read_bytes()
    command = [folder / "model.json", folder / "held_out.csv", "--target", "kind"]
    figures = json.loads(ferl("drift", *command, "--json").stdout)
    assert (folder / "model.json").read_bytes() == before
    model, held_out = load_model(folder / "model.json"), noisy(300, 1)
    model.partial_fit(frame(held_out), np.array(held_out["kind"]))
    assert figures["z"] == model.drift_.z
    assert repr(model.drift_) in ferl("update", *command, "-o", tmp_path / "later.json").stdout
    later = load_model(tmp_path / "later.json")
    assert isinstance(later, FERLClassifier)
    new = frame(noisy(300, 2))
    assert later.predict_proba(new).tolist() == model.predict_proba(new).tolist()


def test_labels_that_the_model_does_not_know_count_as_missed_and_stop_an_update(folder, tmp_path):
    rows = noisy(60, 5)
    rows["kind"][:3] = ["other", "", "low"]
    table = write_table(tmp_path / "t.csv", rows)
    result = ferl("evaluate", folder / "model.json", table, "--target", "kind", "--json")
    assert json.loads(result.stdout)["n_rows"] == 59
    assert "1 rows have no 'kind'" in result.stderr
    told = ferl("update", folder / "model.json", table, "--target", "kind", "-o", tmp_path / "m.json", code=2).stderr
    assert "1 rows have a label such as 'other', which is no class of the model" in told


@pytest.mark.parametrize("command", ["evaluate", "calibrate", "certify", "drift", "update"])
def test_help_has_an_example(command):
    assert f"Example: ferl {command} model.json" in " ".join(ferl(command, "--help").stdout.split())
