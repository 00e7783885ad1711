"""A model as one SELECT, for databases.

Steps of a program are columns of common table expressions, one for each depth of the steps: what a step reads was
computed below it. Each expression hands on the columns that later ones read, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from ferl._answers import model_of
from ferl.export.lowering import Wanted, label_names, make_program
from ferl.export.plain_code import n_reasons
from ferl.export.program import MOST, Input, Nearest, Output, Printer, Program, Value, check_finite
from ferl.rules import FERLClassifier

DIALECTS = ("duckdb", "postgres", "sqlite", "ansi")
_FEW_VALUES = 20  # categories that a CASE lists; more are joined
_MOST_ARGUMENTS = 50  # of one call of a function
_EXACT_POWER = 2.0**62


def export_sql(
    clf: FERLClassifier,
    *,
    dialect: str = "duckdb",
    table: str | Sequence[str] = "rows",
    keep: Sequence[str] = (),
    evidence: bool = True,
    reasons: int | None = None,
    level: float | None = None,
    prefix: str = "",
    feature_names: Sequence[str] | None = None,
) -> str:
    """A fitted classifier as one SELECT over a table that has the columns of the model.

    The query returns scores, probabilities, label, set, the number of training rows behind an answer, and the features
    that added most. They agree with Python to 1e-9. NULL and NaN are missing values. ``docs/guide/databases.md`` has
    examples and lists the differences between databases.

    Parameters
    ----------
    clf : FERLClassifier or FERLTreeClassifier
        A fitted classifier.
    dialect : {"duckdb", "postgres", "sqlite", "ansi"}, default="duckdb"
        The database. "ansi" keeps to the standard (with LEAST and GREATEST of SQL:2023); dates then are numbers of
        days since 1970-01-01.
    table : str or sequence of str, default="rows"
        Name of the table. In a sequence of names, the catalog and the schema come first.
    keep : sequence of str, default=()
        Columns of the table to return as they are, such as the key of a row.
    evidence : bool, default=True
        Whether the answers include set, ignorance and rows. For rules the query then compares each row with all
        training rows that the model keeps, which takes most of the time.
    reasons : int, default=None
        How many features to name that add most to the score of the label, compared with the average training row.
        None: 3 for rules, 0 for trees.
    level : float, default=None
        As in :meth:`ferl.FERLClassifier.predict_set`.
    prefix : str, default=""
        Prefix of the names of the answers.
    feature_names : sequence of str, default=None
        Names of the columns; None: the names in the training table, or x0, x1, ...

    Returns
    -------
    str
        The query, without a semicolon at its end. Its columns are the columns in ``keep``, then ``label``; for each
        class ``probability_<label>`` and, for rules, ``score_<label>``; with evidence ``in_set_<label>``,
        ``ignorance``, ``rows`` (for trees ``belief_<label>``); then ``reason_1``, ``reason_2``, ...

    Raises
    ------
    ValueError
        If the model has something that SQL cannot express, or names that the database does not distinguish.

    Examples
    --------
    >>> import duckdb
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.export import export_sql
    >>> flowers, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = FERLClassifier(random_state=0).fit(flowers, y)
    >>> query = export_sql(clf, dialect="duckdb", table="flowers", reasons=1)
    >>> duckdb.sql(f"SELECT label, in_set_0, reason_1 FROM ({query}) LIMIT 1").fetchall()
    [(0, True, 'petal length (cm)')]
    """
    model = model_of(clf, "export_sql")
    if dialect not in DIALECTS:
        raise ValueError(f"dialect is {dialect!r}; it must be one of {', '.join(map(repr, DIALECTS))}.")
    program = make_program(model, Wanted(evidence, n_reasons(model.kind, reasons), level, feature_names))
    return _PRINTERS[dialect](program, [table] if isinstance(table, str) else list(table), list(keep), prefix).query()


class _SqlPrinter(Printer):
    """The program in standard SQL; what databases do otherwise is in subclasses.

    Parameters
    ----------
    program : Program
        The program.
    table : list of str
        Names of the table.
    keep : list of str
        Columns to hand on.
    prefix : str
        Prefix of the names of the answers.
    """

    dialect: ClassVar[str] = "ansi"
    double: ClassVar[str] = "DOUBLE PRECISION"
    varchar: ClassVar[str] = "VARCHAR(4000)"
    fence: ClassVar[str] = (
        " OFFSET 0 ROWS"  # what keeps a database from writing the steps of a step into each place that reads it
    )
    most_columns: ClassVar[int] = 1600
    longest_name: ClassVar[int] = 0  # in bytes, which a database cuts off silently; 0: no limit
    note: ClassVar[str] = ""

    def __init__(self, program: Program, table: list[str], keep: list[str], prefix: str) -> None:
        super().__init__(program)
        self.table, self.keep, self.prefix = table, keep, prefix
        read = [program.inputs[index].name for index in program.read_inputs]
        for name in [*table, *keep, *read]:
            self.identifier(name)
        self._refuse_alike(read, "the model reads")
        self.stem = "ferl"
        while any(name.lower().startswith(self.stem) for name in table):
            self.stem += "_"
        self.before: list[str] = []  # common table expressions of constants
        self.joins: list[str] = []

    # -----------------------------------------------------------------------------------------------------------------
    # Names and constants
    # -----------------------------------------------------------------------------------------------------------------

    def identifier(self, name: str) -> str:
        """A name in quotes."""
        if not name or "\0" in name:
            raise ValueError(f"A column or table has the name {name!r}, which no database allows. Rename it.")
        return '"' + name.replace('"', '""') + '"'

    def literal(self, item: str) -> str:
        """Text in quotes."""
        if "\0" in item:
            raise ValueError(f"The text {item!r} has a zero byte, which databases do not allow. Fit without it.")
        return "'" + item.replace("'", "''") + "'"

    def _refuse_alike(self, names: Sequence[str], what: str) -> None:
        """Refuse names that a database takes for the same."""
        known: dict[str, str] = {}
        for name in names:
            same = self.folded(name)
            if same in known:
                raise ValueError(
                    f"{what} the columns {known[same]!r} and {name!r}, which {self.dialect} takes for one. Rename one "
                    "of them, for example by feature_names or keep."
                )
            known[same] = name

    def folded(self, name: str) -> str:
        """What a database compares names by: quoted ones in DuckDB and SQLite without regard to capitals."""
        return name.lower()

    def of_number(self, item: Value) -> str:
        text = repr(check_finite(item.data))
        text = text if "e" in text else f"{text}e0"
        return text if item.data >= 0 else f"({text})"

    def exact(self, item: float) -> str:
        """A number that values are compared with: not a bit may differ."""
        return self.number(item)

    # -----------------------------------------------------------------------------------------------------------------
    # Expressions
    # -----------------------------------------------------------------------------------------------------------------

    def of_step(self, item: Value) -> str:
        return f"s{item.data}"

    def of_nothing(self, item: Value) -> str:
        return f"CAST(NULL AS {self.double})"

    def of_equal(self, item: Value) -> str:
        return f"({self.compared(item.args[0])} = {self.compared(item.args[1])})"

    def of_operate(self, item: Value) -> str:
        if item.op in ("<", "<="):
            return f"({self.compared(item.args[0])} {item.op} {self.compared(item.args[1])})"
        return super().of_operate(item)

    def compared(self, item: Value) -> str:
        """A side of a comparison."""
        return self.exact(item.data) if item.op == "number" else self.text(item)

    def of_and(self, item: Value) -> str:
        return f"({' AND '.join(map(self.text, item.args))})"

    def of_or(self, item: Value) -> str:
        return f"({' OR '.join(map(self.text, item.args))})"

    def of_not(self, item: Value) -> str:
        return f"(NOT {self.text(item.args[0])})"

    def of_missing(self, item: Value) -> str:
        return f"({self.text(item.args[0])} IS NULL)"

    def of_if(self, item: Value) -> str:
        parts = []
        while item.op == "if":
            condition, then, item = item.args
            parts.append(f"WHEN {self.text(condition)} THEN {self.text(then)}")
        last = self.text(item)
        # What ends in a choice goes on with its cases.
        return f"CASE {' '.join(parts)} " + (last[5:] if item.op in ("ramp", "gate") else f"ELSE {last} END")

    def of_min(self, item: Value) -> str:
        return self.call("LEAST", list(map(self.text, item.args)))

    def of_max(self, item: Value) -> str:
        return self.call("GREATEST", list(map(self.text, item.args)))

    def call(self, name: str, arguments: list[str]) -> str:
        """A call of a function of any number of arguments."""
        while len(arguments) > _MOST_ARGUMENTS:
            first = f"{name}({', '.join(arguments[:_MOST_ARGUMENTS])})"
            arguments = [first, *arguments[_MOST_ARGUMENTS:]]
        return f"{name}({', '.join(arguments)})" if len(arguments) > 1 else arguments[0]

    def of_exp(self, item: Value) -> str:
        return f"EXP({self.call('GREATEST', [self.text(item.args[0]), self.number(-700.0)])})"

    def of_floor(self, item: Value) -> str:
        return f"FLOOR({self.text(item.args[0])})"

    def of_ramp(self, item: Value) -> str:
        (start, slope, sign), x = item.data, self.text(item.args[0])
        end = min(max(start + sign / slope, -MOST), MOST)
        if sign > 0:
            outside, inside = f"{x} <= {self.exact(start)}", f"{x} < {self.exact(end)}"
            ramp = f"({x} - {self.number(start)}) * {self.number(slope)}"
        else:
            outside, inside = f"{x} >= {self.exact(start)}", f"{x} > {self.exact(end)}"
            ramp = f"({self.number(start)} - {x}) * {self.number(slope)}"
        return f"CASE WHEN {outside} THEN {self.number(0)} WHEN {inside} THEN {ramp} ELSE {self.number(1)} END"

    def of_gate(self, item: Value) -> str:
        (low, high, slope), x = item.data, self.text(item.args[0])
        margin = self.number(min(1 / slope, MOST))

        def closing(away: str) -> str:
            fades = f"{self.number(1)} - {away} * {self.number(slope)}"
            return f"CASE WHEN {away} < {margin} THEN {fades} ELSE {self.number(0)} END"

        below, above = closing(f"({self.number(low)} - {x})"), closing(f"({x} - {self.number(high)})")
        return (
            f"CASE WHEN {x} < {self.exact(low)} THEN {below} WHEN {x} > {self.exact(high)} THEN {above} "
            f"ELSE {self.number(1)} END"
        )

    def of_entry(self, item: Value) -> str:
        x = self.text(item.args[0])
        return self.halved(lambda place: f"{x} < {self.number(place)}", list(map(self.number, item.data)))

    def of_below(self, item: Value) -> str:
        x = self.text(item.args[0])
        counts = [self.number(count) for count in range(len(item.data) + 1)]
        return self.halved(lambda place: f"{x} <= {self.exact(item.data[place - 1])}", counts)

    def halved(self, is_before: Callable[[int], str], result: list[str], first: int = 0) -> str:
        """One of several texts, by halving: ``is_before(place)`` is the condition of all before a place."""
        if len(set(result)) == 1:
            return result[0]
        middle = len(result) // 2
        before = self.halved(is_before, result[:middle], first)
        behind = self.halved(is_before, result[middle:], first + middle)
        return f"CASE WHEN {is_before(first + middle)} THEN {before} ELSE {behind} END"

    # -----------------------------------------------------------------------------------------------------------------
    # Columns of the table
    # -----------------------------------------------------------------------------------------------------------------

    def of_input(self, item: Value) -> str:
        column = self.program.inputs[item.data]
        name = f"t.{self.identifier(column.name)}"
        if column.kind in ("number", "date"):
            return self.days(column, name) if column.kind == "date" else self.finite(column, name)
        n = len(column.values)
        missing, unseen = (n + 1.0, float(n)) if column.is_category else (None, None)
        as_missing = self.nullable(missing)
        if not n:
            return as_missing
        if column.kind == "flag":
            spelled, text = (
                {True: ("true", "1", "1.0"), False: ("false", "0", "0.0")},
                f"LOWER({self.characters(name)})",
            )
            pairs = [(self.literal(word), place) for place, item in enumerate(column.values) for word in spelled[item]]
        elif column.is_text:
            text = self.characters(name)
            pairs = [(self.literal(item), place) for place, item in enumerate(column.values)]
        else:
            text = self.finite(column, name)
            pairs = [(self.exact(item), place) for place, item in enumerate(column.values)]
        is_null = f"{name} IS NULL" if column.is_text or column.kind == "flag" else f"{text} IS NULL"
        markers = ", ".join(self.literal(item) for item in column.markers)
        if markers:
            is_null += f" OR TRIM({self.characters(name)}) IN ({markers})"
        other = f"CASE WHEN {is_null} THEN {as_missing} ELSE {self.nullable(unseen)} END"
        if len(pairs) > _FEW_VALUES:
            return f"COALESCE({self.joined(item.data, text, pairs)}, {other})"
        cases = " ".join(f"WHEN {literal} THEN {self.number(place)}" for literal, place in pairs)
        return f"CASE {text} {cases} ELSE {other} END"

    def nullable(self, item: float | None) -> str:
        """A number, or NULL."""
        return f"CAST(NULL AS {self.double})" if item is None else self.number(item)

    def joined(self, index: int, text: str, pairs: list[tuple[str, int]]) -> str:
        """The place of a category, found by a join."""
        name = f"{self.stem}_values_{index}"
        rows = ", ".join(f"({literal}, {self.number(place)})" for literal, place in pairs)
        self.before.append(f"{name}(item, place) AS (VALUES {rows})")
        self.joins.append(f"LEFT JOIN {name} ON {name}.item = {text}")
        return f"{name}.place"

    def characters(self, name: str) -> str:
        """A column as text."""
        return f"CAST({name} AS {self.varchar})"

    def finite(self, column: Input, name: str) -> str:
        """A column as numbers, NULL for NaN; an error for infinity."""
        item = f"CAST({name} AS {self.double})"
        refused = f"CAST({self.literal(self.refusal(column))} || CAST({name} AS {self.varchar}) AS {self.double})"
        is_infinite = f"ABS({item}) > {self.number(MOST)}"
        return f"CASE WHEN {self.is_nan(item)} THEN NULL WHEN {is_infinite} THEN {refused} ELSE {item} END"

    def refusal(self, column: Input) -> str:
        """What the error about a value begins with."""
        return f"Column {column.name!r} must hold finite numbers, not "

    def is_nan(self, item: str) -> str:
        """Whether a number is NaN."""
        return f"{item} <> {item}"

    def days(self, column: Input, name: str) -> str:
        """Dates as days since 1970."""
        return self.finite(column, name)

    def moment(self, column: Input, name: str) -> str:
        """A date as a time of the database, in UTC where the column has a zone."""
        return f"(CAST({name} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')" if column.is_zoned else f"CAST({name} AS TIMESTAMP)"

    # -----------------------------------------------------------------------------------------------------------------
    # The nearest familiar row
    # -----------------------------------------------------------------------------------------------------------------

    def search_columns(self, search: Nearest) -> dict[str, str]:
        """Columns that the search reads: the row in units, and the share of one known column."""
        result = {}
        for k, item in enumerate(search.columns):
            if search.is_number[k] and search.per_unit[k] > 0:
                away = f"({self.text(item)} - {self.number(search.centre[k])}) * {self.number(search.per_unit[k])}"
                bounds = self.number(-search.farthest), self.number(search.farthest)
                inside = self.call("LEAST", [self.call("GREATEST", [away, bounds[0]]), bounds[1]])
                # LEAST and GREATEST of some databases skip NULL.
                result[f"q{k}"] = f"CASE WHEN {self.text(item)} IS NULL THEN NULL ELSE {self.rounded(inside)} END"
        known = [
            f"CASE WHEN {self.text(search.is_known(k))} THEN {self.number(1)} ELSE {self.number(0)} END"
            for k in range(len(search.columns))
        ]
        share = f"{self.number(1)} / {self.call('GREATEST', [' + '.join(known), self.number(1)])}"
        return result | {"ferl_share": share}

    def single(self, item: str) -> str:
        """A number in single precision."""
        return f"CAST({item} AS REAL)"

    def rounded(self, item: str) -> str:
        """A number of the table in single precision."""
        return self.single(item)

    def distances(self, search: Nearest) -> tuple[str, str]:
        """The distance by which rows are compared, and the distance that counts; of a row q and a familiar row k."""
        sums: tuple[list[str], list[str]] = ([], [])
        exact = []
        for k, item in enumerate(search.columns):
            per_unit, x = float(search.per_unit[k]), f"{'q.' * (item.op == 'step')}{self.text(item)}"
            if per_unit == 0:
                continue
            if search.is_number[k]:
                sums[k % 2].append(f"COALESCE(ABS(k.u{k} - q.q{k}), {self.single('0e0')})")
                exact.append(
                    (search.place[k], f"COALESCE(ABS({x} - k.r{k}), {self.number(0)}) * {self.number(per_unit)}")
                )
            else:
                same = f"{x} > {self.number(search.n_categories[k])} OR {x} = k.r{k}"
                apart = self.single(self.number(per_unit))
                sums[1].append(f"CASE WHEN {same} THEN {self.single('0e0')} ELSE {apart} END")
                exact.append(
                    (search.place[k], f"CASE WHEN {same} THEN {self.number(0)} ELSE {self.number(per_unit)} END")
                )
        both = [" + ".join(item) for item in sums if item] or [self.single("0e0")]
        total = " + ".join(text for _, text in sorted(exact)) or self.number(0)
        return " + ".join(f"({item})" for item in both), f"({total}) * q.ferl_share"

    def kept_rows(self, search: Nearest) -> str:
        """The common table expression of the familiar rows: their place i, r of each column, u of numbers in units."""
        names, columns = ["i"], [[str(i) for i in range(len(search.rows))]]
        for name, numbers, is_single in _kept_columns(search):
            names.append(name)
            texts = map(self.number, numbers)
            columns.append([self.single(text) if is_single else text for text in texts])
        rows = ", ".join(f"({', '.join(row)})" for row in zip(*columns, strict=True))
        return f"{self.stem}_kept({', '.join(names)}) AS (VALUES {rows})"

    def nearest_stage(self, index: int, search: Nearest, live: list[str], source: str, name: str) -> list[str]:
        """Common table expressions that add the distance from the nearest familiar row to columns of a source."""
        item = [f"{text} AS {column}" for column, text in self.search_columns(search).items()]
        compared, exact = self.distances(search)
        handed = [f"q.{column}" for column in live]
        result = f"(SELECT {exact} FROM {self.stem}_kept k ORDER BY {compared}, k.i FETCH FIRST 1 ROW ONLY) AS s{index}"
        return [
            f"{name}_query AS (SELECT {', '.join([*live, *item])} FROM {source}{self.fence})",
            f"{name} AS (SELECT {', '.join([*handed, result])} FROM {name}_query q{self.fence})",
        ]

    # -----------------------------------------------------------------------------------------------------------------
    # The query
    # -----------------------------------------------------------------------------------------------------------------

    def query(self) -> str:
        """All of the query."""
        outputs = self.program.outputs
        steps = {index: self.program.steps[index] for index in self.program.needed}
        depth: dict[int, int] = {}
        for index, item in steps.items():
            depth[index] = 0 if item.op == "input" else 1 + max((depth[step] for step in item.steps), default=0)
        searched = {depth[index] for index, item in steps.items() if item.op == "nearest"}
        deepest = max(depth.values(), default=0)
        last = dict(depth)  # the depth of the deepest step that reads a step
        for index, item in steps.items():
            for step in item.steps:
                last[step] = max(last[step], depth[index])
        for output in outputs:
            for step in output.value.steps:
                last[step] = deepest + 1
        kept = [f"k{place}" for place in range(len(self.keep))]
        stages, source = [], ""
        for level in range(deepest + 1):
            name = f"{self.stem}_{level}"
            live = kept + [f"s{index}" for index in steps if depth[index] < level < last[index]]
            new = [index for index in steps if depth[index] == level]
            if len(live) + len(new) > self.most_columns:
                raise ValueError(
                    f"The model needs {len(live) + len(new)} columns side by side, and {self.dialect} has at most "
                    f"{self.most_columns}. Fit fewer rules (max_rules), or export to DuckDB, ONNX or C."
                )
            if level in searched:
                (index,) = (step for step in new if steps[step].op == "nearest")
                search: Nearest = steps[index].data
                self.before.append(self.kept_rows(search))
                below = kept + [f"s{step}" for step in steps if depth[step] < level <= last[step]]
                stages += self.nearest_stage(index, search, below, source, f"{name}_near")
                source, live, new = f"{name}_near", [*live, f"s{index}"], [step for step in new if step != index]
            columns = live + [f"{self.text(steps[index])} AS s{index}" for index in new]
            if level == 0:
                given = [f"t.{self.identifier(item)} AS k{place}" for place, item in enumerate(self.keep)]
                columns = given + columns[len(kept) :]
                source = " ".join([f"{'.'.join(map(self.identifier, self.table))} t", *self.joins])
            stages.append(f"{name} AS (SELECT {', '.join(columns) or '1 AS nothing'} FROM {source}{self.fence})")
            source = name
        names = self.names()
        answers = [f"k{place} AS {self.identifier(item)}" for place, item in enumerate(self.keep)]
        answers += [
            f"{self.answer(item)} AS {self.identifier(name)}" for item, name in zip(outputs, names, strict=True)
        ]
        body = ",\n".join([*self.before, *stages])
        listed = ",\n  ".join(answers)
        return f"{self.head()}WITH {body}\nSELECT\n  {listed}\nFROM {source}"

    def head(self) -> str:
        """What a reader of the query may want to know."""
        columns = ", ".join(f"{item.name!r}" for item in (self.program.inputs[k] for k in self.program.read_inputs))
        plain = columns.replace("\n", " ").replace("\r", " ").replace("*/", "* /").replace("/*", "/ *")
        note = f" {self.note}" if self.note else ""
        return f"/* A classifier, exported by ferl for {self.dialect}.{note} It reads {plain}. */\n"

    def names(self) -> list[str]:
        """The names of the answers, with the places of classes where a database takes two labels for one."""
        labels = label_names(self.program)
        for item in (labels, [str(place) for place in range(len(labels))]):
            result = [self.prefix + self._name(output, item) for output in self.program.outputs]
            folded = [self.folded(name) for name in result]
            is_short = not self.longest_name or all(len(name.encode()) <= self.longest_name for name in result)
            if len(set(folded)) == len(folded) and is_short and not any("\0" in name for name in result):
                break
        self._refuse_alike([*self.keep, *result], "The query returns")
        return result

    def _name(self, output: Output, labels: list[str]) -> str:
        if output.place is None:
            return output.name
        return f"{output.name}_{output.place + 1 if output.name == 'reason' else labels[output.place]}"

    def answer(self, output: Output) -> str:
        """The expression of an answer."""
        if output.name == "label":
            literals = [self.label(item) for item in output.names]
            cases = " ".join(f"WHEN {self.number(place)} THEN {item}" for place, item in enumerate(literals))
            return f"CASE {self.text(output.value)} {cases} END"
        if output.name == "reason":
            read = self.program.read_inputs
            cases = " ".join(f"WHEN {self.number(k)} THEN {self.literal(output.names[k])}" for k in read)
            return f"CASE {self.text(output.value)} {cases} END" if read else self.characters("NULL")
        return self.text(output.value)

    def label(self, item: str | float) -> str:
        """A label."""
        if isinstance(item, bool):
            return str(item).upper()
        if isinstance(item, str):
            return self.literal(item)
        return str(item) if isinstance(item, int) else self.number(item)


class _DuckDB(_SqlPrinter):
    """DuckDB."""

    dialect = "duckdb"
    double = "DOUBLE"
    varchar = "VARCHAR"
    fence = ""
    most_columns = 100_000

    def of_entry(self, item: Value) -> str:
        return f"({self.list_of(item.data)})[CAST({self.text(item.args[0])} AS BIGINT) + 1]"

    def list_of(self, numbers: Sequence[float], kind: str = "DOUBLE") -> str:
        """A list as one constant, which DuckDB plans faster than many."""
        return f"CAST('[{','.join(repr(check_finite(item)) for item in numbers)}]' AS {kind}[])"

    def finite(self, column: Input, name: str) -> str:
        item = f"CAST({name} AS DOUBLE)"
        refused = f"error({self.literal(self.refusal(column))} || CAST({name} AS VARCHAR))"
        return f"CASE WHEN isnan({item}) THEN NULL WHEN isinf({item}) THEN {refused} ELSE {item} END"

    def days(self, column: Input, name: str) -> str:
        moment = self.moment(column, name)
        day = f"CAST({moment} AS DATE)"
        return (
            f"CAST({day} - DATE '1970-01-01' AS DOUBLE) + (epoch_us({moment}) - epoch_us(CAST({day} AS TIMESTAMP))) "
            "/ 86400000000e0"
        )

    def kept_rows(self, search: Nearest) -> str:
        columns = [f"unnest(range({len(search.rows)})) AS i"]
        for name, numbers, is_single in _kept_columns(search):
            columns.append(f"unnest({self.list_of(numbers, 'FLOAT' if is_single else 'DOUBLE')}) AS {name}")
        return f"{self.stem}_kept AS MATERIALIZED (SELECT {', '.join(columns)})"

    def nearest_stage(self, index: int, search: Nearest, live: list[str], source: str, name: str) -> list[str]:
        item = [f"{text} AS {column}" for column, text in self.search_columns(search).items()]
        compared, exact = self.distances(search)
        # Equal distances in single precision: the first. Others are further apart than what the place adds.
        step = 2.0 ** -(26 + math.ceil(math.log2(len(search.rows) + 1)))
        key = f"CAST({compared} AS DOUBLE) * (1e0 + k.i * {self.number(step)})"
        return [
            f"{name}_query AS MATERIALIZED (SELECT row_number() OVER () AS ferl_row, {', '.join([*live, *item])} "
            f"FROM {source})",
            f"{name}_found AS (SELECT q.ferl_row, arg_min(k.i, {key}) AS i FROM {name}_query q, {self.stem}_kept k "
            "GROUP BY q.ferl_row)",
            f"{name} AS (SELECT {', '.join([*(f'q.{column}' for column in live), f'{exact} AS s{index}'])} "
            f"FROM {name}_query q JOIN {name}_found USING (ferl_row) JOIN {self.stem}_kept k USING (i))",
        ]


class _Postgres(_SqlPrinter):
    """PostgreSQL."""

    dialect = "postgres"
    double = "float8"
    varchar = "text"
    fence = " OFFSET 0"
    longest_name = 63

    def folded(self, name: str) -> str:
        return name.encode()[: self.longest_name].decode(errors="replace")

    def of_number(self, item: Value) -> str:
        return f"float8 '{check_finite(item.data)!r}'"

    def of_entry(self, item: Value) -> str:
        numbers = ",".join(map(repr, item.data))
        return f"(CAST('{{{numbers}}}' AS float8[]))[CAST({self.text(item.args[0])} AS integer) + 1]"

    def characters(self, name: str) -> str:
        return f'CAST({name} AS text) COLLATE "C"'

    def is_nan(self, item: str) -> str:
        return f"{item} = float8 'NaN'"

    def days(self, column: Input, name: str) -> str:
        moment = self.moment(column, name)
        within = f"EXTRACT(EPOCH FROM ({moment} - date_trunc('day', {moment})))"
        return (
            f"CAST(CAST({moment} AS date) - DATE '1970-01-01' AS float8) + CAST({within} * 1000000 AS float8) "
            "/ float8 '86400000000'"
        )

    def rounded(self, item: str) -> str:
        # A number that single precision makes zero is an error there.
        return f"CASE WHEN ABS({item}) < float8 '1e-37' THEN {self.single('0e0')} ELSE {self.single(item)} END"

    def kept_rows(self, search: Nearest) -> str:
        names, arrays = [], []
        for name, numbers, is_single in _kept_columns(search):
            names.append(name)
            arrays.append(f"CAST('{{{','.join(map(repr, numbers))}}}' AS float{4 if is_single else 8}[])")
        rows = f"unnest({', '.join(arrays)}) WITH ORDINALITY AS item({', '.join([*names, 'i'])})"
        return f"{self.stem}_kept AS MATERIALIZED (SELECT * FROM {rows})"


class _SQLite(_SqlPrinter):
    """SQLite: types belong to values, and there are neither dates nor single precision."""

    dialect = "sqlite"
    double = "REAL"
    varchar = "TEXT"
    fence = " LIMIT -1 OFFSET 0"
    most_columns = 1900
    note = (
        "It needs the function exp, which SQLite has where it was built with its math functions; elsewhere define it, "
        'in Python by connection.create_function("exp", 1, math.exp).'
    )

    def exact(self, item: float) -> str:
        """A fraction of whole numbers: some versions of SQLite read a decimal number one bit off."""
        check_finite(item)
        numerator, denominator = item.as_integer_ratio()
        if (denominator == 1 and abs(numerator) < 2**53) or not 2.0**-1000 < abs(item) < 2.0**53:
            return self.number(item)
        text = f"{float(abs(numerator)):.1f}"
        while denominator > 1:
            part = min(denominator, int(_EXACT_POWER))
            text, denominator = f"{text} / {part}.0", denominator // part
        return f"({'-' if item < 0 else ''}{text})"

    def call(self, name: str, arguments: list[str]) -> str:
        return super().call({"LEAST": "MIN", "GREATEST": "MAX"}[name], arguments)

    def of_floor(self, item: Value) -> str:
        x = self.text(item.args[0])
        return f"((CAST({x} AS INTEGER) - ({x} < CAST({x} AS INTEGER))) * 1e0)"

    def single(self, item: str) -> str:
        return item

    def characters(self, name: str) -> str:
        return f"(CAST({name} AS TEXT) || '')"  # without the collation of the column

    def refused(self, name: str) -> str:
        """An error where this is computed: SQLite has no function that raises one outside of triggers."""
        return f"abs(-9223372036854775807 - 1 + 0 * length({name}))"

    def finite(self, column: Input, name: str) -> str:
        is_number = f"typeof({name}) IN ('integer', 'real') AND abs({name} * 1e0) <= {self.number(MOST)}"
        return f"CASE WHEN {name} IS NULL THEN NULL WHEN {is_number} THEN {name} * 1e0 ELSE {self.refused(name)} END"

    def days(self, column: Input, name: str) -> str:
        seconds = f"(strftime('%s', {name}) - strftime('%s', date({name})))"
        within = f"({seconds} * 1000 + CAST(substr(strftime('%f', {name}), 4) AS INTEGER)) / 86400000e0"
        is_date = f"typeof({name}) = 'text' AND julianday({name}) IS NOT NULL"
        days = f"(julianday(date({name})) - 2440587.5e0) + {within}"
        return f"CASE WHEN {name} IS NULL THEN NULL WHEN {is_date} THEN {days} ELSE {self.refused(name)} END"

    def nearest_stage(self, index: int, search: Nearest, live: list[str], source: str, name: str) -> list[str]:
        share = self.search_columns(search)["ferl_share"]
        _, exact = self.distances(search)
        handed = [f"q.{column}" for column in live]
        result = f"(SELECT MIN({exact}) FROM {self.stem}_kept k) AS s{index}"
        return [
            f"{name}_query AS (SELECT {', '.join([*live, f'{share} AS ferl_share'])} FROM {source}{self.fence})",
            f"{name} AS (SELECT {', '.join([*handed, result])} FROM {name}_query q{self.fence})",
        ]


def _kept_columns(search: Nearest) -> Iterator[tuple[str, list[float], bool]]:
    """Columns of the familiar rows that count: name, numbers, and whether these are in single precision."""
    for k in range(len(search.columns)):
        if search.per_unit[k] > 0:
            yield f"r{k}", search.rows[:, k].tolist(), False
            if search.is_number[k]:
                yield f"u{k}", search.units[:, k].tolist(), True


_PRINTERS = {"duckdb": _DuckDB, "postgres": _Postgres, "sqlite": _SQLite, "ansi": _SqlPrinter}
