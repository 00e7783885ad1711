"""Wide rules as a scorecard, and what the page needs to give reason codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ferl._models.rule_model import RuleModel
from ferl._models.shapes import mean_firing
from ferl._tell.curves import Points, ScoreTable, read_score_table
from ferl._tell.reasons import read_reasons
from ferl._util.arrays import Floats
from ferl._util.text import cut
from ferl.report.page_model import numbers
from ferl.report.view import View

POINTS = Points()
MAX_CLASSES = 6  # columns of points that a page has room for
MAX_LETTERS = 300  # of what a line is about
N_REASONS = 4  # for each row; what lenders name at most


def is_card(model: RuleModel) -> bool:
    """Whether the model can be read as a scorecard: rules whose weights add up, for or against several classes."""
    return isinstance(model, RuleModel) and model.n_rules > 0 and len(model.classes) > 1


def scorecard(view: View) -> dict[str, Any] | None:
    """The scorecard, line by line.

    Parameters
    ----------
    view : View
        The model and the names that readers see.

    Returns
    -------
    dict or None
        ``heads`` of the columns of points, ``groups`` of lines on one feature or rule, and ``meaning``, sentences on
        what totals mean. None where the model is no scorecard, or has more classes than a page has columns for.
    """
    if not is_card(view.model) or len(view.classes) > MAX_CLASSES:
        return None
    table, positive = _table(view), 1
    groups: list[dict[str, Any]] = []
    for line in table.with_base():
        if not groups or groups[-1]["name"] != line.name:
            groups.append({"name": line.name, "lines": []})
        groups[-1]["lines"].append({"when": cut(line.when, MAX_LETTERS), "points": POINTS.texts(line)})
    return {
        "heads": [f"Points for {view.classes[1]}"] if len(view.classes) == 2 else view.classes,
        "groups": groups,
        "meaning": POINTS.meaning(view.classes, positive),
    }


def _table(view: View) -> ScoreTable:
    scale = partial(POINTS.scale, positive=1)
    return read_score_table(
        view.style.model, replace(view.style, max_listed=None), scale, partial(scale, offset=POINTS.neutral)
    )


def reason_parts(view: View) -> dict[str, Any] | None:
    """What the page adds up to give reason codes of any row; None for trees.

    Parameters
    ----------
    view : View
        The model and the names that readers see.

    Returns
    -------
    dict or None
        ``candidates`` (the rules behind each possible reason, and the feature that it is about, if it is about one),
        ``usual`` (mean firing of each rule over the training rows), ``unit`` and ``neutral`` points.
    """
    if not is_card(view.model):
        return None
    table = _table(view)
    candidates: list[dict[str, Any]] = [
        {"feature": curve.feature, "rules": list(curve.rules)} for curve in table.curves
    ]
    candidates += [{"feature": None, "rules": [rule]} for rule in table.alone]
    return {
        "candidates": candidates,
        "usual": numbers(np.asarray(mean_firing(view.model))),
        "unit": POINTS.unit,
        "neutral": POINTS.neutral,
        "most": N_REASONS,
    }


def row_reasons(view: View, rows: Floats, label: Sequence[int]) -> list[list[str]]:
    """Reason codes of rows: what cost each of them most on its way to the less probable class.

    Parameters
    ----------
    view : View
        The model and the names that readers see.
    rows : ndarray of shape (n_samples, n_columns)
        The rows.
    label : sequence of int
        Their most probable classes, of two.

    Returns
    -------
    list of list of str
        Empty lists where there are not two classes, which leave no doubt what a row did not get.
    """
    found: list[list[str]] = [[] for _ in label]
    if not is_card(view.model) or len(view.classes) != 2:
        return found
    for wanted, name in enumerate(view.model.classes.tolist()):
        indices = [index for index, own in enumerate(label) if own != wanted]
        if not indices:
            continue
        reasons = read_reasons(view.style.model, rows[indices], N_REASONS, name, feature_names=view.features)
        for index, own in zip(indices, reasons, strict=True):
            found[index] = [cut(reason.text, MAX_LETTERS) for reason in own]
    return found
