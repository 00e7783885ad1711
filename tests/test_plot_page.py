"""The page on plots: its examples run, and every plot has a picture."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import ferl.plot

pyplot = pytest.importorskip("matplotlib.pyplot", reason='plots need matplotlib: pip install "ferl[plot]"')

PAGE = Path(__file__).parent.parent / "docs" / "plots.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), names)
    drawn = len(pyplot.get_fignums())
    pyplot.close("all")
    assert drawn == 13
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8").count('id="band-') == names["clf"].n_rules_ - 1
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8").startswith("digraph ferl {")
    assert r"\begin{tabular}" in capsys.readouterr().out


def test_every_plot_is_described_and_has_a_picture_that_is_not_large() -> None:
    for name in ferl.plot.__all__:
        assert name in TEXT
    pictures = [PAGE.parent / link for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT)]
    assert len(pictures) == 17
    for picture in pictures:
        assert picture.stat().st_size < 150_000, picture.name
    assert {picture.name for picture in pictures} == {own.name for own in (PAGE.parent / "plots").iterdir()}
