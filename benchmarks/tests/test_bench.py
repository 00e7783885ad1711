"""The benchmark on data sets small enough to know by heart."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, train_test_split
from typer.testing import CliRunner

from bench_examples import quiet, small_data_sets
from ferl_bench import render
from ferl_bench.cache import Result, ResultFile, fingerprint
from ferl_bench.command import app
from ferl_bench.data import encode, load_csv, load_folder
from ferl_bench.errors import BenchError
from ferl_bench.method import Method, all_methods, get_method
from ferl_bench.protocol import evaluate, make_folds
from ferl_bench.runner import Job, plan, run
from ferl_bench.table import Request
from ferl_bench.tables.frontier import run_frontier

CART = get_method("CART")

OURS = [
    "FERL-compact",
    "FERL-compact, the paper's tree",
    "FERL-compact, MDLP",
    "FERL-medium",
    "FERL-deep, vote",
    "FERL-deep",
]
OURS += [*(f"FERL-wide, {n_rules} rules" for n_rules in (6, 10, 15, 25, 50)), "FERL-wide", "FERL-wide with cases"]
METHODS = [
    "C4.5",
    "CART",
    "CDT",
    "CDT (C4.5)",
    "EBM",
    "EBM (defaults)",
    "EDL(64)",
    "ex_fuzzy DeepFERL",
    "ex_fuzzy DeepFERL, soft vote",
    "ex_fuzzy FERL compact",
    *OURS,
    "FIGS",
    "FURIA",
    "Fuzzy-UCS (DS)",
    "HSTree",
    "k-NN",
    "Evidential k-NN",
    "Logistic regression",
    "MLP(64)",
    "NCC",
    "NeuRules",
    "Random forest",
    "RL-Net",
    "RRL",
    "Greedy rule list",
    "RuleFit",
    "SamRuLe",
    "Scorecard",
    "XGBoost",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return small_data_sets(tmp_path)


def frontier(folder: Path, out: Path, methods: list[Method], *, fresh: bool = False) -> tuple[render.Report, str]:
    console = quiet()
    report = run_frontier(Request(load_folder(folder), out, console, fresh=fresh), methods)
    assert isinstance(console.file, StringIO)
    return report, console.file.getvalue()


def fail(X: object, y: object, seed: int) -> NoReturn:
    raise RuntimeError("no such\nluck")


BROKEN = Method(name="Broken", fit=fail, size=lambda fitted: 0)

# ---------------------------------------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------------------------------------


def test_numbers_and_text_are_told_apart(folder: Path) -> None:
    blobs, mixed = load_folder(folder)
    assert (blobs.name, blobs.numeric.shape, blobs.categorical.shape) == ("blobs", (62, 2), (62, 0))
    assert (mixed.name, mixed.numeric.shape, mixed.categorical.shape) == ("mixed", (50, 1), (50, 1))
    assert blobs.class_names == ("a", "b", "rare")
    assert blobs.y[[0, 30, 61]].tolist() == [0, 1, 2]
    assert set(mixed.categorical[:, 0]) == {"red", "green", "blue"}


def test_missing_numbers_are_nan_and_an_empty_column_is_numeric(tmp_path: Path) -> None:
    (tmp_path / "holes.csv").write_text("x0,x1,class\n1,,a\n,,b\n")
    numeric = load_csv(tmp_path / "holes.csv").numeric
    assert np.isnan(numeric).tolist() == [[False, True], [True, True]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("x0,label\n1,a\n", "has no column named 'class'"),
        ("class\na\nb\n", "2 rows and 0 features"),
        ("x0,class\n", "0 rows and 1 features"),
        ("x0,class\n1,2\n1,\n", "1 rows without a label"),
        ("x0,class\n1,a\n2,a\n", "single class, a;"),
        ("x0,class\n1,a\n2,b,c\n", "not a readable CSV file"),
        ("", "not a readable CSV file"),
    ],
)
def test_an_unusable_file_is_named_with_the_reason(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(BenchError, match=rf"bad\.csv .*{message}"):
        load_folder(tmp_path)


def test_encoding_learns_from_the_fitting_rows_only(folder: Path) -> None:
    mixed = load_folder(folder, ["mixed"])[0]
    red = np.flatnonzero(mixed.categorical[:, 0] == "red")
    others = np.flatnonzero(mixed.categorical[:, 0] != "red")
    X_fit, X_red = encode(mixed, others, red)
    assert X_fit.shape[1] == 3
    assert X_fit[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert X_fit[:, 0].std() == pytest.approx(1)
    assert not X_red[:, 1:].any()  # a category not seen in fitting is all zeros


# ---------------------------------------------------------------------------------------------------------------------
# Protocol
# ---------------------------------------------------------------------------------------------------------------------


def test_folds_are_the_published_ones() -> None:
    y = np.repeat([0, 1, 2], [30, 20, 10])
    outer = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    for index, (fold, (training, test)) in enumerate(zip(make_folds(y), outer, strict=True)):
        fitting, calibration = train_test_split(training, test_size=0.25, random_state=index, stratify=y[training])
        np.testing.assert_array_equal(fold.test, test)
        np.testing.assert_array_equal(fold.fitting, fitting)
        np.testing.assert_array_equal(fold.calibration, calibration)


def test_parts_of_a_fold_are_disjoint_and_complete_even_with_a_class_of_two_rows(folder: Path) -> None:
    y = load_folder(folder, ["blobs"])[0].y
    folds = make_folds(y)
    for fold in folds:
        rows = np.concatenate([fold.fitting, fold.calibration, fold.test])
        np.testing.assert_array_equal(np.sort(rows), np.arange(len(y)))
    np.testing.assert_array_equal(np.sort(np.concatenate([fold.test for fold in folds])), np.arange(len(y)))


def test_a_class_absent_from_fitting_is_never_covered(folder: Path) -> None:
    blobs = load_folder(folder, ["blobs"])[0]

    def everything(fitted: Any, X: np.ndarray) -> np.ndarray:
        return np.ones((len(X), len(fitted.classes_)), dtype=bool)

    careful = replace(CART, prediction_set=everything)
    measured = [evaluate(blobs, fold.index, careful) for fold in make_folds(blobs.y)]
    unseen = [np.isin(blobs.y[fold.test], blobs.y[fold.fitting], invert=True).mean() for fold in make_folds(blobs.y)]
    assert max(unseen) > 0
    np.testing.assert_allclose([m["set_coverage"] for m in measured], 1 - np.array(unseen))


# ---------------------------------------------------------------------------------------------------------------------
# Runner and cache
# ---------------------------------------------------------------------------------------------------------------------


def test_methods_are_found_in_table_order() -> None:
    assert [method.name for method in all_methods()] == METHODS


def test_a_second_run_computes_nothing_and_says_the_same(folder: Path, tmp_path: Path) -> None:
    first, printed = frontier(folder, tmp_path / "out", [CART])
    assert "10 jobs: 0 known" in printed
    before = (tmp_path / "out" / "results.jsonl").read_bytes()
    second, printed = frontier(folder, tmp_path / "out", [CART])
    assert "10 known" in printed
    assert "0 to compute" in printed
    assert (tmp_path / "out" / "results.jsonl").read_bytes() == before
    assert second.data == first.data


def test_fresh_computes_everything_again(folder: Path, tmp_path: Path) -> None:
    frontier(folder, tmp_path / "out", [CART])
    _, printed = frontier(folder, tmp_path / "out", [CART], fresh=True)
    assert "0 known" in printed
    assert "10 to compute" in printed


def test_unreadable_lines_are_ignored_and_the_rest_is_used(folder: Path, tmp_path: Path) -> None:
    frontier(folder, tmp_path / "out", [CART])
    path = tmp_path / "out" / "results.jsonl"
    lines = path.read_text().splitlines()
    # A foreign value, an incomplete object, bytes that are no text, and a last line cut short without its end.
    path.write_bytes("\n".join([*lines[:-1], "17", '{"fingerprint": "x"}']).encode() + b"\n\xff\n" + b'{"fing')
    _, printed = frontier(folder, tmp_path / "out", [CART])
    assert "results.jsonl: 4 unreadable line(s) ignored." in printed
    assert "9 known" in printed
    assert "1 to compute" in printed
    _, printed = frontier(folder, tmp_path / "out", [CART])
    assert "10 known" in printed


def test_a_result_survives_the_file(tmp_path: Path) -> None:
    result = Result("iris", 3, "CART", {"accuracy": 0.1 + 0.2})
    with ResultFile(tmp_path / "new" / "results.jsonl") as file:
        file.add("key", result)
    with ResultFile(tmp_path / "new" / "results.jsonl") as file:
        assert file.get("key") == result
        assert file.get("other") is None


def test_a_failure_is_tried_again(folder: Path, tmp_path: Path) -> None:
    frontier(folder, tmp_path / "out", [CART, BROKEN])
    _, printed = frontier(folder, tmp_path / "out", [CART, BROKEN])
    assert "10 known" in printed  # those of CART


def test_a_table_in_which_nothing_worked_is_not_published(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="every job failed; the first, Broken on blobs: RuntimeError: no such luck"):
        frontier(folder, tmp_path / "out", [BROKEN])


def test_defaults_are_judged_on_training_rows_only(folder: Path) -> None:
    blobs = load_folder(folder, ["blobs"])[0]
    fold = make_folds(blobs.y)[0]
    careful = replace(CART, judged_on="calibration")
    assert fingerprint(blobs, 0, careful) != fingerprint(blobs, 0, CART)
    X_fit, X_judged = encode(blobs, fold.fitting, fold.calibration)
    expected = CART.fit(X_fit, blobs.y[fold.fitting], 0).score(X_judged, blobs.y[fold.calibration])
    assert evaluate(blobs, 0, careful)["accuracy"] == pytest.approx(expected)


def test_the_defaults_table_has_one_row_an_alternative(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ferl_bench.tables import defaults

    monkeypatch.setattr(defaults, "ALTERNATIVES", defaults.ALTERNATIVES[:2])
    report = defaults.run_defaults(Request(load_folder(folder, ["blobs"]), tmp_path / "out", quiet()))
    assert [row[0] for row in report.sections[0].rows] == ["deep", "max_depth=12"]
    assert report.data["deep"]["accuracy"] > 0.5  # type: ignore[index, call-overload]


def test_the_defaults_of_compact_have_a_table_of_their_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ferl_bench.tables import defaults_compact

    monkeypatch.setattr(defaults_compact, "CHANGES", defaults_compact.CHANGES[:2])
    monkeypatch.setattr(defaults_compact, "CHANGES_OF_TREE", defaults_compact.CHANGES_OF_TREE[:1])
    report = defaults_compact.run_defaults_compact(Request(load_folder(folder, ["blobs"]), tmp_path / "out", quiet()))
    assert report.name == "defaults_compact"
    assert [row[0] for row in report.sections[0].rows] == ["compact", "worth 0.03", "tree"]
    assert report.data["compact"]["size"] <= 15  # type: ignore[index, call-overload]


def test_fingerprint_changes_with_method_parameters_data_and_fold(folder: Path) -> None:
    blobs, mixed = load_folder(folder)
    prints = {
        fingerprint(blobs, 0, CART),
        fingerprint(blobs, 1, CART),
        fingerprint(mixed, 0, CART),
        fingerprint(blobs, 0, replace(CART, name="other")),
        fingerprint(blobs, 0, replace(CART, parameters={"max_depth": 3})),
        fingerprint(blobs, 0, replace(CART, is_ours=True)),
        fingerprint(blobs, 0, replace(CART, code=("ferl_bench/methods/cart.py",))),
    }
    assert len(prints) == 7
    assert fingerprint(load_csv(folder / "blobs.csv"), 0, CART) in prints


def test_a_job_that_kills_its_process_fails_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lethal.py").write_text("import os\n\n\ndef fit(X, y, seed):\n    os._exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))  # the processes import the method from where this one does
    import lethal  # type: ignore[import-not-found]

    data = load_folder(folder, ["mixed"])[0]
    jobs = [Job(data, 0, replace(CART, name="Lethal", fit=lethal.fit)), Job(data, 0, CART)]
    with ResultFile(tmp_path / "out" / "results.jsonl") as file:
        dead, alive = run(jobs, file, n_processes=2, console=quiet())
    assert dead.error is not None
    assert dead.error.startswith("the process died")
    assert alive.error is None
    expected, measured = evaluate(data, 0, CART), dict(alive.measures)
    timeless = [key for key in expected if not key.endswith("seconds")]
    assert [measured[key] for key in timeless] == [expected[key] for key in timeless]


def test_plan_starts_with_the_largest_data_set(folder: Path) -> None:
    jobs = plan(load_folder(folder), [CART, BROKEN])
    assert len(jobs) == 2 * 5 * 2
    assert [job.data.name for job in jobs[::10]] == ["blobs", "mixed"]


# ---------------------------------------------------------------------------------------------------------------------
# Reports
# ---------------------------------------------------------------------------------------------------------------------


def test_a_failing_method_has_a_row_that_says_why(folder: Path, tmp_path: Path) -> None:
    report, _ = frontier(folder, tmp_path / "out", [CART, BROKEN])
    answers = report.sections[0]
    assert [row[0] for row in answers.rows] == ["CART", "Broken"]
    assert answers.rows[1][1] == "failed"
    assert any("Broken: failed on 2 of 2 data sets" in n and "RuntimeError: no such luck" in n for n in answers.notes)
    failures = report.data["failures"]
    assert isinstance(failures, list)
    assert len(failures) == 10


def test_the_table_averages_folds_then_data_sets(folder: Path, tmp_path: Path) -> None:
    report, _ = frontier(folder, tmp_path / "out", [CART])
    data = json.loads(json.dumps(report.data))
    means = [np.mean([evaluate(d, fold, CART)["accuracy"] for fold in range(5)]) for d in load_folder(folder)]
    assert [entry["accuracy"] for entry in data["data_sets"]] == pytest.approx(means)
    assert data["methods"][0]["measures"]["accuracy"] == pytest.approx(np.mean(means))
    assert data["methods"][0]["paper"]["accuracy"] == pytest.approx(0.7976)
    spread = np.std(means, ddof=1)
    assert any("over 30 data sets, these over 2: not comparable" in note for note in report.sections[0].notes)
    assert report.sections[0].rows[0][1] == f"{100 * np.mean(means):.2f}±{100 * spread:.1f} [79.76]"


def test_markdown_rows_are_complete_and_escaped() -> None:
    section = render.Section("T", ["a", "b", "c"], [["x|y"], ["1", "2", "3"]], notes=["n"])
    text = render.markdown(render.Report("r", "R", {"seed": 0}, [section]))
    assert "| x\\|y |  |  |" in text
    assert "- seed: 0" in text
    assert "- n" in text


# ---------------------------------------------------------------------------------------------------------------------
# The commands
# ---------------------------------------------------------------------------------------------------------------------


def invoke(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_frontier_command_writes_all_files(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ("ex_fuzzy", "imodels", "interpret", "interpret.glassbox", "numba", "torch")
    for package in packages:  # slow, and they have separate tests
        monkeypatch.setitem(sys.modules, package, None)
    for module in ("neurules", "rl_net"):
        monkeypatch.setattr(f"ferl_bench.methods.{module}.N_EPOCHS", 3)
    out = tmp_path / "out"
    options = ("--jobs", 1, "--fold-minutes", 0)  # in this process, which has not these packages
    result = invoke("frontier", "--data", folder, "--datasets", "mixed", *options, "--out", out)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == [
        "frontier.json",
        "frontier.md",
        "frontier.png",
        "results.jsonl",
    ]
    content = json.loads((out / "frontier.json").read_text())
    assert {"ferl", "python", "numpy", "scikit-learn", "cores", "protocol"} <= set(content["facts"])
    assert [entry["method"] for entry in content["methods"]] == METHODS
    text = (out / "frontier.md").read_text()
    assert "random_state=0" in text
    assert "| CART |" in text
    assert "| Logistic regression |" in text
    assert "not yet" not in text  # every method of the paper has a row
    assert "| EDL(64) | failed |" in text
    assert "torch is not installed (pip install './benchmarks[torch]')" in text
    assert "| mixed |" in text
    assert (out / "frontier.png").read_bytes().startswith(b"\x89PNG")


def test_ferl_rows_offer_every_measure(folder: Path, tmp_path: Path) -> None:
    methods = [method for method in all_methods() if method.is_ours]
    report, _ = frontier(folder, tmp_path / "out", methods)
    data = json.loads(json.dumps(report.data))
    assert data["failures"] == []
    for entry in data["methods"]:
        measures = entry["measures"]
        assert {"determinacy", "set_coverage", "set_size", "u65", "u80"} <= set(measures)
        assert all(0 <= measures[key] <= 1 for key in ("accuracy", "aurc", "augrc", "ece", "u65", "u80"))
        assert measures["size"] >= 1
    assert [row[0] for row in report.sections[1].rows] == OURS


@pytest.mark.parametrize("command", ["frontier", "speed"])
@pytest.mark.parametrize(
    ("make", "names", "message"),
    [
        ("missing", None, "does not exist"),
        ("empty", None, "holds no .csv file"),
        ("data", "mixed,iris", "unknown data set iris; available: blobs, mixed"),
        ("data", " , ", "--datasets was given without a name"),
    ],
)
def test_a_wrong_folder_or_name_is_one_line_and_code_two(
    folder: Path, tmp_path: Path, command: str, make: str, names: str | None, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    options = [] if names is None else ["--datasets", names]
    result = invoke(command, "--data", tmp_path / make, "--out", tmp_path / "out", *options)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_an_unusable_output_folder_is_one_line_and_code_two(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = invoke("frontier", "--data", folder, "--jobs", 1, "--out", tmp_path / "file")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1


def test_an_interrupt_keeps_what_is_done_and_says_how_to_go_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def interrupted(data: object, fold: int, method: Method) -> dict[str, float]:
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(fold)
        return {"accuracy": 1.0}

    monkeypatch.setattr("ferl_bench.runner.evaluate", interrupted)
    result = invoke("frontier", "--data", folder, "--jobs", 1, "--fold-minutes", 0, "--out", tmp_path / "out")
    assert result.exit_code == 130
    assert "the same command goes on from there" in result.stderr
    lines = (tmp_path / "out" / "results.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 3
