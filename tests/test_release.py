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


def test_the_version_stands_in_one_place_and_its_copies_agree() -> None:
    check = tool("check_version")
    assert check.version() == ferl.__version__
    assert check.differing_copies() == []
    for name in ("pyproject.toml", "CMakeLists.txt"):
        assert not re.search(rf"\b{re.escape(ferl.__version__)}\b", (ROOT / name).read_text(encoding="utf-8")), name


def test_a_copy_of_the_version_that_differs_or_lacks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check = tool("check_version")
    (tmp_path / "src" / "ferl").mkdir(parents=True)
    (tmp_path / "recipe").mkdir()
    (tmp_path / "src" / "ferl" / "__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\ntitle: ferl\n")
    (tmp_path / "recipe" / "recipe.yaml").write_text('context:\n  version: "1.1.0"\n')
    monkeypatch.setattr(check, "ROOT", tmp_path)
    citation, recipe = check.differing_copies()
    assert "CITATION.cff has no version" in citation
    assert "recipe/recipe.yaml has 1.1.0" in recipe


def test_the_recipe_has_the_requirements_of_the_project() -> None:
    yaml = pytest.importorskip("yaml", reason="pyyaml is not installed")
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)
    wanted = {own.replace(">=", " >=") for own in project["project"]["dependencies"]}
    needed = set(recipe["requirements"]["run"])
    assert needed == wanted | {"python"}
    assert {own.split(">=")[0] for own in project["build-system"]["requires"]} <= {
        own.split()[0] for own in recipe["requirements"]["host"]
    }
    assert recipe["about"]["license"] == project["project"]["license"]
    assert recipe["about"]["homepage"] == project["project"]["urls"]["Homepage"]
    assert all((ROOT / name).is_file() for name in recipe["about"]["license_file"])


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


def test_the_paper_has_the_figures_of_the_benchmark_and_cites_what_it_names() -> None:
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    body = paper.split("---", 2)[2]
    entries = set(
        re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(re.findall(r"@(\w+)", body)) == entries
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", body):
        assert (ROOT / "paper" / picture).is_file(), picture
    page = (ROOT / "docs" / "results" / "frontier.md").read_text(encoding="utf-8").split("\n## ")[1]
    measured = {row[1].strip(): [re.match(r"[\d.]*", own.strip())[0] for own in row[2:]] for row in _cells(page)}  # type: ignore[index]
    names = {"ferl": "FERL-wide", "ferl, at most 15 rules": "FERL-wide, 15 rules", "EBM (4 bags)": "EBM"}
    names |= {"FERL-deep, the paper's tree": "FERL-deep", "ferl with cases": "FERL-wide with cases"}
    rows = [row for row in _cells(body) if re.match(r"\s*\d", row[2])]
    assert len(rows) == 9
    for row in rows:
        name = row[1].strip()
        accuracy, aurc, _, ece, *sizes = measured[names.get(name, name)][:7]  # rules, learned curves and maps
        found = [own.strip().replace(",", "") for own in row[2:6]]
        assert found[:3] == [f"{float(accuracy):.1f}", f"{float(aurc):.1f}", ece], name
        shown = [float(part) for part in found[3].split(" + ") if part]
        assert abs(sum(shown) - sum(float(size or 0) for size in sizes)) <= 1, name


def _cells(text: str) -> list[list[str]]:
    """The cells of the tables of a page, each row with an empty cell at both ends."""
    return [line.split("|") for line in text.splitlines() if line.startswith("| ")]
