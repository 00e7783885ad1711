"""A table with a column of every kind, what people say of it, and models of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from estimators import classifier
from ferl import export_text, overview, rules_frame
from ferl.export import export_scorecard, reason_codes

VARIANTS = ["rules", "medium", "words"]
SIZES = ["low", "mid", "high"]
SAID = {
    "target": {"name": "deny", "values": {"0": "no", "1": "yes"}},
    "columns": {"glucose": {"unit": "mg/dl"}, "dmi": {"label": "mortgage insurance denied"}},
}


def loans(n=300):
    """A table with a column of every kind, and labels that depend on all of them."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "admitted": pd.to_datetime("2018-01-01") + pd.to_timedelta(rng.integers(0, 700, n), unit="D"),
            "size": pd.Categorical(rng.choice(SIZES, n), SIZES, ordered=True),
            "age": rng.integers(20, 70, n),
            "ht": rng.integers(0, 2, n),
            "dmi": rng.choice(["no", "yes"], n),
            "glucose": rng.normal(100, 20, n),
        }
    )
    score = (table.admitted > "2018-09-01") * 1.0 + (table["size"] >= "mid") + (table.age > 45) + table.ht
    score = score + (table.dmi == "yes") * 0.7 + (table.glucose - 100) / 40 + rng.normal(0, 0.4, n)
    return table, pd.Series((score > score.median()).astype(int), name="deny")


@pytest.fixture(scope="module", params=VARIANTS)
def fitted(request):
    table, y = loans()
    return classifier(request.param, random_state=0).fit(table, y, describe=SAID)


def texts(clf, row):
    """All that a model says in words, about itself and about a row."""
    result = [export_text(clf), str(clf.explain(row)), str(overview(clf)), str(rules_frame(clf).conditions.tolist())]
    return result + (
        [] if clf.model_.kind == "trees" else [str(reason_codes(clf, row.to_frame().T)), str(export_scorecard(clf))]
    )
