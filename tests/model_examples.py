"""Models and tables for the tests of model files."""

from __future__ import annotations

import os
from functools import cache
from operator import attrgetter
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, settings

from estimators import classifier
from ferl import export_text, load_model, save_model, splits_frame
from ferl._estimator import FERLEstimator

DATA = Path(__file__).parent / "data"
LAW = settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
INF = float("inf")


def mixed_table(n_rows: int = 300):
    """Numbers, text, integers, booleans, a constant, holes; and labels that depend on some of them."""
    rng = np.random.default_rng(0)
    number, place = rng.normal(size=n_rows), rng.choice(["north", "west", 'ünï, "q"'], n_rows)
    old = rng.random(n_rows) < 0.4
    rows = [
        [None if i % 7 == 0 else float(number[i]), str(place[i]), bool(old[i]), 1.0, None if i % 5 == 0 else -0.0]
        for i in range(n_rows)
    ]
    return rows, np.where((number > 0) ^ (place == "west"), "yes", "no")


@cache
def fitted(kind: str = "deep", **parameters) -> FERLEstimator:
    rows, labels = mixed_table()
    return classifier(kind, random_state=0, **parameters).fit(rows, labels)


def round_trip(model: FERLEstimator, folder: Path) -> FERLEstimator:
    save_model(model, folder / "model.json")
    assert os.listdir(folder) == ["model.json"]
    return load_model(folder / "model.json")


def assert_same(model: FERLEstimator, loaded: FERLEstimator, rows) -> None:
    """All that a model answers, to the last bit."""
    has_rules = model.model_.kind == "rules"
    methods = ["predict_proba", "predict_set", "novelty", "novelty_attribution", "support_deficit"]
    methods += ["certified_radius"] * (not model.model_.unproven)
    methods += ["decision_function", "contributions", "feature_contributions"] * has_rules
    for name in methods:
        assert getattr(loaded, name)(rows).tobytes() == getattr(model, name)(rows).tobytes(), name
    evidence, expected = loaded.predict_evidence(rows), model.predict_evidence(rows)
    for name in ["belief", "plausibility", "ignorance", "conflict"] + ["rows"] * has_rules:
        assert getattr(evidence, name).tobytes() == getattr(expected, name).tobytes()
    np.testing.assert_array_equal(loaded.predict(rows), model.predict(rows))
    assert loaded.predict(rows).dtype.kind == model.predict(rows).dtype.kind
    if has_rules:
        for name in ("rules.node", "rules.weight", "rules.ridge", "prior", "ranges"):
            result, expected = (attrgetter(name)(item.model_) for item in (loaded, model))
            assert (result.dtype, result.shape, result.tobytes()) == (
                expected.dtype,
                expected.shape,
                expected.tobytes(),
            )
    else:
        assert str(splits_frame(loaded)) == str(splits_frame(model))
        assert loaded.lipschitz_ == model.lipschitz_
    assert export_text(loaded) == export_text(model)
    assert loaded.model_.history == model.model_.history
    assert str(loaded.get_params()) == str(model.get_params())
    assert loaded.columns_ == model.columns_
    assert loaded.words_ == model.words_
    assert set(vars(loaded)) == set(vars(model))
