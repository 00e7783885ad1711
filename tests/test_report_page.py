"""The report in a real browser: keyboard, colours, widths, hostile names, no network, no errors."""

from __future__ import annotations

import base64
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from browser import chromium, console, open_page, requests, set_width
from estimators import classifier
from ferl import FERLClassifier, FERLTreeClassifier
from ferl._cli.demo import demo_report
from ferl.report import write_report
from table_examples import fit_mixed, mixed_table

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "{{ 7 * 7 }} & ' \" <b>\u2028\u2029",
    "😀 emoji, \u202eright to left, \x00\x07 control",
    "long" * 2500,
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as driver:
        yield driver


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    return demo_report("iris", tmp_path_factory.mktemp("report") / "iris.html", "medium")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Hostile names of columns, labels and categories."""
    return write_hostile(FERLTreeClassifier("deep", random_state=0), tmp_path_factory.mktemp("report") / "hostile.html")


@pytest.fixture(scope="module")
def hostile_wide(tmp_path_factory):
    """The same, of rules."""
    return write_hostile(FERLClassifier(random_state=0), tmp_path_factory.mktemp("report") / "hostile.html")


def write_hostile(model, path):
    rng = np.random.default_rng(0)
    category = rng.choice(HOSTILE, 300)
    frame = pd.DataFrame({name: rng.normal(size=300) for name in HOSTILE[:-1]} | {HOSTILE[-1]: category})
    labels = np.where(frame[HOSTILE[0]] > 0, HOSTILE[0], np.where(category == HOSTILE[1], HOSTILE[4], HOSTILE[3]))
    model.fit(frame, labels)
    rows = frame.copy()
    rows.loc[:9, HOSTILE[-1]] = "<i>never</i> seen"
    return write_report(model, rows, labels, path, title=HOSTILE[0], table=HOSTILE[1])


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """150 rules on 60 features."""
    X, y = make_classification(1500, 60, n_informative=30, n_classes=5, random_state=0)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    assert model.n_rules_ > 100
    return write_report(model, X[:30], y[:30], tmp_path_factory.mktemp("report") / "large.html")


@pytest.fixture(scope="module")
def large_wide(tmp_path_factory):
    """Rules on 60 features for and against 12 classes."""
    X, y = make_classification(2000, 60, n_informative=30, n_classes=12, random_state=0)
    model = FERLClassifier(random_state=0, max_rules=60).fit(X, y)
    assert model.n_rules_ > 30
    return write_report(model, X[:30], y[:30], tmp_path_factory.mktemp("report") / "large.html")


PAGES = ["iris", "hostile", "large", "hostile_wide", "large_wide"]


def value_of(browser, key):
    return float(
        browser.execute_script("return document.querySelector(`[data-key='${arguments[0]}']`).dataset.value", key)
    )


def press(browser, *keys):
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(browser).send_keys(*keys).perform()


@pytest.mark.parametrize("page", PAGES)
def test_the_page_asks_for_nothing_and_logs_nothing(browser, request, page):
    path = request.getfixturevalue(page)
    open_page(browser, path)
    browser.execute_script("[...document.querySelectorAll('button')].slice(-12).forEach((button) => button.click())")
    browser.execute_script("document.querySelectorAll('.tools button').forEach((button) => button.click())")
    assert console(browser) == []
    assert requests(browser) == [path.resolve().as_uri()]


@pytest.mark.parametrize("page", ["hostile", "hostile_wide"])
def test_hostile_names_stay_text(browser, request, page):
    open_page(browser, request.getfixturevalue(page))
    assert browser.title == HOSTILE[0]
    assert browser.execute_script("return document.scripts.length") == 3
    assert browser.execute_script("return document.querySelectorAll('img, iframe, b, i:not(.legend i)').length") == 0
    legends = browser.execute_script("return [...document.querySelectorAll('legend')].map((own) => own.textContent)")
    assert {name for name in legends if "script" in name or "img" in name} == {HOSTILE[0], HOSTILE[1]}
    assert len(set(legends)) == 5
    assert max(map(len, legends)) <= 70


def test_a_script_that_is_not_of_the_page_does_not_run(browser, iris):
    open_page(browser, iris)
    browser.execute_script(
        "const own = document.createElement('script'); own.textContent = 'window.owned = 1'; document.body.append(own);"
    )
    assert browser.execute_script("return window.owned") is None
    assert any("Content Security Policy" in line for line in console(browser))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [320, 360, 1200])
def test_the_page_never_scrolls_sideways(browser, request, page, width):
    open_page(browser, request.getfixturevalue(page))
    set_width(browser, width)
    browser.execute_script("document.querySelectorAll('details').forEach((own) => (own.open = true))")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


# ---------------------------------------------------------------------------------------------------------------------
# The what-if form
# ---------------------------------------------------------------------------------------------------------------------


def test_the_keyboard_alone_changes_a_value_and_the_answer(browser, iris):
    from selenium.webdriver.common.keys import Keys

    open_page(browser, iris)
    browser.execute_script("document.getElementById('row-choice').focus()")
    press(browser, Keys.TAB, Keys.TAB)  # over the reset button, to the first slider
    assert browser.switch_to.active_element.get_attribute("aria-label") == "petal length, slider"
    press(browser, Keys.END)
    assert browser.execute_script("return document.getElementById('verdict').dataset.label") != "setosa"
    assert browser.switch_to.active_element.get_attribute("aria-valuetext") == "6.9"
    press(browser, Keys.TAB, Keys.CONTROL + "a" + Keys.NULL, "60")
    assert browser.execute_script("return document.getElementById('verdict').textContent") == "No answer"
    assert browser.execute_script("return document.getElementById('verdict').dataset.label") == ""
    assert value_of(browser, "ignorance") == 1
    press(browser, Keys.TAB, Keys.SPACE)  # the value is missing
    assert 0 < value_of(browser, "ignorance") < 1
    browser.execute_script("document.getElementById('reset').focus()")
    press(browser, Keys.ENTER)
    assert browser.execute_script("return document.getElementById('verdict').dataset.label") == "setosa"


def test_what_the_page_shows_is_what_python_says(browser, iris, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"size": rng.normal(size=200), "kind": rng.choice(["a", "b", "c"], 200)})
    y = np.where((X["size"] > 0) ^ (X["kind"] == "b"), "yes", "no")
    model = FERLTreeClassifier("medium", random_state=0).fit(X, y)
    open_page(browser, write_report(model, X, y, tmp_path / "page.html"))
    typed = """
    const box = document.querySelector("input[type=number]"), menu = document.querySelector("#controls select");
    box.value = arguments[0]; box.dispatchEvent(new Event("input"));
    menu.value = arguments[1]; menu.dispatchEvent(new Event("change"));
    """
    for size, code, kind in [(0.05, 1, "b"), (-9.5, 0, "a"), (0.4, 3, "never seen")]:
        browser.execute_script(typed, size, code)
        row = pd.DataFrame({"size": [size], "kind": [kind]})
        evidence = model.predict_evidence(row)
        for c in range(2):
            assert value_of(browser, f"belief-{c}") == pytest.approx(evidence.belief[0, c], abs=1e-9)
            assert value_of(browser, f"plausibility-{c}") == pytest.approx(evidence.plausibility[0, c], abs=1e-9)
        assert value_of(browser, "ignorance") == pytest.approx(evidence.ignorance[0], abs=1e-9)
        assert value_of(browser, "novelty") == pytest.approx(model.novelty(row)[0], abs=1e-9)
        assert value_of(browser, "support-lost") == pytest.approx(model.support_deficit(row).sum(), abs=1e-9)


def test_no_probability_stands_outside_the_range_of_support_beside_it(browser, tmp_path):
    table = mixed_table(np.random.default_rng(5), n=200, n_classes=5)
    model = fit_mixed(table, kind="rules", max_rules=30)
    open_page(browser, write_report(model, table.frame, table.y, tmp_path / "page.html", title="five classes"))
    shown = "return [...document.querySelectorAll('#masses .meter > span.num:last-child')].map((own) => own.innerText)"
    n_ranges = 0
    choose = "const menu = document.getElementById('row-choice'); menu.value = arguments[0]; "
    choose += "menu.dispatchEvent(new Event('change'));"
    options = "return [...document.getElementById('row-choice').options].map((own) => own.value)"
    for option in browser.execute_script(options):
        browser.execute_script(choose, option)
        for text in browser.execute_script(shown):
            probability, _, support = text.partition("(")
            own = float(re.search(r"[\d.]+", probability)[0]) / 100
            low, _, high = support.rstrip(")").partition(" to ")
            assert float(low) <= own <= float(high), text
            n_ranges += 1
    assert n_ranges > 0


def test_a_listed_row_opens_in_the_form(browser, iris):
    open_page(browser, iris)
    button = "document.querySelector('#novel button[data-row]')"
    number = browser.execute_script(f"return {button}.dataset.row")
    browser.execute_script(f"{button}.click()")
    menu = "document.getElementById('row-choice')"
    assert browser.execute_script(f"return {menu}.selectedOptions[0].textContent").startswith(f"Row {number}:")
    assert browser.execute_script(f"return document.activeElement === {menu}")
    row = browser.execute_script("return ferlPage.data.rows.find((row) => row.number === Number(arguments[0]))", number)
    boxes = "return [...document.querySelectorAll('#controls input[type=number]')].map((own) => Number(own.value))"
    assert sorted(browser.execute_script(boxes)) == sorted(row["values"])


@pytest.mark.parametrize("page", ["hostile", "hostile_wide"])
def test_every_control_has_a_name(browser, request, page):
    open_page(browser, request.getfixturevalue(page))
    nameless = """
    return [...document.querySelectorAll("input, select, button")].filter((own) =>
      !(own.getAttribute("aria-label") || own.textContent.trim() || (own.labels && own.labels.length))).length
    """
    assert browser.execute_script(nameless) == 0


# ---------------------------------------------------------------------------------------------------------------------
# Tables and colours
# ---------------------------------------------------------------------------------------------------------------------


def test_rules_can_be_sorted_and_filtered(browser, large):
    open_page(browser, large)
    support = (
        "return [...document.querySelectorAll('.rule-table tbody tr')].map((row) => Number(row.cells[4].dataset.key))"
    )
    first = browser.execute_script(support)
    browser.execute_script("document.querySelectorAll('.rule-table thead button')[3].click()")
    assert browser.execute_script(support) == sorted(first)
    browser.execute_script(
        "const own = document.getElementById('rule-filter'); own.value = 'x44 '; own.dispatchEvent(new Event('input'))"
    )
    rows = "return [...document.querySelectorAll('.rule-table tbody tr')].filter((row) => !row.hidden)"
    texts = browser.execute_script(f"{rows}.map((row) => row.textContent)")
    assert 0 < len(texts) < len(first)
    assert all("x44 " in text for text in texts)


CONTRASTS = """
const root = getComputedStyle(document.documentElement);
const luminance = (name) => {
  const hex = root.getPropertyValue(name).trim();
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (one, other) => {
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const found = {};
for (const ground of ["--paper", "--panel"]) {
  for (const text of ["--ink", "--soft", "--accent", "--warn", "--bad"])
    found[text + ground] = ratio(text, ground) / 4.5;
  for (let c = 0; c < 8; ++c) found[`--c${c}` + ground] = ratio(`--c${c}`, ground) / 3;
}
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(browser, iris, scheme):
    open_page(browser, iris)
    set_width(browser, 1200, scheme)
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(18, 22, 29)"}[scheme]
    poor = {pair: ratio for pair, ratio in browser.execute_script(CONTRASTS).items() if ratio < 1}
    assert poor == {}


def test_the_theme_button_overrules_the_system(browser, iris):
    open_page(browser, iris)
    set_width(browser, 1200, "light")
    browser.execute_script("localStorage.removeItem('ferl-theme'); location.reload()")
    for theme, ground in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 22, 29)"), ("auto", "rgb(255, 255, 255)")):
        browser.execute_script("document.getElementById('theme').click()")
        assert browser.execute_script("return document.getElementById('theme').dataset.theme") == theme
        assert browser.execute_script("return getComputedStyle(document.body).backgroundColor") == ground


def test_paper_gets_light_colours_what_is_open_and_no_form(browser, iris):
    open_page(browser, iris)
    set_width(browser, 1200, "dark")
    browser.execute_script("document.documentElement.dataset.theme = 'dark'")
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": [dark]})
    paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    closed = browser.execute_script(
        "return [...document.querySelectorAll('details:not([open])')].filter((own) => own.checkVisibility()).length"
    )
    form = browser.execute_script("return getComputedStyle(document.getElementById('what-if')).display")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert (paper, closed, form) == ("rgb(255, 255, 255)", 0, "none")


def test_a_printed_report_has_at_most_six_pages(browser, tmp_path):
    table = mixed_table(np.random.default_rng(0), n=1500)
    model = FERLClassifier(random_state=0).fit(table.frame[:1000], table.y[:1000])
    for path in (
        demo_report("titanic", tmp_path / "titanic.html"),
        demo_report("breast_cancer", tmp_path / "tumours.html"),
        write_report(model, table.frame[1000:], table.y[1000:], tmp_path / "mixed.html"),
    ):
        open_page(browser, path)
        paper = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
        assert 1 <= len(re.findall(rb"/Type\s*/Page[^s]", paper)) <= 6


def test_paper_has_the_scorecard_though_it_is_folded(browser, tmp_path):
    open_page(browser, demo_report("titanic", tmp_path / "titanic.html"))
    is_open = "return [...document.querySelectorAll('#scorecard details')].map((item) => item.open)"
    assert browser.execute_script(is_open) == [False]
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script(is_open) == [True]
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert browser.execute_script(is_open) == [False]


def test_numbers_of_any_size_stay_short(browser, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = FERLTreeClassifier("medium", random_state=0).fit(X, X[:, 0] > 0)
    rows = np.vstack([X[:3], np.full((1, 3), 1e150), np.full((1, 3), 1.7e308), np.full((1, 3), np.nan)])
    open_page(browser, write_report(model, rows, None, tmp_path / "far.html"))
    body = browser.execute_script("return document.body.innerText")
    assert "nan" not in body.lower().split()
    assert max(map(len, body.split())) < 40
    for values, novelty in (
        ([1.7e308] * 3, "beyond all numbers"),
        ([1e150] * 3, "e+150"),
        ([float("nan")] * 3, "0.00"),
    ):
        browser.execute_script("ferlPage.load(arguments[0].map(Number))", [str(value) for value in values])
        shown = browser.execute_script("return document.getElementById('unusual').textContent")
        assert novelty in shown
    assert console(browser) == []


def test_of_many_classes_the_most_probable_are_shown(browser, tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 3)), rng.integers(0, 30, 600)
    model = FERLTreeClassifier("medium", random_state=0).fit(X, y)
    open_page(browser, write_report(model, X[:5], y[:5], tmp_path / "many.html"))
    shown = browser.execute_script(
        "return [...document.querySelectorAll('#masses [data-key^=belief]')]"
        ".map((own) => Number(own.dataset.key.slice('belief-'.length)))"
    )
    probability = model.predict_proba(X[:1])[0]
    assert len(shown) == 12
    assert probability[shown].min() >= np.delete(probability, shown).max()
    assert "and 18 classes that are less probable" in browser.execute_script("return document.body.innerText")
    assert "24 more classes" in browser.execute_script("return document.getElementById('summary').innerText")


def test_a_name_from_right_to_left_leaves_its_condition_in_order(browser, tmp_path):
    rng = np.random.default_rng(0)
    name = "\u0645\u0631\u062d\u0628\u0627"
    frame = pd.DataFrame({name: rng.normal(size=200)})
    model = FERLTreeClassifier("medium", max_rules=2, random_state=0).fit(frame, frame[name] > 0)
    open_page(browser, write_report(model, frame, None, tmp_path / "rtl.html"))
    ends = browser.execute_script(
        "const text = document.querySelector('#rules .condition').firstChild;"
        "const left = (place) => { const range = document.createRange(); range.setStart(text, place);"
        " range.setEnd(text, place + 1); return range.getBoundingClientRect().left; };"
        "return [left(text.data.search(/[<>]/)), left(text.data.search(/[0-9]/)), left(text.data.indexOf('\u00b1'))];"
    )
    assert ends == sorted(ends)


@pytest.mark.parametrize("variant", ["rules", "deep"])
def test_dates_and_ordered_categories_are_written_as_people_write_them(browser, tmp_path, variant):
    rng = np.random.default_rng(0)
    grades = pd.Categorical.from_codes(rng.integers(3, size=300), ["low", "mid", "high"], ordered=True)
    opened = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(900, size=300), unit="D")
    X = pd.DataFrame({"grade": grades, "opened": opened, "seen": opened + pd.to_timedelta(rng.random(300), unit="D")})
    y = np.where((grades.codes == 2) | (opened > "2021-06-01"), "yes", "no")
    model = classifier(variant, max_rules=12, random_state=0).fit(X, y)
    open_page(browser, write_report(model, X, y, tmp_path / "page.html"))
    fields = browser.execute_script("""return [...document.querySelectorAll("#controls .control")].map((own) => [
      own.querySelector("legend").textContent, own.querySelector("select, .value:not([type=range])").type,
      [...own.querySelectorAll("option")].map((option) => option.textContent), own.textContent])""")
    by_name = {name: (kind, options, text) for name, kind, options, text in fields}
    assert by_name["grade"][:2] == ("select-one", ["low", "mid", "high"])
    assert by_name["opened"][0] == "date"
    assert "2020-01-0" in by_name["opened"][2]
    assert by_name["seen"][0] == "datetime-local"
    typed = """
    ["input[type=date]", "input[type=datetime-local]", "select"].forEach((own, k) => {
      const field = document.querySelector(`#controls ${own}`);
      field.value = arguments[k];
      field.dispatchEvent(new Event(own === "select" ? "change" : "input"));
    });
    """
    told_of = set()
    for day, moment, code in [
        ("2020-02-03", "2020-02-03T06:30", 0),
        ("2021-05-20", "2021-05-20T18:00:30", 1),
        ("2021-07-01", "2021-07-01T00:00", 1),
    ]:
        browser.execute_script(typed, day, moment, code)
        row = {"grade": ["low", "mid", "high"][code], "opened": pd.Timestamp(day), "seen": pd.Timestamp(moment)}
        evidence = model.predict_evidence(row)
        for c in range(2):
            assert value_of(browser, f"belief-{c}") == pytest.approx(evidence.belief[0, c], abs=1e-9)
        told = browser.execute_script("return document.getElementById('changes').textContent")
        changes = {change.feature: change for change in model.explain(row).changes or ()}
        told_of |= set(changes)
        if "grade" in changes:
            assert f"If grade were {changes['grade'].to} instead of {row['grade']}" in told
        if "opened" in changes:
            moved = pd.Timestamp("1970-01-01") + pd.Timedelta(days=changes["opened"].to)
            assert f"If opened were {moved:%Y-%m-%d} instead of {day}" in told
    assert told_of


@pytest.mark.parametrize("kind", ["rules", "medium"])
def test_the_form_names_the_value_that_no_training_row_comes_near(browser, tmp_path, kind):
    open_page(browser, demo_report("titanic", tmp_path / "titanic.html", kind))
    browser.execute_script(
        "const box = [...document.querySelectorAll('.value')].find((own) => own.ariaLabel === 'age, value');"
        "box.value = '2200'; box.dispatchEvent(new Event('input'));"
    )
    shown = browser.find_element("id", "sentence").text
    assert "No answer" in shown
    assert "age is 2200, training rows have 0." in shown
    assert " to 80" in shown
