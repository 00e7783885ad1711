"""The registry of tables, the run of them all, the results page, and studies of whole data sets."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from bench_examples import quiet
from ferl_bench import table as registry
from ferl_bench.command import app
from ferl_bench.data import DataSet, load_folder
from ferl_bench.errors import BenchError
from ferl_bench.headline import GOAL, Headline
from ferl_bench.overview import Outcome, results_page
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import CHAPTERS, Request, Table, all_tables, get_table

TABLES = Path(registry.__file__).parent / "tables"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """``one`` and ``two``: two classes of one number."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = [f"{rng.normal(2 * k):.3f},{k}" for k in [0, 1] * 15]
        (data / f"{name}.csv").write_text("\n".join(["x0,class", *rows]) + "\n")
    return data


def said(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def report(name: str, *headlines: Headline, failures: tuple[str, ...] = ()) -> Report:
    return Report(name, name.title(), {}, [Section("S", ["a"], [["1"]])], headlines=headlines, failures=failures)


# ---------------------------------------------------------------------------------------------------------------------
# The registry
# ---------------------------------------------------------------------------------------------------------------------


def test_every_file_of_the_folder_is_a_table() -> None:
    files = {path.stem.replace("_", "-") for path in TABLES.glob("*.py")} - {"--init--"}
    tables = all_tables()
    assert set(tables) == files
    chapters = [CHAPTERS.index(table.chapter) for table in tables.values()]
    assert chapters == sorted(chapters)
    assert all(table.minutes > 0 and table.summary.endswith(".") for table in tables.values())


def test_the_tables_of_all_together_take_less_than_six_hours() -> None:
    by_name_only = [table for table in all_tables().values() if table.needs_suite or table.has_sizes]
    assert sum(table.minutes for table in all_tables().values() if table not in by_name_only) < 360


def test_a_table_is_found_by_either_spelling_and_an_unknown_one_is_named() -> None:
    assert get_table("support-gate") is get_table("support_gate")
    with pytest.raises(BenchError, match="unknown table nothing; available: bands, "):
        get_table("nothing")


def test_a_new_file_is_a_new_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    (tmp_path / "shapes.py").write_text(
        "from ferl_bench.render import Report, Section\n"
        "from ferl_bench.table import Table\n"
        "def run(request):\n"
        "    rows = [[data.name, str(data.n_rows)] for data in request.data_sets]\n"
        "    return Report('shapes', 'Shapes', {}, [Section('S', ['Data set', 'Rows'], rows)])\n"
        "TABLE = Table('Rows of the data sets.', run, 'Answers', 1)\n"
    )
    monkeypatch.setattr(registry.tables_package, "__path__", [*registry.tables_package.__path__, str(tmp_path)])
    assert "shapes" in all_tables()
    done = invoke("shapes", "--data", folder, "--out", tmp_path / "out", "--docs", tmp_path / "docs")
    assert done.exit_code == 0, done.output
    assert "| one | 30 |" in (tmp_path / "docs" / "shapes.md").read_text()


def test_the_list_has_every_table_and_the_time_of_all() -> None:
    done = invoke("--list")
    assert done.exit_code == 0, done.output
    assert all(name in done.output for name in all_tables())
    assert re.search(r"the\s+suites\s+together\s+\d+", done.output)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "which table?"),
        (("nothing",), "unknown table nothing"),
        (("cuts", "--data", "x"), "--data, --openml and --datasets do not apply to cuts"),
        (("speed", "--data", "x", "--fresh"), "--jobs and --fresh do not apply to speed"),
        (("frontier", "--data", "x", "--repetitions", "3"), "--repetitions do not apply to frontier"),
        (("all", "--data", "x", "--repetitions", "3"), "--repetitions differ from table to table"),
        (("frontier",), "either as --data DIR or as --openml NAMES"),
        (("frontier", "--data", "x", "--openml", "y"), "either as --data DIR or as --openml NAMES"),
        (("frontier", "--openml", "y", "--datasets", "z"), "list the names in --openml itself"),
        (("frontier", "--openml", ","), "--openml was given without a name"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused_in_one_line(
    arguments: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    done = invoke(*arguments, "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


# ---------------------------------------------------------------------------------------------------------------------
# All of them
# ---------------------------------------------------------------------------------------------------------------------


def broken(request: Request) -> NoReturn:
    raise ZeroDivisionError("no\nluck")


def unusable(request: Request) -> NoReturn:
    raise BenchError("no data set has three classes")


def counted(request: Request) -> Report:
    studied = request.study(Study("counting", count, ("ferl_bench/data.py",))).require_some()
    total = sum(figures["n"] for figures in studied.figures.values())
    return report("counted", Headline("rows", total, 61.0, GOAL, decimals=0), failures=("Slow: not installed",))


def count(data: DataSet) -> dict[str, float]:
    return {"n": data.n_rows}


@pytest.fixture
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {
        "broken": Table("Breaks.", broken, "Answers", 1),
        "unusable": Table("Refuses.", unusable, "Answers", 1),
        "counted": Table("Counts.", counted, "Speed", 1),
        "simple": Table("Says.", lambda request: report("simple"), "Speed", 1, needs_data=False, in_one_process=True),
    }
    monkeypatch.setattr(registry, "all_tables", lambda: tables)


@pytest.mark.usefixtures("few_tables")
def test_all_runs_every_table_and_reports_failures_at_the_end(folder: Path, tmp_path: Path) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    done = invoke("all", "--data", folder, "--jobs", 1, "--out", out, "--docs", docs)
    assert done.exit_code == 1
    assert "error: 2 table(s) failed: broken, unusable" in done.stderr
    assert "Not measured: Slow: not installed (counted)" in done.output
    assert "4 tables in " in done.output
    assert "ZeroDivisionError: no luck (traceback in broken.error.txt)" in done.output
    assert "in all" in done.output
    assert "raise ZeroDivisionError" in (out / "broken.error.txt").read_text()
    assert not (out / "unusable.error.txt").exists()
    assert sorted(path.name for path in docs.iterdir()) == ["counted.md", "results.md", "simple.md"]
    page = (docs / "results.md").read_text()
    assert page == (out / "results.md").read_text()
    assert "Not finished" not in page
    assert "- data sets: 2" in page
    assert "over 30 data sets, these over 2: not comparable" in page
    assert "`ferl bench counted --data DIR`" in page
    assert "`ferl bench simple`" in page
    assert "[Counted](counted.md)" in page
    assert "**Failed: BenchError: no data set has three classes**" in page
    assert "| counted | rows | 60 | 61 | the goal |" in page
    assert "- Slow: not installed (counted)" in page
    assert str(tmp_path) not in page


@pytest.mark.usefixtures("few_tables")
def test_all_resumes_and_with_fresh_begins_again_but_keeps_what_was(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("all", "--data", folder, "--jobs", 1, "--out", out)
    assert "0 known" in invoke(*arguments).output
    assert "2 known" in invoke(*arguments).output
    before = (out / "results.jsonl").read_bytes()
    assert "0 known" in invoke(*arguments, "--fresh").output
    assert (out / "results-before.jsonl").read_bytes() == before


@pytest.mark.usefixtures("few_tables")
def test_all_keeps_reports_of_earlier_runs_and_says_their_day(folder: Path, tmp_path: Path) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    invoke("all", "--data", folder, "--jobs", 1, "--out", out)
    stored = json.loads((out / "counted.json").read_text())
    assert stored["run"]["failures"] == ["Slow: not installed"]
    assert stored["run"]["seconds"] > 0
    stored["run"] |= {"day": "2001-02-03", "seconds": 120}
    (out / "counted.json").write_text(json.dumps(stored))
    (out / "simple.json").write_text("{}")  # not a report: the table is run
    done = invoke("all", "--data", folder, "--jobs", 1, "--out", out, "--docs", docs, "--keep")
    assert "counted: 2.0 min, kept from 2001-02-03" in done.output
    assert "jobs:" not in done.output
    page = (docs / "results.md").read_text()
    assert "`ferl bench counted --data DIR`, 2.0 min, on 2001-02-03. [Counted](counted.md)" in page
    assert "| counted | rows | 60 | 61 | the goal |" in page
    assert "- Slow: not installed (counted)" in page
    assert (docs / "counted.md").read_bytes() == (out / "counted.md").read_bytes()
    few = invoke("all", "--data", folder, "--datasets", "two", "--jobs", 1, "--out", tmp_path / "out", "--keep")
    assert "counted: 2.0 min, kept" not in few.output  # a report of other data sets is none of these
    assert "simple: 0 s, 0 s in all" in done.output
    assert json.loads((out / "simple.json").read_text())["title"]


@pytest.mark.usefixtures("few_tables")
def test_keep_is_for_all_tables_and_not_with_fresh(folder: Path, tmp_path: Path) -> None:
    options = ("--data", folder, "--out", tmp_path / "out", "--keep")
    assert "--keep do not apply to ranks" in invoke("ranks", *options).stderr
    assert "give one of them" in invoke("all", *options, "--fresh").stderr


def test_the_page_says_where_we_are_behind_and_what_is_missing() -> None:
    table = Table("Summary.", counted, "Answers", 1)
    ahead, behind = Headline("accuracy", 84.0, 83.0), Headline("time", 3.0, 2.0, "CART", more_is_better=False)
    page = results_page({"t": Outcome(table, 90, report("t", ahead, behind))}, "--openml paper", n_wanted=3)
    section = page[page.index("## Where ferl is behind") : page.index("## Answers")]
    assert "ferl is behind in 1 of 2 compared figures." in section
    assert "| t | time | 3.00 | 2.00 | CART |" in section
    assert "accuracy" not in section
    assert "| accuracy | 84.00 | 83.00 | the paper |  |" in page
    assert "**Not finished: 1 of 3 tables.**" in page
    assert "`ferl bench t --openml paper`, 1.5 min." in page
    assert page.endswith("Everything was.\n")


def test_headlines_are_judged_as_they_are_printed() -> None:
    assert not Headline("accuracy", 83.226, 83.23).is_behind
    assert Headline("accuracy", 83.22, 83.23).is_behind
    assert Headline("error", 0.3, 0.2, more_is_better=False).is_behind
    assert not Headline("error", 0.1, 0.2, more_is_better=False).is_behind


# ---------------------------------------------------------------------------------------------------------------------
# Studies
# ---------------------------------------------------------------------------------------------------------------------


def nested(data: DataSet) -> dict[tuple[str, bool], dict[float, float]]:
    if data.name == "two":
        raise ValueError("a value is\ninfinity")
    return {("deep", True): {0.5: 1.0, 1.0: float("nan")}, ("deep", False): {0.5: float("inf")}}


def test_a_study_keeps_its_figures_and_names_what_failed(folder: Path, tmp_path: Path) -> None:
    study = Study("nesting", nested, ("ferl_bench/data.py",))
    first, second = quiet(), quiet()
    data_sets = load_folder(folder)
    result = Request(data_sets, tmp_path / "out", first).study(study)
    assert "2 to compute" in said(first)
    assert result.failures == {"two": "ValueError: a value is infinity"}
    again = Request(data_sets, tmp_path / "out", second).study(study)
    assert "1 known" in said(second)  # a failure is tried again
    figures = again.figures["one"]
    assert figures["deep", True][0.5] == 1.0
    assert np.isnan(figures["deep", True][1.0])
    assert figures["deep", False][0.5] == float("inf")
    json.loads((tmp_path / "out" / "results.jsonl").read_text().splitlines()[0])


def test_parameters_and_code_distinguish_studies(folder: Path, tmp_path: Path) -> None:
    data_sets = load_folder(folder, ["one"])
    studies = [
        Study("nesting", nested, ("ferl_bench/data.py",)),
        Study("nesting", nested, ("ferl_bench/data.py",), {"twice": True}),
        Study("nesting", nested, ("ferl_bench/curve.py",)),
        Study("other", nested, ("ferl_bench/data.py",)),
    ]
    for study in studies:
        console = quiet()
        Request(data_sets, tmp_path / "out", console).study(study)
        assert "0 known" in said(console)


def test_a_study_in_processes_says_the_same(folder: Path, tmp_path: Path) -> None:
    from ferl_bench.tables import support_gate

    request = Request(load_folder(folder), tmp_path / "one", quiet())
    alone = support_gate.run_support_gate(request)
    both = support_gate.run_support_gate(Request(load_folder(folder), tmp_path / "two", quiet(), n_processes=2))
    assert both.data == alone.data


def test_nothing_measured_is_refused(folder: Path, tmp_path: Path) -> None:
    studied = Request(load_folder(folder, ["two"]), tmp_path / "out", quiet()).study(Study("nesting", nested, ()))
    with pytest.raises(BenchError, match="every data set failed; the first, two: ValueError: a value is infinity"):
        studied.require_some()
