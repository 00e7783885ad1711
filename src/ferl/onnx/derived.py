"""Derived columns in ONNX: the arithmetic of ferl._tables.derived in standard operators."""

from __future__ import annotations

import numpy as np

from ferl._tables import Derived, Missing
from ferl._tables.derived import MOST_DAYS, CategoryEvidence, DatePart, DayEvidence, KnownDate
from ferl.onnx.graph import Graph, Operand, Value

_MOST_LISTED = 1_000_000  # days from the first to the last of which each has an entry in a table


def add_derived(graph: Graph, own: Derived, values: Value) -> Value:
    """A derived column from the values of its feature; both have the shape (n_rows, 1)."""
    if isinstance(own, Missing):
        return graph.cast(graph("IsNaN", values), "float64")
    if isinstance(own, CategoryEvidence):
        n = len(own.evidence) - 1
        code = graph("Where", graph("IsNaN", values), n + 1.0, values)  # n: what training did not have
        table = np.array([*own.evidence[:n], 0.0, own.evidence[n]])
        return graph("Gather", table, graph.cast(code, "int64"), axis=0)
    if isinstance(own, KnownDate):
        return graph("Where", graph("IsNaN", values), np.nan, graph.between(values, own.first, own.last))
    is_known = graph("LessOrEqual", graph("Abs", values), MOST_DAYS)
    days = graph("Where", is_known, values, 0.0)
    if isinstance(own, DayEvidence):
        return _day(graph, own, is_known, graph("Floor", days))
    if isinstance(own, DatePart):
        return graph("Where", is_known, _part(graph, own.part, days), np.nan)
    raise TypeError(f"{type(own).__name__} has no form in ONNX. Use the model in Python.")


def _day(graph: Graph, own: DayEvidence, is_known: Value, whole: Value) -> Value:
    """The evidence of a day; those that training did not have come first or last in the table."""
    first, n = int(own.days[0]), int(own.days[-1]) - int(own.days[0]) + 1
    if n > _MOST_LISTED:
        same = graph.cast(graph("Equal", whole, own.days[None, :].astype(np.float64)), "float64")
        found = graph.total(graph("Mul", same, own.evidence[None, :]), axis=1)
    else:
        table = np.zeros(n + 2)
        table[own.days - first + 1] = own.evidence
        place = graph.between(graph("Sub", whole, first - 1.0), 0.0, n + 1.0)
        found = graph("Gather", table, graph.cast(place, "int64"), axis=0)
    return graph("Where", is_known, found, 0.0)


def _part(graph: Graph, part: str, days: Value) -> Value:
    """A part of dates that are known."""
    whole = graph("Floor", days)
    if part == "weekday":
        return _rest(graph, graph("Add", whole, 3.0), 7.0)
    if part == "hour":
        seconds = graph("Mul", graph("Sub", days, whole), 86_400.0)
        return graph("Div", graph("Floor", graph("Add", seconds, 0.5)), 3600.0)
    # The civil calendar, whose years begin in March so that the day of a leap year comes last.
    day = graph("Add", whole, 719_468.0)  # since the first of March of year 0
    era = _whole(graph, day, 146_097.0)  # of 400 years
    day = graph("Sub", day, graph("Mul", era, 146_097.0))
    leaps = graph("Sub", _whole(graph, day, 36_524.0), _whole(graph, day, 1460.0))
    year = _whole(graph, graph("Sub", graph("Add", day, leaps), _whole(graph, day, 146_096.0)), 365.0)
    leap_days = graph("Sub", _whole(graph, year, 4.0), _whole(graph, year, 100.0))
    day = graph("Sub", day, graph("Add", graph("Mul", year, 365.0), leap_days))  # of the year, from 0
    if part == "month":
        month = _whole(graph, graph("Add", graph("Mul", day, 5.0), 2.0), 153.0)  # March is 0
        return _rest(graph, graph("Add", month, 2.0), 12.0)
    is_leap = graph("And", _divides(graph, year, 4.0), graph("Not", _divides(graph, year, 100.0)))
    is_leap = graph("Or", is_leap, graph("Equal", year, 0.0))  # year: of an era
    of_spring = graph("Add", day, graph("Where", is_leap, 61.0, 60.0))  # before it are January and February
    return graph("Where", graph("Less", day, 306.0), of_spring, graph("Sub", day, 305.0))


def _whole(graph: Graph, value: Operand, by: float) -> Value:
    return graph("Floor", graph("Div", value, by))


def _rest(graph: Graph, value: Value, by: float) -> Value:
    return graph("Sub", value, graph("Mul", _whole(graph, value, by), by))


def _divides(graph: Graph, value: Value, by: float) -> Value:
    return graph("Equal", _rest(graph, value, by), 0.0)
