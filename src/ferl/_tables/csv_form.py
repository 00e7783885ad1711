"""What a CSV file is like before it is read: its encoding, its separator, and whether its quotes are closed."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from ferl._util.files import TableFileError
from ferl._util.text import shown

SEPARATORS = (",", ";", "\t", "|")
_SPOKEN = {"\t": "a tab", ",": "a comma", ";": "';'", "|": "'|'"}
_MAX_HEADER = 1 << 24  # bytes
_TAIL_BYTES = 1 << 16
_LINE_END = re.compile("[\r\n]")


def encoding_of(path: Path) -> str:
    """The encoding that the first bytes of a file say: UTF-16, as spreadsheets write "Unicode text", or UTF-8.

    UTF-16 without its mark at the beginning shows by zeros beside the letters; a table of UTF-8 has no zeros.
    """
    with path.open("rb") as file:
        start = file.read(256)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in start:
        raise TableFileError(
            f"{path.name} holds bytes of zero, so it is no CSV file in UTF-8. If it is UTF-16, convert it: "
            f"iconv -f UTF-16LE -t UTF-8 {path.name} > utf8.csv"
        )
    return "utf8"


def header_of(path: Path, encoding: str) -> str:
    """The first line of a file, which ends with a line feed, a carriage return or both."""
    return _LINE_END.split(_beginning(path, encoding), maxsplit=1)[0].rstrip("\0\ufffd")


def has_lines(path: Path, encoding: str) -> bool:
    """Whether the first line of a file ends, so that others may follow."""
    return path.stat().st_size > _MAX_HEADER or _LINE_END.search(_beginning(path, encoding)) is not None


def _beginning(path: Path, encoding: str) -> str:
    """The text up to the first line feed."""
    with path.open("rb") as file:
        content = file.readline(_MAX_HEADER)
        if encoding == "utf-16":
            content += file.read(1)  # the second byte of the new line, where it comes last
    return content.decode("utf-8-sig" if encoding == "utf8" else encoding, errors="replace")


def separator_of(path: Path, header: str, given: str | None) -> str:
    """The character between the fields of a file.

    Parameters
    ----------
    path : Path
        The file; one that ends in .tsv has tabs.
    header : str
        Its first line.
    given : str or None
        What the user says. None: a comma, or where the header has no comma, the separator that it has.

    Returns
    -------
    str
    """
    if given is not None and len(given.encode()) != 1:
        raise TableFileError(f"The separator is {given!r}; it must be one character, such as ';'.")
    usual = given or ("\t" if path.suffix.lower() == ".tsv" else ",")
    bare = _unquoted(header)
    others = [own for own in SEPARATORS if own in bare]
    if usual in bare or not others:
        return usual
    found = max(others, key=bare.count)
    if given is not None:
        raise TableFileError(
            f"The header of {path.name} has no {shown(given)}, the separator asked for, but {_SPOKEN[found]}. Leave "
            f"--separator out."
        )
    return found


def likely_separator(path: Path, encoding: str, used: str) -> str | None:
    """Another separator that the first two lines have equally often, and more often than the one used; or None."""
    with path.open(encoding="utf-8-sig" if encoding == "utf8" else encoding, errors="replace", newline="\n") as file:
        lines = [_unquoted(file.readline(_MAX_HEADER)) for _ in range(2)]
    for own in SEPARATORS:
        n_fields = lines[0].count(own)
        if own != used and n_fields == lines[1].count(own) and n_fields > lines[0].count(used):
            return own
    return None


def spoken_separator(separator: str) -> str:
    """A separator as a user types it in a shell."""
    return "$'\\t'" if separator == "\t" else f"'{separator}'"


def _unquoted(line: str) -> str:
    """A line without what stands in quotes."""
    return "".join(line.split('"')[::2])


def ends_inside_quotes(path: Path, last_values: list[str | None]) -> bool:
    """Whether the last row looks as if a quote had swallowed what follows it.

    Parameters
    ----------
    path : Path
        The file.
    last_values : list of str or None
        Values of the last row.
    """
    if any(value is not None and "\n" in value for value in last_values):
        return True
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - _TAIL_BYTES, 0))
        tail = file.read().rstrip(b"\r\n\0")
    return tail[tail.rfind(b"\n") + 1 :].count(b'"') % 2 == 1


def unclosed_quote(path: Path, separator: str, encoding: str) -> int | None:
    """The line, from 1, where a quote begins that never ends; None: all are closed.

    Quotes are read as Arrow reads them: one begins at the beginning of a field alone, and two in it stand for one.
    """
    opened: int | None = None
    with path.open(encoding="utf-8-sig" if encoding == "utf8" else encoding, errors="replace", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if '"' in line:
                opened = _opened_after(line, number, separator, opened)
    return opened


def _opened_after(line: str, number: int, separator: str, opened: int | None) -> int | None:
    """The line where the quote began that is open at the end of this one; None: none is."""
    index = 0
    while True:
        if opened is not None:
            index = line.find('"', index)
            if index < 0:
                return opened
            if line.startswith('""', index):
                index += 2
                continue
            opened = None
        elif line.startswith('"', index):
            opened, index = number, index + 1
            continue
        index = line.find(separator, index) + 1
        if index == 0:
            return None
