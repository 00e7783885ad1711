"""Charts of a wide model for the page: a curve or a list of categories for each feature, a map for each pair.

All charts tell weights of evidence less their mean over the training rows. Of two classes that is the log-odds of the
second one; of more, one line for each class. Curves share one scale, so that the eye compares features.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._models.shapes import Curve, Interaction, Shapes, kept_rows
from ferl._tell.conditions import value_at
from ferl._tell.curves import curve_lines, curve_value, is_binary
from ferl._tell.statements import Style, weight_text
from ferl._util.arrays import Floats
from ferl._util.text import number_text

LEFT, RIGHT, TOP, BOTTOM = 38, 312, 10, 130  # of the plot in its drawing, 320 wide and 150 high
MAP_LEFT = 70  # of a map, whose upward axis may have the names of categories
DENSITY = 34  # height of the fullest bin
N_BINS = 24
MAX_LINES = 6  # classes
MAX_CATEGORIES = 20
MAX_MAPS = 12
LEAST_SHOWN = 0.005  # weight that two decimals show
N_CELLS = 12  # of a map, along each feature


def shape_charts(style: Style, shapes: Shapes) -> dict[str, Any]:
    """All charts of a wide model, as numbers and text.

    Parameters
    ----------
    style : Style
        The model and the names that readers see.
    shapes : Shapes
        Its curves and interactions.

    Returns
    -------
    dict
        ``curves`` and ``maps``, the most important first, and ``top``, the weight where the scale of all curves ends.
    """
    kept = kept_rows(style.model)
    drawn = [(curve, _said(style, curve.evidence - curve.mean)) for curve in shapes.curves]
    top = max([float(np.abs(said).max()) for _, said in drawn] + [1e-9])
    total = sum(shape.importance for shape in shapes.all) or 1.0
    curves = [
        _titled(style, curve, total) | _curve_chart(style, curve, kept[:, curve.feature], top) for curve, _ in drawn
    ]
    pairs = [own for own in shapes.interactions if len(own.features) == 2 and _is_small(style.model, own)]
    maps = [_titled(style, own, total) | _map_chart(style, own) for own in pairs[:MAX_MAPS]]
    return {"curves": curves, "maps": maps, "top": weight_text(top).lstrip("+")}


def _said(style: Style, evidence: Floats) -> Floats:
    """What is drawn of weights of evidence, shape (n, n_lines): the log-odds of two classes, else all classes."""
    return np.asarray(evidence[:, 1:] - evidence[:, :1] if style.is_two else evidence)


def _titled(style: Style, shape: Curve | Interaction, total: float) -> dict[str, Any]:
    return {
        "names": [style.names[feature] for feature in shape.features],
        "importance": shape.importance / total,
        "rules": [rule + 1 for rule in shape.rules],
        "missing": None,
    }


# ---------------------------------------------------------------------------------------------------------------------
# Curves
# ---------------------------------------------------------------------------------------------------------------------


def _curve_chart(style: Style, curve: Curve, kept: Floats, top: float) -> dict[str, Any]:
    chart = {"feature": curve.feature, "missing": _missing(style, curve)}
    known = kept[~np.isnan(kept)]
    if curve.is_categorical or is_binary(style.model, curve):
        return chart | {"kind": "category", "caption": ""} | _category_chart(style, curve, known, top)
    caption = curve_lines(style, curve)[1].strip()
    return (
        chart | {"kind": "number", "caption": caption[:1].upper() + caption[1:]} | _line_chart(style, curve, known, top)
    )


def _missing(style: Style, curve: Curve) -> str | None:
    """What a missing value says; None where training had none, or where it says nothing."""
    evidence = curve.missing - curve.mean
    says_nothing = np.abs(evidence).max() < LEAST_SHOWN
    return style.weight(evidence) if style.model.had_missing(curve.feature) and not says_nothing else None


def _line_chart(style: Style, curve: Curve, known: Floats, top: float) -> dict[str, Any]:
    low, high = _ends(curve)
    inside = curve.values[(curve.values > low) & (curve.values < high)]
    values = np.concatenate([[low], inside, [high]])
    said = _said(style, curve.at(values) - curve.mean)
    x = LEFT + (RIGHT - LEFT) * (values - low) / (high - low)
    lines = [
        {
            "class": 1 if style.is_two else c,
            "points": " ".join(f"{a:.2f},{b:.2f}" for a, b in zip(x, _height(said[:, c], top), strict=True)),
        }
        for c in _drawn_classes(said)
    ]
    density = _density(known, low, high)
    ticks = _end_texts(style.model, curve.feature, low, high)
    return {"lines": lines, "low": low, "high": high, "ticks": ticks, "density": density}


def _end_texts(model: Model, feature: int, low: float, high: float) -> list[str]:
    """The ends of an axis as people write them; numbers with the digits that its length gives meaning to."""
    ends = [float(value_at(end, (high - low) / 50)) for end in (low, high)]
    if model.column_kind(feature).is_date:
        ends = [float(np.floor(low)), float(np.floor(high))]  # days: there is no room for the time of day
    return [number_text(model.number(feature, end)) for end in ends]


def _ends(curve: Curve) -> tuple[float, float]:
    """The range that is drawn: that of training, never empty."""
    low, high = curve.seen if np.isfinite(curve.seen).all() else (float(curve.values[0]), float(curve.values[-1]))
    return (low, high) if low < high else (low - 1.0, high + 1.0)


def _height(said: Floats, top: float) -> Floats:
    middle = (TOP + BOTTOM) / 2
    return np.asarray(middle - said / top * (BOTTOM - TOP) / 2)


def _drawn_classes(said: Floats) -> list[int]:
    """The lines that move most, in the order of the classes."""
    return sorted(np.argsort(-np.ptp(said, axis=0), kind="stable")[:MAX_LINES].tolist())


def _density(known: Floats, low: float, high: float) -> list[dict[str, float]]:
    """Bars: how many of the training rows that the model keeps have such values."""
    counts, _ = np.histogram(known, bins=N_BINS, range=(low, high))
    width = (RIGHT - LEFT) / N_BINS
    heights = DENSITY * counts / max(int(counts.max()), 1)
    return [
        {
            "x": round(LEFT + k * width, 2),
            "width": round(width, 2),
            "y": round(BOTTOM - own, 2),
            "height": round(own, 2),
        }
        for k, own in enumerate(heights.tolist())
        if own > 0
    ]


def _category_chart(style: Style, curve: Curve, known: Floats, top: float) -> dict[str, Any]:
    """A line for each category: how many rows have it, and bars to both sides of zero."""
    said = _said(style, curve.evidence - curve.mean)
    counts = np.bincount(known.astype(np.intp), minlength=len(said))[: len(said)]
    order = np.argsort(-np.abs(said).max(axis=1), kind="stable")
    shown = sorted(order[:MAX_CATEGORIES].tolist())
    classes = _drawn_classes(said)
    rows = [
        {
            "code": k,
            "name": curve_value(style, curve, k),
            "share": float(counts[k] / counts.sum()) if counts.sum() else None,
            "bars": [_bar(said[k, c] / top, int(said[k, c] > 0) if style.is_two else c) for c in classes],
            "text": style.weight(curve.evidence[k] - curve.mean),
        }
        for k in shown
    ]
    return {"rows": rows, "n_hidden": len(said) - len(shown)}


def _bar(share: float, c: int) -> dict[str, Any]:
    """A bar from the middle of a drawing 100 wide."""
    return {"class": c, "x": round(50 + min(share, 0.0) * 50, 2), "width": round(abs(share) * 50, 2)}


# ---------------------------------------------------------------------------------------------------------------------
# Maps
# ---------------------------------------------------------------------------------------------------------------------


def _is_small(model: Model, shape: Interaction) -> bool:
    """Whether categories leave enough room for a map."""
    categories = model.category_names
    return all(len(categories.get(feature, ())) <= N_CELLS for feature in shape.features)


def _map_chart(style: Style, shape: Interaction) -> dict[str, Any]:
    """Cells, each in the colour of the class that it speaks for, the fuller the more."""
    axes = [_axis(style.model, feature) for feature in shape.features]
    said = shape.grid(*(values for values, _ in axes)) - shape.mean
    said = _said(style, said.reshape(-1, said.shape[-1])).reshape(*said.shape[:2], -1)
    top = max(float(np.abs(said).max()), 1e-9)
    across, up = said.shape[:2]
    width, height = (RIGHT - MAP_LEFT) / across, (BOTTOM - TOP) / up
    cells = [
        {"x": round(MAP_LEFT + i * width, 2), "y": round(BOTTOM - (k + 1) * height, 2)}
        | _colour(style, said[i, k], top)
        for i in range(across)
        for k in range(up)
    ]
    return {
        "cells": [cell for cell in cells if cell["opacity"] >= 0.01],
        "width": round(width, 2),
        "height": round(height, 2),
        "ticks": [texts for _, texts in axes],
        "top": weight_text(top).lstrip("+"),
    }


def _axis(model: Model, feature: int) -> tuple[Floats, list[str]]:
    """Values in the middle of cells, or codes of categories; and what stands at the two ends."""
    if feature in model.category_names:
        names = [str(name) for name in model.category_names[feature]]
        return np.arange(len(names), dtype=np.float64), [names[0], names[-1]]
    low, high = model.ranges[feature].tolist()
    edges = np.linspace(low, high, N_CELLS + 1)
    return (edges[:-1] + edges[1:]) / 2, _end_texts(model, feature, low, high)


def _colour(style: Style, said: Floats, top: float) -> dict[str, Any]:
    c = int(said.argmax())
    if style.is_two:
        return {"class": int(said[0] > 0), "opacity": round(abs(float(said[0])) / top, 3)}
    return {"class": c, "opacity": round(max(float(said[c]), 0.0) / top, 3)}
