"""Combinations of what a model may be, and every law on each of them.

Single features hold by their tests; what breaks is combinations. A case draws a table (numbers, ties, categories,
dates, days with evidence, gaps, constant columns, extreme units, weights, groups, one to four classes, labels that
rules or that neighbours explain), a kind of model and its parameters, what is done with the model (updates, chains of
edits, files, in any order), and then checks all laws that apply, in Python, ONNX, SQL, plain Python, C, the command
line, wrappers and the page of the report::

    python guards/combinations.py --minutes 60

A new parameter is one more line in :func:`draw_options`, a new law one more function with ``@law``. Laws that take
long hold for a share of the cases, which their decorator names.
"""

from __future__ import annotations

import json
import pickle
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE)]

import campaign  # noqa: E402

import javascript  # noqa: E402
import onnx_examples  # noqa: E402
from cli_examples import ferl  # noqa: E402
from database_examples import DuckDB, SQLite, added_to_average, plain_rows  # noqa: E402
from estimators import KINDS, TREES, classifier  # noqa: E402
from ferl import NoveltyDetector, OtherColumnsWarning, export_text, load_model, rules_frame, save_model  # noqa: E402
from ferl.abstention import RiskControlledFERL  # noqa: E402
from ferl.calibration import CalibratedFERL  # noqa: E402
from ferl.conformal import ConformalFERL  # noqa: E402
from ferl.editing import EditedFERL, edit  # noqa: E402
from ferl.export import (  # noqa: E402
    curves_frame,
    export_c,
    export_graphviz,
    export_latex,
    export_python,
    export_scorecard,
    export_sql,
    overview,
    reason_codes,
    splits_frame,
)
from ferl.interop import PlainClassifier  # noqa: E402
from ferl.onnx import onnx_inputs, to_onnx  # noqa: E402
from ferl.report import write_report  # noqa: E402
from ferl.streaming import fit_batches, fit_parquet, predict_batches  # noqa: E402
from ferl.words import quantile_partition  # noqa: E402
from table_examples import Mixed, mixed_table, rows_beside  # noqa: E402
from test_export_code import Compiled  # noqa: E402

ROUNDING = 1e-9
LEVELS = (0.5, 2 / 3, 0.8, 0.95)
ALPHAS = (0.05, 0.1, 0.3)
N_ATTACKED = 4  # rows whose certificates are attacked
N_MOVES = 150  # of each of them


@dataclass(frozen=True, eq=False)
class Case:
    """A table, a model that was fitted on it, and rows to judge.

    Attributes
    ----------
    seed : int
        Of all draws.
    kind : str
        Of the model.
    options : dict
        Parameters of the classifier.
    table : Mixed
        The training rows.
    weight : ndarray of shape (n_rows,) or None
        Most are whole numbers.
    groups : ndarray of shape (n_rows,) or None
        Of rules alone.
    steps : tuple of str
        What is done with the model after its fit.
    """

    seed: int
    kind: str
    options: dict[str, Any]
    table: Mixed
    weight: Any
    groups: Any
    steps: tuple[str, ...] = ()

    @property
    def is_rules(self) -> bool:
        """Whether the model is a list of rules."""
        return self.kind not in TREES

    @property
    def has_cases(self) -> bool:
        """Whether similar cases vote."""
        return getattr(self.model.model_, "cases", None) is not None

    @property
    def numbers(self) -> list[str]:
        """Columns that are read as numbers."""
        return [name for name in self.table.numbers if name not in self.options.get("categorical_features", ())]

    @property
    def rng(self) -> np.random.Generator:
        """Begins anew at every call."""
        return np.random.default_rng([self.seed, 29])

    def fitted(self, order: Any = None, times: Any = None, **changes: Any) -> Any:
        """The classifier fitted on the rows in another order, or each of them so many times."""
        order = np.arange(len(self.table.y)) if order is None else order
        frame, y = self.table.frame.iloc[order], self.table.y[order]
        weight = None if self.weight is None or times is not None else self.weight[order]
        more = {} if self.groups is None else {"groups": self.groups[order]}
        return classifier(self.kind, **self.options | changes).fit(frame, y, weight, **more)

    @cached_property
    def first(self) -> Any:
        """The classifier after its fit."""
        return self.fitted()

    @cached_property
    def model(self) -> Any:
        """The classifier after all steps."""
        own, rng = self.first, self.rng
        for step in self.steps:
            own = STEPS[step](self, own, rng)
        return own

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Rows to judge; among them dates after the last one of training."""
        rows = rows_beside(self.table, self.seed, 40)
        for name in self.table.frame.select_dtypes(["datetime", "datetimetz"]):
            rows.loc[20:29, name] += pd.Timedelta(days=self.seed % 900)
        return rows

    def two_rows(self) -> tuple[pd.DataFrame, Any]:
        """Every second row of the table, and its label."""
        half = np.arange(len(self.table.y)) % 2 == 0
        return self.table.frame[half], self.table.y[half]


# ---------------------------------------------------------------------------------------------------------------------
# What is done with a model
# ---------------------------------------------------------------------------------------------------------------------


def begun(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """Fitted as the first of several blocks."""
    return classifier(case.kind, **case.options).partial_fit(case.table.frame, case.table.y, sample_weight=case.weight)


def updated(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """After one more block, of half the rows."""
    some = rng.random(len(case.table.y)) < 0.5
    some[:2] = True
    block = None if case.weight is None else case.weight[some]
    fresh = copy(model)
    # Rules that were changed by hand, or that have nothing to update their weights by, are refused.
    has_grounds = "begun" in case.steps or case.options["n_exemplars"] > 0
    is_possible = not case.is_rules or (has_grounds and not model.model_.history)
    try:
        return fresh.partial_fit(case.table.frame[some], case.table.y[some], sample_weight=block)
    except ValueError:
        if is_possible:
            raise
        return model


def edited(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """After one to four edits in any order; rules alone. An edit that is refused with a ValueError changes nothing."""
    own = model if isinstance(model, EditedFERL) else edit(model)
    for name in rng.choice(list(EDITS), size=rng.integers(1, 5)).tolist():
        try:
            own = EDITS[name](case, own, rng)
        except ValueError as error:
            if len(str(error)) < 20:
                raise AssertionError(name) from error
    return own


def _feature(case: Case, rng: np.random.Generator) -> str:
    return str(rng.choice(case.table.frame.columns))


def _rule(model: Any, rng: np.random.Generator) -> int:
    return int(rng.choice(model.model_.numbers)) if model.n_rules_ else 1


def _weights(model: Any, rng: np.random.Generator) -> Any:
    n = len(model.classes_)
    return float(rng.normal()) if n == 2 else rng.normal(size=n)


def _case_numbers(model: Any, rng: np.random.Generator) -> list[int]:
    cases = model.model_.cases
    return [] if cases is None or rng.random() < 0.2 else rng.choice(cases.place, size=3).tolist()


def _map(model: Any, rng: np.random.Generator) -> Any:
    maps = [own for own in model.model_.curves.columns(model.tree_) if len(own) == 2] if model.n_maps_ else [(0, 0)]
    return tuple(model.model_.feature_of(column) for column in maps[rng.integers(len(maps))])


EDITS: dict[str, Callable[[Case, Any, np.random.Generator], Any]] = {
    "drop": lambda case, own, rng: own.drop(_rule(own, rng), keep_average=bool(rng.random() < 0.5)),
    "set_weight": lambda case, own, rng: own.set_weight(_rule(own, rng), _weights(own, rng)),
    "forbid": lambda case, own, rng: own.forbid(_feature(case, rng)),
    "flatten": lambda case, own, rng: own.flatten(_feature(case, rng)),
    "flatten a map": lambda case, own, rng: own.flatten(_map(own, rng)),
    "smooth": lambda case, own, rng: own.smooth(_feature(case, rng), steps=int(rng.integers(1, 4))),
    "lock": lambda case, own, rng: own.lock(_rule(own, rng)),
    "lock a curve": lambda case, own, rng: own.lock(_feature(case, rng)),
    "strike": lambda case, own, rng: own.strike(*_case_numbers(own, rng)),
    "monotone": lambda case, own, rng: own.monotone(_feature(case, rng), int(rng.choice([-1, 1]))),
    "refit": lambda case, own, rng: own.refit(case.table.frame, case.table.y),
}


def through_a_file(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """Written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(model, path)
        return load_model(path)


STEPS: dict[str, Callable[[Case, Any, np.random.Generator], Any]] = {
    "begun": begun,
    "updated": updated,
    "edited": edited,
    "through a file": through_a_file,
}


# ---------------------------------------------------------------------------------------------------------------------
# Drawing a case
# ---------------------------------------------------------------------------------------------------------------------


def draw_table(rng: np.random.Generator) -> Mixed:
    """Numbers with and without ties, categories of few and of many values, dates, gaps."""
    if rng.random() < 0.15:
        return draw_days(rng)
    n_classes = int(rng.choice([1, *[2] * 15, *[3] * 5, *[4] * 5]))
    table = mixed_table(
        rng,
        n=int(rng.choice([30, 60, 120, 200, 300])),
        n_numbers=int(rng.integers(1, 5)),
        n_categories=[(), (), (4,), (2, 5), (30,)][rng.integers(5)],
        n_classes=n_classes,
        missing=float(rng.choice([0.0, 0.0, 0.1, 0.4])),
    )
    frame, y, n = table.frame.copy(), table.y, len(table.y)
    if rng.random() < 0.5:  # of cells beside each other in turn: neighbours decide, and few rules do
        cell = np.floor(frame[table.numbers[:2]].fillna(0.0).to_numpy() * 1.5).sum(axis=1).astype(int)
        y = np.where(rng.random(n) < 0.05, rng.integers(n_classes, size=n), cell % n_classes)
        y[:n_classes] = np.arange(n_classes)
    for name in table.numbers[1:]:
        frame[name] = frame[name].round(int(rng.integers(0, 4)))
    frame["x0"] *= 10.0 ** (rng.choice([-140, -15, 15, 140]) if rng.random() < 0.1 else rng.integers(-3, 4))
    if rng.random() < 0.1:
        name, value = [("x9", 2.5), ("c9", "one")][rng.integers(2)]
        frame[name] = value
    if rng.random() < 0.3:
        seconds = rng.integers(0, 800 * 86_400, size=n) // (1 if rng.random() < 0.5 else 86_400) * 1.0
        days = pd.Series(pd.Timestamp("2021-05-03") + pd.to_timedelta(seconds, unit="s"))
        days = days.dt.tz_localize("UTC") if rng.random() < 0.3 else days
        frame["d0"] = days.mask(rng.random(n) < float(rng.choice([0.0, 0.1])))
        y = np.where(days.dt.dayofweek > 4, (y + 1) % n_classes, y) if rng.random() < 0.5 else y
    if rng.random() < 0.2:
        again = rng.integers(n, size=n // 3)  # rows that are equal, of classes that may differ
        frame.iloc[: len(again)] = frame.iloc[again].to_numpy(object)
        frame = frame.infer_objects()
    y[:n_classes] = np.arange(n_classes)
    labels = [y, np.array(["no", "yes", "perhaps", "never"])[y], y * 2.0][rng.integers(3)]
    return Mixed(frame, labels)


def draw_days(rng: np.random.Generator) -> Mixed:
    """Rows of few days that differ beyond what a number explains, so that days have evidence, and copies of days."""
    n, n_classes = int(rng.choice([300, 600, 1200])), int(rng.choice([2, 2, 3]))
    hour = rng.integers(0, 24 * int(rng.choice([30, 60])), size=n)
    at = pd.Series(pd.Timestamp("2021-05-03") + pd.to_timedelta(hour, unit="h"))
    frame = pd.DataFrame({"x0": rng.normal(size=n).round(2)})
    score = 3 * rng.normal(size=61)[hour // 24] + frame["x0"] + rng.logistic(size=n)
    if rng.random() < 0.5:
        frame["x1"] = at.dt.day.astype(float)
    if rng.random() < 0.3:
        frame["c0"] = pd.Series(np.array(["a", "b", "c"], object)[rng.integers(3, size=n)])
    frame["d0"] = at.mask(rng.random(n) < float(rng.choice([0.0, 0.1])))
    y = np.argsort(np.argsort(score.to_numpy())) * n_classes // n
    return Mixed(frame, [y, np.array(["no", "yes", "perhaps"])[y]][rng.integers(2)])


def draw_options(rng: np.random.Generator, kind: str, table: Mixed) -> dict[str, Any]:
    """Parameters of the classifier."""
    options: dict[str, Any] = {"random_state": int(rng.integers(1000)), "max_rules": int(rng.choice([1, 2, 6, 15]))}
    options["missing_conditions"] = bool(rng.random() < 0.3)
    options["support_gate"] = bool(rng.random() < 0.8)
    options["n_exemplars"] = int(rng.choice([0, 1, 20, 1024]))
    if options["support_gate"] and rng.random() < 0.3:
        options["gate_margin"] = float(rng.choice([0.1, 0.5, 3.0]))
    if rng.random() < 0.3:
        shares = {label: float(rng.choice([0.1, 0.4, 0.5, 1.0, 1.3, 3.0])) for label in np.unique(table.y).tolist()}
        options["class_weight"] = "balanced" if rng.random() < 0.4 else shares
    if rng.random() < 0.15 and "x1" in table.frame and table.frame["x1"].nunique() < 40:
        options["categorical_features"] = ["x1"]
    if rng.random() < 0.1:
        options["growth_rows"] = int(rng.choice([20, 50]))
    if kind in TREES:
        return options | draw_tree_options(rng, kind, table)
    options["max_conditions"] = int(rng.integers(1, 4))
    options["effort"] = int(rng.choice([1, 1, 2]))
    options["cases"] = bool(rng.random() < 0.6)
    if options["cases"]:
        options["n_cases"] = int(rng.choice([20_000, 20_000, 40, 3]))
    elif rng.random() < 0.3 and len(np.unique(table.y)) == 2:
        options["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    if rng.random() < 0.3:
        options["prune"] = float(rng.choice([0.0, 0.05]))
    if rng.random() < 0.2:
        options["max_rules"] = ["auto", None][rng.integers(2)]
    if kind == "words":
        options["words"] = [True, True, "quantile", "triangles", "width", "mdlp"][rng.integers(6)]
        options["n_sets"] = int(rng.integers(2, 8))
        if rng.random() < 0.2:
            options["words"] = own_words(table, options["n_sets"], options.get("categorical_features", ()))
    else:
        options["max_maps"] = [25, 0, None][rng.integers(3)]
    return options


def own_words(table: Mixed, n_sets: int, categories: Any = ()) -> list[Any]:
    """Words of every number and of no other column."""
    numbers = [name for name in table.numbers if name not in categories]
    made = dict(zip(numbers, quantile_partition(table.frame[numbers], n_sets=n_sets), strict=True))
    return [made.get(name) for name in table.frame.columns]


def draw_tree_options(rng: np.random.Generator, kind: str, table: Mixed) -> dict[str, Any]:
    """Parameters of trees alone."""
    options: dict[str, Any] = {"combination": str(rng.choice(["dempster", "vote", "cautious", "chain"]))}
    choices: dict[str, list[Any]] = {
        "sources": ["leaves", "all"],
        "discount": [0.1, 0.5],
        "consequents": ["laplace", "raw"],
        "max_depth": [1, 3],
        "min_coverage": [0.2],
        "min_leaf_weight": [0.5, 10.0],
    }
    if kind == "compact":
        choices |= {"n_sets": [2, 5], "criterion": ["cci"], "words": ["triangles", "width", "mdlp"]}
    else:
        choices |= {"band": ["median_mad"], "two_mode": [False], "n_banded_features": [None, 2], "ccp_alpha": [0.01]}
        choices |= {"criterion": ["entropy", "cci"], "band_scale": [0.0, 2.0]}
    options |= {name: own[rng.integers(len(own))] for name, own in choices.items() if rng.random() < 0.2}
    if kind != "compact" and rng.random() < 0.3 and len(np.unique(table.y)) == 2:
        options["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    return options


def draw(seed: int) -> Case:
    """A case, from its seed alone."""
    rng = np.random.default_rng([seed, 17])
    kind = str(rng.choice(["rules", *KINDS]))
    table = draw_table(rng)
    options = draw_options(rng, kind, table)
    n = len(table.y)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.4 else None
    weight = weight * rng.random(n).round(2) + 1.0 if weight is not None and rng.random() < 0.2 else weight
    groups = rng.integers(0, n // 6, size=n) if kind not in TREES and rng.random() < 0.3 else None
    steps, balanced = [], options.get("class_weight") == "balanced"
    if groups is None and not balanced and rng.random() < 0.3:
        steps.append("begun")
    possible = ["through a file"] + ["updated"] * (not balanced) + ["edited", "edited"] * (kind not in TREES)
    steps += rng.choice(possible, size=rng.choice([0, 0, 1, 2, 3])).tolist()
    return Case(seed, kind, options, table, weight, groups, tuple(steps))


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------

Law = Callable[[Case], Any]
LAWS: dict[str, tuple[Law, int]] = {}
NONE = "does not apply"


def law(every: int = 1) -> Callable[[Law], Law]:
    """A law that cases must keep; each one, or one in so many. It returns ``NONE`` where it does not apply."""

    def keep(function: Law) -> Law:
        LAWS[function.__name__] = (function, every)
        return function

    return keep


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """What a model answers, by name."""
    evidence = model.predict_evidence(rows)
    return {
        "label": model.predict(rows),
        "proba": model.predict_proba(rows),
        "belief": evidence.belief,
        "ignorance": evidence.ignorance,
        "set": model.predict_set(rows),
        "novelty": model.novelty(rows),
    }


def is_clear(model: Any, rows: Any) -> Any:
    """Which rows have a most probable class; where two are, rounding decides."""
    ranked = np.sort(np.pad(model.predict_proba(rows), ((0, 0), (1, 0))), axis=1)
    return ranked[:, -1] - ranked[:, -2] > ROUNDING


def assert_same(found: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    """The same bits."""
    for name, own in expected.items():
        np.testing.assert_array_equal(found[name], own, err_msg=f"{what}: {name}")


@law()
def belief_probability_and_plausibility_are_in_this_order(case: Case) -> None:
    evidence = case.model.predict_evidence(case.rows)
    probability = case.model.predict_proba(case.rows)
    assert min(evidence.belief.min(), evidence.ignorance.min()) >= 0
    np.testing.assert_allclose(evidence.belief.sum(axis=1) + evidence.ignorance, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=ROUNDING)
    assert (evidence.belief <= probability + ROUNDING).all()
    assert (probability <= evidence.plausibility + ROUNDING).all()


@law()
def contributions_add_up_to_the_probability(case: Case) -> Any:
    if not case.is_rules:
        return NONE
    probability = case.model.predict_proba(case.rows)
    for parts in (case.model.contributions(case.rows), case.model.feature_contributions(case.rows)):
        scores = parts.sum(axis=1)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(power / power.sum(axis=1, keepdims=True), probability, atol=ROUNDING)


@law()
def a_file_keeps_every_bit(case: Case) -> None:
    again = through_a_file(case, case.model, case.rng)
    assert_same(answers(again, case.rows), answers(case.model, case.rows), "file")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("one.json", "two.json")]
        for path, own in zip(paths, (case.model, again), strict=True):
            save_model(own, path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@law()
def onnx_answers_as_python_does(case: Case) -> Any:
    if case.options.get("combination") == "cautious":
        return NONE  # has no graph
    session = onnx_examples.session_of(to_onnx(case.model))
    rows = case.rows[is_clear(case.model, case.rows) | ~case.model.predict_evidence(case.rows).belief.any(axis=1)]
    if not len(rows):
        return NONE
    onnx_examples.assert_answers(onnx_examples.run(session, onnx_inputs(case.model, rows)), case.model, rows)
    return None


@law(every=2)
def sql_answers_as_python_does(case: Case) -> Any:
    model = case.model
    rows = case.rows[is_clear(model, case.rows)].reset_index(drop=True)
    if case.has_cases:
        try:
            export_sql(model)
        except ValueError:
            return None
        raise AssertionError("SQL of a model with cases")
    if not len(rows):
        return NONE
    database = DuckDB() if case.seed % 4 == 0 else SQLite()
    found = database.answers(rows, export_sql(model, dialect=database.dialect, keep=["id"]))
    evidence = model.predict_evidence(rows)
    by_class = {name: [f"{name}_{label}" for label in model.classes_] for name in ("probability", "in_set")}
    np.testing.assert_allclose(found[by_class["probability"]], model.predict_proba(rows), rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(np.array(found["label"].tolist(), model.classes_.dtype), model.predict(rows))
    # SQLite has no single precision, in which the nearest kept row is found.
    rounding = 1e-4 if database.dialect == "sqlite" and case.is_rules else ROUNDING
    np.testing.assert_allclose(found["ignorance"].to_numpy(float), evidence.ignorance, rtol=0, atol=rounding)
    if rounding == ROUNDING:
        clear = is_far_from_a_border(case, evidence)
        np.testing.assert_array_equal(found[by_class["in_set"]].to_numpy(bool)[clear], model.predict_set(rows)[clear])
    if case.is_rules:
        assert_reasons(case, rows, found[["reason_1", "reason_2", "reason_3"]].to_numpy(object).tolist())
    return None


@law(every=2)
def plain_python_answers_as_the_classifier_does(case: Case) -> Any:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows)][:12]
    if case.has_cases or not len(rows):
        return NONE
    names: dict[str, Any] = {}
    exec(compile(export_python(model), "model.py", "exec"), names)
    found = [names["predict"](dict(zip(rows.columns, row, strict=True))) for row in plain_rows(rows)]
    evidence, probability = model.predict_evidence(rows), model.predict_proba(rows)
    own = np.array([[answer["probability"][label] for label in model.classes_.tolist()] for answer in found])
    np.testing.assert_allclose(own, probability, rtol=0, atol=0 if case.is_rules else 1e-12)
    np.testing.assert_allclose([answer["ignorance"] for answer in found], evidence.ignorance, rtol=0, atol=1e-11)
    np.testing.assert_array_equal([answer["label"] for answer in found], model.predict(rows))
    clear, sets = is_far_from_a_border(case, evidence), model.predict_set(rows)
    for answer, kept, is_sure in zip(found, sets, clear, strict=True):
        assert not is_sure or answer["set"] == model.classes_[kept].tolist()
    if case.is_rules:
        assert_reasons(case, rows, [answer["reasons"] for answer in found])
    return None


@law(every=4)
def the_page_of_the_report_answers_as_python_does(case: Case) -> None:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows) & (np.arange(len(case.rows)) < 15)]
    with tempfile.TemporaryDirectory() as folder:
        frame, y = case.two_rows()
        page = write_report(model, frame, y, Path(folder) / "report.html").read_text()
    assert "<title>" in page
    assert "NaN" not in page.split("<script", 1)[0]
    if len(rows):
        found = javascript.judge(model.model_, model._rows(rows)[:, : model.n_features_in_])
        evidence = model.predict_evidence(rows)
        expected = {"belief": evidence.belief, "ignorance": evidence.ignorance, "novelty": model.novelty(rows)}
        for name, own in expected.items():
            np.testing.assert_allclose(found[name], own, rtol=ROUNDING, atol=ROUNDING, err_msg=name)
        np.testing.assert_array_equal(model.classes_[found["label"]], model.predict(rows))


def is_far_from_a_border(case: Case, evidence: Any) -> Any:
    """Rows whose set is not decided by rounding."""
    if not case.is_rules:
        return (np.abs(evidence.plausibility - evidence.belief.max(axis=1, keepdims=True)) > ROUNDING).all(axis=1)
    return (np.abs(np.cumsum(-np.sort(-evidence.belief, axis=1), axis=1) - 2 / 3) > ROUNDING).all(axis=1)


def assert_reasons(case: Case, rows: Any, found: list[list[Any]]) -> None:
    """The features that add most to the score of the label, largest first; equal ones in the order of the columns."""
    added, names = added_to_average(case.model, rows), [str(name) for name in rows.columns]
    for row, label, own in zip(added, case.model.predict(rows).tolist(), found, strict=True):
        size = row[:, case.model.classes_.tolist().index(label)]
        told = [names.index(name) for name in own if isinstance(name, str)]
        assert len(set(told)) == len(told)
        order = np.argsort(-size, kind="stable")
        for place, (feature, expected) in enumerate(zip(told, order.tolist(), strict=False)):
            assert feature == expected or 0 < abs(size[feature] - size[expected]) < ROUNDING, (place, told, size)
        n = int((size > ROUNDING).sum())
        assert min(n, 3) <= len(told) <= min(3, int((size > -ROUNDING).sum()))


@law()
def answers_depend_neither_on_threads_nor_on_batches_nor_on_order(case: Case) -> None:
    expected, order = answers(case.model, case.rows), case.rng.permutation(len(case.rows))
    threaded = clone(case.model)._take(case.model.model_).set_params(n_jobs=2)
    assert_same(answers(threaded, case.rows), expected, "threads")
    moved = answers(case.model, case.rows.iloc[order])
    assert_same({name: own[np.argsort(order)] for name, own in moved.items()}, expected, "order")
    single = [answers(case.model, case.rows.iloc[k : k + 1]) for k in range(6)]
    parts = {name: np.concatenate([own[name] for own in single]) for name in expected}
    assert_same(parts, {name: own[:6] for name, own in expected.items()}, "single rows")


@law()
def a_fit_depends_neither_on_threads_nor_on_the_order_of_rows(case: Case) -> None:
    other = case.fitted(case.rng.permutation(len(case.table.y)), n_jobs=2)
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "order of training rows")


@law()
def batches_are_the_whole_table(case: Case) -> None:
    frame, y, weight, groups = case.table.frame, case.table.y, case.weight, case.groups
    cuts = np.r_[0, np.sort(case.rng.integers(1, len(y), size=3)), len(y)]
    pieces = [slice(a, b) for a, b in pairwise(cuts) if a < b]
    more = [own for own in (weight, groups) if own is not None]
    if weight is None and groups is not None:
        more = [np.ones(len(y)), groups]
    batches = [(frame.iloc[k], y[k], *(own[k] for own in more)) for k in pieces]
    other = fit_batches(batches, estimator=classifier(case.kind, **case.options))
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "batches")


@law()
def weight_two_is_the_row_twice(case: Case) -> None:
    weight = case.rng.choice([1, 2, 3, 5, 7], size=len(case.table.y))
    order = np.repeat(np.arange(len(weight)), weight)
    weighted = Case(case.seed, case.kind, case.options, case.table, weight.astype(float), case.groups)
    found, expected = answers(case.fitted(order, times=weight), case.rows), answers(weighted.first, case.rows)
    assert_same(found, expected, "twice")


@law()
def certificates_stand_attacks(case: Case) -> Any:
    model, rng = case.model, case.rng
    if model.model_.unproven:
        try:
            model.certified_radius(case.rows[:1])
        except ValueError:
            return None
        raise AssertionError("a radius where nothing is proven")
    frame = case.rows.iloc[:N_ATTACKED]
    numbers = case.numbers
    rows, radius = model._rows(frame), model.certified_radius(frame)
    columns = [list(case.table.frame.columns).index(name) for name in numbers]
    moved = np.repeat(rows[:, None], N_MOVES, axis=1)
    steps = rng.choice([-1.0, 0.0, 1.0], (len(rows), N_MOVES, len(columns)))
    steps[:, N_MOVES // 2 :] *= rng.random((len(rows), N_MOVES - N_MOVES // 2, len(columns)))
    moved[:, :, columns] += steps * np.minimum(radius, 1e9)[:, None, None] * (1 - 1e-9)
    n_features = len(case.table.frame.columns)
    back = with_derived_again(model, moved.reshape(-1, rows.shape[1])[:, :n_features])
    labels = model.model_.probabilities(back).argmax(axis=1).reshape(len(rows), N_MOVES)
    usual = model.model_.probabilities(rows).argmax(axis=1)
    is_proven = radius > 0
    assert (labels == usual[:, None])[is_proven].all(), "a label changed within its proven radius"
    return None


def with_derived_again(model: Any, rows: Any) -> Any:
    """Rows with the derived columns of a model, computed anew."""
    from ferl._tables import with_derived

    return with_derived(np.asfortranarray(rows), model.model_.derived)


@law()
def sets_are_nested_and_labels_are_marked_where_all_classes_stay(case: Case) -> None:
    model = case.model
    usual = model.predict_set(case.rows)
    if case.is_rules:
        nested = [model.predict_set(case.rows, level=level) for level in LEVELS]
        assert all((small <= large).all() for small, large in pairwise(nested))
    marker = "?" if model.classes_.dtype.kind in "OUT" else -1
    marked, labels = model.predict(case.rows, no_answer=marker), model.predict(case.rows)
    is_open = usual.all(axis=1) & (usual.shape[1] > 1)
    np.testing.assert_array_equal(marked == marker, is_open)
    np.testing.assert_array_equal(marked[~is_open].astype(labels.dtype), labels[~is_open])


@law()
def decisions_are_those_of_the_probabilities(case: Case) -> None:
    model, n = case.model, len(case.model.classes_)
    probability = model.predict_proba(case.rows)
    if n == 2:
        threshold = float(case.rng.choice([0.1, 0.35, 0.5, 0.9]))
        expected = model.classes_[(probability[:, 1] >= threshold).astype(int)]
        np.testing.assert_array_equal(model.predict(case.rows, decision=threshold), expected)
    even, clear = model.predict(case.rows, decision=1.0 - np.eye(n)), is_clear(model, case.rows)
    np.testing.assert_array_equal(even[clear], model.predict(case.rows)[clear])
    asked = model.predictor()
    for decision in ("probable", "balanced", "mild"):
        labels = model.predict(case.rows, decision=decision)
        row = case.rows.iloc[3].to_dict()
        assert asked.predict(row, decision=decision) == labels[3]


@law()
def columns_that_no_rule_reads_change_no_probability(case: Case) -> None:
    model, frame = case.model, case.rows
    probability = model.predict_proba(frame)
    unread = [name for j, name in enumerate(frame.columns) if j not in model.model_.read_features]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OtherColumnsWarning)
        np.testing.assert_array_equal(model.predict_proba(frame.assign(more="text")), probability)
        if len(unread) < len(frame.columns):
            np.testing.assert_array_equal(model.predict_proba(frame.drop(columns=unread)), probability)


@law()
def monotone_features_move_the_odds_one_way(case: Case) -> Any:
    sign = (case.options.get("monotonic_cst") or {}).get("x0")
    if sign is None or not case.is_rules or edits(case, "set_weight", "drop", "smooth", "monotone", "flatten"):
        return NONE
    rows = case.rows.iloc[np.repeat(np.arange(1, 6), 40)].reset_index(drop=True)
    values = case.table.frame["x0"]
    middle, width = values.mean(), 6 * values.std()
    rows["x0"] = np.tile(np.linspace(middle - width, middle + width, 40), 5)
    rise = sign * np.diff(case.model.decision_function(rows).reshape(5, 40), axis=1)
    assert (rise >= -ROUNDING).all()
    return None


def edits(case: Case, *names: str) -> list[dict[str, Any]]:
    """The edits of some names in the history of the model."""
    return [own for own in getattr(case.model.model_, "history", ()) if own["edit"] in names]


@law()
def edited_away_is_away(case: Case) -> Any:
    model = case.model
    forbidden = [own["feature"] for own in edits(case, "forbid")]
    gone = {case_number for own in edits(case, "strike") if own["cases"] != "all" for case_number in own["cases"]}
    if not forbidden and not gone:
        return NONE
    frame, rng = case.rows, case.rng
    assert not {list(case.table.frame.columns).index(name) for name in forbidden} & set(model.model_.read_features)
    other = frame.copy()
    for name in forbidden:
        other[name] = case.table.frame[name].to_numpy()[rng.integers(len(case.table.y), size=len(frame))]
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    if case.has_cases and gone and "updated" not in case.steps:
        assert not gone & set(model.model_.cases.place.tolist())
    return None


@law()
def rules_keep_their_numbers_through_edits(case: Case) -> Any:
    numbers = getattr(case.model.model_, "numbers", None)
    if numbers is None or "edited" not in case.steps:
        return NONE
    assert len(set(numbers)) == len(numbers) == case.model.n_rules_
    own, first = rules_frame(case.model).set_index("number"), rules_frame(case.first).set_index("number")
    assert own.index.tolist() == list(numbers)
    assert (own["conditions"] == first.loc[own.index, "conditions"]).all()
    return None


@law()
def similar_cases_add_up_to_their_vote(case: Case) -> Any:
    if not case.has_cases:
        return NONE
    model, cases = case.model, case.model.model_.cases
    rows = case.rows[:6]
    try:
        found = model.similar(rows, n=cases.n_cases)
    except ValueError:
        if cases.read_columns:
            raise
        return None
    assert (np.diff(found.distance, axis=1) >= -ROUNDING).all()
    assert (np.sort(found.case, axis=1) == np.sort(cases.place)).all()
    added, classes = cases.added(model._rows(rows)), model.classes_.tolist()
    for k in range(len(rows)):
        nearest = found.label[k, 0]
        total = found.adds[k][found.label[k] == nearest].sum()
        voted = (found.label[k] == nearest) & (found.adds[k] != 0)
        if voted.any():  # a class that no case votes for loses evidence to no case
            np.testing.assert_allclose(total, added[k, classes.index(nearest)], atol=1e-7)
    few = model.similar(rows, n=2)
    np.testing.assert_array_equal(few.case, found.case[:, : few.case.shape[1]])
    return None


@law()
def tables_of_other_libraries_are_the_same_rows(case: Case) -> None:
    import polars as pl
    import pyarrow as pa

    expected = case.model.predict_proba(case.rows)
    table = pa.Table.from_pandas(case.rows, preserve_index=False)
    np.testing.assert_array_equal(case.model.predict_proba(table), expected)
    np.testing.assert_array_equal(case.model.predict_proba(pl.from_arrow(table)), expected)
    asked = case.model.predictor()
    for k in range(4):
        np.testing.assert_array_equal(asked.predict_proba(case.rows.iloc[k].to_dict()), expected[k])
    batches = [case.rows[:7], case.rows[7:8], case.rows[8:]]
    parts = list(predict_batches(case.model, batches))
    belief = case.model.predict_evidence(case.rows).belief
    np.testing.assert_array_equal(np.concatenate([own.belief for own in parts]), belief)


@law(every=3)
def a_file_of_rows_is_the_table(case: Case) -> None:
    frame = case.table.frame.assign(target=case.table.y)
    more: dict[str, Any] = {}
    if case.weight is not None:
        frame["weight of the row"], more["weights"] = case.weight, "weight of the row"
    if case.groups is not None:
        frame["group of the row"], more["groups"] = case.groups, "group of the row"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        frame.to_parquet(path, index=False)
        other = fit_parquet(path, target="target", estimator=classifier(case.kind, **case.options), **more)
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "parquet")


@law()
def wrappers_keep_their_promises_about_form(case: Case) -> Any:
    return (conformal_form, calibrated_form, controlled_form, detector_form)[case.seed % 4](case)


def conformal_form(case: Case) -> None:
    """Sets are nested, are those of the p-values, of a group are those of the group's rows, and survive a pickle."""
    frame, y = case.two_rows()
    rng, rows = case.rng, case.rows
    options: dict[str, Any] = {"few_rows": "include", "allow_empty": True, "random_state": 0}
    options["nonconformity"] = str(rng.choice(["probability", "plausibility", "aps", "raps"]))
    options["class_conditional"] = bool(rng.random() < 0.4)
    options["randomised"] = options["nonconformity"] in ("aps", "raps") and bool(rng.random() < 0.5)
    usual = ConformalFERL(case.model, **options).conformalize(frame, y)
    p = usual.predict_p_values(rows)
    assert ((p > 0) & (p <= 1)).all()
    nested = [usual.predict_set(rows, alpha) for alpha in ALPHAS]
    assert all((large >= small).all() for large, small in pairwise(nested))
    for alpha, sets in zip(ALPHAS, nested, strict=True):
        clear = np.abs(p - alpha) > ROUNDING
        np.testing.assert_array_equal(sets[clear], (p > alpha)[clear])
    again = pickle.loads(pickle.dumps(usual))
    np.testing.assert_array_equal(again.predict_p_values(rows), p)
    np.testing.assert_array_equal(np.vstack([usual.predict_p_values(rows[k : k + 1]) for k in range(4)]), p[:4])
    order = rng.permutation(len(y))
    moved = ConformalFERL(case.model, **options).conformalize(frame.iloc[order], y[order])
    np.testing.assert_array_equal(moved.predict_p_values(rows), p)
    even = ConformalFERL(case.model, **options).conformalize(frame, y, np.ones(len(y)))
    np.testing.assert_allclose(even.predict_p_values(rows, np.ones(len(rows))), p, atol=ROUNDING)
    group, own = rng.integers(3, size=len(y)), rng.integers(3, size=len(rows))
    by_group = (
        ConformalFERL(case.model, **options).conformalize(frame, y, groups=group).predict_p_values(rows, groups=own)
    )
    for k in np.unique(group):
        alone = ConformalFERL(case.model, **options).conformalize(frame[group == k], y[group == k])
        np.testing.assert_array_equal(by_group[own == k], alone.predict_p_values(rows)[own == k])


def calibrated_form(case: Case) -> None:
    """Ignorance and labels stay, evidence stays in order, intervals are intervals, and a pickle changes nothing."""
    frame, y = case.two_rows()
    method = str(case.rng.choice(["temperature", "isotonic"]))
    model = CalibratedFERL(case.model, method=method, cv="prefit").fit(frame, y)
    probability, evidence = model.predict_proba(case.rows), model.predict_evidence(case.rows)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=ROUNDING)
    assert (evidence.belief <= probability + ROUNDING).all()
    assert (probability <= evidence.plausibility + ROUNDING).all()
    np.testing.assert_allclose(evidence.ignorance, case.model.predict_evidence(case.rows).ignorance, atol=ROUNDING)
    interval = CalibratedFERL(case.model).calibrate(frame, y).predict_interval(case.rows)
    assert ((interval[..., 0] >= 0) & (interval[..., 0] <= interval[..., 1]) & (interval[..., 1] <= 1)).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(case.rows), probability)
    order = case.rng.permutation(len(y))
    other = CalibratedFERL(case.model, method=method, cv="prefit").fit(frame.iloc[order], y[order])
    np.testing.assert_array_equal(other.predict_proba(case.rows), probability)


def controlled_form(case: Case) -> None:
    """Rows above the threshold are answered, and no others."""
    frame, y = case.two_rows()
    signal = str(case.rng.choice(["margin", "belief", "ignorance", "novelty", "learned"]))
    signal = "margin" if signal == "novelty" and not case.options["n_exemplars"] else signal
    model = RiskControlledFERL(case.model, risk=0.4, confidence=0.5, signal=signal, random_state=0).calibrate(frame, y)
    answered, labels = model.accept(case.rows), model.predict(case.rows)
    np.testing.assert_array_equal([own is not None for own in labels.tolist()], answered)
    assert (labels[answered] == case.model.predict(case.rows)[answered]).all()
    heights = model.confidence_signal(case.rows)
    assert not answered.any() or answered.all() or heights[answered].min() >= heights[~answered].max()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).accept(case.rows), answered)
    sets = model.predict_set(case.rows)
    assert (sets.sum(axis=1)[answered] == 1).all()
    assert sets[~answered].all()


def detector_form(case: Case) -> Any:
    """p-values are shares, and do not depend on the batch."""
    if not case.options["n_exemplars"]:
        return NONE
    detector = NoveltyDetector(case.model, cv="prefit").fit(case.table.frame)
    p = detector.p_values(case.rows)
    assert ((p > 0) & (p <= 1)).all()
    np.testing.assert_array_equal(np.concatenate([detector.p_values(case.rows[k : k + 1]) for k in range(4)]), p[:4])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(detector)).p_values(case.rows), p)
    return None


@law(every=2)
def a_change_that_an_explanation_names_changes_the_label(case: Case) -> Any:
    model, row = case.model, case.rows.iloc[5]
    story = model.explain(row.to_dict())
    assert len(str(story)) > 0
    json.dumps(story.to_dict(), allow_nan=False)
    for change in (story.changes or ())[:2]:
        other = model.what_if(row.to_dict(), {change.feature: change.to})
        assert other.after.label is None or other.after.label != story.label, change
    return None


@law(every=4)
def wrappers_fit_with_weights_and_groups(case: Case) -> Any:
    """Wrappers that fit give the same answers in any order of the rows, and keep them in a pickle."""
    _, n_rows = np.unique(case.table.y, return_counts=True)
    if n_rows.min() < 6 or len(n_rows) < 2:
        return NONE
    template = classifier(case.kind, **case.options)
    kinds: list[Any] = [
        ConformalFERL(template, cv=3, few_rows="include", random_state=0),
        CalibratedFERL(template, cv=3, random_state=0),
        CalibratedFERL(template, method="isotonic", cv=3, random_state=0),
        RiskControlledFERL(template, risk=0.4, confidence=0.5, signal="learned", cv=3, random_state=0),
    ]
    wrapper = kinds[case.seed // 4 % 4]
    frame, y, more = case.table.frame, case.table.y, {} if case.groups is None else {"groups": case.groups}
    try:
        model = clone(wrapper).fit(frame, y, case.weight, **more)
    except ValueError as error:
        if len(str(error)) < 20 or case.groups is None:
            raise
        return None
    if isinstance(model, RiskControlledFERL):
        model.calibrate(frame, y)
    found = model.predict_proba(case.rows)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=ROUNDING)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(case.rows), found)
    if isinstance(model, ConformalFERL):
        sets = [model.predict_set(case.rows, alpha=alpha) for alpha in ALPHAS]
        assert all((small <= large).all() for large, small in pairwise(sets))
    else:
        np.testing.assert_array_equal(again.predict(case.rows), model.predict(case.rows))
    return None


@law(every=3)
def an_update_after_a_file_is_the_update_before_it(case: Case) -> Any:
    frame, y = case.two_rows()
    if len(np.unique(y)) < len(case.model.classes_):
        return NONE
    found = []
    for model in (copy(case.model), through_a_file(case, case.model, case.rng)):
        try:
            found.append(answers(model.partial_fit(frame, y), case.rows))
        except ValueError as error:
            found.append({"error": str(error)})
    assert_same(found[0], found[1], "update after a file")
    return None


@law(every=3)
def the_command_line_answers_as_python_does(case: Case) -> Any:
    rows = case.rows[is_clear(case.model, case.rows)].reset_index(drop=True)
    if not len(rows):
        return NONE
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_model(case.model, folder / "model.json")
        rows.to_parquet(folder / "rows.parquet", index=False)
        rows.to_csv(folder / "rows.csv", index=False)
        for suffix in ("parquet", "csv"):
            files = [folder / name for name in ("model.json", f"rows.{suffix}")]
            ferl("predict", *files, "-o", folder / "answers.csv", "--probabilities")
            found = pd.read_csv(folder / "answers.csv", dtype=str, keep_default_na=False)
            shown = found[[f"probability({label})" for label in case.model.classes_]].to_numpy(float)
            np.testing.assert_allclose(shown, case.model.predict_proba(rows), rtol=0, atol=1e-6, err_msg=suffix)
    return None


@law(every=20)
def c_answers_as_python_does(case: Case) -> Any:
    model, rows = case.model, case.rows[is_clear(case.model, case.rows)][:12]
    if case.has_cases or not len(rows):
        return NONE
    with tempfile.TemporaryDirectory() as folder:
        compiled = Compiled(export_c(model), Path(folder))
        found = [compiled(dict(enumerate(row)))[1] for row in plain_rows(rows)]
    np.testing.assert_allclose(
        [list(answer.probability) for answer in found], model.predict_proba(rows), rtol=0, atol=1e-12
    )
    return None


@law(every=2)
def texts_are_made_of_every_model(case: Case) -> None:
    model = case.model
    assert len(export_text(model)) > 0
    assert len(rules_frame(model)) >= (model.n_rules_ if case.is_rules else 1)
    assert len(str(overview(model))) > 0
    frame, y = case.two_rows()
    assert len(str(overview(model, frame, y))) > 0
    for make in (export_latex, export_graphviz, export_scorecard, curves_frame, splits_frame):
        try:
            assert make(model) is not None
        except ValueError as error:  # refused, with a reason
            if len(str(error)) < 20:
                raise AssertionError(make.__name__) from error
    if case.is_rules and len(model.classes_) == 2:
        assert len(reason_codes(model, case.rows)) == len(case.rows)
    assert PlainClassifier(model).predict(case.rows).tolist() == model.predict(case.rows).tolist()


@law()
def one_row_has_one_story(case: Case) -> None:
    row = case.rows.iloc[2]
    story = case.model.explain(row.to_dict(), counterfactual=False)
    marker = "?" if case.model.classes_.dtype.kind in "OUT" else -1
    label = case.model.predict(case.rows, no_answer=marker)[2]
    assert (story.label is None and label == marker) or story.label == label
    assert len(story.summary) > 0


def case(campaign_seed: int, number: int) -> dict[str, int]:
    """Draw a case and check every law; the error names the law, and what was drawn. Returns what was counted."""
    own = draw(campaign_seed * 10_000_000 + number)
    has = [name for name in ("weight", "groups") if getattr(own, name) is not None]
    drawn = f"{own.kind} {own.options} {[*has, *own.steps]}"
    try:
        assert own.model is not None
    except Exception as error:
        raise AssertionError(f"fit, update or edit: {drawn}") from error
    counts = Counter({own.kind: 1, **dict.fromkeys([*has, *own.steps], 1)})
    counts["cases that vote"] = int(own.has_cases)
    counts["dates"] = int("d0" in own.table.frame)
    counts["days with evidence"] = int(any(column.kind == "day" for column in own.model.model_.derived))
    counts["one class"] = int(len(own.model.classes_) == 1)
    options = ("class_weight", "monotonic_cst", "words", "categorical_features", "growth_rows")
    counts |= {name: int(own.options.get(name) is not None) for name in options}
    for name, (check, every) in LAWS.items():
        if number % every:
            continue
        try:
            counts["checks"] += check(own) != NONE
        except Exception as error:
            raise AssertionError(f"{name}: {drawn}") from error
    return dict(counts)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(campaign.run("combinations", "combinations", case))
