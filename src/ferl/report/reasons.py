"""Why a row is listed: what it was answered, and the reason in a sentence."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl.evidence import evidence_of_rows
from ferl.explanation import Explanation
from ferl.explanation.build import explain_row
from ferl.explanation.row import OneRow
from ferl.explanation.usual import novelty_parts
from ferl.explanation.words import number_text
from ferl.report.names import shown_line
from ferl.report.table_reading import NO_LABEL, OTHER_LABEL, Rows
from ferl.report.tree_view import View

Floats = NDArray[np.float64]
MAX_REASON = 600  # letters
MAX_PARTS = 4  # features that are named
LEAST_SHARE = 0.1  # of a row's novelty that a named feature makes


def listed_row(view: View, rows: Rows, place: int) -> dict[str, Any]:
    """One row of the table as the lists of abstained and novel rows show it.

    Parameters
    ----------
    view : View
        The model.
    rows : Rows
        Rows that were kept.
    place : int
        Which of them.

    Returns
    -------
    dict
    """
    estimator, row = view.estimator, rows.values[place : place + 1]
    evidence = evidence_of_rows(estimator, row)
    inside = evidence.prediction_set()[0]
    label = int(evidence.pignistic[0].argmax())
    parts = novelty_parts(estimator, row)
    truth = int(rows.truth[place])
    return {
        "number": int(rows.number[place]) + 1,
        "truth": view.classes[truth] if truth >= 0 else "another label" if truth == OTHER_LABEL else None,
        "is_wrong": truth not in (label, NO_LABEL),
        "label": view.classes[label],
        "class": label,
        "probability": float(evidence.pignistic[0, label]),
        "set": [name for name, is_inside in zip(view.classes, inside, strict=True) if is_inside],
        "ignorance": float(evidence.ignorance[0]),
        "novelty": float(parts.sum()),
        "parts": _named_parts(view, row[0], parts),
        "reason": shown_line(_story(view, rows, place).summary, MAX_REASON),
    }


def _story(view: View, rows: Rows, place: int) -> Explanation:
    one = OneRow(rows.values[place : place + 1], rows.unseen[place])
    return explain_row(view.estimator, one, counterfactual=False)


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
            "value": value_text(view, j, row[j]),
            "share": float(parts[j] / total) if is_finite else None,
        }
        for j in order
    ]


def value_text(view: View, feature: int, value: float) -> str:
    """A value of a row, in words."""
    if math.isnan(value):
        return "missing"
    if view.estimator.columns_.levels[feature] is None:
        return number_text(value)
    levels = view.style.levels.get(feature, ())
    return str(levels[int(value)]) if value < len(levels) else "not in training"
