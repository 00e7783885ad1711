"""The calibration table: what moving probabilities towards frequencies gains, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ferl import Evidence, metrics
from ferl._util.arrays import Floats
from ferl_bench.data import DataSet, encode
from ferl_bench.headline import Headline, goal
from ferl_bench.methods.ferl import MODELS, TREE_OF_WORDS, classifier_of
from ferl_bench.protocol import make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = Mapping[str, float]
Key = tuple[str, str]
"""Variant and treatment."""

CODE = ("ferl_bench/tables/calibration.py", "ferl_bench/remembering.py")
PAPER_ECE = 15.8  # of FERL-deep, as it is
WIDE_ECE = 5.5  # at most, wanted of wide rules as they are
N_DRAWS = 10
VARIANTS: dict[str, dict[str, Any]] = {
    "wide": MODELS["wide"],
    "wide with cases": {**MODELS["wide"], "cases": True},
    **{f"wide, {n_rules} rules": {**MODELS["wide"], "max_rules": n_rules} for n_rules in (50, 15, 10)},
    **{variant: MODELS[variant] for variant in ("deep", "medium", "compact")},
    "compact, the paper's tree": TREE_OF_WORDS,
}
TREATMENTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "temperature": {"method": "temperature", "cv": None},
    "isotonic": {"method": "isotonic", "cv": None},
    "plain temperature": {"method": "temperature", "plain": True},
    "temperature, folds": {"method": "temperature", "cv": 5},
    "isotonic, folds": {"method": "isotonic", "cv": 5},
}
# Maps of beliefs are for the masses of trees; the probabilities of wide rules are calibrated like anybody's.
TREATMENTS_OF_WIDE = ("as it is", "plain temperature")
COLUMNS = (
    ("accuracy", "Acc %", 100.0, 2),
    ("ece", "ECE x100", 100.0, 2),
    ("floor", "if perfect", 100.0, 2),
    ("adaptive", "Adaptive ECE x100", 100.0, 2),
    ("brier", "Brier x100", 100.0, 2),
    ("aurc", "AURC x100", 100.0, 2),
    ("set_coverage", "Set coverage", 1.0, 3),
    ("set_size", "Set size", 1.0, 2),
    ("u65", "u65", 1.0, 3),
)
NOTES = (
    "Means over data sets of fold means, on the test parts. Temperature and isotonic learn from the calibration part; "
    "'folds': from rows of the fitting part that are left out fold by fold, without the calibration part.",
    "If perfect: the ECE that probabilities of this size would have if they were exact; it is chance, test parts are "
    "small.",
    "Plain temperature: the probability itself to a power, from the calibration part, as for other classifiers. No "
    "ignorance is left, and sets are single labels.",
    "Better on: number of data sets on which the ECE is lower than as it is.",
    "Set coverage, size and u65 are those of the evidence's own sets, whose beliefs were moved.",
)


@dataclass(frozen=True)
class Part:
    """Rows of a fold, encoded."""

    X: Floats
    y: NDArray[np.int64]


def run_calibration(request: Request) -> Report:
    """Measure raw and calibrated probabilities of every variant on every data set."""
    studied = request.study(Study("calibrating", measure, CODE)).require_some()
    return make_report(studied.figures, studied.failures, request.facts())


def measure(data: DataSet) -> dict[Key, Figures]:
    """Return the figures of one data set: means over the folds, by variant and treatment."""
    result: dict[Key, list[Figures]] = {}
    for fold in make_folds(data.y):
        rows = (fold.fitting, fold.calibration, fold.test)
        tables = encode(data, fold.fitting, fold.calibration, fold.test)
        fitting, calibration, test = (Part(X, data.y[part]) for X, part in zip(tables, rows, strict=True))
        for variant in VARIANTS:
            for treatment, evidence in _treated(variant, fitting, calibration, test, fold.index):
                result.setdefault((variant, treatment), []).append(_figures(evidence, test.y, len(data.class_names)))
    return {key: {name: fmean(fold[name] for fold in folds) for name in folds[0]} for key, folds in result.items()}


def treatments_of(variant: str) -> dict[str, dict[str, Any]]:
    """Return what can be done with the probabilities of a variant."""
    return {
        name: item
        for name, item in TREATMENTS.items()
        if not (variant.startswith("wide") or variant == "compact") or name in TREATMENTS_OF_WIDE
    }


def _treated(variant: str, fitting: Part, calibration: Part, test: Part, seed: int) -> list[tuple[str, Evidence]]:
    from ferl._tables import codes_of
    from ferl.calibration import CalibratedFERL, fit_map
    from ferl_bench.remembering import remembering

    template = remembering(classifier_of(VARIANTS[variant], random_state=seed, n_jobs=1))
    fitted = clone(template).fit(fitting.X, fitting.y)
    answers = []
    for name, options in treatments_of(variant).items():
        if not options:
            answers.append((name, fitted.predict_evidence(test.X)))
        elif "plain" in options:
            codes = codes_of(calibration.y, fitted.classes_)
            chosen = fit_map(_without_ignorance(fitted.predict_evidence(calibration.X)), codes, options["method"])
            answers.append((name, chosen(_without_ignorance(fitted.predict_evidence(test.X)))))
        elif options["cv"] is None:
            model = CalibratedFERL(fitted, random_state=seed, **options).calibrate(calibration.X, calibration.y)
            answers.append((name, model.predict_evidence(test.X)))
        else:
            model = CalibratedFERL(template, random_state=seed, **options).fit(fitting.X, fitting.y)
            answers.append((name, model.predict_evidence(test.X)))
    return answers


def _without_ignorance(evidence: Evidence) -> Evidence:
    """The probability as if it were all belief."""
    return Evidence(evidence.probability, np.zeros(len(evidence)), evidence.conflict, evidence.classes)


def _figures(evidence: Evidence, y: NDArray[np.int64], n_classes: int) -> Figures:
    # A rare class can be absent from the fitting part: its probability is 0, and no set contains it.
    probability, sets = np.zeros((len(y), n_classes)), np.zeros((len(y), n_classes), dtype=bool)
    probability[:, evidence.classes] = evidence.probability
    sets[:, evidence.classes] = evidence.prediction_set()
    classes = np.arange(n_classes)
    answer = (y, probability.argmax(axis=1), probability.max(axis=1))
    return {
        "accuracy": float(np.mean(answer[0] == answer[1])),
        "ece": metrics.expected_calibration_error(*answer),
        "floor": _floor(answer[2]),
        "adaptive": metrics.adaptive_calibration_error(*answer),
        "brier": metrics.brier_score(y, probability, classes),
        "aurc": metrics.aurc(*answer),
        "set_coverage": metrics.set_coverage(y, sets, classes),
        "set_size": metrics.mean_set_size(sets),
        "u65": metrics.u65(y, sets, classes),
    }


def _floor(confidence: Floats) -> float:
    """ECE of exact probabilities: the labels are drawn from them."""
    random, sure = np.random.default_rng(0), np.ones(len(confidence))
    draws = random.random((N_DRAWS, len(confidence))) < confidence
    return fmean(metrics.expected_calibration_error(sure, right.astype(float), confidence) for right in draws)


def make_report(
    figures: Mapping[str, Mapping[Key, Figures]], failures: Mapping[str, str], facts: Mapping[str, object]
) -> Report:
    """Turn the figures into the report."""
    keys = [(variant, treatment) for variant in VARIANTS for treatment in treatments_of(variant)]
    means = {
        key: {name: fmean(figure[key][name] for figure in figures.values()) for name, *_ in COLUMNS} for key in keys
    }
    better = {
        key: sum(figure[key]["ece"] < figure[key[0], "as it is"]["ece"] for figure in figures.values()) for key in keys
    }
    body = [
        [
            *key,
            *(f"{scale * means[key][name]:.{decimals}f}" for name, _, scale, decimals in COLUMNS),
            "" if key[1] == "as it is" else f"{better[key]} of {len(figures)}",
        ]
        for key in keys
    ]
    header = ["Variant", "Probabilities", *(title for _, title, *_ in COLUMNS), "Better on"]
    failed = [f"Failed on {name}: {message}" for name, message in failures.items()]
    return Report(
        name="calibration",
        title="Calibration: probabilities moved towards frequencies, with the ignorance kept",
        facts=facts,
        sections=[
            Section("Means", header, body, [*NOTES, *failed]),
            *(_by_data_set(variant, figures) for variant in VARIANTS),
        ],
        data={
            "means": [
                {"variant": key[0], "probabilities": key[1], **means[key], "better": better[key]} for key in keys
            ],
            "data_sets": [
                {"data_set": name, "variant": key[0], "probabilities": key[1], **item[key]}
                for name, item in figures.items()
                for key in keys
            ],
            "failures": dict(failures),
        },
        headlines=[
            goal("FERL-wide, as it is: ECE x100", 100 * means["wide", "as it is"]["ece"], WIDE_ECE),
            *_paper_headlines(means),
        ],
        failures=failed,
    )


def _paper_headlines(means: Mapping[Key, Figures]) -> list[Headline]:
    return [
        Headline(f"FERL-deep, {name}: ECE x100", 100 * means["deep", name]["ece"], PAPER_ECE, more_is_better=False)
        for name in ("as it is", "temperature")
    ]


def _by_data_set(variant: str, figures: Mapping[str, Mapping[Key, Figures]]) -> Section:
    rows = [
        [name, *(f"{100 * item[variant, treatment]['ece']:.2f}" for treatment in treatments_of(variant))]
        for name, item in figures.items()
    ]
    header = ["Data set", *treatments_of(variant)]
    return Section(f"ECE x100 by data set, {variant}", header, rows, in_terminal=False)


TABLE = Table(
    summary="What temperature and isotonic calibration gain on the test parts.",
    run=run_calibration,
    chapter="Sets, novelty and proofs",
    minutes=4,
)
