"""The report in a real browser: what is folded away, words that are explained, and what the what-if form tells."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from browser import chromium, console, open_page, set_width
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._sklearn import check_rows
from ferl._tell.explanation import REMEDIES
from ferl._tell.stability import deviations_text
from ferl.report import write_report
from table_examples import rare_category_table

MOST_HEIGHT = 6000  # pixels of a page as it opens, 1400 wide


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """Numbers and categories, rare denials: the model, its rows, and the page."""
    X, y = rare_category_table(np.random.default_rng(0), 1200)
    labels = np.where(y == 1, "yes", "no")
    model = FERLClassifier(max_rules=12, random_state=0).fit(X[:600], labels[:600])
    path = tmp_path_factory.mktemp("report") / "loans.html"
    return model, X[600:], write_report(model, X[600:], labels[600:], path, groups="family")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Many rules on many features, with many rows that get no answer."""
    X, y = make_classification(800, 20, n_informative=10, n_classes=4, flip_y=0.2, random_state=0)
    model = FERLTreeClassifier("deep", random_state=0).fit(X[:500], y[:500])
    assert model.n_rules_ > 40
    path = tmp_path_factory.mktemp("report") / "many.html"
    return write_report(model, X[500:], y[500:], path, groups=X[500:, 0])


def test_a_page_opens_short_however_much_there_is_to_say(browser, loans, many):
    for path in (loans[2], many):
        open_page(browser, path)
        set_width(browser, 1400)
        assert browser.execute_script("return document.documentElement.scrollHeight") < MOST_HEIGHT
        browser.execute_script("document.getElementById('unfold').click()")
        assert browser.execute_script("return document.querySelectorAll('main details:not([open])').length") == 0
        assert browser.execute_script("return document.getElementById('unfold').textContent") == "Fold"
        browser.execute_script("document.getElementById('unfold').click()")
        assert browser.execute_script("return document.querySelectorAll('main details[open]').length") == 0
    assert console(browser) == []


def test_a_link_to_a_rule_unfolds_the_rules(browser, many):
    open_page(browser, many)
    is_seen = "return document.getElementById('rule-40').checkVisibility({ contentVisibilityAuto: true })"
    assert not browser.execute_script(is_seen)
    browser.execute_script(
        "const own = document.getElementById('rule-filter'); own.value = 'none such';"
        "own.dispatchEvent(new Event('input')); location.hash = 'rule-40'"
    )
    browser.execute_async_script("setTimeout(arguments[0], 50)")
    assert browser.execute_script(is_seen)


TIP = "return document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent"


def test_words_are_explained_to_keyboard_mouse_and_finger(browser, loans):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    open_page(browser, loans[2])
    set_width(browser, 1200)
    word = browser.find_element(By.CSS_SELECTOR, "#summary .term[data-term='accuracy']")
    meaning = "The share of rows whose predicted class is their label."
    assert browser.execute_script(TIP) == ""
    browser.execute_script("arguments[0].focus()", word)
    assert browser.execute_script(TIP) == meaning
    ActionChains(browser).send_keys(Keys.ESCAPE).perform()
    assert browser.execute_script(TIP) == ""
    browser.execute_script("arguments[0].blur()", word)
    ActionChains(browser).move_to_element(word).perform()
    assert browser.execute_script(TIP) == meaning
    ActionChains(browser).move_by_offset(0, 200).perform()
    assert browser.execute_script(TIP) == ""
    browser.execute_script("arguments[0].click()", word)
    assert browser.execute_script(TIP) == meaning
    described = browser.execute_script(
        "return document.getElementById(arguments[0].getAttribute('aria-describedby'))", word
    )
    assert browser.execute_script("return arguments[0].textContent", described) == meaning


@pytest.mark.parametrize("width", [320, 1200])
def test_explanations_stay_inside_the_window(browser, loans, width):
    open_page(browser, loans[2])
    set_width(browser, width)
    outside = browser.execute_script(
        "const tip = document.getElementById('tip'), found = [];"
        "for (const word of document.querySelectorAll('.term')) {"
        "  if (!word.checkVisibility()) continue;"
        "  word.scrollIntoView({ block: 'center', behavior: 'instant' });"
        "  word.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));"
        "  const box = tip.getBoundingClientRect();"
        "  if (tip.hidden || box.left < 0 || box.right > innerWidth || box.top < 0 || box.bottom > innerHeight)"
        "    found.push(word.dataset.term);"
        "}"
        "return found;"
    )
    assert outside == []


def text_of(browser, name):
    return browser.execute_script("return document.getElementById(arguments[0]).innerText", name)


def test_the_form_tells_the_sentence_of_python_until_a_value_changes(browser, loans):
    model, X, path = loans
    open_page(browser, path)
    answered, n_moved = np.flatnonzero(~model.predict_set(X[:50]).all(axis=1)).tolist(), 0
    for index in answered[:5]:
        browser.execute_script(
            "const menu = document.getElementById('row-choice'); menu.value = arguments[0];"
            "menu.dispatchEvent(new Event('change'))",
            index,
        )
        story = model.explain(X.iloc[[index]])
        told = text_of(browser, "sentence")
        assert told.split(",")[0] == story.summary.split(",")[0]
        radius = story.certified.radius
        assert (f"no number moves by more than {deviations_text(radius)}" in text_of(browser, "changes")) == (
            radius > 0
        )
        offered = browser.execute_script(
            "return [...document.querySelectorAll('#changes [data-to]')].map((own) => Number(own.dataset.feature))"
        )
        names = model.model_.feature_names()
        found = [names[feature] for feature in offered]
        assert found == [change.feature for change in story.changes][:5]
        moved = [change.distance for change in story.changes[:5] if isinstance(change.to, float)]
        n_moved += len(moved)
        assert re.findall(r"\(([\d.]+ standard deviations?)\)", text_of(browser, "changes")) == [
            deviations_text(distance) for distance in moved
        ]
    assert n_moved
    browser.execute_script("document.querySelector('#changes [data-to]')?.click()")
    assert "Proven" not in text_of(browser, "changes")
    assert text_of(browser, "sentence") != told


def test_the_form_gives_the_remedy_that_explain_gives(browser, loans, tmp_path):
    model, X, path = loans
    tree = FERLTreeClassifier("deep", random_state=0).fit(X[:300], model.predict(X[:300]))
    tree_path = write_report(tree, X[300:], model.predict(X[300:]), tmp_path / "tree.html")
    far = X.iloc[[0]].assign(**{X.select_dtypes("number").columns[0]: 1e6})
    rows = pd.concat([X[:100], far])
    assert remedies(browser, model, path, rows) >= {"", REMEDIES["novelty"], REMEDIES["doubt"]}
    assert remedies(browser, tree, tree_path, rows) >= {"", REMEDIES["novelty"]}


def remedies(browser, model, path, rows):
    """What the form advises for the rows, after it was compared with `explain` of each."""
    open_page(browser, path)
    encoded = check_rows(model, rows)[:, : model.n_features_in_]
    shown = set()
    for index in range(len(rows)):
        browser.execute_script("ferlPage.load(arguments[0].map(Number))", [str(value) for value in encoded[index]])
        advice = text_of(browser, "remedy")
        assert advice == REMEDIES.get(model.explain(rows.iloc[[index]]).concern, "")
        shown.add(advice)
    return shown


def test_a_change_that_is_tried_gives_the_label_that_it_promises(browser, loans):
    _, _, path = loans
    open_page(browser, path)
    tried = 0
    for index in range(20):
        browser.execute_script("ferlPage.load(ferlPage.data.rows[arguments[0]].values.map(Number))", index)
        promised = browser.execute_script(
            "const own = document.querySelector('#changes [data-to]');"
            "if (!own) return null;"
            "const label = own.parentElement.querySelector('strong').textContent; own.click(); return label"
        )
        if promised is None or promised.startswith("no rule"):
            continue
        probable = browser.execute_script(
            "const answer = ferlPage.answer; return ferlPage.data.model.classes[answer.label]"
        )
        assert probable == promised
        tried += 1
    assert tried > 5


def test_reason_codes_and_points_follow_the_form(browser, loans):
    from ferl.export import Scorecard, reason_codes

    model, X, path = loans
    open_page(browser, path)
    totals = {label: Scorecard(model, positive=label).total(X[:3]) for label in model.classes_}
    points = (
        "const own = document.querySelector('[data-key=points]');"
        "return [Number(own.dataset.value), own.parentNode.textContent]"
    )
    for index in range(3):
        browser.execute_script("ferlPage.load(ferlPage.data.rows[arguments[0]].values.map(Number))", index)
        for choice, label in (("0", "no"), ("1", "yes")):
            browser.execute_script(
                "const own = document.getElementById('reason-class'); own.value = arguments[0];"
                "own.dispatchEvent(new Event('change'))",
                choice,
            )
            lost = browser.execute_script(
                "return [...document.querySelectorAll('#reason-codes li')].map((own) => Number(own.dataset.lost))"
            )
            total, sentence = browser.execute_script(points)
            assert total == pytest.approx(totals[label][index], abs=1e-6)
            assert sentence.strip().endswith(f"points for {label}.")
            expected = reason_codes(model, X.iloc[[index]], positive=label)[0]
            assert lost == pytest.approx([own.lost for own in expected], abs=1e-9)


def test_rows_without_an_answer_have_no_label_and_no_changes(browser, loans):
    model, X, path = loans
    open_page(browser, path)
    number = browser.execute_script("return document.querySelector('#abstained button[data-row]').dataset.row")
    browser.execute_script("document.querySelector('#abstained button[data-row]').click()")
    assert model.predict_set(X.iloc[[int(number) - 1]]).all()
    assert text_of(browser, "verdict") == "No answer"
    assert text_of(browser, "sentence").startswith("No answer")
    assert text_of(browser, "changes") == "The row has no label that could change."


def test_novelty_is_told_by_the_training_rows(browser, loans):
    from ferl._tell.unusual import novelty_scale
    from ferl.report.content import unusual_text

    model, X, path = loans
    open_page(browser, path)
    scale = novelty_scale(model.model_)
    for index in range(5):
        browser.execute_script("ferlPage.load(ferlPage.data.rows[arguments[0]].values.map(Number))", index)
        told = unusual_text(scale, float(model.novelty(X.iloc[[index]])[0]))
        assert told in text_of(browser, "unusual").lower()
    far = [1e9 if kind == "number" else 0 for kind in ("number",) * 5] + [0] * 4
    browser.execute_script("ferlPage.load(arguments[0])", far)
    assert "More unusual than all training rows" in text_of(browser, "unusual")
    # A share of 0 leaves up to one row in a hundred that is less unusual.
    browser.execute_script(
        "ferlPage.data.novelty.training = [0, ...Array(100).fill(1e300)]; ferlPage.load(arguments[0])", far
    )
    told = unusual_text(replace(scale, training=np.array([0] + [1e300] * 100)), 1.0)
    assert told == "at least 99 % of the training rows are at least as unusual"
    assert told in text_of(browser, "unusual").lower()


def test_without_scripts_all_but_the_form_can_be_read(loans):
    page = loans[2].read_text(encoding="utf-8")
    assert "<noscript>" in page
    assert page.count('title="The share of rows whose predicted class is their label."') > 0
    card = page[page.index('<table class="card-table">') :]
    assert card[: card.index("</table>")].count("<tr>") > 10
