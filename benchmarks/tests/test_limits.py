"""Folds that are too slow, methods with a budget, and rows that have not all data sets."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from ferl_bench.cache import Result, ResultFile
from ferl_bench.command import Options, _limits, _refuse_unused
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.headline import against_best, against_partial
from ferl_bench.limits import Ledger, Limits, ended
from ferl_bench.method import Method, all_methods, get_method
from ferl_bench.overview import Outcome, results_page
from ferl_bench.published import AUTHORS, PAPER_ROWS, WHY
from ferl_bench.rows import ANSWERS, make_row
from ferl_bench.runner import Job, plan, run
from ferl_bench.table import Request, get_table
from ferl_bench.tables import frontier, ranks

CART = get_method("CART")
ACCURACY = [(ANSWERS[0], True)]


JOBS = """
from dataclasses import dataclass
from time import process_time, sleep

from ferl_bench.cache import Result
from ferl_bench.data import DataSet


@dataclass(frozen=True, eq=False)
class Work:
    data: DataSet
    fold: int
    busy: float
    idle: float = 0.0
    weight: int = 1
    budget_minutes: None = None

    @property
    def key(self):
        return f"{self.data.name} {self.fold}"

    def do(self):
        end = process_time() + self.busy
        while process_time() < end:
            pass
        sleep(self.idle)
        return self.result({"accuracy": 1.0})

    def result(self, measures, error=None):
        return Result(self.data.name, self.fold, "Work", measures, error)
"""


def data_set(name: str, n_rows: int) -> DataSet:
    rng = np.random.default_rng(n_rows)
    y = np.arange(n_rows) % 2
    categorical = np.empty((n_rows, 0), dtype=object)
    return DataSet(name, rng.normal(size=(n_rows, 2)) + y[:, None], categorical, y, ("a", "b"), f"digest of {name}")


SMALL, LARGE = data_set("small", 40), data_set("large", 100)


def console() -> Console:
    return Console(file=StringIO(), width=200)


def run_with(path: Path, jobs: Sequence[Any], limits: Limits) -> tuple[dict[tuple[str, str, int], Result], str]:
    shown = console()
    with ResultFile(path) as file:
        results = run(jobs, file, n_processes=1, console=shown, limits=limits)
    assert isinstance(shown.file, StringIO)
    return {(one.method, one.data_set, one.fold): one for one in results}, shown.file.getvalue()


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Jobs that take processor time, or wait."""
    (tmp_path / "working.py").write_text(JOBS)
    monkeypatch.syspath_prepend(str(tmp_path))  # the process imports the jobs from where this one does
    from working import Work  # type: ignore[import-not-found]

    yield Work
    del sys.modules["working"]


def test_a_fold_over_the_limit_is_ended_remembered_and_costs_its_data_set_alone(work: Any, tmp_path: Path) -> None:
    limits, path = Limits(fold_minutes=0.02), tmp_path / "results.jsonl"
    jobs = [work(LARGE, 0, 3600.0), work(LARGE, 1, 3600.0), work(SMALL, 0, 0.0)]
    started = monotonic()
    results, _ = run_with(path, jobs, limits)
    assert monotonic() - started < 6 * 1.2 - 1  # by the clock, six times the limit would be allowed
    over = results["Work", "large", 0]
    assert (over.error, over.limit_minutes, over.seconds) == ("over 0.02 minutes", 0.02, pytest.approx(1.2))
    spared = results["Work", "large", 1]
    assert (spared.error, spared.seconds) == ("not started: another fold of the data set took over 0.02 minutes", 0.0)
    assert results["Work", "small", 0].error is None
    again, printed = run_with(path, jobs, limits)  # what was ended is not tried again
    assert again == results
    assert "2 known" in printed


def test_the_limit_is_processor_time_and_each_fold_has_its_own(work: Any, tmp_path: Path) -> None:
    jobs = [*(work(SMALL, fold, 0.9) for fold in range(3)), work(SMALL, 3, 0.0, 2.0)]  # the last waits for longer
    results, _ = run_with(tmp_path / "results.jsonl", jobs, Limits(fold_minutes=0.02))
    assert [result.error for result in results.values()] == [None] * 4


def test_a_fold_that_waits_without_end_is_ended_too(work: Any, tmp_path: Path) -> None:
    results, _ = run_with(tmp_path / "results.jsonl", [work(SMALL, 0, 0.0, 3600.0)], Limits(fold_minutes=0.005))
    assert [result.error for result in results.values()] == ["over 0.005 minutes"]


def test_less_work_on_the_same_table_is_tried_after_more_was_too_much() -> None:
    ledger = Ledger(Limits(fold_minutes=10.0))

    def task(weight: int) -> Any:
        return SimpleNamespace(weight=weight, budget_minutes=None, result=partial(Result, "growing", 0, "EBM"))

    for weight in (200, 100, 300):
        ledger.record(task(weight), ended(task(weight), 10.0))
    assert [ledger.refuse(task(weight)) is None for weight in (99, 100, 150)] == [True, False, False]


def test_a_higher_limit_tries_again(tmp_path: Path) -> None:
    job, path = Job(SMALL, 0, CART), tmp_path / "results.jsonl"
    with ResultFile(path) as file:
        file.add(job.key, Result("small", 0, "CART", {}, "over 3 minutes", 180.0, limit_minutes=3.0))
    assert run_with(path, [job], Limits(fold_minutes=2))[0]["CART", "small", 0].error == "over 3 minutes"
    assert run_with(path, [job], Limits())[0]["CART", "small", 0].error is None


def test_a_budget_takes_small_data_sets_first_and_counts_what_earlier_runs_took(tmp_path: Path) -> None:
    slow = replace(CART, name="Budgeted", budget_minutes=1.0)
    jobs = plan([SMALL, LARGE], [slow, CART])
    assert [(job.data.name, job.method.name) for job in jobs[::5]] == [
        ("large", "CART"),
        ("small", "CART"),
        ("small", "Budgeted"),
        ("large", "Budgeted"),
    ]
    path = tmp_path / "results.jsonl"
    with ResultFile(path) as file:
        for job in jobs[10:15]:
            file.add(job.key, Result("small", job.fold, "Budgeted", {"accuracy": 1.0}, seconds=13.0))
    results, _ = run_with(path, jobs, Limits())  # 65 s of the 60 are gone
    assert all(results["Budgeted", "small", fold].error is None for fold in range(5))
    assert {results["Budgeted", "large", fold].error for fold in range(5)} == {"not started: 1 minutes were over"}
    more, _ = run_with(path, plan([SMALL, LARGE], [slow], Limits(method_minutes=2)), Limits(method_minutes=2))
    assert more["Budgeted", "large", 4].error is None


def test_lines_without_a_time_count_their_fit(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    line = {"fingerprint": "x", "data_set": "a", "fold": 0, "method": "m", "measures": {"fit_seconds": 2.0}}
    path.write_text(json.dumps(line) + "\n")
    with ResultFile(path) as file:
        stored = file.get("x")
    assert stored is not None
    assert stored.seconds == 2.0


def test_the_command_has_a_limit_by_default_and_zero_is_none() -> None:
    given = Options(None, None, None, None, Path("out"), None, False, None, None, None, None, None)
    assert _limits(given) == Limits(10.0, None)
    assert _limits(replace(given, fold_minutes=2, method_minutes=30)) == Limits(2, 30)
    none = _limits(replace(given, fold_minutes=0, method_minutes=0))
    assert none.fold_minutes is None
    assert none.budget(60) is None
    assert Limits().budget(60) == 60
    with pytest.raises(BenchError, match="--fold-minutes and --method-minutes do not apply to speed"):
        _refuse_unused("speed", get_table("speed"), replace(given, fold_minutes=2))


def results_of(method: str, scores: dict[str, float], **why: float) -> list[Result]:
    """Five folds for each data set; a negative score stands for a data set without a result."""
    measures = {"aurc": 0.1, "fit_seconds": 1.0}
    return [
        Result(name, fold, method, {"accuracy": score, **measures})
        if score >= 0
        else Result(name, fold, method, {}, "too slow", **why)
        for name, score in scores.items()
        for fold in range(5)
    ]


def test_rows_with_fewer_data_sets_say_so_and_are_compared_on_those() -> None:
    names = ("a", "b", "c", "d")
    scores = {
        "FERL-wide": dict(zip(names, (0.9, 0.8, 0.7, 0.6), strict=True)),
        "CART": dict(zip(names, (0.8, 0.7, 0.6, 0.5), strict=True)),
        "Random forest": dict(zip(names, (0.85, 0.75, 0.65, 0.55), strict=True)),
        "EBM (defaults)": dict(zip(names, (0.95, 0.9, 0.65, -1.0), strict=True)),
    }
    results = [one for name, item in scores.items() for one in results_of(name, item, limit_minutes=10.0)]
    methods: list[Method] = [get_method(name) for name in scores]
    rows = [make_row(method, results) for method in methods]
    report = frontier.make_report(rows, {})
    answers = report.sections[0]
    assert [row[0] for row in answers.rows][-1] == "EBM (defaults) (3 of 4 sets)"
    assert "EBM (defaults): over 10 minutes a fold on 1 of 4 data sets (d)" in answers.notes
    common = next(section for section in report.sections if section.title.startswith("Methods with fewer data sets"))
    assert common.rows[0][:5] == ["EBM (defaults)", "3", "Acc %", "83.33", "80.00"]
    assert common.rows[0][6] == "1 / 0 / 2"
    # The mean over three easy data sets beats nobody's mean over four.
    assert [one.whose for one in against_best(rows, "FERL-wide", ACCURACY)] == ["Random forest"]
    partial = against_partial(rows, "FERL-wide", ACCURACY)
    assert [(one.whose, round(one.ours, 2), round(one.theirs, 2)) for one in partial] == [
        ("EBM (defaults), on 3 sets", 80.0, 83.33)
    ]
    ranked = ranks.make_report(rows, {})
    assert any("EBM (defaults) is not ranked: measured on 3 of 4" in line for line in ranked.sections[0].notes)
    assert ranked.sections[-1].title.startswith("Methods with fewer data sets")


def test_a_note_tells_a_budget_from_a_limit_and_from_a_failure() -> None:
    results = [
        *results_of("CART", {"a": 0.9}),
        *results_of("CART", {"b": -1, "c": -1}, budget_minutes=60.0),
        *results_of("CART", {"d": -1}, limit_minutes=10.0),
        Result("e", 0, "CART", {}, "ValueError: no"),
    ]
    row = make_row(CART, results)
    from ferl_bench.rows import failure_notes

    assert failure_notes([row]) == [
        "CART: over 10 minutes a fold on 1 of 5 data sets (d); not started, its 60 minutes were over, on 2 of 5 data "
        "sets (b, c); failed on 1 of 5 data sets, first e fold 0: ValueError: no"
    ]


def test_far_rows_say_why_on_the_papers_thirty_data_sets(tmp_path: Path) -> None:
    names = [f"s{number:02d}" for number in range(30)]
    results = [one for name in ("CART", "C4.5") for one in results_of(name, dict.fromkeys(names, 0.8168))]
    rows = [make_row(get_method(name), results) for name in ("CART", "C4.5")]
    report = frontier.make_report(rows, {})
    (beside,) = report.repeated
    assert beside in report.sections
    cart, c45 = beside.rows
    assert c45[:5] == ["C4.5", "C4.5", "81.68", "78.19", ""]
    assert "cannot have been pruned as Quinlan does" in c45[-1]
    assert cart[0] == "CART"
    assert "no reason is known" in cart[-1]
    assert "2 of the 19 rows" in beside.notes[-1]
    assert f"#### {beside.title}" in results_page({"frontier": Outcome(frontier.TABLE, 1, report)}, "--data DIR")
    few = [row.on(names[:29]) for row in rows]
    assert frontier.make_report(few, {}).repeated == []
    lacking = frontier.make_report([rows[0], few[1]], {}).repeated[0].rows[1]
    assert lacking[-1] == "29 of 30 data sets: the means do not compare"


def test_the_papers_figures_and_the_authors_stand_side_by_side() -> None:
    rows = [make_row(get_method("Random forest"), results_of("Random forest", {"a": 0.9}))]
    report = frontier.make_report(rows, {})
    assert report.sections[0].rows[0][1] == "90.00 [86.62; 86.62]"
    published = next(section for section in report.sections if section.title.startswith("The authors'"))
    assert ["NGBoost", "82.31", "9.16", "", ""] in published.rows
    assert "Random forest" not in [row[0] for row in published.rows]  # it has a separate row


def test_every_row_of_the_papers_table_is_a_method_with_its_figures() -> None:
    known = {method.name: method for method in all_methods()}
    assert len(PAPER_ROWS) == 19
    assert {name for name in PAPER_ROWS.values() if name not in known or "accuracy" not in known[name].paper} == set()
    assert set(WHY) <= set(PAPER_ROWS.values())
    assert {name for name, one in AUTHORS.items() if one.in_paper} <= set(PAPER_ROWS.values())


def test_defaults_of_ebm_are_those_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    glassbox = pytest.importorskip("interpret.glassbox", reason="pip install './benchmarks[rivals]'")
    method = get_method("EBM (defaults)")
    seen: dict[str, Any] = {}

    def fit(machine: Any, X: Any, y: Any) -> Any:
        seen.update(machine.get_params())
        return machine

    monkeypatch.setattr(glassbox.ExplainableBoostingClassifier, "fit", fit)
    method.fit(LARGE.numeric, LARGE.y, 3)
    plain = glassbox.ExplainableBoostingClassifier().get_params()
    assert {name: value for name, value in seen.items() if value != plain[name]} == {"n_jobs": 1, "random_state": 3}
    assert method.budget_minutes == 60


def test_a_request_hands_its_limits_to_the_runner(tmp_path: Path) -> None:
    budgeted = replace(CART, name="Budgeted", budget_minutes=0.0)
    request = Request([SMALL], tmp_path, console(), limits=Limits())
    rows = request.rows([CART, budgeted])
    assert [len(row.data_sets) for row in rows] == [1, 0]
    assert request.limits.describe() == {}
    assert Limits(10.0, 60.0).describe() == {
        "time_limit": "10 minutes of processor time a fold",
        "budget": "60 minutes a method",
    }
