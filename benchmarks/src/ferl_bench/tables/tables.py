"""The tables table: categories and missing values as they are, against one-hot encoding and imputation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from time import perf_counter
from typing import Any

import numpy as np
from rich.progress import track

from ferl_bench.data import DataSet
from ferl_bench.headline import GOAL, Headline
from ferl_bench.methods.ferl import MODELS, classifier_of, fit
from ferl_bench.mixed import Fit, MixedTable, as_objects, boosted, generate, native, of_data_set, prepared, with_holes
from ferl_bench.protocol import DESCRIPTION, make_folds
from ferl_bench.race import race
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

WIDE = "FERL-wide, native"
WIDE_RULES = (50, 15, 10)
BOOSTED = "HistGradientBoosting"
NATIVE, SMALLER, PREPARED = "FERL-deep, native", "FERL-medium, native", "FERL-deep, one-hot + median"
MISSING = (0.0, 0.1, 0.2, 0.4)
N_SEEDS = 5
N_ROWS = 1500
LEVELS = (3, 8, 30, 200)
LARGE_ROWS, LARGE_FEATURES = 200_000, 30
LARGE_LEVELS = (2, 3, 5, 10, 20, 100, 500, 1000, 2000, 5000)
TARGET = 3.0
NOTES = (
    "Accuracy in percent, rules or leaves, and the time to fit in milliseconds, with the preparation. One-hot + "
    "median: scikit-learn's OneHotEncoder and SimpleImputer in a pipeline. HistGradientBoosting (100 trees) takes "
    "categories and missing values itself.",
    f"Data sets of the folder: those with categories, {DESCRIPTION}. Generated: {N_ROWS} rows to fit and as many to "
    f"judge, six numbers, categorical features with {', '.join(map(str, LEVELS))} levels, {N_SEEDS} draws; missing: "
    "share of all values, completely at random, in both parts.",
)
SPEED_NOTES = (
    "All numbers: 30 columns of floats. Mixed: 20 of them, and 10 text columns with "
    f"{', '.join(map(str, LARGE_LEVELS))} levels; three of them matter. Reading the text is part of the time.",
)


def _forms() -> dict[str, Fit]:
    from sklearn.tree import DecisionTreeClassifier

    return {
        WIDE: partial(native, MODELS["wide"]),
        **{
            f"FERL-wide, {n_rules} rules, native": partial(native, {**MODELS["wide"], "max_rules": n_rules})
            for n_rules in WIDE_RULES
        },
        NATIVE: partial(native, MODELS["deep"]),
        SMALLER: partial(native, MODELS["medium"]),
        PREPARED: partial(prepared, lambda seed: classifier_of(MODELS["deep"], random_state=seed, n_jobs=1)),
        "CART, one-hot + median": partial(prepared, lambda seed: DecisionTreeClassifier(random_state=seed)),
        BOOSTED: boosted,
    }


@dataclass(frozen=True)
class Case:
    """Rows to fit on and rows to judge, under the name of their table."""

    name: str
    fitting: MixedTable
    test: MixedTable
    seed: int


def cases(data_sets: Sequence[DataSet]) -> Iterator[Case]:
    """Folds of the data sets with categories, and draws of generated tables with more and more holes."""
    for data in data_sets:
        if data.categorical.shape[1]:
            table = of_data_set(data)
            for fold in make_folds(data.y):
                yield Case(data.name, table.take(fold.fitting), table.take(fold.test), fold.index)
    for share in MISSING:
        for seed in range(N_SEEDS):
            table = with_holes(generate(2 * N_ROWS, LEVELS, 6, seed), share, seed)
            first = np.arange(2 * N_ROWS) < N_ROWS
            yield Case(f"generated, {share:.0%} missing", table.take(first), table.take(~first), seed)


def run_tables(request: Request) -> Report:
    """Fit every form on every table, then race a large mixed frame; data sets without categories are left aside."""
    result: dict[str, dict[str, list[dict[str, float]]]] = {}
    with one_thread():
        for case in track(list(cases(request.data_sets)), "mixed tables", console=request.console):
            for name, fit in _forms().items():
                result.setdefault(case.name, {}).setdefault(name, []).append(measure(case, name, fit))
        request.console.print("a large frame ...")
        seconds = large_frame(LARGE_ROWS)
    return make_report(result, seconds, request.facts())


def measure(case: Case, name: str, fit: Fit) -> dict[str, float]:
    """Accuracy, size and fit time of one form on one case."""
    start = perf_counter()
    model = fit(case.fitting, case.seed)
    elapsed = perf_counter() - start
    rows = case.test.frame() if name.endswith("native") else as_objects(case.test)
    accuracy = float(np.mean(model.predict(rows) == case.test.y))
    return {"accuracy": 100 * accuracy, **_size(model), "milliseconds": 1000 * elapsed}


def _size(model: Any) -> dict[str, float]:
    """Return the number of rules or leaves, of a single tree."""
    last = model[-1] if hasattr(model, "steps") else model
    if hasattr(last, "n_rules_"):
        return {"size": float(last.n_rules_)}
    return {"size": float(last.get_n_leaves())} if hasattr(last, "get_n_leaves") else {}


def large_frame(n_rows: int) -> dict[str, float]:
    """Seconds to fit a mixed frame, and one of numbers alone."""
    mixed = generate(n_rows, LARGE_LEVELS, LARGE_FEATURES - len(LARGE_LEVELS), 0)
    numbers = np.random.default_rng(0).normal(size=(n_rows, LARGE_FEATURES))
    numbers[:, : mixed.numeric.shape[1]] = mixed.numeric
    frames = {"mixed": mixed, "numbers": MixedTable(numbers, np.empty((n_rows, 0), dtype=object), mixed.y)}
    ready = {name: table.frame() for name, table in frames.items()}
    return race({name: partial(_fit_frame, frame, mixed.y) for name, frame in ready.items()}, repeats=3)


def _fit_frame(frame: Any, y: Any) -> Any:
    return fit(MODELS["deep"], frame, y, 0)


def make_report(
    result: Mapping[str, Mapping[str, Sequence[Mapping[str, float]]]],
    seconds: Mapping[str, float],
    facts: Mapping[str, object],
) -> Report:
    """Turn the figures into the report."""
    means = {
        table: {name: {key: fmean(one[key] for one in item) for key in item[0]} for name, item in forms.items()}
        for table, forms in result.items()
    }
    names = list(next(iter(means.values())))
    average = {
        name: {key: fmean(mean[name][key] for mean in means.values()) for key in next(iter(means.values()))[name]}
        for name in names
    }
    rows = [[table, *(_cell(item[name]) for name in names)] for table, item in means.items()]
    rows.append(["mean", *(_cell(average[name]) for name in names)])
    ours, smaller, theirs = average[NATIVE], average[SMALLER], average[PREPARED]
    goals = [
        f"Native against one-hot + median, means: accuracy {ours['accuracy'] - theirs['accuracy']:+.2f} (wanted: not "
        f"lower), fit {ours['milliseconds']:.0f} against {theirs['milliseconds']:.0f} ms (wanted: faster).",
        "Deep trees of noisy tables use up their 150 rules either way. With at most 50 (medium), native handling has "
        f"{smaller['size']:.0f} rules against {theirs['size']:.0f} of deep with one-hot encoding (wanted: fewer), and "
        f"{smaller['accuracy'] - theirs['accuracy']:+.2f} points of accuracy.",
    ]
    ratio = seconds["mixed"] / seconds["numbers"]
    speed = [
        ["all numbers", f"{seconds['numbers']:.2f}", ""],
        ["mixed", f"{seconds['mixed']:.2f}", f"{ratio:.2f} (wanted: at most {TARGET:g})"],
    ]
    title = f"Fit, {LARGE_ROWS:,} x {LARGE_FEATURES}, one thread"
    return Report(
        name="tables",
        title="Real tables: categories and missing values",
        facts=facts,
        sections=[
            Section("Accuracy / rules / ms", ["Table", *names], rows, [*NOTES, *goals]),
            Section(title, ["Frame", "s", "Ratio"], speed, SPEED_NOTES),
        ],
        data={"mean": means, "seconds": dict(seconds), "ratio": ratio},
        headlines=[
            Headline("Native handling: accuracy, %", ours["accuracy"], theirs["accuracy"], "one-hot + median"),
            Headline(
                "FERL-wide, native: accuracy, %", average[WIDE]["accuracy"], average[BOOSTED]["accuracy"], BOOSTED
            ),
            Headline("Mixed frame / numbers alone, fit time", ratio, TARGET, GOAL, more_is_better=False),
        ],
    )


def _cell(figures: Mapping[str, float]) -> str:
    size = f"{figures['size']:.0f}" if "size" in figures else "-"
    return f"{figures['accuracy']:.1f} / {size} / {figures['milliseconds']:.0f}"


TABLE = Table(
    summary="Categories and missing values as they are, against one-hot encoding and imputation.",
    run=run_tables,
    chapter="Answers",
    minutes=1,
    in_one_process=True,
)
