"""Groups of rows in a report: how answers fare by the values of one column."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ferl._tables.columns import Column
from ferl._util.text import shown_line, shown_names
from ferl.metrics.comparison import SMALL_GROUP, count_groups, group_rows, positive_index
from ferl.report.table_reading import TableReading
from ferl.report.view import View

MAX_CLASSES = 4  # whose recall has a column


@dataclass(frozen=True, eq=False)
class Groups:
    """What rows are grouped by.

    Attributes
    ----------
    name : str
        Of the column.
    column : Column
        Its values, one for each row of the table.
    """

    name: str
    column: Column


def group_summary(view: View, reading: TableReading, groups: Groups | None) -> dict[str, Any] | None:
    """The table of groups.

    Parameters
    ----------
    view : View
        The model.
    reading : TableReading
        The table, read.
    groups : Groups or None
        What its rows are grouped by; None: by nothing.

    Returns
    -------
    dict or None
    """
    if groups is None or not reading.n_rows:
        return None
    answers = reading.answers()
    names, codes = group_rows(groups.column)
    name, names = _in_words(view, groups.name, names)
    positive = positive_index(view.classes)
    found = count_groups(
        answers.truth, answers.label, answers.abstains, shown_names(names), codes, len(view.classes), positive
    )
    rows = [asdict(own) for own in found]
    return {
        "name": shown_line(name, 60),
        "rows": rows,
        "positive": None if positive is None else view.classes[positive],
        "recall_of": list(range(len(view.classes))) if len(view.classes) <= MAX_CLASSES else [],
        "has_labels": any(own.n_labelled for own in found),
        "small": SMALL_GROUP,
        "n_small": sum(own.is_small for own in found),
        "gap": _gap(rows),
    }


def _in_words(view: View, name: str, values: list[str]) -> tuple[str, list[str]]:
    """What people call a column and its values, where it is a feature that came with words."""
    known = view.model.schema.names or ()
    if name not in known:
        return name, values
    feature = known.index(name)
    kind = view.model.column_kind(feature)
    return view.features[feature], [str(kind.values.get(value, value)) for value in values]


def _gap(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The groups of lowest and highest accuracy, small ones left out; None where there are not two."""
    known = [own for own in rows if own["accuracy"] is not None and not own["is_small"]]
    if len(known) < 2:
        return None
    low, high = (choose(known, key=lambda own: own["accuracy"]) for choose in (min, max))
    overlaps = low["accuracy_range"][1] >= high["accuracy_range"][0]
    return {
        "low": low["group"],
        "low_accuracy": low["accuracy"],
        "high": high["group"],
        "high_accuracy": high["accuracy"],
        "overlaps": overlaps,
    }
