"""What a notebook shows: a card of a fitted classifier, and bars beside an explanation."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ferl._models.model import Model
from ferl._models.shapes import feature_importances
from ferl._tell.page import Block, Marked, Section, as_html
from ferl._util.text import counted, listed, percent_text, spoken

MAX_BARS = 8
MAX_CLASSES = 6
_TOWARDS, _AGAINST, _SHARE = "#2f6fd0", "#c27112", "#5b6b82"  # read well on light and on dark ground
_TRACK = '<rect width="100" height="10" fill="currentColor" fill-opacity=".1"/>'


def effect_bars(rows: Sequence[tuple[str, float, str]]) -> Marked:
    """Bars to both sides of a middle line.

    Parameters
    ----------
    rows : sequence of (str, float, str)
        The name of each bar, its length to the right (left: below zero), and its figure in words.

    Returns
    -------
    Marked
        A drawing in HTML; no text in other media.
    """
    most = max([abs(length) for _, length, _ in rows], default=0.0) or 1.0
    drawn = []
    for name, length, text in rows:
        width = 50 * abs(length) / most
        left, colour = (50.0, _TOWARDS) if length >= 0 else (50 - width, _AGAINST)
        bar = f'<rect x="{left:.1f}" width="{width:.1f}" height="10" fill="{colour}"/>'
        drawn.append((name, f'{bar}<path d="M50 0V10" stroke="currentColor" stroke-width=".5"/>', text))
    return _table(drawn)


def share_bars(rows: Sequence[tuple[str, float]]) -> Marked:
    """Bars of names and shares of one, the longest of which fills its line.

    Parameters
    ----------
    rows : sequence of (str, float)
        Names and shares.

    Returns
    -------
    Marked
        A drawing in HTML; no text in other media.
    """
    most = max([share for _, share in rows], default=0.0) or 1.0
    bars = [f'<rect width="{100 * share / most:.1f}" height="10" fill="{_SHARE}"/>' for _, share in rows]
    return _table([(name, bar, percent_text(share)) for (name, share), bar in zip(rows, bars, strict=True)])


def _table(rows: Sequence[tuple[str, str, str]]) -> Marked:
    lines = [
        f"<tr><td>{escape(name)}</td><td><svg viewBox='0 0 100 10' width='180' height='12' preserveAspectRatio='none' "
        f"role='img' aria-label='{escape(text)}'>{_TRACK}{bar}</svg></td><td class='right'>{escape(text)}</td></tr>"
        for name, bar, text in rows
    ]
    return Marked(html=f"<table class='ferl-bars'><tbody>{''.join(lines)}</tbody></table>" if lines else "")


def card_html(model: Model) -> str:
    """A fitted model at a glance: what it predicts, its size, the training rows, and what matters most.

    Parameters
    ----------
    model : Model
        The model.

    Returns
    -------
    str
        A fragment of HTML that needs nothing else.
    """
    labels, target = [spoken(label) for label in model.labels], model.schema.target.name
    classes = listed(labels, "or") if len(labels) <= MAX_CLASSES else f"one of {len(labels):,} classes"
    size = model.size if model.n_terms else "a model without rules"
    predicted = f"{spoken(target)} ({classes})" if target else classes
    verb = "predicts" if model.n_terms <= 1 else "predict"
    importance, names = feature_importances(model), model.feature_names()
    order = [j for j in np.argsort(-importance, kind="stable").tolist() if importance[j] > 0]
    weight = f"{float(model.tree.weight[0]):,.1f}".removesuffix(".0")
    blocks: list[Block] = [f"{size[:1].upper()}{size[1:]} {verb} {predicted}."]
    read = f"reads {len(order):,} of {counted(len(names), 'feature')}"
    facts: list[Block] = [f"Learned from {weight} training rows; {read}."]
    bars = share_bars([(spoken(names[j]), float(importance[j])) for j in order[:MAX_BARS]])
    facts += [bars] if bars.html else []
    facts += [f"{counted(len(order) - MAX_BARS, 'feature')} of smaller importance."] if len(order) > MAX_BARS else []
    return as_html([Section("", tuple(blocks), is_lead=True), Section("What matters", tuple(facts))])
