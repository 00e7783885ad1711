"""Evidential deep learning: its loss against closed forms and sampling, its answers against the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import dirichlet

from ferl_bench.method import get_method

torch = pytest.importorskip("torch", reason="torch is not installed: pip install './benchmarks[torch]'")

from ferl_bench.methods import edl  # noqa: E402

ALPHAS = [[1.0, 1.0, 1.0], [4.0, 1.5, 1.0], [1.2, 9.0, 3.0]]


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_loss_is_the_mean_squared_error_over_the_distribution(alpha: list[float]) -> None:
    label = np.array([0.0, 1.0, 0.0])
    drawn = dirichlet.rvs(alpha, size=200_000, random_state=0)
    sampled = ((label - drawn) ** 2).sum(axis=1)
    loss = edl.expected_squared_error(torch.tensor([alpha]), torch.tensor(label[None]))
    assert float(loss) == pytest.approx(sampled.mean(), abs=5 * sampled.std() / np.sqrt(len(sampled)))


@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_divergence_is_the_mean_log_ratio_to_the_uniform(alpha: list[float]) -> None:
    drawn = dirichlet.rvs(alpha, size=100_000, random_state=0).T
    drawn = drawn.clip(1e-12)
    drawn /= drawn.sum(axis=0)
    ratio = dirichlet.logpdf(drawn, alpha) - dirichlet.logpdf(drawn, [1, 1, 1])
    divergence = float(edl.divergence_from_uniform(torch.tensor([alpha], dtype=torch.float64)))
    assert divergence == pytest.approx(ratio.mean(), abs=5 * ratio.std() / np.sqrt(drawn.shape[1]) + 1e-9)
    assert (divergence == pytest.approx(0, abs=1e-9)) == (alpha == [1.0, 1.0, 1.0])


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clouds around the corners of a triangle; the labels have gaps."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 2, 5], 60)
    corners = {0: (-2.0, 0.0), 2: (2.0, 0.0), 5: (0.0, 3.0)}
    return np.array([corners[label] for label in y.tolist()]) + 0.6 * rng.normal(size=(180, 2)), y


@pytest.fixture(scope="module")
def fitted() -> edl.EvidentialNetwork:
    X, y = blobs()
    return edl.EvidentialNetwork(X[::2], y[::2], 0)


def test_it_learns_what_can_be_learned(fitted: edl.EvidentialNetwork) -> None:
    X, y = blobs()
    assert np.mean(fitted.predict(X[1::2]) == y[1::2]) > 0.9
    assert fitted.classes_.tolist() == [0, 2, 5]
    covered = fitted.predict_set(X)[np.arange(len(X)), np.searchsorted(fitted.classes_, y)]
    assert covered.mean() > 0.9


def test_probability_is_belief_and_an_equal_share_of_ignorance(fitted: edl.EvidentialNetwork) -> None:
    X, _ = blobs()
    evidence, ignorance = fitted.evidence(X), fitted.ignorance(X)
    belief = evidence / (evidence.sum(axis=1, keepdims=True) + 3)
    np.testing.assert_allclose(belief.sum(axis=1) + ignorance, 1)
    np.testing.assert_allclose(fitted.predict_proba(X), belief + ignorance[:, None] / 3)
    plausible = belief + ignorance[:, None] >= belief.max(axis=1, keepdims=True)
    np.testing.assert_array_equal(fitted.predict_set(X), plausible)
    sets = get_method("EDL(64)").prediction_set
    assert sets is not None
    np.testing.assert_array_equal(sets(fitted, X), plausible)


def test_where_classes_meet_it_knows_less(fitted: edl.EvidentialNetwork) -> None:
    between, inside = fitted.ignorance(np.array([[0.0, 1.0], [-2.0, 0.0]]))
    assert between > inside


def test_the_seed_decides_and_torch_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edl, "N_EPOCHS", 3)
    X, y = blobs()
    torch.manual_seed(1)
    before, n_threads = torch.random.get_rng_state(), torch.get_num_threads()
    first, again, other = (get_method("EDL(64)").fit(X, y, seed).evidence(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == n_threads
