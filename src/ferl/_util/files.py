"""Files that are replaced as a whole: whoever reads one sees the old or the new, and an interrupt leaves the old."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class TableFileError(ValueError):
    """A file of rows that cannot be read or written; the message says what to do."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside a file for its new content, which replaces the file in one step when the block ends well.

    Parameters
    ----------
    path : str or path-like
        The file; a link stays a link, and what it points to is replaced.

    Yields
    ------
    Path
        Where to write. It is gone after the block, however that ends.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a device or a pipe would be gone, a folder stands in the way
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced by one", str(path))
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by one that holds this text, in UTF-8."""
    with replacing(path) as beside, beside.open("x", encoding="utf-8", newline="\n") as file:
        file.write(text)
