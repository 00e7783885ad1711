"""The command line with rule models."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from cli_examples import ferl, read_table
from cli_people import folder
from ferl import FERLClassifier, load_model, save_model
from ferl.export import Scorecard, reason_codes

__all__ = ["folder"]  # a fixture


def test_a_wide_model_is_fitted_and_judges_as_in_python(tmp_path, folder):
    options = ["--target", "y", "--drop", "name", "--categorical", "code", "--model", "rules", "--set", "max_rules=20"]
    path = tmp_path / "rules.json"
    assert "test accuracy" in ferl("fit", folder / "train.csv", *options, "--test", "0.2", "-o", path).output
    model = load_model(path)
    assert model.model_.kind == "rules"
    ferl("predict", path, folder / "new.csv", "--all", "--guess", "-o", tmp_path / "out.csv")
    answers = read_table(tmp_path / "out.csv")
    rows = pd.read_csv(folder / "new.csv", usecols=["age", "city", "code", "x"])
    evidence = model.predict_evidence(rows)
    assert answers["label"] == model.predict(rows).tolist()
    assert list(map(float, answers["probability(yes)"])) == evidence.probability[:, 1].tolist()
    assert list(map(float, answers["plausibility(no)"])) == evidence.plausibility[:, 0].tolist()
    assert list(map(float, answers["novelty"])) == model.novelty(rows).tolist()


def test_inspect_shows_prior_weights_and_history(tmp_path, folder):
    edited = FERLClassifier(random_state=0).fit([[0.0], [1.0], [2.0], [3.0]] * 9, [0, 0, 1, 1] * 9)
    edited.model_ = replace(edited.model_, history=({"dropped": 7},))
    save_model(edited, tmp_path / "rules.json")
    rules = ferl("inspect", tmp_path / "rules.json", "--rules").output
    begins = re.search(r"Evidence for 1: begin with (\S+) ", rules)
    text = ferl("inspect", tmp_path / "rules.json").output
    about = " ".join(text.split())  # one model has two first numbers, and both are explained
    assert "(prior) is the score where no rule applies." in about
    assert f"The list of --rules begins with {begins[1]}, the prior and the means of its curves" in about
    for part in (
        "rules",
        "weights of evidence",
        "(prior)",
        "x0",
        "changed by hand",
        '{"dropped": 7}',
    ):
        assert part in text
    summary = json.loads(ferl("inspect", tmp_path / "rules.json", "--json").stdout)
    assert summary["prior"] == edited.prior_.tolist()
    assert sorted(own["weight"] for own in summary["weights"]) == sorted(edited.evidence_weights_.tolist())
    assert summary["history"] == [{"dropped": 7}]
    many = FERLClassifier(random_state=0).fit(np.arange(120.0)[:, None], np.arange(120) // 20)
    save_model(many, tmp_path / "many.json")
    assert "most against" in ferl("inspect", tmp_path / "many.json").output


def test_explain_tells_the_story_of_a_row_of_a_wide_model(tmp_path, folder):
    path = tmp_path / "rules.json"
    options = ["--target", "y", "--drop", "name", "--categorical", "code", "--model", "rules", "--set", "max_rules=20"]
    ferl("fit", folder / "train.csv", *options, "-o", path)
    text = ferl("explain", path, folder / "new.csv", "--row", "1", "--plain").output
    assert len(text.splitlines()) <= 8
    assert "average training row" in " ".join(text.split())
    assert text.splitlines()[0] in ferl("explain", path, folder / "new.csv", "--row", "1").output
    story = json.loads(ferl("explain", path, folder / "new.csv", "--row", "1", "--json").stdout)
    model, rows = load_model(path), pd.read_csv(folder / "new.csv", usecols=["age", "city", "code", "x"])
    scores = model.contributions(rows.iloc[[0]])[0].sum(axis=0)
    np.testing.assert_allclose(story["balance"]["scores"], scores, rtol=0, atol=1e-12)


def test_reasons_and_scorecards_are_those_of_python(tmp_path, folder):
    path = tmp_path / "rules.json"
    options = ["--target", "y", "--drop", "name", "--categorical", "code", "--model", "rules", "--set", "max_rules=20"]
    ferl("fit", folder / "train.csv", *options, "-o", path)
    model = load_model(path)
    rows = pd.read_csv(folder / "new.csv", usecols=["age", "city", "code", "x"])
    towards = {label: reason_codes(model, rows, n=3, positive=label) for label in ("no", "yes")}
    for decision in ("probable", "balanced"):
        # Without a wish, what speaks for the label: what cost the row most on its way to the other class.
        others = ["no" if label == "yes" else "yes" for label in model.predict(rows, decision=decision)]
        assert set(others) == {"no", "yes"}
        given = ["yes" if other == "no" else "no" for other in others]
        expected = [
            [own.text.replace("below average", f"for {given[row]}") for own in towards[other][row]]
            for row, other in enumerate(others)
        ]
        for guess in (["--guess"], []):
            asked = ["--reasons", "3", "--decision", decision, *guess]
            ferl("predict", path, folder / "new.csv", *asked, "-o", tmp_path / "out.csv")
            answers = read_table(tmp_path / "out.csv")
            found = zip(*(answers[f"reason_{number}"] for number in (1, 2, 3)), strict=True)
            has_label = [label != "" for label in answers["label"]]
            assert all(has_label) == bool(guess)  # and where nothing is said, nothing has spoken for it
            assert [[text for text in row if text] for row in found] == [
                own if is_told else [] for own, is_told in zip(expected, has_label, strict=True)
            ]
    for positive in ("no", "yes"):
        wish = ("--wished", positive)
        ferl("predict", path, folder / "new.csv", "--reasons", "3", *wish, "-o", tmp_path / "out.csv")
        answers = read_table(tmp_path / "out.csv")
        expected = [[own.text for own in row] for row in towards[positive]]
        found = zip(*(answers[f"reason_{number}"] for number in (1, 2, 3)), strict=True)
        assert [[text for text in row if text] for row in found] == expected
    card = Scorecard(model, rounded=True)
    for name, text in (("card.csv", card.csv()), ("card.txt", card.text() + "\n"), ("card.tex", card.latex() + "\n")):
        assert "lines of points" in ferl("export", path, "--scorecard", tmp_path / name, "--rounded").output
        assert (tmp_path / name).read_text(encoding="utf-8") == text
    odds = ["--positive", "no", "--base-points", 500, "--base-odds", 1, "--points-to-double", 40]
    counted = Scorecard(model, positive="no", base_points=500, base_odds=1, points_to_double=40)
    told = ferl("export", path, "--scorecard", tmp_path / "odds.csv", *odds).output
    assert (tmp_path / "odds.csv").read_text(encoding="utf-8") == counted.csv()
    assert "Total and probability of no: 380: 11%" in told
    assert "40 points more double the odds of no." in told
    refused = {
        ("export", path): "Name a file",
        ("export", path, "-o", tmp_path / "m.onnx", "--base-odds", 2): "--base-odds is about the points of a scorecard",
        ("export", path, "--scorecard", tmp_path / "c.csv", "--base-odds", 0): "--base-odds is 0; it must be greater",
        ("export", path, "--scorecard", tmp_path / "c.csv", "--wished", "x"): "the classes are no, yes",
        ("export", path, "--scorecard", tmp_path / "card.doc"): ".csv, .txt, .tex or .html",
        ("export", path, "-o", tmp_path / "m.onnx", "--rounded"): "add --scorecard",
        ("predict", path, folder / "new.csv", "--wished", "no", "-o", tmp_path / "o.csv"): "add --reasons",
        (
            "predict",
            path,
            folder / "new.csv",
            "--reasons",
            "2",
            "--wished",
            "x",
            "-o",
            tmp_path / "o.csv",
        ): "the classes",
    }
    for command, part in refused.items():
        assert part in ferl(*command, code=2).output


def test_reasons_of_several_classes_speak_for_the_label(tmp_path):
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = FERLClassifier(random_state=0).fit(X, y)
    save_model(clf, tmp_path / "iris.json")
    X.to_csv(tmp_path / "iris.csv", index=False)
    ferl("predict", tmp_path / "iris.json", tmp_path / "iris.csv", "--reasons", "2", "-o", tmp_path / "out.csv")
    answers = read_table(tmp_path / "out.csv")
    order = np.argsort(-clf.predict_proba(X), axis=1)
    for row in range(0, 150, 7):
        best, second = order[row, :2].tolist()
        reasons = reason_codes(clf, X.iloc[[row]], n=2, positive=second, rival=best)[0]
        expected = [own.text.replace("below average", f"for {best}") for own in reasons]
        assert [answers[f"reason_{number}"][row] for number in (1, 2) if answers[f"reason_{number}"][row]] == expected
