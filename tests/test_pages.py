"""Every page of the documentation runs as printed, its links lead somewhere, and the reference has all names."""

from __future__ import annotations

import importlib
import pkgutil
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ferl
from pages import DOCS, ROOT, blocks, pages, run_page

PAGES = pages()
WITH_CODE = [page for page in PAGES if blocks(page)]
Names = dict[str, Any]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def figures() -> Any:
    return pytest.importorskip("matplotlib.pyplot", reason="pictures need matplotlib")


# What is worth checking beyond that a page runs and prints what it says.


def readme(names: Names, printed: str) -> None:
    assert names["clf"].score(names["X_test"], names["y_test"]) > 0.9
    assert Path("answers.csv").stat().st_size > 10_000
    assert Path("report.html").stat().st_size > 100_000


def trust(names: Names, printed: str) -> None:
    assert float(printed.split()[0]) > 0.85  # coverage of about 140 rows, asked for 0.9
    evidence = names["evidence"]
    assert (evidence.belief <= evidence.pignistic).all()
    assert all(label is None for label in names["labels"][~names["answered"]])


def command_line(names: Names, printed: str) -> None:
    assert Path("answers.csv").stat().st_size > 10_000


def dask(names: Names, printed: str) -> None:
    assert (names["model"].tree_.class_weight == names["local"].tree_.class_weight).all()


def plots(names: Names, printed: str) -> None:
    assert len(figures().get_fignums()) == 12
    assert Path("tree.svg").read_text(encoding="utf-8").count('id="band-') == names["clf"].n_rules_ - 1
    assert Path("tree.dot").read_text(encoding="utf-8").startswith("digraph ferl {")
    assert r"\begin{tabular}" in printed


def concepts(names: Names, printed: str) -> None:
    assert float(printed.split()[0]) > 0.85
    parts = names["parts"].sum(axis=1)
    assert abs(parts - names["model"].novelty(names["X_test"][:3])).max() < 1e-9


CHECKS: dict[str, Callable[[Names, str], None]] = {
    "README.md": readme,
    "docs/guide/trust.md": trust,
    "docs/guide/command_line.md": command_line,
    "docs/guide/dask.md": dask,
    "docs/guide/plots.md": plots,
    "docs/guide/concepts.md": concepts,
}


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_says(page: Path) -> None:
    names, printed = run_page(page)
    if name(page) in CHECKS:
        CHECKS[name(page)](names, printed)
    if "plot" in names or any(key.startswith("plot_") for key in names):
        figures().close("all")


def test_no_block_is_excepted() -> None:
    excepted = [(page.name, block.note) for page in PAGES for block in blocks(page) if block.note.startswith("not run")]
    assert not excepted


@pytest.mark.parametrize("page", sorted(DOCS.glob("gallery/*.py")), ids=name)
def test_the_gallery_runs(page: Path) -> None:
    pyplot = figures()
    runpy.run_path(str(page))
    assert pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_reference_has_every_public_name() -> None:
    listed = set((DOCS / "api" / "index.md").read_text(encoding="utf-8").split())
    for module in ["ferl", *(f"ferl.{one.name}" for one in pkgutil.iter_modules(ferl.__path__))]:
        if "._" in module:
            continue
        try:
            found = importlib.import_module(module)
        except ImportError:  # it needs a package that is not installed here
            continue
        for public in getattr(found, "__all__", ()):
            assert public in listed or public == "__version__", f"docs/api/index.md lacks {module}.{public}"


def test_the_glossary_has_a_picture_for_each_notion_that_has_a_drawing() -> None:
    figures()
    shown = set(re.findall(r"pictures/glossary/(\w+)\.svg", (DOCS / "glossary.md").read_text(encoding="utf-8")))
    drawn = runpy.run_path(str(DOCS / "pictures" / "make_glossary.py"))["PICTURES"]
    assert shown == set(drawn) == {path.stem for path in (DOCS / "pictures" / "glossary").iterdir()}


@pytest.mark.parametrize("name", ["README.md", "docs/results/index.md", "docs/guide/cases.md", "paper/paper.md"])
def test_pages_quote_the_figures_of_the_tables(name: str) -> None:
    figures()
    script = runpy.run_path(str(DOCS / "pictures" / "make_results.py"))
    assert name in script["QUOTES"]
    page = (ROOT / name).read_text(encoding="utf-8")
    assert page == script["quoted"](name, script["with_table"](name, page)), "run python docs/pictures/make_results.py"


def test_the_results_of_the_readme_have_no_figure_that_no_table_has() -> None:
    figures()
    script = runpy.run_path(str(DOCS / "pictures" / "make_results.py"))
    results = (ROOT / "README.md").read_text(encoding="utf-8").partition("\n## Results\n")[2].partition("\n## ")[0]
    assert script["unquoted"]("README.md", results) == []
    other = results.replace("The lead over EBM", "The lead of 0.4 points over EBM")
    assert script["unquoted"]("README.md", other) == ["0.4"]
    changed = re.sub(r"Wilcoxon p = [\d.e-]+", "Wilcoxon p = 0.01", results)
    assert changed != results
    assert script["quoted"]("README.md", changed) == results


def test_more_rows_never_made_the_measured_answers_of_ferl_worse() -> None:
    figures()
    lines = runpy.run_path(str(DOCS / "pictures" / "make_results.py"))["read_lines"]
    setbacks = lines("learning_curve", "Where more rows are worse")
    assert [line for line in setbacks if line["Method"].startswith("FERL")] == []
    later = {
        (line["Method"], line["Rows"]): float(line["AUC"].split()[0])
        for line in lines("learning_curve", "flights-later")
    }
    sizes = {n_rows for method, n_rows in later if method == "FERL"}
    assert len(sizes) == 5
    assert all(later["FERL", n_rows] >= later["LightGBM-100", n_rows] for n_rows in sizes)


def test_every_picture_of_the_guide_is_shown_and_has_a_drawing() -> None:
    figures()
    drawn = runpy.run_path(str(DOCS / "pictures" / "make_guide.py"))["PICTURES"]
    shown = re.findall(r"pictures/guide/(\w+)\.png", " ".join(page.read_text(encoding="utf-8") for page in PAGES))
    assert set(shown) == set(drawn) == {path.stem for path in (DOCS / "pictures" / "guide").iterdir()}


def test_the_page_of_the_model_file_names_every_field() -> None:
    form = importlib.import_module("ferl._models.model_form")
    own = {name for fields in form.OF_KIND.values() for name in fields}
    wanted = own.union(form.MODEL, form.TREE.fields, form.WEIGHTS.fields, form.COLUMN.fields, form.READING.fields)
    page = (DOCS / "guide" / "model_file.md").read_text(encoding="utf-8")
    assert sorted(wanted - set(re.findall(r"`(\w+)`", page))) == []
