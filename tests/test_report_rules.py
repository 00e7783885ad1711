"""The report of rules: charts, balance and rules are those of the model, in the dict and in a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from browser import chromium, console, open_page
from ferl import FERLClassifier, save_model
from ferl._cli.app import app
from ferl._models.shapes import read_shapes
from ferl._sklearn import check_rows
from ferl._tell.page import as_plain
from ferl.report import report_html, write_report
from ferl.report.charts import BOTTOM, LEFT, RIGHT, TOP, shape_charts
from ferl.report.content import summarise
from ferl.report.judged_table import JudgedTable
from ferl.report.views import view_of
from ferl.words import quantile_partition
from table_examples import mixed_table, rows_beside

CASES = {2: {"missing_conditions": True}, 3: {}, 5: {"max_conditions": 1, "support_gate": False}}


@pytest.fixture(scope="module", params=CASES, ids=lambda n: f"{n} classes")
def example(request):
    table = mixed_table(np.random.default_rng(request.param), n=300, n_classes=request.param)
    return table, FERLClassifier(random_state=0, **CASES[request.param]).fit(table.frame, table.y)


def summary_of(model, rows):
    reading = JudgedTable(model.model_)
    reading.add(check_rows(model, rows), None)
    return summarise(model.model_, {}, reading, "t", "r")


def charts_of(model):
    view = view_of(model.model_)
    return shape_charts(view.shown, view.style, view.shapes)


def test_rules_are_all_listed_by_what_they_are_about(example):
    table, model = example
    summary = summary_of(model, table.frame)
    json.dumps(as_plain(summary), allow_nan=False)
    sections = {section.name: section for section in summary["sections"]}
    assert "tree" not in sections
    rows = sections["rules"].blocks[1].table.rows
    assert sorted(number.marks["key"] for number, *_ in rows) == list(range(1, model.n_rules_ + 1))
    groups = [about.marks["key"] for _, about, *_ in rows]
    assert groups == sorted(groups)
    for number, about, conditions, label, apart, _ in rows:
        weight = model.evidence_weights_[number.marks["key"] - 1]
        assert apart.marks["key"] == np.ptp(weight)
        assert label.marks["key"] == weight.argmax()
        assert all(name.split()[0] in about for name in conditions.split(" and "))
    charts = charts_of(model)
    drawn = charts["curves"] + charts["maps"]
    listed = sorted(number for chart in drawn for number in chart["rules"])
    assert listed == sorted(set(listed)), "no rule is drawn twice"
    assert sum(chart["importance"] for chart in drawn) <= 1 + 1e-9


def test_curves_are_drawn_where_the_model_has_them(example):
    _, model = example
    shapes = read_shapes(model.model_)
    charts = charts_of(model)
    said = [curve.evidence - curve.mean for curve in shapes.curves]
    drawn = [own[:, 1:] - own[:, :1] if own.shape[1] == 2 else own for own in said]
    top = max(np.abs(own).max() for own in drawn)
    assert float(charts["top"]) == pytest.approx(top, abs=0.005)
    for curve, chart in zip(shapes.curves, charts["curves"], strict=True):
        assert chart["feature"] == curve.feature
        if chart["kind"] == "category":
            assert len(chart["rows"]) == len(curve.values)
            continue
        for line in chart["lines"]:
            points = np.array([point.split(",") for point in line["points"].split()], dtype=float)
            values = chart["low"] + (points[:, 0] - LEFT) / (RIGHT - LEFT) * (chart["high"] - chart["low"])
            evidence = curve.at(values) - curve.mean
            own = evidence[:, 1] - evidence[:, 0] if evidence.shape[1] == 2 else evidence[:, line["class"]]
            middle = (TOP + BOTTOM) / 2
            slope = np.abs(np.diff(own)).max() / max(np.diff(values).max(), 1e-9)
            found = (middle - points[:, 1]) / (BOTTOM - TOP) * 2 * top
            np.testing.assert_allclose(found, own, atol=0.01 * top + 0.01 * slope * (chart["high"] - chart["low"]))


def test_what_is_usual_and_what_values_add_sum_to_the_scores(example):
    table, model = example
    rows = rows_beside(table, 0, 50)
    encoded = check_rows(model, rows)
    usual = np.array(summary_of(model, table.frame)["page"]["usual"])
    support = model.model_.supports(encoded).prod(axis=1)[:, None, None]
    moves = model.feature_contributions(rows) - support * usual
    scores = model.model_.decision_scores(encoded)
    np.testing.assert_allclose((moves + support * usual).sum(axis=1), scores, rtol=0, atol=1e-12)
    trained = model.feature_contributions(table.frame).mean(axis=0)
    np.testing.assert_allclose(usual, trained, atol=1e-9)  # all training rows lie inside the ranges


def test_the_page_has_curves_and_no_tree(example):
    table, model = example
    page = report_html(model, rows_beside(table, 0, 60), None)
    assert 'id="shapes"' in page
    assert 'id="tree"' not in page
    for link in re.findall(r'<a href="#([\w-]+)"', page):
        assert f'id="{link}"' in page
    assert " style=" not in page
    assert page == report_html(model, rows_beside(table, 0, 60), None)


@pytest.mark.parametrize(
    ("X", "y"),
    [(np.zeros((20, 2)), np.arange(20) % 2), (np.arange(20.0)[:, None], ["only"] * 20)],
    ids=["no rule", "one class"],
)
def test_rule_bases_that_learned_little_have_a_report(X, y):
    page = report_html(FERLClassifier(random_state=0).fit(X, y), X, y)
    assert "No rule and no curve reads one feature alone." in page


def test_rules_in_words_have_curves_and_say_what_the_words_mean():
    table = mixed_table(np.random.default_rng(0), n=300, n_categories=())
    words = quantile_partition(table.frame)
    model = FERLClassifier(words=words, random_state=0).fit(table.frame, table.y)
    page = report_html(model, table.frame, table.y)
    assert "What the words mean" in page
    assert re.search(r'<span class="condition">x\d is \w+</span>', page)


def test_the_command_reports_on_wide_models(tmp_path):
    table = mixed_table(np.random.default_rng(0), n=200)
    model = FERLClassifier(random_state=0, max_rules=10).fit(table.frame, table.y)
    save_model(model, tmp_path / "model.json")
    table.frame.assign(y=table.y).to_csv(tmp_path / "table.csv", index=False)
    arguments = ["report", str(tmp_path / "model.json"), str(tmp_path / "table.csv"), "--target", "y"]
    done = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / "r.html")])
    assert done.exit_code == 0, done.output
    assert 'id="shapes"' in (tmp_path / "r.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# In a browser
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


def value_of(browser, key):
    script = "return document.querySelector(`[data-key='${arguments[0]}']`)?.dataset.value"
    return float(browser.execute_script(script, key))


def test_balance_and_rules_that_the_page_shows_are_those_of_python(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(["a", "b", "c"], 300)})
    y = np.where((X["size"] > 0) ^ (X["kind"] == "b"), "yes", "no")
    model = FERLClassifier(random_state=0).fit(X, y)
    open_page(browser, write_report(model, X, y, tmp_path / "page.html"))
    usual = model.feature_contributions(X).mean(axis=0)
    typed = """
    const box = document.querySelector("input[type=number]"), menu = document.querySelector("#controls select");
    box.value = arguments[0]; box.dispatchEvent(new Event("input"));
    menu.value = arguments[1]; menu.dispatchEvent(new Event("change"));
    """
    for size, code, kind in [(0.05, 1, "b"), (-4.5, 0, "a"), (0.4, 3, "never seen")]:
        browser.execute_script(typed, size, code)
        row = pd.DataFrame({"size": [size], "kind": [kind]})
        support = 1 - model.support_deficit(row).sum()
        parts = model.feature_contributions(row)[0] - support * usual
        best = int(model.decision_function(row)[0] > 0)  # the odds are those of the most probable class
        for j in range(2):
            assert value_of(browser, f"moves-{j}") == pytest.approx(parts[j, best] - parts[j, 1 - best], abs=1e-9)
        assert value_of(browser, "sum") == pytest.approx(abs(model.decision_function(row)[0]), abs=1e-9)
        assert value_of(browser, "support-lost") == pytest.approx(1 - support, abs=1e-9)
        rules = model.contributions(row)[0, :-1]
        apart = rules[:, best] - rules[:, 1 - best]
        key = browser.execute_script("return document.querySelector('#fired .num')?.dataset.key")
        assert (key is None) == (apart == 0).all()
        if key is not None:
            assert value_of(browser, key) == pytest.approx(apart[np.abs(apart).argmax()], abs=1e-9)
    assert console(browser) == []


def test_a_mark_follows_the_value_along_the_curve(browser, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 1))
    model = FERLClassifier(random_state=0).fit(X, X[:, 0] > 0)
    open_page(browser, write_report(model, X, None, tmp_path / "page.html"))
    mark = "return document.querySelector('.mark')?.getAttribute('d')"
    browser.execute_script("ferlPage.load([arguments[0]])", float(X.min()))
    assert browser.execute_script(mark) == f"M{LEFT} {TOP} V{BOTTOM}"
    browser.execute_script("ferlPage.load([NaN])")
    assert browser.execute_script(mark) is None
