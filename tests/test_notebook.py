"""What a notebook shows: a card of a classifier, bars beside an explanation, the page with its form, a progress bar."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from browser import chromium
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._util.threads import count_bar, rows_bar
from ferl.report import show

BOTH = pytest.mark.parametrize("make", [FERLClassifier, FERLTreeClassifier])


def named_iris():
    X, y = load_iris(return_X_y=True)
    names = ["<b>length</b>", "width", "petal & length", "petal width"]
    return pd.DataFrame(X, columns=names), pd.Series(np.array(["a", "b", "c"])[y], name="kind")


@BOTH
def test_a_fitted_classifier_is_a_card_above_the_box_of_scikit_learn(make):
    X, y = named_iris()
    before, clf = make(random_state=0)._repr_mimebundle_(), make(random_state=0).fit(X, y)
    assert "ferl-story" not in before["text/html"]
    html = clf._repr_mimebundle_()["text/html"]
    assert clf._repr_html_()[:2000] == html[:2000]  # the box has a number, another one each time
    assert html.startswith('<div class="ferl-story">')
    assert "sk-top-container" in html
    card = html[: html.index("sk-top-container")]
    assert "kind (a, b or c)" in card
    assert "Learned from 150 training rows" in card
    assert "<b>" not in card
    largest = clf.feature_importances_.argmax()
    assert card.index("<tbody>") < card.index(str(X.columns[largest]).replace("&", "&amp;").replace("<", "&lt;")[:6])
    assert f"{100 * clf.feature_importances_.max():.0f} %" in card
    with config_context(display="text"):
        assert "text/html" not in clf._repr_mimebundle_()
        assert not hasattr(clf, "_repr_html_")


def test_a_pipeline_still_has_its_diagram():
    X, y = load_iris(return_X_y=True)
    assert "FERLClassifier" in make_pipeline(StandardScaler(), FERLClassifier()).fit(X, y)._repr_html_()


@BOTH
def test_an_explanation_has_a_bar_for_each_effect(make):
    X, y = named_iris()
    story = make(random_state=0).fit(X, y).explain(X.iloc[[70]])
    html = story._repr_html_()
    bars = html[html.index("ferl-bars") : html.index("</table>")]
    shown = [own for own in story.effects if abs(own.weight) >= 0.005][:8]
    assert bars.count("<svg") == len(shown) > 0
    widths = [float(own) for own in re.findall(r"<rect x=\"[\d.]+\" width=\"([\d.]+)\"", bars)]
    assert widths == pytest.approx([50 * abs(own.weight) / abs(shown[0].weight) for own in shown], abs=0.1)
    assert "<b>length" not in html
    assert "<svg" not in str(story)


def test_a_classifier_shows_its_form_and_predicts_in_it(tmp_path):
    X, y = named_iris()
    clf = FERLClassifier(random_state=0).fit(X, y)
    shown = clf.show(height=500)
    assert shown == show(clf, height=500)
    assert 'id="what-if"' in shown.html
    assert 'id="metrics"' not in shown.html
    assert 'id="metrics"' in clf.show(X, y).html
    with pytest.raises(ValueError, match="show has labels y and no rows X"):
        clf.show(y=y)
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'>{shown._repr_html_()}", encoding="utf-8")
    with chromium() as driver:
        driver.get(page.as_uri())
        driver.switch_to.frame(0)
        first = driver.find_element("id", "verdict").text
        assert first in clf.classes_ or first.startswith(("No answer", "One of"))
        driver.execute_script("document.querySelectorAll('.lacks input').forEach((own) => own.click())")
        values = dict.fromkeys(X.columns, None)
        told = clf.explain(values).summary.split(",")[0].split(" (")[0].removeprefix("kind: ")
        assert told in driver.find_element("id", "sentence").text


class FakeNotebook:
    """Keeps what is displayed, as a notebook shows it last."""

    def __init__(self):
        self.shown = []

    def HTML(self, text):
        return text

    def display(self, text, display_id):
        self.shown.append([text])
        return SimpleNamespace(update=self.shown[-1].append)


@pytest.fixture
def notebook(monkeypatch):
    fake = FakeNotebook()
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", fake)
    return fake


def test_a_notebook_has_a_progress_bar_without_widgets(notebook):
    with count_bar("growing <rules>", 10, show=True) as move:
        move(1)
        move(7)
    (states,) = notebook.shown
    assert "growing &lt;rules&gt;" in states[0]
    assert 'value="1" max="10"' in states[0]
    assert 'value="1" max="1"' in states[-1]
    assert states[-1].endswith("7</div>")
    with rows_bar(100, show=True) as count:
        count("reading", 50)
        count("reading", 100)
    assert 'value="100" max="100"' in notebook.shown[1][-1]


def test_a_fit_moves_the_bar(notebook):
    X, y = load_iris(return_X_y=True)
    clf = FERLClassifier(random_state=0, verbose=1).fit(X, y)
    assert f"{clf.n_rules_}</div>" in notebook.shown[0][-1]
