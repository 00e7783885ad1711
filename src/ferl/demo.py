"""The first five minutes: what a fit looks like, on data everybody knows."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ferl.classifier import FERLClassifier
from ferl.evidence import Evidence
from ferl.metrics import mean_set_size, set_coverage
from ferl.rules import Rule, read_rules

Floats = NDArray[np.float64]
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
    split = train_test_split(bunch.data, classes[bunch.target], test_size=0.4, stratify=bunch.target, random_state=0)
    return _Data(name.replace("_", " "), features, classes.tolist(), (split[0], split[1]), (split[2], split[3]))


def run(name: str, picture: Path | None) -> None:
    """Fit medium and deep trees, and print rules, accuracy, and the evidence of a few rows.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer"}
        Data set embedded in scikit-learn.
    picture : Path, optional
        Where to write the output as an SVG picture as well.
    """
    data = _load(name)
    console = Console(record=picture is not None, width=100 if picture is not None else None)
    models = {}
    for variant in ("medium", "deep"):
        started = time.perf_counter()
        model = FERLClassifier(variant, random_state=0).fit(data.X[0], data.y[0])
        models[variant] = (model, time.perf_counter() - started)
    console.print(_summary(data, models))
    medium = models["medium"][0]
    console.print(_rules_panel(medium, data))
    console.print(_answers_panel(medium, data))
    if picture is not None:
        # Without the fonts that rich would have a browser fetch: a picture needs no network.
        svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title=f"ferl demo --data {name}"), flags=re.DOTALL)
        _write_atomically(picture, svg)
        console.print(f"picture: {picture}")


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


def _rules_panel(model: FERLClassifier, data: _Data, most: int = 6) -> Panel:
    rules = read_rules(model.tree_)
    lines: list[RenderableType] = [_rule_line(rule, model, data) for rule in rules[:most]]
    if len(rules) > most:
        lines.append(Text(f"... and {len(rules) - most} more", style="dim"))
    note = Text("±: inside this band around a threshold both sides fire, in shares.", style="dim")
    return Panel(Group(*lines, note), title="Rules of the medium tree, most supported first", title_align="left")


def _rule_line(rule: Rule, model: FERLClassifier, data: _Data) -> Text:
    line = Text("if ")
    for place, condition in enumerate(rule.conditions):
        line.append(" and " if place else "")
        line.append(condition.text(data.features[condition.feature], 2), style="cyan")
    line.append(" then ")
    line.append(f"{model.classes_[rule.label]}", style="bold green")
    line.append(f" {rule.consequent[rule.label]:.2f}  ({rule.support:.0f} rows)")
    return line


def _answers_panel(model: FERLClassifier, data: _Data) -> Panel:
    rows, truth = data.X[1], data.y[1]
    evidence = model.predict_evidence(rows)
    sizes = evidence.prediction_set().sum(axis=1)
    clear = int(np.argmax(evidence.belief.max(axis=1)))
    answers = [_answer("A clear case", rows[clear], truth[clear], model, data)]
    if (sizes == 2).any():
        doubtful = int(np.argmax(np.where(sizes == 2, evidence.ignorance, -1.0)))
        answers.append(_answer("Two classes cannot be told apart", rows[doubtful], truth[doubtful], model, data))
    far = data.X[0].max(axis=0) * 3
    answers.append(_answer("Three times as large as anything seen in training", far, None, model, data))
    return Panel(Group(*answers), title="What the medium tree answers, and on what evidence", title_align="left")


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
    values = ", ".join(f"{name} {value:.1f}" for name, value in list(zip(data.features, row, strict=True))[:4])
    parts: list[RenderableType] = [head, Text(f"  {values}{', ...' if len(row) > 4 else ''}", style="dim")]
    parts.append(_bars(evidence, model))
    lost = model.support_deficit(row[None])[0]
    if lost.sum() > 0.005:
        named = [f"{data.features[j]} {lost[j]:.2f}" for j in np.argsort(-lost) if lost[j] > 0.005]
        parts.append(Text(f"  outside the training range, support lost: {', '.join(named)}", style="red"))
    return Group(*parts, Text(""))


def _bars(evidence: Evidence, model: FERLClassifier) -> Table:
    grid = Table.grid(padding=(0, 1))
    for c, label in enumerate(model.classes_):
        belief, plausibility = evidence.belief[0, c], evidence.plausibility[0, c]
        full, possible = round(belief * _BAR), round(plausibility * _BAR)
        bar = Text("█" * full, style="green")
        bar.append("░" * (possible - full), style="yellow")
        bar.append("·" * (_BAR - possible), style="dim")
        grid.add_row(f"  {label}", bar, f"belief {belief:.2f}  plausibility {plausibility:.2f}")
    grid.add_row("  ignorance", "", f"{evidence.ignorance[0]:.2f}")
    return grid


def _write_atomically(path: Path, text: str) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
