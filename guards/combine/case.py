"""A table, a kind of model, and what is done with the model before it is judged."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from estimators import TREES, classifier
from ferl import load_model, save_model
from ferl.editing import EditedFERL, edit
from table_examples import Mixed, rows_beside


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
