"""A rule has one number, wherever it is shown."""

from __future__ import annotations

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from estimators import classifier
from ferl import FERLClassifier, export_latex, export_text, load_model, rules_frame, save_model
from ferl.editing import edit
from ferl.export import export_scorecard, overview
from ferl.report.content import summarise
from ferl.report.judged_table import JudgedTable

MODELS = {
    "deep": {"kind": "deep", "max_rules": 8},
    "compact, all nodes are sources": {"kind": "compact", "sources": "all"},
    "chain": {"kind": "deep", "max_rules": 8, "combination": "chain"},
}


@pytest.fixture(params=MODELS)
def clf(request):
    X, y = load_iris(return_X_y=True)
    return classifier(random_state=0, **MODELS[request.param]).fit(X, y)


@pytest.fixture
def numbers(clf):
    """Number of each rule by its conditions, as the data frame says."""
    frame = rules_frame(clf)
    found = dict(zip(frame["conditions"], frame["number"].tolist(), strict=True))
    assert list(found.values()) == list(range(1, len(frame) + 1))
    assert len(found) == len(frame) > 3
    return found


def test_the_text_has_the_numbers_of_the_data_frame(clf, numbers):
    lines = re.findall(r"^ *(\d+)\. if (.*)$", export_text(clf, shares=False, width=10_000), flags=re.MULTILINE)
    found = {_without_ends(conditions): int(number) for number, conditions in lines}
    assert found == {_without_ends(conditions): number for conditions, number in numbers.items()}


def _without_ends(conditions):
    """The text tells the ends of bands that overlap, the data frame those of what fits at all."""
    return re.sub(r"\([^()]*, fits by", "(fits by", conditions)


def test_the_latex_table_has_the_numbers_of_the_data_frame(clf, numbers):
    lines = re.findall(r"^(\d+) & (.*?) & ", export_latex(clf), flags=re.MULTILINE)
    assert {_plain(conditions): int(number) for number, conditions in lines} == numbers


def _plain(latex):
    return re.sub(r"\\emph\{(.*?)\}", r"\1", latex).replace(r"\pm ", "±").replace("$", "").replace("{-}", "-")


def test_the_overview_has_the_numbers_of_the_data_frame(clf, numbers):
    assert {rule.conditions: rule.number for rule in overview(clf).rules} == numbers


def test_the_report_has_the_numbers_of_the_data_frame(clf, numbers):
    summary = summarise(clf.model_, {}, JudgedTable(clf.model_), "title", "table")
    rules, sections = summary["page"]["rules"], {section.name: section for section in summary["sections"]}
    told = {" and ".join(rule["conditions"]): rule["number"] for rule in rules}
    listed = {conditions: int(number) for number, conditions, *_ in sections["rules"].blocks[1].table.rows}
    for found in (told, listed):
        assert {
            text.replace("\u00a0", " ").removesuffix(" (beginning of a rule)"): number for text, number in found.items()
        } == numbers
    in_tree = re.findall(r'href="#rule-(\d+)"', sections["tree"].blocks[-1].html)
    assert list(map(int, in_tree)) == [rule["number"] for rule in sorted(rules, key=lambda rule: rule["node"])]


def test_explanations_have_the_numbers_of_the_data_frame(clf, numbers):
    fired = {}
    for row in load_iris().data[::5]:
        fired |= {rule.conditions: rule.number for rule in clf.explain(row, counterfactual=False).rules}
    assert len(fired) > 3
    assert fired.items() <= numbers.items()


# ---------------------------------------------------------------------------------------------------------------------
# Edits leave the numbers of rules as they are
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 4)), columns=["radius", "texture", "area", "mass"])
    y = np.sin(2 * X["radius"]) + X["texture"] * X["area"] + X["mass"] ** 2 > rng.normal(0, 0.3, 600)
    return X, FERLClassifier(random_state=0).fit(X, y)


def called(clf):
    """Conditions of each rule by its number, as the data frame says."""
    frame = rules_frame(clf)
    return dict(zip(frame["number"].tolist(), frame["conditions"], strict=True))


def test_a_chain_of_edits_goes_by_the_numbers_that_were_printed(waves):
    _, clf = waves
    before = called(clf)
    some = edit(clf).drop(2, 5)
    last = some.forbid("texture")
    gone = {number for number, conditions in before.items() if "texture" in conditions}
    assert gone - {2, 5}
    kept = {number: own for number, own in before.items() if number not in gone | {2, 5}}
    assert called(last) == kept
    # A later edit finds the rule that was printed, one by one and all at once.
    target = max(kept)
    alone, at_once = last.drop(target), edit(clf).drop(2, 5, target).forbid("texture")
    assert called(alone) == called(at_once) == {number: own for number, own in kept.items() if number != target}
    assert alone.model_.history[-1]["conditions"] == [before[target]]
    assert alone.model_.history[-1]["dropped"] == [target]
    changed = last.set_weight(target, 0.5).lock(target)
    assert changed.locked_ == (target,)
    at = changed.model_.numbers.index(target)
    np.testing.assert_array_equal(changed.evidence_weights_[at], [-0.25, 0.25])
    with pytest.raises(ValueError, match=rf"Rule {target} is locked"):
        changed.drop(target)
    with pytest.raises(
        ValueError, match=r"rule is 5; the rules have the numbers 1 to \d+, but for those that were dropped"
    ):
        changed.drop(5)
    # A later `edit` goes on with the same numbers.
    assert called(edit(last).drop(target)) == called(alone)


def test_all_texts_of_an_edited_classifier_have_the_numbers_of_its_edits(waves, tmp_path):
    X, clf = waves
    made = edit(clf).drop(1, 4, 6)
    save_model(made, tmp_path / "edited.json")
    for edited in (made, load_model(tmp_path / "edited.json"), pickle.loads(pickle.dumps(made))):
        kept = {number: own for number, own in called(clf).items() if number not in (1, 4, 6)}
        assert called(edited) == kept
        assert {rule.number: rule.conditions for rule in overview(edited).rules} == kept
        for row in X.to_numpy()[::9]:
            for rule in edited.explain(row, counterfactual=False).rules:
                assert kept[rule.number] == rule.conditions
        text = export_text(edited, width=10_000)
        told = re.findall(r"^ *(\d+)\. ", text, flags=re.MULTILINE)
        told += ", ".join(re.findall(r"\(rules? ([\d, ]+)", text)).split(", ")
        assert {int(number) for number in told} == set(kept)
        assert len(told) == len(kept)
        exact = re.findall(r"^ *(\d+)\. ", export_text(edited, exact=True), flags=re.MULTILINE)
        assert {int(number) for number in exact} == set(kept)
        latex = re.findall(r"^rule (\d+) & (.*?) & ", export_latex(edited), flags=re.MULTILINE)
        assert len(latex) > 10
        assert {int(number): _plain(conditions) for number, conditions in latex}.items() <= kept.items()
        card = export_scorecard(edited)
        assert {int(number) for text in card["rules"] if text for number in text.split(", ")} == set(kept)
        page = summarise(edited.model_, {}, JudgedTable(edited.model_), "title", "table")
        rules = page["page"]["rules"]
        assert {rule["number"]: " and ".join(rule["conditions"]).replace("\u00a0", " ") for rule in rules} == kept
        nodes = edited.model_.rules.node
        assert [int(nodes[rule["index"]]) for rule in rules] == [rule["node"] for rule in rules]
        again = edit(edited).drop(max(kept))
        assert called(again) == {number: own for number, own in kept.items() if number != max(kept)}


@pytest.mark.parametrize("dropped", [[-1], [99], ["one", None, 2.5], "1", [True]])
def test_a_history_that_makes_no_sense_leaves_the_plain_numbers(waves, dropped):
    _, clf = waves
    model = replace(clf.model_, history=({"edit": "drop", "dropped": dropped},))
    assert model.numbers == tuple(range(1, model.n_rules + 1))


def test_the_chain_of_the_guide_drops_the_rule_that_was_printed():
    guide = (Path(__file__).parents[1] / "docs" / "guide" / "editing.md").read_text()
    code = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    names: dict = {}
    for block in code[:2]:
        exec(block, names)
    changed, clf = names["changed"], names["clf"]
    (number,) = changed.model_.history[-1]["dropped"]
    assert changed.model_.history[-1]["conditions"] == [called(clf)[number]]
