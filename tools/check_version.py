#!/usr/bin/env python3
"""Print the version of src/ferl/__init__.py, and check that its copies, a release's tag and the changelog agree.

::

    python tools/check_version.py               # prints the version; fails if a copy differs
    python tools/check_version.py --tag v1.2.0  # fails unless this is the version and CHANGELOG.md dates it
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIES = {"CITATION.cff": r"^version: (\S+)$", "recipe/recipe.yaml": r'^  version: "([^"]+)"$'}
"""Files that readers without Python take the version from, and the line that has it."""


def version() -> str:
    """Return the version of the library."""
    text = (ROOT / "src" / "ferl" / "__init__.py").read_text(encoding="utf-8")
    result = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if result is None:
        sys.exit("check_version: src/ferl/__init__.py has no line __version__ = ...")
    return result[1]


def differing_copies() -> list[str]:
    """Return the copies of the version that are not the version."""
    result = []
    for name, pattern in COPIES.items():
        line = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
        if line is None or line[1] != version():
            has = "no version" if line is None else line[1]
            result.append(f"{name} has {has}, but src/ferl/__init__.py has {version()}: make it {version()}")
    return result


def problems(tag: str) -> list[str]:
    """Return what keeps this tag from being a release of the version."""
    result = []
    if tag != f"v{version()}":
        result.append(f"the tag is {tag}, but src/ferl/__init__.py says {version()}: the tag must be v{version()}")
    heading = re.search(
        rf"^## {re.escape(version())} \((.*)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    if heading is None or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", heading[1]):
        text = "has no such section" if heading is None else f"says ({heading[1]})"
        result.append(f'CHANGELOG.md {text}: it must have a heading "## {version()} (YYYY-MM-DD)"')
    return result


def main() -> None:
    """Print the version, or what is wrong with its copies and a tag."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tag", help="of a release, such as v1.2.0")
    tag = parser.parse_args().tag
    result = differing_copies() + (problems(tag) if tag is not None else [])
    if result:
        sys.exit("\n".join(f"check_version: {problem}" for problem in result))
    print(version())


if __name__ == "__main__":
    main()
