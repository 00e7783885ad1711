"""What people say of a table: names, units, meanings of values, orders, and markers of missing values.

::

    target: {name: deny, values: {"0": no, "1": yes}}
    missing: ["NA", "?"]
    columns:
      glucose: {label: plasma glucose, unit: mg/dl}
      dmi: {values: {"0": no, "1": yes}}
      size: {order: [low, mid, high]}

A file is untrusted input: whatever it holds, reading it ends in a description or in a ValueError that says what is
wrong.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ferl._tables.kinds import UNNAMED, ColumnKind, Target
from ferl._util.text import shown
from ferl._util.written import read_written

MAX_TEXT = 200  # letters of a name, a unit or a meaning
MAX_MARKERS = 100
MAX_VALUES = 10_000
_COLUMN_KEYS = ("label", "unit", "values", "order", "missing")
_TABLE_KEYS = ("target", "missing", "columns")


class DescriptionError(ValueError):
    """A description that does not fit its form or the table; the message names the entry and why."""


@dataclass(frozen=True)
class ColumnDescription:
    """What people say of a column.

    Attributes
    ----------
    label, unit : str
        What the column is called in sentences, and what its numbers count.
    values : mapping of str to str
        What values mean, by their text.
    order : tuple
        The categories from the lowest to the highest.
    missing : tuple of str
        Text that stands for a missing value.
    """

    label: str = ""
    unit: str = ""
    values: Mapping[str, str] = field(default_factory=dict)
    order: tuple[Any, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def kind(self) -> ColumnKind:
        """A kind of column with these words."""
        return ColumnKind(missing=self.missing, label=self.label, unit=self.unit, values=self.values)

    def kind_of_numbers(self, label: str, name: str) -> ColumnKind:
        """The kind of a column of numbers; an error where it was said to have ordered categories."""
        return self.checked(label, replace(self.kind, name=name))

    def checked(self, label: str, kind: ColumnKind) -> ColumnKind:
        """The kind itself, unless an order was given for values that have one."""
        if self.order:
            raise DescriptionError(
                f"{label} holds {'dates' if kind.is_date else 'numbers'}, which have an order. Leave out its order, or "
                "name it in categorical_features."
            )
        return kind


@dataclass(frozen=True)
class TableDescription:
    """What people say of a table.

    Attributes
    ----------
    target : Target
        What the labels are called.
    columns : mapping of str to ColumnDescription
        What is said of columns, by their names; x0, x1, ... where a table has none.
    missing : tuple of str
        Text that stands for a missing value in every column.
    """

    target: Target = UNNAMED
    columns: Mapping[str, ColumnDescription] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, given: Any, units: Mapping[Any, str] | None = None) -> TableDescription:
        """A description from what a user gives: one, the path of a file, its content, or None; and units of columns.

        Examples
        --------
        >>> from ferl._tables.describe import TableDescription
        >>> TableDescription.of({"target": "deny"}, {"age": "years"}).columns["age"].unit
        'years'
        """
        if isinstance(given, str | os.PathLike):
            found = load_description(given)
        elif given is None or isinstance(given, TableDescription):
            found = given or NOTHING_SAID
        else:
            found = description_of(given)
        columns = dict(found.columns)
        if units is not None and not isinstance(units, Mapping):
            raise DescriptionError(f"units is {shown(units)}; it must be a mapping such as {{'age': 'years'}}.")
        for name, unit in (units or {}).items():
            columns[name] = replace(columns.get(name, ColumnDescription()), unit=text_of(unit, f"units[{name!r}]"))
        return replace(found, columns=columns)

    def with_target_of(self, y: Any) -> TableDescription:
        """The description, with the name that labels carry, as a pandas Series does, where none was said."""
        name = getattr(y, "name", None)
        if self.target.name or not isinstance(name, str) or not name.strip():
            return self
        readable = name[:MAX_TEXT].encode(errors="replace").decode()
        return replace(self, target=replace(self.target, name=readable))

    def by_feature(self, names: Sequence[str] | None, n_features: int) -> list[ColumnDescription]:
        """What is said of each feature; an error for a column that the table does not have."""
        known = [f"x{j}" for j in range(n_features)] if names is None else list(names)
        for name in self.columns:
            if name not in known:
                near = difflib.get_close_matches(str(name), known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"It has {shown(known)}."
                raise DescriptionError(
                    f"A unit or description is given for {name!r}, which the table does not have. {hint}"
                )
        nothing = ColumnDescription(missing=self.missing)
        found = [self.columns.get(name, nothing) for name in known]
        if not self.missing:
            return found
        return [replace(own, missing=tuple(dict.fromkeys((*own.missing, *self.missing)))) for own in found]


NOTHING_SAID = TableDescription()


def load_description(path: str | os.PathLike[str]) -> TableDescription:
    """Read what people say of a table from a JSON or YAML file; docs/guide/tables.md shows how to write one.

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
    ...     said = load_description(path)
    >>> said.target.name, said.columns["glucose"].unit
    ('deny', 'mg/dl')
    """
    path = Path(path)
    found = read_written(path, DescriptionError, "descriptions of tables")
    try:
        return description_of(found)
    except DescriptionError as error:
        raise DescriptionError(f"{path.name}: {error}") from error


def description_of(form: Any) -> TableDescription:
    """A description from the content of a file, checked."""
    own = _object(form, "the description", _TABLE_KEYS)
    columns = _mapping(own.get("columns", {}), "columns")
    return TableDescription(
        _target(own.get("target", "")),
        {text_of(name, "a name in columns"): _column(name, entry) for name, entry in columns.items()},
        markers_of(own.get("missing", []), "missing"),
    )


def _target(form: Any) -> Target:
    if isinstance(form, str):
        return Target(text_of(form, "target"))
    own = _object(form, "target", ("name", "values"))
    return Target(text_of(own.get("name", ""), "target.name"), meanings_of(own.get("values", {}), "target.values"))


def _column(name: str, form: Any) -> ColumnDescription:
    where = f"columns.{name}"
    own = _object(form, where, _COLUMN_KEYS)
    return ColumnDescription(
        text_of(own.get("label", ""), f"{where}.label"),
        text_of(own.get("unit", ""), f"{where}.unit"),
        meanings_of(own.get("values", {}), f"{where}.values"),
        order_of(own.get("order", []), f"{where}.order"),
        markers_of(own.get("missing", []), f"{where}.missing"),
    )


# ---------------------------------------------------------------------------------------------------------------------
# Checked entries
# ---------------------------------------------------------------------------------------------------------------------


def meanings_of(form: Any, where: str) -> dict[str, str]:
    """What values mean, by their text; whole numbers may stand for their text."""
    pairs = _mapping(form, where)
    if len(pairs) > MAX_VALUES:
        raise DescriptionError(f"{where} has {len(pairs):,} entries; at most {MAX_VALUES:,} can be described.")
    found = {}
    for key, meaning in pairs.items():
        text = str(key) if type(key) is int else key
        found[text_of(text, f"a value in {where}")] = text_of(meaning, f"{where}.{key}", least=1)
    return found


def order_of(form: Any, where: str) -> tuple[Any, ...]:
    """Ordered categories: text, booleans or numbers, all of one kind, each once."""
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
    """Markers of missing values: text; whole numbers may stand for their text."""
    if not isinstance(form, list | tuple) or len(form) > MAX_MARKERS:
        raise DescriptionError(f"{where} is {shown(form)}; it must be a list of at most {MAX_MARKERS} texts.")
    texts = [str(own) if type(own) is int else own for own in form]
    return tuple(dict.fromkeys(text_of(own, where).strip() for own in texts))


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


def _mapping(form: Any, where: str) -> Mapping[Any, Any]:
    if not isinstance(form, Mapping):
        raise DescriptionError(f"{where} is {shown(form)}; it must be a mapping.")
    repeated = getattr(form, "repeated", [])
    if repeated:
        raise DescriptionError(f"{where} has {shown(repeated[0])} twice.")
    return form


def _object(form: Any, where: str, keys: Sequence[str]) -> Mapping[Any, Any]:
    own = _mapping(form, where)
    unknown = [key for key in own if key not in keys]
    if unknown:
        raise DescriptionError(f"{where} has {shown(unknown[0])}, which is not known; it may have {', '.join(keys)}.")
    return own
