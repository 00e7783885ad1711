"""Several threads of Python at a time: they read one model, and each fits one. The core works without Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from estimators import classifier
from ferl import FERLClassifier
from table_examples import Mixed, mixed_table

N_THREADS = 4
VARIANTS = pytest.mark.parametrize("variant", ["rules", "deep", "medium", "words"])


def at_a_time(work: Callable[[], bytes]) -> set[bytes]:
    """What threads find that begin at the same moment."""
    begin = Barrier(N_THREADS)

    def own(_: int) -> bytes:
        begin.wait()
        return work()

    with ThreadPoolExecutor(N_THREADS) as pool:
        return set(pool.map(own, range(N_THREADS)))


def fitted(table: Mixed, variant: str) -> FERLClassifier:
    return classifier(variant, max_rules=10, random_state=0, n_jobs=2).fit(table.frame, table.y)


def readings(model: FERLClassifier, table: Mixed) -> bytes:
    """All that a model says of some rows."""
    rows = table.frame.iloc[:25]
    evidence = model.predict_evidence(rows)
    found = [model.predict_proba(rows), evidence.belief, evidence.ignorance, evidence.prediction_set()]
    found += [model.novelty(rows), model.support_deficit(rows), model.certified_radius(rows)]
    return b"".join(np.ascontiguousarray(own).tobytes() for own in found) + str(model.explain(rows.iloc[:1])).encode()


@VARIANTS
def test_threads_that_read_one_model_find_what_one_finds(variant: str) -> None:
    """The model is new, so that the threads make together what is made once and kept."""
    table = mixed_table(np.random.default_rng(1), n=300)
    model = fitted(table, variant)
    assert at_a_time(lambda: readings(model, table)) == {readings(fitted(table, variant), table)}


@VARIANTS
def test_threads_that_fit_at_a_time_find_what_one_finds(variant: str) -> None:
    table = mixed_table(np.random.default_rng(2), n=2500)
    expected = fitted(table, variant).predict_proba(table.frame).tobytes()
    assert at_a_time(lambda: fitted(table, variant).predict_proba(table.frame).tobytes()) == {expected}


def test_rows_so_many_that_firings_are_packed_give_the_same_rules_on_any_threads() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=66_000), rng.integers(0, 50, 66_000) / 50])  # packed from 65,536 rows on
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0.5) ^ (rng.random(len(X)) < 0.1)
    options = {"growth_rows": None, "max_rules": 8, "random_state": 0}
    one, two = (FERLClassifier(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    assert one.score(X, y) > 0.88  # of 0.9 that noise leaves
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))
