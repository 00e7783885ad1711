"""Every sentence of an explanation, recomputed from predictions on real tables: one frame of reference.

Nothing here calls the code that writes explanations: the expected values come from ``predict_proba``,
``feature_contributions``, ``novelty_rank``, ``support_deficit`` and the training rows.
"""

from __future__ import annotations

import math
import os
import re
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from ferl import FERLClassifier, FERLTreeClassifier

DATA = Path(os.environ.get("FERL_DATA", Path(__file__).parents[2] / "shared" / "data"))
BUNDLED = {"iris": load_iris, "wine": load_wine, "tumours": load_breast_cancer, "digits": load_digits}
FILES = {
    "german": "keel/german.csv",
    "crx": "keel/crx.csv",
    "saheart": "keel/saheart.csv",
    "pima": "keel/pima.csv",
    "glass": "keel/glass.csv",
    "penguins": "pmlb/penguins.csv.gz",
    "colic": "pmlb/colic.csv.gz",
    "dermatology": "pmlb/dermatology.csv.gz",
}
ESTIMATORS = {"rules": FERLClassifier, "tree": FERLTreeClassifier}
MOST_ROWS = 450  # of a table that are read
N_EXPLAINED = 8
START = "What would change it: "
ROUNDING = 0.06  # of a factor of two digits

each_table = pytest.mark.parametrize("name", [*BUNDLED, *FILES])
each_estimator = pytest.mark.parametrize("kind", ESTIMATORS)


class Fitted(NamedTuple):
    """A classifier, its training rows, and rows to explain."""

    clf: Any
    train: pd.DataFrame
    rows: pd.DataFrame

    def row(self, k: int) -> pd.DataFrame:
        return self.rows.iloc[[k]]


@lru_cache
def table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    if name in BUNDLED:
        bunch = BUNDLED[name](as_frame=True)
        frame = bunch.data.rename(columns=lambda own: own.removesuffix(" (cm)")).assign(label=bunch.target)
    else:
        path = DATA / FILES[name]
        if not path.exists():
            pytest.skip(f"{FILES[name]} is not there; set FERL_DATA to a folder that holds it")
        frame = pd.read_csv(path).rename(columns={"class": "label", "target": "label"})
    frame = frame.sample(min(len(frame), MOST_ROWS), random_state=0, ignore_index=True)
    return frame.drop(columns="label"), frame["label"].map(lambda own: f"class {own}").rename(None)


@lru_cache
def fitted(name: str, kind: str) -> Fitted:
    X, y = table(name)
    train = np.arange(len(X)) % 3 != 0
    clf = ESTIMATORS[kind](random_state=0).fit(X[train], y[train])
    rest = X[~train]
    usual = rest.iloc[: N_EXPLAINED - 2]
    moved = rest.iloc[-2:].copy()  # rows with one value outside the training range
    numbers = X.select_dtypes("number").columns
    widest = max(numbers, key=lambda own: clf.feature_importances_[X.columns.get_loc(own)])
    moved[widest] = X[widest].max() + np.array([0.3, 1.0]) * float(np.ptp(X[widest].dropna()))
    return Fitted(clf, X[train], pd.concat([usual, moved], ignore_index=True))


def effects(own: Fitted, row: pd.DataFrame) -> tuple[int, int, dict[str, float]]:
    """The most probable class, the next one, and the effect of each feature on their log-odds."""
    p = own.clf.predict_proba(row)[0]
    best, rival = np.argsort(-p, kind="stable")[:2]
    if isinstance(own.clf, FERLClassifier):
        openness = own.clf.model_.fading(own.clf._rows(row))[0]
        parts = own.clf.feature_contributions(row)[0] - openness * own.clf.feature_contributions(own.train).mean(axis=0)
        found = parts[:-1, best] - parts[:-1, rival]
    else:
        hidden = pd.concat([row] * len(row.columns), ignore_index=True).astype(object)
        for k, name in enumerate(row.columns):
            hidden.loc[k, name] = None
        without = pd.concat([row, hidden.astype(row.dtypes.map(lambda kind: float if kind.kind in "iuf" else kind))])
        log = np.log(np.maximum(own.clf.predict_proba(without), 1e-12))
        odds = log[:, best] - log[:, rival]
        found = odds[0] - odds[1:]
    return int(best), int(rival), dict(zip(row.columns, found, strict=True))


def factor(text: str) -> float:
    """The logarithm of "x 12" and "/ 1.6"; a large one is told by a bound."""
    sign, size = text[0], text[2:]
    return (1 if sign == "x" else -1) * (math.inf if size.startswith("more than") else math.log(float(size)))


def agrees(told: float, effect: float) -> bool:
    return (
        effect > math.log(999)
        if math.isinf(told) and told > 0
        else (effect < -math.log(999) if math.isinf(told) else abs(told - effect) <= ROUNDING)
    )


def longest_name(text: str, row: pd.DataFrame) -> str:
    """The feature that a text begins with."""
    return max((name for name in row.columns if text.startswith(name)), key=len)


def line_of(story: Any, start: str) -> str:
    return next((line for line in story.to_text(100_000).splitlines() if line.startswith(start)), "")


def each_story(name: str, kind: str, **options: Any):
    own = fitted(name, kind)
    for k in range(len(own.rows)):
        yield own, own.row(k), own.clf.explain(own.row(k), **options)


# ---------------------------------------------------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_estimator
def test_an_explanation_has_at_most_eight_lines_and_its_head_is_true(name, kind):
    for own, row, story in each_story(name, kind):
        lines = str(story).splitlines()
        assert max(map(len, lines)) <= 80
        for width in (80, 100):
            terminal = Console(file=StringIO(), width=width)
            terminal.print(story)
            for text in (story.to_text(width), terminal.file.getvalue()):
                assert len(text.splitlines()) <= 8
                assert "".join(text.split()) == "".join(lines).replace(" ", "")
        if story.certified is not None and line_of(story, START):
            is_full = len(lines) == 8  # the least important line is left out then
            assert is_full or line_of(story, "Stable: ") or line_of(story, "Not stable: ")
        head = story.to_text(100_000).splitlines()[0]
        p, in_set = own.clf.predict_proba(row)[0], own.clf.predict_set(row)[0]
        is_doubtful = in_set.sum() > 1 or p.max() < 2 / 3
        is_novel = own.clf.support_deficit(row).sum() >= 0.005 or own.clf.novelty_rank(row)[0] >= 0.99
        assert (" and doubtful case" in head or " A doubtful case" in head) == is_doubtful
        assert "novel" in head or not is_novel
        assert "A usual case" in head or "novel" in head or "unusual" in head or is_doubtful
        if in_set.sum() == 1:
            label, percent = re.match(r"(class \S+), (.*) %\. An? ", head).groups()
            assert label == own.clf.classes_[p.argmax()]
            assert percent in (f"{100 * p.max():.0f}", "more than 99", "100")
            assert percent != "more than 99" or p.max() > 0.99
        elif in_set.all():
            assert head.startswith("No answer")
        if kind == "rules" and (told := re.search(r"rests on (?:only )?about ([\d,]+) similar", head)):
            rows = own.clf.predict_evidence(row).rows[0]
            assert float(told[1].replace(",", "")) == pytest.approx(rows, rel=0.06, abs=0.51)


@each_table
@each_estimator
def test_reasons_are_the_largest_effects_in_order_and_have_their_sign_and_size(name, kind):
    n_told = 0
    for own, row, story in each_story(name, kind, counterfactual=False):
        best, rival, expected = effects(own, row)
        main = line_of(story, "Strongest evidence for ") or line_of(story, "Main reason: ")
        if not main or "none of the values" in main:
            assert story.ignorance == 1 or not main or max(expected.values()) < math.log(1.05) + 1e-9
            continue
        feature, told = re.match(
            r"(?:Main reason|Strongest evidence for class \S+): (.+?) is .*"
            r"\((?:odds of class \S+ )?([x/] [^)]*?)(?: against| compared)",
            main,
        ).groups()
        assert "compared with the average training row" in main
        labels = own.clf.classes_
        assert (f"odds of {labels[best]} " in main) if len(labels) == 2 else (f" against {labels[rival]}," in main)
        ranked = sorted(expected.values(), reverse=True)
        assert expected[feature] == pytest.approx(ranked[0], abs=1e-6)
        assert agrees(factor(told), expected[feature])
        n_told += 1
        if (beside := re.search(r", (higher|lower) than average \(", main)) is not None:
            value, mean = float(row[feature].iloc[0]), own.train[feature].mean()
            assert (value > mean) == (beside[1] == "higher")
        also = line_of(story, "Also for ") or line_of(story, "Against: ")
        support, _, oppose = also.partition("Against: ")
        for sign, text, first in ((1, support.partition(": ")[2], 1), (-1, oppose, 0)):
            listed = re.findall(r"([^, ][^,(]*?) \S+ \(([x/] [^)]*)\)", text)
            named = [
                next(own for own in sorted(row.columns, key=len, reverse=True) if found.startswith(own))
                for found, _ in listed
            ]
            sizes = [sign * expected[feature] for feature in named]
            assert all(size > 0 for size in sizes)
            assert sizes == pytest.approx(sorted(sizes, reverse=True), abs=1e-9)
            largest = sorted((sign * size for size in expected.values()), reverse=True)[first : first + len(sizes)]
            assert sizes == pytest.approx(largest, abs=1e-6)
            assert all(
                agrees(factor(told), expected[feature]) for feature, (_, told) in zip(named, listed, strict=True)
            )
    assert n_told


@each_table
@each_estimator
def test_what_would_change_it_does_and_what_is_stable_stays(name, kind):
    rng = np.random.default_rng(0)
    for own, row, story in each_story(name, kind):
        label = own.clf.predict(row)[0]
        change = line_of(story, START)
        if moved := re.match(
            r"What would change it: (.+?) (\S+) instead of (\S+?)(?: \(then (.*)\))?, all else equal\.", change
        ):
            feature, to, value, then = moved.groups()
            if row[feature].dtype.kind in "iuf":
                assert float(value) == pytest.approx(float(row[feature].iloc[0]), rel=1e-3)
                to = float(to)
            else:
                assert str(row[feature].iloc[0]) == value
            assert own.clf.predict(row.assign(**{feature: to}))[0] == (
                then or own.clf.classes_[own.clf.classes_ != label][0]
            )
        elif "no single value within" in change:
            for feature in own.train.columns:
                known = own.train[feature].dropna().unique()
                if row[feature].isna().iloc[0]:
                    continue
                others = pd.concat([row] * len(known), ignore_index=True).assign(**{feature: known})
                assert (own.clf.predict(others) == label).all()
        if stable := re.match(
            r"Stable: moving (?:all numbers by up to (\S+) standard|numbers)", line_of(story, "Stable: ")
        ):
            numbers = [own_name for own_name in row.columns if row[own_name].dtype.kind in "iuf"]
            spread = own.train[numbers].std(ddof=0).to_numpy()
            away = pd.concat([row] * 100, ignore_index=True).astype(dict.fromkeys(numbers, float))
            away[numbers] += (
                float(stable[1] or 1000) * (1 - 1e-9) * spread * rng.choice([-1.0, 1.0], (100, len(numbers)))
            )
            assert (own.clf.predict(away) == label).all()


# ---------------------------------------------------------------------------------------------------------------------
# Details
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_estimator
def test_no_feature_changes_its_sign_between_a_sentence_and_its_details(name, kind):
    for own, row, story in each_story(name, kind, counterfactual=False, details=True):
        _, _, expected = effects(own, row)
        sections = {section.title: section for section in story.detail_sections}
        tables = [section for title, section in sections.items() if title.startswith("Effects on the odds")]
        for section in tables:
            shown = [line for line in section.table.rows if line[0] in expected]
            sizes = [expected[line[0]] for line in shown]
            assert np.abs(sizes).tolist() == pytest.approx(sorted(np.abs(sizes), reverse=True), abs=1e-9)
            assert all(line[3] == "x 1" or agrees(factor(line[3]), expected[line[0]]) for line in shown)
        starts = ("Strongest evidence for ", "Main reason: ", "Also for ", "Against: ")
        sentences = "".join(line_of(story, start) for start in starts)
        for part in next((own.blocks for title, own in sections.items() if title.startswith("What each")), ()):
            if isinstance(part, str):
                continue
            feature = longest_name(part.title, row)
            told = re.search(r": ([x/] .*), the product of", part.title)[1]
            assert told == "x 1" or agrees(factor(told), expected[feature])
            opposite = "/" if told.startswith("x") else "x"
            assert not re.search(rf"\b{re.escape(feature)} [^ ,]+ \({opposite} ", sentences)
            product = [re.match(r"[^:]*: ([x/] \d+(?:\.\d+)?)", line) for line in part.lines]
            if all(product) and not any("more than" in line for line in part.lines):
                assert sum(factor(own[1]) for own in product) == pytest.approx(
                    expected[feature], abs=ROUNDING * (1 + len(product))
                )


@each_table
def test_the_parts_of_a_feature_add_up_to_its_effect_and_all_effects_to_the_odds(name):
    for own, row, story in each_story(name, "rules", counterfactual=False):
        best, rival, expected = effects(own, row)
        added = dict.fromkeys(expected, 0.0)
        for part in story.balance.parts:
            added[part.feature] += part.weight[best] - part.weight[rival]
        assert added == pytest.approx(expected, abs=1e-7)
        parts = own.clf.contributions(own.train).sum(axis=1).mean(axis=0)
        average, scores = parts[best] - parts[rival], own.clf.contributions(row)[0].sum(axis=0)
        pull = 0.0
        if story.balance.support < 1:
            base = own.clf.model_.base
            pull = (1 - story.balance.support) * ((base[best] - base[rival]) - average)
        assert average + pull + sum(expected.values()) == pytest.approx(scores[best] - scores[rival], abs=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# A verdict reads all facts of the row
# ---------------------------------------------------------------------------------------------------------------------


@each_table
@each_estimator
def test_no_row_is_called_ordinary_or_usual_beside_lost_support(name, kind):
    n_lost = 0
    for own, row, story in each_story(name, kind, counterfactual=False, details=True):
        if own.clf.support_deficit(row).sum() >= 0.005:
            n_lost += 1
            text = story.to_text(100_000)
            assert "Ordinary" not in text
            assert "A usual case" not in text
            assert "Unlike the training rows: " in text
    assert n_lost or kind == "tree"


@each_table
@each_estimator
def test_what_a_sentence_calls_unlike_the_training_rows_is_in_the_table_of_novelty(name, kind):
    n_named = 0
    for _, row, story in each_story(name, kind, counterfactual=False, details=True):
        line = line_of(story, "Unlike the training rows: ").partition(": ")[2]
        table = story.to_text(100_000).partition("How unusual the row is\n")[2]
        rows = [text.strip() for text in table.partition("\n\n")[0].splitlines()]
        for clause in filter(None, line.removeprefix("the combination of values, mainly ").split("; ")):
            if not any(clause.startswith(feature) for feature in row.columns):
                continue  # "2 more values lie outside"
            n_named += 1
            feature = longest_name(clause, row)
            assert any(text.startswith(f"{feature} ") for text in rows), (feature, rows)
    assert n_named or kind == "tree"


@each_table
@each_estimator
def test_a_row_has_one_remedy_the_first_of_novelty_ignorance_and_doubt_that_applies(name, kind):
    for own, row, story in each_story(name, kind, counterfactual=False):
        p, evidence = own.clf.predict_proba(row)[0], own.clf.predict_evidence(row)
        is_novel = own.clf.support_deficit(row).sum() >= 0.005 or own.clf.novelty_rank(row)[0] >= 0.99
        is_ignorant = evidence.ignorance[0] > 0.1
        if kind == "tree":  # more rows do not help between rules
            is_ignorant = is_ignorant and story.ignorance_causes.main == "thin_support"
        is_doubtful = own.clf.predict_set(row)[0].sum() > 1 or p.max() < 2 / 3
        remedy = "do not use the model" if is_novel else "collect rows" if is_ignorant else "get a second opinion"
        lines = [line for line in str(story).splitlines() if line.startswith("What to do: ")]
        assert len(lines) == (is_novel or is_ignorant or is_doubtful)
        assert all(line.startswith(f"What to do: {remedy}") for line in lines)
        concern = "novelty" if is_novel else "ignorance" if is_ignorant else "doubt" if is_doubtful else ""
        assert story.concern == concern


def test_values_that_are_usual_alone_are_unusual_together():
    clf = FERLClassifier(random_state=0)
    angle = np.linspace(0, 2 * np.pi, 400)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 0.05 * np.sin(7 * angle))[:, None]
    story = clf.fit(ring, ring[:, 0] > 0).explain([[0.05, 0.05]])
    assert "Unlike the training rows: the combination of values, mainly " in str(story)
    assert "usual: " not in str(story)
