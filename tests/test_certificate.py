"""Certificates: no attack within the radius changes a label, and the cache that rests on it never errs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import NotFittedError

from core_stages import stages
from estimators import classifier
from ferl import CertifiedCache, FERLClassifier, FERLTreeClassifier
from ferl._models.certificates import global_radius, local_radius
from ferl._models.tree_model import TreeModel
from ferl_bench.attack import Attacker
from law_examples import LAW, Floats, Table, fit, rows_near, tables
from word_examples import crisp_words

MODELS: dict[str, dict[str, Any]] = {
    "deep": {},
    "deep, vote": {"combination": "vote"},
    "medium, all nodes": {"kind": "medium", "sources": "all"},
    "medium, all nodes, vote": {"kind": "medium", "sources": "all", "combination": "vote"},
    "compact": {"kind": "compact", "min_rule_worth": 0.0},
    "compact, vote": {"kind": "compact", "min_rule_worth": 0.0, "combination": "vote"},
    "compact, leaves": {"kind": "compact", "min_rule_worth": 0.0, "sources": "leaves"},
    "crisp distributions": {"consequents": "raw"},
    "discounted": {"discount": 3.0, "gate_margin": 0.1},
    "discounted, vote": {"discount": 3.0, "combination": "vote", "support_gate": False},
    "without gates": {"support_gate": False},
    "rules": {"kind": "rules"},
    "rules in few words": {"kind": "words"},
    "rules, one condition, without gates": {"kind": "rules", "max_conditions": 1, "support_gate": False},
}
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)
# Rounding in what an attacker calls a distance.
INSIDE = 1 - 1e-9


def radii(model: FERLClassifier, X: Floats, scale: Floats) -> tuple[Floats, Floats]:
    evidence = model.predict_evidence(X)
    return local_radius(model.model_, X, evidence, scale), global_radius(model.model_, X, evidence, scale)


def assert_withstands(model: FERLClassifier, X: Floats, scale: Floats, seed: int) -> int:
    """Attack every row inside its radius; the number of rows tried."""
    rng, attacker, n_tried = np.random.default_rng(seed), Attacker(model, scale), 0
    for x, radius in zip(X, model.certified_radius(X, scale=scale), strict=True):
        # Of an infinite box an attacker tries a large part.
        found, n_rows = attacker.within(x, min(radius * INSIDE, 1e12), rng)
        assert not len(found), f"{found[0]} within {radius} of {x}"
        n_tried += n_rows
    return n_tried


# ---------------------------------------------------------------------------------------------------------------------
# Soundness
# ---------------------------------------------------------------------------------------------------------------------


@EVERY_MODEL
def test_no_attack_within_the_radius_changes_a_label(name: str) -> None:
    n_tried, some_radius = [], []

    @LAW
    @given(tables(), st.integers(0, 2**32 - 1))
    def attack(table: Table, seed: int) -> None:
        model = fit(table, **MODELS[name])
        X = rows_near(table[0], seed, 8)
        scale = np.ptp(table[0], axis=0) + 1e-9
        n_tried.append(assert_withstands(model, X, scale, seed))
        radius = model.certified_radius(X, scale=scale)
        some_radius.append(bool(((radius > 1e-6) & np.isfinite(radius)).any()))

    attack()
    assert sum(n_tried) > 150_000
    assert np.mean(some_radius) > 0.5


@EVERY_MODEL
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_no_attack_on_real_trees_changes_a_label(name: str, load: Any) -> None:
    X, y = load(return_X_y=True)
    model = classifier(**{"kind": "deep", "random_state": 0, **MODELS[name]}).fit(X[::2], y[::2])
    scale = X.std(axis=0)
    rows = X[1::2][::9]
    assert_withstands(model, rows, scale, 0)
    assert np.median(model.certified_radius(rows, scale=scale)) > 0.1


@pytest.mark.parametrize("name", ["compact", "compact, vote", "rules"])
def test_no_attack_on_words_with_upright_sides_changes_a_label(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = fit((X, y), **MODELS[name], words=[crisp_words(f"x{f}", X[:, f]) for f in range(4)])
    assert model.stability_report().slope == np.inf
    assert assert_withstands(model, X[::4], np.ones(4), 0) > 5_000
    radius = model.certified_radius(X)
    # A row may move up to the nearest end of its words, and an ulp or two less.
    assert (radius > 0).mean() > 0.8
    assert radius.max() < 10


@pytest.mark.parametrize("name", ["deep", "deep, vote", "compact", "rules"])
@pytest.mark.parametrize("offset", [1e9, -1e14])
def test_no_attack_where_numbers_are_coarse_changes_a_label(name: str, offset: float) -> None:
    X, y = load_iris(return_X_y=True)
    X = X + offset  # time stamps, say: a band may be a few numbers wide
    model = fit((X, y), **MODELS[name])
    assert assert_withstands(model, X[::3], np.ones(4), 0) > 5_000


@EVERY_MODEL
def test_the_radius_is_not_far_below_the_nearest_attack(name: str) -> None:
    X, y = load_wine(return_X_y=True)
    model = classifier(**{"kind": "deep", "random_state": 0, **MODELS[name]}).fit(X[::2], y[::2])
    scale, rows, rng = X.std(axis=0), X[1::2][::9], np.random.default_rng(0)
    attacker = Attacker(model, scale)
    radius = model.certified_radius(rows, scale=scale)
    nearest = [attacker.smallest(x, r, rng) for x, r in zip(rows, radius, strict=True) if 0 < r < np.inf]
    least = 0.999 if name.startswith("rules") else 0.8
    assert np.nanmedian(radius[(radius > 0) & (radius < np.inf)] / nearest) > least


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.sampled_from(["deep", "compact"]), st.booleans())
def test_intervals_contain_the_firings_of_all_rows_in_the_box(
    table: Table, seed: int, variant: str, gated: bool
) -> None:
    tree = fit(table, kind=variant).tree_
    rng = np.random.default_rng(seed)
    X, scale = rows_near(table[0], seed, 5), np.ptp(table[0], axis=0)
    radius = float(rng.choice([0.0, 1e-9, 0.03, 0.3, 3.0, np.inf]))
    low, high = np.zeros((5, tree.n_nodes)), np.zeros((5, tree.n_nodes))
    stages().bound_firings(tree.core, X, radius, scale, gated, 1, low, high)
    assert (low >= 0).all()
    assert (high <= 1).all()
    reach = min(radius, 1e6) * scale
    for x, least, most in zip(X, low, high, strict=True):
        box = x + reach * np.vstack([rng.uniform(-1, 1, (60, len(x))), rng.choice([-1.0, 0.0, 1.0], (60, len(x)))])
        firing = tree.fire(box, gated=gated)
        assert (firing >= least).all()
        assert (firing <= most).all()
    if radius == 0:
        np.testing.assert_array_equal(low, high)
        np.testing.assert_array_equal(low, tree.fire(X, gated=gated))


# ---------------------------------------------------------------------------------------------------------------------
# What the radius depends on
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_the_local_radius_is_at_least_twice_the_global_one(table: Table, seed: int) -> None:
    for support_gate in (True, False):
        model = fit(table, combination="vote", support_gate=support_gate)
        local, proven = radii(model, rows_near(table[0], seed), np.ptp(table[0], axis=0))
        assert (local >= 2 * proven * (1 - 1e-6))[proven > 1e-9].all()
        assert (local >= proven * (1 - 1e-6) - 1e-9).all()


@LAW
@given(tables(), st.integers(0, 2**32 - 1))
def test_within_the_global_radius_no_gate_closes(table: Table, seed: int) -> None:
    model = fit(table, combination="vote")
    X, scale, rng = rows_near(table[0], seed, 20), np.ptp(table[0], axis=0), np.random.default_rng(seed)
    proven = np.minimum(radii(model, X, scale)[1], 1e6)
    assert (proven > 0).any()
    for _ in range(20):
        step = rng.choice([-1.0, 1.0], X.shape) * (rng.random(X.shape) < 0.7)
        moved = X + INSIDE * proven[:, None] * scale * step
        assert (model.support_deficit(moved[proven > 0]) == 0).all()


@pytest.mark.parametrize("name", ["deep", "deep, vote", "compact"])
def test_radii_scale_with_the_features(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = fit((X, y), **MODELS[name])
    # Not a second fit: resamples depend on the order of the values, and so do bands.
    stretched, tree = copy(model), model.tree_
    wider = replace(tree, trapezoid=tree.trapezoid * 8, support=tree.support * 8)
    stretched.model_ = replace(model.model_, tree=wider)
    radius = model.certified_radius(X)
    np.testing.assert_allclose(stretched.certified_radius(X * 8), 8 * radius, rtol=1e-6)
    np.testing.assert_allclose(stretched.certified_radius(X * 8, scale=np.full(4, 8.0)), radius, rtol=1e-6)
    np.testing.assert_allclose(model.certified_radius(X, scale=np.full(4, 0.5)), 2 * radius, rtol=1e-6)


@EVERY_MODEL
def test_radii_do_not_depend_on_threads_or_on_the_other_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    X, y = load_wine(return_X_y=True)
    model = classifier(**{"kind": "deep", "random_state": 0, **MODELS[name]}).fit(X[::2], y[::2])
    one = model.certified_radius(X)
    for n_jobs in (2, 5):
        assert model.set_params(n_jobs=n_jobs).certified_radius(X).tobytes() == one.tobytes()
    assert model.certified_radius(X[::-1]).tobytes() == one[::-1].tobytes()
    assert model.certified_radius(np.asfortranarray(X)).tobytes() == one.tobytes()


def test_a_single_rule_is_certified_everywhere() -> None:
    X = np.zeros((10, 2))
    y = np.array([0, 1] * 5)  # even though its two classes tie
    for combination in ("dempster", "vote"):
        model = FERLTreeClassifier("deep", combination=combination).fit(X, y)
        assert (model.certified_radius(X) == np.inf).all()
        assert str(model.certificate(X[0])).startswith("The label stays 0, whatever the numbers.\nVerdict: certain.")
        assert model.certificate(X[0]).limits == ()


def test_a_single_class_is_certified_everywhere() -> None:
    model = fit((np.arange(20.0)[:, None], np.zeros(20, dtype=int)))
    certificate = model.certificate([3.0])
    assert certificate.radius == np.inf
    assert certificate.runner_up is None


@EVERY_MODEL
@pytest.mark.parametrize("power", [-900, -300, -1, 40, 300, 900])
def test_radii_are_the_same_in_any_unit(name: str, power: int) -> None:
    """Their digits are those of a power of two and its parts: a unit that is a power of two changes none of them."""
    X, y = load_iris(return_X_y=True)
    model = fit((X, y), **MODELS[name])
    unit = X.std(axis=0)
    radius = model.certified_radius(X, scale=unit)
    assert len(np.unique(radius)) > 20
    np.testing.assert_array_equal(model.certified_radius(X, scale=unit * 2.0**power) * 2.0**power, radius)


@EVERY_MODEL
@pytest.mark.parametrize("unit", [1e-305, 1e305])
def test_units_may_be_of_any_size(name: str, unit: float) -> None:
    X, y = load_iris(return_X_y=True)
    model = fit((X * 1e-5, y), **MODELS[name])
    radius = model.certified_radius(X[:9] * 1e-5, scale=np.full(4, unit))
    assert (radius >= 0).all()


def test_a_radius_of_wide_rules_is_told_to_one_part_in_4096() -> None:
    """Along one column, the proof ends where the label does, but for the digits that are not told."""
    X, y = load_iris(return_X_y=True)
    model = fit((X[:, 2:3], y), kind="rules", max_rules=3)
    rows = np.linspace(1.2, 6.5, 41)[:, None]
    radius, label = model.certified_radius(rows), model.predict(rows)
    assert (radius > 0).any()
    for side in (-1, 1):
        inside = rows + side * radius[:, None]
        np.testing.assert_array_equal(model.predict(inside), label)
    beyond = [model.predict(rows + side * radius[:, None] * (1 + 2.0**-12)) != label for side in (-1, 1)]
    assert np.mean(beyond[0] | beyond[1]) > 0.9


def test_a_row_without_a_margin_has_radius_zero() -> None:
    X, y = load_iris(return_X_y=True)
    far = np.full((1, 4), 1e6)
    for name in ("deep", "deep, vote", "compact"):
        model = fit((X, y), **MODELS[name])
        assert model.predict_evidence(far).ignorance == 1
        assert model.certified_radius(far) == 0
        assert str(model.certificate(far[0])).startswith(
            "The label is 0 without a margin: nothing is certified.\nVerdict: no margin"
        )


def test_without_gates_a_row_may_be_certified_in_all_directions() -> None:
    X = np.column_stack([np.r_[np.linspace(0, 1, 50), np.linspace(5, 6, 50)], np.zeros(100)])
    model = fit((X, np.repeat([0, 1], 50)), support_gate=False)
    assert (model.certified_radius(X, scale=[0.0, 1.0]) == np.inf).all()
    assert np.isfinite(model.certified_radius(X, scale=[1.0, 0.0])).all()


# ---------------------------------------------------------------------------------------------------------------------
# The certificate of one row, and the stability report
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["deep", "deep, vote", "compact", "rules"])
def test_a_certificate_names_the_features_that_limit_it(name: str) -> None:
    data = load_iris(as_frame=True)
    X, y = data.data, data.target_names[data.target]
    model = fit((X, y), **MODELS[name])
    for row in range(0, 150, 10):
        one = X.iloc[[row]]
        certificate = model.certificate(one)
        assert certificate.radius == model.certified_radius(one)[0]
        assert [certificate.label] == model.predict(one).tolist()
        assert certificate.runner_up == model.classes_[np.argsort(-model.predict_proba(one)[0], kind="stable")[1]]
        assert (certificate.alone >= certificate.radius).all()
        assert (certificate.held >= certificate.radius * (1 - 1e-6)).all()
        assert certificate.limits
        untested = set(X.columns) - set(X.columns[np.unique(model.tree_.feature[1:])])
        assert not untested & set(certificate.limits)
        assert f"The label stays {certificate.label} as long as" in str(certificate)
        assert certificate.limits[0] in str(certificate)
        assert np.isnan(certificate.global_radius) == (name != "deep, vote")
        assert ("Lipschitz" in str(certificate)) == (name == "deep, vote")


@pytest.mark.parametrize("name", [name for name in MODELS if not name.startswith("rules")])
def test_the_constants_of_the_stability_report_bound_the_change_of_answers(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = fit((X, y), **MODELS[name])
    report, seen = model.stability_report(), model.stability_report(X)
    all_nodes = "all nodes" in name or name in ("compact", "compact, vote")
    assert report.n_sources == (model.tree_.n_nodes - 1 if all_nodes else model.n_rules_)
    assert 1 <= seen.n_sources <= report.n_sources
    assert seen.n_rows == 150
    assert report.depth == model.tree_.depth.max()
    assert report.slope == model.tree_.slope.max()
    assert f"{report.n_sources}  sources combined (all sources" in str(report)
    assert "the most over 150 rows" in str(seen)
    rng = np.random.default_rng(0)
    moved = X + rng.normal(size=X.shape) * rng.choice([1e-3, 1e-2, 0.1], size=(150, 1))
    inside = (model.support_deficit(X).sum(axis=1) == 0) & (model.support_deficit(moved).sum(axis=1) == 0)
    change = np.abs(model.predict_proba(moved) - model.predict_proba(X)).sum(axis=1)
    normaliser = 1 - np.maximum(model.predict_evidence(X).conflict, model.predict_evidence(moved).conflict)
    bound = report.pignistic / normaliser * np.abs(moved - X).max(axis=1)
    assert (change <= bound + 1e-12)[inside].all()
    assert inside.any()


# ---------------------------------------------------------------------------------------------------------------------
# The cache
# ---------------------------------------------------------------------------------------------------------------------


@LAW
@given(tables(), st.integers(0, 2**32 - 1), st.sampled_from(sorted(MODELS)), st.sampled_from([1, 3, 50]))
def test_the_cache_answers_as_predict_does(table: Table, seed: int, name: str, max_size: int) -> None:
    model = fit(table, **MODELS[name])
    rng, X = np.random.default_rng(seed), table[0]
    cache = CertifiedCache(model, max_size, scale=np.ptp(X, axis=0))
    n_rows = 0
    for _ in range(10):
        near = X[rng.integers(len(X), size=rng.integers(1, 8))]
        rows = near + rng.choice([0.0, 1e-3, 0.05, 1.0]) * np.ptp(X, axis=0) * rng.normal(size=near.shape)
        assert cache.predict(rows).tolist() == model.predict(rows).tolist()
        n_rows += len(rows)
        assert len(cache) <= max_size
    assert cache.hits + cache.misses == n_rows


def iris_cache(**options: Any) -> tuple[CertifiedCache, FERLClassifier, Floats]:
    X, y = load_iris(return_X_y=True)
    model = FERLTreeClassifier("deep", random_state=0).fit(X, np.array(["a", "b", "c"])[y])
    return CertifiedCache(model, **options), model, X


def test_the_cache_answers_near_rows_without_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, model, X = iris_cache()
    first = cache.predict(X)
    kept = np.unique(X, axis=0)
    radius, known = model.certified_radius(kept), model.predict(kept).tolist()
    monkeypatch.setattr(TreeModel, "evidence", None)
    assert cache.predict(X).tolist() == first.tolist()
    assert cache.predict(kept + INSIDE * radius[:, None]).tolist() == known
    # Equal rows of one batch are kept once, and count as misses all.
    n_kept = len(kept)
    assert repr(cache) == f"<CertifiedCache: {n_kept} of 1000 rows, {150 + n_kept} hits, 150 misses>"
    cache.clear()
    assert (len(cache), cache.hits, cache.misses) == (0, 0, 0)
    assert cache.estimator is model


def test_features_that_no_rule_tests_may_have_any_value() -> None:
    X = np.column_stack([np.r_[np.linspace(0, 1, 50), np.linspace(5, 6, 50)], np.zeros(100)])
    cache = CertifiedCache(fit((X, np.repeat([0, 1], 50)), max_rules=2))
    cache.predict([[0.5, 0.0]])
    assert cache.predict([[0.5, 1e9]]) == 0
    assert (cache.hits, cache.misses) == (1, 1)


def test_the_cache_of_a_single_rule_knows_everything_after_one_row() -> None:
    cache = CertifiedCache(FERLTreeClassifier("deep").fit(np.zeros((10, 2)), np.array([0, 1] * 5)))
    assert cache.predict([[1.0, 2.0]]).tolist() == [0]
    assert cache.predict([[-1e300, 1e300], [3.0, 4.0]]).tolist() == [0, 0]
    assert (cache.hits, cache.misses) == (2, 1)


def test_the_least_recently_used_row_makes_room() -> None:
    cache, _, X = iris_cache(max_size=2)
    a, b, c = X[[0]], X[[60]], X[[120]]
    for row in (a, b, a, c):  # b is the one not used for longest
        cache.predict(row)
    assert (cache.hits, cache.misses) == (1, 3)
    cache.predict(a)
    assert cache.hits == 2
    cache.predict(b)
    assert cache.misses == 4
    cache.predict(X)  # a batch larger than the cache
    assert len(cache) == 2


def test_a_cache_refuses_an_estimator_that_changed() -> None:
    cache, model, X = iris_cache()
    cache.predict(X)
    model.set_params(combination="vote")  # counts for the next fit alone
    cache.predict(X)
    model.fit(X, np.repeat([3, 1], 75))
    with pytest.raises(ValueError, match=r"fitted again.*clear\(\)"):
        cache.predict(X)
    cache.clear()
    assert cache.predict(X).tolist() == model.predict(X).tolist()


def test_threads_may_share_a_cache() -> None:
    cache, model, X = iris_cache(max_size=20, scale=np.array([0.8, 0.4, 1.8, 0.8]))

    def traffic(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        same = True
        for _ in range(40):
            rows = X[rng.integers(150, size=5)] + rng.normal(size=(5, 4)) * 0.1
            same &= cache.predict(rows).tolist() == model.predict(rows).tolist()
        return same

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(traffic, range(8)))
    assert cache.hits + cache.misses == 8 * 40 * 5
    assert cache.hits > 0
    assert len(cache) <= 20


# ---------------------------------------------------------------------------------------------------------------------
# Errors
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combination", ["cautious", "chain"])
def test_other_combinations_are_refused_by_name(combination: str) -> None:
    X, y = load_iris(return_X_y=True)
    model = fit((X, y), combination=combination)
    message = f"combination is '{combination}'; labels are certified for 'dempster' and 'vote' only"
    for ask in (model.certified_radius, lambda rows: model.certificate(rows[0]), lambda rows: CertifiedCache(model)):
        with pytest.raises(ValueError, match=message):
            ask(X)
    assert model.stability_report().n_sources > 0


def test_rows_that_cannot_be_judged_cannot_be_certified() -> None:
    cache, model, X = iris_cache()
    rows = X[:2].copy()
    rows[1, 2] = np.inf
    for ask in (model.certified_radius, lambda bad: model.certificate(bad[1]), cache.predict, model.stability_report):
        with pytest.raises(ValueError, match="Feature 2 holds"):
            ask(rows)


def test_wrong_arguments_say_what_is_wrong() -> None:
    _, model, X = iris_cache()
    with pytest.raises(ValueError, match=r"scale has shape \(3,\); it needs one number per feature, shape \(4,\)"):
        model.certified_radius(X, scale=np.ones(3))
    with pytest.raises(ValueError, match=r"scale\[1\] is -1.0; units must be finite and not negative"):
        model.certified_radius(X, scale=[1, -1, 1, 1])
    with pytest.raises(ValueError, match="x has 150 rows"):
        model.certificate(X)
    with pytest.raises(ValueError, match="max_size is 0"):
        CertifiedCache(model, max_size=0)
    for ask in (
        FERLTreeClassifier("deep").certified_radius,
        FERLTreeClassifier("deep").certificate,
        FERLTreeClassifier("deep").stability_report,
    ):
        with pytest.raises(NotFittedError):
            ask(X[:1])
    with pytest.raises(NotFittedError):
        CertifiedCache(FERLTreeClassifier("deep"))
