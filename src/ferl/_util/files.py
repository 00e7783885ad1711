"""Files of any content: replaced as a whole, so that a reader sees the old or the new, or written by people and read.

Files that people write by hand, in JSON or YAML, are untrusted input; keys that stand there twice are kept apart.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import signal
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

MAX_BYTES = 1_000_000  # of a file that people write: thousands of entries
_YAML = (".yaml", ".yml")


class TableFileError(ValueError):
    """A file of rows that cannot be read or written.

    Parameters
    ----------
    message : str
        What is wrong, and what to do.
    option, value : str, default=""
        What reading the file needs where that is known: another "separator", or a text that is "missing".
    """

    def __init__(self, message: str, option: str = "", value: str = "") -> None:
        super().__init__(message)
        self.option, self.value = option, value


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
        An empty file to write to. It is gone after the block, however that ends, also by SIGTERM, SIGHUP or SIGQUIT.
    """
    target = Path(os.path.realpath(path))
    old = target.stat() if target.exists() else None
    if old is not None and not stat.S_ISREG(old.st_mode):  # a device or a pipe would be gone, a folder is in the way
        raise OSError(errno.EINVAL, "not a regular file, so it cannot be replaced by one", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "its folder does not exist", str(path))
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
    """Remove a file when a signal ends the program within the block.

    Only signals that would end it at once, and in the main thread, which alone may handle signals. A program that has
    a handler of its own ends by an exception or goes on, and both remove the file.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
    handled = [number for number in known if signal.getsignal(number) == signal.SIG_DFL]

    def end(number: int, frame: FrameType | None) -> None:
        path.unlink(missing_ok=True)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # so that whoever waits sees what ended the program

    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def replace_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by one that holds this text, in UTF-8."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)


# ---------------------------------------------------------------------------------------------------------------------
# Files that people write
# ---------------------------------------------------------------------------------------------------------------------


class Mapping(dict[Any, Any]):
    """A mapping with the keys that stood in the file more than once; parsers keep the last and drop the others."""

    def __init__(self, pairs: list[tuple[Any, Any]]) -> None:
        super().__init__()
        self.repeated: list[Any] = []
        for key, value in pairs:
            if key in self:
                self.repeated.append(key)
            self[key] = value


def read_written(path: Path, error: type[ValueError], what: str) -> Any:
    """What stands in a JSON or YAML file of at most 1 MB; objects are :class:`Mapping`.

    Parameters
    ----------
    path : Path
        A .json, .yaml or .yml file.
    error : type
        What is raised when the file cannot be read in the format of its name.
    what : str
        What such files hold, in the plural, for errors.

    Returns
    -------
    object
    """
    yaml = yaml_module(path) if is_yaml(path, error) else None
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise error(f"{path.name} has more than {MAX_BYTES:,} bytes; {what} are smaller. Is it the right file?")
    try:
        text = content.decode("utf-8-sig")
        return json.loads(text, object_pairs_hook=Mapping) if yaml is None else yaml.load(text, _yaml_loader(yaml))
    except Exception as failure:  # parsers fail on odd files in many ways: recursion, dates, huge integers, ...
        remedy = "" if yaml is None else " Put text with special characters, such as %, in quotes."
        raise error(f"{path.name} cannot be read as {path.suffix[1:]}: {str(failure)[:300]}.{remedy}") from failure


def is_yaml(path: Path, error: type[ValueError]) -> bool:
    """Whether a file is YAML and not JSON, by its name; an error for other names."""
    suffix = path.suffix.lower()
    if suffix not in (".json", *_YAML):
        raise error(f"{path.name!r} does not end in .json, .yaml or .yml, so its format is unknown. Rename it.")
    return suffix in _YAML


def yaml_module(path: Path) -> Any:
    """The package PyYAML; without it an error explains how to get it."""
    try:
        return import_module("yaml")
    except ImportError as error:
        raise ImportError(
            f"{path.name} is a YAML file, which needs PyYAML: pip install pyyaml. JSON files need nothing."
        ) from error


def _yaml_loader(yaml: Any) -> Any:
    """The safe loader, less what surprises: yes, no, on, off and dates stay the words they are."""
    resolvers = {
        first: [(tag, form) for tag, form in forms if not tag.endswith((":bool", ":timestamp"))]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader: Any = type("Loader", (yaml.SafeLoader,), {"yaml_implicit_resolvers": resolvers})

    def mapping(loader: Any, node: Any) -> Mapping:
        return Mapping([tuple(loader.construct_object(part, deep=True) for part in pair) for pair in node.value])

    loader.add_constructor("tag:yaml.org,2002:map", mapping)
    return loader
