"""The first five minutes: what a fit looks like, on data everybody knows."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ferl._read.evidence import Evidence
from ferl._read.rules import Rule, read_rules
from ferl._read.text import probability_text, word_meanings
from ferl._util.arrays import Floats
from ferl._util.files import replace_text
from ferl.classifier import FERLClassifier
from ferl.detector import NoveltyDetector
from ferl.metrics import mean_set_size, set_coverage
from ferl.report import write_report

_BAR = 30


@dataclass(frozen=True)
class _Data:
    title: str
    features: list[str]
    classes: list[str]
    X: tuple[Floats, Floats]  # to fit, to test
    y: tuple[NDArray[Any], NDArray[Any]]


def _load(name: str) -> _Data:
    bunch = getattr(datasets, f"load_{name}")()
    features = [str(feature).replace(" (cm)", "").replace("_", " ") for feature in bunch.feature_names]
    classes = np.asarray([str(label) for label in bunch.target_names])
    # This split of iris leaves a flower to test that lies between two kinds and inside the training ranges.
    split = train_test_split(bunch.data, classes[bunch.target], test_size=0.4, stratify=bunch.target, random_state=3)
    return _Data(name.replace("_", " "), features, classes.tolist(), (split[0], split[1]), (split[2], split[3]))


def run(name: str, picture: Path | None, report: Path) -> None:
    """Fit a tree of each variant, and print rules, accuracy, and the evidence of a few rows.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer"}
        Data set embedded in scikit-learn.
    picture : Path or None
        Where to write the output as an SVG picture as well.
    report : Path
        Where to write the medium tree as a page for a browser.
    """
    data = _load(name)
    console = Console(record=picture is not None, width=100 if picture is not None else None)
    models = {}
    FERLClassifier(random_state=0).fit(data.X[0], data.y[0])  # the first fit of a process also loads code
    for variant in ("compact", "medium", "deep"):
        started = time.perf_counter()
        model = FERLClassifier(variant, random_state=0).fit(data.X[0], data.y[0])
        models[variant] = (model, time.perf_counter() - started)
    console.print(_summary(data, models))
    compact, medium = models["compact"][0], models["medium"][0]
    console.print(_rules_panel("compact", compact, data, word_meanings(compact.model_, data.features)))
    console.print(_rules_panel("medium", medium, data, [_BAND_NOTE]))
    console.print(_answers_panel(medium, data))
    console.print(_novelty_panel(medium, data))
    if picture is not None:
        # Without the fonts that rich would have a browser fetch: a picture needs no network.
        svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title=f"ferl demo --data {name}"), flags=re.DOTALL)
        replace_text(picture, svg)
        console.print(f"picture: {picture}")
    console.print(
        f"The medium tree as a page to look at, with a form to try rows of your own: {demo_report(name, report)}"
    )


def demo_report(name: str, path: str | Path) -> Path:
    """Write the report of a medium tree on an embedded data set, and on the rows that were held out.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer"}
        The data set.
    path : str or Path
        The file.

    Returns
    -------
    Path
        The same.
    """
    data = _load(name)
    tables = [pa.table(dict(zip(data.features, X.T, strict=True))) for X in data.X]
    model = FERLClassifier("medium", random_state=0).fit(tables[0], data.y[0])
    return write_report(model, tables[1], data.y[1], path, title=data.title.capitalize(), table="the held-out rows")


def _summary(data: _Data, models: dict[str, tuple[FERLClassifier, float]]) -> RenderableType:
    table = Table(
        title=f"{data.title}: {len(data.y[0])} rows to learn from, {len(data.y[1])} to test", title_style="bold"
    )
    for heading in ("tree", "rules", "accuracy", "sets hold the truth", "classes per set", "fit"):
        table.add_column(heading, justify="left" if heading == "tree" else "right")
    for variant, (model, seconds) in models.items():
        sets = model.predict_set(data.X[1])
        table.add_row(
            variant,
            str(model.n_rules_),
            f"{model.score(data.X[1], data.y[1]):.1%}",
            f"{set_coverage(data.y[1], sets, model.classes_):.1%}",
            f"{mean_set_size(sets):.2f}",
            f"{seconds * 1000:.1f} ms",
        )
    return table


_BAND_NOTE = (
    "±: inside this band around a threshold both sides of the split fire, in shares. (%): share of bootstrap resamples "
    "whose best cut lies inside it."
)


def _rules_panel(variant: str, model: FERLClassifier, data: _Data, legend: list[str], most: int = 6) -> Panel:
    rules = read_rules(model.model_)
    grid = Table.grid(padding=(0, 1))
    for number, rule in enumerate(rules[:most], 1):
        grid.add_row(f"{number}.", _rule_line(rule, model, data))
    notes = [f"... and {len(rules) - most} more"] if len(rules) > most else []
    text = Text("\n".join(notes + legend), style="dim")
    return Panel(Group(grid, text), title=f"Rules of the {variant} tree, most supported first", title_align="left")


def _rule_line(rule: Rule, model: FERLClassifier, data: _Data) -> Text:
    line = Text("if ")
    for index, condition in enumerate(rule.conditions):
        line.append(" and " if index else "")
        # A threshold stays together with its band where the line wraps.
        line.append(
            condition.text(data.features[condition.feature], with_share=True)
            .replace(" ±", "\u00a0±")
            .replace(" (", "\u00a0("),
            style="cyan",
        )
    line.append(" then ")
    line.append(f"{model.classes_[rule.label]}", style="bold green")
    line.append(f" {probability_text(rule.consequent[rule.label])} ({rule.support:.0f}\u00a0rows)")
    return line


def _answers_panel(model: FERLClassifier, data: _Data) -> Panel:
    rows, truth = data.X[1], data.y[1]
    evidence = model.predict_evidence(rows)
    clear = int(np.argmax(evidence.belief.max(axis=1)))
    answers = [_answer("A clear case", rows[clear], truth[clear], model, data)]
    # In doubt between classes, not for lack of support.
    in_doubt = (evidence.prediction_set().sum(axis=1) == 2) & (model.support_deficit(rows).sum(axis=1) == 0)
    if in_doubt.any():
        doubtful = int(np.argmax(np.where(in_doubt, evidence.ignorance, -1.0)))
        answers.append(_answer("Two classes cannot be told apart", rows[doubtful], truth[doubtful], model, data))
    far = data.X[0].max(axis=0) * 3
    answers.append(_answer("Three times as large as anything seen in training", far, None, model, data))
    spaced = [part for answer in answers for part in (answer, Text(""))][:-1]
    return Panel(Group(*spaced), title="What the medium tree answers, and on what evidence", title_align="left")


def _answer(title: str, row: Floats, truth: Any, model: FERLClassifier, data: _Data) -> RenderableType:
    evidence = model.predict_evidence(row[None])
    members = [str(label) for label, inside in zip(model.classes_, evidence.prediction_set()[0], strict=True) if inside]
    head = Text(f"{title}: ", style="bold")
    if len(members) == len(model.classes_):
        head.append("abstains, every class remains possible", style="bold red")
    else:
        head.append("{" + ", ".join(members) + "}", style="bold green" if len(members) == 1 else "bold yellow")
    if truth is not None:
        head.append(f"   (truth: {truth})", style="dim")
    parts: list[RenderableType] = [head, Text(f"  {_asked_values(row, model, data)}", style="dim")]
    parts.append(_bars(evidence, model))
    lost = model.support_deficit(row[None])[0]
    if lost.sum() > 0.005:
        named = [f"{data.features[j]} {lost[j]:.2f}" for j in np.argsort(-lost) if lost[j] > 0.005]
        parts.append(Text(f"  unlike the training rows at this split, support lost: {', '.join(named)}", style="red"))
    return Group(*parts)


def _novelty_panel(model: FERLClassifier, data: _Data) -> Panel:
    """An ordinary row, and the same with one value that is ordinary elsewhere."""
    detector = NoveltyDetector(model, random_state=0).fit(data.X[0], data.y[0])
    ordinary = data.X[1][np.argsort(model.novelty(data.X[1]), kind="stable")[len(data.X[1]) // 2]]
    ends = [data.X[0].min(axis=0), data.X[0].max(axis=0)]
    swapped = [np.where(np.arange(len(ordinary)) == j, end, ordinary) for end in ends for j in range(len(ordinary))]
    odd = swapped[int(np.argmax(model.novelty(np.array(swapped))))]
    lines = [
        _novelty_line("A test row", ordinary, detector, data),
        _novelty_line("The same with one value of another kind of row", odd, detector, data),
    ]
    return Panel(Group(*lines), title="How unlike the training rows a row is, and why", title_align="left")


def _novelty_line(title: str, row: Floats, detector: NoveltyDetector, data: _Data) -> Text:
    novelty, parts = detector.novelty(row[None])[0], detector.novelty_attribution(row[None])[0]
    p_value = detector.p_values(row[None])[0]
    style = "red" if p_value <= detector.alpha else "green"
    line = Text(f"{title}: ", style="bold").append(f"novelty {novelty:.2f}, p = {p_value:.3f}", style=f"bold {style}")
    most = [j for j in np.argsort(-parts, kind="stable")[:2] if parts[j] > 0.2 * novelty]
    named = ", ".join(f"{data.features[j]} {row[j]:.4g} ({parts[j] / novelty:.0%})" for j in most)
    return line.append(f"  because of {named}" if named else "", style="")


def _asked_values(row: Floats, model: FERLClassifier, data: _Data, most: int = 4) -> str:
    """Values of the features that the tree asks first."""
    asked = list(dict.fromkeys(model.tree_.feature[np.argsort(model.tree_.depth, kind="stable")][1:].tolist()))
    return ", ".join(f"{data.features[j]} {row[j]:.4g}" for j in asked[:most])


def _bars(evidence: Evidence, model: FERLClassifier) -> Table:
    grid = Table.grid(padding=(0, 1))
    for c, label in enumerate(model.classes_):
        belief, plausibility = evidence.belief[0, c], evidence.plausibility[0, c]
        full, possible = round(belief * _BAR), round(plausibility * _BAR)
        bar = Text("█" * full, style="green")
        bar.append("░" * (possible - full), style="yellow")
        bar.append("·" * (_BAR - possible), style="dim")
        grid.add_row(f"  {label}", bar, f"belief {belief:.2f}  plausibility {plausibility:.2f}")
    ignorance = evidence.ignorance[0]
    unknown = round(ignorance * _BAR)
    bar = Text("░" * unknown, style="yellow").append("·" * (_BAR - unknown), style="dim")
    grid.add_row("  ignorance", bar, f"{ignorance:.2f}")
    return grid
