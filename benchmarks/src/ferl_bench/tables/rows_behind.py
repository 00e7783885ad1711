"""The table of the rows behind an answer: what ignorance adds to the probability, where the truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from statistics import fmean
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr
from sklearn.datasets import make_classification

from ferl import FERLClassifier, metrics
from ferl._learn.rows_behind import RuleSums
from ferl._models.evidence import Evidence, RuleEvidence
from ferl._models.settings import MAX_MAPS
from ferl._util.arrays import Floats
from ferl_bench.cache import Result
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import GOAL, Headline, goal
from ferl_bench.method import get_method
from ferl_bench.protocol import DESCRIPTION
from ferl_bench.race import race
from ferl_bench.render import Finding, Report, Section, Step, shown_steps
from ferl_bench.scenes import DRAWN, N_ROWS, RARE_SHARE, SPARSE_SHARE, TOYS, Scene, left_out
from ferl_bench.simulation import SOFTMAX_KINDS, SoftmaxPopulation
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

SEED = 0
REPETITIONS = 20
SIZES = (200, 1000, 5000)
N_TESTED = 400
N_SCENES = 10  # draws of each
N_SPLITS = 2  # of the data sets with a class left out
N_BLOBS = (3000, 5)
N_CELL_TABLE, N_THIN = 20_000, 20
N_SMALL = 5  # draws of the blobs, and of the map with a thin cell
LEAST_COVERAGE = {2: 0.90, 3: 0.86, 5: 0.79, 8: 0.80, 15: 0.75}
LEAST_AUROC = {"sparse region": 90.0, "rare category": 95.0, "hole inside the range": 60.0, "left-out class": 80.0}
MOST_WITH_DOUBT, LEAST_WITH_ROWS = 0.2, 0.75  # rank correlations of ignorance
MOST_ABOVE = 13.0  # % of the fits whose mean belief is above their accuracy
MOST_COST, MOST_SHARE = 2.0, 5.0  # predict_evidence / predict_proba; % of a fit
N_FITTED, N_PREDICTED, N_FEATURES = 20_000, 100_000, 20  # of the table whose answers and fits are timed
N_CATEGORIES, MISSING_SHARE = 6, 0.05  # of its columns with categories, and of all values, in one of the cases
SIGNALS = ("ignorance", "novelty", "1 - p_max")


def run_rows_behind(request: Request) -> Report:
    """Measure everything; the data sets, where they are given, have a separate line."""
    with one_thread(), shown_steps(request.console) as step:
        tables = softmax_tables(request.repetitions, step)
        findings = [
            coverage_section(tables),
            correlation_section(tables),
            count_section(tables),
            _scene_section(step),
            _few_section(tables, step),
            _cost_section(min(request.repetitions, 5), step),
        ]
    results = request.results([get_method("FERL-wide")]) if request.data_sets else []
    findings.insert(3, belief_section(tables, results))
    return Report(
        name="rows_behind",
        title="Rows behind an answer: what ignorance adds to the probability",
        facts={
            **versions(("numpy", "scipy", "scikit-learn")),
            "cores": n_cores(),
            "model": "FERLClassifier with its defaults, one thread",
            "repetitions": request.repetitions,
            "seed": SEED,
            **({"protocol": DESCRIPTION, "data sets": len(request.data_sets)} if results else {}),
        },
        sections=[finding.section for finding in findings],
        data={name: value for finding in findings for name, value in finding.data.items()},
        headlines=[headline for finding in findings for headline in finding.headlines],
    )


@dataclass(frozen=True, eq=False)
class SoftmaxTable:
    """What repeated training samples of one size, from one population, answer to the same rows.

    Attributes
    ----------
    n_classes, kind, n_rows : int, str, int
        The population, and the size of the samples.
    truth : ndarray of shape (n_tested, n_classes)
        The true probabilities.
    answer : ndarray of shape (n_samples, n_tested, n_classes)
        The probabilities of each fit.
    ignorance, novelty : ndarray of shape (n_samples, n_tested)
        Of each fit.
    sets : ndarray of shape (n_samples, n_tested, n_classes), bool
        The prediction sets of each fit.
    """

    n_classes: int
    kind: str
    n_rows: int
    truth: Floats
    answer: Floats
    ignorance: Floats
    novelty: Floats
    sets: NDArray[np.bool_]

    @property
    def coverage(self) -> float:
        """Probability that a set holds the label, mean over fits."""
        return float((self.sets * self.truth).sum(axis=2).mean())

    @property
    def best_coverage(self) -> float:
        """The same of the smallest sets of true probabilities that reach 2/3."""
        ranked = -np.sort(-self.truth, axis=1)
        total = np.cumsum(ranked, axis=1)
        return float(np.where(total >= 2 / 3 - 1e-12, total, np.inf).min(axis=1).mean())

    @property
    def equivalent_rows(self) -> Floats:
        """Number of rows whose frequencies would be as precise as the answers, for each tested row."""
        error = ((self.answer - self.truth) ** 2).sum(axis=2).mean(axis=0)
        return np.asarray((self.truth * (1 - self.truth)).sum(axis=1) / error)

    @property
    def is_belief_above(self) -> list[bool]:
        """For each fit, whether its mean belief is above its accuracy, which is known exactly."""
        belief = ((1 - self.ignorance) * self.answer.max(axis=2)).mean(axis=1)
        label = self.answer.argmax(axis=2)
        accuracy = np.take_along_axis(self.truth[None], label[:, :, None], axis=2)[:, :, 0].mean(axis=1)
        return [bool(above) for above in belief > accuracy]


def softmax_tables(repetitions: int, step: Step) -> list[SoftmaxTable]:
    """Fit repeated samples of every size from every population."""
    cases = [(n_classes, kind, n) for n_classes in LEAST_COVERAGE for kind in SOFTMAX_KINDS for n in SIZES]
    tables = []
    for number, case in enumerate(cases, start=1):
        step(f"softmax tables: {number} of {len(cases)}")
        tables.append(softmax_table(*case, repetitions))
    return tables


def softmax_table(n_classes: int, kind: str, n_rows: int, repetitions: int) -> SoftmaxTable:
    """Fit repeated samples of one size from one population."""
    population = SoftmaxPopulation.of(n_classes, kind, SEED)
    population_seed = [SEED, n_classes, SOFTMAX_KINDS.index(kind)]
    tested, _ = population.draw(N_TESTED, np.random.default_rng([*population_seed, 0]))
    shape = (repetitions, N_TESTED)
    answer, sets = np.zeros((*shape, n_classes)), np.zeros((*shape, n_classes), dtype=bool)
    ignorance, novelty = np.zeros(shape), np.zeros(shape)
    for k in range(repetitions):
        X, y = population.draw(n_rows, np.random.default_rng([*population_seed, n_rows, k]))
        fitted = FERLClassifier(random_state=k, n_jobs=1).fit(X, y)
        evidence = fitted.predict_evidence(tested)
        answer[k][:, fitted.classes_] = evidence.probability
        sets[k][:, fitted.classes_] = evidence.prediction_set()
        ignorance[k], novelty[k] = evidence.ignorance, fitted.novelty(tested)
    truth = population.probability(tested)
    return SoftmaxTable(n_classes, kind, n_rows, truth, answer, ignorance, novelty, sets)


def coverage_section(tables: Sequence[SoftmaxTable]) -> Finding:
    """How often sets hold the label, by the number of classes."""
    rows, data, headlines = [], {}, []
    for n_classes, least in LEAST_COVERAGE.items():
        chosen_tables = [table for table in tables if table.n_classes == n_classes]
        by_size = [fmean(table.coverage for table in chosen_tables if table.n_rows == n_rows) for n_rows in SIZES]
        mean, best = fmean(by_size), fmean(table.best_coverage for table in chosen_tables)
        size = fmean(float(table.sets.sum(axis=2).mean()) for table in chosen_tables)
        cells = [*(f"{value:.3f}" for value in by_size), f"{mean:.3f}", f"{least:.2f}", f"{best:.3f}", f"{size:.2f}"]
        rows.append([str(n_classes), *cells])
        data[str(n_classes)] = {"by_size": by_size, "mean": mean, "true_probabilities": best, "size": size}
        headlines.append(Headline(f"Sets, {n_classes} classes: coverage", mean, least, GOAL, decimals=3))
    notes = [
        "Six normal columns; probabilities are the softmax of scores whose weights are standard normal. Each number of "
        "classes has three populations, whose scores are sums of the columns (lines), of them and three products "
        f"(products), of their sines (waves). {N_TESTED} tested rows; coverage by their true probabilities, mean over "
        "training samples.",
        "Wanted: of the mean. True p: coverage of the smallest sets of true probabilities that reach 2/3, the level of "
        "predict_set().",
    ]
    header = ["Classes", *(f"{n:,} rows" for n in SIZES), "Mean", "Wanted", "True p", "Set size"]
    return Finding(Section("Coverage of predict_set()", header, rows, notes), {"coverage": data}, headlines)


def correlation_section(tables: Sequence[SoftmaxTable]) -> Finding:
    """What ignorance goes with: the rows that the answer is worth, or the doubt that the probability tells."""
    groups = {f"within a table, {n_rows:,} rows": [[t] for t in tables if t.n_rows == n_rows] for n_rows in SIZES}
    groups |= {f"within a table, {kind}": [[t] for t in tables if t.kind == kind] for kind in SOFTMAX_KINDS}
    groups["within a table, all"] = [[table] for table in tables]
    by_population: dict[tuple[int, str], list[SoftmaxTable]] = {}
    for table in tables:
        by_population.setdefault((table.n_classes, table.kind), []).append(table)
    groups["sizes of a population together"] = list(by_population.values())
    groups["all tables together"] = [list(tables)]
    rows, data, keys = [], {}, ("with doubt", "absolute", "ignorance", "novelty", "p_max")
    for name, pools in groups.items():
        result = [rank_correlations(pool) for pool in pools]
        data[name] = {key: fmean(item[key] for item in result) for key in result[0]}
        data[name]["absolute"] = fmean(abs(item["with doubt"]) for item in result)
        rows.append([name, *(f"{data[name][key]:.3f}" for key in keys)])
    notes = [
        "Spearman's rank correlations, means over fits. With 1 - p_max: of ignorance; 'absolute': the mean of absolute "
        "values over tables. With rows: of less ignorance, less novelty and p_max with the number of rows whose "
        "frequencies would be as precise as the answer: p (1 - p) over the mean squared error of the answers of all "
        "training samples, both summed over classes.",
        f"Wanted: with 1 - p_max, within a table, at most {MOST_WITH_DOUBT:g}; with rows, all tables together, at "
        f"least {LEAST_WITH_ROWS:g}.",
    ]
    header = ["Rows compared", "Ignorance, 1 - p_max", "absolute", "Ignorance, rows", "Novelty, rows", "p_max, rows"]
    doubt, worth = data["within a table, all"]["with doubt"], data["all tables together"]["ignorance"]
    headlines = [
        Headline(
            "Ignorance and 1 - p_max within a table: rank correlation",
            abs(doubt),
            MOST_WITH_DOUBT,
            GOAL,
            more_is_better=False,
            decimals=3,
        ),
        Headline(
            "Ignorance and equivalent rows, all tables: rank correlation", worth, LEAST_WITH_ROWS, GOAL, decimals=3
        ),
    ]
    return Finding(Section("What ignorance goes with", header, rows, notes), {"correlation": data}, headlines)


def count_section(tables: Sequence[SoftmaxTable]) -> Finding:
    """How many rows answers are worth, and how many ignorance claims."""
    rows, data = [], {}
    for kind in SOFTMAX_KINDS:
        for n_rows in SIZES:
            chosen_tables = [table for table in tables if table.kind == kind and table.n_rows == n_rows]
            true = fmean(float(np.median(table.equivalent_rows)) for table in chosen_tables)
            stated = fmean(float(np.median(1 / table.ignorance - 1)) for table in chosen_tables)
            rows.append([f"{kind}, {n_rows:,} rows", f"{true:.1f}", f"{stated:.1f}"])
            data[f"{kind}, {n_rows}"] = {"true": true, "told": stated}
    notes = ["Medians over tested rows, means over numbers of classes. Told: one over the ignorance, less one."]
    return Finding(Section("Rows that answers are worth", ["Tables", "True", "Told"], rows, notes), {"counts": data})


def rank_correlations(tables: Sequence[SoftmaxTable]) -> dict[str, float]:
    """Rank correlations over the tested rows of tables together, means over fits."""
    true_rows = np.concatenate([table.equivalent_rows for table in tables])
    result = []
    for k in range(len(tables[0].answer)):
        ignorance, novelty = (np.concatenate([getattr(t, key)[k] for t in tables]) for key in ("ignorance", "novelty"))
        surest = np.concatenate([table.answer[k].max(axis=1) for table in tables])
        result.append(
            {
                "with doubt": _rank_correlation(ignorance, 1 - surest),
                "ignorance": _rank_correlation(-ignorance, true_rows),
                "novelty": _rank_correlation(-novelty, true_rows),
                "p_max": _rank_correlation(surest, true_rows),
            }
        )
    return {key: fmean(item[key] for item in result) for key in result[0]}


def _rank_correlation(a: Floats, b: Floats) -> float:
    return 0.0 if np.ptp(a) == 0 or np.ptp(b) == 0 else float(spearmanr(a, b).statistic)


def belief_section(tables: Sequence[SoftmaxTable], results: Sequence[Result]) -> Finding:
    """How many fits believe more, on the mean, than they get right."""
    shares = {
        f"softmax tables, {n_rows:,} rows": [above for t in tables if t.n_rows == n_rows for above in t.is_belief_above]
        for n_rows in SIZES
    }
    shares["softmax tables"] = [above for table in tables for above in table.is_belief_above]
    known = [result.measures for result in results if result.error is None]
    if known:
        shares["folds of the data sets"] = [item["belief"] > item["accuracy"] for item in known]
    rows = [[name, str(len(item)), f"{100 * fmean(item):.1f}"] for name, item in shares.items()]
    notes = [
        "Mean belief in the most probable class, of the tested rows. Softmax tables: the accuracy is the mean true "
        "probability of the labels. Data sets: FERL-wide on the test parts, whose accuracy is a sample.",
        f"Wanted: at most {MOST_ABOVE:g} %.",
    ]
    headlines = [
        goal(f"Fits whose mean belief is above their accuracy, {name}: %", 100 * fmean(shares[name]), MOST_ABOVE)
        for name in ("softmax tables", "folds of the data sets")
        if name in shares
    ]
    data = {"belief_above_accuracy": {name: fmean(item) for name, item in shares.items()}}
    return Finding(Section("Mean belief above accuracy", ["Fits", "Number", "Above, %"], rows, notes), data, headlines)


def _scene_section(step: Step) -> Finding:
    """Whether ignorance tells rows that have few training rows like them."""
    result: dict[str, list[dict[str, float]]] = {}
    for name, make in DRAWN.items():
        step(f"few rows: {name}")
        result[name] = [scene_figures(make(np.random.default_rng([SEED, k])), k) for k in range(N_SCENES)]
    toys = {}
    for name in TOYS:
        step(f"a class left out: {name}")
        toys[name] = [scene_figures(scene, k) for k in range(N_SPLITS) for scene in left_out(name, k)]
    means = {name: _means(item) for name, item in result.items()}
    means |= {f"left-out class, {name}": _means(item) for name, item in toys.items()}
    means["left-out class"] = _means([_means(toy) for toy in toys.values()])
    rows = [
        [
            name,
            *(f"{item[signal]:.1f}" for signal in SIGNALS),
            f"{LEAST_AUROC[name]:g}" if name in LEAST_AUROC else "",
            f"{item['rows, usual']:.0f}",
            f"{item['rows, unusual']:.0f}",
        ]
        for name, item in means.items()
    ]
    notes = [
        f"AUROC % of unusual rows against usual ones, means over {N_SCENES} draws of {N_ROWS:,} training rows. Sparse "
        f"region: two clusters, the smaller has {SPARSE_SHARE:.0%} of the rows; the columns that separate them decide "
        f"the label. Rare category: {RARE_SHARE:.0%} of the rows, in a column that decides with others. Hole: anywhere "
        "inside the range of the two columns that decide, by a line, a product or waves. One feature outside: half a "
        "range beyond the least or largest training value; rules have no gate for a column that none of them reads.",
        f"Left-out class: each class in turn, {N_SPLITS} splits; the last line is the mean of the three data sets. "
        "Rows: mean of the medians of the rows behind usual and unusual answers.",
    ]
    header = ["Unusual rows", *(signal.capitalize() for signal in SIGNALS), "Wanted", "Rows, usual", "Rows, unusual"]
    headlines = [
        goal(f"Ignorance, {name}: AUROC %", means[name]["ignorance"], least, more_is_better=True)
        for name, least in LEAST_AUROC.items()
    ]
    return Finding(Section("Rows with few training rows behind them", header, rows, notes), {"few": means}, headlines)


def scene_figures(scene: Scene, seed: int) -> dict[str, float]:
    """AUROC % of the three signals, and the medians of the rows behind."""
    fitted = FERLClassifier(random_state=seed, n_jobs=1).fit(scene.X, scene.y)
    parts = [scene.usual, scene.unusual]
    rows = pd.concat(parts) if isinstance(scene.usual, pd.DataFrame) else np.vstack(parts)
    is_unusual = np.arange(len(rows)) >= len(scene.usual)
    evidence = fitted.predict_evidence(rows)
    scores = (evidence.ignorance, fitted.novelty(rows), 1 - evidence.probability.max(axis=1))
    aurocs = {name: 100 * metrics.novelty_auroc(is_unusual, score) for name, score in zip(SIGNALS, scores, strict=True)}
    return aurocs | {
        "rows, usual": _median_rows(evidence[~is_unusual]),
        "rows, unusual": _median_rows(evidence[is_unusual]),
    }


def _median_rows(evidence: Evidence) -> float:
    """Median of the rows behind answers of rules."""
    assert isinstance(evidence, RuleEvidence)
    return float(np.median(evidence.rows))


def _means(result: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: fmean(item[key] for item in result) for key in result[0]}


def _few_section(tables: Sequence[SoftmaxTable], step: Step) -> Finding:
    """Whether ignorance falls with rows, and differs where the probability does not."""
    step("blobs and thin cells")
    falling = {
        n_rows: fmean(float(table.ignorance.mean()) for table in tables if table.n_rows == n_rows) for n_rows in SIZES
    }
    blobs = _means([blob_figures(k) for k in range(N_SMALL)])
    cells = _means([cell_figures(k) for k in range(N_SMALL)])
    rows = [[f"softmax tables, {n_rows:,} training rows", "", f"{item:.3f}"] for n_rows, item in falling.items()]
    for name, item in (("blob of {} rows, classes even", blobs), ("cell of {} rows", cells)):
        for part in ("thick", "thin"):
            cells_of = [f"{item[f'{part}, rows']:.1f}", f"{item[f'{part}, ignorance']:.3f}"]
            rows.append([name.format(f"{item[f'{part}, n']:,.0f}"), *cells_of])
    notes = [
        f"Means over all softmax tables, and over {N_SMALL} draws of the others. Blobs: {N_BLOBS[0]:,} and "
        f"{N_BLOBS[1]} rows around two places far apart, labels by chance; median rows behind and mean ignorance "
        "of new rows there.",
        f"Cells: {N_CELL_TABLE:,} rows, two columns of five categories whose combination decides, one combination of "
        f"which has {N_THIN} rows, and two numbers, one of which decides.",
    ]
    title = "Few rows and many"
    data = {"falling": falling, "blobs": blobs, "cells": cells}
    wanted = [
        Headline(
            f"Softmax tables, {many:,} rows: ignorance",
            falling[many],
            falling[few],
            f"{few:,} rows",
            more_is_better=False,
            decimals=3,
        )
        for few, many in pairwise(SIZES)
    ]
    return Finding(Section(title, ["Answers", "Rows behind", "Ignorance"], rows, notes), data, wanted)


def blob_figures(seed: int) -> dict[str, float]:
    """Rows behind answers in a large and in a small blob, whose labels are thrown coins."""
    random = np.random.default_rng([SEED, seed])
    X = np.vstack([random.normal(10.0 * place, size=(n, 2)) for place, n in enumerate(N_BLOBS)])
    fitted = FERLClassifier(random_state=seed, n_jobs=1).fit(X, random.integers(0, 2, size=len(X)))
    new = [random.normal(10.0 * place, size=(N_TESTED, 2)) for place in range(2)]
    return _thick_and_thin(fitted, new, N_BLOBS)


def cell_figures(seed: int) -> dict[str, float]:
    """Rows behind answers in a thick and in a thin cell of two columns of categories."""
    random = np.random.default_rng([SEED, seed])
    effect, names, thin = random.normal(size=(5, 5)), np.array(list("abcde")), 4

    def rows(first: NDArray[np.int64], second: NDArray[np.int64]) -> pd.DataFrame:
        numbers = {name: random.normal(size=len(first)) for name in ("x", "z")}
        return pd.DataFrame({"a": names[first], "b": names[second], **numbers})

    a, b = random.integers(0, 5, (2, N_CELL_TABLE))
    a[(a == thin) & (b == thin)] = 0
    a[:N_THIN] = b[:N_THIN] = thin
    X = rows(a, b)
    odds = np.exp(1.5 * effect[a, b] + X["x"].to_numpy())
    y = (random.random(N_CELL_TABLE) < odds / (1 + odds)).astype(np.int64)
    fitted = FERLClassifier(random_state=seed, n_jobs=1).fit(X, y)
    places = [(1, 1), (thin, thin)]
    new = [rows(*(np.full(N_TESTED, code) for code in place)) for place in places]
    return _thick_and_thin(fitted, new, [int(np.sum((a == i) & (b == j))) for i, j in places])


def _thick_and_thin(fitted: FERLClassifier, new: Sequence[Any], counts: Sequence[int]) -> dict[str, float]:
    result: dict[str, float] = {}
    for part, rows, n in zip(("thick", "thin"), new, counts, strict=True):
        evidence = fitted.predict_evidence(rows)
        figures = {"n": n, "rows": _median_rows(evidence), "ignorance": float(evidence.ignorance.mean())}
        result |= {f"{part}, {key}": value for key, value in figures.items()}
    return result


def _cost_section(repeats: int, step: Step) -> Finding:
    """What the rows behind cost: of an answer, and of a fit."""
    step("cost")
    n_rows = N_FITTED + N_PREDICTED
    X, y = make_classification(n_rows, N_FEATURES, n_informative=5, n_redundant=0, flip_y=0.05, random_state=SEED)
    mixed = with_categories_and_missing(X)
    cases: dict[str, tuple[Any, int | None]] = {
        "rules, curves and maps": (X, MAX_MAPS),
        "rules alone": (X, None),
        "categories and missing values": (mixed, MAX_MAPS),
    }
    models = {
        name: FERLClassifier(max_maps=max_maps, random_state=SEED, n_jobs=1).fit(rows[:N_FITTED], y[:N_FITTED])
        for name, (rows, max_maps) in cases.items()
    }
    seconds = {}
    for name, model in models.items():
        new = cases[name][0][N_FITTED:].copy()
        ways = {way: partial(getattr(model, way), new) for way in ("predict_proba", "predict_evidence")}
        seconds[name] = race(ways, repeats)
    ratios = {name: times["predict_evidence"] / times["predict_proba"] for name, times in seconds.items()}
    shares = {}
    for name, part in ((f"{N_FITTED:,}", slice(N_FITTED)), (f"{n_rows:,}", slice(None))):
        shares[name] = min(share_of_products(X[part], y[part]) for _ in range(repeats))
    rows = [
        *(
            [f"predict_evidence / predict_proba, {name}", f"{ratio:.2f}", f"{MOST_COST:g}"]
            for name, ratio in ratios.items()
        ),
        *(
            [f"sums of products, % of a fit of {n} rows", f"{100 * item:.1f}", f"{MOST_SHARE:g}"]
            for n, item in shares.items()
        ),
    ]
    notes = [
        f"Processor time on one thread. {N_PREDICTED:,} x {N_FEATURES} rows, models learned from {N_FITTED:,} rows ("
        + ", ".join(f"{name}: {model.n_rules_} rules" for name, model in models.items())
        + f"); median of {repeats} rounds in turn; for fits the least share of {repeats}. With categories: every fifth "
        f"column has {N_CATEGORIES} categories, and {100 * MISSING_SHARE:g} % of all values are missing; the frame "
        "is encoded in both."
    ]
    headlines = [
        *(goal(f"predict_evidence / predict_proba, {name}, time", ratio, MOST_COST) for name, ratio in ratios.items()),
        *(goal(f"Sums of products, % of a fit of {n} rows", 100 * share, MOST_SHARE) for n, share in shares.items()),
    ]
    data = {"cost": {"seconds": seconds, "ratio": ratios, "share_of_fit": shares}}
    return Finding(Section("Cost", ["What", "Measured", "Wanted"], rows, notes), data, headlines)


def with_categories_and_missing(X: Floats) -> pd.DataFrame:
    """The same table as a data frame: every fifth column in categories, some values missing."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    for column in frame.columns[::5]:
        frame[column] = pd.qcut(frame[column], N_CATEGORIES, labels=list("abcdef"[:N_CATEGORIES]))
    return frame.mask(np.random.default_rng(SEED).random(X.shape) < MISSING_SHARE)


def share_of_products(X: Floats, y: NDArray[np.int64]) -> float:
    """Share of the processor time of a fit that the sums of products of firings take."""
    with _timed_products() as spent:
        start = process_time()
        FERLClassifier(random_state=SEED, n_jobs=1).fit(X, y)
        whole = process_time() - start
    return sum(spent) / whole


@contextmanager
def _timed_products() -> Iterator[list[float]]:
    """Meanwhile the time of each sum of products is added to the list: what `RuleSums.add` does beside moments."""
    add, spent = RuleSums.add, []

    def timed(self: RuleSums, *given: Any) -> None:
        moments = _TimedMoments(self.moments)
        start = process_time()
        self.moments = moments  # type: ignore[assignment]  # it does what moments do
        try:
            add(self, *given)
        finally:
            self.moments = moments.moments
        spent.append(process_time() - start - moments.seconds)

    RuleSums.add = timed  # type: ignore[method-assign, assignment]
    try:
        yield spent
    finally:
        RuleSums.add = add  # type: ignore[method-assign]


class _TimedMoments:
    """Adds rows to moments, and keeps how long it took."""

    def __init__(self, moments: Any) -> None:
        self.moments, self.seconds = moments, 0.0

    def add(self, *given: Any) -> None:
        """Take in rows."""
        start = process_time()
        self.moments.add(*given)
        self.seconds += process_time() - start


TABLE = Table(
    summary="What ignorance adds to the probability, on tables whose truth is known.",
    run=run_rows_behind,
    chapter="Sets, novelty and proofs",
    minutes=4,
    needs_data=False,
    in_one_process=True,
    repetitions=REPETITIONS,
    reads_data=True,
)
