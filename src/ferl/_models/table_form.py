"""What a model knows of its table besides names and categories, in model files.

::

    {"target": {"name": "deny", "values": {"0": "no", "1": "yes"}},
     "columns": [null, {"kind": "ordered", "order": ["low", "mid", "high"]}, {"kind": "real", "unit": "mg/dl"}]}

Entries that say nothing are left out. A file is untrusted input: every entry is checked and bounded.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ferl._models.fields import ModelFileError, Part, as_list
from ferl._tables import Schema
from ferl._tables.dates import DATE_FORMS
from ferl._tables.describe import DescriptionError, markers_of, meanings_of, order_of, text_of
from ferl._tables.kinds import DATES, KINDS, UNKNOWN, ColumnKind, Target
from ferl._util.text import shown

_COLUMN_KEYS = ("order", "is_zoned", "missing", "label", "unit", "values", "date_form")


def says_nothing(schema: Schema) -> bool:
    """Whether a schema holds nothing besides names and categories that a reader would miss."""
    plain = (None, {"kind": "real"})
    return schema.target == Target() and all(_column_to_form(kind) in plain for kind in schema.kinds)


def table_to_form(schema: Schema) -> dict[str, Any]:
    """The target and the kinds of columns as lists, text and numbers of Python."""
    target = {"name": schema.target.name, **({"values": dict(schema.target.values)} if schema.target.values else {})}
    return {"target": target, "columns": [_column_to_form(schema.kind(j)) for j in range(len(schema.categories))]}


def _column_to_form(kind: ColumnKind) -> dict[str, Any] | None:
    """What is known of a column; None where that is nothing: "category" follows from the categories."""
    told = {
        "order": list(kind.order),
        "is_zoned": kind.is_zoned,
        "missing": list(kind.missing),
        "label": kind.label,
        "unit": kind.unit,
        "values": dict(kind.values),
        "date_form": kind.date_form,
    }
    form = {key: value for key, value in told.items() if value}
    if kind.name in ("unknown", "category") and not form:
        return None
    return {"kind": kind.name, **form}


def with_table(schema: Schema, form: Any) -> Schema:
    """The schema with what the field of a file says, checked."""
    part = Part(form, "table", ("target", "columns"))
    try:
        target = _target(part.value["target"])
        columns = as_list(part.value["columns"], "table.columns", len(schema.categories))
        kinds = [_column(f"table.columns[{j}]", entry, schema, j) for j, entry in enumerate(columns)]
    except DescriptionError as error:
        raise ModelFileError(str(error)) from error
    return replace(schema, target=target, kinds=tuple(kinds))


def _target(form: Any) -> Target:
    part = Part(form, "table.target", ("name",), ("values",))
    values = meanings_of(part.value.get("values", {}), "table.target.values")
    return Target(text_of(part.value["name"], "table.target.name"), values)


def _column(where: str, form: Any, schema: Schema, feature: int) -> ColumnKind:
    is_category = schema.categories[feature] is not None
    if form is None:
        return replace(UNKNOWN, name="category") if is_category else UNKNOWN
    part = Part(form, where, ("kind",), _COLUMN_KEYS)
    name, own = part.value["kind"], part.value
    if not isinstance(name, str) or name not in KINDS:
        raise part.wrong("kind", f"{shown(name)} is not one of {', '.join(KINDS)}")
    if (name == "category") != is_category:
        raise part.wrong("kind", f"{name!r} does not fit a column of {'categories' if is_category else 'numbers'}")
    order = order_of(as_list(own.get("order", []), part.path("order")), part.path("order"))
    if order and name != "ordered":
        raise part.wrong("order", f"a column of kind {name!r} has none")
    is_zoned = own.get("is_zoned", False)
    if type(is_zoned) is not bool or (is_zoned and name not in DATES):
        raise part.wrong("is_zoned", f"{shown(is_zoned)} must be true or false, and true for times only")
    date_form = own.get("date_form", "")
    if date_form != "" and (name not in DATES or date_form not in DATE_FORMS):
        raise part.wrong("date_form", f"{shown(date_form)} is not one of {', '.join(DATE_FORMS)}, of dates")
    return ColumnKind(
        name,
        order,
        is_zoned,
        markers_of(as_list(own.get("missing", []), part.path("missing")), part.path("missing")),
        text_of(own.get("label", ""), part.path("label")),
        text_of(own.get("unit", ""), part.path("unit")),
        meanings_of(own.get("values", {}), part.path("values")),
        date_form,
    )
