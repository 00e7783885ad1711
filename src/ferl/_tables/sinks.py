"""Tables into files, batch by batch: CSV, Parquet, or one JSON object a line."""

from __future__ import annotations

import csv as python_csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from ferl._util.files import TableFileError, replacing

FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "json", ".ndjson": "json"}


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
        with beside.open("xb") as file:
            yield CsvSink(file, schema.names) if form == "csv" else JsonSink(file)
