"""The examples of the README, of docs/guide/trust.md and of docs/guide/large_data.md run as they stand."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ferl._cli.app import app

README = Path(__file__).parent.parent / "README.md"
TRUST = README.parent / "docs" / "trust.md"
PAGES = [*sorted(README.parent.glob("*.md")), *sorted(README.parent.glob("docs/*.md"))]


def run_blocks(path):
    """Run the blocks of a page one after the other, as a reader would."""
    names = {}
    blocks = re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for block in blocks:
        exec(compile(block, str(path), "exec"), names)
    return len(blocks), names


def test_the_examples_of_the_readme_run(capsys):
    n_blocks, names = run_blocks(README)
    assert n_blocks == 3
    out = capsys.readouterr().out
    assert float(out.split()[0]) > 0.9
    assert "Evidence for malignant: begin with " in out
    assert "Promised: at most 0.05 errors among answered rows, with confidence 0.9." in out
    assert names["sets"].shape == (40, 2)
    answered = names["labels"] != None  # noqa: E711 - element by element
    assert (names["labels"] == names["y_new"])[answered].mean() > 0.8


def test_the_examples_of_the_page_on_trust_run(capsys):
    n_blocks, names = run_blocks(TRUST)
    assert n_blocks == 5
    out = capsys.readouterr().out.split()
    assert float(out[0]) > 0.85  # coverage of 180 rows, asked for 0.9
    evidence = names["evidence"]
    assert (evidence.belief <= evidence.pignistic).all()
    assert (names["labels"][~names["answered"]] == None).all()  # noqa: E711 - element by element


def test_the_example_of_the_page_on_large_data_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_blocks(README.parent / "docs" / "large_data.md")[0] == 1
    assert "5000 rows judged" in capsys.readouterr().out


@pytest.mark.parametrize("page", [README, README.parent / "docs" / "command_line.md"], ids=lambda page: page.name)
def test_the_commands_of_the_walk_through_run_on_what_they_write(page, tmp_path, monkeypatch):
    text = page.read_text(encoding="utf-8").split("<!-- walk-through -->\n```bash\n")[1].split("```")[0]
    monkeypatch.chdir(tmp_path)
    for line in text.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "ferl"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{line}: {done.output}"
    assert (tmp_path / "answers.csv").stat().st_size > 10_000


def test_the_ten_line_example_needs_no_more_than_the_library_itself():
    assert "as_frame" not in README.read_text(encoding="utf-8")  # pandas is not a dependency


def test_the_two_commands_are_marked():
    text = README.read_text(encoding="utf-8")
    assert "<!-- fresh:run -->\n```bash\npip install . && ferl demo\n```" in text
    assert "<!-- fresh:test -->\n```bash\n" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []
