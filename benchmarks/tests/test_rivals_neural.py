"""RRL, RL-Net and NeuRules: their logic against Boolean logic, their gradients against automatic differentiation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from ferl_bench.descent import softmax
from ferl_bench.method import get_method
from ferl_bench.methods import neurules, rl_net, rrl

NAMES = ("RRL", "RL-Net", "NeuRules")


def fit_quickly(name: str, X: np.ndarray, y: np.ndarray, seed: int) -> Any:
    """Fit with fewer epochs than the paper."""
    made: dict[str, Any] = {
        "RRL": rrl.RRL(n_epochs=60, learning_rate=0.01, seed=seed),
        "RL-Net": rl_net.RLNet(n_epochs=600, seed=seed),
        "NeuRules": neurules.NeuRules(n_epochs=400, seed=seed),
    }
    return made[name].fit(X, y)


def blobs() -> tuple[np.ndarray, np.ndarray]:
    """Three clouds around the corners of a triangle; the labels have gaps."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 2, 5], 60)
    corners = {0: (-2.0, 0.0), 2: (2.0, 0.0), 5: (0.0, 3.0)}
    return np.array([corners[label] for label in y.tolist()]) + 0.6 * rng.normal(size=(180, 2)), y


def tic_tac_toe() -> tuple[np.ndarray, np.ndarray]:
    """Return all ends of the game as 27 bits, and whether x, who began, has won."""
    board = np.array(list(product("-xo", repeat=9)))
    lines = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
    x_wins, o_wins = (np.any([(board[:, line] == who).all(axis=1) for line in lines], axis=0) for who in "xo")
    ahead = (board == "x").sum(axis=1) - (board == "o").sum(axis=1)
    full = (board != "-").all(axis=1)
    ended = (
        (x_wins & ~o_wins & (ahead == 1))
        | (o_wins & ~x_wins & (ahead == 0))
        | (full & ~x_wins & ~o_wins & (ahead == 1))
    )
    assert ended.sum() == 958
    return (board[ended][:, :, None] == list("-xo")).reshape(958, 27).astype(float), x_wins[ended].astype(int)


def test_rrl_finds_the_rules_of_tic_tac_toe() -> None:
    X, y = tic_tac_toe()
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    fitted = rrl.RRL(n_epochs=400, learning_rate=0.01).fit(X_fit, y_fit)
    # How NumPy's matrix kernels round decides whether the last of 192 rows is right.
    assert (fitted.predict(X_test) != y_test).sum() <= 1


def test_smooth_and_and_or_are_boolean_for_bits_and_whole_weights() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (200, 6)).astype(np.float32)
    weights = rng.integers(0, 2, (8, 6)).astype(np.float32)
    asked = weights.astype(bool)
    held = x[:, None].astype(bool)
    np.testing.assert_allclose(rrl.smooth_and(x, weights), (held | ~asked).all(axis=2), atol=1e-4)
    np.testing.assert_allclose(rrl.smooth_or(x, weights), (held & asked).any(axis=2), atol=1e-4)


def test_the_answers_of_rrl_can_be_read_off_its_conditions() -> None:
    X, y = blobs()
    fitted = fit_quickly("RRL", X, y, 0)
    above = fitted.thresholds_.above(X)
    bits, network = np.hstack([above, ~above]), fitted.network_
    asked = network.weights > 0.5
    # The weights of an AND node belong to the partners of the bits that it asks.
    partner = np.roll(np.arange(bits.shape[1]), above.shape[1])
    every = [bits[:, partner[node]].all(axis=1) for node in asked[: fitted.n_nodes]]
    some = [bits[:, node].any(axis=1) for node in asked[fitted.n_nodes :]]
    nodes = np.column_stack([*every, *some])
    np.testing.assert_array_equal(network.nodes(bits.astype(np.float32)), nodes)
    scores = nodes @ network.votes.T + network.bias
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[scores.argmax(axis=1)])
    assert fitted.n_conditions_ == asked.sum() > 0


def test_gates_lie_between_0_and_1_and_reach_both() -> None:
    gates = rl_net.stretched_gates(np.linspace(0, 1, 101, dtype=np.float32))
    assert gates.min() == 0
    assert gates.max() == 1
    assert (np.diff(gates) >= 0).all()
    assert 0.01 < np.mean((gates > 0) & (gates < 1)) < 0.99


def test_the_hierarchy_keeps_the_first_rule_that_fires() -> None:
    fires = np.array(list(product([False, True], repeat=5)))
    kept = fires @ rl_net.hierarchy(5) + np.eye(6)[5]
    np.testing.assert_array_equal(np.maximum(kept, 0), np.eye(6)[rl_net.first_that_fires(fires)])


def test_a_rule_of_rl_net_fires_when_nothing_that_it_asks_is_violated() -> None:
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (300, 5)).astype(bool)
    products = (rng.normal(size=(4, 5)) * rng.integers(0, 2, (4, 5))).astype(np.float32)
    network = rl_net.RuleListNetwork(5, 4, 2, rng)
    violation = network.violation(np.hstack([bits, ~bits]).astype(np.float32), products)
    wanted = [[all(row[products[rule] > 0]) and not any(row[products[rule] < 0]) for rule in range(4)] for row in bits]
    np.testing.assert_array_equal(violation < rl_net.TOLERANCE, wanted)


def test_the_answers_of_rl_net_are_those_of_the_first_rule_that_fires() -> None:
    X, y = blobs()
    fitted = fit_quickly("RL-Net", X, y, 0)
    bits = fitted.thresholds_.above(X)
    for row, probability in zip(bits, fitted.predict_proba(X), strict=True):
        holds = (~row[None] | (fitted.signs_ >= 0)) & (row[None] | (fitted.signs_ <= 0))
        first = next((rule for rule, every in enumerate(holds.all(axis=1)) if every), fitted.n_rules)
        np.testing.assert_allclose(probability, softmax(fitted.votes_[first : first + 1].astype(np.float64))[0])
    assert fitted.n_conditions_ == np.count_nonzero(fitted.signs_)


def test_soft_intervals_become_intervals() -> None:
    x = np.linspace(-3, 3, 62, dtype=np.float32)[:, None]
    lower, upper = np.array([[-1.0]], dtype=np.float32), np.array([[0.5]], dtype=np.float32)
    for temperature in (1.0, 0.2, 0.04, 1e-4):
        inside = neurules.soft_intervals(x, lower, upper, temperature)[2][0]
        assert inside.min() >= 0
        assert inside.max() <= 1
    np.testing.assert_allclose(inside, (x > -1) & (x < 0.5), atol=1e-6)


def test_the_and_of_neurules_is_1_when_all_hold_and_small_when_one_fails() -> None:
    inside = np.ones((1, 3, 4), dtype=np.float32)
    inside[0, 1, 2] = inside[0, 2, 3] = 0
    weights = np.array([[0.5, 0.25, 1.0, 0.0]], dtype=np.float32)
    both, one_fails, unweighted_fails = neurules.relaxed_and(inside, weights)[0][0]
    assert both == pytest.approx(1)
    assert 0 < one_fails < 0.01
    assert unweighted_fails == pytest.approx(1)
    assert neurules.relaxed_and(inside, 0 * weights)[0] == pytest.approx(1)


def test_the_answers_of_neurules_are_those_of_a_rule_list() -> None:
    X, y = blobs()
    fitted = fit_quickly("NeuRules", X, y, 0)
    rules = fitted.rules_
    rows = X.astype(np.float32)[:, None]
    applies = (((rules.lower <= rows) & (rows <= rules.upper)) | (rules.weights == 0)).all(axis=2)
    order = np.argsort(-rules.priority)
    first = order[rl_net.first_that_fires(applies[:, order]) % len(order)]
    some = applies.any(axis=1)
    assert some.mean() > 0.5
    np.testing.assert_array_equal(fitted.speaking_rule(X)[some], first[some])
    np.testing.assert_array_equal(
        fitted.predict(X), fitted.classes_[rules.votes.argmax(axis=1)][fitted.speaking_rule(X)]
    )


@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_learned_is_learned_and_the_seed_decides(name: str) -> None:
    X, y = blobs()
    before = np.random.get_state()[1]  # noqa: NPY002
    first, again, other = (fit_quickly(name, X[::2], y[::2], seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    assert first.classes_.tolist() == [0, 2, 5]
    assert np.mean(first.predict(X[1::2]) == y[1::2]) > 0.85
    probabilities = first.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities, again.predict_proba(X))
    assert not np.array_equal(probabilities, other.predict_proba(X))
    method = get_method(name)
    assert method.size is not None
    assert method.size(first) > 0
    assert set(method.paper) == {"accuracy", "aurc", "size"}


@pytest.mark.parametrize("name", NAMES)
def test_missing_values_are_refused(name: str) -> None:
    X, y = blobs()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        get_method(name).fit(X, y, 0)


@pytest.fixture(name="torch", scope="module")
def _torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed: pip install './benchmarks[torch]'")


def members(n_rows: int, n_classes: int, rng: np.random.Generator) -> np.ndarray:
    """Return random one-hot labels."""
    return np.eye(n_classes, dtype=np.float32)[rng.integers(0, n_classes, n_rows)]


def assert_gradients(network: Any, torch: Any, arrays: list[Any], loss: Any) -> None:
    """Compare the network's gradient with that of `loss`, a function of the arrays as tensors."""
    tensors = [torch.tensor(array, dtype=torch.float64, requires_grad=True) for array in arrays]
    loss(*tensors).backward()
    wanted = np.concatenate([tensor.grad.numpy().ravel() for tensor in tensors])
    np.testing.assert_allclose(network.gradient, wanted, rtol=2e-3, atol=2e-5 * abs(wanted).max())
    assert np.count_nonzero(wanted) > wanted.size / 4


def test_the_grafted_gradient_of_rrl(torch: Any) -> None:
    rng = np.random.default_rng(0)
    network = rrl.LogicalNetwork(12, 4, 3, rng)
    network.weights[:] = rng.random(network.weights.shape) * 0.8
    network.log_temperature[:] = 0.3
    above = rng.integers(0, 2, (20, 6))
    bits, labels = np.hstack([above, 1 - above]).astype(np.float32), members(20, 3, rng)
    network.differentiate(bits, labels)
    x, y = torch.tensor(bits, dtype=torch.float64), torch.tensor(labels.argmax(axis=1))

    def g(u: Any) -> Any:
        return 1 - 1 / (1 - (rrl.ALPHA * u) ** rrl.BETA)

    def loss(weights: Any, votes: Any, bias: Any, log_temperature: Any) -> Any:
        asks = torch.roll(weights[:4], 6, dims=1)  # from partners to the bits themselves
        smooth_and = 1 / (1 + g(1 - x) @ g(asks).T)
        smooth_or = 1 - 1 / (1 + g(x) @ g(weights[4:]).T)
        smooth = torch.hstack([smooth_and, smooth_or])
        hard_and = 1 - ((1 - x) @ (asks > 0.5).double().T > 0).double()
        hard = torch.hstack([hard_and, (x @ (weights[4:] > 0.5).double().T > 0).double()])
        nodes = hard + smooth - smooth.detach()
        scores = (nodes @ votes.T + bias) / torch.exp(log_temperature)
        squares = (weights**2).sum() + (votes**2).sum()
        return torch.nn.functional.cross_entropy(scores, y) + rrl.PENALTY * squares

    arrays = [network.weights, network.votes, network.bias, network.log_temperature]
    assert_gradients(network, torch, arrays, loss)


def test_the_straight_through_gradient_of_rl_net(torch: Any) -> None:
    rng = np.random.default_rng(1)
    network = rl_net.RuleListNetwork(6, 5, 3, rng)
    network.location[:] = rng.normal(-1, 1, network.location.shape)  # some gates are closed
    bits, labels = rng.integers(0, 2, (60, 6)), members(60, 3, rng)
    noise = rng.logistic(size=network.weights.shape).astype(np.float32)
    network.differentiate(np.hstack([bits, 1 - bits]).astype(np.float32), labels, noise)
    x, y = torch.tensor(bits, dtype=torch.float64), torch.tensor(labels.argmax(axis=1))
    stretch, low, sharpness = rl_net.HIGH - rl_net.LOW, rl_net.LOW, rl_net.SHARPNESS

    def loss(weights: Any, location: Any, votes: Any) -> Any:
        sigmoid = torch.sigmoid((torch.tensor(noise) + location) / sharpness)
        product = weights * torch.clamp(stretch * sigmoid + low, 0, 1)
        before = x @ product.T + 1 - torch.relu(product).sum(dim=1)
        passed = torch.where(before >= 0, before, before.detach())
        fires = (before > 0.999999).double() + passed - passed.detach()
        earlier = torch.cumsum(fires, dim=1) - fires
        kept = torch.hstack([torch.relu(fires - earlier), torch.relu(1 - fires.sum(dim=1, keepdim=True))])
        probability = torch.softmax(kept @ votes.T, dim=1)
        open_gate = torch.sigmoid(location - sharpness * np.log(-low / rl_net.HIGH))
        return torch.nn.functional.cross_entropy(probability, y) + rl_net.PENALTY * open_gate.mean()

    assert_gradients(network, torch, [network.weights, network.location, network.votes], loss)


@pytest.mark.parametrize("block_size", [1, 2**16])
def test_the_gradient_of_neurules(torch: Any, monkeypatch: pytest.MonkeyPatch, block_size: int) -> None:
    monkeypatch.setattr(neurules, "_BLOCK_SIZE", block_size)
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(40, 3)).astype(np.float32), members(40, 2, rng)
    network = neurules.RuleList(X, 6, 2, rng)
    network.vector += 0.2 * rng.random(network.vector.shape, dtype=np.float32)
    noise = rng.gumbel(size=(40, 6)).astype(np.float32)
    network.differentiate(X, labels, noise, 0.7, learns_votes=True)
    x, y = torch.tensor(X, dtype=torch.float64)[:, None], torch.tensor(labels.argmax(axis=1))
    t = neurules.INTERVAL_TEMPERATURE * 0.7

    def loss(lower: Any, upper: Any, weights: Any, priority: Any, votes: Any) -> Any:
        # The form of the paper, where each part of the interval has its own exponential.
        low, middle, high = (torch.exp(u / t) for u in (x + 0 * lower, 2 * x - lower, 3 * x - lower - upper))
        inside = middle / (low + middle + high)
        eta = (neurules.SLACK / weights.sum(dim=1, keepdim=True)).detach()
        conjunction = weights.sum(dim=1) / (weights * (1 + eta) / (inside + eta)).sum(dim=2)
        tau = neurules.CHOICE_TEMPERATURE * 0.7
        selection = torch.softmax((priority * conjunction + torch.tensor(noise)) / tau, dim=1)
        shortfall = torch.relu(neurules.MIN_SUPPORT - selection.mean(dim=0)).mean()
        return torch.nn.functional.cross_entropy(selection @ votes, y) + neurules.SUPPORT_PENALTY * shortfall

    arrays = [network.lower, network.upper, network.weights, network.priority, network.votes]
    assert_gradients(network, torch, arrays, loss)
