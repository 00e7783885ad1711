"""The scale table: what fits of one to ten million rows cost, on threads, from files, on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from ferl_bench.big_table import N_NUMBERS, TARGET, draw, write_parts
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import goal
from ferl_bench.methods.ferl import MODELS, classifier_of
from ferl_bench.race import verdict
from ferl_bench.render import Finding, Report, Section, Step, shown_steps
from ferl_bench.subprocess_call import Measured, subprocess_call
from ferl_bench.table import Request, Table
from ferl_bench.thread_gain import ROUNDS, YARDSTICK, Gain, thread_gains

SEED = 0
WIDE_TARGET = 10.0  # times the fit of deep
N_WORKERS = 2  # of the larger cluster, and threads of a stream
MOST_DASK = 1.4  # times the stream
TEST_PART = 1_000_000  # no table has so many parts


@dataclass(frozen=True)
class Sizes:
    """How many rows are used for what."""

    raced: int = 1_000_000
    streamed: Sequence[int] = (1_000_000, 2_500_000, 5_000_000, 10_000_000)
    samples: Sequence[int | None] = (10_000, 30_000, 50_000, 100_000, None)
    threaded: int = 500_000
    few: int = 120_000
    whole: int = 200_000
    small: int = 10_000
    predicted: int = 1_000_000
    tested: int = 100_000


def run_scale(request: Request, sizes: Sizes | None = None) -> Report:
    """Run all parts; each measurement has a separate process."""
    sizes = Sizes() if sizes is None else sizes
    folder = request.out / "scale"
    with shown_steps(request.console) as step:
        files = {n: write_parts(folder, n, step) for n in sorted({sizes.raced, *sizes.streamed})}
        findings = [
            _race(files[sizes.raced], sizes, step),
            _samples(files[sizes.raced], sizes, step),
            _streams({n: files[n] for n in sizes.streamed}, sizes, step),
            _threads(files[sizes.raced], sizes, step),
        ]
        if find_spec("distributed"):
            most = max(sizes.streamed)
            streamed = {variant: item[str(most)]["seconds"] for variant, item in findings[2].data.items()}
            findings.append(_cluster(files[most], streamed, step))
    facts = {
        **versions(("numpy", "scikit-learn", "lightgbm", "pyarrow", "dask")),
        "cores": n_cores(),
        "rows": f"generated: {N_NUMBERS} numbers, 5 columns of 4 to 200 categories, two classes",
        "best possible accuracy": f"{100 * draw(TEST_PART, sizes.tested)[3]:.2f} %",
        "protocol": f"one measurement each, in a separate process, reading not included; seed {SEED}",
    }
    missing = [] if find_spec("distributed") else ["cluster: dask is not installed"]
    return Report(
        name="scale",
        title="Scale: rows, threads, files and a cluster",
        facts=facts,
        sections=[finding.section for finding in findings],
        data={finding.section.title: finding.data for finding in findings},
        headlines=[headline for finding in findings for headline in finding.headlines],
        failures=missing,
        draw=partial(_draw, findings[2].data["deep"]),
    )


# ---------------------------------------------------------------------------------------------------------------------
# In separate processes
# ---------------------------------------------------------------------------------------------------------------------


def read_rows(folder: Path, n_rows: int | None = None) -> tuple[Any, Any]:
    """Return a table and its labels, in memory."""
    import pyarrow.dataset as ds

    data = ds.dataset(folder, format="parquet")
    table = data.to_table() if n_rows is None else data.head(n_rows)
    return table.drop_columns(TARGET).to_pandas(), table[TARGET].to_numpy()


def held_out_rows(n_rows: int) -> tuple[Any, Any]:
    """Return rows that no fit has seen, as :func:`read_rows` does."""
    import pandas as pd

    X, codes, y, _ = draw(TEST_PART, n_rows)
    frame = pd.DataFrame(X.astype(np.float32), columns=[f"x{j}" for j in range(N_NUMBERS)])
    for j, code in enumerate(codes):
        frame[f"c{j}"] = pd.Series([f"v{k}" for k in code], dtype="category")
    return frame, y


def as_numbers(frame: Any) -> Any:
    """Return a frame with the number of each category in place of its name, for methods that need numbers."""
    codes = {
        name: [int(category[1:]) for category in frame[name].cat.categories]
        for name in frame
        if str(name).startswith("c")
    }
    return np.column_stack(
        [np.array(codes[name])[frame[name].cat.codes] if name in codes else frame[name] for name in frame]
    )


def fit_ferl(folder: Path, n_tested: int, n_rows: int | None, **parameters: Any) -> dict[str, float]:
    """Fit FERL with these parameters in memory; return seconds and accuracy."""
    X, y = read_rows(folder, n_rows)
    model = classifier_of(parameters, random_state=SEED)
    clone(model).fit(X[:1000], y[:1000])  # the first fit of a process also loads code
    started = perf_counter()
    model.fit(X, y)
    seconds = perf_counter() - started
    X_test, y_test = held_out_rows(n_tested)
    return {"seconds": seconds, "accuracy": model.score(X_test, y_test), "rules": model.n_rules_}


def fit_cart(folder: Path, n_tested: int) -> dict[str, float]:
    """Fit CART with as many leaves as FERL-deep may have rules, on the numbers of categories."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = read_rows(folder)
    numbers = as_numbers(X)
    started = perf_counter()
    model = DecisionTreeClassifier(max_leaf_nodes=150, random_state=SEED).fit(numbers, y)
    seconds = perf_counter() - started
    X_test, y_test = held_out_rows(n_tested)
    return {"seconds": seconds, "accuracy": model.score(as_numbers(X_test), y_test), "rules": int(model.get_n_leaves())}


def fit_lightgbm(folder: Path, n_tested: int) -> dict[str, float]:
    """Fit LightGBM with 100 trees on all cores, categories as it likes them."""
    from lightgbm import LGBMClassifier

    X, y = read_rows(folder)
    started = perf_counter()
    model = LGBMClassifier(n_estimators=100, n_jobs=n_cores(), random_state=SEED, verbose=-1).fit(X, y)
    seconds = perf_counter() - started
    X_test, y_test = held_out_rows(n_tested)
    for name in X_test.select_dtypes("category"):
        X_test[name] = X_test[name].cat.set_categories(X[name].cat.categories)
    return {"seconds": seconds, "accuracy": float((model.predict(X_test) == y_test).mean())}


def fit_stream(folder: Path, n_tested: int, name: str = "deep") -> dict[str, float]:
    """Fit from files, on as many threads as the larger cluster has workers."""
    from ferl.streaming import fit_parquet

    started = perf_counter()
    model = fit_parquet(folder, TARGET, estimator=classifier_of(MODELS[name], random_state=SEED, n_jobs=N_WORKERS))
    seconds = perf_counter() - started
    X_test, y_test = held_out_rows(n_tested)
    return {"seconds": seconds, "accuracy": model.score(X_test, y_test)}


def gain_by_threads(folder: Path, sizes: Sizes) -> dict[str, Gain]:
    """Time fits and answers on one thread and on two."""
    X, y = read_rows(folder, sizes.threaded)
    numbers = np.asfortranarray(X[[f"x{j}" for j in range(N_NUMBERS)]].to_numpy(dtype=np.float64))
    chosen = {"n_few": sizes.few, "n_whole": sizes.whole, "n_small": sizes.small, "n_predicted": sizes.predicted}
    return thread_gains(X, numbers, y, **chosen, seed=SEED)


def fit_cluster(folder: Path, n_workers: int, name: str = "deep") -> dict[str, float]:
    """Fit on a cluster of single-threaded workers on this machine."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    from ferl.dask import DaskFERLClassifier, DaskFERLTreeClassifier

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        table = dd.read_parquet(folder)
        kind: Any = DaskFERLTreeClassifier if "variant" in MODELS[name] else DaskFERLClassifier
        started = perf_counter()
        kind(**MODELS[name], random_state=SEED, client=client).fit(table.drop(columns=TARGET), table[TARGET])
        return {"seconds": perf_counter() - started}


# ---------------------------------------------------------------------------------------------------------------------
# Sections
# ---------------------------------------------------------------------------------------------------------------------


def _race(folder: Path, sizes: Sizes, step: Step) -> Finding:
    runners: dict[str, Callable[[], Measured]] = {
        "CART, 150 leaves": lambda: subprocess_call(fit_cart, folder, sizes.tested),
        "FERL-deep, one thread": lambda: subprocess_call(
            partial(fit_ferl, **MODELS["deep"], n_jobs=1), folder, sizes.tested, None
        ),
        "FERL-deep, all cores": lambda: subprocess_call(
            partial(fit_ferl, **MODELS["deep"], n_jobs=-1), folder, sizes.tested, None
        ),
    }
    for name, n_jobs in (("one thread", 1), ("all cores", -1)):
        call = partial(fit_ferl, **MODELS["wide"], n_jobs=n_jobs)
        runners[f"FERL-wide, {name}"] = partial(subprocess_call, call, folder, sizes.tested, None)
    for n_rules in (50, 15, 10):
        call = partial(fit_ferl, **MODELS["wide"], max_rules=n_rules, n_jobs=-1)
        runners[f"FERL-wide, {n_rules} rules, all cores"] = partial(subprocess_call, call, folder, sizes.tested, None)
    if find_spec("lightgbm"):
        runners["LightGBM, 100 trees, all cores"] = lambda: subprocess_call(fit_lightgbm, folder, sizes.tested)
    result = {}
    for name, run in runners.items():
        step(f"fit, {sizes.raced:,} rows: {name}")
        result[name] = run().value
    cart, ours = result["CART, 150 leaves"], result["FERL-deep, all cores"]
    goals = [
        goal("Fit of deep on all cores / CART's", ours["seconds"] / cart["seconds"], 0.1),
        goal("Accuracy against CART, points", 100 * (ours["accuracy"] - cart["accuracy"]), -0.5, more_is_better=True),
    ]
    wide = result["FERL-wide, all cores"]
    goals.append(goal("Fit of wide / deep's, both on all cores", wide["seconds"] / ours["seconds"], WIDE_TARGET))
    if "LightGBM, 100 trees, all cores" in result:
        boosted = result["LightGBM, 100 trees, all cores"]
        goals.append(goal("Fit of deep / LightGBM's, both on all cores", ours["seconds"] / boosted["seconds"], 0.5))
    rows = [
        [
            name,
            f"{item['seconds']:.2f}",
            f"{item['seconds'] / cart['seconds']:.3f}",
            f"{100 * item['accuracy']:.2f}",
            f"{item['rules']:.0f}" if "rules" in item else "",
        ]
        for name, item in result.items()
    ]
    title = f"Fit, {sizes.raced:,} rows in memory"
    return Finding(Section(title, ["Method", "s", "/ CART", "Accuracy %", "Rules"], rows), result, goals)


def _samples(folder: Path, sizes: Sizes, step: Step) -> Finding:
    rows, result = [], {}
    for growth_rows in sizes.samples:
        name = "all rows" if growth_rows is None else f"{growth_rows:,}"
        step(f"splits chosen on {name}")
        call = partial(fit_ferl, **MODELS["deep"], n_jobs=-1, growth_rows=growth_rows)
        result[name] = subprocess_call(call, folder, sizes.tested, None).value
        rows.append([name, f"{result[name]['seconds']:.2f}", f"{100 * result[name]['accuracy']:.2f}"])
    title = f"Splits chosen on a sample (growth_rows), {sizes.raced:,} rows"
    notes = ["Consequents, ranges and moments come from all rows in every line."]
    return Finding(Section(title, ["Rows", "s", "Accuracy %"], rows, notes), result)


def _streams(files: dict[int, Path], sizes: Sizes, step: Step) -> Finding:
    result = {}
    for n_rows, folder in files.items():
        step(f"from files, {n_rows:,} rows")
        result[n_rows] = _streamed(folder, sizes.tested)
    least, most = min(result), max(result)
    step(f"wide rules from files, {most:,} rows")
    wide = _streamed(files[most], sizes.tested, "wide")
    growth = result[most]["seconds"] / result[least]["seconds"]
    goals = [
        goal(f"Time of {most:,} rows / {least:,}", growth, 1.1 * most / least),
        goal(f"Resident memory at {most:,} rows, GB", result[most]["gigabytes"], 1.5),
    ]
    lines = [("FERL-deep", n, item) for n, item in result.items()] + [("FERL-wide", most, wide)]
    rows = [
        [name, f"{n:,}", f"{item['seconds']:.1f}", f"{item['gigabytes']:.2f}", f"{100 * item['accuracy']:.2f}"]
        for name, n, item in lines
    ]
    notes = [
        "`ferl.streaming.fit_parquet` on two threads; reading is included, four times: labels, categories, all, all."
    ]
    section = Section("Fit from Parquet files", ["Method", "Rows", "s", "Peak GB", "Accuracy %"], rows, notes)
    return Finding(section, {"deep": {str(n): item for n, item in result.items()}, "wide": {str(most): wide}}, goals)


def _streamed(folder: Path, n_tested: int, name: str = "deep") -> dict[str, float]:
    times = subprocess_call(fit_stream, folder, n_tested, name)
    return {**times.value, "gigabytes": times.peak / 1e9}


def _threads(folder: Path, sizes: Sizes, step: Step) -> Finding:
    step("one thread and two")
    value = subprocess_call(gain_by_threads, folder, sizes).value
    rows = [[name, f"{item.one:.3f}", f"{item.two:.3f}", f"{item.ratio:.2f}"] for name, item in value.items()]
    goals = [
        goal(f"{name}: speed-up by a second thread", item.ratio, 1.7, more_is_better=True)
        for name, item in value.items()
        if name != YARDSTICK
    ]
    fastest = next(item.two for name, item in value.items() if name.startswith("predict_proba"))
    speed = sizes.predicted / fastest / 1e6
    goals.append(goal("predict_proba on two threads, million rows/s", speed, 3.0, more_is_better=True))
    notes = [f"Seconds, the least of {ROUNDS} rounds in turns in one process, after a first that does not count."]
    data = {name: {"one": item.one, "two": item.two} for name, item in value.items()}
    return Finding(Section("Threads", ["What", "One, s", "Two, s", "Gain"], rows, notes), data, goals)


def _cluster(folder: Path, streamed: Mapping[str, float], step: Step) -> Finding:
    """Fits on workers; `streamed`: seconds of each model from the same files, on as many cores as two workers."""
    result: dict[tuple[str, int], float] = {}
    for name, n_workers in (("deep", 1), ("deep", N_WORKERS), ("wide", N_WORKERS)):
        step(f"cluster of {n_workers}, {name}")
        result[name, n_workers] = subprocess_call(fit_cluster, folder, n_workers, name).value["seconds"]
    gain = result["deep", 1] / result["deep", N_WORKERS]
    dearer = {name: result[name, N_WORKERS] / seconds for name, seconds in streamed.items()}
    named = {1: "one worker", N_WORKERS: f"{N_WORKERS} workers"}
    seconds_of = {f"FERL-{name}, {named[n_workers]}": item for (name, n_workers), item in result.items()}
    rows = [[name, f"{item:.1f}"] for name, item in seconds_of.items()]
    goals = [
        goal("Dask, speed-up by a second worker", gain, 1.6, more_is_better=True),
        *(goal(f"FERL-{name}: two Dask workers / stream", ratio, MOST_DASK) for name, ratio in dearer.items()),
    ]
    title = f"Fit on a Dask cluster, the rows of {folder.name.rsplit('-', 1)[1]}"
    notes = [
        f"Gain of FERL-deep by a second worker: {gain:.2f}.",
        *(
            f"FERL-{name}, two workers / stream on two threads: {verdict(item, MOST_DASK)}"
            for name, item in dearer.items()
        ),
    ]
    return Finding(Section(title, ["Method", "s"], rows, notes), {"seconds": seconds_of, "per_stream": dearer}, goals)


def _draw(streams: Mapping[str, Any], figure: Any) -> None:
    """Time and memory against rows."""
    rows = np.array([int(n) for n in streams]) / 1e6
    left, right = figure.subplots(1, 2)
    for axes, key, label in ((left, "seconds", "seconds"), (right, "gigabytes", "peak memory, GB")):
        axes.plot(rows, [stream[key] for stream in streams.values()], marker="o", color="#0072B2")
        axes.set(xlabel="million rows", ylabel=label)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)


TABLE = Table(
    summary="Fits from a hundred thousand to ten million rows: threads, files larger than memory, a cluster.",
    run=run_scale,
    chapter="Speed",
    minutes=5,
    needs_data=False,
    in_one_process=True,
)
