"""Similar cases: the known rows that are nearest to a row, what they were, and how much each adds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.cases import N_NEAREST, SHOWN_NEAREST, Cases
from ferl._models.rule_model import RuleModel
from ferl._tables import OneRow, add_up_derived, data_frame
from ferl._tell.page import Readable, Section, Table
from ferl._tell.statements import weight_text
from ferl._util.arrays import Floats, Ints
from ferl._util.text import number_text, spoken, value_text

MAX_SHOWN = 6  # features that a printed table shows
N_DIFFERING = 3  # features that are named as those in which a case differs most
_LEAST_SHARE = 0.05  # of the distance, that a feature must make to be named


@dataclass(frozen=True, eq=False)
class SimilarCases(Readable):
    """The most similar cases of some rows, nearest first.

    ``print`` it for text, look at it in a notebook for HTML, or take :meth:`to_frame`.

    Attributes
    ----------
    case : ndarray of shape (n_samples, n), int64
        Number of each case: its place among the training rows, from 0. Rows that came by ``partial_fit`` are numbered
        after them.
    label : ndarray of shape (n_samples, n)
        The class of each case.
    distance : ndarray of shape (n_samples, n)
        How far the case is from the row, in usual distances between training rows; 0: all values that count are equal.
    adds : ndarray of shape (n_samples, n)
        What the case adds to the score of its class. The cases of the class of the nearest one add up to what the vote
        adds to the score of this class.
    values : tuple of tuple of list
        For each row and case, the values of the features; None where one is missing.
    differs : tuple of tuple of tuple of str
        For each row and case, the features that make most of the distance, the largest part first.
    names : tuple of str
        The features.
    rows : tuple of list
        The values of the rows themselves.
    """

    case: NDArray[np.int64]
    label: NDArray[Any]
    distance: Floats
    adds: Floats
    values: tuple[tuple[list[Any], ...], ...]
    differs: tuple[tuple[tuple[str, ...], ...], ...]
    names: tuple[str, ...]
    rows: tuple[list[Any], ...]

    def to_columns(self) -> dict[str, list[Any]]:
        """One entry for each row and case: ``row``, ``rank``, ``case``, ``label``, ``distance``, ``adds``, ``differs``.

        Behind these are the values of the features of the case.
        """
        n_rows, n = self.case.shape
        result: dict[str, list[Any]] = {
            "row": np.repeat(np.arange(n_rows), n).tolist(),
            "rank": np.tile(np.arange(1, n + 1), n_rows).tolist(),
            "case": self.case.ravel().tolist(),
            "label": self.label.ravel().tolist(),
            "distance": self.distance.ravel().tolist(),
            "adds": self.adds.ravel().tolist(),
            "differs": [", ".join(case) for cases in self.differs for case in cases],
        }
        for f, name in enumerate(self.names):
            result[name if name not in result else f"{name} of the case"] = [
                case[f] for cases in self.values for case in cases
            ]
        return result

    def to_frame(self, backend: str | None = None) -> Any:
        """The entries of :meth:`to_columns` as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default=None
            Library of the returned data frame; by default the first of these that is installed.
        """
        return data_frame(self.to_columns(), backend)

    @cached_property
    def _sections(self) -> list[Section]:
        return [self._section(k) for k in range(len(self.case))]

    def _section(self, row: int) -> Section:
        """The row beside its cases, in the features in which these differ most."""
        counted = Counter(name for differ in self.differs[row] for name in differ)
        place = [self.names.index(name) for name, _ in counted.most_common(MAX_SHOWN)]
        headings = ("", "this row", *(f"case {case}" for case in self.case[row].tolist()))
        facts = [
            ("class", "", *map(spoken, self.label[row].tolist())),
            ("distance", "", *(number_text(item, 2) for item in self.distance[row].tolist())),
            ("adds", "", *map(weight_text, self.adds[row].tolist())),
        ]
        values = [
            (self.names[f], value_text(self.rows[row][f]), *(value_text(value[f]) for value in self.values[row]))
            for f in place
        ]
        title = "Similar known cases" if len(self.case) == 1 else f"Similar known cases of row {row}"
        return Section(title, (Table(headings, (*facts, *values)),))


def similar_cases(model: RuleModel, rows: Floats, n: int, n_threads: int) -> SimilarCases:
    """The ``n`` most similar cases of rows.

    Parameters
    ----------
    model : RuleModel
        One that has cases.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them.
    n : int
        How many; at most all.
    n_threads : int
        Number of threads.
    """
    cases = model.cases
    assert cases is not None
    n_near = min(max(n, max(N_NEAREST) + 2), cases.n_cases)
    index, distance = cases.nearest(rows, n_near, n_threads)
    if n_near < cases.n_cases and not distance[:, -1].all():  # all cases at distance 0 vote
        index, distance = cases.nearest(rows, cases.n_cases, n_threads)
    n = min(n, index.shape[1])
    names = model.feature_names()
    adds = np.array([_adds(cases, item, far, n) for item, far in zip(index, distance, strict=True)]).reshape(-1, n)
    near = index[:, :n]
    return SimilarCases(
        case=cases.place[near],
        label=np.asarray(model.labels, dtype=object)[cases.label[near]],
        distance=distance[:, :n] / cases.usual_distance,
        adds=adds,
        values=tuple(tuple(_values(model, cases.row[k]) for k in item.tolist()) for item in near),
        differs=tuple(_differs(model, cases, row, item, names) for row, item in zip(rows, near, strict=True)),
        names=tuple(names),
        rows=tuple(_values(model, row) for row in rows),
    )


def _values(model: RuleModel, row: Floats) -> list[Any]:
    """Values of the features; None where one is missing, or a category that training did not have."""
    unseen = {f: None for f, names in model.category_names.items() if f < model.n_features and row[f] >= len(names)}
    return model.values_of(OneRow(row[None], unseen))


def _differs(model: RuleModel, cases: Cases, row: Floats, index: Ints, names: list[str]) -> tuple[tuple[str, ...], ...]:
    parts = add_up_derived(cases.parts(row[None], index[None])[0], model.derived)
    result = []
    for part in parts:
        order = np.argsort(-part, kind="stable")[:N_DIFFERING]
        result.append(tuple(names[f] for f in order.tolist() if part[f] > _LEAST_SHARE * part.sum()))
    return tuple(result)


def _adds(cases: Cases, index: Ints, distance: Floats, n: int) -> list[float]:
    """What each of the nearest cases adds to the score of its class: the share of its vote in what its class gets."""
    first = np.unique(cases.place_of_case[index], return_index=True)[1]
    apart, label, result = np.sort(distance[first]), cases.label[index], np.zeros(len(index))
    for most, strength in zip(N_NEAREST, cases.strength.tolist(), strict=True):
        k = min(most, len(apart) - 1)
        if apart[k] > 0:
            closeness = np.maximum(1 - distance / apart[k], 0.0)
        else:
            closeness = np.where(distance == 0, k / max(int((apart == 0).sum()), 1), 0.0)
        counts = cases.weight[index] * closeness
        vote = np.bincount(label, counts, minlength=len(cases.usual))
        evidence = np.log((vote / cases.frequency + 1) / (vote.sum() + 1))
        share = np.divide(counts, vote[label], out=np.zeros_like(counts), where=vote[label] > 0)
        result += strength * share * (evidence - evidence.mean())[label]
    return [float(item) for item in result[:n]]


def nearest_classes(model: RuleModel, row: Floats, label: int) -> tuple[int, int]:
    """How many of the nearest cases of a row have a class, and how many were asked."""
    cases = model.cases
    assert cases is not None
    n = min(SHOWN_NEAREST, cases.n_cases)
    index, _ = cases.nearest(row, n)
    return int((cases.label[index[0]] == label).sum()), n


def case_line(model: RuleModel, row: Floats, label: int, added: float) -> str:
    """One sentence: what the most similar cases were, and by how much that changes the odds.

    ``added``: what the cases add to the log-odds of the class, relative to the average training row.
    """
    count, n = nearest_classes(model, row, label)
    factor = float(np.exp(min(abs(added), 700.0)))
    odds = f"odds {'x' if added >= 0 else '/'} {number_text(factor, 2)}"
    return f"{count} of the {n} most similar known rows were {spoken(model.labels[label])} ({odds})."
