"""The README: short, with the two commands that a fresh machine runs. Its code runs in tests/test_pages.py."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from browser import chromium

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_ten_line_example_needs_no_more_than_the_library_itself() -> None:
    assert "as_frame" not in README  # pandas is not a dependency


def test_the_two_commands_are_marked() -> None:
    assert "<!-- fresh:run -->\n```bash\npip install . && ferl demo\n```" in README
    assert '<!-- fresh:test -->\n```bash\npip install ".[test]" && python -m pytest -n 2\n```' in README


def test_it_can_be_read_in_a_minute_or_two() -> None:
    assert README.count("\n") < 150


def test_the_first_python_is_on_the_first_screen(tmp_path: Path) -> None:
    markdown = pytest.importorskip("markdown_it")
    body = markdown.MarkdownIt("commonmark", {"html": True}).enable("table").render(README)
    root = (Path(__file__).parent.parent).as_uri()
    body = re.sub(r'src="(?!https:)', f'src="{root}/', body)
    style = (
        "body { font: 16px/1.5 sans-serif; max-width: 1012px; margin: 0 auto; padding: 32px } pre { font-size: 85% }"
    )
    page = tmp_path / "readme.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'><style>{style}</style>{body}", encoding="utf-8")
    with chromium() as driver:
        metrics = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        driver.get(page.as_uri())
        pictures, top, bottom = driver.execute_script(
            "const code = document.querySelector('pre code.language-python').getBoundingClientRect();"
            "return [[...document.images].filter((own) => own.src.startsWith('file:')).map((own) => own.naturalWidth),"
            " code.top, code.bottom]"
        )
    assert len(pictures) == 2
    assert min(pictures) > 0
    assert 0 < top < bottom < 1000


def test_the_package_index_gets_absolute_links_pictures_and_addresses(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    for name in ("README.md", "pyproject.toml"):
        (tmp_path / name).write_text((root / name).read_text(encoding="utf-8"), encoding="utf-8")
    tool = runpy.run_path(str(root / "tools" / "pypi_readme.py"))
    tool["main"](["--repository", "some/one", "--ref", "v1", "--root", str(tmp_path)])
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r'\]\(([^)]*)\)|src="([^"]*)"', text)
    assert all("".join(own).startswith("https://") for own in targets)
    assert 'src="https://raw.githubusercontent.com/some/one/v1/docs/pictures/report_readme.png"' in text
    assert "](https://raw.githubusercontent.com/some/one/v1/docs/results/frontier.png)" in text
    assert "(https://github.com/some/one/blob/v1/docs/guide/rules.md#large-tables)" in text
    project = tomllib.loads((tmp_path / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    own = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    address = "https://github.com/some/one"
    assert own["Homepage"]
    assert project["urls"] == {
        "Documentation": f"{address}/blob/main/docs/index.md",
        "Source": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        **own,
    }
    without = tool["with_urls"]('[project]\nname = "x"\n\n[project.scripts]\n', "some/one")
    assert tomllib.loads(without)["project"]["urls"]["Homepage"] == address
    assert tool["with_urls"](without, "some/one") == without
    with pytest.raises(SystemExit):
        tool["main"](["--repository", "nobody", "--root", str(tmp_path)])
