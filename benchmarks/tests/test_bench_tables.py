"""Ranks, study, runtime and ablations on data sets small enough to know by heart."""

from __future__ import annotations

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from ferl import FERLTreeClassifier
from ferl_bench.ablation import Line
from ferl_bench.cache import Result
from ferl_bench.data import encode, load_folder
from ferl_bench.errors import BenchError
from ferl_bench.method import Method, get_method, known_methods
from ferl_bench.methods.ferl import fit
from ferl_bench.protocol import evaluate, make_folds
from ferl_bench.render import markdown
from ferl_bench.rows import Row
from ferl_bench.table import Request
from ferl_bench.tables import bands, consequents, criterion, evidence, ranks, runtime, sql, study, tables

DEEP, CART, LOGISTIC = (get_method(name) for name in ("FERL-deep", "CART", "Logistic regression"))


@pytest.fixture
def request_of(tmp_path: Path) -> Request:
    """``wine``: three classes of two numbers. ``heart``, ``pima``: two classes of one number."""
    data = tmp_path / "data"
    data.mkdir()
    rng = np.random.default_rng(0)
    wine = [f"{rng.normal(k, 0.7):.3f},{rng.normal(-k):.3f},{k}" for k in [0, 1, 2] * 20]
    (data / "wine.csv").write_text("\n".join(["x0,x1,class", *wine]) + "\n")
    for name in ("heart", "pima"):
        rows = [f"{rng.normal(1.5 * k):.3f},{k}" for k in [0, 1] * 25]
        (data / f"{name}.csv").write_text("\n".join(["x0,class", *rows]) + "\n")
    return Request(load_folder(data), tmp_path / "out", Console(file=StringIO(), width=200))


def as_json(report: Any) -> Any:
    return json.loads(json.dumps(report.data, allow_nan=False))


def row(method: Method, accuracy: list[float], aurc: list[float] | None = None) -> Row:
    figures = zip(accuracy, aurc or [1 - a for a in accuracy], strict=True)
    data_sets = {f"set {place}": {"accuracy": a, "aurc": b} for place, (a, b) in enumerate(figures)}
    return Row(method, data_sets, [])


# ---------------------------------------------------------------------------------------------------------------------
# Ablations
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("module", [bands, consequents, criterion, evidence])
def test_the_first_line_is_the_default_and_every_other_one_changes_it(module: Any) -> None:
    first, *others = module.LINES
    assert first.method() == DEEP
    defaults = FERLTreeClassifier("deep").get_params()
    for line in others:
        assert line.change
        assert all(defaults[name] != value for name, value in line.change.items())
    assert len({line.label for line in module.LINES}) == len(module.LINES)


def test_lines_of_evidence_and_consequents_share_their_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(np.int64)
    default = fit({"variant": "deep"}, X, y, 0).tree_
    for line in (*evidence.LINES, *consequents.LINES):
        tree = line.method().fit(X, y, 0).tree_
        np.testing.assert_array_equal(tree.trapezoid, default.trapezoid)
        np.testing.assert_array_equal(tree.feature, default.feature)


def test_an_ablation_pairs_data_sets_and_shares_results_with_other_tables(
    request_of: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "LINES", evidence.LINES[:3])
    request_of.rows([DEEP])
    report = evidence.run_evidence(request_of)
    console = request_of.console.file
    assert isinstance(console, StringIO)
    assert "45 jobs: 15 known" in console.getvalue()
    data = as_json(report)
    entry = next(one for one in data["methods"] if one["method"] == "Dempster, all nodes")
    assert entry["paper"]["accuracy"] == pytest.approx(0.8062)
    means = {(one["data_set"], one["method"]): one["accuracy"] for one in data["data_sets"]}
    gaps = [means[name, "Dempster, all nodes"] - means[name, "Dempster, leaves"] for name in ("heart", "pima", "wine")]
    difference = data["differences"]["accuracy"]["Dempster, all nodes"]
    assert difference["mean"] == pytest.approx(np.mean(gaps))
    assert difference["wins"] == sum(gap > 1e-12 for gap in gaps)
    text = markdown(report)
    assert "[80.62]" in text
    assert "Ign. %" in text
    assert "## Against the default" in text
    whose = [headline.whose for headline in report.headlines]
    assert whose[:2] == ["the paper", "the paper"]


def test_ignorance_is_read_on_the_judged_rows(request_of: Request) -> None:
    data = request_of.data_sets[0]
    fold = make_folds(data.y)[0]
    X_fit, X_test = encode(data, fold.fitting, fold.test)
    model = fit({"variant": "deep"}, X_fit, data.y[fold.fitting], 0)
    assert evaluate(data, 0, DEEP)["ignorance"] == pytest.approx(model.predict_evidence(X_test).ignorance.mean())


def test_the_criterion_table_has_the_papers_subsets(request_of: Request) -> None:
    report = criterion.run_criterion(request_of)
    data = as_json(report)
    assert [item["n"] for item in data["subsets"].values()] == [2, 1, 3]
    pooled = (2 * data["subsets"]["Two classes"]["gini"] + data["subsets"]["More classes"]["gini"]) / 3
    assert data["subsets"]["All"]["gini"] == pytest.approx(pooled)
    assert report.sections[0].rows[2][2].endswith("[83.23]")
    assert report.sections[0].rows[0][4].endswith("[-0.87]")


def test_a_line_that_fails_has_a_row_that_says_so(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (consequents.LINES[0], Line("impossible", {"shrinkage": -1.0}))
    monkeypatch.setattr(consequents, "LINES", lines)
    report = consequents.run_consequents(request_of)
    assert report.sections[0].rows[1][:2] == ["impossible", "failed"]
    assert report.sections[1].rows == []
    assert "impossible: failed on 3 of 3 data sets" in report.failures[0]


# ---------------------------------------------------------------------------------------------------------------------
# Ranks
# ---------------------------------------------------------------------------------------------------------------------

FOREST, VOTE, WIDE = get_method("Random forest"), get_method("FERL-deep, vote"), get_method("FERL-wide")


@pytest.fixture
def ranked() -> list[Row]:
    return [
        row(WIDE, [0.91, 0.81, 0.71, 0.91, 0.86]),
        row(VOTE, [0.9, 0.8, 0.7, 0.9, 0.85]),
        row(DEEP, [0.7, 0.8, 0.7, 0.9, 0.85]),
        row(CART, [0.8, 0.7, 0.6, 0.8, 0.75]),
        row(LOGISTIC, [0.85, 0.75, 0.65, 0.95, 0.80]),
        row(FOREST, [0.95, 0.9, 0.8, 0.97, 0.9]),
    ]


def test_interpretable_methods_are_ranked_apart(ranked: list[Row]) -> None:
    data = as_json(ranks.make_report(ranked, {}))
    by_vote = data["families"][f"{ranks.RULES}, by vote"]["accuracy"]
    assert by_vote["test"]["ranks"] == pytest.approx({"FERL-deep, vote": 1.2, "Logistic regression": 1.8, "CART": 3.0})
    dempster = data["families"][ranks.RULES]["accuracy"]
    assert dempster["test"]["ranks"] == pytest.approx({"FERL-deep": 1.6, "Logistic regression": 1.6, "CART": 2.8})
    interpretable = data["families"]["Interpretable methods"]["accuracy"]
    assert interpretable["test"]["ranks"] == pytest.approx(
        {"FERL-wide": 1.2, "FERL-deep": 2.6, "Logistic regression": 2.4, "CART": 3.8}
    )
    every = data["families"]["All methods"]["accuracy"]
    assert every["test"]["ranks"]["Random forest"] == 1.0
    pair = by_vote["pairs"]["CART"]
    assert pair["mean"] == pytest.approx(10.0)
    assert (pair["wins"], pair["p_value"]) == (5, pytest.approx(2 / 2**5))
    assert pair["holm"] == pytest.approx(2 * 2 / 2**5)


def test_additive_models_are_left_out_of_the_papers_kinds(ranked: list[Row]) -> None:
    boosted = row(get_method("EBM"), [0.99, 0.99, 0.99, 0.99, 0.99])
    families = as_json(ranks.make_report([*ranked, boosted], {}))["families"]
    assert not {"EBM", "FERL-wide"} & set(families[ranks.RULES]["accuracy"]["test"]["ranks"])
    assert families["Interpretable methods"]["accuracy"]["test"]["ranks"]["EBM"] == 1.0


def test_sizes_of_wide_rules_that_only_the_frontier_shows_are_not_ranked(ranked: list[Row]) -> None:
    sizes = [row(get_method(f"FERL-wide, {n} rules"), [0.6, 0.6, 0.6, 0.6, 0.6]) for n in (50, 25, 15, 10, 6)]
    families = as_json(ranks.make_report([*ranked, *sizes], {}))["families"]
    result = [name for name in families["All methods"]["accuracy"]["test"]["ranks"] if "rules" in name]
    assert result == ["FERL-wide, 50 rules", "FERL-wide, 15 rules", "FERL-wide, 10 rules"]


def test_headlines_of_ranks_are_against_the_best_rival(ranked: list[Row]) -> None:
    headlines = ranks.make_report(ranked, {}).headlines
    assert [(one.whose, one.is_behind) for one in headlines] == [
        *[("Logistic regression", False)] * 6,
        *[("Random forest", True)] * 2,
    ]


def test_the_papers_difference_stands_beside_ours(ranked: list[Row]) -> None:
    report = ranks.make_report(ranked, {})
    cart = next(item for item in report.sections[1].rows if item[0] == "CART")
    assert cart[1].startswith("+6.00 [")
    assert cart[1].endswith("[+3.47]")


def test_a_method_without_all_data_sets_is_named_and_not_ranked(ranked: list[Row]) -> None:
    failure = Result("set 1", 0, "MLP(64)", {}, "no luck")
    lame = replace(row(get_method("MLP(64)"), [0.9]), failures=[failure])
    report = ranks.make_report([*ranked, lame], {})
    assert any("MLP(64) is not ranked: measured on 1 of 5" in line for line in report.sections[0].notes)
    assert report.failures[0].startswith("MLP(64): failed on 1 of 2 data sets")
    assert "MLP(64)" not in as_json(report)["families"]["All methods"]["accuracy"]["test"]["ranks"]


def test_ranks_are_drawn(ranked: list[Row]) -> None:
    report = ranks.make_report(ranked, {})
    figure = Figure(layout="constrained")
    assert report.draw is not None
    report.draw(figure)
    assert [axes.get_title() for axes in figure.axes] == [
        f"{ranks.RULES}, Accuracy",
        f"{ranks.RULES}, AURC",
        "Interpretable methods, Accuracy",
        "Interpretable methods, AURC",
    ]


def test_ranks_of_real_runs(request_of: Request) -> None:
    report = ranks.run_ranks(request_of, [VOTE, CART, LOGISTIC])
    assert sum(
        as_json(report)["families"][f"{ranks.RULES}, by vote"]["aurc"]["test"]["ranks"].values()
    ) == pytest.approx(6)
    few = ranks.run_ranks(request_of, [VOTE, CART])
    assert few.sections[0].header == ["Too few methods or data sets"]


# ---------------------------------------------------------------------------------------------------------------------
# Study and runtime
# ---------------------------------------------------------------------------------------------------------------------


def test_the_study_sorts_gaps_and_correlates_them(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "OPPONENTS", ("Logistic regression", "CART"))
    monkeypatch.setattr(study, "WIDE_OPPONENTS", ("FERL-deep", "Logistic regression"))
    report = study.run_study(request_of)
    data = as_json(report)
    gaps = data["gaps"]["Logistic regression"]
    assert [gap["points"] for gap in gaps] == sorted((gap["points"] for gap in gaps), reverse=True)
    assert {gap["data_set"]: gap["features"] for gap in gaps} == {"wine": 2, "heart": 1, "pima": 1}
    cells = {item[0]: item[-1] for item in report.sections[0].rows}
    assert cells["heart"].endswith("[-5.6]")
    assert set(data["correlations"]) == {"Logistic regression", "CART"}
    assert set(data["wide_gaps"]) == {"FERL-deep", "Logistic regression"}
    assert [section.title.partition(":")[0] for section in report.sections[1:]] == ["FERL-deep"] * 2 + ["FERL-wide"] * 2
    assert (report.headlines[-1].whose, report.headlines[-1].theirs) == ("Logistic regression", 0.0)
    assert "[-0.37]" in markdown(report)
    assert report.draw is not None
    report.draw(Figure())
    mean, paper = report.headlines[0].ours, report.headlines[0].theirs
    assert mean == pytest.approx(np.mean([gap["points"] for gap in gaps]))
    assert paper == pytest.approx(np.mean([1.1, -5.6, 0.0]))


def test_correlations_are_those_of_ranks() -> None:
    gaps = [study.Gap(str(i), float(-i), 100 * i, i, 2) for i in range(1, 6)]
    result = study.correlations(gaps)
    assert result["features"]["rho"] == pytest.approx(-1)
    assert result["classes"]["rho"] is None


def test_the_papers_gaps_are_consistent_with_its_text() -> None:
    points = list(study.PAPER_GAPS.values())
    assert (sum(p > 0 for p in points), sum(p == 0 for p in points), sum(p < 0 for p in points)) == study.PAPER_RECORD
    assert np.mean(points) == pytest.approx(2.1, abs=0.05)


def test_the_runtime_table_races_the_papers_sets(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "METHODS", ("FERL-deep", "CART", "Nobody's"))
    report = runtime.run_runtime(replace(request_of, repetitions=2))
    data = as_json(report)
    assert list(data["seconds"]) == ["wine", "heart"]  # the paper's order; pima is not among its ten
    total = sum(item["FERL-deep"] for item in data["seconds"].values())
    assert data["ratio_of_sums"]["FERL-deep"] == pytest.approx(
        total / sum(item["CART"] for item in data["seconds"].values())
    )
    assert data["paper_ratio_of_sums"]["FERL-deep"] == pytest.approx((0.262 + 0.105) / 0.002)
    assert report.failures == ["Nobody's: not among the methods here"]
    with pytest.raises(BenchError, match="it takes some of glass, wine"):
        runtime.run_runtime(replace(request_of, data_sets=request_of.data_sets[1:2]))


def test_the_sql_table_races_queries_with_the_core(request_of: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("duckdb", reason="DuckDB is not installed")
    monkeypatch.setattr(sql, "N_FIT", 300)
    monkeypatch.setattr(sql, "N_ROWS", 500)
    few = {name: (model, wanted, 400) for name, (model, wanted, _) in sql.LINES.items()}
    monkeypatch.setattr(sql, "LINES", few)
    report = sql.run_sql(request_of)
    assert set(as_json(report)["seconds"]) == set(few)
    assert all(float(line[-1]) < 1e-9 for line in report.sections[0].rows)


def test_methods_that_are_not_here_are_left_out() -> None:
    assert [method.name for method in known_methods(["CART", "Nobody's", "FERL-deep"])] == ["CART", "FERL-deep"]


# ---------------------------------------------------------------------------------------------------------------------
# Mixed tables
# ---------------------------------------------------------------------------------------------------------------------


def test_mixed_tables_are_those_with_categories_and_generated_ones(
    request_of: Request, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"N_ROWS": 80, "N_SEEDS": 1, "MISSING": (0.0, 0.2), "LEVELS": (3, 5), "LARGE_ROWS": 300}.items():
        monkeypatch.setattr(tables, name, value)
    rng = np.random.default_rng(0)
    pets = [f"{rng.normal():.2f},{kind},{int(kind == 'cat')}" for kind in rng.choice(["cat", "dog", "hen"], 60)]
    (tmp_path / "data" / "pets.csv").write_text("\n".join(["x,kind,class", *pets]) + "\n")
    report = tables.run_tables(replace(request_of, data_sets=load_folder(tmp_path / "data")))
    data = as_json(report)
    assert list(data["mean"]) == ["pets", "generated, 0% missing", "generated, 20% missing"]
    assert data["mean"]["pets"][tables.NATIVE]["accuracy"] == 100.0
    assert data["mean"]["pets"][tables.SMALLER]["size"] == 2.0
    assert "size" not in data["mean"]["pets"]["HistGradientBoosting"]
    assert " / - / " in report.sections[0].rows[0][-1]
    assert data["ratio"] == data["seconds"]["mixed"] / data["seconds"]["numbers"]
    assert [headline.whose for headline in report.headlines] == ["one-hot + median", tables.BOOSTED, "the goal"]
