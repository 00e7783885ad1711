"""Outside the training range, a feature with a monotone constraint loses belief alone, and every text agrees."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ferl import FERLClassifier
from ferl.export import Scorecard

FADES, LEVEL = "closer to the class frequencies than the total implies", "with a monotone constraint"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 2)), columns=["debt", "age"])
    X["city"] = rng.choice(["Oslo", "Bergen"], 600)
    return X, (X["debt"] + X["age"] + (X["city"] == "Oslo") + rng.normal(size=600) > 0).astype(int)


def model(table, constrained):
    X, y = table
    constraint = dict.fromkeys(constrained, 1) or None
    return FERLClassifier(max_conditions=1, monotonic_cst=constraint, random_state=0).fit(X, y)


@pytest.mark.parametrize(("constrained", "fades", "level"), [((), True, False), (("debt",), True, True)])
def test_the_footnote_of_a_card_excepts_features_with_a_constraint(table, constrained, fades, level):
    text = " ".join(Scorecard(model(table, constrained)).text().split())
    assert (FADES in text, LEVEL in text) == (fades, level)


def test_details_name_what_a_value_outside_loses(table):
    clf = model(table, ["debt"])
    for feature, lost in (("debt", "the belief"), ("age", "the evidence")):
        row = table[0].iloc[[0]].assign(**{feature: table[0][feature].max() + 1.5})
        near = row.assign(**{feature: table[0][feature].max()})
        assert f"of {lost} is lost, since {feature} lies outside" in clf.explain(row, details=True).to_text(1000)
        keeps = np.allclose(clf.predict_proba(row), clf.predict_proba(near))
        assert keeps == (lost == "the belief")


def test_a_new_category_is_named_once(table):
    story = model(table, []).explain(table[0].iloc[[0]].assign(city="Paris")).to_text(1000)
    assert story.count("city is Paris") == 1
