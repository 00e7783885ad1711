"""Tables in files: CSV and Parquet, read batch by batch as the columns of a model, and written batch by batch."""

from __future__ import annotations

import codecs
import csv as python_csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from ferl._tables.columns import arrow_column, encode_column, is_text
from ferl._tables.derived import Derived, with_derived
from ferl._tables.schema import Schema
from ferl._tables.values import FORMULA_STARTS, MISSING, harmless_text, plain_text, spelled_number
from ferl._util.arrays import Floats
from ferl._util.files import TableFileError, replacing
from ferl._util.text import listed, near_name, shown

# Bytes of a CSV file that are read at a time. Arrow reads some dozens ahead: 3 million rows of ten columns took 290,
# 340 and 440 MB with blocks of 1, 2 and 4 MB, and the same time. A row must fit into a block.
BLOCK_BYTES = 1 << 20
# Every block costs time for every column, so wide files are read in larger blocks: about this many rows each, by the
# length of the header.
_BLOCK_ROWS = 16
_MOST_TIMES = 512  # factor by which blocks are enlarged for a long row
_MOST_BLOCK = (1 << 31) - 1  # bytes; Arrow takes no more
BATCH_ROWS = 65_536  # of a Parquet file
FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json", ".ndjson": "json"}
SEPARATORS = {",": "a comma", ";": "';'", "\t": "a tab", "|": "'|'"}
MAX_UNSEEN = 1000  # unseen categories of a column that are remembered by name: memory must not grow with the file
_MAX_HEADER = 1 << 24  # bytes
_TAIL_BYTES = 1 << 16
_MAX_ARROW_TEXT = 160  # letters of a message of Arrow, which may quote the file
_LINE_END = re.compile("[\r\n]")
# As Python writes it: text that reads back to the same text. 007 and +7 are names, not numbers.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# A number with a comma before its decimals: only where commas do not stand between fields, and never with points.
_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*")


@dataclass(frozen=True)
class FileForm:
    """How a file is to be read.

    Attributes
    ----------
    separator : str or None
        Between the fields of a CSV file; None: a comma, a tab where the name ends in .tsv, or what the header has.
    missing : tuple of str
        What stands for a missing value, besides nothing at all.
    """

    separator: str | None = None
    missing: tuple[str, ...] = ()

    @property
    def has_decimal_commas(self) -> bool:
        """Whether "3,14" can be a number: in a CSV file whose fields have something else between them."""
        return self.separator not in (None, ",")


class TableFile:
    """A CSV or Parquet file.

    Parameters
    ----------
    path : Path
        The file; it is Parquet where its name ends so, and else CSV.
    form : FileForm
        How to read it.

    Attributes
    ----------
    names : list of str
        Names of its columns, all different.
    size : int
        What :meth:`batches` counts up to: bytes or rows.
    """

    def __init__(self, path: Path, form: FileForm) -> None:
        self.path = path
        self.is_parquet = FORMATS.get(path.suffix.lower()) == "parquet"
        if not path.is_file():
            raise TableFileError(f"{path} is no file. Check the path.")
        self.encoding, self._header, self._has_rows, separator = "utf8", "", True, None
        if not self.is_parquet:
            self.encoding = _encoding_of(path)
            start = _first_line(path, self.encoding)
            self._header = _LINE_END.split(start, maxsplit=1)[0].rstrip("\0\ufffd")
            self._has_rows = path.stat().st_size > _MAX_HEADER or _LINE_END.search(start) is not None
            separator = _separator_of(path, self._header, form.separator)
        self.form = replace(form, separator=separator)
        with self._named_errors():
            self.schema = pq.read_schema(path) if self.is_parquet else self._csv_schema()
        self.names: list[str] = list(self.schema.names)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableFileError(f"{path.name} has several columns called {twice[0]!r}. Give each another name.")
        self.size = pq.read_metadata(path).num_rows if self.is_parquet else path.stat().st_size

    def batches(self, moved: Callable[[int], object] = lambda _: None) -> Iterator[pa.Table]:
        """The rows in batches: columns of a CSV file as text, columns of a Parquet file in their types.

        Parameters
        ----------
        moved : callable, default=a function that does nothing
            Called with how far reading has come, on the scale of ``size``.
        """
        with self._named_errors():
            yield from self._parquet_batches(moved) if self.is_parquet else self._csv_batches(moved)

    def read(self) -> pa.Table:
        """All rows."""
        result = list(self.batches())
        return pa.concat_tables(result) if result else self.schema.empty_table()

    def _parquet_batches(self, moved: Callable[[int], object]) -> Iterator[pa.Table]:
        n_rows = 0
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(batch_size=BATCH_ROWS):
                n_rows += batch.num_rows
                yield pa.Table.from_batches([batch])
                moved(n_rows)

    def _csv_batches(self, moved: Callable[[int], object]) -> Iterator[pa.Table]:
        if not self._has_rows:
            return
        last: list[str | None] = []
        n_rows, times = 0, 1
        while True:
            try:
                n_skipped = n_rows
                with pa.OSFile(str(self.path)) as file, self._open_csv(file, self.names, times) as reader:
                    for batch in reader:
                        rest, n_skipped = batch.slice(n_skipped), max(n_skipped - batch.num_rows, 0)
                        if rest.num_rows:
                            last = [column[-1].as_py() for column in rest.columns]
                            n_rows += rest.num_rows
                            yield pa.Table.from_batches([rest])
                        moved(file.tell())
                break
            except pa.ArrowInvalid as error:  # a row that does not fit into a block: from there on in larger ones
                if "straddl" not in str(error) or times >= _MOST_TIMES:
                    raise
                times *= 8
        if any(value is not None and "\n" in value for value in last) or self._ends_with_odd_quotes():
            self._refuse_unclosed_quote()

    def _csv_schema(self) -> pa.Schema:
        source: Any = str(self.path)
        if not self._has_rows:  # Arrow takes a header without a new line for nothing
            if not self._header:
                raise TableFileError(f"{self.path.name} is empty. It needs a header and rows.")
            source = pa.BufferReader(f"{self._header}\n".encode(self.encoding))
        times = 1
        while True:
            try:
                with self._open_csv(source, [], times) as reader:
                    return pa.schema([(name, pa.string()) for name in reader.schema.names])
            except pa.ArrowInvalid as error:  # as in _csv_batches
                if "straddl" not in str(error) or times >= _MOST_TIMES:
                    raise
                times *= 8

    def _open_csv(self, source: Any, names: list[str], times: int = 1) -> Any:
        block = times * max(BLOCK_BYTES, _BLOCK_ROWS * len(self._header.encode(self.encoding)))
        block = min(block, _MOST_BLOCK)
        return csv.open_csv(
            source,
            read_options=csv.ReadOptions(block_size=block, encoding=self.encoding),
            parse_options=csv.ParseOptions(delimiter=self.form.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                # Text, all of it: what Arrow infers from one block need not hold for the next.
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )

    def _ends_with_odd_quotes(self) -> bool:
        """Whether the last line looks as if a quote had swallowed what follows it."""
        with self.path.open("rb") as file:
            file.seek(max(self.path.stat().st_size - _TAIL_BYTES, 0))
            tail = file.read().rstrip(b"\r\n\0")
        return tail[tail.rfind(b"\n") + 1 :].count(b'"') % 2 == 1

    def _refuse_unclosed_quote(self) -> None:
        """Name the line where a quote begins that swallows all that follows."""
        line = unclosed_quote(self.path, str(self.form.separator), self.encoding)
        if line is not None:
            raise TableFileError(
                f'{self.path.name}: a quote (") begins in line {line:,} and never ends, so that all that follows would '
                "be one value. Close it, or double a quote that belongs to the text."
            )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Put the name of the file and a remedy around Arrow's message on its content."""
        try:
            yield
        except pa.ArrowInvalid as error:
            remedy, other = "Is it a Parquet file?", None
            if not self.is_parquet:
                self._refuse_unclosed_quote()
                remedy, other = self._csv_remedy(str(error))
            message = str(error)[:_MAX_ARROW_TEXT].rstrip(". ")
            text = f"{self.path.name} cannot be read: {message}. {remedy}"
            raise TableFileError(text, "separator" if other else "", other or "") from error

    def _csv_remedy(self, message: str) -> tuple[str, str | None]:
        """What to do about a message of Arrow, and the separator that the file seems to have, if it is another one."""
        if "Empty" in message:
            return "It needs a header and rows.", None
        if "UTF8" in message or "codec" in message:
            return "Save it as UTF-8.", None
        used = str(self.form.separator)
        with _open_text(self.path, self.encoding) as file:
            first, second = (_unquoted(file.readline(_MAX_HEADER)) for _ in range(2))
        for other in SEPARATORS:
            # Both lines have it equally often, and more often than the one used.
            if other != used and first.count(used) < first.count(other) == second.count(other):
                return f"Its fields seem to have {other!r} between them: pass it as the separator.", other
        return "Check the separator, and the quotes around text.", None


def _encoding_of(path: Path) -> str:
    """The encoding of a file by its first bytes: UTF-16, as spreadsheets write "Unicode text", or UTF-8.

    UTF-16 without its mark at the beginning has zeros beside the letters; a table of UTF-8 has no zeros.
    """
    with path.open("rb") as file:
        start = file.read(256)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if start.startswith(b"\x1f\x8b"):
        raise TableFileError(f"{path.name} is compressed. Unpack it first: gunzip -c {path.name} > table.csv")
    if b"\0" in start:
        raise TableFileError(
            f"{path.name} holds bytes of zero, so it is no CSV file in UTF-8. If it is UTF-16, convert it: "
            f"iconv -f UTF-16LE -t UTF-8 {path.name} > utf8.csv"
        )
    return "utf8"


def _first_line(path: Path, encoding: str) -> str:
    """The text up to the first line feed; what ends a line may be a carriage return before."""
    with path.open("rb") as file:
        content = file.readline(_MAX_HEADER)
        if encoding == "utf-16":
            content += file.read(1)  # the second byte of the new line, where it comes last
    return content.decode("utf-8-sig" if encoding == "utf8" else encoding, errors="replace")


def _open_text(path: Path, encoding: str) -> IO[str]:
    return path.open(encoding="utf-8-sig" if encoding == "utf8" else encoding, errors="replace", newline="\n")


def _separator_of(path: Path, header: str, given: str | None) -> str:
    """The character between the fields of a file.

    Parameters
    ----------
    path : Path
        The file; one that ends in .tsv has tabs.
    header : str
        Its first line.
    given : str or None
        The user's choice. None: a comma, or where the header has no comma, the separator that it has.

    Returns
    -------
    str
    """
    if given is not None and len(given.encode()) != 1:
        raise TableFileError(f"The separator is {given!r}; it must be one character, such as ';'.")
    usual = given or ("\t" if path.suffix.lower() == ".tsv" else ",")
    bare = _unquoted(header)
    others = [item for item in SEPARATORS if item in bare]
    if usual in bare or not others:
        return usual
    result = max(others, key=bare.count)
    if given is not None:
        raise TableFileError(
            f"The header of {path.name} has no {shown(given)}, the separator asked for, but {SEPARATORS[result]}. "
            "Leave the separator out."
        )
    return result


def _unquoted(line: str) -> str:
    """A line without what stands in quotes."""
    return "".join(line.split('"')[::2])


def unclosed_quote(path: Path, separator: str, encoding: str) -> int | None:
    """The line, from 1, where a quote begins that never ends; None: all are closed."""
    n_lines, end, row = 0, "\x1a", [""]

    def lines() -> Iterator[str]:
        nonlocal n_lines
        for line in file:
            n_lines += 1
            yield line.rstrip("\n").replace("\r", "") + "\n"
        yield end  # a line by itself, unless a quote is open

    most = python_csv.field_size_limit(2**31 - 1)
    try:
        with _open_text(path, encoding) as file:
            for item in python_csv.reader(lines(), delimiter=separator):
                row = item or row
    finally:
        python_csv.field_size_limit(most)
    return None if row[-1] == end else n_lines + 1 - row[-1].count("\n")


# ---------------------------------------------------------------------------------------------------------------------
# Text as numbers and categories
# ---------------------------------------------------------------------------------------------------------------------


def known_text(column: pa.ChunkedArray, missing: Sequence[str]) -> pa.ChunkedArray:
    """A text column, null where its text stands for a missing value."""
    if not missing:
        return column
    lacks = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(missing, pa.string()))
    return pc.if_else(lacks, pa.scalar(None, pa.string()), column)


def known_column(column: pa.ChunkedArray, form: FileForm) -> pa.ChunkedArray:
    """A column without a dictionary, null where its text stands for a missing value."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not is_text(column.type):
        return column
    return known_text(column if pa.types.is_string(column.type) else column.cast(pa.string()), form.missing)


def text_as_numbers(column: pa.ChunkedArray, decimal_commas: bool = False) -> pa.ChunkedArray | None:
    """A text column as float64; None where some text is not a number. ``decimal_commas``: "3,14" is one as well."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        # Arrow does not read all spellings: a plus sign, for example.
        return _mapped(pc.utf8_trim_whitespace(column), lambda text: field_number(text, decimal_commas), pa.float64())


def _mapped(column: pa.ChunkedArray, function: Callable[[str], Any], kind: Any) -> pa.ChunkedArray | None:
    """A function of each distinct text; None where one of them has no value."""
    encoded = column.combine_chunks().dictionary_encode()
    values = [function(text) for text in encoded.dictionary.to_pylist()]
    return None if None in values else pa.chunked_array([pa.array(values, kind).take(encoded.indices)])


def field_number(text: str, decimal_commas: bool) -> float | None:
    """The number that a field spells; None: it spells none."""
    return spelled_number(_with_point(text) if decimal_commas else text)


def _with_point(text: str) -> str:
    return text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text


def with_decimal_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column whose numbers with decimal commas have points instead: "3,14" becomes "3.14"."""
    return _mapped(column, _with_point, pa.string())


def integers_or_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as integers, where every text is one as Python writes it; else the text."""
    if all(text is None or _INTEGER.fullmatch(text) for text in column.unique().to_pylist()):
        return column.cast(pa.int64())
    return column


# ---------------------------------------------------------------------------------------------------------------------
# Rows for a model
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    numbers : dict
        The model's columns of numbers, by name, as Arrow's.
    rows : ndarray of shape (n_samples, n_columns)
        The rows as the model reads them.
    unseen : dict
        By column, how often each category occurs that training did not have.
    """

    numbers: dict[str, pa.ChunkedArray]
    rows: Floats
    unseen: dict[str, dict[str, int]]


class RowReader:
    """Turns batches of a file into the numbers that a model reads.

    Parameters
    ----------
    schema : Schema
        The columns of the training table.
    derived : sequence of Derived
        The columns behind the features.
    names : sequence of str
        Columns of the file. A schema without names takes them in their order.
    path : Path
        The file, for errors.
    form : FileForm
        How it is read.
    needed : collection of int, default=None
        Features that the file must have a column for; the others may be absent. None: all.

    Attributes
    ----------
    features : list of str
        The columns of the model, in its order.
    absent : list of str
        Those that the file does not have.
    unseen : dict
        By column, how often each category occurred that training did not have.
    n_unseen : dict
        By column, the number of all such values.
    """

    def __init__(
        self,
        schema: Schema,
        derived: Sequence[Derived],
        names: Sequence[str],
        path: Path,
        form: FileForm,
        needed: Collection[int] | None = None,
    ) -> None:
        self.features = _feature_columns(schema, names, path, needed)
        given = set(names)
        self.absent = [name for name in self.features if name not in given]
        self.form = form
        self._schema = replace(schema, names=tuple(self.features))
        self._lookups = self._schema.lookups  # made here, once, and not by every thread
        self._derived = derived
        self.unseen: dict[str, Counter[str]] = {}
        self.n_unseen: Counter[str] = Counter()

    def read(self, table: pa.Table) -> Batch:
        """A batch as the model reads it. Changes nothing here, so that batches can be read at the same time."""
        rows = np.empty((table.num_rows, len(self.features)), order="F")
        columns = dict(zip(table.column_names, table.columns, strict=True))
        numbers: dict[str, pa.ChunkedArray] = {}
        unseen: dict[str, dict[str, int]] = {}
        for feature, (name, lookup) in enumerate(zip(self.features, self._lookups, strict=True)):
            label, kind = self._schema.label(feature), self._schema.kinds[feature]
            if name not in columns:
                rows[:, feature] = np.nan
                continue
            given = known_column(columns[name], self.form)
            if lookup is None and not kind.is_coded:
                given = numbers[name] = self._numbers(given, label, kind.missing)
            column = arrow_column(label, given)
            # A whole batch of values that cannot be categories is no error: the next batch may have others.
            rows[:, feature] = encode_column(column, kind, None) if lookup is None else column.codes(lookup)
            lookup = kind.lookup if kind.is_ordered else lookup
            if counts := {} if lookup is None else column.unseen(lookup):
                unseen[name] = {plain_text(value): count for value, count in counts.items()}
        self._schema.refuse_infinity(rows)
        return Batch(numbers, with_derived(rows, self._derived), unseen)

    def count(self, batch: Batch) -> None:
        """Remember which categories of a batch training did not have."""
        for name, counts in batch.unseen.items():
            self.n_unseen[name] += sum(counts.values())
            seen = self.unseen.setdefault(name, Counter())
            seen.update({text: n for text, n in counts.items() if text in seen or len(seen) < MAX_UNSEEN})

    def _numbers(self, column: pa.ChunkedArray, label: str, markers: tuple[str, ...]) -> pa.ChunkedArray:
        if not is_text(column.type):
            return column.cast(pa.float64()) if pa.types.is_null(column.type) else column
        column = known_text(column, markers)
        has_commas = self.form.has_decimal_commas
        for missing in ((), MISSING):
            numbers = text_as_numbers(known_text(column, missing), has_commas)
            if numbers is not None:
                return numbers
        texts = known_text(column, MISSING).unique().to_pylist()
        text = next(text for text in texts if text is not None and field_number(text, has_commas) is None)
        raise TableFileError(
            f"{label} holds {shown(text)}, which is not a number; in training it held numbers. If it stands for a "
            "missing value, name it as one.",
            "missing",
            text,
        )

    def unseen_lines(self) -> list[str]:
        """Lines for the user about categories that training did not have, and about columns that are not there."""
        lines = [f"the file lacks {listed([*map(repr, self.absent)])}, which no rule reads"] if self.absent else []
        for name, counts in self.unseen.items():
            named = ", ".join(f"{text!r} ({n})" for text, n in counts.most_common(5))
            more = ", ..." if len(counts) > 5 else ""
            many = f"{len(counts)}" if len(counts) < MAX_UNSEEN else f"at least {MAX_UNSEEN}"
            rows = self.n_unseen[name]
            lines.append(
                f"column {name!r}: {rows} {'row has' if rows == 1 else 'rows have'} a category that training did "
                f"not have; {many} of them: {named}{more}"
            )
        return lines


def _feature_columns(known: Schema, names: Sequence[str], path: Path, needed: Collection[int] | None) -> list[str]:
    n_features = len(known.categories)
    if known.names is None:
        if len(names) != n_features:
            raise TableFileError(
                f"{path.name} has {len(names)} columns; the model was fitted without names on {n_features} features, "
                "which are taken in their order. Leave the other columns out."
            )
        return list(names)
    given = set(names)
    wanted = known.names if needed is None else [known.names[j] for j in needed]
    absent = [name for name in wanted if name not in given]
    if absent:
        near = near_name(absent[0], names)
        hint = f" Did you mean {near!r}? Rename it." if near else " Add it; its fields may be empty."
        more = f" (and {len(absent) - 1} more)" if len(absent) > 1 else ""
        raise TableFileError(f"{path.name} has no column {absent[0]!r}{more}, which the model reads.{hint}")
    return list(known.names)


# ---------------------------------------------------------------------------------------------------------------------
# Writing: CSV, Parquet, or one JSON object a line
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sink:
    """Takes tables of one schema, in two steps: the first may be taken for several tables at a time.

    Attributes
    ----------
    prepare : callable
        Turns a table into the form that is written.
    write : callable
        Adds the rows of a table in this form.
    """

    prepare: Callable[[pa.Table], Any]
    write: Callable[[Any], object]


def csv_lines(table: pa.Table, is_safe: bool = False, separator: str = ",") -> Any:
    """The rows of a table as CSV, without a header; text is quoted where the table needs it, structs are JSON."""
    if any(pa.types.is_nested(column.type) for column in table.columns):
        table = pa.table([_flat(column) for column in table.columns], names=table.column_names)
    if is_safe:
        table = pa.table([_harmless(column) for column in table.columns], names=table.column_names)
    for quoting in ("none", "needed"):  # needed: a separator, a quote or a new line is inside a value
        buffer = pa.BufferOutputStream()
        try:
            options = csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator)
            csv.write_csv(table, buffer, options)
            break
        except pa.ArrowInvalid:
            if quoting == "needed":
                raise
    return buffer.getvalue()


def _flat(column: Any) -> Any:
    """A column of structs or lists as text in JSON; another column itself."""
    if not pa.types.is_nested(column.type):
        return column
    texts = [None if item is None else json.dumps(item, ensure_ascii=False, default=str) for item in column.to_pylist()]
    return pa.array(texts, pa.string())


def _csv_header(names: Sequence[str], is_safe: bool, separator: str) -> bytes:
    header = io.StringIO()
    writer = python_csv.writer(header, delimiter=separator, lineterminator="\n")
    writer.writerow(map(harmless_text, names) if is_safe else names)
    return header.getvalue().encode()


def _harmless(column: Any) -> Any:
    if not pa.types.is_string(column.type):
        return column
    starts = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), value_set=pa.array(list(FORMULA_STARTS)))
    return _mapped(column, harmless_text, pa.string()) if pc.any(starts).as_py() else column


def json_lines(table: pa.Table) -> bytes:
    """The rows of a table, one JSON object a line; missing values are null."""
    # NaN and infinity are no JSON: null.
    known = {
        name: pc.if_else(pc.is_finite(column), column, None) if pa.types.is_floating(column.type) else column
        for name, column in zip(table.column_names, table.columns, strict=True)
    }
    rows = pa.table(known).to_pylist()
    lines = (json.dumps(row, ensure_ascii=False, default=str, allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def format_of(out: str, as_json: bool) -> str:
    """Format of the output: as its name ends; standard output takes CSV or JSON."""
    if as_json or out == "-":
        return "json" if as_json else "csv"
    suffix = Path(out).suffix.lower()
    if suffix not in FORMATS:
        raise TableFileError(f"{out!r} ends in none of {', '.join(FORMATS)}, so its format is unknown. Rename it.")
    return FORMATS[suffix]


@contextmanager
def open_sink(out: str, form: str, schema: pa.Schema, safe_csv: bool = False, separator: str = ",") -> Iterator[Sink]:
    """Where tables of this schema go. A file appears when all is written, or not at all.

    Parameters
    ----------
    out : str
        A path that can be written to, or "-" for standard output.
    form : {"csv", "json", "parquet"}
        The format.
    schema : pyarrow.Schema
        That of all tables.
    safe_csv : bool, default=False
        Whether text in CSV that a spreadsheet would take for a formula gets an apostrophe before it.
    separator : str, default=","
        Between the fields of CSV.
    """

    def text_sink(file: IO[bytes]) -> Sink:
        if form == "json":
            return Sink(json_lines, file.write)
        file.write(_csv_header(schema.names, safe_csv, separator))
        return Sink(lambda table: csv_lines(table, safe_csv, separator), file.write)

    if out == "-":
        yield text_sink(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with replacing(out) as beside:
        if form == "parquet":
            with pq.ParquetWriter(beside, schema) as writer:
                yield Sink(lambda table: table.cast(schema), writer.write_table)
            return
        with beside.open("wb") as file:
            yield text_sink(file)
