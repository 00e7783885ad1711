"""Tables in files: read as text or in their types, whole or batch by batch, and written batch by batch."""

from __future__ import annotations

import csv as python_csv
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import csv

from ferl._tables.categories import spelled_number
from ferl._util.files import TableFileError, replacing
from ferl._util.text import shown

# Of a CSV file, read at a time. Arrow reads some dozens ahead: 3 million rows of ten columns took 290, 340 and 440 MB
# with blocks of 1, 2 and 4 MB, and the same time. A row must fit into a block.
BLOCK_BYTES = 1 << 20
# Every block costs time for every column, so wide files are read in larger blocks: about so many rows each, as the
# length of the header tells.
_BLOCK_ROWS = 16
_MAX_HEADER = 1 << 24  # bytes
BATCH_ROWS = 65_536  # of a Parquet file
PARQUET = (".parquet", ".pq")
FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json", ".ndjson": "json"}
_UTF16_STARTS = (b"\xff\xfe", b"\xfe\xff")
# As Python writes it: text that reads back to the same text. 007 and +7 are names, not numbers.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
_MAX_SAID = 160  # letters of what Arrow says, which may quote the file


@dataclass(frozen=True)
class FileForm:
    """How a file is to be read.

    Attributes
    ----------
    separator : str or None
        Between the fields of a CSV file; None: a comma, or a tab where the name ends in .tsv.
    missing : tuple of str
        What stands for a missing value, besides nothing at all.
    """

    separator: str | None = None
    missing: tuple[str, ...] = ()


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
        self.form = form
        self.is_parquet = path.suffix.lower() in PARQUET
        if not path.is_file():
            raise TableFileError(f"{path} is no file. Check the path.")
        with _named_errors(path):
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
        with _named_errors(self.path):
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
        with pa.OSFile(str(self.path)) as file, self._open_csv(file, self.names) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield pa.Table.from_batches([batch])
                moved(file.tell())

    def _csv_schema(self) -> pa.Schema:
        with self._open_csv(str(self.path), []) as reader:
            return pa.schema([(name, pa.string()) for name in reader.schema.names])

    def _open_csv(self, source: Any, names: list[str]) -> Any:
        with self.path.open("rb") as file:
            block = max(BLOCK_BYTES, _BLOCK_ROWS * len(file.readline(_MAX_HEADER)))
        separator = self.form.separator or ("\t" if self.path.suffix.lower() == ".tsv" else ",")
        if len(separator.encode()) != 1:
            raise TableFileError(f"The separator is {separator!r}; it must be one character, such as ';'.")
        return csv.open_csv(
            source,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                # Text, all of it: what Arrow infers from one block need not hold for the next.
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )


class _named_errors:
    """Put the name of the file before what Arrow says of its content."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, pa.ArrowInvalid):
            said = str(error)[:_MAX_SAID].rstrip(". ")
            raise TableFileError(f"{self.path.name} cannot be read: {said}. {self._remedy(str(error))}") from error

    def _remedy(self, said: str) -> str:
        if self.path.suffix.lower() in PARQUET:
            return "Is it a Parquet file?"
        if "Empty" in said:
            return "It needs a header and rows."
        with self.path.open("rb") as file:
            is_utf16 = file.read(2) in _UTF16_STARTS
        if "UTF8" in said or is_utf16:
            return "Save it as UTF-8."
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


def text_as_numbers(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """A text column as float64; None where some text is not a number."""
    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid:
        pass
    trimmed = pc.utf8_trim_whitespace(column)
    # Arrow does not know all spellings: a plus sign, say.
    encoded = trimmed.combine_chunks().dictionary_encode()
    numbers = [spelled_number(text) for text in encoded.dictionary.to_pylist()]
    if None in numbers:
        return None
    return pa.chunked_array([pa.array(numbers, pa.float64()).take(encoded.indices)])


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
        f"value, add --missing {shown(text)}."
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

    def __init__(self, file: IO[bytes], names: list[str]) -> None:
        self.file = file
        header = io.StringIO()
        python_csv.writer(header, lineterminator="\n").writerow(names)
        file.write(header.getvalue().encode())

    def prepare(self, table: pa.Table) -> Any:
        """The lines of a table."""
        try:
            return _csv_text(table, "none")
        except pa.ArrowInvalid:  # a comma, a quote or a new line inside a value
            return _csv_text(table, "needed")

    def write(self, prepared: Any) -> None:
        """Add lines."""
        self.file.write(prepared)


def _csv_text(table: pa.Table, quoting: str) -> Any:
    buffer = pa.BufferOutputStream()
    csv.write_csv(table, buffer, csv.WriteOptions(include_header=False, quoting_style=quoting))
    return buffer.getvalue()


class JsonSink:
    """One JSON object a line; missing values are null."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def prepare(self, table: pa.Table) -> bytes:
        """The lines of a table."""
        lines = (json.dumps(row, ensure_ascii=False, default=str) for row in table.to_pylist())
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
def open_sink(out: str, form: str, schema: pa.Schema) -> Iterator[Sink]:
    """Where tables of this schema go. A file appears when all is written, or not at all.

    Parameters
    ----------
    out : str
        A path that can be written to, or "-" for standard output.
    form : {"csv", "json", "parquet"}
        The format.
    schema : pyarrow.Schema
        That of all tables.
    """
    if out == "-":
        file = sys.stdout.buffer
        yield CsvSink(file, schema.names) if form == "csv" else JsonSink(file)
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
            yield CsvSink(file, schema.names) if form == "csv" else JsonSink(file)
