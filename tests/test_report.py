"""What a report says, without a browser: the dict, the text of the file, and the command."""

from __future__ import annotations

import io
import json
import re

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl import FERLClassifier, FERLTreeClassifier, load_model, save_model
from ferl._cli.app import app
from ferl._sklearn import check_rows
from ferl._tell.page import Section, as_latex, as_plain, as_rich, as_text
from ferl.metrics import aurc, expected_calibration_error, mean_set_size, set_coverage
from ferl.report import report_html, write_report
from ferl.report.content import summarise
from ferl.report.judged_table import NO_LABEL, OTHER_LABEL, JudgedTable, measures
from ferl.report.views import view_of
from ferl.report.writing import label_codes, render, script_json
from report_cards import cards_of, number_of
from table_examples import fit_mixed, mixed_table, rows_beside

runner = CliRunner()


def ferl(*arguments, code=0):
    result = runner.invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def table():
    return mixed_table(np.random.default_rng(0), n=300, n_classes=3)


@pytest.fixture(scope="module")
def model(table):
    return fit_mixed(table)


def read(model, rows, y=None, block=10_000, **options):
    """A table judged in blocks."""
    encoded = check_rows(model, rows)
    truth = None if y is None else label_codes(model.model_, y, len(encoded))
    reading = JudgedTable(model.model_, **options)
    for first in range(0, len(encoded), block):
        part = slice(first, first + block)
        reading.add(encoded[part], None if truth is None else truth[part])
    return reading


def listed_by(summary):
    """The cards of the abstained and of the novel rows."""
    sections = {section.name: section for section in summary["sections"]}
    return cards_of(sections["abstained"]), cards_of(sections["novel"])


# ---------------------------------------------------------------------------------------------------------------------
# The dict
# ---------------------------------------------------------------------------------------------------------------------


def test_metrics_are_those_of_the_library(model, table):
    found = measures(read(model, table.frame, table.y, block=77), ["a", "b", "c"])
    proba, label, sets = (getattr(model, name)(table.frame) for name in ("predict_proba", "predict", "predict_set"))
    confidence = proba.max(axis=1)
    assert found["accuracy"] == (label == table.y).mean()
    assert found["aurc"] == aurc(table.y, label, confidence)
    assert found["ece"] == expected_calibration_error(table.y, label, confidence)
    assert found["set_coverage"] == set_coverage(table.y, sets, model.classes_)
    assert [own["name"] for own in found["reliability"]] == ["a", "b", "c"]
    for own in found["reliability"]:
        assert sum(bin_["n_rows"] for bin_ in own["bins"]) == 300
        said = sum(bin_["n_rows"] * bin_["probability"] for bin_ in own["bins"])
        assert said == pytest.approx(proba[:, own["class"]].sum())
        assert sum(bin_["n_rows"] * bin_["share"] for bin_ in own["bins"]) == pytest.approx(
            (table.y == own["class"]).sum()
        )
    counts = np.array(found["confusion"])
    expected = pd.crosstab(table.y, label).reindex(index=range(3), columns=range(3), fill_value=0)
    np.testing.assert_array_equal(counts, expected)
    assert found["risk_coverage"][-1] == [1.0, pytest.approx((label != table.y).mean())]


def test_blocks_do_not_matter(model, table):
    rows = rows_beside(table, 0, 200)
    whole, parts = (summarise(model.model_, {}, read(model, rows, block=n), "t", "r") for n in (10_000, 17))
    assert json.dumps(as_plain(whole)) == json.dumps(as_plain(parts))
    assert render(whole) == render(parts)


def test_listed_rows_are_the_most_ignorant_and_the_most_novel(model, table):
    rows = rows_beside(table, 0, 200)
    reading = read(model, rows, block=31, n_listed=10)
    abstained, novel = listed_by(summarise(model.model_, {}, reading, "t", "r"))
    novelty, sets = model.novelty(rows), model.predict_set(rows)
    ignorance = np.where(sets.all(axis=1), model.predict_evidence(rows).ignorance, -1.0)
    n_abstained = int(sets.all(axis=1).sum())
    assert n_abstained > 10
    assert [number_of(card) - 1 for card in abstained] == np.argsort(-ignorance, kind="stable")[:10].tolist()
    assert [number_of(card) - 1 for card in novel] == np.argsort(-novelty, kind="stable")[:10].tolist()
    assert reading.figures["n_abstained"] == n_abstained
    assert reading.figures["set_size"] == pytest.approx(mean_set_size(sets))
    assert all(line.endswith(".") for card in abstained + novel for line in card.lines if line)


def test_offered_rows_are_the_first_ones_and_those_listed(model, table):
    rows = rows_beside(table, 0, 200)
    summary = summarise(model.model_, {}, read(model, rows, n_listed=5, n_first=20), "t", "r")
    numbers = [row["number"] for row in summary["page"]["rows"]]
    abstained, novel = listed_by(summary)
    listed = set(map(number_of, abstained + novel))
    assert numbers == sorted(listed | set(range(1, 21)))


@pytest.mark.parametrize("variant", ["deep", "compact"])
def test_rules_and_tree_are_complete(table, variant):
    model = fit_mixed(table, kind=variant)
    summary = summarise(model.model_, {}, read(model, table.frame), "t", "r")
    tree = model.tree_
    sections = {section.name: section for section in summary["sections"]}
    drawn = sections["tree"].blocks[-1].html
    assert drawn.count('class="node"') == tree.n_nodes
    assert drawn.count("<details") == drawn.count("</details>") == (~tree.is_leaf).sum()
    expected = np.arange(1, tree.n_nodes) if variant == "compact" else tree.leaves
    assert sorted(rule["node"] for rule in summary["page"]["rules"]) == expected.tolist()
    assert len(sections["rules"].blocks[1].table.rows) == len(expected)
    titles = [block.title for block in sections["summary"].blocks if isinstance(block, Section)]
    assert ("What the words mean" in titles) == (variant == "compact")
    features = summary["page"]["features"]
    assert sum(feature["n_uses"] for feature in features) == tree.n_nodes - 1
    importance = [feature["importance"] for feature in features]
    assert importance == pytest.approx(model.feature_importances_.tolist())


def test_rows_without_a_label_and_with_other_labels_are_said_so(model, table):
    y = table.y.astype(object)
    y[:10], y[10:14] = None, "other"
    found = measures(read(model, table.frame, y), view_of(model.model_).classes)
    assert (found["n_rows"], found["n_without_label"], found["n_other_labels"]) == (290, 10, 4)
    assert len(found["confusion"]) == 4
    assert sum(found["confusion"][-1]) == 4
    assert found["accuracy"] == (model.predict(table.frame[10:]).astype(object) == y[10:]).mean()


def test_labels_are_the_classes_they_equal_missing_or_of_no_class():
    X = np.arange(20.0)[:, None]
    model = FERLTreeClassifier("deep", random_state=0).fit(X, np.arange(20) // 10 + 1).model_
    assert label_codes(model, [1, 2.0, "1", "2.0", "x", 3, None, float("nan"), pd.NA], 9).tolist() == [
        *(0, 1),
        *[OTHER_LABEL] * 4,
        *[NO_LABEL] * 3,
    ]
    with pytest.raises(ValueError, match="y holds infinity"):
        label_codes(model, [1, np.inf], 2)


def test_categories_that_training_did_not_have_are_named(model, table):
    rows = rows_beside(table, 0, 200)
    summary = report_html(model, rows)
    assert "never seen, a category that training did not have" in summary


# ---------------------------------------------------------------------------------------------------------------------
# The file
# ---------------------------------------------------------------------------------------------------------------------


def test_the_same_model_and_table_give_the_same_file(model, table):
    assert report_html(model, table.frame, table.y) == report_html(model, table.frame, table.y)


def test_names_are_escaped_and_json_cannot_end_its_script(table):
    hostile = {"x0": "</script><b>", "x1": "a'\"&", "c0": "<!--\u2028", "c1": "y" * 10_000}
    named = table.frame.rename(columns=hostile)
    model = FERLTreeClassifier("deep", random_state=0).fit(named, table.y)
    page = report_html(model, named, table.y, title="<h1>", table="</title>")
    assert page.count("<script") == 3
    assert page.count("</script") == 3
    assert "<b>" not in page
    assert "&lt;/script&gt;&lt;b&gt;" in page
    assert "y" * 2001 not in page
    embedded = re.search(r'<script type="application/json" id="page-data">(.*?)</script>', page, re.DOTALL).group(1)
    assert not set("<>&\u2028\u2029") & set(embedded)
    assert json.loads(embedded)["features"][0]["name"] == "</script><b>"


def test_json_of_any_text_reads_back():
    for text in ("</script>", "<!--", "\u2028\u2029&", "\ud800", "😀"):
        written = script_json({"text": text})
        assert not set("<>&\u2028\u2029") & set(written)
        assert json.loads(written)["text"] == text


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else(model, table):
    page = report_html(model, table.frame)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page).group(1).replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("'sha256-") == 3
    assert not re.search(r"unsafe|https?:|\*", policy)
    assert not re.search(r"""(?:src|href)=["'](?!#)""", page)  # nothing is fetched
    assert " style=" not in page  # the policy would refuse it
    assert not re.search(r"\son\w+=", page)


def test_scripts_make_no_markup_of_text(model, table):
    page = report_html(model, table.frame)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", page)


def test_an_empty_table_gives_a_report_of_the_model(model):
    page = render(summarise(model.model_, {}, JudgedTable(model.model_), "t", "nothing"))
    assert "nothing has no labels" in page
    assert "The table has no rows." in page


def test_a_model_of_one_class_never_abstains():
    X = np.arange(20.0)[:, None]
    only = FERLTreeClassifier("deep", random_state=0).fit(X, ["yes"] * 20)
    assert "Every row gets an answer." in report_html(only, X, ["yes"] * 20)


def test_the_report_can_be_read_in_all_media(model, table):
    sections = summarise(model.model_, {}, read(model, table.frame, table.y), "t", "r")["sections"]
    text, latex = as_text(sections), as_latex(sections)
    console = Console(width=300, record=True, file=io.StringIO())
    console.print(as_rich(sections))
    for page in (text, latex, console.export_text(), json.dumps(as_plain(sections))):
        assert "Rows without an answer" in page
        assert len(re.findall(r"ignorance 0\.\d\d", page)) == len(re.findall(r"ignorance 0\.\d\d", text)) > 20
    assert max(map(len, text.splitlines())) <= 100
    assert not re.search("<svg|<button|<select", text + latex)
    assert re.search(r"  Accuracy +\d\d\.\d % +of 300 rows with a label", text)


def test_wrong_arguments_are_named_with_the_remedy(model, table, tmp_path):
    with pytest.raises(ValueError, match="y has 2 labels and X has 300 rows"):
        write_report(model, table.frame, [0, 1], tmp_path / "r.html")
    with pytest.raises(ValueError, match=r"No label of y .* is one of the model's classes"):
        write_report(model, table.frame, ["no"] * 300, tmp_path / "r.html")
    with pytest.raises(TypeError, match="write_report got a str; pass the fitted FERLClassifier"):
        write_report("model", table.frame)
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, table):
    place = tmp_path_factory.mktemp("command")
    save_model(model, place / "model.json")
    table.frame.assign(y=table.y, extra="ignored").to_csv(place / "table.csv", index=False)
    return place


def test_the_command_writes_what_python_writes(folder, model, table):
    out = folder / "report.html"
    result = ferl("report", folder / "model.json", folder / "table.csv", "--target", "y", "-o", out, "--title", "T")
    assert "300 rows predicted" in result.output
    loaded = load_model(folder / "model.json").set_params(n_jobs=-1)
    assert out.read_text(encoding="utf-8") == report_html(loaded, table.frame, table.y, title="T", table="table.csv")


def test_without_a_target_the_page_says_that_metrics_are_missing(folder):
    ferl("report", folder / "model.json", folder / "table.csv", "-o", folder / "plain.html")
    assert "table.csv has no labels" in (folder / "plain.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("Y2", "has no column 'Y2'"),
        ("x0", "'x0' is a feature of the model"),
        ("extra", "No value of column 'extra' (for example 'ignored') is a class of the model"),
    ],
)
def test_a_wrong_target_is_one_line_with_the_remedy(folder, target, words):
    out = folder / "none.html"
    result = ferl("report", folder / "model.json", folder / "table.csv", "--target", target, "-o", out, code=2)
    assert words in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not out.exists()


def test_a_missing_folder_is_said_before_the_table_is_read(folder):
    result = ferl("report", folder / "model.json", folder / "table.csv", "-o", folder / "no" / "r.html", code=2)
    assert "does not exist; create it" in result.output


@pytest.mark.parametrize("scale", [1e-160, 1e-250])
@pytest.mark.parametrize("kind", [FERLClassifier, FERLTreeClassifier])
def test_a_report_of_a_model_that_keeps_no_rows_and_reads_tiny_units(tmp_path, scale, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    clf = kind(random_state=0, n_exemplars=0).fit(X * scale, y)
    assert np.isfinite(clf.novelty(X * scale)).all()
    assert write_report(clf, X * scale, y, tmp_path / "report.html").stat().st_size > 10_000
