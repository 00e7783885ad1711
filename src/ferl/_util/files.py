"""Files that are replaced as a whole: whoever reads one sees the old or the new, and an interrupt leaves the old."""

from __future__ import annotations

import errno
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType


class TableFileError(ValueError):
    """A file of rows that cannot be read or written; the message says what to do."""


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a path beside a file for its new content, which replaces the file in one step when the block ends well.

    The new file has the permissions of the one it replaces, from its first byte on: what only its owner may read stays
    so. Without an old file they are what the system gives new files.

    Parameters
    ----------
    path : str or path-like
        The file; a link stays a link, and what it points to is replaced.

    Yields
    ------
    Path
        An empty file to write to. It is gone after the block, however that ends, also by SIGTERM.
    """
    target = Path(os.path.realpath(path))
    old = target.stat() if target.exists() else None
    if old is not None and not stat.S_ISREG(old.st_mode):  # a device or a pipe would be gone, a folder is in the way
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced by one", str(path))
    beside = target.with_name(f".ferl-{secrets.token_hex(8)}.tmp")  # short, however long the name of the file is
    with _removed_on_termination(beside):
        try:
            os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if old is None else 0o600))
            yield beside
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            if old is not None:
                _take_permissions(beside, old)
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)


def _take_permissions(path: Path, old: os.stat_result) -> None:
    """Give a file the owner, the group and the mode of another, as far as the system lets us."""
    mode = stat.S_IMODE(old.st_mode) & 0o777
    if hasattr(os, "chown"):
        try:
            os.chown(path, old.st_uid, old.st_gid)
        except OSError:  # only the system's administrator gives files away
            try:
                os.chown(path, -1, old.st_gid)
            except OSError:
                mode &= ~0o070  # they were the rights of another group
    path.chmod(mode)


@contextmanager
def _removed_on_termination(path: Path) -> Iterator[None]:
    """Remove a file when SIGTERM ends the program within the block.

    Only where SIGTERM would end it at once, and in the main thread, which alone may handle signals. A program that has
    a handler of its own ends by an exception or goes on, and both remove the file.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        path.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # so that whoever waits sees what ended the program

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by one that holds this text, in UTF-8."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
