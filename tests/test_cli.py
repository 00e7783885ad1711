"""The command line, as a user types it."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from cli_examples import ferl
from ferl import __version__


@pytest.mark.parametrize("data", ["iris", "wine", "breast_cancer"])
def test_demo_shows_rules_evidence_sets_contributions_novelty_and_an_abstention(data, tmp_path):
    report = tmp_path / "report.html"
    result = ferl("demo", "--data", data, "--report", report)
    assert "report.html" in result.output
    assert "judged on the held-out rows" in report.read_text(encoding="utf-8")
    for part in ("accuracy", "if ", "begin with", "belief", "plausibility", "ignorance", "clearest", "no answer"):
        assert part in result.output
    for part in ("support lost", "Effects on the odds", "average training row", "because of", "in words"):
        assert part in result.output
    assert result.output.index("│ rules ") < result.output.index("│ compact ")
    if data == "iris":
        assert "The least clear one: {versicolor, virginica}" in result.output


def test_demo_writes_its_picture_and_refuses_a_folder_that_is_not_there(tmp_path):
    picture, report = tmp_path / "demo.svg", tmp_path / "report.html"
    ferl("demo", "--picture", picture, "--report", report)
    svg = picture.read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "url(http" not in svg
    assert sorted(path.name for path in tmp_path.iterdir()) == ["demo.svg", "report.html"]
    for option in ("--picture", "--report"):
        assert "does not exist" in ferl("demo", option, tmp_path / "no" / "demo", code=2).output


def test_version_and_help():
    assert ferl("--version").output.strip() == f"ferl {__version__}"
    text = ferl("--help").output
    assert "demo" in text
    assert "bench" in text


def test_where_the_benchmark_is_absent_its_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: ())
    for arguments in ([], ["--list"], ["--help"], ["speed", "--data", "x"]):
        assert "pip install ./benchmarks" in ferl("bench", *arguments, code=2).stderr


def test_the_benchmark_gets_all_arguments_and_its_exit_code_counts(monkeypatch):
    def command(arguments, prog_name):
        print(prog_name, *arguments)
        sys.exit(3)

    entry = SimpleNamespace(load=lambda: command)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **wanted: {wanted["name"]: entry})
    for arguments in (["--help"], ["speed", "--data", "x", "--repetitions=3"], ["--jobs", "2", "speed"]):
        assert ferl("bench", *arguments, code=3).stdout.split() == ["ferl", "bench", *arguments]


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
