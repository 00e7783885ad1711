"""The page on plots: every plot is described and has a picture."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("matplotlib", reason='plots need matplotlib: pip install "ferl[plot]"')

import ferl.plot

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "plots.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_plot_is_described_and_has_a_picture_that_is_not_large() -> None:
    for name in ferl.plot.__all__:
        assert name in TEXT
    pictures = [PAGE.parent / link for link in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", TEXT)]
    assert len(pictures) == 17
    for picture in pictures:
        assert picture.stat().st_size < 150_000, picture.name
    assert {picture.name for picture in pictures} == {own.name for own in (PAGE.parent.parent / "plots").iterdir()}
