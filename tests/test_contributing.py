"""The map of the code in CONTRIBUTING.md names what exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
LIBRARY = ROOT / "src" / "ferl"
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"CONTRIBUTING.md has no section {title!r}"
    return found[1]


HOPS = section("From fit to an answer, in eight hops")
MAP = section("The layers") + HOPS


def place(path: str) -> Path:
    """The file that a path in the map means: Python files are below src/ferl."""
    return ROOT / path if path.startswith(("cpp/", "tests/", "docs/")) else LIBRARY / path


def defined(path: Path) -> set[str]:
    """Functions, classes and methods of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds)}


def where_is(name: str) -> str:
    """Advice for a file or a name that is gone."""
    last = name.rsplit("/")[-1].rsplit(".")[-1] if not name.endswith((".py", ".cpp", ".h")) else Path(name).name
    files = [*LIBRARY.rglob("*.py"), *(ROOT / "cpp").rglob("*.cpp")]
    same = [file for file in files if file.name == last]
    holders = same or [file for file in files if file.suffix == ".py" and last in defined(file)]
    found = ", ".join(str(file.relative_to(ROOT)) for file in holders)
    return f"Now in: {found}." if found else f"Nothing in src/ferl and cpp has the name {last!r} any more."


def test_the_way_from_fit_to_an_answer_has_eight_hops() -> None:
    assert re.findall(r"^(\d)\. ", HOPS, re.MULTILINE) == list("12345678")


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([\w/]+\.(?:py|cpp|h))`", MAP))))
def test_every_file_of_the_map_exists(path: str) -> None:
    assert place(path).is_file(), f"CONTRIBUTING.md names `{path}`, which does not exist. {where_is(path)}"


@pytest.mark.parametrize(
    "paragraph", [one for one in re.split(r"\n(?=\d\. |\n)", HOPS) if "`" in one], ids=lambda one: one.strip()[:20]
)
def test_every_name_of_a_hop_is_defined_in_a_file_of_this_hop(paragraph: str) -> None:
    files = [place(path) for path in re.findall(r"`([\w/]+\.py)`", paragraph)]
    files = [file for file in files if file.is_file()]
    known = set[str]().union(*(defined(file) for file in files))
    core = defined(LIBRARY / "_core.pyi")
    # Functions with parentheses, and classes; a call of the whole way has arguments and is no name.
    for name in re.findall(r"`([\w.]+)\(\)`|`([A-Z]\w+|_core\.\w+)`", paragraph):
        whole = name[0] or name[1]
        parts = whole.split(".")
        has = (parts[0] == "_core" and core.issuperset(parts[1:])) or known.issuperset(parts)
        assert has, f"CONTRIBUTING.md names `{whole}` in: {paragraph.strip()[:60]}... {where_is(parts[-1])}"


def test_the_picture_of_the_layers_has_every_package_and_no_other() -> None:
    picture = re.search(r"```text\n(.*?)```", section("The layers"), re.DOTALL)
    assert picture
    names = {path.stem for path in LIBRARY.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    lacking = sorted(names - {"__init__"} - set(re.findall(r"\w+", picture[1])))
    assert not lacking, f"The picture of the layers in CONTRIBUTING.md lacks {', '.join(lacking)}: add them."
    # Names are followed by a colon, stand between dots or in brackets, or begin with an underscore.
    shown = re.findall(r"(\w+):|(\w+) ·|· (\w+)|\((_\w+)\)|\b(_\w+)", picture[1])
    gone = sorted({"".join(one) for one in shown} - names - {"_core"})
    assert not gone, f"The picture of the layers in CONTRIBUTING.md has {', '.join(gone)}: remove what is gone."
