"""The figures a table is read for: ours beside the paper's, a rival's or the goal, and which of the two is better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ferl_bench.rows import Measure, Row, partial_rows

PAPER, GOAL = "the paper", "the goal"


@dataclass(frozen=True)
class Headline:
    """One figure of ours, and what it is compared with.

    Attributes
    ----------
    what : str
        What is measured, and of which model.
    ours : float
        The figure, in the units of the table.
    theirs : float
        What it is compared with, in the same units.
    whose : str
        `PAPER`, `GOAL`, or the name of a rival in the same run.
    more_is_better : bool
        Direction of the comparison.
    decimals : int
        Decimals in print; a difference that they do not show is no difference.
    """

    what: str
    ours: float
    theirs: float
    whose: str = PAPER
    more_is_better: bool = True
    decimals: int = 2

    @property
    def is_behind(self) -> bool:
        """Whether ours is worse, as printed.

        Examples
        --------
        >>> from ferl_bench.headline import Headline
        >>> Headline("accuracy", 83.0, 84.0).is_behind
        True
        >>> Headline("error", 0.1001, 0.0999, more_is_better=False).is_behind
        False
        """
        gain = round(self.ours, self.decimals) - round(self.theirs, self.decimals)
        return gain < 0 if self.more_is_better else gain > 0

    def cells(self) -> list[str]:
        """What, ours, theirs and whose, as text."""
        figures = (self.ours, self.theirs)
        return [self.what, *(f"{figure:.{self.decimals}f}" for figure in figures), self.whose]

    def as_json(self) -> dict[str, object]:
        """Return a plain dict."""
        return {**asdict(self), "is_behind": self.is_behind}

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Headline:
        """Return the headline that `as_json` wrote."""
        return cls(**{field.name: entry[field.name] for field in fields(cls)})


def goal(what: str, value: float, target: float, more_is_better: bool = False) -> Headline:
    """Return a figure beside the goal that was set for it."""
    return Headline(what, value, target, GOAL, more_is_better=more_is_better)


def against_paper(
    rows: Sequence[Row], names: Sequence[str], measures: Sequence[tuple[Measure, bool]]
) -> list[Headline]:
    """Compare methods with their own figures in the paper.

    Parameters
    ----------
    rows : sequence of Row
        The rows of a table.
    names : sequence of str
        Methods to compare; those without a row are left out.
    measures : sequence of (Measure, bool)
        Measures, and whether more of it is better.

    Returns
    -------
    list of Headline
    """
    result = []
    for row in _named(rows, names):
        for measure, more in measures:
            ours = row.centre(measure.key)
            if ours is not None and measure.key in row.method.paper:
                theirs = row.method.paper[measure.key]
                result.append(_compared(row, measure, ours, theirs, PAPER, more))
    return result


def against_best(rows: Sequence[Row], name: str, measures: Sequence[tuple[Measure, bool]]) -> list[Headline]:
    """Compare one method with the best of the others that are not ours, measure by measure.

    A rival that lacks data sets is not among them, for its mean is of others; see `against_partial`.
    """
    result = []
    for row in _named(rows, [name]):
        whole = [other for other in rows if set(other.data_sets) >= set(row.data_sets)]
        for measure, more in measures:
            ours = row.centre(measure.key)
            rivals = {
                other.method.name: value
                for other in whole
                if not other.method.is_ours and (value := other.centre(measure.key)) is not None
            }
            if ours is not None and rivals:
                best = (max if more else min)(rivals, key=lambda rival: rivals[rival])
                result.append(_compared(row, measure, ours, measure.scale * rivals[best], best, more))
    return result


def against_partial(rows: Sequence[Row], name: str, measures: Sequence[tuple[Measure, bool]]) -> list[Headline]:
    """Compare one method with each rival that lacks data sets, on those that both have."""
    result = []
    for row in _named(rows, [name]):
        for other in partial_rows(rows):
            if other.method.is_ours:
                continue
            ours, theirs = row.on(other.data_sets), other.on(row.data_sets)
            whose = f"{other.method.name}, on {len(ours.data_sets)} sets"
            for measure, more in measures:
                ours_value, value = ours.centre(measure.key), theirs.centre(measure.key)
                if ours_value is not None and value is not None:
                    result.append(_compared(row, measure, ours_value, measure.scale * value, whose, more))
    return result


def _compared(row: Row, measure: Measure, ours: float, theirs: float, whose: str, more: bool) -> Headline:
    what = f"{row.method.name}: {measure.title}"
    return Headline(what, measure.scale * ours, theirs, whose, more, measure.decimals)


def _named(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    return [row for name in names for row in rows if row.method.name == name]
