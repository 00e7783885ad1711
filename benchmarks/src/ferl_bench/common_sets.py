"""Methods that have not all data sets: ours against each of them on the data sets that both have."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from ferl_bench.render import Section
from ferl_bench.rows import Measure, Row, partial_rows
from ferl_bench.statistics import Difference, paired_difference

TITLE = "Methods with fewer data sets, on those that they have"
HEADER = ["Against", "Sets", "Measure", "Theirs", "Ours", "Ours minus theirs", "Won", "p"]
NOTES = (
    "A mean over fewer data sets does not compare with the others: too slow or too large data sets are left out of it. "
    "Both means here are over the same data sets. In brackets: 95 % bootstrap interval; won: data sets on which ours "
    "is better / equal / worse; p: Wilcoxon's signed-rank test, two-sided, not corrected.",
)


def common_sets_section(rows: Sequence[Row], ours: str, measures: Sequence[tuple[Measure, bool]]) -> list[Section]:
    """Return a section with a line for each rival that lacks data sets, and each measure; none when nobody does.

    Parameters
    ----------
    rows : sequence of Row
        The rows of a table.
    ours : str
        The method that is compared.
    measures : sequence of (Measure, bool)
        Measures, and whether more of it is better.

    Returns
    -------
    list of Section
        One or none.
    """
    our_row = next((row for row in rows if row.method.name == ours), None)
    body = []
    for row in partial_rows(rows):
        names = [
            name for name in row.data_sets if our_row is not None and row is not our_row and name in our_row.data_sets
        ]
        for measure, more in measures if names else ():
            first, second = (_scores(one, names, measure) for one in (our_row, row))
            pair = paired_difference(first, second)
            means = [f"{fmean(scores):.{measure.decimals}f}" for scores in (second, first)]
            body.append([row.method.name, str(len(names)), measure.title, *means, *_cells(pair, more)])
    return [Section(f"{TITLE}: {ours}", HEADER, body, NOTES)] if body else []


def _scores(row: Row | None, names: Sequence[str], measure: Measure) -> list[float]:
    return [] if row is None else [measure.scale * row.data_sets[name][measure.key] for name in names]


def _cells(pair: Difference, more_is_better: bool) -> list[str]:
    counts = (pair.wins, pair.ties, pair.losses)[:: 1 if more_is_better else -1]
    difference = f"{pair.mean:+.2f} [{pair.low:+.2f}, {pair.high:+.2f}]"
    return [difference, " / ".join(map(str, counts)), f"{pair.p_value:.2g}"]
