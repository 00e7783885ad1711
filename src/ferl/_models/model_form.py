"""The form of model files: every field with its type, size and range."""

from __future__ import annotations

import math

from ferl._models.cases import N_NEAREST
from ferl._models.evidence import LEAST_CURVATURE
from ferl._models.form import (
    ANYTHING,
    FLAG,
    OBJECT,
    RECORD,
    TEXT,
    Each,
    Field,
    Integers,
    Nullable,
    Numbers,
    Object,
    Value,
    count,
    is_number,
    one_of,
)
from ferl._models.novelty import N_LEVELS
from ferl._models.settings import VARIANTS
from ferl._tables.derived import DATE_PARTS, CategoryEvidence, DateInRange, DatePart, DayEvidence, KnownDate
from ferl._tables.kinds import KINDS

FORMAT = "ferl-model"
VERSION = 1
LABEL_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "str", "object"),
)
# Largest mean of a feature: what a table may hold (see ferl._tables), with room for rounding. Squares are finite.
LARGEST_MEAN = 1.001e150
LARGEST_PER_UNIT = 1e154  # of columns that hardly vary; times a value it is finite
LARGEST = 1e100  # weight, curvature and ridge: sums and squares are finite
ROUNDING = 1e-9  # that sums of shares may have

# ---------------------------------------------------------------------------------------------------------------------
# What a file holds. Sizes: nodes, columns (features and derived ones), features, classes, rules, kept (training rows).
# ---------------------------------------------------------------------------------------------------------------------

COLUMNS = Object.of(names=Nullable(Each("features", TEXT)), features=Each("features", OBJECT))
LEVELS = {
    "text": Each(None, TEXT),
    "bool": Each(None, FLAG),
    "int": Each(None, count(-(2**63), 2**63 - 1)),
    "float": Each(None, Value(lambda value: type(value) is float and math.isfinite(value), "a finite float")),
}
"""The categories of a feature, by their kind; a feature without categories has the kind "number"."""
CATEGORIES = Object.of(kind=one_of("number", *LEVELS), levels=ANYTHING)
VARIABLE = Object.of(
    name=ANYTHING,
    unit=ANYTHING,
    range=Numbers((2,), infinite=True),
    words=Each(None, ANYTHING),
    trapezoids=Numbers((None, 4), infinite=True),
)
TREE = Object.of(
    parent=Integers("nodes", low=-1),
    feature=Integers("nodes", low=-1, below="columns"),
    trapezoid=Numbers(("nodes", 4), infinite=True),
    support=Numbers(("nodes", 2), infinite=True),
    share=Numbers(("nodes",), 0.0, 1.0 + ROUNDING),
    class_weight=Numbers(("nodes", "classes"), 0.0, LARGEST),
    consequent=Numbers(("nodes", "classes"), 0.0, 1.0),
    gain=Numbers(("nodes",)),
    word=Each(None, ANYTHING),
    cuts=Nullable(
        Object.of(
            interval=Numbers(("nodes", 2), missing=True),
            share=Numbers(("nodes",), 0.0, 1.0 + ROUNDING, missing=True),
        )
    ),
    # Sparse: the usual membership at each node, and the memberships of categories that differ from it.
    categories=Nullable(
        Object.of(
            node=Integers("category nodes", below="nodes"),
            usual=Numbers(("category nodes",), 0.0, 1.0, missing=True),
            code=Each("category nodes", Integers(None, ascending=True)),
            membership=Each("category nodes", Numbers((None,), 0.0, 1.0, missing=True)),
        )
    ),
    profile=Object.of(
        "known_weight",
        mean=Numbers(("nodes", "columns"), -LARGEST_MEAN, LARGEST_MEAN),
        variance=Numbers(("nodes", "columns"), 0.0, LARGEST_MEAN**2),
        exemplar_row=Numbers(("kept", "columns"), -LARGEST_MEAN, LARGEST_MEAN, missing=True),
        exemplar=Each("nodes", Integers(None, below="kept")),
        known_weight=Numbers(("nodes", "columns"), 0.0, LARGEST),
    ),
)
CURVES = Object.of(
    column=Each("curves", Integers(2, low=-1, below="columns")),
    cuts=Each("curves", Each(2, Numbers((None,), -LARGEST_MEAN, LARGEST_MEAN))),
    value=Each("curves", Numbers((None, "classes"), -LARGEST, LARGEST)),
    support=Each("curves", Numbers((None,), 0.0, LARGEST)),
)
CASES = Object.of(
    row=Numbers(("cases", "columns"), -LARGEST_MEAN, LARGEST_MEAN, missing=True),
    label=Integers("cases", below="classes"),
    weight=Numbers(("cases",), 0.0, LARGEST),
    place=Integers("cases", low=-1),
    centre=Numbers(("columns",), -LARGEST_MEAN, LARGEST_MEAN),
    per_unit=Numbers(("columns",), 0.0, LARGEST_PER_UNIT),
    strength=Numbers((len(N_NEAREST),), 0.0, LARGEST),
    usual=Numbers(("classes",), -LARGEST, LARGEST),
)
CASE_CHOICE = Object.of(
    is_used=FLAG,
    gain=Value(is_number, "a number"),
    error=Value(lambda v: is_number(v) and v >= 0, "a number of at least 0"),
    n_rows=count(0, 2**63 - 1),
    scale=Value(lambda v: is_number(v) and 0 <= v <= LARGEST, "a number of at least 0"),
)
WEIGHTS = Object.of(
    "category_weight curves level_columns curvature novelty_scale cases case_choice",
    node=Integers("rules", low=1, below="nodes"),
    weight=Numbers(("rules", "classes"), -LARGEST, LARGEST),
    ridge=Numbers(("rules",), 0.0, LARGEST),
    # In units, whole numbers where the unit allows; row by row up to the diagonal, as the matrix is symmetric.
    products=Object.of(
        unit=Value(lambda v: is_number(v) and 0 < v <= 1, "a number above 0 and at most 1"),
        sums=Each("weights", Numbers((None,), 0.0, LARGEST)),
    ),
    row_curvature=Value(lambda v: is_number(v) and LEAST_CURVATURE <= v <= 1, "a number from 0.001 to 1"),
    category_weight=Each(
        None, Object.of(column=count(0, 2**31 - 1), weight=Numbers((None,), 0.0, LARGEST))
    ),  # of the categorical columns that terms read
    prior=Numbers(("classes",), -LARGEST, LARGEST),
    ranges=Numbers(("columns", 2), infinite=True),
    curves=CURVES,
    level_columns=Integers(None, below="columns", ascending=True),
    curvature=Object.of(
        rules=Numbers(("weights", "weights"), -LARGEST, LARGEST),
        classes=Numbers(("classes", "classes"), -LARGEST, LARGEST),
    ),
    novelty_scale=Numbers((N_LEVELS,), 0.0, infinite=True),
    cases=CASES,
    case_choice=CASE_CHOICE,
)
GATES = Object.of(support_gate=FLAG, gate_margin=Value(lambda v: is_number(v) and v > 0, "a number above 0"))
READING = Object.of(
    **GATES.fields,
    combination=one_of("dempster", "cautious", "chain", "vote"),
    sources=one_of("leaves", "all"),
    discount=Value(lambda v: is_number(v) and v >= 0, "a number of at least 0"),
)
COLUMN = Object.of(
    "order is_zoned missing label unit values date_form",
    kind=one_of(*KINDS),
    order=Each(None, ANYTHING),
    is_zoned=FLAG,
    missing=Each(None, ANYTHING),
    label=ANYTHING,
    unit=ANYTHING,
    values=OBJECT,
    date_form=ANYTHING,
)
TABLE = Object.of(target=Object.of("values", name=ANYTHING, values=OBJECT), columns=Each("features", Nullable(COLUMN)))
NUMBER = Value(is_number, "a number")
# A column behind the indicators of missing values; each kind has its own of the optional entries.
DERIVED = Object.of(
    "label first last part days evidence",
    kind=one_of(CategoryEvidence.kind, KnownDate.kind, DateInRange.kind, DatePart.kind, DayEvidence.kind),
    feature=count(0, 2**31 - 1),
    label=count(0, 2**31 - 1),
    first=NUMBER,
    last=NUMBER,
    part=one_of(*DATE_PARTS),
    days=Integers(None, low=-(2**31), ascending=True),
    evidence=Numbers((None,), -LARGEST, LARGEST),
)
MODEL: dict[str, Field] = {
    "format": one_of(FORMAT),
    "version": count(VERSION, VERSION),
    "ferl": TEXT,
    "notes": Each(None, TEXT),
    "model": one_of("rules", "trees"),
    "parameters": OBJECT,
    "reading": GATES,
    "classes": Object.of(dtype=one_of(*LABEL_DTYPES), labels=Each(None, ANYTHING)),
    "columns": ANYTHING,  # COLUMNS: read before the others
    "table": TABLE,
    "missing_features": Integers(None, below="features", ascending=True),
    "n_growth_rows": count(0, 2**63 - 1),
    "words": Nullable(Each("columns", Nullable(VARIABLE))),
    "tree": TREE,
}
HISTORY = Each(None, RECORD)
OPTIONAL = frozenset({"notes", "table", "history", "derived", "replaced"})
OF_KIND: dict[str, dict[str, Field]] = {
    "rules": {
        "weights": WEIGHTS,
        "derived": Each(None, DERIVED),
        "replaced": Integers(None, below="features", ascending=True),
    },
    "trees": {"reading": READING, "variant": one_of(*VARIANTS)},
}
