"""The check of two rivals that are written here, FURIA and C4.5, against the figures of Weka's programs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OrdinalEncoder

from ferl._util.arrays import Floats
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError, NotInstalledError, require
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline, goal
from ferl_bench.methods.c45 import C45Tree
from ferl_bench.methods.c45 import size as n_leaves
from ferl_bench.methods.furia import FURIA
from ferl_bench.methods.furia import size as n_rules
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table
from ferl_bench.weka_folds import weka_test_parts

SOURCE = "Weka 3.9.7, ten-fold cross-validation with seed 1, default options, on the same files"
N_FOLDS = 10
SEED = 1
NEAR = 2.0  # points of accuracy
GOAL_SHARE = 100 * 11 / 13
GOAL_MEAN = 1.0
CODE = (
    "ferl_bench/compiled.py",
    "ferl_bench/methods/c45.py",
    "ferl_bench/methods/furia.py",
    "ferl_bench/pessimistic.py",
    "ferl_bench/ripper.py",
    "ferl_bench/tables/weka.py",
    "ferl_bench/weka_folds.py",
)


class Published(NamedTuple):
    """What Weka reports: accuracy in per cent, and the rules or leaves of its model of all rows."""

    accuracy: float
    size: float


class Program(NamedTuple):
    """A method that both have.

    Attributes
    ----------
    theirs, parts : str
        Its name in Weka, and what its size counts.
    fit : callable
        ``fit(X, y, categorical, seed)`` returns the fitted classifier.
    size : callable
        ``size(fitted)`` returns the number of parts.
    n_seeds : int
        Seeds to average over; 1 for a method without randomness.
    published : mapping
        Weka's figures by data set.
    """

    theirs: str
    parts: str
    fit: Callable[[Floats, NDArray[np.int64], Sequence[int], int], Any]
    size: Callable[[Any], int]
    n_seeds: int
    published: Mapping[str, Published]


def _fit_furia(X: Floats, y: NDArray[np.int64], categorical: Sequence[int], seed: int) -> FURIA:
    return FURIA(seed, categorical).fit(X, y)


def _fit_c45(X: Floats, y: NDArray[np.int64], categorical: Sequence[int], seed: int) -> C45Tree:
    return C45Tree(categorical=categorical).fit(X, y)


PROGRAMS = {
    "FURIA": Program(
        theirs="FURIA",
        parts="rules",
        fit=_fit_furia,
        size=n_rules,
        n_seeds=5,
        published={
            "australian": Published(86.38, 6),
            "balance": Published(82.40, 22),
            "contraceptive": Published(54.58, 9),
            "ecoli": Published(84.52, 19),
            "german": Published(74.10, 9),
            "glass": Published(71.03, 15),
            "heart": Published(76.30, 11),
            "ionosphere": Published(89.46, 14),
            "pima": Published(76.17, 5),
            "segment": Published(97.49, 30),
            "vehicle": Published(69.27, 26),
            "wdbc": Published(95.78, 13),
            "wine": Published(94.94, 7),
        },
    ),
    "C4.5": Program(
        theirs="J48",
        parts="leaves",
        fit=_fit_c45,
        size=n_leaves,
        n_seeds=1,
        published={
            "australian": Published(84.35, 24),
            "balance": Published(76.64, 52),
            "contraceptive": Published(53.22, 161),
            "ecoli": Published(84.23, 22),
            "german": Published(71.80, 98),
            "glass": Published(69.16, 30),
            "heart": Published(77.41, 20),
            "ionosphere": Published(90.60, 17),
            "phoneme": Published(86.42, 130),
            "pima": Published(74.35, 20),
            "segment": Published(96.62, 39),
            "vehicle": Published(72.34, 98),
            "wdbc": Published(94.02, 12),
            "wine": Published(93.82, 5),
        },
    ),
}
"""By the name of the method here."""
NOTES = (
    f"Weka's figures: {SOURCE}. Its folds are made again here, row by row (`ferl_bench.weka_folds`).",
    f"Other folds: StratifiedKFold({N_FOLDS}, shuffle=True, random_state={SEED}). Their "
    "difference to Weka's folds shows how much a choice of folds matters on a set of this size, whatever the program.",
    "Categories are given to both programs as they are (german only; the other files have numbers), where the rows of "
    "`frontier` get a column of 0 and 1 for each.",
    "Size: of the model of all rows, as Weka prints it.",
)


def run_weka(request: Request) -> Report:
    """Repeat Weka's cross-validations with the methods that are written here."""
    names = {name for program in PROGRAMS.values() for name in program.published}
    chosen = [data for data in request.data_sets if data.name in names]
    if not chosen:
        raise BenchError(f"none of the data sets of this table is there; it takes some of {', '.join(sorted(names))}")
    methods, failures = _runnable()
    parameters = {"methods": methods, **versions(("numba",))}
    studied = request.study(Study("Weka's cross-validations", measure, CODE, parameters), chosen).require_some()
    failures += [f"Failed on {name}: {message}" for name, message in studied.failures.items()]
    protocol = f"{N_FOLDS}-fold cross-validation; FURIA: means over the seeds 0 to {PROGRAMS['FURIA'].n_seeds - 1}"
    facts = {**versions(("numpy", "numba")), "cores": n_cores(), "protocol": protocol, "data sets": len(chosen)}
    return make_report(studied.figures, failures, facts)


def _runnable() -> tuple[list[str], list[str]]:
    """Return the methods whose packages are installed, and what is to be said of the others."""
    try:
        require("numba", "numba")
    except NotInstalledError as error:
        return ["C4.5"], [f"FURIA: {error}"]
    return list(PROGRAMS), []


def measure(data: DataSet) -> dict[str, dict[str, float]]:
    """Return accuracies in per cent and the size of each method that Weka has a figure of, on one data set."""
    X, categorical = with_codes(data)
    parts = {
        "weka": weka_test_parts(data.y, N_FOLDS, SEED),
        "other": _other_test_parts(data.y),
    }
    result: dict[str, dict[str, float]] = {}
    for name in _runnable()[0]:
        program = PROGRAMS[name]
        if data.name not in program.published:
            continue
        seeds = range(program.n_seeds)
        accuracy = {
            folds: [cross_validate(program, X, data.y, categorical, tests, seed) for seed in seeds]
            for folds, tests in parts.items()
        }
        result[name] = {
            "accuracy": fmean(accuracy["weka"]),
            "lowest": min(accuracy["weka"]),
            "highest": max(accuracy["weka"]),
            "other_folds": fmean(accuracy["other"]),
            "size": fmean(program.size(program.fit(X, data.y, categorical, seed)) for seed in seeds),
        }
    return result


def _other_test_parts(y: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    splitter = StratifiedKFold(N_FOLDS, shuffle=True, random_state=SEED)
    with warnings.catch_warnings():
        # Two sets have classes with fewer rows than folds. The split is still well defined.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        return [test for _, test in splitter.split(np.zeros((len(y), 1)), y)]


def with_codes(data: DataSet) -> tuple[Floats, list[int]]:
    """Return the features as numbers, categories as codes, and which columns are categories."""
    n_numeric, n_categorical = data.numeric.shape[1], data.categorical.shape[1]
    if not n_categorical:
        return data.numeric, []
    codes = OrdinalEncoder().fit_transform(data.categorical)
    return np.hstack([data.numeric, codes]), list(range(n_numeric, n_numeric + n_categorical))


def cross_validate(
    program: Program,
    X: Floats,
    y: NDArray[np.int64],
    categorical: Sequence[int],
    tests: Sequence[NDArray[np.intp]],
    seed: int,
) -> float:
    """Return the share of all rows, in per cent, that are right when their fold is left out."""
    n_right = 0
    for test in tests:
        fitting = np.setdiff1d(np.arange(len(y)), test)
        fitted = program.fit(X[fitting], y[fitting], categorical, seed)
        n_right += int(np.sum(fitted.predict(X[test]) == y[test]))
    return 100 * n_right / len(y)


def make_report(
    figures: Mapping[str, Mapping[str, Mapping[str, float]]], failures: Sequence[str], facts: Mapping[str, object]
) -> Report:
    """Turn the figures into the report."""
    by_method = {
        method: {name: item[method] for name, item in figures.items() if method in item}
        for method in PROGRAMS
        if any(method in figure for figure in figures.values())
    }
    return Report(
        name="weka",
        title="FURIA and C4.5 as they are here, beside Weka's programs",
        facts=facts,
        sections=[
            _section(method, item, [*NOTES, *failures] if method == list(by_method)[-1] else [])
            for method, item in by_method.items()
        ],
        data={
            "source": SOURCE,
            "methods": {
                method: {
                    name: {**one, "weka": PROGRAMS[method].published[name]._asdict()} for name, one in item.items()
                }
                for method, item in by_method.items()
            },
        },
        headlines=[one for method, item in by_method.items() for one in _headlines(method, item)],
        failures=failures,
    )


def _section(method: str, measured: Mapping[str, Mapping[str, float]], notes: Sequence[str]) -> Section:
    program = PROGRAMS[method]
    is_random = program.n_seeds > 1
    seeds = ["Lowest seed", "Highest seed"] if is_random else []
    header = ["Data set", "Weka %", "Here %", "Difference", *seeds, "Other folds %", "Difference"]
    header += [f"Weka {program.parts}", f"Here {program.parts}"]
    body = [_cells(name, program.published[name], one, is_random) for name, one in measured.items()]
    mean = {key: fmean(one[key] for one in measured.values()) for key in next(iter(measured.values()))}
    weka = [program.published[name] for name in measured]
    means = Published(fmean(one.accuracy for one in weka), fmean(one.size for one in weka))
    body.append(_cells("mean", means, mean, is_random))
    counted = (
        f"{method}, within {NEAR:g} points of Weka: {n_near(method, measured)} of {len(measured)} data sets on Weka's "
        "folds, "
    )
    counted += f"{n_near(method, measured, 'other_folds')} on the other folds."
    return Section(f"{method} beside Weka's {program.theirs}", header, body, [counted, *notes])


def _cells(name: str, weka: Published, measured: Mapping[str, float], is_random: bool) -> list[str]:
    # Adding 0 makes +0.00 of a difference that rounds to -0.00.
    same, other = (
        [f"{measured[key]:.2f}", f"{round(measured[key] - weka.accuracy, 2) + 0.0:+.2f}"]
        for key in ("accuracy", "other_folds")
    )
    seeds = [f"{measured['lowest']:.2f}", f"{measured['highest']:.2f}"] if is_random else []
    return [name, f"{weka.accuracy:.2f}", *same, *seeds, *other, f"{round(weka.size, 1):g}", f"{measured['size']:.1f}"]


def n_near(method: str, measured: Mapping[str, Mapping[str, float]], key: str = "accuracy") -> int:
    """Return on how many data sets the figure is near Weka's, as printed."""
    published = PROGRAMS[method].published
    return sum(abs(round(one[key] - published[name].accuracy, 2)) <= NEAR for name, one in measured.items())


def _headlines(method: str, measured: Mapping[str, Mapping[str, float]]) -> list[Headline]:
    difference = fmean(one["accuracy"] - PROGRAMS[method].published[name].accuracy for name, one in measured.items())
    share = 100 * n_near(method, measured) / len(measured)
    return [
        goal(f"{method}: % of data sets within {NEAR:g} points of Weka's", share, GOAL_SHARE, more_is_better=True),
        goal(f"{method}: mean accuracy, distance to Weka's", abs(difference), GOAL_MEAN),
    ]


TABLE = Table(
    summary="FURIA and C4.5, which are written here, beside Weka's on the same folds.",
    run=run_weka,
    chapter="Answers",
    minutes=2,
)
