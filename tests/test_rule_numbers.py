"""A rule has one number, wherever it is shown."""

from __future__ import annotations

import re

import pytest
from sklearn.datasets import load_iris

from estimators import classifier
from ferl import export_latex, export_text, rules_frame
from ferl.export import overview
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
