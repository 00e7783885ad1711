"""Verdicts: what figures mean, in one sentence each."""

from __future__ import annotations

import math

UNUSUAL, VERY_UNUSUAL = 0.95, 0.99  # shares of the training rows
LITTLE_MARGIN, WIDE_MARGIN = 0.1, 0.5  # spreads; over thirty tables the median radius of a deep tree is a third
NOTICED = 0.1  # a change of a probability that people notice
STEADY, STEEP = 0.1, 0.01  # spreads that such a change takes at least


def spreads_text(distance: float) -> str:
    """A distance in spreads, with two digits that say something.

    Examples
    --------
    >>> spreads_text(1.0), spreads_text(0.5), spreads_text(123.4), spreads_text(1234567.0)
    ('1 spread', '0.5 spreads', '123 spreads', '1234567 spreads')
    """
    text = f"{distance:.2g}" if distance < 100 else f"{distance:.0f}"
    return f"{text} {'spread' if text == '1' else 'spreads'}"


def novelty_verdict(rank: float) -> str:
    """How unusual a row is among the training rows; without a full stop.

    Parameters
    ----------
    rank : float
        Share of the training rows that are less novel, in whole percents, rounded down.

    Returns
    -------
    str

    Examples
    --------
    >>> novelty_verdict(0.38)
    'Ordinary: more unusual than 38 % of the training rows'
    >>> novelty_verdict(0.97)
    'Unusual: more unusual than 97 % of the training rows'
    >>> novelty_verdict(1.0)
    'Very unusual: more unusual than all training rows that were compared'
    >>> novelty_verdict(0.0)
    'Ordinary: at least 99 % of the training rows are at least as unusual'
    """
    word = "Very unusual" if rank >= VERY_UNUSUAL else "Unusual" if rank >= UNUSUAL else "Ordinary"
    if rank >= 1:
        return f"{word}: more unusual than all training rows that were compared"
    if rank <= 0:
        return f"{word}: at least 99 % of the training rows are at least as unusual"
    return f"{word}: more unusual than {100 * rank:.0f} % of the training rows"


def margin_verdict(label: str, spreads: float) -> str:
    """How safe a label is, from the radius in spreads in which it is proven to stay.

    Parameters
    ----------
    label : str
        The label.
    spreads : float
        How far all numbers may move at once, in standard deviations over the training rows.

    Returns
    -------
    str

    Examples
    --------
    >>> margin_verdict("ill", 0.05)
    'Verdict: little margin. The label stays ill while no number moves by more than 0.05 spreads.'
    >>> margin_verdict("ill", 0.0)
    'Verdict: no margin. The smallest change may make the label another one than ill.'
    """
    if math.isinf(spreads):
        return f"Verdict: certain. The label stays {label} however far the numbers move."
    if spreads <= 0:
        return f"Verdict: no margin. The smallest change may make the label another one than {label}."
    word = "little" if spreads < LITTLE_MARGIN else "some" if spreads < WIDE_MARGIN else "wide"
    return (
        f"Verdict: {word} margin. The label stays {label} while no number moves by more than {spreads_text(spreads)}."
    )


def steadiness_verdict(per_spread: float, radius: float = math.nan) -> str:
    """How steady answers are.

    Parameters
    ----------
    per_spread : float
        The most by which the probability of a class changes where all numbers move by one spread, as if it changed
        evenly; NaN: not known.
    radius : float, default=nan
        How far all numbers of a row may move before its label can change, in spreads, the median over rows; NaN: no
        rows were given, or nothing can be proven of them.

    Returns
    -------
    str

    Examples
    --------
    >>> steadiness_verdict(0.5)[:95]
    'Verdict: steady. No probability changes by more than 10 points while no number moves by more th'
    >>> print(steadiness_verdict(0.5, radius=0.62))
    Verdict: robust. Half of the rows keep their label, proven, while no number moves by more than 0.62 spreads.
    """
    if not math.isnan(radius):
        word = "fragile" if radius < LITTLE_MARGIN else "fairly robust" if radius < WIDE_MARGIN else "robust"
        far = "however far the numbers move"
        if math.isfinite(radius):
            far = f"while no number moves by more than {spreads_text(radius)}"
        return f"Verdict: {word}. Half of the rows keep their label, proven, {far}."
    if math.isnan(per_spread) or math.isinf(per_spread):
        return "Verdict: nothing is proven for all rows at once. stability_report(X) says what is proven of rows."
    if per_spread == 0:
        return "Verdict: steady. No move of the numbers changes any probability."
    move = NOTICED / per_spread
    word = "steady" if move >= STEADY else "moderate" if move >= STEEP else "steep"
    return (
        f"Verdict: {word}. No probability changes by more than {points_text(NOTICED)} while no number moves by more "
        f"than {spreads_text(move)}, where all gates are open."
    )


def points_text(share: float) -> str:
    """A change of a share in percentage points."""
    points = 100 * abs(share)
    if 0 < points < 0.05:
        return "0.1 points"
    return f"{points:.1f} points" if points < 9.95 else f"{points:.0f} points"
