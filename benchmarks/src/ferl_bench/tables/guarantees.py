"""The guarantees table: do sets and promises hold in repeated draws from a known population."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.progress import track
from scipy import stats
from sklearn.base import clone

from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import GOAL, Headline
from ferl_bench.methods.ferl import MODELS, classifier_of
from ferl_bench.render import Report, Section
from ferl_bench.simulation import CLASS_SHARES, Population, make_population
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

SEED = 0
REPETITIONS = 5000
ALPHA = 0.1
RISK, CONFIDENCE = 0.1, 0.9
N_FITTING, N_CALIBRATION, N_FOLDS = 100, 100, 5
N_RISK_CALIBRATION = 300
# A promised error rate holds for any fit, so that several draws of calibration rows may share one.
N_DRAWS_PER_FIT = 5
N_GROUP_CALIBRATION = 150
N_POPULATION = 1000
# A mean further than this many standard errors below the guarantee breaks it.
TOLERANCE = 3.0

Figures = dict[str, float]

SCORES: dict[str, dict[str, Any]] = {
    "probability": {"nonconformity": "probability"},
    "plausibility": {"nonconformity": "plausibility"},
    "APS": {"nonconformity": "aps"},
    "APS, randomised": {"nonconformity": "aps", "randomised": True},
    "RAPS": {"nonconformity": "raps"},
    "RAPS, randomised": {"nonconformity": "raps", "randomised": True},
}
MODES: dict[str, dict[str, Any]] = {
    "split": {},
    "split, by class": {"class_conditional": True},
    "cross": {"cv": N_FOLDS},
    "cross, by class": {"cv": N_FOLDS, "class_conditional": True},
}
WEIGHTED = "split, weighted"
CONTROLS: dict[str, dict[str, Any]] = {
    "margin, fixed sequence": {},
    "margin, fixed sequence, 3 starts": {"n_starts": 3},
    "margin, Bonferroni": {"method": "bonferroni"},
    "belief, fixed sequence": {"signal": "belief"},
    "ignorance, fixed sequence": {"signal": "ignorance"},
    "novelty, fixed sequence": {"signal": "novelty"},
    "learned, fixed sequence": {"signal": "learned"},
}
PREFIT = "margin, fixed sequence, prefit"
GROUPS = ("x0 above 0.8", "else x1 above 0.6", "others")
GROUP_MODES: dict[str, dict[str, Any]] = {
    "without groups": {},
    "by group": {},
    "by group and class": {"class_conditional": True},
}
# Ends of the bins in which probabilities are compared with frequencies; the last one includes 1.
BINS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
BIN_TOLERANCE = 4.0  # standard errors, to either side, of so many comparisons
EDGE = ("Flat at the risk", "Worse, then better", "Flat, many ties")


@dataclass(frozen=True)
class Estimate:
    """Mean and standard error over repetitions."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Estimate:
        """Estimate from the values of the repetitions; NaN counts as none."""
        known = np.array([value for value in values if not math.isnan(value)])
        if not known.size:
            return cls(math.nan, math.nan)
        return cls(float(known.mean()), float(known.std(ddof=1) / math.sqrt(known.size)) if known.size > 1 else 0.0)

    def holds(self, least: float) -> bool:
        """Whether the mean is not clearly below the least allowed."""
        return self.mean >= least - TOLERANCE * self.error - 1e-12


def run_guarantees(request: Request) -> Report:
    """Draw, fit, calibrate and compare with the truth, again and again."""
    repetitions = request.repetitions
    population = make_population(N_POPULATION, SEED)
    result: list[Figures] = []
    with one_thread(), warnings.catch_warnings():
        from ferl.abstention import UnmetRiskWarning

        warnings.simplefilter("ignore", UnmetRiskWarning)
        for repetition in track(range(repetitions), "repeating", console=request.console):
            random = np.random.default_rng([SEED, repetition])
            if repetition % N_DRAWS_PER_FIT == 0:
                controls = measure_control(population, random, repetition)
            result.append(
                {
                    **measure_sets(population, random, repetition),
                    **controls[repetition % N_DRAWS_PER_FIT],
                    **measure_edge(random),
                    **measure_groups(population, random, repetition),
                    **measure_intervals(population, random, repetition),
                }
            )
    return make_report(result, {**versions(), "cores": n_cores(), "repetitions": repetitions, "seed": SEED})


def measure_sets(population: Population, random: np.random.Generator, seed: int) -> Figures:
    """Coverage and size of the sets of one draw, for every score and mode."""
    from ferl.conformal import ConformalFERL
    from ferl_bench.remembering import remembering

    X, y = population.X, population.y
    fitting, calibration = population.draw(N_FITTING, random), population.draw(N_CALIBRATION, random)
    both = np.concatenate([fitting, calibration])
    template = remembering(classifier_of(MODELS["medium"], random_state=seed))
    fitted = clone(template).fit(X[fitting], y[fitting])
    figures: Figures = {}
    for mode, mode_options in MODES.items():
        for score, score_options in SCORES.items():
            options = {**mode_options, **score_options, "allow_empty": True, "few_rows": "include"}
            model = ConformalFERL(template if "cv" in options else fitted, random_state=seed, **options)
            if "cv" in options:
                model.fit(X[both], y[both])
            else:
                model.conformalize(X[calibration], y[calibration])
            figures |= _set_figures(f"{score} / {mode}", population, model, model.predict_set(X, ALPHA))
    # Calibration rows from another population, in which rows are the likelier the larger the first feature is.
    tilt = np.exp(0.7 * X[:, 0])
    tilted = population.draw(N_CALIBRATION, random, tilt)
    model = ConformalFERL(fitted, allow_empty=True).conformalize(X[tilted], y[tilted], 1 / tilt[tilted])
    sets = model.predict_set(X, ALPHA, sample_weight=1 / tilt)
    return figures | _set_figures(f"probability / {WEIGHTED}", population, model, sets)


def _set_figures(name: str, population: Population, model: Any, sets: NDArray[np.bool_]) -> Figures:
    # A class that was not drawn has no column; its rows are not covered.
    columns = np.zeros((len(sets), len(CLASS_SHARES)), dtype=bool)
    columns[:, model.classes_] = sets
    return {
        f"{name} / coverage": population.coverage(columns),
        f"{name} / size": float(columns.sum(axis=1).mean()),
        f"{name} / guaranteed": model.guaranteed_coverage(ALPHA),
        **{f"{name} / class {code}": item for code, item in enumerate(population.class_coverage(columns))},
    }


def group_of(X: NDArray[np.float64]) -> NDArray[np.intp]:
    """The group of each row: three kinds of rows, of which some are harder than others."""
    return np.where(X[:, 0] > 0.8, 0, np.where(X[:, 1] > 0.6, 1, 2))


def measure_groups(population: Population, random: np.random.Generator, seed: int) -> Figures:
    """Coverage of the sets of one draw in each group, without groups, by group, and by group and class."""
    from ferl.conformal import ConformalFERL
    from ferl_bench.remembering import remembering

    X, y, group = population.X, population.y, group_of(population.X)
    fitting, calibration = population.draw(N_FITTING, random), population.draw(N_GROUP_CALIBRATION, random)
    fitted = remembering(classifier_of(MODELS["medium"], random_state=seed)).fit(X[fitting], y[fitting])
    figures: Figures = {}
    for mode, options in GROUP_MODES.items():
        model = ConformalFERL(fitted, allow_empty=True, few_rows="include", random_state=seed, **options)
        known, new = (None, None) if mode == "without groups" else (group[calibration], group)
        sets = model.conformalize(X[calibration], y[calibration], groups=known).predict_set(X, ALPHA, groups=new)
        columns = np.zeros((len(sets), len(CLASS_SHARES)), dtype=bool)
        columns[:, model.classes_] = sets
        covered = columns[np.arange(len(y)), y]
        for k in range(len(GROUPS)):
            inside = group == k
            coverages = [covered[inside & (y == code)].mean() for code in range(len(CLASS_SHARES))]
            figures[f"{mode} / group {k}"] = float(covered[inside].mean())
            figures[f"{mode} / group {k} / size"] = float(columns[inside].sum(axis=1).mean())
            figures |= {f"{mode} / group {k} / class {code}": float(share) for code, share in enumerate(coverages)}
    return figures


def measure_intervals(population: Population, random: np.random.Generator, seed: int) -> Figures:
    """Of the intervals of one draw: the calibrated end of every row of the population, beside what happened."""
    from ferl.calibration import CalibratedFERL
    from ferl_bench.remembering import remembering

    X, y = population.X, population.y
    fitting, calibration = population.draw(N_FITTING, random), population.draw(N_CALIBRATION, random)
    fitted = remembering(classifier_of(MODELS["medium"], random_state=seed)).fit(X[fitting], y[fitting])
    model = CalibratedFERL(fitted).calibrate(X[calibration], y[calibration])
    interval, figures = model.predict_interval(X), {}
    for column, code in enumerate(model.classes_.tolist()):
        low, high = interval[:, column].T
        happened = y == code
        right = np.where(happened, high, low)
        place = np.clip(np.searchsorted(BINS, right, side="right") - 1, 0, len(BINS) - 2)
        figures[f"interval / class {code} / width"] = float((high - low).mean())
        for k in range(len(BINS) - 1):
            name, inside = f"interval / class {code} / bin {k}", place == k
            figures[f"{name} / share"] = float(inside.mean())
            figures[f"{name} / probability"] = float((right * inside).mean())
            figures[f"{name} / gap"] = float(((happened - right) * inside).mean())
    return figures


def measure_control(population: Population, random: np.random.Generator, seed: int) -> list[Figures]:
    """Error rate among the answered rows of the population after each of some calibrations, for every way to do it.

    All calibrations share the rows that classifiers are fitted on: the promise holds given these.
    """
    from ferl.abstention import RiskControlledFERL
    from ferl_bench.remembering import remembering

    X, y = population.X, population.y
    fitting = population.draw(N_FITTING, random)
    calibrations = [population.draw(N_RISK_CALIBRATION, random) for _ in range(N_DRAWS_PER_FIT)]
    template = remembering(classifier_of(MODELS["medium"], random_state=seed))
    figures: list[Figures] = [{} for _ in calibrations]
    for name, options in {**CONTROLS, PREFIT: {}}.items():
        if options.get("signal") == "novelty" and not hasattr(template, "novelty"):
            continue
        given = clone(template).fit(X[fitting], y[fitting]) if name == PREFIT else template
        model = RiskControlledFERL(given, risk=RISK, confidence=CONFIDENCE, random_state=seed, **options)
        if name != PREFIT:
            model.fit(X[fitting], y[fitting])
        wrong = None
        for measures, calibration in zip(figures, calibrations, strict=True):
            model.calibrate(X[calibration], y[calibration])
            wrong = model.estimator_.predict(X) != y if wrong is None else wrong
            measures |= _control_figures(name, model.accept(X), wrong, np.full(len(y), 1 / len(y)))
    return figures


def _control_figures(
    name: str, answered: NDArray[np.bool_], wrong: NDArray[np.bool_], share: NDArray[np.float64]
) -> Figures:
    total = float(share[answered].sum())
    risk = float(share[answered & wrong].sum()) / total if total else 0.0
    return {f"{name} / violated": float(risk > RISK + 1e-12), f"{name} / answered": total}


def measure_edge(random: np.random.Generator) -> Figures:
    """The hardest cases, without a classifier: error rates at, or on both sides of, the risk wherever one stops.

    A promise is broken whenever one is made where the error rate among answered rows exceeds the risk by anything.
    """
    from ferl.abstention import Ladder, bonferroni, fixed_sequence

    figures: Figures = {}
    signal = random.random(N_RISK_CALIBRATION)
    for name in EDGE:
        level = np.round(signal, 1) if "ties" in name else signal
        wrong = random.random(N_RISK_CALIBRATION) < edge_error_rate(name, level)
        ladder = Ladder.of(level, wrong)
        grid = np.append(np.linspace(0.05, 0.95, 19)[::-1], -np.inf)
        for method, threshold in {
            "fixed sequence, 1 start": fixed_sequence(ladder, np.array([0.5]), RISK, 1 - CONFIDENCE),
            "fixed sequence, 3 starts": fixed_sequence(ladder, np.array([0.2, 0.5, 0.7]), RISK, 1 - CONFIDENCE),
            "Bonferroni of 20": bonferroni(ladder, grid, RISK, 1 - CONFIDENCE),
        }.items():
            broken = threshold is not None and edge_risk(name, threshold) > RISK
            figures[f"{name} / {method} / violated"] = float(broken)
    return figures


def edge_error_rate(name: str, signal: NDArray[np.float64]) -> NDArray[np.float64]:
    """Error rate at each value of the signal, which is spread evenly over [0, 1]."""
    just_above = RISK * (1 + 1e-9)
    if name == "Worse, then better":
        # Above 0.6 the error rate is just below the risk, below it much worse, below 0.3 none: risk is not monotone.
        return np.where(signal >= 0.6, RISK * 0.9, np.where(signal >= 0.3, 2.2 * RISK, 0.0))
    return np.full(signal.shape, just_above)


def edge_risk(name: str, threshold: float) -> float:
    """True error rate among rows with at least this signal."""
    middle = (np.arange(20_000) + 0.5) / 20_000
    answered = middle >= threshold
    return float(edge_error_rate(name, middle)[answered].mean()) if answered.any() else 0.0


def make_report(result: Sequence[Mapping[str, float]], facts: Mapping[str, object]) -> Report:
    """Turn the repetitions into the report."""
    # A class that was not drawn for a fit has no figures.
    values = {key: [figures.get(key, math.nan) for figures in result] for key in result[0]}
    sets, set_data = _set_section(values)
    classes, class_data = _class_section(values)
    control, control_data = _control_section(values)
    edge, edge_data = _edge_section(values)
    groups, group_data = _group_section(values)
    intervals, interval_data = _interval_section(values)
    parts = (set_data, class_data, group_data, interval_data, control_data, edge_data)
    checked = [one["holds"] for part in parts for one in part.values()]
    n_broken = sum(holds is False for holds in checked)
    return Report(
        name="guarantees",
        title="Guarantees: sets, probability intervals and error rates in repeated draws from a known population",
        facts={
            **facts,
            "population": f"{N_POPULATION} rows, all equally likely, 3 classes of shares "
            f"{', '.join(map(str, CLASS_SHARES))}, values on a coarse grid; medium trees",
            "draws": f"{N_FITTING} rows to fit and {N_CALIBRATION} to calibrate sets (cross: {N_FOLDS} folds of both), "
            f"{N_FITTING} and {N_RISK_CALIBRATION} for promised error rates ({N_DRAWS_PER_FIT} calibrations for each "
            f"fit: the promise holds given the fit), {N_FITTING} and {N_GROUP_CALIBRATION} for groups, {N_FITTING} and "
            f"{N_CALIBRATION} for intervals",
        },
        sections=[sets, classes, groups, intervals, control, edge],
        data={
            "sets": set_data,
            "classes": class_data,
            "groups": group_data,
            "intervals": interval_data,
            "control": control_data,
            "edge": edge_data,
        },
        headlines=[Headline("Guarantees broken in repeated draws", n_broken, 0, GOAL, False, decimals=0)],
    )


def _set_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for name in [*(f"{score} / {mode}" for mode in MODES for score in SCORES), f"probability / {WEIGHTED}"]:
        coverage = Estimate.of(values[f"{name} / coverage"])
        guaranteed = Estimate.of(values[f"{name} / guaranteed"]).mean
        size = Estimate.of(values[f"{name} / size"]).mean
        holds = coverage.holds(guaranteed)
        score, mode = name.split(" / ")
        rows.append([mode, score, _text(coverage), f"{guaranteed:.3f}", f"{size:.2f}", _verdict(holds)])
        data[name] = {"coverage": coverage.mean, "error": coverage.error, "guaranteed": guaranteed, "holds": holds}
    notes = [
        f"alpha = {ALPHA}, empty sets allowed. The coverage of each draw is exact, over the whole population; ±: "
        f"standard error of its mean over draws. Holds: not more than {TOLERANCE:g} of them below the guarantee.",
        "Cross-conformal sets promise less than 1 - alpha and mostly keep about 1 - alpha. By class: the guarantee is "
        "for each class, next table. Weighted: calibration rows come from a tilted population.",
    ]
    return Section("Coverage", ["Mode", "Score", "Coverage", "Guaranteed", "Set size", "Verdict"], rows, notes), data


def _class_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for mode in ("split", "split, by class", "cross, by class"):
        for score in SCORES:
            name = f"{score} / {mode}"
            estimates = [Estimate.of(values[f"{name} / class {code}"]) for code in range(len(CLASS_SHARES))]
            guaranteed = Estimate.of(values[f"{name} / guaranteed"]).mean if "class" in mode else math.nan
            holds = all(estimate.holds(guaranteed) for estimate in estimates) if "class" in mode else None
            promise = f"{guaranteed:.3f}" if "class" in mode else ""
            rows.append([mode, score, *map(_text, estimates), promise, "" if holds is None else _verdict(holds)])
            data[name] = {"coverage": [estimate.mean for estimate in estimates], "holds": holds}
    header = ["Mode", "Score", *(f"Class of {share:.0%}" for share in CLASS_SHARES), "Guaranteed", "Verdict"]
    notes = ["Split without 'by class' promises nothing for a class: its coverage there is what this option mends."]
    return Section("Coverage of each class", header, rows, notes), data


def _group_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for mode in GROUP_MODES:
        for k, group in enumerate(GROUPS):
            name = f"{mode} / group {k}"
            coverage, size = Estimate.of(values[name]), Estimate.of(values[f"{name} / size"]).mean
            estimates = [Estimate.of(values[f"{name} / class {code}"]) for code in range(len(CLASS_SHARES))]
            promised = [] if mode == "without groups" else [coverage, *(estimates if "class" in mode else [])]
            holds = all(estimate.holds(1 - ALPHA) for estimate in promised) if promised else None
            verdict = "" if holds is None else _verdict(holds)
            rows.append([mode, group, _text(coverage), *map(_text, estimates), f"{size:.2f}", verdict])
            data[name] = {"coverage": coverage.mean, "error": coverage.error, "holds": holds}
    notes = [
        f"Guaranteed: {1 - ALPHA:.2f} in each group; by group and class in each class of each group. Without groups "
        "nothing is promised of a group. Score: probability. Groups of too few calibration rows get all classes.",
    ]
    header = ["Mode", "Group", "Coverage", *(f"Class of {share:.0%}" for share in CLASS_SHARES), "Set size", "Verdict"]
    return Section("Coverage of each group", header, rows, notes), data


def _interval_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for code, class_share in enumerate(CLASS_SHARES):
        for k, (low, high) in enumerate(pairwise(BINS)):
            name = f"interval / class {code} / bin {k}"
            share, gap = Estimate.of(values[f"{name} / share"]).mean, Estimate.of(values[f"{name} / gap"])
            probability = Estimate.of(values[f"{name} / probability"]).mean / share if share else math.nan
            frequency = probability + gap.mean / share if share else math.nan
            holds = abs(gap.mean) <= BIN_TOLERANCE * gap.error + 1e-12
            place = f"{low:g} to {high:g}"
            texts = [
                f"{share:.3f}",
                f"{probability:.4f}",
                f"{frequency:.4f}",
                f"{gap.error / share:.4f}" if share else "",
            ]
            rows.append([f"of {class_share:.0%}", place, *texts, _verdict(holds)])
            data[f"class {code} / {place}"] = {
                "share": share,
                "probability": probability if share else None,
                "frequency": frequency if share else None,
                "holds": holds,
            }
    widths = [Estimate.of(values[f"interval / class {code} / width"]).mean for code in range(len(CLASS_SHARES))]
    notes = [
        "Inductive Venn-Abers, each class against the others. Probability: the mean of the upper end where the class "
        "is the true one and of the lower end elsewhere, among the rows of the population where it lies in the bin; "
        "guaranteed is that the class has this frequency there. Error: standard error of the difference over draws. "
        f"Holds: they differ by at most {BIN_TOLERANCE:g} of them.",
        f"Mean width of the intervals: {', '.join(f'{width:.3f}' for width in widths)}.",
    ]
    header = ["Class", "Bin", "Share", "Probability", "Frequency", "Error", "Verdict"]
    return Section("Probability intervals", header, rows, notes), data


def _control_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for name in [*CONTROLS, PREFIT]:
        if f"{name} / violated" not in values:
            continue
        violated, answered = values[f"{name} / violated"], Estimate.of(values[f"{name} / answered"])
        promised = float(np.mean(np.array(values[f"{name} / answered"]) > 0))
        low, high, holds = _binomial(violated)
        rate = float(np.mean(violated))
        interval = f"{rate:.3f} [{low:.3f}, {high:.3f}]"
        rows.append([name, interval, f"{1 - CONFIDENCE:.2f}", f"{promised:.3f}", _text(answered), _verdict(holds)])
        data[name] = {"violated": rate, "low": low, "high": high, "answered": answered.mean, "holds": holds}
    notes = [
        f"At most {RISK:.0%} errors among answered rows with confidence {CONFIDENCE:.0%}. Broken: share of draws after "
        "which the population's error rate among answered rows exceeds that; in brackets its 95 % binomial interval.",
        "Promised: share of draws in which something could be promised. Answered: share of the population, 0 when not.",
    ]
    header = ["Signal and method", "Broken", "Allowed", "Promised", "Answered", "Verdict"]
    return Section("Promised error rates", header, rows, notes), data


def _edge_section(values: Mapping[str, Sequence[float]]) -> tuple[Section, dict[str, Any]]:
    rows, data = [], {}
    for key in [key for key in values if key.split(" / ")[0] in EDGE]:
        case, method, _ = key.split(" / ")
        low, high, holds = _binomial(values[key])
        rate = float(np.mean(values[key]))
        rows.append([case, method, f"{rate:.3f} [{low:.3f}, {high:.3f}]", f"{1 - CONFIDENCE:.2f}", _verdict(holds)])
        data[f"{case} / {method}"] = {"violated": rate, "low": low, "high": high, "holds": holds}
    notes = [
        "Flat: the error rate is everywhere a hair above the risk, so that every promise is a broken one. Worse, then "
        "better: going down, the error rate among answered rows rises above the risk and falls again."
    ]
    return Section("At the edge", ["Error rate", "Method", "Broken", "Allowed", "Verdict"], rows, notes), data


def _binomial(violated: Sequence[float]) -> tuple[float, float, bool]:
    """The 95 % interval of the rate, and whether the rate is not clearly above what is allowed."""
    n_broken, n = int(sum(violated)), len(violated)
    low = float(stats.beta.ppf(0.025, n_broken, n - n_broken + 1)) if n_broken else 0.0
    high = float(stats.beta.ppf(0.975, n_broken + 1, n - n_broken)) if n_broken < n else 1.0
    # One-sided, at the level of three standard errors: the table has many rows.
    holds = float(stats.binom.sf(n_broken - 1, n, 1 - CONFIDENCE)) > 0.00135
    return low, high, holds


def _text(estimate: Estimate) -> str:
    return f"{estimate.mean:.3f} ± {estimate.error:.3f}"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "BROKEN"


TABLE = Table(
    summary="Whether conformal sets, probability intervals and promised error rates hold in repeated draws.",
    run=run_guarantees,
    chapter="Sets, novelty and proofs",
    minutes=15,
    needs_data=False,
    in_one_process=True,
    repetitions=REPETITIONS,
)
