"""A model as one file of Python or C that needs nothing but the language."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ferl._answers import model_of
from ferl.export.lowering import Wanted, make_program
from ferl.export.program import Input, Nearest, Output, Printer, Program, Value, check_finite
from ferl.rules import FERLClassifier

REASONS = 3


def export_python(
    clf: FERLClassifier,
    *,
    evidence: bool = True,
    reasons: int | None = None,
    level: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> str:
    """A fitted classifier as one file of Python that needs the standard library alone.

    The file has the function ``predict(row)``. A row is a mapping from the names of the columns to values: numbers,
    text, booleans, dates, None or NaN for a missing value. Scores and probabilities equal the classifier's to the last
    bit; rows and ignorance agree up to rounding, about 1e-12.

    Parameters
    ----------
    clf : FERLClassifier or FERLTreeClassifier
        A fitted classifier.
    evidence : bool, default=True
        Whether the answers include set, ignorance and rows. The file of a rule model then contains the training rows
        that the model keeps, which take most of its space.
    reasons : int, default=None
        How many features to name that add most to the score of the label, compared with the average training row.
        None: 3 for rules, 0 for trees.
    level : float, default=None
        As in :meth:`ferl.FERLClassifier.predict_set`.
    feature_names : sequence of str, default=None
        Names of the columns; None: the names in the training table, or x0, x1, ...

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.export import export_python
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> names = {}
    >>> exec(export_python(clf, reasons=2), names)
    >>> answer = names["predict"]({"x0": 5.1, "x1": 3.5, "x2": 1.4, "x3": 0.2})
    >>> answer["label"], answer["set"], answer["reasons"]
    (0, [0], ['x2', 'x3'])
    >>> bool(answer["probability"][0] == clf.predict_proba([[5.1, 3.5, 1.4, 0.2]])[0, 0])
    True
    """
    return _PythonPrinter(_program(clf, "export_python", evidence, reasons, level, feature_names)).file()


def export_c(
    clf: FERLClassifier,
    *,
    evidence: bool = True,
    reasons: int | None = None,
    level: float | None = None,
    feature_names: Sequence[str] | None = None,
) -> str:
    """A fitted classifier as one file of C99 with the function ``ferl_predict``; it needs ``math.h`` alone.

    The file declares ``struct ferl_row``, with one field for each column that the model reads, and ``struct
    ferl_answer``. It allocates no memory and has no state. Scores and probabilities equal the classifier's to the last
    bit if the compiler does not fuse multiplications and additions (``cc -std=c99``); rows and ignorance agree up to
    rounding, about 1e-12.

    Parameters
    ----------
    clf : FERLClassifier or FERLTreeClassifier
        A fitted classifier.
    evidence : bool, default=True
        Whether set, ignorance and rows are among the answers; see :func:`export_python`.
    reasons : int, default=None
        How many features to name that add most to the score of the label, compared with the average training row.
        None: 3 for rules, 0 for trees.
    level : float, default=None
        As in :meth:`ferl.FERLClassifier.predict_set`.
    feature_names : sequence of str, default=None
        Names of the columns; None: the names in the training table, or x0, x1, ...

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.export import export_c
    >>> X, y = load_iris(return_X_y=True)
    >>> code = export_c(FERLClassifier(random_state=0).fit(X, y))
    >>> "int ferl_predict(const struct ferl_row *row, struct ferl_answer *answer)" in code
    True
    """
    return _CPrinter(_program(clf, "export_c", evidence, reasons, level, feature_names)).file()


def _program(
    clf: FERLClassifier,
    caller: str,
    evidence: bool,
    reasons: int | None,
    level: float | None,
    names: Sequence[str] | None,
) -> Program:
    model = model_of(clf, caller)
    return make_program(model, Wanted(evidence, n_reasons(model.kind, reasons), level, names))


def n_reasons(kind: str, reasons: int | None) -> int:
    """The number of reasons, checked."""
    if reasons is None:
        return REASONS if kind == "rules" else 0
    if isinstance(reasons, bool) or not isinstance(reasons, int) or reasons < 0:
        raise ValueError(f"reasons is {reasons!r}; it must be a whole number, 0 for none.")
    return reasons


class _CodePrinter(Printer):
    """What Python and C write alike: steps are variables, tables of numbers stand before the function."""

    nothing: str
    """A missing value, and the words of both, either and not."""
    both: str
    either: str
    denial: str

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.tables: dict[tuple[float, ...], str] = {}

    def table(self, numbers: tuple[float, ...]) -> str:
        """The name of a table."""
        return self.tables.setdefault(numbers, f"ferl_table_{len(self.tables)}")

    def of_number(self, item: Value) -> str:
        return repr(check_finite(item.data)) if item.data >= 0 else f"({check_finite(item.data)!r})"

    def of_step(self, item: Value) -> str:
        return f"s{item.data}"

    def of_equal(self, item: Value) -> str:
        first, second = map(self.text, item.args)
        return f"({first} == {second})"

    def of_ramp(self, item: Value) -> str:
        (start, slope, sign), x = item.data, self.text(item.args[0])
        away = f"{x} - {self.number(start)}" if sign > 0 else f"{self.number(start)} - {x}"
        return f"ferl_clip(({away}) * {self.number(slope)})"

    def of_gate(self, item: Value) -> str:
        x, (low, high, slope) = self.text(item.args[0]), map(self.number, item.data)
        return f"ferl_gate({x}, {low}, {high}, {slope})"

    def of_exp(self, item: Value) -> str:
        return f"ferl_exp({self.text(item.args[0])})"

    def of_missing(self, item: Value) -> str:
        x = self.text(item.args[0])
        return f"({x} != {x})"

    def of_nothing(self, item: Value) -> str:
        return self.nothing

    def of_and(self, item: Value) -> str:
        return f"({f' {self.both} '.join(map(self.text, item.args))})"

    def of_or(self, item: Value) -> str:
        return f"({f' {self.either} '.join(map(self.text, item.args))})"

    def of_not(self, item: Value) -> str:
        return f"({self.denial}{self.text(item.args[0])})"

    def of_if(self, item: Value) -> str:
        parts = []
        while item.op == "if":
            condition, then, item = item.args
            parts.append(self.choice(self.text(condition), self.text(then)))
        return f"({''.join(parts)}{self.text(item)})"

    def choice(self, condition: str, then: str) -> str:
        """A value under a condition, with what comes before the other value."""
        raise NotImplementedError


# ---------------------------------------------------------------------------------------------------------------------
# Python
# ---------------------------------------------------------------------------------------------------------------------

_PYTHON_HEAD = '''"""A classifier, exported by ferl. It needs Python 3.9 or newer and no other package.

    answer = predict({{{example}}})

Columns: {columns}.
"""

from bisect import bisect_left
from datetime import date, datetime, timezone
from math import floor, isinf, ldexp, nan
from struct import pack, unpack


def ferl_floor(x):
    return float(floor(x)) if x == x else x  # a missing value stays missing


def ferl_clip(item):
    return (item if item < 1.0 else 1.0) if item > 0.0 else 0.0


def ferl_gate(x, low, high, slope):
    return ferl_clip(1.0 - max(low - x, x - high) * slope)


def ferl_exp(x):
    x = min(700.0, max(-700.0, x))
    power = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0
    r = (x - power * 6.93147180369123816490e-01) - power * 1.90821492927058770002e-10
    series = 1.0 / 6227020800
    for factor in (479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1):
        series = series * r + 1.0 / factor
    return ldexp(series, int(power))


def ferl_value(row, name):
    try:
        item = row[name]
    except KeyError:
        raise ValueError(f"The row has no column {{name!r}}. Pass None where the value is missing.") from None
    return None if item is None or item != item else item


def ferl_number(row, name):
    item = ferl_value(row, name)
    if isinstance(item, (str, date)):
        raise ValueError(f"Column {{name!r}} holds {{item!r}}; in training it held numbers.")
    item = nan if item is None else float(item)
    if isinf(item):
        raise ValueError(f"Column {{name!r}} holds infinity. Pass a finite number, or None.")
    return item


def ferl_days(row, name, zoned):
    item = ferl_value(row, name)
    if item is None:
        return nan
    if isinstance(item, str):
        item = datetime.fromisoformat(item.strip().replace("Z", "+00:00"))
    if not isinstance(item, date):
        raise ValueError(f"Column {{name!r}} holds {{item!r}}; in training it held dates.")
    if not isinstance(item, datetime):
        item = datetime(item.year, item.month, item.day, tzinfo=timezone.utc if zoned else None)
    if (item.tzinfo is not None) != zoned:
        raise ValueError(f"Column {{name!r}}: dates {{'with' if zoned else 'without'}} a time zone are expected.")
    apart = item - datetime(1970, 1, 1, tzinfo=timezone.utc if zoned else None)
    return apart.days + (apart.seconds * 1000000 + apart.microseconds) / 86400000000


def ferl_text(row, name, places, markers):
    item = ferl_value(row, name)
    if isinstance(item, bool):
        item = str(item).lower()
    elif item is not None and not isinstance(item, str):
        item = str(int(item)) if float(item).is_integer() else str(item)
    n = len(places)
    if item in places:
        return float(places[item])
    return float(n if n and item is not None and item.strip() not in markers else n + 1)


def ferl_code(row, name, places, markers):
    item, n = ferl_value(row, name), len(places)
    if isinstance(item, str):
        text = item.strip().lower()
        if item.strip() in markers:
            item = None
        elif text in ("true", "false"):
            item = text == "true"
        else:
            try:
                item = float(text)
            except ValueError:
                return float(n if n else n + 1)
    if item is None or item != item or not n:
        return float(n + 1)
    if isinf(item):
        raise ValueError(f"Column {{name!r}} holds infinity. Pass a finite number, or None.")
    return float(places.get(item, n))


def ferl_rank(place, n):
    return place if place < n else nan


def ferl_single(item):
    return unpack("f", pack("f", item))[0]


def ferl_nearest(values, known, kept):
    """The mean distance from the nearest familiar row: the nearest by single precision, as in training."""
    n_numbers, farthest, centre, per_unit, units, rows, order = kept
    query = []
    for k, item in enumerate(values):
        if k < n_numbers:
            away = (item - centre[k]) * per_unit[k] if known[k] else 0.0
            item = min(farthest, max(-farthest, away))
        query.append(ferl_single(item))
    numbers = [k for k in range(n_numbers) if known[k]]
    others = [k for k in range(n_numbers, len(values)) if known[k]]
    mismatch = [ferl_single(item) for item in per_unit]
    near = []
    for row in units:
        apart = sum([abs(row[k] - query[k]) for k in numbers])
        near.append(apart + sum([mismatch[k] for k in others if row[k] != query[k]]))
    bound = min(near) * (1.0 + 4e-7 * (len(values) + 4))
    best, least = -1, 0.0
    for index, apart in enumerate(near):
        if apart > bound:
            continue
        sums = [0.0, 0.0]
        for k in numbers:
            sums[k % 2] = ferl_single(sums[k % 2] + abs(ferl_single(units[index][k] - query[k])))
        for k in others:
            if units[index][k] != query[k]:
                sums[1] = ferl_single(sums[1] + mismatch[k])
        single = ferl_single(sums[0] + sums[1])
        if best < 0 or single < least:
            best, least = index, single
    share, total = 1.0 / max(sum(known), 1), 0.0
    for k in order:
        if known[k]:
            away = abs(values[k] - rows[best][k]) if k < n_numbers else float(values[k] != rows[best][k])
            total += away * per_unit[k] * share
    return total

'''


class _PythonPrinter(_CodePrinter):
    """The program in Python."""

    nothing, both, either, denial = "nan", "and", "or", "not "

    def file(self) -> str:
        """All of the file."""
        program, self.kept = self.program, ""
        body = [f"    s{index} = {self.step(program.steps[index])}" for index in program.needed]
        answers = self.answers()
        example = [item.name for item in (program.inputs[index] for index in program.read_inputs)]
        head = _PYTHON_HEAD.format(
            example=_comment(", ".join(f"{name!r}: ..." for name in example[:3]) + ", ..." * (len(example) > 3)),
            columns=_comment(", ".join(f"{item.name!r} ({item.kind})" for item in program.inputs)),
        )
        tables = [f"{name} = {_tuple(numbers)}" for numbers, name in self.tables.items()]
        call = [
            '\n\ndef predict(row):\n    """The answers to one row, a mapping from the names of columns to values."""'
        ]
        return "\n".join([head, *tables, *([self.kept] if self.kept else []), *call, *body, *answers, ""])

    def step(self, item: Value) -> str:
        """A step without needless brackets around it."""
        return _bare(self.text(item))

    def answers(self) -> list[str]:
        """The lines that return the answers."""
        classes, by_name = self.program.classes, dict[str, list[Output]]()
        for output in self.program.outputs:
            by_name.setdefault(output.name, []).append(output)
        lines = []
        for name, item in by_name.items():
            if name == "in_set":
                flags = ", ".join(f"({classes[o.place or 0]!r}, {self.text(o.value)})" for o in item)
                lines.append(f'        "set": [label for label, is_in in ({flags},) if is_in],')
            elif name == "reason":
                names, places = _tuple(item[0].names), ", ".join(self.text(o.value) for o in item)
                lines.append(f'        "reasons": [{names}[int(place)] for place in ({places},) if place >= 0.0],')
            elif name == "label":
                lines.append(f'        "label": {_tuple(classes)}[int({self.text(item[0].value)})],')
            elif item[0].place is not None:
                entries = ", ".join(f"{classes[o.place or 0]!r}: {self.step(o.value)}" for o in item)
                lines.append(f'        "{name}": {{{entries}}},')
            else:
                lines.append(f'        "{name}": {self.step(item[0].value)},')
        return ["    return {", *lines, "    }"]

    def of_input(self, item: Value) -> str:
        column: Input = self.program.inputs[item.data]
        name = repr(column.name)
        if column.kind == "number":
            return f"ferl_number(row, {name})"
        if column.kind == "date":
            return f"ferl_days(row, {name}, {column.is_zoned})"
        places = {value: place for place, value in enumerate(column.values)}
        call = f"ferl_{'text' if column.is_text else 'code'}(row, {name}, {places!r}, {column.markers!r})"
        return call if column.is_category else f"ferl_rank({call}, {len(column.values)})"

    def choice(self, condition: str, then: str) -> str:
        return f"{then} if {_bare(condition)} else "

    def of_min(self, item: Value) -> str:
        return f"min({', '.join(map(self.text, item.args))})"

    def of_max(self, item: Value) -> str:
        return f"max({', '.join(map(self.text, item.args))})"

    def of_floor(self, item: Value) -> str:
        return f"ferl_floor({_bare(self.text(item.args[0]))})"

    def of_entry(self, item: Value) -> str:
        return f"{self.table(item.data)}[int({self.text(item.args[0])})]"

    def of_below(self, item: Value) -> str:
        return f"float(bisect_left({self.table(item.data)}, {self.text(item.args[0])}))"

    def of_nearest(self, item: Value) -> str:
        search: Nearest = item.data
        order = sorted(range(len(search.place)), key=lambda k: search.place[k])
        parts = [
            _tuple(search.centre.tolist()),
            _tuple(search.per_unit.tolist()),
            f"({''.join(_tuple(row) + ', ' for row in search.units.tolist())})",
            f"({''.join(_tuple(row) + ', ' for row in search.rows.tolist())})",
            _tuple(order),
        ]
        self.kept = f"ferl_kept = ({sum(search.is_number)}, {search.farthest!r}, {', '.join(parts)})"
        known = ", ".join(self.text(search.is_known(k)) for k in range(len(search.columns)))
        return f"ferl_nearest(({', '.join(map(self.text, search.columns))},), ({known},), ferl_kept)"


def _tuple(item: Sequence[Any]) -> str:
    return f"({', '.join(map(repr, item))}{',' * (len(item) == 1)})"


def _comment(text: str) -> str:
    """Text for a comment or a docstring, that cannot end it and has no braces left to fill in."""
    return text.replace("\\", "/").replace('"""', "'''").replace("*/", "* /").replace('"', "'")


def _bare(text: str) -> str:
    """An expression without the brackets around all of it."""
    if not text.startswith("("):
        return text
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return text[1:-1] if place == len(text) - 1 else text
    return text


# ---------------------------------------------------------------------------------------------------------------------
# C
# ---------------------------------------------------------------------------------------------------------------------

_C_HEAD = """/* A classifier, exported by ferl. C99, no library but math.h:

     cc -std=c99 -O2 -c model.c

   ferl_predict fills in the answer to a row and returns 0; it returns k where the k-th column of struct ferl_row, from
   1, holds infinity. A missing number is NAN, missing text is NULL. Labels and reasons are places in ferl_labels and
   ferl_columns; -1: no further reason. */

#include <math.h>
#include <stddef.h>
#include <string.h>

"""

_C_HELPERS = """
static double ferl_clip(double item) { return item > 0.0 ? (item < 1.0 ? item : 1.0) : 0.0; }

static double ferl_gate(double x, double low, double high, double slope) {
  const double below = low - x, above = x - high;
  return ferl_clip(1.0 - (below > above ? below : above) * slope);
}

static double ferl_exp(double x) {
  static const double factor[] = {479001600, 39916800, 3628800, 362880, 40320, 5040, 720, 120, 24, 6, 2, 1, 1};
  double power, r, series = 1.0 / 6227020800.0;
  int k;
  x = x < -700.0 ? -700.0 : x > 700.0 ? 700.0 : x;
  power = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0;
  r = (x - power * 6.93147180369123816490e-01) - power * 1.90821492927058770002e-10;
  for (k = 0; k < 13; ++k) series = series * r + 1.0 / factor[k];
  return ldexp(series, (int)power);
}

static double ferl_min(int n, const double *item) {
  double result = item[0];
  int k;
  for (k = 1; k < n; ++k) result = item[k] < result ? item[k] : result;
  return result;
}

static double ferl_max(int n, const double *item) {
  double result = item[0];
  int k;
  for (k = 1; k < n; ++k) result = item[k] > result ? item[k] : result;
  return result;
}

static double ferl_below(int n, const double *cuts, double x) {
  int low = 0, high = n;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (cuts[middle] < x) low = middle + 1; else high = middle;
  }
  return low;
}

static double ferl_text(const char *item, int n, const char *const *values, int n_markers, const char *const *markers) {
  int k;
  if (item == NULL) return n + 1;
  for (k = 0; k < n; ++k) if (strcmp(item, values[k]) == 0) return k;
  for (k = 0; k < n_markers; ++k) if (strcmp(item, markers[k]) == 0) return n + 1;
  return n > 0 ? n : n + 1;
}

static double ferl_code(double item, int n, const double *values) {
  int k;
  if (item != item || n == 0) return n + 1;
  for (k = 0; k < n; ++k) if (item == values[k]) return k;
  return n;
}
"""

_C_NEAREST = """
/* The mean distance from the nearest familiar row: the nearest by single precision, as in training. */
static double ferl_nearest(const double *value, const int *known) {{
  float query[{d}], least = 0.0f;
  double share, total = 0.0;
  int k, index, best = -1, n_known = 0;
  for (k = 0; k < {d}; ++k) {{
    double item = value[k];
    if (k < {n}) {{
      item = known[k] ? (item - ferl_centre[k]) * ferl_per_unit[k] : 0.0;
      item = item < -{far} ? -{far} : item > {far} ? {far} : item;
    }}
    query[k] = (float)item;
    n_known += known[k];
  }}
  for (index = 0; index < {rows}; ++index) {{
    volatile float sums[2] = {{0.0f, 0.0f}}; /* rounded at each step */
    volatile float all;
    const float *units = ferl_units + index * {d};
    for (k = 0; k < {n}; ++k) {{
      const volatile float away = units[k] - query[k];
      if (known[k]) sums[k % 2] += away < 0.0f ? -away : away;
    }}
    for (k = {n}; k < {d}; ++k) if (known[k] && units[k] != query[k]) sums[1] += (float)ferl_per_unit[k];
    all = sums[0] + sums[1];
    if (best < 0 || all < least) {{ best = index; least = all; }}
  }}
  share = 1.0 / (n_known > 0 ? n_known : 1);
  for (k = 0; k < {d}; ++k) {{
    const int j = ferl_order[k];
    const double item = ferl_rows[best * {d} + j];
    const double away = j < {n} ? fabs(value[j] - item) : (value[j] != item ? 1.0 : 0.0);
    if (known[j]) total += away * ferl_per_unit[j] * share;
  }}
  return total;
}}
"""


class _CPrinter(_CodePrinter):
    """The program in C."""

    nothing, both, either, denial = "NAN", "&&", "||", "!"

    def file(self) -> str:
        """All of the file."""
        program, self.nearest, self.lists = self.program, "", dict[tuple[str, ...], str]()
        fields = {index: _field(program.inputs[index], index) for index in program.read_inputs}
        self.fields = fields
        steps = [f"  const double s{index} = {_bare(self.text(program.steps[index]))};" for index in program.needed]
        members, answers = self.answers()
        read = [program.inputs[index] for index in program.read_inputs]
        kinds = {"date": "days since 1970-01-01", "number": "number", "flag": "0 or 1"}
        struct = [
            f"  {'const char *' if item.is_text else 'double '}{name}; /* {_comment(item.name)}: "
            f"{kinds.get(item.kind, 'category' if item.is_category else 'ordered category')} */"
            for item, name in zip(read, fields.values(), strict=True)
        ] or ["  char unused;"]
        checks = [
            f"  if (isinf(row->{name})) return {place};"
            for place, (item, name) in enumerate(zip(read, fields.values(), strict=True), 1)
            if not item.is_text
        ] + ["  (void)row;"] * (not read)
        tables = [
            f"static const double {name}[] = {{{', '.join(repr(item) for item in numbers)}}};"
            for numbers, name in self.tables.items()
        ]
        texts = [
            f"static const char *const {name}[] = {{{', '.join(map(_c_text, item)) or 'NULL'}}};"
            for item, name in self.lists.items()
        ]
        labels, columns = map(str, program.classes), (item.name for item in program.inputs)
        return "\n".join(
            [
                _C_HEAD + "struct ferl_row {",
                *struct,
                "};",
                "",
                "struct ferl_answer {",
                *members,
                "};",
                "",
                f"const char *const ferl_labels[] = {{{', '.join(map(_c_text, labels))}}};",
                f"const char *const ferl_columns[] = {{{', '.join(map(_c_text, columns))}}};",
                "",
                *self.helpers([*steps, *answers]),
                *tables,
                *texts,
                *([self.nearest] if self.nearest else []),
                "",
                "int ferl_predict(const struct ferl_row *row, struct ferl_answer *answer) {",
                *checks,
                "  {",
                *steps,
                *answers,
                "  }",
                "  return 0;",
                "}",
                "",
            ]
        )

    def helpers(self, lines: list[str]) -> list[str]:
        """The functions that some lines call: compilers warn of others."""
        text = "\n".join(lines)
        called = set(re.findall(r"ferl_\w+(?=\()", text)) | ({"ferl_clip"} if "ferl_gate(" in text else set())
        functions = _C_HELPERS.split("\n\n")
        names = (item.partition("(")[0].rpartition(" ")[2] for item in functions)
        return [f"{item}\n" for item, name in zip(functions, names, strict=True) if name in called]

    def answers(self) -> tuple[list[str], list[str]]:
        """The fields of the answer, and the lines that fill them in."""
        by_name, members, lines = dict[str, list[Output]](), [], []
        for output in self.program.outputs:
            by_name.setdefault(output.name, []).append(output)
        for name, item in by_name.items():
            kind = "int" if name in ("label", "in_set", "reason") else "double"
            size = "" if item[0].place is None else f"[{len(item)}]"
            members.append(f"  {kind} {name}{size};")
            for o in item:
                at = "" if o.place is None else f"[{o.place}]"
                lines.append(f"  answer->{name}{at} = ({kind}){self.text(o.value)};")
        return members, lines

    def list_of(self, item: Sequence[str]) -> str:
        """The name of a list of texts."""
        return self.lists.setdefault(tuple(item), f"ferl_texts_{len(self.lists)}")

    def of_input(self, item: Value) -> str:
        column, field = self.program.inputs[item.data], f"row->{self.fields[item.data]}"
        if column.kind in ("number", "date"):
            return field
        n = len(column.values)
        if column.is_text:
            values, markers = self.list_of(column.values), self.list_of(column.markers)
            call = f"ferl_text({field}, {n}, {values}, {len(column.markers)}, {markers})"
        else:
            values = self.table(tuple(map(float, column.values)) or (0.0,))
            call = f"ferl_code({field}, {n}, {values})"
        return call if column.is_category else f"({call} < {n} ? {call} : NAN)"

    def choice(self, condition: str, then: str) -> str:
        return f"{condition} ? {then} : "

    def of_min(self, item: Value) -> str:
        return self._of_several("min", item)

    def of_max(self, item: Value) -> str:
        return self._of_several("max", item)

    def _of_several(self, name: str, item: Value) -> str:
        return f"ferl_{name}({len(item.args)}, (const double[]){{{', '.join(map(self.text, item.args))}}})"

    def of_floor(self, item: Value) -> str:
        return f"floor({_bare(self.text(item.args[0]))})"

    def of_entry(self, item: Value) -> str:
        return f"{self.table(item.data)}[(int){self.text(item.args[0])}]"

    def of_below(self, item: Value) -> str:
        return f"ferl_below({len(item.data)}, {self.table(item.data)}, {self.text(item.args[0])})"

    def of_nearest(self, item: Value) -> str:
        search: Nearest = item.data
        order = sorted(range(len(search.place)), key=lambda k: search.place[k])
        d, n = len(search.columns), sum(search.is_number)
        tables = [("double", "centre", search.centre), ("double", "per_unit", search.per_unit)]
        tables += [("float", "units", search.units.ravel()), ("double", "rows", search.rows.ravel())]
        lines = [
            f"static const {kind} ferl_{name}[] = {{{', '.join(map(repr, numbers.tolist()))}}};"
            for kind, name, numbers in tables
        ]
        lines.append(f"static const int ferl_order[] = {{{', '.join(map(str, order))}}};")
        helper = _C_NEAREST.format(d=d, n=n, rows=len(search.rows), far=repr(search.farthest))
        self.nearest = "\n".join([*lines, helper])
        known = ", ".join(self.text(search.is_known(k)) for k in range(d))
        values = ", ".join(map(self.text, search.columns))
        return f"ferl_nearest((const double[]){{{values}}}, (const int[]){{{known}}})"


def _field(column: Input, index: int) -> str:
    """A name of C for a column."""
    plain = re.sub(r"[^0-9a-zA-Z]+", "_", column.name).strip("_").lower()[:40]
    return f"x{index}_{plain}" if plain and plain != f"x{index}" else f"x{index}"


def _c_text(item: str) -> str:
    """Text as C writes it, in UTF-8; a zero byte would end it."""
    if "\0" in item:
        raise ValueError(f"The text {item!r} has a zero byte, which ends text in C. Fit without it.")
    letters = [chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else f"\\{b:03o}" for b in item.encode()]
    return f'"{"".join(letters)}"'
