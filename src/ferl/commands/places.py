"""Where a command writes: refused before any work is done where that cannot end well."""

from __future__ import annotations

import os
from pathlib import Path

from ferl.commands.errors import CommandError


def check_place(out: Path, *inputs: Path) -> None:
    """Refuse a place where no file can be written, or where it would replace one that the command reads.

    Parameters
    ----------
    out : Path
        The file to be written.
    *inputs : Path
        Files that are read.
    """
    folder = out.resolve().parent
    if out.is_dir():
        raise CommandError(f"{out} is a folder. Name a file in it.")
    if not folder.is_dir():
        raise CommandError(f"The folder {out.parent} does not exist; create it or choose another place.")
    if out.exists() and not out.is_file():
        raise CommandError(f"{out} is no regular file, so it cannot be replaced by one. Choose another place.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandError(f"You may not write into the folder {out.parent}. Choose another place.")
    for own in inputs:
        if own.exists() and out.exists() and own.samefile(out):
            raise CommandError(f"{out} would replace the file that is read. Choose another place.")
