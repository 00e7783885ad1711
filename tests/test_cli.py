"""The command line, as a user types it."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from typer.testing import CliRunner

from cli_examples import ferl, read_table
from ferl import FERLClassifier, __version__
from ferl._cli.app import app


@pytest.mark.parametrize("data", ["titanic", "iris", "wine", "breast_cancer"])
def test_demo_fits_draws_explains_three_rows_and_names_the_report_on_one_screen(data, tmp_path):
    report = tmp_path / "report.html"
    command = ("demo", "--data", data, "--report", report)
    shown = CliRunner().invoke(app, [str(own) for own in command], env={"COLUMNS": "80", "NO_COLOR": "1"})
    assert shown.exit_code == 0, shown.output
    lines = shown.output.splitlines()
    assert len(lines) <= (50 if data == "breast_cancer" else 45)
    assert all(len(line) <= 80 for line in lines[:-1])  # the last one has a path
    assert lines[-1].endswith("report.html")
    assert "judged on the held-out rows" in report.read_text(encoding="utf-8")
    for part in ("Accuracy", "What matters most", "█", "A clear row", "A doubtful row", "typing error", "No answer"):
        assert part in shown.output
    assert "\x1b" not in shown.output


def test_the_figures_of_the_demo_are_those_of_its_table(tmp_path):
    table = tmp_path / "titanic.csv"
    shown = ferl("demo", "--report", tmp_path / "report.html", "--table", table).output
    rows = read_table(table)
    assert len(rows["outcome"]) == 1309
    assert rows["age"].count("") == 263
    keys = np.arange(1309)
    train, test = train_test_split(keys, test_size=0.25, stratify=rows["outcome"], random_state=0)
    frame, y = pd.read_csv(table).drop(columns="outcome"), np.array(rows["outcome"])
    clf = FERLClassifier(random_state=0).fit(frame.iloc[train], y[train])
    assert f"Accuracy {100 * clf.score(frame.iloc[test], y[test]):.1f} %" in shown
    splits = [train_test_split(keys, test_size=0.25, stratify=y, random_state=seed) for seed in range(10)]
    scores = [
        100 * FERLClassifier(random_state=0).fit(frame.iloc[some], y[some]).score(frame.iloc[rest], y[rest])
        for some, rest in splits
    ]
    spread = f"Over 10 random splits: {min(scores):.1f} % to {max(scores):.1f} %, mean {np.mean(scores):.1f} %"
    assert spread in " ".join(shown.split())  # one split may be a lucky one
    auc = roc_auc_score(y[test] == "survived", clf.predict_proba(frame.iloc[test])[:, 1])
    assert f"AUC {auc:.3f}" in shown
    assert f"No answer for {100 * clf.predict_set(frame.iloc[test]).all(axis=1).mean():.1f} %" in shown


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
