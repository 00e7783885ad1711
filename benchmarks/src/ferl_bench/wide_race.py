"""Races of wide rules: their fit against boosting, and how it grows with rows and features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification

from ferl import FERLClassifier
from ferl_bench.data import DataSet
from ferl_bench.errors import NotInstalledError
from ferl_bench.headline import goal
from ferl_bench.method import encode_for, get_method
from ferl_bench.protocol import make_folds
from ferl_bench.race import growth_exponent, race, verdict
from ferl_bench.render import Finding, Section, Step

OURS = "FERL-wide"
SMALLER, COMPACT, TREE = f"{OURS}, 50 rules", "FERL-compact", "CART"
BOOSTED = {"XGBoost": 1.0, "EBM": 0.03}
"""At most this multiple of the time of each rival, in sum over the data sets."""
MOST_COMPACT = 1.5
"""And of compact against CART."""
ONCE = ("EBM",)
"""Rivals that have one round without a warm-up: it takes minutes."""
EXPONENT_TARGET = 1.15  # as for trees: sorting alone makes a linear method look like 1.1
N_INFORMATIVE = 5


def boosting_section(data_sets: Sequence[DataSet], repeats: int, seed: int, step: Step) -> Finding:
    """Time fits of the first fold's fitting part, categories as each method takes them.

    A rival that is not installed is named.
    """
    rivals, notes = [], []
    for name in BOOSTED:
        try:
            get_method(name).fit(np.arange(20.0).reshape(-1, 1), np.repeat([0, 1], 10), seed)
            rivals.append(name)
        except NotInstalledError as error:
            notes.append(f"{name}: {error}")
    names = (OURS, SMALLER, COMPACT, TREE, *rivals)
    targets = {(COMPACT, TREE): MOST_COMPACT} | {(OURS, name): BOOSTED[name] for name in rivals}
    times: dict[str, dict[str, float]] = {}
    for number, data in enumerate(data_sets, start=1):
        step(f"fit against boosting: {data.name} ({number} of {len(data_sets)})")
        times[data.name] = _fit_seconds(data, names, repeats, seed)
    sums = {name: sum(time[name] for time in times.values()) for name in names}
    ratios = {f"{ours} / {other}": sums[ours] / sums[other] for ours, other in targets}
    header = ["Data set", *(f"{name} ms" for name in sums), *ratios]
    rows = [_row(name, item, list(targets)) for name, item in [*times.items(), ("sum", sums)]]
    notes += [f"{name} has one round, without a warm-up." for name in rivals if name in ONCE]
    most = dict(zip(ratios, targets.values(), strict=True))
    notes += [f"{name}, ratio of the sums: {verdict(ratio, most[name])}" for name, ratio in ratios.items()]
    goals = [goal(f"{name}, fit", ratio, most[name]) for name, ratio in ratios.items()]
    data_out = {"seconds": times, "sum_seconds": sums, "ratio_of_sums": ratios, "targets": most}
    title = "Fit of wide rules, of compact and of boosting on the fitting part of a fold"
    return Finding(Section(title, header, rows, notes), data_out, goals)


def _fit_seconds(data: DataSet, names: Sequence[str], repeats: int, seed: int) -> dict[str, float]:
    """Seconds of each method's fit."""
    fitting = make_folds(data.y)[0].fitting
    runners = {}
    for name in names:
        method = get_method(name)
        (X,) = encode_for(method, data, fitting)
        runners[name] = partial(method.fit, X, data.y[fitting], seed)
    result = race({name: run for name, run in runners.items() if name not in ONCE}, repeats)
    result |= race({name: run for name, run in runners.items() if name in ONCE}, 0)
    return {name: result[name] for name in names}


def _row(name: str, seconds: Mapping[str, float], pairs: Sequence[tuple[str, str]]) -> list[str]:
    ratios = [f"{seconds[ours] / seconds[other]:.3f}" for ours, other in pairs]
    return [name, *(f"{1000 * second:.1f}" for second in seconds.values()), *ratios]


def wide_growth_section(
    n_rows: Sequence[int], n_features: Sequence[int], n_rows_of_features: int, repeats: int, seed: int, step: Step
) -> Finding:
    """Time fits of more and more rows, and of more and more features; smaller tables are parts of the largest."""
    middle = sorted(n_features)[len(n_features) // 2 - 1]
    rows: list[list[str]] = []
    data: dict[str, object] = {}
    goals = []
    for name, shapes in (
        ("rows", [(n, middle) for n in n_rows]),
        ("features", [(n_rows_of_features, d) for d in n_features]),
    ):
        X, y = _generate(max(n for n, _ in shapes), max(d for _, d in shapes), seed)
        sizes = n_rows if name == "rows" else n_features
        seconds, rules = {}, {}
        for size, (n, d) in zip(sizes, shapes, strict=True):
            step(f"growth of wide rules: {n:,} x {d}")
            part = np.ascontiguousarray(X[:n, :d])
            classifier = FERLClassifier(growth_rows=None, random_state=seed, n_jobs=1)
            seconds[size] = race({"fit": partial(classifier.fit, part, y[:n])}, repeats)["fit"]
            rules[size] = classifier.n_rules_
        exponent = growth_exponent(list(seconds), list(seconds.values()))
        rows += [[f"{size:,} {name}", f"{1000 * seconds[size]:.1f}", str(rules[size])] for size in sizes]
        rows.append([f"exponent of {name}", "", "", verdict(exponent, EXPONENT_TARGET)])
        data[name] = {"exponent": exponent, "seconds": seconds, "rules": rules, "target": EXPONENT_TARGET}
        goals.append(goal(f"{OURS}: exponent of the fit time in {name}", exponent, EXPONENT_TARGET))
    title = f"Growth of {OURS}'s fit time with all rows used for growth (1 is linear)"
    notes = [
        f"Rows at {middle} features, features at {n_rows_of_features:,} rows; smaller tables are parts of the largest. "
        "How many rules are tried depends on the rows, and with it the time."
    ]
    return Finding(Section(title, ["Size", "ms", "Rules", "Exponent"], rows, notes), data, goals)


def _generate(n_rows: int, n_features: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return two classes whose informative features come first, so that more features only add noise."""
    X, y = make_classification(
        n_rows, n_features, n_informative=N_INFORMATIVE, n_redundant=0, flip_y=0.05, shuffle=False, random_state=seed
    )
    order = np.random.default_rng(seed).permutation(n_rows)
    return X[order], y[order].astype(np.int64)
