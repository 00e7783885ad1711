"""Models in the files of skops: what must be trusted, and answers that are the same to the last bit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl import FERLClassifier, FERLTreeClassifier
from ferl.words import FuzzySet, LinguisticVariable
from table_examples import mixed_table

sio = pytest.importorskip("skops.io", reason='skops is not installed: pip install "ferl[test]"')
PAGE = Path(__file__).parent.parent / "docs" / "guide" / "plots.md"


def journeys() -> tuple[Any, Any]:
    """A wave and an interaction for curves and maps, a category of many values, and days that differ."""
    rng, n = np.random.default_rng(0), 2500
    x, sign, city, day = rng.normal(size=n), rng.normal(size=n), rng.integers(0, 30, n), rng.integers(0, 60, n)
    score = 2 * np.sin(6 * x) * np.sign(sign) + 2 * rng.normal(size=30)[city] + 2 * rng.normal(size=60)[day]
    start = pd.Timestamp("2019-01-01")
    X = pd.DataFrame({"x": x, "sign": sign, "city": city.astype(str), "day": start + pd.to_timedelta(day, unit="D")})
    return X, rng.random(n) < 1 / (1 + np.exp(-score - 2 * (day % 7 == 2)))


def models() -> dict[str, tuple[Any, Any, Any]]:
    X, y = load_iris(return_X_y=True)
    mixed = mixed_table(np.random.default_rng(0), n=200)
    sets = [FuzzySet.falling("short", 2, 3), FuzzySet.rising("long", 2, 3)]
    words = [None, None, LinguisticVariable("x2", sets, unit="cm"), None]
    return {
        "deep": (FERLTreeClassifier("deep", random_state=0), X, y),
        "compact": (FERLTreeClassifier("compact", random_state=0), X, y),
        "few rules in words": (FERLClassifier(words=True, random_state=0), mixed.frame, mixed.y),
        "an expert's words": (FERLTreeClassifier("compact", words=words, random_state=0), X, y),
        "curves, maps and derived columns": (FERLClassifier(random_state=0), *journeys()),
        "a date as a number": (FERLClassifier(random_state=0), journeys()[0], journeys()[0]["day"] > "2019-02-01"),
        "mixed": (FERLTreeClassifier("medium", missing_conditions=True, random_state=0), mixed.frame, mixed.y),
        "mixed words": (FERLTreeClassifier("compact", random_state=0), mixed.frame, mixed.y),
        "pipeline": (make_pipeline(StandardScaler(), FERLTreeClassifier("medium", random_state=0)), X, y),
    }


def documented() -> list[str]:
    """The list of types to trust that the documentation gives."""
    block = re.search(r"trusted = \[(.*?)\]", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    return re.findall(r'"([\w.]+)"', block.group(1))


@pytest.mark.parametrize("name", models())
def test_answers_survive_a_skops_file_to_the_last_bit(name: str) -> None:
    model, X, y = models()[name]
    model.fit(X, y)
    back = sio.loads(sio.dumps(model), trusted=documented())
    np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    if name != "pipeline":
        np.testing.assert_array_equal(back.predict_evidence(X).ignorance, model.predict_evidence(X).ignorance)
        np.testing.assert_array_equal(back.novelty_attribution(X), model.novelty_attribution(X))
        assert back.tree_.word == model.tree_.word
        assert back.get_params().keys() == model.get_params().keys()


def test_the_documented_types_are_those_that_must_be_trusted() -> None:
    needed: set[str] = set()
    for model, X, y in models().values():
        needed |= set(sio.get_untrusted_types(data=sio.dumps(model.fit(X, y))))
    assert needed == set(documented())


def test_nothing_of_ferl_is_loaded_untrusted() -> None:
    model, X, y = models()["deep"]
    with pytest.raises(sio.exceptions.UntrustedTypesFoundException, match=r"ferl\.trees\.FERLTreeClassifier"):
        sio.loads(sio.dumps(model.fit(X, y)))
