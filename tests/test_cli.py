"""The command line, as a user types it."""

import subprocess
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from ferl import __version__
from ferl._cli.app import app

runner = CliRunner()


@pytest.mark.parametrize("data", ["iris", "wine", "breast_cancer"])
def test_demo_shows_rules_evidence_sets_contributions_novelty_and_an_abstention(data, tmp_path):
    report = tmp_path / "report.html"
    result = runner.invoke(app, ["demo", "--data", data, "--report", str(report)], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "report.html" in result.output
    assert "judged on the held-out rows" in report.read_text(encoding="utf-8")
    for part in ("accuracy", "if ", "begin with", "belief", "plausibility", "ignorance", "clearest", "no answer"):
        assert part in result.output
    for part in ("support lost", "What speaks for", "average training row", "because of", "in words"):
        assert part in result.output
    assert result.output.index("│ rules ") < result.output.index("│ compact ")
    if data == "iris":
        assert "The least clear one: {versicolor, virginica}" in result.output


def test_demo_writes_its_picture_and_refuses_a_folder_that_is_not_there(tmp_path):
    picture, report = tmp_path / "demo.svg", str(tmp_path / "report.html")
    assert runner.invoke(app, ["demo", "--picture", str(picture), "--report", report]).exit_code == 0
    svg = picture.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "url(http" not in svg
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.svg", "report.html"]
    for option in ("--picture", "--report"):
        refused = runner.invoke(app, ["demo", option, str(tmp_path / "no" / "demo")])
        assert refused.exit_code == 2
        assert "does not exist" in refused.output


def test_version_and_help():
    assert runner.invoke(app, ["--version"]).output.strip() == f"ferl {__version__}"
    text = runner.invoke(app, ["--help"]).output
    assert "demo" in text
    assert "bench" in text


def test_where_the_benchmark_is_absent_its_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: ())
    for arguments in ([], ["--list"], ["--help"], ["speed", "--data", "x"]):
        result = runner.invoke(app, ["bench", *arguments])
        assert result.exit_code == 2
        assert "pip install ./benchmarks" in result.stderr


def test_the_benchmark_gets_all_arguments_and_its_exit_code_counts(monkeypatch):
    def command(arguments, prog_name):
        print(prog_name, *arguments)
        sys.exit(3)

    entry = SimpleNamespace(load=lambda: command)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: {wanted["name"]: entry})
    for arguments in (["--help"], ["speed", "--data", "x", "--repetitions=3"], ["--jobs", "2", "speed"]):
        result = runner.invoke(app, ["bench", *arguments])
        assert result.exit_code == 3
        assert result.stdout.split() == ["ferl", "bench", *arguments]


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import ferl", ["sklearn", "scipy", "pandas", "typer", "rich", "matplotlib", "pyarrow"]),
        ("from ferl import FERLClassifier", ["typer", "rich", "matplotlib"]),
        ("import ferl._cli.app", ["sklearn", "scipy", "pandas", "matplotlib", "pyarrow"]),
    ],
)
def test_nothing_is_imported_before_it_is_needed(statement, absent):
    program = f"import sys; {statement}; print([name for name in {absent} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
