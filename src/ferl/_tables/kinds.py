"""Kinds of columns: what the values of a column are, and the words that people have for the column and its values.

The words may come from a description of the table, as a mapping or as a file::

    target: {name: deny, values: {"0": no, "1": yes}}
    missing: ["NA", "?"]
    columns:
      glucose: {label: plasma glucose, unit: mg/dl}
      dmi: {values: {"0": no, "1": yes}}
      size: {order: [low, mid, high]}

A file is untrusted input: whatever it holds, reading it ends in a description or in a ValueError that names what is
wrong.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._tables.values import CategoryLookup, date_text, plain_text
from ferl._util.files import read_written
from ferl._util.text import in_words, number_text, shown

NUMBERS = ("binary", "integer", "real")
"""Kinds of numbers, from the narrowest: each kind includes the values of the earlier kinds."""
DATES = ("date", "time")
CODED = (*DATES, "ordered")
"""Kinds whose numbers differ from the values in the table."""
KINDS = (*NUMBERS, *CODED, "category", "unknown")
"""Kinds of the columns of a model."""
MAX_TEXT = 200  # letters of a name, a unit or a meaning
MAX_MARKERS = 100
MAX_VALUES = 10_000


class TableWarning(UserWarning):
    """What ferl takes text of a table for where its type leaves that open: missing values, dates, or categories.

    Parameters
    ----------
    fact : str
        What was found.
    remedy : str, default=""
        What to do about it; the message is the fact and the remedy.
    columns : sequence of str, default=()
        The names of the columns; none where the table has no names.

    Attributes
    ----------
    fact, remedy : str
    columns : tuple of str
    """

    def __init__(self, fact: str, remedy: str = "", columns: Sequence[str] = ()) -> None:
        super().__init__(f"{fact} {remedy}".rstrip())
        self.fact, self.remedy, self.columns = fact, remedy, tuple(columns)


class DescriptionError(ValueError):
    """A description that does not fit its form or the table; the message names the entry and why."""


@dataclass(frozen=True)
class ColumnKind:
    """What is known of a column besides its name and its categories.

    Attributes
    ----------
    name : str
        "binary" (0 and 1), "integer" and "real" numbers; "date" (days) and "time" (dates with a time of day), both
        numbers of days since the beginning of 1970; "ordered" categories, whose numbers are indices of ``order``;
        "category"; "hour", which is derived from dates; "unknown" numbers. While a table is read also "text", which may
        still turn out to spell numbers or dates, and "other text", which must, since the user chose other columns as
        categories.
    order : tuple
        Ordered categories: the values, the lowest first.
    is_zoned : bool
        Whether values of kind "time" are moments in UTC.
    missing : tuple of str
        Text that stands for a missing value, besides None and NaN.
    label, unit : str
        Readable name of the column, and the unit of its numbers; "" if not given.
    values : mapping of str to str
        What values mean, by their text: {"0": "no", "1": "yes"}.
    date_form : str
        The form of dates whose text is not in ISO's form, one of ``DATE_FORMS``: "d.m.y" for example.
    is_cyclic : bool
        Whether the first of ordered categories follows the last, as of weekdays.
    """

    name: str = "unknown"
    order: tuple[Any, ...] = ()
    is_zoned: bool = False
    missing: tuple[str, ...] = ()
    label: str = ""
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    date_form: str = ""
    is_cyclic: bool = False

    @cached_property
    def is_date(self) -> bool:
        """Whether numbers are days since the beginning of 1970."""
        return self.name in DATES

    @cached_property
    def is_ordered(self) -> bool:
        """Whether numbers are indices of ordered categories."""
        return self.name == "ordered"

    @cached_property
    def is_coded(self) -> bool:
        """Whether the numbers that a model reads differ from the values of the table."""
        return self.name in (*CODED, "hour")

    @cached_property
    def is_whole(self) -> bool | None:
        """Whether all numbers are whole; None where this is unknown."""
        return None if self.name == "unknown" else self.name in ("binary", "integer", "date", "ordered")

    @cached_property
    def lookup(self) -> CategoryLookup:
        """Finds the ordered category that a value is."""
        is_text = any(isinstance(value, str) for value in self.order)
        return CategoryLookup(np.array(self.order, dtype=object if is_text else None), self.missing)

    def described(self, name: str, label: str) -> ColumnKind:
        """A kind of numbers or dates with these words; an error where people gave them an order."""
        if self.order:
            raise DescriptionError(
                f"{label} holds {'dates' if name in DATES else 'numbers'}, which have an order. Leave out its order, "
                "or name it in categorical_features."
            )
        return PLAIN_KINDS[name] if self is UNKNOWN else replace(self, name=name)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in type(self).__dataclass_fields__}

    def __hash__(self) -> int:
        return hash((self.name, self.order, self.missing, self.label, self.unit))

    # -----------------------------------------------------------------------------------------------------------------
    # Words
    # -----------------------------------------------------------------------------------------------------------------

    def display_name(self, name: str) -> str:
        """The name of the column, with its label and unit as words: "glucose (mg/dl)"."""
        words = self.label or name
        if words == name and not self.unit:
            return str.__str__(name) if self.label else name
        display: str = in_words(name, f"{words} ({self.unit})" if self.unit else words)
        return display

    def display_value(self, value: Any) -> Any:
        """A category, with its meaning as words where it has one."""
        words = self.values.get(plain_text(value), self.values.get(str(value))) if self.values else None
        return value if words is None else in_words(value, words)

    def display_values(self, values: list[Any]) -> list[Any]:
        """Categories, with their meanings as words where they have any."""
        return list(map(self.display_value, values)) if self.values else values

    def number(self, value: float) -> float:
        """A number, with the words that people use for values of the column: a date, a category, a meaning."""
        words, plain, step = self.values.get(number_text(float(value))) if self.values else None, None, ""
        if self.is_date:
            words = None if math.isnan(value) else date_text(value, self.is_zoned)
            plain, step = (words or "").replace(" UTC", "Z").replace(" ", "T"), "day"
        elif self.is_ordered:
            words = self.between(value)
        elif self.name == "hour" and math.isfinite(value):
            words = clock_text(value)
        number: float = float(value) if words is None else in_words(float(value), words, plain, step)
        return number

    @property
    def writer(self) -> Callable[[float], str] | None:
        """How numbers of the column are written; None: as all numbers are."""
        return (lambda value: number_text(self.number(value))) if self.is_coded else None

    def between(self, code: float) -> str:
        """The ordered category of an index, or the two that it lies between."""
        inside = min(max(code, 0.0), max(len(self.order) - 1.0, 0.0))  # NaN becomes 0
        low, high = math.floor(inside), math.ceil(inside)
        first, last = (self.display_order[end] if self.order else "" for end in (low, high))
        return first if low == high else f"between {first} and {last}"

    @cached_property
    def display_order(self) -> tuple[str, ...]:
        """The words of the ordered categories, the lowest first."""
        return tuple(self.values.get(plain_text(value), str(value)) for value in self.order)


@dataclass(frozen=True)
class Target:
    """What people call the labels.

    Attributes
    ----------
    name : str
        Name of the column of labels; "" without a name.
    values : mapping of str to str
        What labels mean, by their text.
    """

    name: str = ""
    values: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    def labels(self, classes: NDArray[Any]) -> list[Any]:
        """The labels, with their meanings as words where they have any."""
        return ColumnKind(values=self.values).display_values(classes.tolist())


def clock_text(hours: float) -> str:
    """Hours since the beginning of a day as clocks show them.

    Examples
    --------
    >>> clock_text(17.5), clock_text(9.0 + 20.5 / 3600)
    ('17:30', '09:00')
    """
    return "{:02d}:{:02d}".format(*divmod(round(hours * 60), 60))


UNKNOWN = ColumnKind()
UNNAMED = Target()
PLAIN_KINDS = {name: ColumnKind(name) for name in KINDS}  # a hundred thousand columns share a few objects


def merged_kind(label: str, known: ColumnKind, other: ColumnKind) -> ColumnKind:
    """The kind of a column whose values come from two parts of a table."""
    missing = tuple(dict.fromkeys((*known.missing, *other.missing)))
    name, date_form = "unknown", known.date_form or other.date_form
    if known.is_ordered and other.is_ordered and known.order != other.order:
        raise ValueError(
            f"{label} has ordered categories in another order, or others, in some batches. Give every batch the same "
            "categories in the same order."
        )
    if known.is_date and other.is_date:
        if known.is_zoned != other.is_zoned:
            raise ValueError(
                f"{label} has a time zone in some batches and none in others. Give all of them a time zone, or none."
            )
        name = max(known.name, other.name)
    elif known.name in NUMBERS and other.name in NUMBERS:
        name = max(known.name, other.name, key=NUMBERS.index)
    elif known.name == other.name:
        name = known.name
    elif {known.name, other.name} <= {"category", "text"}:
        name = "category"
    elif known.is_coded or other.is_coded:
        raise ValueError(
            f"{label} holds {shown_kind(known)} in some batches and {shown_kind(other)} in others. Give it one type."
        )
    return replace(known, name=name, missing=missing, date_form=date_form)


def shown_kind(kind: ColumnKind) -> str:
    """What errors call the values of a column."""
    if kind.is_date:
        return f"dates with{'' if kind.is_zoned else 'out'} a time zone" if kind.name == "time" else "dates"
    if kind.is_ordered:
        return "ordered categories"
    return "categories" if kind.name in ("category", "text") else "numbers"


# ---------------------------------------------------------------------------------------------------------------------
# Descriptions of tables
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableDescription:
    """How people describe a table.

    Attributes
    ----------
    target : Target
        What the labels are called.
    columns : mapping of str to ColumnKind
        Labels, units, meanings of values, orders and markers of missing values of columns, by their names; x0, x1, ...
        where a table has none.
    missing : tuple of str
        Text that stands for a missing value in every column.
    """

    target: Target = UNNAMED
    columns: Mapping[str, ColumnKind] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, units: Mapping[Any, str] | None = None) -> TableDescription:
        """A description from what a user gives: one, the path of a file, its content, or None; and units of columns.

        Examples
        --------
        >>> from ferl._tables import TableDescription
        >>> TableDescription.of({"target": "deny"}, {"age": "years"}).columns["age"].unit
        'years'
        """
        if isinstance(given, str | os.PathLike):
            result = load_description(given)
        elif given is None or isinstance(given, TableDescription):
            result = given or NOTHING_SAID
        else:
            result = _description_of(given)
        columns = dict(result.columns)
        if units is not None and not isinstance(units, Mapping):
            raise DescriptionError(f"units is {shown(units)}; it must be a mapping such as {{'age': 'years'}}.")
        for name, unit in (units or {}).items():
            columns[name] = replace(columns.get(name, UNKNOWN), unit=text_of(unit, f"units[{name!r}]"))
        return replace(result, columns=columns)

    def with_target_of(self, y: Any) -> TableDescription:
        """The description, with the name that labels carry, as a pandas Series does, where the target has none."""
        name = getattr(y, "name", None)
        if self.target.name or not isinstance(name, str) or not name.strip():
            return self
        readable = name[:MAX_TEXT].encode(errors="replace").decode()
        return replace(self, target=replace(self.target, name=readable))

    def by_feature(self, names: Sequence[str] | None, n_features: int) -> list[ColumnKind]:
        """The description of each column of a table; an error for columns that the table does not have."""
        if not self.columns and not self.missing:
            return [UNKNOWN] * n_features
        known = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        for name in self.columns:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"It has {shown(known)}."
                raise DescriptionError(
                    f"A unit or description is given for {name!r}, which the table does not have. {hint}"
                )
        result = [self.columns.get(name, UNKNOWN) for name in known]
        return [replace(item, missing=tuple(dict.fromkeys((*item.missing, *self.missing)))) for item in result]


NOTHING_SAID = TableDescription()


def load_description(path: str | os.PathLike[str]) -> TableDescription:
    """Read a description of a table from a JSON or YAML file; docs/guide/tables.md shows how to write one.

    Parameters
    ----------
    path : str or path-like
        A .json, .yaml or .yml file of at most 1 MB. YAML needs PyYAML: ``pip install pyyaml``.

    Returns
    -------
    TableDescription

    Raises
    ------
    DescriptionError
        When the file is not a description, naming the entry that is wrong.
    OSError
        When the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ferl import load_description
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "ward.json"
    ...     _ = path.write_text('{"target": "deny", "columns": {"glucose": {"unit": "mg/dl"}}}', encoding="utf-8")
    ...     description = load_description(path)
    >>> description.target.name, description.columns["glucose"].unit
    ('deny', 'mg/dl')
    """
    path = Path(path)
    result = read_written(path, DescriptionError, "descriptions of tables")
    try:
        return _description_of(result)
    except DescriptionError as error:
        raise DescriptionError(f"{path.name}: {error}") from error


def _description_of(form: Any) -> TableDescription:
    """A description from the content of a file, checked."""
    form = _mapping(form, "the description", ("target", "missing", "columns"))
    target = form.get("target", "")
    target = {"name": target} if isinstance(target, str) else _mapping(target, "target", ("name", "values"))
    columns = _mapping(form.get("columns", {}), "columns")
    return TableDescription(
        Target(text_of(target.get("name", ""), "target.name"), meanings_of(target.get("values", {}), "target.values")),
        {text_of(name, "a name in columns"): _column_of(f"columns.{name}", entry) for name, entry in columns.items()},
        markers_of(form.get("missing", []), "missing"),
    )


def _column_of(where: str, form: Any) -> ColumnKind:
    form = _mapping(form, where, ("label", "unit", "values", "order", "missing"))
    return ColumnKind(
        label=text_of(form.get("label", ""), f"{where}.label"),
        unit=text_of(form.get("unit", ""), f"{where}.unit"),
        values=meanings_of(form.get("values", {}), f"{where}.values"),
        order=order_of(form.get("order", []), f"{where}.order"),
        missing=markers_of(form.get("missing", []), f"{where}.missing"),
    )


def meanings_of(form: Any, where: str) -> dict[str, str]:
    """What values mean, by their text, checked; whole numbers may stand for their text."""
    pairs = _mapping(form, where)
    if len(pairs) > MAX_VALUES:
        raise DescriptionError(f"{where} has {len(pairs):,} entries; at most {MAX_VALUES:,} can be described.")
    return {
        text_of(str(key) if type(key) is int else key, f"a value in {where}"): text_of(meaning, f"{where}.{key}", 1)
        for key, meaning in pairs.items()
    }


def order_of(form: Any, where: str) -> tuple[Any, ...]:
    """Ordered categories, checked: text, booleans or numbers, all of one type, each once."""
    if not isinstance(form, list | tuple):
        raise DescriptionError(f"{where} is {shown(form)}; it must be a list of categories, the lowest first.")
    kinds = {type(value) for value in form}
    if not kinds <= {str} and not kinds <= {int, float} and not kinds <= {bool}:
        raise DescriptionError(f"{where} is {shown(list(form))}; its categories must all be text, or all be numbers.")
    if len(form) > MAX_VALUES:
        raise DescriptionError(f"{where} has {len(form):,} categories; at most {MAX_VALUES:,} can have an order.")
    if len(set(form)) < len(form):
        raise DescriptionError(f"{where} has a category twice: {shown(list(form))}.")
    if any(value != value or value in (float("inf"), float("-inf")) for value in form):
        raise DescriptionError(f"{where} is {shown(list(form))}; its categories must be finite.")
    return tuple(text_of(value, where) if isinstance(value, str) else value for value in form)


def markers_of(form: Any, where: str) -> tuple[str, ...]:
    """Markers of missing values, checked: text; whole numbers may stand for their text."""
    if not isinstance(form, list | tuple) or len(form) > MAX_MARKERS:
        raise DescriptionError(f"{where} is {shown(form)}; it must be a list of at most {MAX_MARKERS} texts.")
    texts = [str(item) if type(item) is int else item for item in form]
    return tuple(dict.fromkeys(text_of(text, where).strip() for text in texts))


def text_of(value: Any, where: str, least: int = 0) -> str:
    """A text, checked and bounded."""
    if type(value) is not str or not least <= len(value) <= MAX_TEXT:
        raise DescriptionError(
            f"{where} is {shown(value)}; it must be text of at most {MAX_TEXT} letters, in quotes where it looks like "
            "something else."
        )
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DescriptionError(f"{where} is {shown(value)}, which is not valid Unicode.") from None
    return value


def _mapping(form: Any, where: str, keys: Sequence[str] | None = None) -> Mapping[Any, Any]:
    """A mapping, checked; ``keys``: its allowed keys, if not all are allowed."""
    if not isinstance(form, Mapping):
        raise DescriptionError(f"{where} is {shown(form)}; it must be a mapping.")
    if repeated := getattr(form, "repeated", []):
        raise DescriptionError(f"{where} has {shown(repeated[0])} twice.")
    unknown = [] if keys is None else [key for key in form if key not in keys]
    if unknown:
        allowed = ", ".join(keys or ())
        raise DescriptionError(f"{where} has {shown(unknown[0])}, which is not known; it may have {allowed}.")
    return form
