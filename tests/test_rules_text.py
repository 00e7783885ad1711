"""Rules as text, data frames and LaTeX: what is printed is the model."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from ferl import FERLClassifier, export_graphviz, export_latex, export_text, rules_frame
from ferl.export import splits_frame
from ferl.plot import plot_tree
from table_examples import wide_example

NUMBER = r"[-+]?\d+(?:\.\d+)?"


class Pencil:
    """Works out log-odds from the printed text alone, for tables whose names have no spaces."""

    def __init__(self, text: str) -> None:
        parts = re.split(r"\n(?=\S| *\d+\. )", text)
        self.base = float(re.search(rf"begin with ({NUMBER})", parts[0]).group(1))
        self.rules, self.curves = [], {}
        for part in parts[1:]:
            if rule := re.match(rf" *\d+\. if (.*)\n +then ({NUMBER}), applies to", part):
                shares = dict(re.findall(r"missing (\w+) fits by ([\d.]+)", part))
                self.rules.append((rule[1].split(" and "), float(rule[2]), shares))
            elif curve := re.match(r"(\w+) \(rules? [\d, ]+\)\n", part):
                sentence = rf"from ({NUMBER}) to ({NUMBER}), the more .* from ({NUMBER}) to ({NUMBER})$"
                told = re.findall(rf"(?:at )?([\w. ,-]+): ({NUMBER})", part.splitlines()[-1])
                points = [(value, weight) for values, weight in told for value in values.split(", ")]
                if "at " not in part and (both := re.search(sentence, part, flags=re.MULTILINE)):
                    points += [(both[1], both[3]), (both[2], both[4])]
                self.curves[curve[1]] = [(value.strip().removeprefix("at "), float(weight)) for value, weight in points]

    def log_odds(self, row: dict) -> float:
        total = self.base
        for name, points in self.curves.items():
            total += self.on_curve(points, row[name])
        return total + sum(
            weight * np.prod([self.fits(own, row, shares) for own in conditions])
            for conditions, weight, shares in self.rules
        )

    @staticmethod
    def on_curve(points: list, value: object) -> float:
        told = dict(points)
        if pd.isna(value):
            return told["missing"]
        if isinstance(value, str):
            return told.get(value, told.get("any other", 0.0))
        if "any number" in told:
            return told["any number"]
        corners = [(float(at), weight) for at, weight in points if at not in ("missing", "any other")]
        return float(np.interp(value, *zip(*corners, strict=True)))

    @staticmethod
    def fits(condition: str, row: dict, shares: dict) -> float:
        name, what = condition.split(" ", 1)
        value = row[name]
        if what in ("is missing", "is known"):
            return float(pd.isna(value) == (what == "is missing"))
        if pd.isna(value):
            return float(shares[name])
        if inside := re.fullmatch(r"in \{(.*)\}", what):
            members = {re.sub(r" \([\d.]+\)$", "", own): own for own in inside[1].split(", ")}
            graded = re.search(r"\(([\d.]+)\)$", members.get(value, ""))
            return float(graded[1]) if graded else float(value in members)
        if what.startswith("is not "):
            return float(value != what[7:])
        if what.startswith("is "):
            return float(value == what[3:])
        side, low, high = re.fullmatch(rf"(above|below) ({NUMBER})\.\.({NUMBER})", what).groups()
        share = float(np.clip((value - float(low)) / (float(high) - float(low)), 0, 1))
        return share if side == "above" else 1 - share


@pytest.mark.parametrize("seed", [0, 4, 5])
def test_an_answer_can_be_worked_out_from_the_printed_text_alone(seed):
    table, clf = wide_example(seed, 2)
    text = export_text(clf, width=10_000)
    pencil = Pencil(text)
    assert len(pencil.rules) + len(pencil.curves) > 3
    rows = table.frame.iloc[:80]
    by_hand = np.array([pencil.log_odds(row) for row in rows.to_dict("records")])
    found = clf.decision_function(rows)
    n_terms = 1 + len(pencil.rules) + len(pencil.curves)
    weight = sum(abs(weight) for _, weight, _ in pencil.rules)
    # Half of the last digit of each weight, and what the rounded ends of ramps and shares let pass.
    np.testing.assert_allclose(by_hand, found, rtol=0, atol=0.005 * n_terms + 0.02 * weight)
    assert np.abs(by_hand - found).mean() < 0.02


def test_every_rule_is_printed_once_unless_fewer_are_wished_for():
    _, clf = wide_example(1, 3)

    def printed(text):
        alone = re.findall(r"^ *(\d+)\. if", text, flags=re.MULTILINE)
        summed = re.findall(r"\(rules? ([\d, ]+)\)$", text, flags=re.MULTILINE)
        return sorted(int(number) for group in (*summed, ", ".join(alone)) for number in group.split(", ") if number)

    whole = printed(export_text(clf, width=10_000))
    assert whole == list(range(1, clf.n_rules_ + 1))
    part = export_text(clf, max_rules=4, width=10_000)
    assert f"... and {clf.n_rules_ - len(printed(part))} more rules" in part
    first = re.search(r"\(rules? ([\d, ]+)\)$", part, flags=re.MULTILINE)
    assert (
        0 < len(printed(part)) <= max(4, first[1].count(",") + 1 if first else 0)
    )  # the rules of one feature are told together


def test_a_steady_curve_is_told_in_one_sentence():
    rng = np.random.default_rng(0)
    glucose = rng.uniform(80, 199, size=500)
    ill = np.where(glucose + 20 * rng.normal(size=500) > 140, "diabetes", "healthy")
    X = pd.DataFrame({"glucose": glucose})
    text = export_text(FERLClassifier(max_rules=1, random_state=0).fit(X, np.where(ill == "healthy", "a", "b")))
    assert re.search(r"the higher glucose, from [\d.]+ to [\d.]+, the more it supports b:", text)
    text = export_text(FERLClassifier(max_rules=1, random_state=0).fit(X, ill))
    assert "the more it supports diabetes" in text


def test_zero_and_one_and_whole_numbers_read_as_such():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"smokes": rng.integers(0, 2, 600), "visits": rng.integers(0, 6, 600)})
    y = (X["smokes"] == 1) & (X["visits"] >= 3)
    clf = FERLClassifier(random_state=0).fit(X, y)
    said = " ".join(rules_frame(clf)["conditions"]) + export_text(clf)
    assert "smokes = 1" in said
    assert "±" not in said
    assert not re.search(r"smokes (above|below)", said)


def test_many_classes_are_told_by_the_strongest_unless_all_are_asked_for():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.clip(np.round(X[:, 0] * 2 + 3), 0, 6).astype(int)
    clf = FERLClassifier(max_rules=6, random_state=0).fit(X, y)
    short, long = export_text(clf), export_text(clf, all_classes=True)
    assert "all_classes=True" in short
    assert "all_classes=True" not in long
    assert long.count(" for ") > 2 * short.count(" for ")


@pytest.mark.parametrize("example", [(0, 2), (1, 3)])
def test_the_data_frame_has_a_row_for_each_rule_with_its_weights(example):
    _, clf = wide_example(*example)
    frame = rules_frame(clf)
    assert frame["number"].tolist() == list(range(1, clf.n_rules_ + 1))
    found = frame[[f"v({label})" for label in clf.classes_]].to_numpy()
    np.testing.assert_array_equal(found, clf.evidence_weights_)
    np.testing.assert_array_equal(frame["label"], clf.classes_[clf.evidence_weights_.argmax(axis=1)])
    assert (frame["n_conditions"] == clf.tree_.depth[frame["node"]]).all()
    assert all(name in list(clf.feature_names_in_) for names in frame["features"] for name in names.split(", "))
    with pytest.raises(ValueError, match="Leave inner out"):
        rules_frame(clf, inner=True)


def test_latex_holds_the_same_sum():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_conditions=1, max_rules=4, random_state=0).fit(X, y)
    latex = export_latex(clf, class_names=["se_tosa", "b", "c"], caption="Sum", label="sum")
    assert r"se\_tosa" in latex
    assert latex.count("always") == 1
    assert latex.count(r" & missing & ") == len(np.unique(clf.tree_.feature[1:]))
    assert "more rules" in export_latex(clf, max_rules=1)
    body = [line for line in latex.splitlines() if line.startswith(("always", "x"))]
    assert all(line.count("&") == 4 for line in body)


def test_drawings_of_trees_point_to_shapes():
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(max_rules=3, random_state=0).fit(X, y)
    for draw in (export_graphviz, plot_tree):
        with pytest.raises(ValueError, match=r"Use ferl\.plot\.plot_shapes"):
            draw(clf)
    with pytest.raises(ValueError, match="Use rules_frame"):
        splits_frame(clf)


def test_no_rule_reads_as_impossible():
    data = load_breast_cancer()
    clf = FERLClassifier(random_state=0).fit(data.data, data.target)
    said = " ".join(rules_frame(clf)["conditions"])
    ends = re.findall(rf"(?:above|below) ({NUMBER})\.\.({NUMBER})", said)
    assert len(ends) > 10
    assert all(float(low) < float(high) for low, high in ends)


def test_a_model_without_rules_prints_its_prior():
    clf = FERLClassifier(random_state=0).fit(np.zeros((20, 2)), np.arange(20) % 2)
    assert export_text(clf).startswith("Evidence for 1: begin with 0 and")
    assert len(rules_frame(clf)) == clf.n_rules_
    one = FERLClassifier(random_state=0).fit(np.arange(20.0)[:, None], np.zeros(20))
    assert "Evidence for each class" in export_text(one)
    assert r"\toprule" in export_latex(one)


def test_rules_in_words_are_told_by_their_words_and_categories_by_their_sums():
    table, _ = wide_example(0, 2)
    clf = FERLClassifier(words="quantile", random_state=0).fit(table.frame, table.y)
    text = export_text(clf, width=10_000)
    assert re.search(r"^ +\d+\. if .*x\d is (low|medium|high)", text, flags=re.MULTILINE)
    assert re.search(r"^c\d \(rules? ", text, flags=re.MULTILINE)
    assert re.search(r"^ +x\d: low below", text, flags=re.MULTILINE)
    assert "low below" in export_latex(clf)
