"""Rows of the table as a report shows them: those that are listed, and those that the what-if page offers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ferl._tables import OneRow
from ferl._tell.explain import explain
from ferl._tell.explanation import Explanation
from ferl._tell.stability import spreads_text
from ferl._tell.unusual import NoveltyScale
from ferl._util.arrays import Floats
from ferl._util.text import shown_line
from ferl.report.card import row_reasons
from ferl.report.page_model import numbers
from ferl.report.table_reading import NO_LABEL, OTHER_LABEL, Rows, TableReading
from ferl.report.view import View, row_value

MAX_REASON = 600  # letters
MAX_PARTS = 4  # features that are named
LEAST_SHARE = 0.1  # of a row's novelty that a named feature makes


@dataclass(frozen=True, eq=False)
class ShownRows:
    """The rows of a table that a report shows; each is explained once.

    Attributes
    ----------
    view : View
        The model.
    reading : TableReading
        The table, read.
    scale : NoveltyScale
        What novelty is told by.
    """

    view: View
    reading: TableReading
    scale: NoveltyScale

    @cached_property
    def _stories(self) -> dict[int, Explanation]:
        return {}

    def _story(self, rows: Rows, index: int) -> Explanation:
        number = int(rows.number[index])
        if number not in self._stories:
            one = OneRow(rows.values[index : index + 1], rows.unseen[index])
            self._stories[number] = explain(self.view.model, one, counterfactual=False)
        return self._stories[number]

    def listed(self, rows: Rows) -> list[dict[str, Any]]:
        """Rows as the lists of abstained and novel rows show them."""
        labels = [self._story(rows, index).best for index in range(len(rows))]
        reasons = row_reasons(self.view, rows.values, labels)
        parts = self.view.model.novelty_attribution(rows.values)
        return [self._listed(rows, index, *own) for index, own in enumerate(zip(parts, reasons, strict=True))]

    def _listed(self, rows: Rows, index: int, parts: Floats, reasons: list[str]) -> dict[str, Any]:
        view, story = self.view, self._story(rows, index)
        truth, label = int(rows.truth[index]), story.best
        return {
            "number": int(rows.number[index]) + 1,
            "truth": view.classes[truth] if truth >= 0 else "another label" if truth == OTHER_LABEL else None,
            "is_wrong": truth not in (label, NO_LABEL) and not story.abstains,
            "label": None if story.abstains else view.classes[label],
            "class": label,
            "probability": story.probability[label],
            "set": [name for name, is_inside in zip(view.classes, story.in_set, strict=True) if is_inside],
            "ignorance": story.ignorance,
            "novelty": float(parts.sum()),
            "unusual": unusual_text(self.scale, float(parts.sum())),
            "parts": _named_parts(view, rows.values[index], parts),
            "reason": shown_line(story.summary, MAX_REASON),
            "reason_codes": reasons,
        }

    def offered(self) -> list[dict[str, Any]]:
        """Rows that the page can load: the first ones of the table, and those that are listed, in the table's order."""
        view, found = self.view, {}
        for rows in (self.reading.first.rows, self.reading.abstained.rows, self.reading.novel.rows):
            for index in range(len(rows)):
                code, story = int(rows.truth[index]), self._story(rows, index)
                found[int(rows.number[index])] = {
                    "number": int(rows.number[index]) + 1,
                    "values": numbers(rows.values[index, : view.model.n_features]),
                    "truth": view.classes[code] if code >= 0 else None,
                    "sentence": shown_line(story.summary, MAX_REASON),
                    "certified": None if story.certified is None else radius_text(story.certified.radius),
                }
        return [found[number] for number in sorted(found)]


def _named_parts(view: View, row: Floats, parts: Floats) -> list[dict[str, Any]]:
    """The features that make a row novel, the largest part first."""
    total = float(parts.sum())
    if not total > 0:
        return []
    order = [int(j) for j in np.argsort(-parts, kind="stable")[:MAX_PARTS] if parts[j] >= LEAST_SHARE * total]
    is_finite = math.isfinite(total)
    return [
        {
            "name": view.features[j],
            "value": row_value(view, j, row[j]),
            "share": float(parts[j] / total) if is_finite else None,
        }
        for j in order
    ]


def radius_text(radius: float) -> str:
    """How far numbers may move without another label, with the digits that mean something.

    Examples
    --------
    >>> radius_text(1.0), radius_text(0.1234), radius_text(0.0)
    ('1 spread', '0.12 spreads', '')
    """
    if math.isinf(radius):
        return "however far they move"
    return "" if radius <= 0 else spreads_text(radius)


def unusual_text(scale: NoveltyScale, novelty: float) -> str:
    """How unusual a row is among the training rows; as ``unusualText`` in what_if.js.

    Examples
    --------
    >>> unusual_text(NoveltyScale(np.linspace(0, 1, 101), None), 0.975)
    'more unusual than 97 % of the training rows'
    >>> unusual_text(NoveltyScale(np.linspace(0, 1, 101), None), 0.005)
    'at least 99 % of the training rows are at least as unusual'
    >>> unusual_text(NoveltyScale(np.zeros(0), 2.0), 5.0)
    '2.5 times the usual novelty'
    """
    share = scale.share(novelty)
    if share is not None:
        if share == 1:
            return "more unusual than all training rows"
        if share == 0:
            return "at least 99 % of the training rows are at least as unusual"  # shares are rounded down
        return f"more unusual than {100 * share:.0f} % of the training rows"
    if scale.usual is None or not scale.usual > 0:
        return "nothing to compare with"
    times = novelty / scale.usual
    return "beyond all numbers" if not math.isfinite(times) else f"{times:.2g} times the usual novelty"
