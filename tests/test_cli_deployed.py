"""What ferl evaluate and ferl report judge is what ferl predict gives out; and rows without an answer say why."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from cli_examples import ferl, noisy, read_table, refused, write_table
from ferl import load_model
from ferl.conformal import ConformalFERL

KINDS = ("no", "yes")
N_ROWS = 300
REASONS = {
    "all_classes": "every class stays possible",
    "no_evidence": "no rule says anything",
    "risk": "the promise on errors does not cover their answer",
    "novelty": "they are too novel for the promise on errors",
    "no_promise": "the promise on errors could not be made",
}


def rare(n_rows, seed):
    """Rows of two kinds, of which one is rare."""
    rows, noise = noisy(n_rows, seed, kinds=KINDS), np.random.default_rng(seed + 100).normal(scale=0.7, size=n_rows)
    return rows | {"kind": np.where(np.array(rows["x"]) + noise > 1.4, "yes", "no").tolist()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of a rare class, and calibrations with and without a promise on errors."""
    folder = tmp_path_factory.mktemp("deployed")
    for seed, name in enumerate(("train", "held_out", "new")):
        write_table(folder / f"{name}.csv", rare(N_ROWS, seed))
    fit = ["fit", folder / "train.csv", "--target", "kind", "--set", "max_rules=8"]
    ferl(*fit, "-o", folder / "model.json")
    command = ["calibrate", folder / "model.json", folder / "held_out.csv", "--target", "kind"]
    ferl(*command, "--alpha", 0.05, "-o", folder / "sets.json")
    ferl(*command, "--risk", 0.05, "-o", folder / "margin.json")
    told = ferl(*command, "--risk", 0.09, "--signal", "novelty", "-o", folder / "novelty.json").stdout
    assert re.search(r"Rows with novelty of at most [\d.]+ are answered", told)
    ferl(*command, "--risk", 0.03, "--signal", "novelty", "-o", folder / "unmet.json")
    return folder


def answers(folder, *options):
    result = ferl("predict", folder / "model.json", folder / "new.csv", *options, "-o", folder / "answers.csv")
    return read_table(folder / "answers.csv"), result.stderr


@pytest.mark.parametrize("name", [None, "sets", "margin"])
@pytest.mark.parametrize("decision", ["probable", "balanced"])
def test_what_is_evaluated_is_what_is_deployed(folder, name, decision):
    options = ["--decision", decision] + ([] if name is None else ["--calibration", folder / f"{name}.json"])
    evaluate = ["evaluate", folder / "model.json", folder / "new.csv", "--target", "kind", *options]
    if name == "margin" and decision == "balanced":
        told = refused(*evaluate)
        assert "promises an error rate (calibrate --risk) for another label: the most probable class. Leave" in told
        assert told == refused("predict", folder / "model.json", folder / "new.csv", *options, "-o", folder / "no.csv")
        return
    figures = json.loads(ferl(*evaluate, "--json").stdout)
    found, _ = answers(folder, *options, "--guess")
    truth, label = np.array(found["kind"]), np.array(found["label"])
    abstains = np.array(found["abstention"]) != ""
    inside = [own in members.split("|") for own, members in zip(truth, found["set"], strict=True)]
    assert figures["decision"] == decision
    assert figures["accuracy"] == pytest.approx((label == truth).mean())
    assert figures["abstentions"] == pytest.approx(abstains.mean())
    recall = {kind: (label == truth)[truth == kind].mean() for kind in KINDS}
    assert figures["recall"] == pytest.approx(recall)
    assert figures["mean_recall"] == pytest.approx(np.mean(list(recall.values())))
    if name is not None:
        by_class = {kind: np.array(inside)[truth == kind].mean() for kind in KINDS}
        assert figures["set_coverage"] == pytest.approx(np.mean(inside))
        assert figures["set_coverage_by_class"] == pytest.approx(by_class)
        assert f"sets by class      no {by_class['no']:.1%} of" in ferl(*evaluate).stdout
    if name == "margin":
        assert figures["errors_among_answers"] == pytest.approx((label != truth)[~abstains].mean())


def test_balanced_decisions_are_told_by_mean_recall(folder):
    evaluate = ["evaluate", folder / "model.json", folder / "new.csv", "--target", "kind"]
    probable = ferl(*evaluate)
    balanced = ferl(*evaluate, "--decision", "balanced")
    assert "mean recall" not in probable.stdout
    assert re.search(r"test mean recall +[\d.]+%; always predicting one class gives 50.0%", balanced.stdout)
    assert "no better" not in balanced.stderr
    report = ["report", folder / "model.json", folder / "new.csv", "--target", "kind", "-o", folder / "report.html"]
    figures = json.loads(ferl(*evaluate, "--decision", "balanced", "--json").stdout)
    ferl(*report, "--decision", "balanced")
    page = (folder / "report.html").read_text(encoding="utf-8")
    right = f"{100 * figures['accuracy']:.1f} % of the predictions are right"
    mean = f"The mean recall of the classes is {100 * figures['mean_recall']:.1f} %"
    assert f"{right}. {mean} (always predicting one class: 50.0 %)" in page
    assert "Decision: the predicted class is the class that is most probable compared with its frequency" in page
    ferl(*report)
    assert "mean recall" not in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (None, "all_classes"),
        ("sets", "all_classes"),
        ("margin", "risk"),
        ("novelty", "novelty"),
        ("unmet", "no_promise"),
    ],
)
def test_rows_without_a_label_say_why_and_are_counted_by_reason(folder, name, word):
    options = [] if name is None else ["--calibration", folder / f"{name}.json"]
    found, told = answers(folder, *options)
    assert [label == "" for label in found["label"]] == [why != "" for why in found["abstention"]]
    counts = Counter(why for why in found["abstention"] if why)
    assert set(counts) <= {word, "no_evidence"}
    assert counts[word]
    for why, n_rows in counts.items():
        rows = "1 row" if n_rows == 1 else f"{n_rows} rows"
        assert f"{rows} ({n_rows / N_ROWS:.1%}) ha{'s' if n_rows == 1 else 've'} no label: {REASONS[why]}" in told
        assert f"(abstention: {why})" in told
    guessed, told = answers(folder, *options, "--guess")
    assert guessed["abstention"] == found["abstention"]
    assert "" not in guessed["label"]
    assert "guessed" in told
    assert "no label" not in told


def test_a_row_that_no_rule_speaks_of_has_no_evidence(folder):
    table = write_table(folder / "far.csv", {"x": [0.0, 1e9], "group": ["a", "b"]})
    ferl("predict", folder / "model.json", table, "-o", folder / "far_out.csv")
    found = read_table(folder / "far_out.csv")
    assert found["abstention"] == ["", "no_evidence"]
    assert found["ignorance"][1] == "1"


def test_the_probability_of_every_class_is_there_for_two_classes_and_for_rows_that_abstain(folder):
    found, _ = answers(folder, "--probabilities")
    assert list(found)[-2:] == ["probability(no)", "probability(yes)"]
    rows = pa.table({name: rare(N_ROWS, 2)[name] for name in ("x", "group")})
    expected = load_model(folder / "model.json").predict_proba(rows)
    assert np.array([found[f"probability({kind})"] for kind in KINDS], dtype=float).T.tolist() == expected.tolist()
    assert "" in found["probability"]


@pytest.mark.parametrize("options", [[], ["--class-conditional"], ["--score", "aps"]])
def test_calibrate_tells_how_often_sets_of_left_out_rows_hold_each_class(folder, tmp_path, options):
    rows = rare(60, 7)
    table = write_table(tmp_path / "t.csv", rows)
    command = ["calibrate", folder / "model.json", table, "--target", "kind", "--alpha", 0.2, *options]
    told = ferl(*command, "-o", tmp_path / "c.json").stdout
    settings = {"class_conditional": True} if "--class-conditional" in options else {}
    settings |= {"nonconformity": "aps"} if "aps" in options else {"nonconformity": "probability"}
    X, y = pa.table({name: rows[name] for name in ("x", "group")}), np.array(rows["kind"])
    inside = []
    for row in range(len(y)):
        others = np.delete(np.arange(len(y)), row)
        wrapper = ConformalFERL(load_model(folder / "model.json"), **settings).conformalize(X.take(others), y[others])
        inside.append(wrapper.predict_set(X.slice(row, 1), alpha=0.2)[0, KINDS.index(y[row])])
    by_class = {kind: np.array(inside)[y == kind] for kind in KINDS}
    expected = ", ".join(f"{kind} {own.mean():.1%} of {len(own)}" for kind, own in by_class.items())
    assert f"sets by class  {expected} (each row tested with sets from the other rows)" in told


def test_a_class_that_sets_miss_too_often_is_told_with_the_remedy(folder, tmp_path):
    command = ["calibrate", folder / "model.json", folder / "held_out.csv", "--target", "kind", "--alpha", 0.1]
    noted = ferl(*command, "-o", tmp_path / "c.json").stderr
    assert re.search(
        r"note: the guarantee of 90% is for all rows together; .* where it is yes \([\d.]+% of 22 rows\)", noted
    )
    assert "--class-conditional" in noted
    assert "note" not in ferl(*command, "--class-conditional", "-o", tmp_path / "c.json").stderr


def test_certify_does_not_prove_a_guess_unless_asked(folder):
    row = next(row for row, why in enumerate(answers(folder)[0]["abstention"], start=1) if why)
    label = answers(folder, "--guess")[0]["label"][row - 1]
    command = ["certify", folder / "model.json", folder / "new.csv", "--row", row]
    told = ferl(*command).stdout
    assert told.startswith(f"No answer for row {row}: every class stays possible, ")
    assert f"Add --guess for the proof of {label}, " in told
    assert "spreads" not in told
    assert ferl(*command, "--guess").stdout.startswith(f"The label stays {label} ")


def test_certify_says_why_there_is_no_answer_as_predict_does(folder, tmp_path):
    rows = rare(3, 0)
    write_table(tmp_path / "far.csv", rows | {"x": [1e6] * 3})
    predict = ferl("predict", folder / "model.json", tmp_path / "far.csv", "-o", tmp_path / "o.csv")
    why = "no training row supports an answer"
    assert f"3 rows (100.0%) have no label: {why} (abstention: no_evidence)" in predict.stderr
    told = ferl("certify", folder / "model.json", tmp_path / "far.csv", "--row", 2).stdout
    assert told.startswith(f"No answer for row 2: {why}, so that there is no label to prove.")


def test_what_only_wide_rules_have_is_refused_in_the_words_of_the_shell(folder, tmp_path):
    ferl("fit", folder / "train.csv", "--target", "kind", "--model", "deep", "-o", tmp_path / "deep.json")
    predict = ["predict", tmp_path / "deep.json", folder / "new.csv", "--reasons", 2, "-o", tmp_path / "o.csv"]
    export = ["export", tmp_path / "deep.json", "--scorecard", tmp_path / "s.csv"]
    level = ["predict", tmp_path / "deep.json", folder / "new.csv", "--level", 0.8, "-o", tmp_path / "o.csv"]
    for command, option in ((predict, "--reasons"), (export, "--scorecard"), (level, "--level")):
        told = refused(*command)
        assert f"{option} is about rules, whose evidence adds up; deep.json holds a tree (deep)" in told
        assert "--model rules" in told


def test_promises_that_rows_are_too_few_for_are_refused_in_the_words_of_the_shell(folder, tmp_path):
    table = write_table(tmp_path / "t.csv", rare(40, 3))
    command = ["calibrate", folder / "model.json", table, "--target", "kind", "-o", tmp_path / "c.json"]
    told = refused(*command, "--class-conditional", "--alpha", 0.05)
    assert re.search(r"--alpha 0.05 needs at least 19 calibration rows of every class; there are \d+ of yes\. ", told)
    assert re.search(r"Add rows, choose an --alpha of at least 0\.\d+ or leave --class-conditional out\.", told)
    told = refused(*command, "--risk", 0.05)
    assert "--risk 0.05 with --confidence 0.95 needs at least 59 calibration rows" in told
    assert "there are 30, since 10 of 40 are set aside" in told
    assert "--risk is 0; it must lie between 0 and 1" in refused(*command, "--risk", 0)
