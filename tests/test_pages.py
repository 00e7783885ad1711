"""Every page of the documentation runs as printed, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pages import DOCS, ROOT, blocks, pages, run_page

PAGES = pages()
WITH_CODE = [page for page in PAGES if blocks(page)]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_the_blocks_of_a_page_run_in_order_and_print_what_it_says(page: Path) -> None:
    run_page(page)
    if "pyplot" in page.read_text(encoding="utf-8") or "plot_" in page.read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib.pyplot").close("all")


@pytest.mark.parametrize("page", [page for page in PAGES if page.suffix == ".md"], ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    built = DOCS / "auto_gallery"  # pages that Sphinx writes
    assert [link for link in links if not (page.parent / link).exists() and built not in (page.parent / link).resolve().parents] == []
