"""One row's story: any form of row, any form of story, whatever the names."""

from __future__ import annotations

import json
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO

import numpy as np
import pandas as pd
import polars as pl
import pytest
from rich.console import Console
from sklearn.datasets import load_iris

from ferl import FERLTreeClassifier, OtherColumnsWarning
from law_examples import RULES
from model_examples import mixed_table as awkward_table
from tree_examples import tree_classifier

NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
HOSTILE = ["</script><b>", "[bold red]x[/bold red]", '"quo\'ted" & <i>', "émoji 🦊 \n\t line", "long " * 200]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=NAMES)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    return frame, FERLTreeClassifier("deep", random_state=0).fit(frame, labels)


def hostile_model():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 4)), columns=HOSTILE[:4])
    frame[HOSTILE[4]] = rng.choice(HOSTILE, 120)
    y = np.array(HOSTILE)[(frame.iloc[:, 0] > 0).to_numpy() * 1 + (frame.iloc[:, 1] > 0).to_numpy() * 2]
    return frame, FERLTreeClassifier("deep", random_state=0).fit(frame, y)


# ---------------------------------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------------------------------


def test_a_row_may_come_in_any_form(iris):
    frame, model = iris
    row = frame.iloc[70]
    shuffled = frame[NAMES[::-1]]
    forms = [row, row.to_numpy(), row.tolist(), [row.tolist()], row.to_numpy()[None], frame.iloc[[70]]]
    forms += [row.to_dict(), dict(reversed(row.to_dict().items())), shuffled.iloc[70], shuffled.iloc[[70]]]
    forms += [pl.from_pandas(frame)[70], pl.from_pandas(frame).row(70, named=True), pl.Series(row.tolist())]
    stories = [model.explain(form) for form in forms]
    assert all(story == stories[0] for story in stories)
    assert stories[0].label == model.predict(frame.iloc[[70]])[0]


def test_a_model_without_names_takes_rows_by_place():
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    by_place = dict(enumerate(X[70].tolist()))
    by_name = {f"x{j}": value for j, value in by_place.items()}
    stories = [model.explain(form) for form in (X[70], X[70:71], pd.Series(X[70]), by_place, by_name)]
    assert all(story == stories[0] for story in stories)


def test_rows_that_are_not_one_are_refused_with_the_remedy(iris):
    frame, model = iris
    with pytest.raises(ValueError, match=r"x has 3 rows; this is about one\. Pass one of them"):
        model.explain(frame.head(3))
    with pytest.raises(ValueError, match="x has 3 values; the model was fitted on 4 features"):
        model.explain([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"x has no value for 'petal width', a feature of the model\. Add it; None"):
        model.explain(dict.fromkeys(NAMES[:3], 1.0))
    with pytest.warns(OtherColumnsWarning, match=r"columns that the model was not fitted on \('colour'\)"):
        story = model.explain(dict.fromkeys([*NAMES, "colour"], 1.0))
    assert story == model.explain(dict.fromkeys(NAMES, 1.0))


# ---------------------------------------------------------------------------------------------------------------------
# Forms of a story
# ---------------------------------------------------------------------------------------------------------------------


def stories_of_all_kinds():
    rows, labels = awkward_table()
    for combination in RULES:
        for variant in ("deep", "compact"):
            model = tree_classifier(variant, random_state=0, combination=combination, missing_conditions=True)
            model.fit(rows, labels)
            for row in (rows[0], rows[1], [None] * 5, [1e9, "never seen", True, None, 5.0]):
                yield model.explain(row)


def test_a_story_is_plain_json_text_and_html_for_every_model():
    for story in stories_of_all_kinds():
        form = json.loads(json.dumps(story.to_dict(), allow_nan=False))
        assert form["label"] == story.label
        assert form["summary"] == story.summary
        assert str(story) == story.to_text() == story.to_text(80)
        assert max(map(len, story.to_text(60).splitlines())) <= 60
        assert story._repr_html_() == story.to_html()
        assert "\n" not in story.summary
        assert story.summary.endswith(".")


def test_missing_and_unseen_values_are_said_in_words():
    rows, labels = awkward_table()
    model = FERLTreeClassifier("deep", random_state=0).fit(rows, labels)
    text = model.explain([None, "nowhere", True, 1.0, None]).to_text()
    assert "Missing: x0 and x4." in text
    assert "x1 is nowhere, a category that training did not have." in text


class _Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        drawings = {"svg", "rect", "path"}  # bars, whose numbers and names are ours
        assert tag in drawings or [name for name, _ in attrs] in ([], ["class"], ["scope"], ["scope", "class"])
        assert not any(name.startswith("on") or name in ("href", "src") for name, _ in attrs)

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_names_are_neither_markup_nor_html():
    frame, model = hostile_model()
    story = model.explain(frame.iloc[5])
    page = _Tags()
    page.feed(story.to_html())
    folded = {"details", "summary", "h3", "svg", "rect", "path"}
    assert page.tags <= {"div", "style", "h4", "p", "table", "thead", "tbody", "tr", "th", "td"} | folded
    console = Console(file=StringIO(), width=400, force_terminal=False)
    console.print(story)
    assert "[bold red]x[/bold red]" in console.file.getvalue()
    assert all(line.isprintable() for line in story.to_text().splitlines())
    json.dumps(story.to_dict(), allow_nan=False)


def test_colours_say_what_plain_text_says(iris):
    frame, model = iris
    story = model.explain(frame.iloc[83], details=True)
    console = Console(file=StringIO(), width=100, force_terminal=True, color_system="standard")
    console.print(story)
    assert "\x1b[1;36mEvidence" in console.file.getvalue()
    plain = Console(file=StringIO(), width=200)
    plain.print(story)
    assert story._head in plain.file.getvalue()


def test_a_width_too_small_to_read_is_refused(iris):
    frame, model = iris
    with pytest.raises(ValueError, match="width is 10; a page needs at least 40 columns"):
        model.explain(frame.iloc[0]).to_text(10)


# ---------------------------------------------------------------------------------------------------------------------
# What it says
# ---------------------------------------------------------------------------------------------------------------------


def test_the_summary_gives_answer_and_reason(iris):
    _, model = iris
    sure = model.explain([5.0, 3.4, 1.5, 0.2])
    assert sure.summary == "setosa (98 %), because petal length is 1.5."
    odd = model.explain([5.0, 3.4, 1.5, 2.4])
    assert odd.summary.endswith("; but petal width is 2.4, while 0.1 to 0.4 is usual for such rows.")
    lost = model.explain([60.0, 30.0, 50.0, 20.0])
    assert lost.abstains
    assert lost.summary.startswith("No answer: no rule covers the row, because")
    two = model.explain([6.0, 2.7, 5.1, 1.6], details=True)
    assert two.summary.startswith("virginica (49 %) or versicolor (41 %): rules fire only in part")
    assert "The support of versicolor reaches up to 60.0 %, and that of virginica begins at 39.4 %." in two.to_text(200)


def test_no_answer_is_no_label_and_no_proof_of_one(iris):
    _, model = iris
    far, torn = model.explain([1e9] * 4, details=True), model.explain([None] * 4, details=True)
    for story in (far, torn):
        assert story.abstains
        assert story.label is story.changes is story.certified is None
        assert "Proven" not in str(story)
        assert "would change" not in str(story)
    assert torn.summary.startswith(
        "No answer, setosa (35 %), versicolor (33 %) or virginica (33 %): rules fire only in part"
    )


def test_the_story_agrees_with_the_readings_of_the_model(iris):
    frame, model = iris
    for place in (0, 70, 83, 120):
        row, story = frame.iloc[[place]], model.explain(frame.iloc[place])
        evidence = model.predict_evidence(row)
        assert story.belief == tuple(evidence.belief[0])
        assert story.in_set == tuple(model.predict_set(row)[0])
        assert story.novelty == pytest.approx(model.novelty(row)[0])
        spread = frame.to_numpy().std(axis=0)
        assert story.certified.radius == pytest.approx(model.certified_radius(row, scale=spread)[0])


@pytest.mark.parametrize("combination", RULES)
@pytest.mark.parametrize("sources", ["leaves", "all"])
def test_a_row_beyond_the_reach_of_all_rules_has_a_story(combination, sources):
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("deep", random_state=0, combination=combination, sources=sources).fit(X, y)
    for far in (1e150, -1e150):
        story = model.explain([far] * 4, details=True)
        assert story.abstains
        assert story.rules == ()
        assert "None: no rule covers the row." in str(story)


def test_no_change_is_called_proven_only_where_it_is(iris):
    frame, model = iris
    sure = replace(model.explain(frame.iloc[0], details=True), changes=())
    assert (
        "Proven: no change of a single value within the range that the model keeps makes the label other"
        in sure.to_text(200)
    )
    searched = replace(sure, unproven=("petal width",))
    line = "No change of petal width alone within the range that the model keeps was found that makes the label"
    assert f"{line} other than setosa; this is a search, not a proof." in searched.to_text(200)
    assert searched.to_dict()["unproven"] == ["petal width"]
    assert "Proven: no change" not in str(searched)
    assert "Proven: no change" not in str(model.explain(frame.iloc[83], details=True))


def test_what_cannot_be_measured_is_said_in_words(iris):
    _, model = iris
    assert "Unknown, since all values are missing." in str(model.explain([None] * 4, details=True))
    beyond = model.explain([1e308] * 4, details=True)
    assert beyond.novelty == np.inf
    assert "Novelty is too large to be written as a number." in str(beyond)
    assert "nan" not in str(beyond)
    assert " -0 " not in str(model.explain([-0.0] * 4, details=True))


def test_the_search_for_changes_can_be_left_out(iris):
    frame, model = iris
    story = model.explain(frame.iloc[70], counterfactual=False, details=True)
    assert story.changes is None
    assert story.to_dict()["changes"] is None
    assert "If petal" not in str(story)
    assert "What would change it" not in str(story)


def test_words_are_explained_where_rules_use_them():
    X, y = load_iris(return_X_y=True)
    story = FERLTreeClassifier("compact", random_state=0).fit(X, y).explain(X[0], details=True)
    assert story.words
    assert "What the words mean" in str(story)
    assert "What the words mean" not in str(
        FERLTreeClassifier("deep", random_state=0).fit(X, y).explain(X[0], details=True)
    )
