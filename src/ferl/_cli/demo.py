"""The first five minutes: what a fit looks like, on data everybody knows."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ferl._cli.evaluate import judge_rows
from ferl._cli.shell import check_places
from ferl._estimator import FERLEstimator
from ferl._models.evidence import Evidence
from ferl._models.shapes import read_shapes
from ferl._tables import codes_of
from ferl._tables.table_files import open_sink
from ferl._tell.explain import RuleExplanation
from ferl._tell.render import as_rich
from ferl._util.arrays import Floats
from ferl._util.files import replace_text
from ferl.detector import NoveltyDetector
from ferl.export import export_text
from ferl.metrics import mean_set_size, set_coverage
from ferl.report import write_report
from ferl.rules import FERLClassifier
from ferl.trees import FERLTreeClassifier

_BAR = 30
_MODELS: dict[str, Callable[[], FERLEstimator[Any]]] = {
    "rules": lambda: FERLClassifier(random_state=0),
    "in words": lambda: FERLClassifier(words=True, random_state=0),
    **{name: partial(FERLTreeClassifier, name, random_state=0) for name in ("deep", "medium", "compact")},
}


@dataclass(frozen=True)
class _Data:
    title: str
    features: list[str]
    classes: list[str]
    X: tuple[Floats, Floats]  # to fit, to test
    y: tuple[NDArray[Any], NDArray[Any]]

    def named(self, rows: Floats) -> pa.Table:
        """Rows as a table with names, which models take over."""
        return pa.table(dict(zip(self.features, rows.T, strict=True)))


def _load(name: str) -> _Data:
    bunch = getattr(datasets, f"load_{name}")()
    features = [str(feature).replace(" (cm)", "").replace("_", " ") for feature in bunch.feature_names]
    classes = np.asarray([str(label) for label in bunch.target_names])
    # This split of iris leaves a flower to test that lies between two kinds and inside the training ranges.
    split = train_test_split(bunch.data, classes[bunch.target], test_size=0.4, stratify=bunch.target, random_state=9)
    return _Data(name.replace("_", " "), features, classes.tolist(), (split[0], split[1]), (split[2], split[3]))


def run_demo(asked: Namespace) -> None:
    """Fit every kind of model, and print rules, accuracy, and the evidence of a few rows."""
    name, picture, table = asked.data, asked.picture, asked.table
    check_places([picture, asked.report, table])
    data = _load(name)
    console = Console(record=picture is not None, width=100 if picture is not None else None)
    models = {}
    rows = data.named(data.X[0])
    FERLClassifier(random_state=0).fit(rows, data.y[0])  # the first fit of a process also loads code
    for kind, make in _MODELS.items():
        started = time.perf_counter()
        model = make().fit(rows, data.y[0])
        models[kind] = (model, time.perf_counter() - started)
    console.print(_summary(data, models))
    wide = models["rules"][0]
    console.print(_rules_panel("Rules, those first that move classes furthest apart", wide, console, most=5))
    for panel in _answer_panels(wide, data):
        console.print(panel)
    console.print(_novelty_panel(wide, data))
    console.print(_rules_panel("Few rules, in words", models["in words"][0], console))
    if picture is not None:
        # Without the fonts that rich would have a browser fetch: a picture needs no network.
        svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title=f"ferl demo --data {name}"), flags=re.DOTALL)
        replace_text(picture, svg)
        console.print(f"picture: {picture}")
    if table is not None:
        everything = data.named(np.concatenate(data.X))
        everything = everything.append_column("class", pa.array(np.concatenate(data.y).tolist()))
        with open_sink(str(table), "csv", everything.schema) as sink:
            sink.write(sink.prepare(everything))
        console.print(f"table: {table}, {everything.num_rows} rows, whose labels are in the column class")
    page = demo_report(name, asked.report)
    console.print(f"The rules as a page to look at, with a form to try rows of your own: {page}")


def demo_report(name: str, path: str | Path, kind: str = "rules") -> Path:
    """Write the report of a model on an embedded data set, and on the rows that were held out.

    Parameters
    ----------
    name : {"iris", "wine", "breast_cancer"}
        The data set.
    path : str or Path
        The file.
    kind : {"rules", "in words", "deep", "medium", "compact"}, default="rules"
        Which model.

    Returns
    -------
    Path
        The same.
    """
    data = _load(name)
    model = _MODELS[kind]().fit(data.named(data.X[0]), data.y[0])
    rows = data.named(data.X[1])
    return write_report(model, rows, data.y[1], path, title=data.title.capitalize(), table="the held-out rows")


def _summary(data: _Data, models: dict[str, tuple[Any, float]]) -> RenderableType:
    table = Table(
        title=f"{data.title}: {len(data.y[0])} rows to learn from, {len(data.y[1])} to test", title_style="bold"
    )
    for heading in ("model", "rules", "accuracy", "recall", "sets hold the truth", "classes per set", "fit"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    rows = data.named(data.X[1])
    for kind, (model, seconds) in models.items():
        sets = model.predict_set(rows)
        judged = judge_rows(model, rows, codes_of(data.y[1], model.classes_))
        recall = [judged.right[judged.truth == c].mean() for c in range(len(judged.classes))]
        table.add_row(
            kind,
            str(model.n_rules_),
            f"{judged.right.mean():.1%}",
            "/".join(f"{100 * own:.0f}" for own in recall),
            f"{set_coverage(data.y[1], sets, model.classes_):.1%}",
            f"{mean_set_size(sets):.2f}",
            f"{seconds * 1000:.1f} ms",
        )
    counts = np.bincount(judged.truth)
    most, share = judged.classes[int(np.argmax(counts))], counts.max() / counts.sum()
    recall_of = " / ".join(judged.classes)
    table.caption = (
        f"Always saying {most} would be right in {share:.1%} of the test rows. Recall: % of the rows of {recall_of}."
    )
    return table


def _rules_panel(title: str, model: FERLClassifier, console: Console, most: int | None = None) -> Panel:
    text = export_text(model, max_rules=most, width=console.width - 4)  # a panel has a frame
    return Panel(Text(text), title=title, title_align="left")


def _answer_panels(model: FERLClassifier, data: _Data) -> list[Panel]:
    """Answers for a clear row, one in doubt, and one far away; and what the features of the one in doubt add up to."""
    rows, truth = data.named(data.X[1]), data.y[1]
    evidence = model.predict_evidence(rows)
    clear = int(np.argmax(evidence.belief.max(axis=1)))
    # In doubt between classes, not for lack of support.
    is_inside = model.support_deficit(rows).sum(axis=1) == 0
    doubtful = int(np.argmin(np.where(is_inside, evidence.probability.max(axis=1), np.inf)))
    far = data.X[0].max(axis=0) * 3
    answers = [
        _answer("The clearest test row", data.X[1][clear], truth[clear], model, data),
        _answer("The least clear one", data.X[1][doubtful], truth[doubtful], model, data),
        _answer("Three times as large as anything seen in training", far, None, model, data),
    ]
    spaced = [part for answer in answers for part in (answer, Text(""))][:-1]
    story = model.explain(rows.slice(doubtful, 1), counterfactual=False)
    added = as_rich([cast(RuleExplanation, story).weights_section()])
    return [
        Panel(Group(*spaced), title="What wide rules answer, and on what evidence", title_align="left"),
        Panel(added, title="What the values of the least clear row add up to", title_align="left"),
    ]


def _answer(title: str, row: Floats, truth: Any, model: FERLClassifier, data: _Data) -> RenderableType:
    evidence = model.predict_evidence(data.named(row[None]))
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
    lost = model.support_deficit(data.named(row[None]))[0]
    if lost.sum() > 0.005:
        named = [f"{data.features[j]} {lost[j]:.2f}" for j in np.argsort(-lost, kind="stable") if lost[j] > 0.005]
        more = f", and {len(named) - 4} more" if len(named) > 4 else ""
        told = f"  outside what training saw, support lost: {', '.join(named[:4])}{more}"
        parts.append(Text(told, style="red"))
    return Group(*parts)


def _novelty_panel(model: FERLClassifier, data: _Data) -> Panel:
    """An ordinary row, and the same with one value that is ordinary elsewhere."""
    detector = NoveltyDetector(model, random_state=0).fit(data.named(data.X[0]), data.y[0])
    ordinary = data.X[1][np.argsort(model.novelty(data.named(data.X[1])), kind="stable")[len(data.X[1]) // 2]]
    ends = [data.X[0].min(axis=0), data.X[0].max(axis=0)]
    swapped = [np.where(np.arange(len(ordinary)) == j, end, ordinary) for end in ends for j in range(len(ordinary))]
    odd = swapped[int(np.argmax(model.novelty(data.named(np.array(swapped)))))]
    lines = [
        _novelty_line("A test row", ordinary, detector, data),
        _novelty_line("The same with one value of another kind of row", odd, detector, data),
    ]
    return Panel(Group(*lines), title="How unlike the training rows a row is, and why", title_align="left")


def _novelty_line(title: str, row: Floats, detector: NoveltyDetector, data: _Data) -> Text:
    rows = data.named(row[None])
    novelty, parts, p_value = (
        answer(rows)[0] for answer in (detector.novelty, detector.novelty_attribution, detector.p_values)
    )
    style = "red" if p_value <= detector.alpha else "green"
    line = Text(f"{title}: ", style="bold").append(f"novelty {novelty:.2f}, p = {p_value:.3f}", style=f"bold {style}")
    most = [j for j in np.argsort(-parts, kind="stable")[:2] if parts[j] > 0.2 * novelty]
    named = ", ".join(f"{data.features[j]} {row[j]:.4g} ({parts[j] / novelty:.0%})" for j in most)
    return line.append(f"  because of {named}" if named else "", style="")


def _asked_values(row: Floats, model: FERLClassifier, data: _Data, most: int = 4) -> str:
    """Values of the features that say most."""
    asked = list(dict.fromkeys(feature for shape in read_shapes(model.model_).all for feature in shape.features))
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
