"""The charts and the main figures of docs/results/index.md, from the tables that the benchmark wrote.

``python docs/pictures/make_results.py`` reads docs/results/*.md, writes docs/pictures/results and replaces the table
between the two marks in docs/results/index.md. ``tests/test_pages.py`` checks that this table is up to date.
"""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

RESULTS = Path(__file__).parents[1] / "results"
FOLDER = Path(__file__).parent / "results"
BLUE, ORANGE, GREY, RED = "#0072B2", "#E69F00", "#777777", "#D55E00"
WIDTH = 6.4
MARKS = "<!-- figures -->", "<!-- end of figures -->"
METHODS = {
    "FERL-wide": "ferl",
    "FERL-wide, 15 rules": "ferl, 15 rules",
    "FERL-compact": "ferl, in words",
    "FERL-deep": "ferl, deep tree",
    "EBM": "EBM",
    "Random forest": "random forest",
    "XGBoost": "XGBoost",
    "MLP(64)": "neural network",
    "RuleFit": "RuleFit",
    "Scorecard": "scorecard",
    "Logistic regression": "logistic regression",
    "CART": "decision tree",
}
mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

Table = dict[str, dict[str, str]]


def read_table(page: str, heading: str) -> Table:
    """The first table below a heading of a page of results, by the first cell of each line."""
    text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
    below = re.split(rf"^## {re.escape(heading)}$", text, flags=re.M)[1]
    lines = re.search(r"(?:^\|.*\n)+", below, re.M)
    assert lines, f"{page}.md has no table below {heading!r}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


def number(cell: str) -> float:
    """The first number of a cell: 87.30 of '87.30±10.4 [83.23]'; NaN of an empty cell."""
    result = re.match(r"-?[\d.]+", cell)
    return float(result[0]) if result else np.nan


def column(table: Table, name: str) -> dict[str, float]:
    """A column of numbers for the methods that are shown, by their plain names."""
    return {plain: number(table[method][name]) for method, plain in METHODS.items() if method in table}


def dots(ax: Axes, values: dict[str, float], low: float, high: float) -> None:
    """A dot for each method, in the given order from the bottom up; ferl is blue."""
    for at, (name, value) in enumerate(values.items()):
        colour = BLUE if name.startswith("ferl") else GREY
        ax.plot([low, value], [at, at], color="#dddddd", lw=1, zorder=0)
        ax.plot(value, at, "o", color=colour, ms=8)
        ax.annotate(f"{value:.1f}", (value, at), (9, 0), textcoords="offset points", va="center", color=colour)
    ax.set_yticks(range(len(values)), list(values))
    ax.set(xlim=(low, high), ylim=(-0.6, len(values) - 0.4))


def chart(values: dict[str, float], label: str, low: float, high: float) -> Figure:
    """Dots, the largest value at the top."""
    figure = Figure(figsize=(WIDTH, 0.34 * len(values) + 0.9), layout="constrained")
    ax = figure.subplots()
    dots(ax, dict(sorted(values.items(), key=lambda item: item[1])), low, high)
    ax.set_xlabel(label)
    return figure


def main_table() -> str:
    """The main figures as a Markdown table."""
    frontier, sets = read_table("frontier", "Answers"), read_table("credal", "Native sets")
    lines = ["| Method | Accuracy % | AURC x100 | ECE x100 | Rules or leaves | Set coverage | Classes per set |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    order = sorted((m for m in METHODS if m in frontier), key=lambda m: -number(frontier[m]["Acc %"]))
    for method in order:
        row, set_figures = frontier[method], sets.get(method, {})
        cells = [
            f"{number(row[name]):.{digits}f}" for name, digits in (("Acc %", 2), ("AURC x100", 2), ("ECE x100", 1))
        ]
        size = number(row["Rules"])
        cells.append("" if np.isnan(size) else f"{size:,.0f}")
        cells += [f"{number(set_figures[name]):.2f}" if set_figures else "" for name in ("Coverage", "Set size")]
        name = f"**{METHODS[method]}**" if method == "FERL-wide" else METHODS[method]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw_size() -> Figure:
    """Accuracy against the number of rules or leaves."""
    table = read_table("frontier", "Answers")
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    ax = figure.subplots()
    path = [
        "FERL-wide, 6 rules",
        "FERL-wide, 10 rules",
        "FERL-wide, 15 rules",
        "FERL-wide, 25 rules",
        "FERL-wide, 50 rules",
    ]
    points = [(number(table[m]["Rules"]), number(table[m]["Acc %"])) for m in [*path, "FERL-wide"]]
    ax.plot(*zip(*points, strict=True), "o-", color=BLUE, lw=2)
    ax.annotate("ferl, 6 to 150 rules", points[-1], (10, 2), textcoords="offset points", color=BLUE, ha="left")
    rivals = {
        "CART": ("decision tree", (7, -4), "left"),
        "FIGS": ("FIGS", (0, -16), "center"),
        "FURIA": ("FURIA", (8, -4), "left"),
        "RuleFit": ("RuleFit", (8, -4), "left"),
        "FERL-deep": ("ferl, deep tree", (8, 3), "left"),
        "C4.5": ("C4.5", (8, -5), "left"),
        "NeuRules": ("NeuRules", (0, -16), "center"),
        "Scorecard": ("scorecard", (8, -4), "left"),
        "XGBoost": ("XGBoost", (0, -16), "center"),
        "Random forest": ("random forest", (6, -17), "right"),
        "FERL-compact": ("ferl, in words", (18, -8), "left"),
    }
    for method, (name, shift, side) in rivals.items():
        at = number(table[method]["Rules"]), number(table[method]["Acc %"])
        ours = method.startswith("FERL")
        ax.plot(*at, "o", color=BLUE if ours else GREY, ms=6)
        ax.annotate(name, at, shift, textcoords="offset points", ha=side, color=BLUE if ours else "#444444")
    ebm = number(table["EBM"]["Acc %"])
    ax.axhline(ebm, color=ORANGE, ls="--", lw=1.2)
    ax.text(60, ebm - 0.1, "EBM (curves, no rules)", color="#8a5a00", va="top", ha="left")
    ax.set(xscale="log", xlabel="rules or leaves", ylabel="accuracy, %", xlim=(4.5, 26_000), ylim=(79, 88.4))
    ax.set_xticks([5, 10, 30, 100, 1000, 10000], ["5", "10", "30", "100", "1,000", "10,000"])
    return figure


def draw_risk() -> Figure:
    """Error among the answered rows, by the share of rows that is answered."""
    table = read_table("selective", "Error % by the share of rows answered")
    figure = Figure(figsize=(WIDTH, 3.7), layout="constrained")
    ax = figure.subplots()
    shares = np.arange(10, 101, 10)
    shown = {"CART": GREY, "Logistic regression": ORANGE, "XGBoost": RED, "Random forest": "#009E73", "FERL-wide": BLUE}
    for method, colour in shown.items():
        errors = [number(table[method][f"{share}%"]) for share in shares]
        ax.plot(shares, errors, color=colour, lw=2.4 if method == "FERL-wide" else 1.5, label=METHODS[method])
    ax.set(xlabel="rows answered, the surest first, %", ylabel="error among them, %", xlim=(10, 100), ylim=(0, 27))
    ax.legend(loc="upper left", ncols=2)
    return figure


def draw_second() -> Figure:
    """The suite on which nothing was tuned: AUC and log-loss."""
    table = read_table("frontier_second", "Answers")
    ebm = next(method for method in table if method.startswith("EBM"))  # "EBM (19 of 21 sets)" after a time limit
    names = {"FERL-wide": "ferl", ebm: ebm.replace(" of 21", ""), "LightGBM": "LightGBM"}
    names |= {"Random forest": "random forest", "Logistic regression": "logistic regression", "CART": "decision tree"}
    figure = Figure(figsize=(WIDTH, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    order = sorted(names, key=lambda method: number(table[method]["AUC %"]))
    for ax, name, low, high in ((left, "AUC %", 77, 95), (right, "Acc %", 79, 84.5)):
        dots(ax, {names[method]: number(table[method][name]) for method in order}, low, high)
    left.set_title("AUC, %", loc="left", fontweight="bold", fontsize=11)
    right.set_title("Accuracy, %", loc="left", fontweight="bold", fontsize=11)
    return figure


def draw_novelty() -> Figure:
    """AUROC of classes that training did not have."""
    table = read_table("ood", "Leave one class out")
    names = {"FERL-wide": "ferl", "FERL-deep": "ferl, deep tree", "1-NN": "nearest neighbour", "10-NN": "10 neighbours"}
    names |= {
        "Mahalanobis": "Mahalanobis",
        "Isolation forest": "isolation forest",
        "Softmax entropy": "softmax entropy",
    }
    values = {plain: number(table[method]["AUROC"]) for method, plain in names.items()}
    return chart(values, "AUROC of rows of an unseen class, %", 60, 90)


def main() -> None:
    """Write the charts and the table."""
    FOLDER.mkdir(exist_ok=True)
    accuracy = column(read_table("frontier", "Answers"), "Acc %")
    charts = {
        "accuracy": chart(accuracy, "accuracy, %, mean of 30 data sets", 78, 88.4),
        "size": draw_size(),
        "risk": draw_risk(),
        "second": draw_second(),
        "novelty": draw_novelty(),
    }
    for name, figure in charts.items():
        figure.savefig(FOLDER / f"{name}.png", dpi=150)
    page = RESULTS / "index.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    page.write_text(f"{before}{MARKS[0]}\n{main_table()}\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
