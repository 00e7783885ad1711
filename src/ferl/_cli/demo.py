"""The first five minutes: what a fit looks like, on data everybody knows."""

from __future__ import annotations

import re
import time
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from rich.console import Console
from rich.panel import Panel
from rich.text import Text
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ferl._cli.evaluate import judge_rows
from ferl._cli.shell import check_places
from ferl._estimator import FERLEstimator
from ferl._models.shapes import read_shapes
from ferl._tables import codes_of
from ferl._tables.table_files import open_sink
from ferl._tell.page import Block, Section, Table, as_rich
from ferl._util.arrays import Floats
from ferl._util.files import replace_text
from ferl._util.text import rows_text
from ferl.detector import NoveltyDetector
from ferl.export import export_text
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
    rules, in_words = models["rules"][0], models["in words"][0]
    width = console.width - 4  # a panel has a frame
    panels: list[tuple[str, Any]] = [
        (f"{data.title}: {len(data.y[0])} rows to learn from, {len(data.y[1])} to test", _summary(data, models)),
        ("Rules, those first that move classes furthest apart", export_text(rules, max_rules=5, width=width)),
        *_answers(rules, data),
        ("How unlike the training rows a row is, and why", _novelty(rules, data)),
        ("Few rules, in words", export_text(in_words, width=width)),
    ]
    for title, content in panels:
        shown = Text(content) if isinstance(content, str) else as_rich(content)
        console.print(Panel(shown, title=title, title_align="left"))
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


def _summary(data: _Data, models: dict[str, tuple[Any, float]]) -> list[Section]:
    headings = ("model", "rules", "accuracy", "recall", "sets hold the truth", "classes per set", "fit")
    lines = []
    for kind, (model, seconds) in models.items():
        judged = judge_rows(model, data.named(data.X[1]), codes_of(data.y[1], model.classes_))
        recall = judged.recall
        shares = "/".join(f"{100 * n_hit / n:.0f}" for n_hit, n in zip(recall.n_hit, recall.n_rows, strict=True))
        sets = (f"{judged.covered.mean():.1%}", f"{judged.set_size.mean():.2f}")
        figures = (f"{judged.right.mean():.1%}", shares, *sets, f"{seconds * 1000:.1f} ms")
        lines.append((kind, str(model.n_rules_), *figures))
    most, share = judged.classes[int(np.argmax(recall.n_rows))], recall.n_rows.max() / len(judged.truth)
    named = f"Recall: % of the rows of {' / '.join(judged.classes)}."
    caption = f"Always saying {most} would be right in {share:.1%} of the test rows. {named}"
    return [Section("", (Table(headings, tuple(lines)), caption))]


def _answers(model: FERLClassifier, data: _Data) -> list[tuple[str, list[Section]]]:
    """Answers for a clear row, one in doubt, and one far away; and what the features of the one in doubt add up to."""
    rows, truth = data.named(data.X[1]), data.y[1]
    evidence = model.predict_evidence(rows)
    clear = int(np.argmax(evidence.belief.max(axis=1)))
    # In doubt between classes, not outside the training range.
    is_inside = model.support_deficit(rows).sum(axis=1) == 0
    doubtful = int(np.argmin(np.where(is_inside, evidence.probability.max(axis=1), np.inf)))
    answers = [
        _answer("The clearest test row", data.X[1][clear], f"   (truth: {truth[clear]})", model, data),
        _answer("The least clear one", data.X[1][doubtful], f"   (truth: {truth[doubtful]})", model, data),
        _answer("Three times as large as anything seen in training", data.X[0].max(axis=0) * 3, "", model, data),
    ]
    story: Any = model.explain(rows.slice(doubtful, 1), counterfactual=False)
    return [
        ("What rules answer, and on what evidence", answers),
        ("What the values of the least clear row add up to", [story.effects_section()]),
    ]


def _answer(title: str, row: Floats, truth: str, model: FERLClassifier, data: _Data) -> Section:
    evidence = model.predict_evidence(data.named(row[None]))
    members = [str(label) for label, inside in zip(model.classes_, evidence.prediction_set()[0], strict=True) if inside]
    is_open = len(members) == len(model.classes_)
    answer = "no answer" if is_open else "{" + ", ".join(members) + "}"
    # The values of the features that move answers most.
    moving = list(dict.fromkeys(feature for shape in read_shapes(model.model_).all for feature in shape.features))
    values = ", ".join(f"{data.features[j]} {row[j]:.4g}" for j in moving[:4])
    bars = [
        (str(label), _bar(belief, plausibility), f"belief {belief:.2f}  plausibility {plausibility:.2f}")
        for label, belief, plausibility in zip(
            model.classes_, evidence.belief[0], evidence.plausibility[0], strict=True
        )
    ]
    bars.append(("ignorance", _bar(0.0, evidence.ignorance[0]), f"{evidence.ignorance[0]:.2f}"))
    rests = f"The answer rests on {rows_text(float(evidence.rows[0]))}."
    lost = model.support_deficit(data.named(row[None]))[0]
    named = [f"{data.features[j]} {lost[j]:.2f}" for j in np.argsort(-lost, kind="stable") if lost[j] > 0.005]
    more = f", and {len(named) - 4} more" if len(named) > 4 else ""
    outside = f"outside the training range, support lost: {', '.join(named[:4])}{more}"
    blocks: list[Block] = [values, Table((), tuple(bars), "lll"), rests, *[outside] * bool(named)]
    return Section(f"{title}: {answer}{truth}", tuple(blocks))


def _bar(belief: float, plausibility: float) -> str:
    """Full up to the belief, half full up to the plausibility."""
    full, possible = round(belief * _BAR), round(plausibility * _BAR)
    return "█" * full + "░" * (possible - full) + "·" * (_BAR - possible)


def _novelty(model: FERLClassifier, data: _Data) -> list[Section]:
    """An ordinary row, and the same with one value that is ordinary elsewhere."""
    detector = NoveltyDetector(model, random_state=0).fit(data.named(data.X[0]), data.y[0])
    ordinary = data.X[1][np.argsort(model.novelty(data.named(data.X[1])), kind="stable")[len(data.X[1]) // 2]]
    ends = [data.X[0].min(axis=0), data.X[0].max(axis=0)]
    swapped = [np.where(np.arange(len(ordinary)) == j, end, ordinary) for end in ends for j in range(len(ordinary))]
    odd = swapped[int(np.argmax(model.novelty(data.named(np.array(swapped)))))]
    sections = []
    for title, row in (("A test row", ordinary), ("The same with one value of another kind of row", odd)):
        rows = data.named(row[None])
        share = detector.novelty_attribution(rows)[0] / detector.novelty(rows)[0]
        most = [j for j in np.argsort(-share, kind="stable")[:2] if share[j] > 0.2]
        named = ", ".join(f"{data.features[j]} {row[j]:.4g} ({share[j]:.0%})" for j in most)
        because = [f"Its novelty is because of {named}."] if named else []
        sections.append(Section(title, (*detector.explain(rows), *because)))
    return sections
