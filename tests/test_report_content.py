"""What a report says first, of groups, in points, and how unusual rows are: the dict and the text of the file."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from estimators import classifier
from ferl import FERLClassifier, __version__, save_model
from ferl._cli.app import app
from ferl._sklearn import check_rows
from ferl._tell.page import Section
from ferl._tell.unusual import novelty_scale
from ferl.editing import edit
from ferl.export import export_scorecard, reason_codes
from ferl.metrics import metrics_by_group
from ferl.report import report_html
from ferl.report.charts import _end_texts, percent
from ferl.report.content import summarise
from ferl.report.judged_table import JudgedTable, auc_interval, measures
from ferl.report.views import words_of
from ferl.report.writing import label_codes
from real_tables import real_table
from report_cards import cards_of, number_of
from sentences import fitted
from table_examples import fit_mixed, mixed_table, rare_category_table, rows_beside


@pytest.fixture(scope="module")
def loans():
    """Rare denials, a model of them, and rows to judge."""
    X, y = rare_category_table(np.random.default_rng(0), 1200)
    labels = np.where(y == 1, "yes", "no")
    model = FERLClassifier(max_rules=12, random_state=0).fit(X[:600], labels[:600])
    return model, X[600:].reset_index(drop=True), labels[600:]


def judged_table(model, rows, y=None):
    reading = JudgedTable(model.model_)
    encoded = check_rows(model, rows)
    reading.add(encoded, None if y is None else label_codes(model.model_, y, len(encoded)))
    return reading


def summary_of(model, rows, y=None, **options):
    return summarise(model.model_, {}, judged_table(model, rows, y), "t", "held_out.csv", **options)


def sections_of(model, rows, y=None):
    return {section.name: section for section in summary_of(model, rows, y)["sections"]}


def first_sentence(model, rows, y=None):
    return sections_of(model, rows, y)["summary"].lines[0]


# ---------------------------------------------------------------------------------------------------------------------
# Half a minute
# ---------------------------------------------------------------------------------------------------------------------


def test_the_first_sentence_tells_rows_accuracy_baseline_recall_and_abstention(loans):
    model, X, y = loans
    told = first_sentence(model, X, y)
    label = model.predict(X)
    n_open = int(model.predict_set(X).all(axis=1).sum())
    assert told.startswith(f"{model.n_rules_} rules predict no or yes for the 600 rows of held_out.csv. ")
    assert f"{100 * (label == y).mean():.1f} % of the predictions are right" in told
    assert f"(always predicting no: {100 * (y == 'no').mean():.1f} %)" in told
    for name in ("no", "yes"):
        assert f"{100 * (label == y)[y == name].mean():.0f} % of the {(y == name).sum()} rows of class {name}" in told
    assert f"{n_open} rows ({100 * n_open / 600:.1f} %) get no answer" in told


def test_the_picture_is_made_of_shares_that_add_up(loans):
    model, X, y = loans
    found = measures(judged_table(model, X, y), ["no", "yes"])
    label, is_open = model.predict(X), model.predict_set(X).all(axis=1)
    for own in [found | {"recall": found["accuracy"]}, *found["by_class"]]:
        rows = y == own["name"] if "name" in own else np.full(600, True)
        right, parts = label[rows] == y[rows], own["parts"]
        assert sum(parts.values()) == pytest.approx(1)
        assert parts["right"] + parts["open_right"] == pytest.approx(own["recall"]) == pytest.approx(right.mean())
        assert parts["right"] == pytest.approx((right & ~is_open[rows]).mean())
        assert parts["open_wrong"] == pytest.approx((~right & is_open[rows]).mean())
    assert found["baseline"] == pytest.approx((y == "no").mean())
    assert found["accuracy_answered"] == pytest.approx((label == y)[~is_open].mean())


def test_a_model_that_is_no_better_than_guessing_is_said_to_be_so():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.repeat(["a", "b"], [150, 50])
    model = FERLClassifier(random_state=0).fit(X[:, :1] * 0, y)
    told = first_sentence(model, X[:, :1] * 0, y)
    assert "75.0 % of the predictions are right, no better than guessing (always predicting a: 75.0 %)" in told
    assert re.search(r"0 % of the [\d,]+ rows? of class b", told)


def test_without_labels_nothing_is_said_of_right_and_wrong(loans):
    model, X, _ = loans
    assert 'class="outcomes"' in report_html(model, X, np.resize(["no", "yes"], 600))
    assert 'class="outcomes"' not in report_html(model, X)
    assert "There are no labels, so the accuracy is unknown." in first_sentence(model, X)


def test_of_many_classes_the_best_and_the_worst_are_named():
    table = mixed_table(np.random.default_rng(0), n=300, n_classes=5)
    told = first_sentence(fit_mixed(table), table.frame, table.y)
    assert "predict one of 5 classes" in told
    assert re.search(
        r"The model finds from \d+ % of the \d+ rows of class \d to \d+ % of the \d+ rows of class \d\.", told
    )


# ---------------------------------------------------------------------------------------------------------------------
# Groups
# ---------------------------------------------------------------------------------------------------------------------


def test_groups_of_the_page_are_those_of_the_metrics(loans):
    model, X, y = loans
    for column in ("family", "debt"):
        page = report_html(model, X, y, groups=column)
        abstained = model.predict_set(X).all(axis=1)
        expected = metrics_by_group(y, model.predict(X), X[column], model.classes_, abstained=abstained)
        table = page[page.index('<section id="groups"') : page.index('<section id="abstained"')]
        rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", table, re.DOTALL)
        assert len(rows) == len(expected) > 1
        for (name, cells), own in zip(rows, expected, strict=True):
            told = [re.sub(r"<.*?>", "", cell) for cell in re.findall(r"<td.*?</td>", cells, re.DOTALL)]
            assert name.startswith(own.group)
            assert told[0] == f"{own.n_rows:,}"
            assert told[1].startswith(percent(own.accuracy))
            assert told[2] == percent(own.abstention)
            assert told[3] == percent(own.predicted[1])
            assert told[4] == f"{percent(own.false_positive_rate)} of {own.n_by_class[0]}"
            assert told[5] == f"{percent(own.false_negative_rate)} of {own.n_by_class[1]}"


def test_groups_may_be_a_column_that_the_model_does_not_read(loans):
    model, X, y = loans
    sex = np.where(np.arange(600) % 3, "female", "male")
    named = report_html(model, X.assign(sex=sex), y, groups="sex")
    assert "By sex" in named
    assert report_html(model, pl.from_pandas(X).with_columns(sex=pl.Series(sex)), y, groups="sex") == named
    assert report_html(model, X, y, groups=pd.Series(sex, name="sex")) == named


def test_small_groups_are_marked_and_left_out_of_the_comparison(loans):
    model, X, y = loans
    sizes = np.repeat(["large", "middle", "tiny"], [400, 180, 20])
    page = report_html(model, X, y, groups=sizes)
    section = page[page.index('<section id="groups"') : page.index('<section id="abstained"')]
    assert re.search(
        r"tiny<span class=\"note small-group\"> \(few rows\)</span></th><td class=\"right\">20</td>", section
    )
    assert section.count("few rows") == 1
    gap = re.search(r"Accuracy lies between .*? \((\w+)\) and .*? \((\w+)\)", section)
    assert set(gap.groups()) == {"large", "middle"}
    without = report_html(model, X, None, groups=sizes)
    assert "Without labels, only abstentions and predictions can be compared." in without


def test_wrong_groups_are_named_with_the_remedy(loans):
    model, X, y = loans
    with pytest.raises(ValueError, match=r"groups is 'age'; the columns of X are \['debt', .*Name one of them"):
        report_html(model, X, y, groups="age")
    with pytest.raises(ValueError, match="groups has 3 values and X has 600 rows"):
        report_html(model, X, y, groups=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"groups has shape \(2, 2\); pass one value for each row"):
        report_html(model, X, y, groups=[["a", "b"], ["c", "d"]])
    without_names = FERLClassifier(random_state=0).fit(np.zeros((4, 1)), ["a", "b"] * 2)
    with pytest.raises(ValueError, match="the columns of X are without names"):
        report_html(without_names, np.zeros((4, 1)), groups="x0")


@pytest.mark.parametrize("groups", ["debt", "branch"])
def test_the_command_compares_the_same_groups(tmp_path, loans, groups):
    model, X, y = loans
    save_model(model, tmp_path / "model.json")
    rows = X.assign(branch=np.arange(600) % 30, denied=y)
    rows.to_csv(tmp_path / "table.csv", index=False)
    files = [str(tmp_path / name) for name in ("model.json", "table.csv", "r.html")]
    arguments = ["report", *files[:2], "--target", "denied", "--groups", groups, "-o", files[2], "--title", "T"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    known = rows[[*X.columns, "branch"] if groups == "branch" else X.columns]
    python = report_html(model, known, y, title="T", table="table.csv", groups=groups)

    def section(page):
        return page[page.index('<section id="groups"') : page.index('<section id="abstained"')]

    assert section((tmp_path / "r.html").read_text(encoding="utf-8")) == section(python)
    done = CliRunner().invoke(app, [*arguments[:6], "familie", "-o", files[2]])
    assert done.exit_code == 2
    assert "has no column 'familie'. Did you mean 'family'?" in done.output


@pytest.mark.parametrize("groups", ["b", "kind"])
def test_a_model_without_names_takes_the_other_columns_in_their_order(tmp_path, groups):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.choice(["no", "yes"], 200)
    model = FERLClassifier(random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.json")
    rows = pd.DataFrame(X, columns=["a", "b"])
    rows = rows if groups == "b" else rows.assign(kind=rng.choice(["s", "t"], 200))
    rows.assign(y=y).to_csv(tmp_path / "table.csv", index=False)
    files = [str(tmp_path / name) for name in ("model.json", "table.csv", "r.html")]
    done = CliRunner().invoke(app, ["report", *files[:2], "--target", "y", "--groups", groups, "-o", files[2]])
    assert done.exit_code == 0, done.output
    assert f"By {groups}" in (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        assert f"By {groups}" in report_html(model, rows, y, groups=groups)


# ---------------------------------------------------------------------------------------------------------------------
# Points and reasons
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_card_has_the_points_of_the_scorecard(n_classes):
    table = mixed_table(np.random.default_rng(n_classes), n=300, n_classes=n_classes)
    model = FERLClassifier(random_state=0).fit(table.frame, table.y)
    card = sections_of(model, table.frame)["scorecard"].blocks[1].table
    frame = export_scorecard(model)
    assert [when for _, when, *_ in card.rows] == frame["when"].tolist()
    names = [name for name, *_ in card.rows if name]
    names = [name for name in names if not name.startswith("rule ")]  # the card of Python names their features
    assert names == list(dict.fromkeys(own for own in frame["feature"] if " and " not in own))
    assert [name.marks["span"] for name in names] == frame["feature"].value_counts(sort=False)[names].tolist()
    columns = [name for name in frame if name.startswith("points") and not name.startswith("points_to")]
    for k, name in enumerate(columns):
        told = [float(points[k].split(" to ")[0]) for _, _, *points in card.rows]
        np.testing.assert_allclose(told, frame[name], atol=0.0501)
    assert len(card.headings) == 2 + len(columns)


def test_the_model_card_lists_what_was_changed_by_hand():
    X, y = rare_category_table(np.random.default_rng(0), 600)
    clf = FERLClassifier(max_rules=12, random_state=0).fit(X, y)
    assert "Changed by hand" not in report_html(clf, X, y)
    edited = edit(clf).forbid(X.columns[0]).drop(min(edit(clf).forbid(X.columns[0]).model_.numbers)).refit(X, y)
    page = re.sub("<.*?>", "", report_html(edited, X, y))
    dropped = edited.model_.history[1]["dropped"][0]
    assert f"Changed by handforbid {X.columns[0]}; drop rule {dropped}; refit" in "".join(page.splitlines()).replace(
        "  ", ""
    )


def test_trees_and_many_classes_have_no_card():
    table = mixed_table(np.random.default_rng(0), n=300, n_classes=8)
    assert "scorecard" not in sections_of(fit_mixed(table), table.frame)
    assert summary_of(fit_mixed(table), table.frame)["page"]["reasons"] is None
    assert "scorecard" not in sections_of(FERLClassifier(random_state=0).fit(table.frame, table.y), table.frame)


def test_listed_rows_have_the_reason_codes_of_the_less_probable_class(loans):
    model, X, y = loans
    sections = sections_of(model, X, y)
    for card in cards_of(sections["abstained"])[:5] + cards_of(sections["novel"])[:5]:
        one = X.iloc[[number_of(card) - 1]]
        other = "no" if model.predict(one)[0] == "yes" else "yes"
        expected = reason_codes(model, one, positive=other)[0]
        codes = next(block for block in card.blocks if isinstance(block, Section))
        assert codes.title == f"Reason codes against {other}"
        for k, (told, reason) in enumerate(zip(codes.lines, expected, strict=True), 1):
            assert told.startswith((f"{k}. {reason.name} is ", f"{k}. {reason.text.split(' fits by ')[0]}"))
            assert told.endswith(reason.text.rsplit(":", 1)[1])


# ---------------------------------------------------------------------------------------------------------------------
# Unusual rows, answers and words
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["rules", "deep", "compact"])
def test_rows_like_those_of_training_are_as_unusual_as_these(variant):
    rng = np.random.default_rng(0)
    table = mixed_table(rng, n=1200, n_classes=2, missing=0.05)
    rows = table.frame.iloc[:400]
    model = classifier(variant, random_state=0).fit(rows, table.y[:400])
    scale = novelty_scale(model.model_)
    assert (np.diff(scale.training) >= 0).all()
    shares = np.array([scale.share(own) for own in model.novelty(table.frame.iloc[400:])])
    assert abs(shares.mean() - 0.5) < 0.07
    assert abs((shares > 0.9).mean() - 0.1) < 0.05
    far = table.frame.iloc[:3].assign(x0=1e6)
    assert [scale.share(own) for own in model.novelty(far)] == [1.0] * 3


def test_a_model_without_training_rows_tells_novelty_by_what_is_usual():
    table = mixed_table(np.random.default_rng(0), n=300)
    model = FERLClassifier(random_state=0, n_exemplars=0).fit(table.frame, table.y)
    summary = summary_of(model, table.frame)
    assert summary["page"]["novelty"]["training"] == []
    first = cards_of(sections_of(model, table.frame)["novel"])[0]
    assert re.match(r"[\d.]+ times the usual novelty[,.]", first.lines[1])


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_rows_without_an_answer_have_no_label(variant):
    table = mixed_table(np.random.default_rng(0), n=300)
    model = fit_mixed(table, kind=variant)
    rows = rows_beside(table, 0, 200)
    abstained = cards_of(sections_of(model, rows, np.resize(table.y, 200))["abstained"])
    assert abstained
    for card in abstained:
        assert card.lines[0].startswith("No answer")
        assert re.fullmatch(r"Its label is \w+\.", card.lines[1])  # and no other label is told


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_nothing_is_ruled_out_or_possible_and_proven_is_said_of_certificates_alone(variant, loans):
    _, X, y = loans
    page = report_html(classifier(variant, random_state=0).fit(X, y), X, y, groups="family")
    text = re.sub(r"<(script|style).*?</\1>|<.*?>", " ", page, flags=re.DOTALL)
    assert not re.search(r"rule[sd]? out|proven|impossible", text, re.IGNORECASE)


@pytest.mark.parametrize("kind", ["rules", "trees"])
def test_every_word_of_the_page_that_is_explained_is_in_the_glossary(kind, loans):
    _, X, y = loans
    page = report_html(
        classifier({"rules": "rules", "trees": "deep"}[kind], random_state=0).fit(X, y), X, y, groups="family"
    )
    words, *_ = words_of(kind)
    used = set(re.findall(r'data-term="([^"]*)"', page))
    assert used <= set(words)
    assert {"accuracy", "recall", "belief", "plausibility", "no answer", "ignorance", "novelty"} <= used
    for word in used:
        assert f'id="term-{word.replace(" ", "-")}"' in page
    assert {"certificate", "conflict", "outside the training range", "prediction set"} <= set(words)


def test_numbers_of_the_text_have_four_digits_at_most(loans):
    model, X, y = loans
    page = report_html(model, X, y, groups="debt")
    text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    digits = [own.replace(".", "").lstrip("0") for own in re.findall(r"(?<![\w.])\d+\.\d+(?!\w|\.\d)", text)]
    long = [own for own in digits if len(own.rstrip("0")) > 4]
    assert len(digits) > 100
    assert long == []


@pytest.mark.parametrize("kind", ["rules", "deep"])
def test_a_page_of_a_described_table_has_its_words(kind):
    table, clf = real_table("bank"), fitted("bank", kind)
    page = report_html(clf, table.frame[:80], table.y[:80], groups="owns_home")
    text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert "<h1>Predicting default</h1>" in page
    assert "<h1>My title</h1>" in report_html(clf, table.frame[:5], title="My title")
    assert 'id="groups-title">By owns a home' in text
    assert re.findall(r'<th scope="row">(no|yes)</th>', text) == ["no", "yes"]
    assert "probability of defaulted" in text
    assert '"words":["no","yes"]' in page
    since = table.frame.columns.get_loc("customer_since")
    assert _end_texts(clf.model_, since, 16436.0, 19430.5) == ["2015-01-01", "2023-03-14"]
    assert not re.search(r"(?<![\d.])1[6-9]\d{3}(?![\d.])", re.sub(r"<[^>]*>", " ", text))


# ---------------------------------------------------------------------------------------------------------------------
# The model card
# ---------------------------------------------------------------------------------------------------------------------


def test_the_model_card_holds_what_people_write_and_what_the_model_knows(loans):
    model, X, y = loans
    use, limits = "Sorts applications <b>for review</b>.", "Not for companies."
    page = report_html(model, X, y, intended_use=use, limits=limits, date="2026-02-03")
    card = page[page.index('<section id="card"') :].split("</section>")[0]
    assert "Sorts applications &lt;b&gt;for review&lt;/b&gt;." in card
    for part in (limits, "2026-02-03", __version__, f"{len(X)}, the table", "no and yes"):
        assert part in card
    weight = float(model.model_.tree.weight[0])
    assert f"<dt>Training rows</dt><dd>{weight:,.0f}" in card
    assert "Not stated." in report_html(model, X, y)


def test_auc_and_accuracy_come_with_their_intervals(loans):
    model, X, y = loans
    found = measures(judged_table(model, X, y), ["no", "yes"])
    assert found["auc"] == pytest.approx(roc_auc_score(y == "yes", model.predict_proba(X)[:, 1]))
    low, high = map(float, found["auc_range"].split(" to "))
    assert low < found["auc"] < high
    low, high = map(float, found["accuracy_range"].removesuffix(" %").split(" to "))
    assert low < 100 * found["accuracy"] < high
    assert measures(judged_table(model, X[:1], y[:1]), ["no", "yes"])["auc"] is None


def test_the_interval_of_an_auc_holds_the_true_one_as_often_as_stated():
    rng = np.random.default_rng(0)
    truth = norm.cdf(1 / np.sqrt(2))  # of scores whose classes differ by a standard deviation
    held = 0
    for _ in range(400):
        _, (low, high) = auc_interval(rng.normal(1, 1, 80), rng.normal(0, 1, 120))
        held += low <= truth <= high
    assert 0.92 <= held / 400 <= 0.98
