"""The runtime table: fit times on the paper's ten data sets, as ratios against CART in the same run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median

import numpy as np
from rich.progress import track
from sklearn.model_selection import train_test_split

from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError, NotInstalledError
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline
from ferl_bench.method import Method, encode_for, known_methods, packages_of
from ferl_bench.methods.ferl import COMPACT_TREE, WIDE
from ferl_bench.race import race
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

PEER = "CART"
METHODS = (*WIDE, "FERL-compact", COMPACT_TREE, "FERL-medium", "FERL-deep", PEER, "C4.5", "FIGS", "FURIA")
METHODS += ("Random forest", "XGBoost", "EBM")
TEST_SHARE = 0.3
PAPER_METHODS = (COMPACT_TREE, "FERL-medium", "FERL-deep", PEER, "C4.5", "FIGS", "FURIA")
PAPER: dict[str, tuple[float, ...]] = {
    "glass": (0.022, 0.023, 0.178, 0.001, 0.141, 0.074, 0.365),
    "wine": (0.012, 0.015, 0.262, 0.001, 0.065, 0.009, 0.315),
    "heart": (0.016, 0.018, 0.105, 0.001, 0.049, 0.135, 0.166),
    "australian": (0.006, 0.013, 0.166, 0.002, 0.200, 0.096, 0.326),
    "banana": (0.017, 0.025, 1.093, 0.005, 2.329, 0.251, 1.330),
    "ionosphere": (0.023, 0.053, 0.756, 0.003, 0.527, 0.039, 0.714),
    "vehicle": (0.070, 0.073, 1.021, 0.003, 1.326, 0.142, 1.130),
    "german": (0.006, 0.010, 0.161, 0.002, 0.493, 0.191, 0.362),
    "segment": (0.141, 0.394, 2.014, 0.008, 12.742, 0.199, 2.641),
    "spambase": (0.142, 0.188, 2.652, 0.036, 21.061, 0.718, 5.476),
}
"""Seconds on the paper's machine, in the order of `PAPER_METHODS`; data sets in the paper's order, by their size."""
NOTES = (
    "Median over the splits of the processor time; the methods take turns on each, one thread, after a warm-up on the "
    "first data set. In brackets: the paper's figure. Its machine is another one, so that only ratios compare.",
)
Seconds = dict[str, dict[str, float]]
"""Median fit time by data set and method."""


def run_runtime(request: Request) -> Report:
    """Race the fits on seeded stratified splits of the paper's ten data sets."""
    by_name = {data.name: data for data in request.data_sets}
    chosen = [by_name[name] for name in PAPER if name in by_name]
    if not chosen:
        raise BenchError(f"none of the data sets of this table is there; it takes some of {', '.join(PAPER)}")
    methods, failures = _runnable(chosen[0])
    with one_thread():
        seconds = {
            data.name: measure(data, methods, request.repetitions)
            for data in track(chosen, "racing", console=request.console)
        }
    facts = {
        **versions(packages_of(methods)),
        "cores": n_cores(),
        "protocol": f"one process, one thread; {request.repetitions} stratified splits, random_state 0 and on; fitted "
        f"on {1 - TEST_SHARE:.0%} of the rows",
        "data sets": f"{len(chosen)} of the paper's {len(PAPER)}",
    }
    return make_report(seconds, chosen, failures, facts)


def measure(data: DataSet, methods: Sequence[Method], n_splits: int) -> dict[str, float]:
    """Return the median fit time of each method over the splits."""
    result: dict[str, list[float]] = {method.name: [] for method in methods}
    for seed in range(n_splits):
        fitting, _ = train_test_split(
            np.arange(data.n_rows), test_size=TEST_SHARE, random_state=seed, stratify=_classes(data)
        )
        runners = {
            method.name: partial(method.fit, encode_for(method, data, fitting)[0], data.y[fitting], seed)
            for method in methods
        }
        for name, one in race(runners, repeats=0).items():
            result[name].append(one)
    return {name: median(times) for name, times in result.items()}


def make_report(
    seconds: Seconds, data_sets: Sequence[DataSet], failures: Sequence[str], facts: Mapping[str, object]
) -> Report:
    """Turn times into the report."""
    names = list(next(iter(seconds.values())))
    paper = {name: dict(zip(PAPER_METHODS, PAPER[name], strict=True)) for name in seconds}
    traits = {data.name: [str(data.n_rows), str(data.n_features), str(len(data.class_names))] for data in data_sets}
    others = [name for name in names if name != PEER]
    sums, paper_sums = _sums(seconds), _sums(paper)
    ratios = {name: sums[name] / sums[PEER] for name in others}
    paper_ratios = {name: paper_sums[name] / paper_sums[PEER] for name in others if name in paper_sums}
    ratio_rows = [
        [data, *(_ratio(item[name], item[PEER], paper[data].get(name), paper[data][PEER]) for name in others)]
        for data, item in seconds.items()
    ]
    ratio_rows.append(
        ["sum", *(_ratio(sums[name], sums[PEER], paper_sums.get(name), paper_sums[PEER]) for name in others)]
    )
    return Report(
        name="runtime",
        title="Runtime: fit times on the paper's ten data sets",
        facts=facts,
        sections=[
            Section(f"Ratio to {PEER}", ["Data set", *others], ratio_rows, [*NOTES, *failures]),
            Section(
                "Milliseconds",
                ["Data set", "Rows", "Features", "Classes", *names],
                [
                    [data, *traits[data], *(_milliseconds(item[name], paper[data].get(name)) for name in names)]
                    for data, item in seconds.items()
                ],
            ),
        ],
        data={"seconds": seconds, "paper": paper, "ratio_of_sums": ratios, "paper_ratio_of_sums": paper_ratios},
        headlines=[
            Headline(f"{name}: fit time / {PEER}'s", ratios[name], paper_ratios[name], more_is_better=False, decimals=1)
            for name in others
            if name.startswith("FERL") and name in paper_ratios
        ],
        failures=failures,
    )


def _runnable(data: DataSet) -> tuple[list[Method], list[str]]:
    """Warm up each method; those whose package is not installed are named instead."""
    runnable, failures = [], []
    for method in known_methods(METHODS):
        try:
            method.fit(encode_for(method, data, np.arange(data.n_rows))[0], data.y, 0)
        except NotInstalledError as error:
            failures.append(f"{method.name}: {error}")
        else:
            runnable.append(method)
    known = {method.name for method in known_methods(METHODS)}
    return runnable, [*failures, *(f"{name}: not among the methods here" for name in METHODS if name not in known)]


def _classes(data: DataSet) -> np.ndarray | None:
    return data.y if np.bincount(data.y).min() >= 2 else None


def _sums(seconds: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    names = next(iter(seconds.values()))
    return {name: sum(second[name] for second in seconds.values()) for name in names}


def _ratio(number: float, peer: float, paper: float | None, paper_peer: float) -> str:
    return f"{number / peer:.2f}" + ("" if paper is None else f" [{paper / paper_peer:.0f}]")


def _milliseconds(number: float, paper: float | None) -> str:
    return f"{1000 * number:.1f}" + ("" if paper is None else f" [{1000 * paper:.0f}]")


TABLE = Table(
    summary="Fit times on the paper's ten data sets, as ratios against CART in the same run.",
    run=run_runtime,
    chapter="Speed",
    minutes=8,
    in_one_process=True,
    repetitions=5,
)
