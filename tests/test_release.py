"""The version stands in one place, a release agrees with it, and the tools that make one work."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import ferl

ROOT = Path(__file__).parent.parent


def tool(name: str) -> ModuleType:
    """A program of the folder tools, as a module."""
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # data classes look their module up
    spec.loader.exec_module(module)
    return module


def test_the_version_stands_in_one_place() -> None:
    assert tool("check_version").version() == ferl.__version__
    for name in ("pyproject.toml", "CITATION.cff", "CMakeLists.txt"):
        assert not re.search(rf"\b{re.escape(ferl.__version__)}\b", (ROOT / name).read_text(encoding="utf-8")), name


@pytest.mark.parametrize(
    ("tag", "heading", "said"),
    [
        ("v1.2.0", "2026-11-17", []),
        ("v1.2.1", "2026-11-17", ["the tag must be v1.2.0"]),
        ("v1.2.0", "unreleased", [r"CHANGELOG.md says (unreleased)"]),
        ("1.2.0", None, ["the tag must be v1.2.0", "CHANGELOG.md has no such section"]),
    ],
)
def test_a_release_needs_the_right_tag_and_a_dated_section(
    tag: str, heading: str | None, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = tool("check_version")
    (tmp_path / "src" / "ferl").mkdir(parents=True)
    (tmp_path / "src" / "ferl" / "__init__.py").write_text('"""A package."""\n\n__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n" + (f"\n## 1.2.0 ({heading})\n" if heading else ""))
    monkeypatch.setattr(check, "ROOT", tmp_path)
    problems = check.problems(tag)
    assert len(problems) == len(said)
    for problem, part in zip(problems, said, strict=True):
        assert part in problem


def test_the_page_of_speeds_is_what_was_measured() -> None:
    history: Any = tool("speed_history")
    records = json.loads(history.RECORDS.read_text(encoding="utf-8"))
    assert history.PAGE.read_text(encoding="utf-8") == history.page(records)
    assert all(set(record["ratios"]) == set(history.COLUMNS) for record in records)
    assert all(value > 0 for record in records for value in record["ratios"].values())


def test_environments_of_wheels_keep_the_bounds_of_the_project() -> None:
    wheels: Any = tool("check_wheels")
    with (ROOT / "pyproject.toml").open("rb") as file:
        dependencies = tomllib.load(file)["project"]["dependencies"]
    least = {own.split(">=")[0]: own.split(">=")[1] for own in dependencies}

    def number(version: str) -> tuple[int, ...]:
        return tuple(int(part) for part in version.split("."))

    pins = [tuple(pin.split("==")) for env in wheels.ENVIRONMENTS for pin in env.pins if "==" in pin]
    assert {"numpy", "scipy", "scikit-learn"} <= {name for name, _ in pins}
    for name, version in pins:
        assert name not in least or number(version) >= number(least[name]), (name, version)
    assert {env.python for env in wheels.ENVIRONMENTS} >= set(wheels.BUILDERS)
    assert all((ROOT / "tests" / name).exists() for name in wheels.TESTS)
