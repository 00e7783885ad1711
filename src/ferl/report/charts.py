"""Drawings by templates. Rules that add up have a curve or a list of categories for each feature, a map for each pair.

Curves show weights of evidence less their mean over the training rows. Two classes: the log-odds of the second one.
Three and more: one line for each class. All curves share one scale, so that the eye can compare features.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ferl._models.rule_model import RuleModel
from ferl._models.shapes import Curve, Interaction, Shapes, cell_edges, is_supported, kept_rows
from ferl._tell.conditions import value_at
from ferl._tell.curves import curve_lines, curve_value, is_binary
from ferl._tell.page import blocks_html
from ferl._tell.statements import Style, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import number_text

LEFT, RIGHT, TOP, BOTTOM = 46, 312, 10, 130  # of the plot in its drawing, 320 wide and 150 high
MAP_LEFT = 70  # of a map, whose upward axis may have the names of categories
DENSITY = 34  # height of the fullest bin
N_BINS = 24
MAX_LINES = 6  # classes
MAX_CATEGORIES = 20
MAX_MAPS = 25
LEAST_SHOWN = 0.005  # weight that two decimals show
N_CELLS = 12  # of a map of rules, along each feature
MAX_NAMED_CELLS = 24  # categories along one side of a map
MAX_TICKS = 4, 8  # categories that there is room to name, across and upwards
PALER = 0.35  # cells without training rows, beside others


def shape_charts(model: RuleModel, style: Style, shapes: Shapes) -> dict[str, Any]:
    """All charts of a model, as numbers and text.

    Parameters
    ----------
    model : RuleModel
        The model.
    style : Style
        The names that readers see.
    shapes : Shapes
        Its curves and interactions.

    Returns
    -------
    dict
        ``curves`` and ``maps``, the most important first, and ``top``, the weight where the scale of all curves ends.
    """
    kept = kept_rows(model)
    top = max([float(np.abs(_drawn(curve.evidence - curve.mean)).max()) for curve in shapes.curves] + [1e-9])
    total = sum(shape.importance for shape in shapes.all) or 1.0
    curves = [
        _titled(model, style, curve, total) | _curve_chart(model, style, curve, kept[:, curve.feature], top)
        for curve in shapes.curves
    ]
    # A map has no room for more categories.
    many = {feature for feature, names in model.category_names.items() if len(names) > MAX_NAMED_CELLS}
    pairs = [
        interaction
        for interaction in shapes.interactions
        if len(interaction.features) == 2 and not many & set(interaction.features)
    ]
    maps = [_titled(model, style, pair, total) | _map_chart(model, pair) for pair in pairs[:MAX_MAPS]]
    return {"curves": curves, "maps": maps, "top": weight_text(top).lstrip("+")}


def _drawn(evidence: Floats) -> Floats:
    """What is drawn of weights of evidence, shape (..., n_lines): the log-odds of two classes, else all classes."""
    return np.asarray(evidence[..., 1:] - evidence[..., :1] if evidence.shape[-1] == 2 else evidence)


def _titled(model: RuleModel, style: Style, shape: Curve | Interaction, total: float) -> dict[str, Any]:
    return {
        "names": [style.names[feature] for feature in shape.features],
        "importance": shape.importance / total,
        "rules": [model.numbers[rule] for rule in shape.rules],
        "has_picture": bool(shape.pictures),
        "missing": None,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------------------


def _curve_chart(model: RuleModel, style: Style, curve: Curve, kept: Floats, top: float) -> dict[str, Any]:
    missing, known = curve.missing - curve.mean, kept[~np.isnan(kept)]
    is_shown = model.had_missing(curve.feature) and np.abs(missing).max() >= LEAST_SHOWN
    chart = {"feature": curve.feature, "missing": style.weight(missing) if is_shown else None}
    if curve.is_categorical or is_binary(model, curve):
        return chart | {"kind": "category", "caption": ""} | _category_chart(style, curve, known, top)
    caption = curve_lines(style, curve)[1].strip()
    caption = caption[:1].upper() + caption[1:]
    return chart | {"kind": "number", "caption": caption} | _line_chart(model, curve, known, top)


def _line_chart(model: RuleModel, curve: Curve, known: Floats, top: float) -> dict[str, Any]:
    low, high = curve.seen if np.isfinite(curve.seen).all() else (float(curve.values[0]), float(curve.values[-1]))
    low, high = (low, high) if low < high else (low - 1.0, high + 1.0)  # never empty
    inside = curve.values[(curve.values > low) & (curve.values < high)]
    values = np.concatenate([[low], inside, [high]])
    weights = _drawn(curve.at(values) - curve.mean)
    x, y = (
        LEFT + (RIGHT - LEFT) * (values - low) / (high - low),
        (TOP + BOTTOM) / 2 - weights / top * (BOTTOM - TOP) / 2,
    )
    return {
        "lines": [
            {"class": 1 if weights.shape[1] == 1 else c, "points": _points(x, y[:, c])} for c in _drawn_classes(weights)
        ],
        "low": low,
        "high": high,
        "ticks": _end_texts(model, curve.feature, low, high),
        "density": _density(known, low, high),
    }


def _points(x: Floats, y: Floats) -> str:
    """A line as the points of a drawing, without points that would be invisible."""
    result: list[tuple[float, float]] = []
    for item in zip(x.round(1).tolist(), y.round(1).tolist(), strict=True):
        for axis in (0, 1):  # the middle one of three points side by side, or one above the other
            if len(result) > 1 and result[-2][axis] == result[-1][axis] == item[axis]:
                result.pop()
        result += [item] if result[-1:] != [item] else []
    return " ".join(f"{a:g},{b:g}" for a, b in result)


def _end_texts(model: RuleModel, feature: int, low: float, high: float) -> list[str]:
    """The ends of an axis as people write them; numbers with the digits that its length gives meaning to."""
    ends = [float(value_at(end, (high - low) / 50)) for end in (low, high)]
    if model.column_kinds[feature].is_date:
        ends = [float(np.floor(low)), float(np.floor(high))]  # days: there is no room for the time of day
    return [number_text(model.number(feature, end)) for end in ends]


def _drawn_classes(values: Floats) -> list[int]:
    """The lines that move most, in the order of the classes."""
    return sorted(np.argsort(-np.ptp(values, axis=0), kind="stable")[:MAX_LINES].tolist())


def _density(known: Floats, low: float, high: float) -> list[dict[str, float]]:
    """Bars: how many of the training rows that the model keeps have such values."""
    counts, _ = np.histogram(known, bins=N_BINS, range=(low, high))
    width = (RIGHT - LEFT) / N_BINS
    heights = DENSITY * counts / max(int(counts.max()), 1)
    bars = [
        (LEFT + k * width, width, BOTTOM - height, height) for k, height in enumerate(heights.tolist()) if height > 0
    ]
    return [dict(zip(("x", "width", "y", "height"), np.round(bar, 2).tolist(), strict=True)) for bar in bars]


def _category_chart(style: Style, curve: Curve, known: Floats, top: float) -> dict[str, Any]:
    """A line for each category: how many rows have it, and bars to both sides of zero."""
    evidence = curve.evidence - curve.mean
    weights = _drawn(evidence)
    counts = np.bincount(known.astype(np.intp), minlength=len(weights))[: len(weights)]
    shown = sorted(np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:MAX_CATEGORIES].tolist())
    classes = _drawn_classes(weights)
    rows = [
        {
            "code": k,
            "name": curve_value(style, curve, k),
            "share": float(counts[k] / counts.sum()) if counts.sum() else None,
            "bars": [
                {
                    "class": int(weights[k, c] > 0) if weights.shape[1] == 1 else c,
                    "x": round(50 + min(weights[k, c] / top, 0.0) * 50, 2),  # from the middle of a drawing 100 wide
                    "width": round(abs(weights[k, c] / top) * 50, 2),
                }
                for c in classes
            ],
            "text": style.weight(evidence[k]),
        }
        for k in shown
    ]
    return {"rows": rows, "n_hidden": len(weights) - len(shown)}


# ---------------------------------------------------------------------------------------------------------------------
# Maps
# ---------------------------------------------------------------------------------------------------------------------


def _map_chart(model: RuleModel, shape: Interaction) -> dict[str, Any]:
    """Cells, each in the colour of the class that it supports, the fuller the more; paler without training rows.

    Weights are not compared with their mean: a cell to which nothing is added stays blank.
    """
    (x, x_edges, x_ends), (y, y_edges, y_ends) = (_axis(model, shape, axis) for axis in (0, 1))
    weights = _drawn(shape.grid(x, y))
    top = max(float(np.abs(weights).max()), 1e-9)
    if weights.shape[2] == 1:  # two classes
        classes, opacity = (weights[..., 0] > 0).astype(int), np.abs(weights[..., 0]) / top
    else:
        classes, opacity = weights.argmax(axis=2), np.maximum(weights.max(axis=2), 0.0) / top
    opacity = (opacity * np.where(is_supported(model, shape, x, y), 1.0, PALER)).round(2)
    left = np.round(MAP_LEFT + (RIGHT - MAP_LEFT) * x_edges, 1).tolist()
    up = np.round(BOTTOM - (BOTTOM - TOP) * y_edges, 1).tolist()
    paths: dict[tuple[int, float], list[str]] = {}  # cells that look the same are one shape, which saves most bytes
    for i, k in np.argwhere(opacity >= 0.02).tolist():
        cell = f"M{left[i]:g} {up[k]:g}H{left[i + 1]:g}V{up[k + 1]:g}H{left[i]:g}z"
        paths.setdefault((int(classes[i, k]), float(opacity[i, k])), []).append(cell)
    return {
        "cells": [{"class": c, "opacity": item, "path": "".join(d)} for (c, item), d in sorted(paths.items())],
        "ticks": [x_ends, y_ends],
        "is_named": [len(x_ends) == len(x), len(y_ends) == len(y)],
        "top": weight_text(top).lstrip("+"),
    }


def _axis(model: RuleModel, shape: Interaction, axis: int) -> tuple[Floats, Floats, list[str]]:
    """Values in the middle of cells, or codes of categories; the edges from 0 to 1; what stands at the two ends."""
    feature = shape.features[axis]
    if feature in model.category_names:
        names = [str(name) for name in model.category_names[feature]]
        shown = names if len(names) <= MAX_TICKS[axis] else [names[0], names[-1]]
        return np.arange(len(names), dtype=np.float64), np.linspace(0, 1, len(names) + 1), shown
    low, high = model.ranges[feature].tolist()
    edges = np.linspace(low, high, N_CELLS + 1)
    if shape.pictures and low < high:
        edges = cell_edges(model, shape, axis, low, high, N_CELLS)
    places = (edges - low) / (high - low) if low < high else np.linspace(0, 1, len(edges))
    return (edges[:-1] + edges[1:]) / 2, places, _end_texts(model, feature, low, high)


# ---------------------------------------------------------------------------------------------------------------------
# Templates
# ---------------------------------------------------------------------------------------------------------------------


@cache
def templates() -> Environment:
    """The templates, compiled once."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "rounded": rounded}
    environment.filters["blocks"] = lambda section: Markup(blocks_html(section))
    return environment


def drawn(file: str, name: str, *values: Any) -> str:
    """What a macro of a template draws."""
    return str(getattr(templates().get_template(f"{file}.html").module, name)(*values))


def percent(share: float | None, decimals: int = 1) -> str:
    """A share in percent; a dash for None.

    Examples
    --------
    >>> percent(0.8126), percent(1.0), percent(None), percent(0.25, 0), percent(0.996, 0), percent(0.9996)
    ('81.3 %', '100 %', '-', '25 %', 'more than 99 %', 'more than 99.9 %')
    """
    if share is None:
        return "-"
    if share in (0, 1):
        return f"{100 * share:.0f} %"
    least = 10.0**-decimals  # percent that these decimals tell from nothing, and from all
    if 100 * share < least / 2:
        return f"less than {least:g} %"
    return f"{100 * share:.{decimals}f} %" if 100 * share < 100 - least / 2 else f"more than {100 - least:g} %"


def rounded(value: float) -> str:
    """A weight of rows: one decimal of small ones, none of large ones.

    Examples
    --------
    >>> rounded(12.34), rounded(12345.6)
    ('12.3', '12,346')
    """
    return f"{value:.1f}" if value < 1000 else f"{value:,.0f}"
