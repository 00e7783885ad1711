"""Tables in files: read as text or in their types, whole or batch by batch, and written batch by batch."""

from __future__ import annotations

import csv as python_csv
import io
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from ferl._tables.categories import spelled_number
from ferl._tables.csv_form import (
    encoding_of,
    ends_inside_quotes,
    has_lines,
    header_of,
    likely_separator,
    separator_of,
    spoken_separator,
    unclosed_quote,
)
from ferl._util.files import TableFileError, replacing
from ferl._util.text import shown

# Of a CSV file, read at a time. Arrow reads some dozens ahead: 3 million rows of ten columns took 290, 340 and 440 MB
# with blocks of 1, 2 and 4 MB, and the same time. A row must fit into a block.
BLOCK_BYTES = 1 << 20
# Every block costs time for every column, so wide files are read in larger blocks: about so many rows each, as the
# length of the header tells.
_BLOCK_ROWS = 16
BATCH_ROWS = 65_536  # of a Parquet file
PARQUET = (".parquet", ".pq")
FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json", ".ndjson": "json"}
# As Python writes it: text that reads back to the same text. 007 and +7 are names, not numbers.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# A number with a comma before its decimals: only where commas do not stand between fields, and never with points.
_DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+([eE][+-]?[0-9]+)?\s*")
_FORMULA_STARTS = tuple("=+-@\t\r")  # what makes a formula of a field in a spreadsheet
_MAX_SAID = 160  # letters of what Arrow says, which may quote the file


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
        The file; it is Parquet where its name says so, and else CSV.
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
        self.is_parquet = path.suffix.lower() in PARQUET
        if not path.is_file():
            raise TableFileError(f"{path} is no file. Check the path.")
        self.encoding, self._has_rows = "utf8", True
        if not self.is_parquet:
            self.encoding = encoding_of(path)
            header = header_of(path, self.encoding)
            form = replace(form, separator=separator_of(path, header, form.separator))
            self._has_rows = has_lines(path, self.encoding)
        self.form = form if not self.is_parquet else replace(form, separator=None)
        with _named_errors(self):
            self.schema = pq.read_schema(path) if self.is_parquet else self._csv_schema()
        self.names: list[str] = list(self.schema.names)
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise TableFileError(
                f"{path.name} has several columns called {twice[0]!r}. Give every column its own name."
            )
        self.size = pq.read_metadata(path).num_rows if self.is_parquet else path.stat().st_size

    def batches(self, moved: Callable[[int], object] = lambda _: None) -> Iterator[pa.Table]:
        """The rows, some at a time: columns of a CSV file as text, those of a Parquet file in their types.

        Parameters
        ----------
        moved : callable, default=a function that does nothing
            Told how far reading has come, on the scale of ``size``.
        """
        with _named_errors(self):
            yield from self._parquet_batches(moved) if self.is_parquet else self._csv_batches(moved)

    def read(self) -> pa.Table:
        """All rows."""
        found = list(self.batches())
        return pa.concat_tables(found) if found else self.schema.empty_table()

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
        with pa.OSFile(str(self.path)) as file, self._open_csv(file, self.names) as reader:
            for batch in reader:
                if batch.num_rows:
                    last = [column[-1].as_py() for column in batch.columns]
                    yield pa.Table.from_batches([batch])
                moved(file.tell())
        if ends_inside_quotes(self.path, last):
            self.refuse_unclosed_quote()

    def refuse_unclosed_quote(self) -> None:
        """Name the line where a quote begins that swallows all that follows."""
        line = unclosed_quote(self.path, str(self.form.separator), self.encoding)
        if line is not None:
            raise TableFileError(
                f'{self.path.name}: a quote (") begins in line {line:,} and never ends, so that all that follows would '
                "be one value. Close it, or double a quote that belongs to the text."
            )

    def _csv_schema(self) -> pa.Schema:
        source: Any = str(self.path)
        if not self._has_rows:  # Arrow takes a header without a new line for nothing
            header = header_of(self.path, self.encoding)
            if not header:
                raise TableFileError(f"{self.path.name} is empty. It needs a header and rows.")
            source = pa.BufferReader(f"{header}\n".encode(self.encoding))
        with self._open_csv(source, []) as reader:
            return pa.schema([(name, pa.string()) for name in reader.schema.names])

    def _open_csv(self, source: Any, names: list[str]) -> Any:
        n_bytes = len(header_of(self.path, self.encoding).encode(self.encoding))
        block = max(BLOCK_BYTES, _BLOCK_ROWS * n_bytes)
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


class _named_errors:
    """Put the name of the file before what Arrow says of its content."""

    def __init__(self, file: TableFile) -> None:
        self.file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, pa.ArrowInvalid):
            if not self.file.is_parquet:
                self.file.refuse_unclosed_quote()
            said = str(error)[:_MAX_SAID].rstrip(". ")
            raise TableFileError(f"{self.file.path.name} cannot be read: {said}. {self._remedy(str(error))}") from error

    def _remedy(self, said: str) -> str:
        if self.file.is_parquet:
            return "Is it a Parquet file?"
        if "Empty" in said:
            return "It needs a header and rows."
        if "UTF8" in said or "codec" in said:
            return "Save it as UTF-8."
        other = likely_separator(self.file.path, self.file.encoding, str(self.file.form.separator))
        if other is not None:
            return f"Its fields seem to have {other!r} between them: add --separator {spoken_separator(other)}"
        return "Check the separator (--separator), and the quotes around text."


# ---------------------------------------------------------------------------------------------------------------------
# Text as numbers and categories
# ---------------------------------------------------------------------------------------------------------------------


def known_text(column: pa.ChunkedArray, missing: tuple[str, ...]) -> pa.ChunkedArray:
    """A text column, null where it says in one of these ways that a value is missing."""
    if not missing:
        return column
    lacks = pc.is_in(pc.utf8_trim_whitespace(column), value_set=pa.array(missing, pa.string()))
    return pc.if_else(lacks, pa.scalar(None, pa.string()), column)


def text_as_numbers(column: pa.ChunkedArray, decimal_commas: bool = False) -> pa.ChunkedArray | None:
    """A text column as float64; None where some text is not a number. ``decimal_commas``: "3,14" is one as well."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    trimmed = pc.utf8_trim_whitespace(column)
    # Arrow does not know all spellings: a plus sign, say.
    encoded = trimmed.combine_chunks().dictionary_encode()
    numbers = [field_number(text, decimal_commas) for text in encoded.dictionary.to_pylist()]
    if None in numbers:
        return None
    return pa.chunked_array([pa.array(numbers, pa.float64()).take(encoded.indices)])


def field_number(text: str, decimal_commas: bool) -> float | None:
    """The number that a field spells; None: it spells none."""
    if decimal_commas and _DECIMAL_COMMA.fullmatch(text):
        text = text.replace(",", ".")
    return spelled_number(text)


def with_decimal_points(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column whose numbers with decimal commas have points instead: "3,14" becomes "3.14"."""
    encoded = column.combine_chunks().dictionary_encode()
    texts = [
        text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text for text in encoded.dictionary.to_pylist()
    ]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])


def integers_or_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A text column as integers, where every text is one as Python writes it; else the text."""
    if all(text is None or _INTEGER.fullmatch(text) for text in column.unique().to_pylist()):
        return column.cast(pa.int64())
    return column


def no_number(column: pa.ChunkedArray, label: str) -> TableFileError:
    """The error for a text in a column of numbers."""
    text = next(text for text in column.unique().to_pylist() if text is not None and spelled_number(text) is None)
    return TableFileError(
        f"{label} holds {shown(text)}, which is not a number; in training it held numbers. If it stands for a missing "
        f"value, add --missing {shlex.quote(text)}"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Writing: CSV, Parquet, or one JSON object a line
# ---------------------------------------------------------------------------------------------------------------------


class Sink(Protocol):
    """Takes tables of one schema, in two steps: the first may be taken for several tables at a time."""

    def prepare(self, table: pa.Table) -> Any:
        """A table in the form that is written."""

    def write(self, prepared: Any) -> None:
        """Add the rows of a table."""


class CsvSink:
    """CSV with a header; text is quoted where a block of rows needs it."""

    def __init__(self, file: IO[bytes], names: list[str], is_safe: bool = False, separator: str = ",") -> None:
        self.file = file
        self.is_safe = is_safe
        self.separator = separator
        header = io.StringIO()
        writer = python_csv.writer(header, delimiter=separator, lineterminator="\n")
        writer.writerow(map(harmless_text, names) if is_safe else names)
        file.write(header.getvalue().encode())

    def prepare(self, table: pa.Table) -> Any:
        """The lines of a table."""
        if self.is_safe:
            table = pa.table([_harmless(column) for column in table.columns], names=table.column_names)
        try:
            return _csv_text(table, "none", self.separator)
        except pa.ArrowInvalid:  # a separator, a quote or a new line inside a value
            return _csv_text(table, "needed", self.separator)

    def write(self, prepared: Any) -> None:
        """Add lines."""
        self.file.write(prepared)


def harmless_text(text: str) -> str:
    """A text with an apostrophe before it where a spreadsheet would take it for a formula; numbers stay as they are.

    Examples
    --------
    >>> [harmless_text(text) for text in ("=1+2", "@now", "-3.5", "-cmd", "plain")]
    ["'=1+2", "'@now", '-3.5', "'-cmd", 'plain']
    """
    return f"'{text}" if text[:1] in _FORMULA_STARTS and spelled_number(text) is None else text


def _harmless(column: Any) -> Any:
    if not pa.types.is_string(column.type):
        return column
    starts = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), value_set=pa.array(list(_FORMULA_STARTS)))
    if not pc.any(starts).as_py():
        return column
    return pa.chunked_array([[None if own is None else harmless_text(own) for own in column.to_pylist()]], pa.string())


def _csv_text(table: pa.Table, quoting: str, separator: str) -> Any:
    buffer = pa.BufferOutputStream()
    csv.write_csv(table, buffer, csv.WriteOptions(include_header=False, quoting_style=quoting, delimiter=separator))
    return buffer.getvalue()


class JsonSink:
    """One JSON object a line; missing values are null."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def prepare(self, table: pa.Table) -> bytes:
        """The lines of a table."""
        # NaN and infinity are no JSON: null.
        known = {
            name: pc.if_else(pc.is_finite(own), own, None) if pa.types.is_floating(own.type) else own
            for name, own in zip(table.column_names, table.columns, strict=True)
        }
        rows = pa.table(known).to_pylist()
        lines = (json.dumps(row, ensure_ascii=False, default=str, allow_nan=False) for row in rows)
        return "".join(f"{line}\n" for line in lines).encode()

    def write(self, prepared: bytes) -> None:
        """Add lines."""
        self.file.write(prepared)


class ParquetSink:
    """Parquet; what the first table has for types, the others must have."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.writer = pq.ParquetWriter(path, schema)

    def prepare(self, table: pa.Table) -> pa.Table:
        """A table in the types of the file."""
        return table.cast(self.writer.schema)

    def write(self, prepared: pa.Table) -> None:
        """Add the rows of a table."""
        self.writer.write_table(prepared)


def format_of(out: str, as_json: bool) -> str:
    """Format of the output: as its name ends; standard output takes CSV or JSON."""
    if as_json:
        return "json"
    if out == "-":
        return "csv"
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
    if out == "-":
        file = sys.stdout.buffer
        yield CsvSink(file, schema.names, safe_csv, separator) if form == "csv" else JsonSink(file)
        file.flush()
        return
    with replacing(out) as beside:
        if form == "parquet":
            sink = ParquetSink(beside, schema)
            try:
                yield sink
            finally:
                sink.writer.close()
            return
        with beside.open("wb") as file:
            yield CsvSink(file, schema.names, safe_csv, separator) if form == "csv" else JsonSink(file)
