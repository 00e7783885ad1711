"""The charts of docs/results/index.md and the figures that pages quote, from the tables that the benchmark wrote.

``python docs/pictures/make_results.py`` reads docs/results/*.md and writes docs/pictures/results. In README.md,
docs/results/index.md, docs/guide/cases.md and paper/paper.md it replaces the table between the two marks, and figures
of the sentences in `QUOTES`. ``tests/test_pages.py`` checks that all of them are up to date, and that sentences of
README's results have no other figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
FOLDER = Path(__file__).parent / "results"
BLUE, ORANGE, GREY, RED = "#0072B2", "#E69F00", "#777777", "#D55E00"
WIDTH = 6.4
MARKS = "<!-- figures -->", "<!-- end of figures -->"
METHODS = {
    "FERL-wide": "ferl",
    "FERL-wide with cases": "ferl with cases",
    "FERL-wide, 15 rules": "ferl, 15 rules",
    "FERL-compact": "ferl, in words",
    "FERL-deep": "ferl, deep tree",
    "EBM": "EBM, 4 bags",
    "EBM (defaults)": "EBM",
    "Random forest": "random forest",
    "XGBoost": "XGBoost",
    "MLP(64)": "neural network",
    "RuleFit": "RuleFit",
    "Scorecard": "scorecard",
    "Logistic regression": "logistic regression",
    "CART": "decision tree",
}
mpl.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})

README_ROWS = {
    "CART": "CART (scikit-learn)",
    "Logistic regression": "Logistic regression",
    "FERL-compact": "`FERLClassifier(words=True)`",
    "FERL-deep": '`FERLTreeClassifier("deep")`, the paper\'s tree',
    "FERL-wide, 15 rules": "`FERLClassifier(max_rules=15)`",
    "XGBoost": "XGBoost, 100 trees",
    "Random forest": "Random forest, sets by MAPIE",
    "EBM": "EBM (interpret-core), 4 bags",
    "EBM (defaults)": "EBM (interpret-core)",
    "FERL-wide": "**`FERLClassifier()`**",
    "FERL-wide with cases": "**`FERLClassifier(cases=True)`**",
}
PAPER_ROWS = {
    "CART": "CART",
    "Logistic regression": "Logistic regression",
    "FERL-deep": "FERL-deep, the paper's tree",
    "RuleFit": "RuleFit",
    "FERL-wide, 15 rules": "ferl, at most 15 rules",
    "Random forest": "Random forest",
    "EBM": "EBM (4 bags)",
    "EBM (defaults)": "EBM",
    "FERL-wide": "ferl",
    "FERL-wide with cases": "ferl with cases",
}

Table = dict[str, dict[str, str]]


def read_lines(page: str, heading: str) -> list[dict[str, str]]:
    """The lines of the first table below a heading of a page of results."""
    text = (RESULTS / f"{page}.md").read_text(encoding="utf-8")
    below = re.split(rf"^## {re.escape(heading)}$", text, flags=re.M)
    assert len(below) == 2, f"{page}.md has no heading {heading!r}"
    lines = re.search(r"(?:^\|.*\n)+", below[1], re.M)
    assert lines, f"{page}.md has no table below {heading!r}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()]
    return [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]


def read_table(page: str, heading: str) -> Table:
    """The first table below a heading of a page of results, by the first cell of each line."""
    return {next(iter(line.values())): line for line in read_lines(page, heading)}


def with_one_ebm(rows: Mapping[str, str], table: Table) -> dict[str, str]:
    """The rows that a table has; EBM with its defaults in place of the one with 4 bags, if it has all data sets."""
    there = {method: name for method, name in rows.items() if method in table}
    if "EBM (defaults)" in there:
        there.pop("EBM", None)
    return there


def number(cell: str) -> float:
    """The first number of a cell: 87.30 of '87.30±10.4 [83.23]'; NaN of an empty cell."""
    result = re.match(r"-?[\d.]+", cell)
    return float(result[0]) if result else np.nan


def column(table: Table, name: str) -> dict[str, float]:
    """A column of numbers for the methods that are shown, by their plain names."""
    return {plain: number(table[method][name]) for method, plain in with_one_ebm(METHODS, table).items()}


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


def beside_rules(row: Mapping[str, str]) -> str:
    """The learned curves and maps of a method: ' + 7'; nothing where it has none."""
    beside = np.nansum([number(row[name]) for name in ("Curves", "Maps")])
    return f" + {beside:.0f}" if beside else ""


def size_text(row: Mapping[str, str]) -> str:
    """Rules or leaves, and learned curves and maps."""
    size = number(row["Rules"])
    return "" if np.isnan(size) else f"{size:,.0f}{beside_rules(row)}"


def main_table() -> str:
    """The main figures as a Markdown table."""
    frontier, sets = read_table("frontier", "Answers"), read_table("credal", "Native sets")
    size = "Rules or leaves (+ learned curves and maps)"
    lines = [f"| Method | Accuracy % | AURC x100 | ECE x100 | {size} | Set coverage | Classes per set |"]
    lines.append("|---|---:|---:|---:|---:|---:|---:|")
    order = sorted(with_one_ebm(METHODS, frontier), key=lambda m: -number(frontier[m]["Acc %"]))
    for method in order:
        row, set_figures = frontier[method], sets.get(method, {})
        cells = [
            f"{number(row[name]):.{digits}f}" for name, digits in (("Acc %", 2), ("AURC x100", 2), ("ECE x100", 1))
        ]
        cells.append(size_text(row))
        cells += [f"{number(set_figures[name]):.2f}" if set_figures else "" for name in ("Coverage", "Set size")]
        name = f"**{METHODS[method]}**" if method.partition(" with")[0] == "FERL-wide" else METHODS[method]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def beside_paper(cell: str, digits: int) -> str:
    """A figure, with the paper's in brackets where there is one: '83.14 [83.23]' of '83.14±10 [83.23; 83.2]'."""
    if not cell:
        return ""
    paper = re.search(r"\[([\d.]+)", cell)
    figures = [number(cell), *([float(paper[1])] if paper else [])]
    return " ".join(f"[{one:.{digits}f}]" if at else f"{one:.{digits}f}" for at, one in enumerate(figures))


def readme_table() -> str:
    """README's table: the figures of frontier.md, and of credal.md for sets, with the paper's in brackets."""
    frontier = read_table("frontier", "Answers")
    sets = {**read_table("credal", "Native sets")}
    sets["Random forest"] = read_table("credal", "Conformal sets")["Random forest, 1 - p"]
    rows = with_one_ebm(README_ROWS, frontier)
    lines = [
        "| | Accuracy % | AURC x100 | ECE x100 | Rules (+ curves, maps) | Set coverage | u65 | u80 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for method in sorted(rows, key=lambda m: number(frontier[m]["Acc %"])):
        answers = (("Acc %", 2), ("AURC x100", 2), ("ECE x100", 1), ("Rules", 0))
        cells = [beside_paper(frontier[method][name], digits) for name, digits in answers]
        cells[-1] += beside_rules(frontier[method])
        cells += [
            beside_paper(sets.get(method, {}).get(name, ""), d) for name, d in (("Coverage", 2), ("u65", 3), ("u80", 3))
        ]
        if rows[method].startswith("**"):
            cells[:3] = [f"**{cell}**" for cell in cells[:3]]
        lines.append(f"| {' | '.join([rows[method], *cells])} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(lines)


def paper_table() -> str:
    """The table of paper/paper.md: figures of frontier.md, with fewer digits."""
    frontier = read_table("frontier", "Answers")
    rows = with_one_ebm(PAPER_ROWS, frontier)
    lines = [
        "| Method | Accuracy, % | AURC x 100 | ECE x 100 | Rules or leaves (+ curves, maps) |",
        "|:---|---:|---:|---:|---:|",
    ]
    for method in sorted(rows, key=lambda m: number(frontier[m]["Acc %"])):
        figures = [f"{number(frontier[method][name]):.1f}" for name in ("Acc %", "AURC x100", "ECE x100")]
        lines.append(f"| {' | '.join([rows[method], *figures, size_text(frontier[method])])} |".replace("|  |", "| |"))
    # Inside of the marks: pandoc takes a line after the table as its caption.
    measures = "AURC: area under the risk-coverage curve; ECE: expected calibration error; lower is better for both."
    return "\n".join([*lines, "", f"Table: Means over thirty data sets. {measures}"])


# ---------------------------------------------------------------------------------------------------------------------
# Figures in sentences
# ---------------------------------------------------------------------------------------------------------------------


def against_ebm() -> Sequence[str]:
    """Sets won and lost against EBM in accuracy, and p."""
    table = read_table("ranks", "Interpretable methods: FERL-wide in pairs, Accuracy x100")
    row = table.get("EBM (defaults)") or table["EBM"]
    won, _, lost = row["Won"].split(" / ")
    return won, lost, row["p"]


def against_default_ebm() -> Sequence[str]:
    """EBM with its defaults on the sets that it has: how many, its accuracy and ours, sets won and lost, p."""
    lines = read_lines("frontier", "Methods with fewer data sets, on those that they have: FERL-wide")
    row = next(line for line in lines if (line["Against"], line["Measure"]) == ("EBM (defaults)", "Acc %"))
    won, _, lost = row["Won"].split(" / ")
    return row["Sets"], f"{number(row['Theirs']):.1f}", f"{number(row['Ours']):.1f}", won, lost, row["p"]


def speed_ratio(rival: str, digits: int) -> str:
    """How many times as long as a rival's a fit takes."""
    text = (RESULTS / "speed.md").read_text(encoding="utf-8")
    found = re.search(rf"^- FERL-wide / {rival}, ratio of the sums: ([\d.]+)", text, re.M)
    assert found, f"speed.md has no ratio to {rival}"
    return f"{float(found[1]):.{digits}f}"


def second_suite(name: str, method: str = "FERL-wide") -> str:
    """Accuracy on a table of the second suite; for 'mean' that of all, for 'without fars' of all but this one."""
    if name == "mean":
        return f"{number(read_table('frontier_second', 'Answers')[method]['Acc %']):.1f}"
    tables = read_table("frontier_second", "Acc % by data set")
    chosen = [row for table, row in tables.items() if name == table or (name == "without fars" and table != "fars")]
    return f"{fmean(number(row[method]) for row in chosen):.1f}"


def pmlb(*methods: str) -> Sequence[str]:
    """Accuracy, AUC and log-loss on the tables of PMLB."""
    table, digits = read_table("frontier_pmlb", "Answers"), {"Acc %": 1, "AUC %": 1, "Log-loss": 3}
    return [f"{number(table[method][name]):.{places}f}" for method in methods for name, places in digits.items()]


def learning_curve(table: str, method: str) -> str:
    """Accuracy on a table of the learning curve, with all rows."""
    rows = [row for row in read_lines("learning_curve", table) if row["Method"] == method]
    return f"{number(rows[-1]['Acc %']):.1f}"


def sets_of(method: str) -> Sequence[str]:
    """u65, u80 and coverage of the sets of a method."""
    row = read_table("credal", "Native sets")[method]
    return [f"{number(row['u65']):.3f}", f"{number(row['u80']):.3f}", f"{number(row['Coverage']):.2f}"]


def unseen(method: str) -> str:
    """AUROC of rows of an unseen class."""
    return f"{number(read_table('ood', 'Leave one class out')[method]['AUROC']):.1f}"


def with_cases() -> Sequence[str]:
    """Accuracy, AURC and rules without cases and with them; nothing while the table has no row with cases."""
    table = read_table("frontier", "Answers")
    names = ("FERL-wide", "FERL-wide with cases") if "FERL-wide with cases" in table else ()
    digits = {"Acc %": 2, "AURC x100": 2, "Rules": 0}
    return [f"{number(table[method][name]):.{places}f}" for name, places in digits.items() for method in names]


FIGURE = r"(\d[\d.e-]*\d|\d)"
"""A number in a sentence of `QUOTES`."""
QUOTES: dict[str, dict[str, Callable[[], Sequence[str]]]] = {
    "README.md": {
        "EBM with all of its defaults was measured on # tables": lambda: against_default_ebm()[:1],
        "has # % there, ferl # % (# won, # lost, p = #)": lambda: against_default_ebm()[1:],
        "(# tables won, # lost, Wilcoxon p = #;": against_ebm,
        "its fits take # of EBM's time and # times": lambda: (speed_ratio("EBM", 2), speed_ratio("XGBoost", 1)),
        "has an accuracy of # %, an AUC of # % and a log-loss of #; CatBoost has # %, # % and #": lambda: pmlb(
            "FERL-wide with cases", "CatBoost"
        ),
        "Without cases ferl has # %, # % and #": lambda: pmlb("FERL-wide"),
        "the same mean accuracy (# %)": lambda: (second_suite("mean"),),
        "without it LightGBM has # % and ferl # %": lambda: (
            second_suite("without fars", "LightGBM"),
            second_suite("without fars"),
        ),
        "letter # % (LightGBM #) and kr-vs-k # % (LightGBM #)": lambda: [
            learning_curve(table, method) for table in ("letter", "krkopt") for method in ("FERL", "LightGBM-100")
        ],
    },
    "docs/results/index.md": {
        "ferl is better on # sets and EBM on # (Wilcoxon p = #;": against_ebm,
        "on # sets, EBM is ahead on # and ferl on # (p = #)": lambda: [
            against_default_ebm()[place] for place in (0, 4, 3, 5)
        ],
    },
    "paper/paper.md": {
        "the benchmark: # configurations of methods": lambda: (str(len(read_table("frontier", "Answers"))),),
        "is ahead on # data sets and behind on # (Wilcoxon's signed-rank test, p = #;": against_ebm,
        "measured on # sets, EBM reaches # % and `ferl` # %": lambda: against_default_ebm()[:3],
        "level with random forests in accuracy (# %)": lambda: (second_suite("mean"),),
        "accuracy [@zaffalon2012] of # (u65) and # (u80) at a coverage of #": lambda: sets_of("FERL-wide"),
        "and # and # in this implementation": lambda: sets_of("FERL-deep")[:2],
        "with an AUROC of # %, where the distance to the nearest neighbour has # %": lambda: [
            unseen(method) for method in ("FERL-wide", "1-NN")
        ],
    },
    "docs/guide/cases.md": {
        "accuracy rises from # % to # %, AURC falls from # to #, and the number of rules from # to #": with_cases,
    },
}
"""Sentences with figures, # for each of them, and where these come from."""
TABLES = {"README.md": readme_table, "docs/results/index.md": main_table, "paper/paper.md": paper_table}


def quoted(name: str, text: str) -> str:
    """A page with the figures of the tables in its sentences; a sentence that it does not have is passed over."""
    for sentence, figures in QUOTES[name].items():
        found = re.search(pattern_of(sentence), text)
        values = figures() if found else ()
        for place, value in reversed(list(enumerate(values, start=1))):
            assert found
            start, end = found.span(place)
            text = text[:start] + value + text[end:]
    return text


def pattern_of(sentence: str) -> str:
    """The regular expression of a sentence of `QUOTES`, whose line may break anywhere."""
    return r"\s+".join(re.escape(word).replace(r"\#", FIGURE) for word in sentence.split())


def unquoted(name: str, text: str) -> list[str]:
    """Decimal numbers of a text that no sentence of `QUOTES` and no table has."""
    for sentence in QUOTES[name]:
        text = re.sub(pattern_of(sentence), "", text)
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    return re.findall(r"\d+\.\d+", prose)


def with_table(name: str, text: str) -> str:
    """A page with its table, between the two marks."""
    if name not in TABLES:
        return text
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    assert begin, f"{name} has no {MARKS[0]}"
    assert end, f"{name} has no {MARKS[1]}"
    return f"{before}{begin}\n{TABLES[name]()}\n{end}{after}"


def to_read(row: Mapping[str, str]) -> float:
    """What there is to read: rules or leaves, learned curves and maps."""
    return float(np.nansum([number(row[name]) for name in ("Rules", "Curves", "Maps")]))


def draw_size() -> Figure:
    """Accuracy against the number of rules or leaves, learned curves and maps."""
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
    points = [(to_read(table[m]), number(table[m]["Acc %"])) for m in [*path, "FERL-wide"]]
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
        at = to_read(table[method]), number(table[method]["Acc %"])
        ours = method.startswith("FERL")
        ax.plot(*at, "o", color=BLUE if ours else GREY, ms=6)
        ax.annotate(name, at, shift, textcoords="offset points", ha=side, color=BLUE if ours else "#444444")
    ebm = number((table.get("EBM (defaults)") or table["EBM"])["Acc %"])
    ax.axhline(ebm, color=ORANGE, ls="--", lw=1.2)
    ax.text(60, ebm - 0.1, "EBM (curves, no rules)", color="#8a5a00", va="top", ha="left")
    ax.set(
        xscale="log",
        xlabel="rules or leaves, learned curves and maps",
        ylabel="accuracy, %",
        xlim=(4.5, 26_000),
        ylim=(79, 88.4),
    )
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
    for name in QUOTES:
        page = ROOT / name
        page.write_text(quoted(name, with_table(name, page.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
