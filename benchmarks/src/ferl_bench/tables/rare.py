"""The table of rare classes: a class made rare, whether it is still found, and whether its probability is true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from ferl import metrics
from ferl._util.arrays import Floats
from ferl_bench.data import DataSet
from ferl_bench.headline import GOAL, Headline
from ferl_bench.method import encode_for, known_methods
from ferl_bench.protocol import make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = Mapping[str, float]
Key = tuple[float, str]
"""Share of the rare class, and method."""

CODE = ("ferl_bench/tables/rare.py", "ferl_bench/method.py")
OURS, PEER = "FERL-wide", "Logistic regression"
METHODS = (OURS, "FERL-deep", PEER, "Random forest")
SHARES = (0.05, 0.01)
MIN_ROWS = 20  # of the rare class: four in a test part
GOAL_AUC = 90.0  # at a share of 5 %
SEED = 0
COLUMNS = (
    ("auc", "AUC %", 100.0, 1),
    ("balanced", "Balanced acc. %", 100.0, 1),
    ("balanced_by_prior", "by p / prior", 100.0, 1),
    ("ece", "ECE x100", 100.0, 2),
    ("predicted", "Predicted %", 100.0, 2),
    ("observed", "Observed %", 100.0, 2),
)
NOTES = (
    "One class of each data set is made rare: the smallest that has rows enough, of which a random sample remains, so "
    f"that it is the stated share of all rows; data sets where fewer than {MIN_ROWS} rows would remain are left out. "
    "Means over data sets of fold means, on the test parts.",
    "AUC: of the probability of the rare class against all others. Balanced accuracy: mean share of each class that is "
    "found by the most probable class, or by the largest ratio of the probability to the class's share of the fitting "
    "rows.",
    "ECE: of the probability of the rare class, 15 equal bins; beside it the mean of that probability, and how often "
    "the class occurs.",
)


def run_rare(request: Request) -> Report:
    """Make one class of every data set rare and measure what becomes of it."""
    usable = [data for data in request.data_sets if any(rare_class(data, share) is not None for share in SHARES)]
    studied = request.study(Study("rare classes", measure, CODE, {"methods": METHODS, "shares": SHARES}), usable)
    return make_report(studied.require_some().figures, studied.failures, request.facts())


def rare_class(data: DataSet, share: float) -> tuple[int, int] | None:
    """Return the class to make rare, and how many of its rows remain; None where no class has rows enough."""
    counts = np.bincount(data.y)
    # Of the others' n rows, share / (1 - share) n are the share of all that are left.
    wanted = [round(share / (1 - share) * (data.n_rows - count)) for count in counts]
    fitting = [place for place, count in enumerate(counts) if MIN_ROWS <= wanted[place] <= count]
    if not fitting:
        return None
    smallest = min(fitting, key=lambda place: counts[place])
    return smallest, wanted[smallest]


def thin_out(data: DataSet, label: int, n_kept: int) -> DataSet:
    """Return the data set with so many rows of one class, in the order of the file."""
    of_class = np.flatnonzero(data.y == label)
    dropped = np.random.default_rng(SEED).permutation(of_class)[n_kept:]
    kept = np.setdiff1d(np.arange(data.n_rows), dropped)
    return replace(data, numeric=data.numeric[kept], categorical=data.categorical[kept], y=data.y[kept])


def measure(data: DataSet) -> dict[Key, Figures]:
    """Return the figures of one data set: means over the folds, by share and method."""
    result: dict[Key, list[Figures]] = {}
    for share in SHARES:
        chosen = rare_class(data, share)
        if chosen is None:
            continue
        thinned = thin_out(data, *chosen)
        for fold in make_folds(thinned.y):
            for method in known_methods(METHODS):
                X, X_test = encode_for(method, thinned, fold.fitting, fold.test)
                fitted = method.fit(X, thinned.y[fold.fitting], fold.index)
                probability = np.zeros((len(fold.test), len(data.class_names)))
                probability[:, fitted.classes_] = fitted.predict_proba(X_test)
                prior = np.bincount(thinned.y[fold.fitting], minlength=len(data.class_names)) / len(fold.fitting)
                measured = figures(thinned.y[fold.test], probability, prior, chosen[0])
                result.setdefault((share, method.name), []).append(measured)
    return {key: {name: fmean(fold[name] for fold in folds) for name in folds[0]} for key, folds in result.items()}


def figures(y: NDArray[np.int64], probability: Floats, prior: Floats, rare: int) -> dict[str, float]:
    """Measure probabilities of all classes, shape (n_rows, n_classes), of which one is rare."""
    rare_probability, is_rare = probability[:, rare], y == rare
    by_prior = np.divide(probability, prior, out=np.zeros_like(probability), where=prior > 0)
    return {
        "auc": float(roc_auc_score(is_rare, rare_probability)),
        "balanced": _balanced(y, probability.argmax(axis=1)),
        "balanced_by_prior": _balanced(y, by_prior.argmax(axis=1)),
        "ece": metrics.expected_calibration_error(is_rare, np.ones(len(y), dtype=bool), rare_probability),
        "predicted": float(rare_probability.mean()),
        "observed": float(is_rare.mean()),
    }


def _balanced(y: NDArray[np.int64], label: NDArray[np.intp]) -> float:
    """Mean over the classes that occur of the share that is found."""
    return fmean(float(np.mean(label[y == one] == one)) for one in np.unique(y))


def make_report(
    result: Mapping[str, Mapping[Key, Figures]], failures: Mapping[str, str], facts: Mapping[str, object]
) -> Report:
    """Turn the figures into the report."""
    shares = [share for share in SHARES if any((share, OURS) in item for item in result.values())]
    means = {share: _means(result, share) for share in shares}
    failed = [f"Failed on {name}: {message}" for name, message in failures.items()]
    notes = [*NOTES, *failed]
    return Report(
        name="rare",
        title="Rare classes: whether they are found, and whether their probability is true",
        facts=facts,
        sections=[
            *(_mean_section(share, means[share], _sets(result, share), notes) for share in shares),
            *(_auc_section(share, result) for share in shares),
        ],
        data={
            "means": {f"{share:g}": means[share] for share in shares},
            "data_sets": [
                {"data_set": name, "share": key[0], "method": key[1], **figure}
                for name, item in result.items()
                for key, figure in item.items()
            ],
            "failures": dict(failures),
        },
        headlines=_headlines(means),
        failures=failed,
    )


def _sets(result: Mapping[str, Mapping[Key, Figures]], share: float) -> list[str]:
    return [name for name, item in result.items() if (share, OURS) in item]


def _means(result: Mapping[str, Mapping[Key, Figures]], share: float) -> dict[str, dict[str, float]]:
    names = _sets(result, share)
    methods = [method for other, method in result[names[0]] if other == share]
    return {
        method: {key: fmean(result[name][share, method][key] for name in names) for key, *_ in COLUMNS}
        for method in methods
    }


def _mean_section(share: float, means: Mapping[str, Figures], names: Sequence[str], notes: Sequence[str]) -> Section:
    body = [
        [method, *(f"{scale * item[key]:.{decimals}f}" for key, _, scale, decimals in COLUMNS)]
        for method, item in means.items()
    ]
    header = ["Method", *(title for _, title, *_ in COLUMNS)]
    return Section(f"A class of {share:.0%} of the rows, {len(names)} data sets", header, body, notes)


def _auc_section(share: float, result: Mapping[str, Mapping[Key, Figures]]) -> Section:
    names = _sets(result, share)
    methods = [method for other, method in result[names[0]] if other == share]
    body = [[name, *(f"{100 * result[name][share, method]['auc']:.1f}" for method in methods)] for name in names]
    return Section(f"AUC % by data set, {share:.0%}", ["Data set", *methods], body)


def _headlines(means: Mapping[float, Mapping[str, Figures]]) -> list[Headline]:
    """Whether wide rules rank a rare class at least as well as logistic regression, and as well as was wanted."""
    headlines = [
        Headline(f"{OURS}, a class of {share:.0%}: AUC %", 100 * item[OURS]["auc"], 100 * item[PEER]["auc"], PEER)
        for share, item in means.items()
    ]
    if SHARES[0] in means:
        ours = 100 * means[SHARES[0]][OURS]["auc"]
        headlines.append(Headline(f"{OURS}, a class of {SHARES[0]:.0%}: AUC %", ours, GOAL_AUC, GOAL))
    return headlines


TABLE = Table(
    summary="A class made rare: whether it is found, and whether its probability is true.",
    run=run_rare,
    chapter="Answers",
    minutes=4,
)
