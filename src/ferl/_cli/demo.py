"""``ferl demo``: a fit, a chart, three rows explained and a report, on one screen."""

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
from pyarrow import csv
from rich.console import Console
from rich.text import Text
from sklearn import datasets
from sklearn.model_selection import train_test_split

from ferl._cli.evaluate import judge_rows
from ferl._cli.shell import check_places
from ferl._estimator import FERLEstimator
from ferl._tables import codes_of
from ferl._tables.table_files import open_sink
from ferl._tell.page import MIN_WIDTH, Section, as_text
from ferl._util.files import replace_text
from ferl._util.text import number_text
from ferl.report import write_report
from ferl.report.charts import percent
from ferl.rules import FERLClassifier
from ferl.trees import FERLTreeClassifier

_WIDTH = 80
_BAR = 36  # the longest bar of the chart
_N_BARS = 5
_SLIP = 10.0  # a decimal point in the wrong place
_TEST_SHARE, _N_SPLITS = 0.25, 10
_MODELS: dict[str, Callable[[], FERLEstimator[Any]]] = {
    "rules": lambda: FERLClassifier(random_state=0),
    "in words": lambda: FERLClassifier(words=True, random_state=0),
    **{name: partial(FERLTreeClassifier, name, random_state=0) for name in ("deep", "medium", "compact")},
}


@dataclass(frozen=True)
class _Data:
    title: str
    target: str
    table: pa.Table  # features and labels
    train: NDArray[np.intp]
    test: NDArray[np.intp]
    limits: str = ""

    def rows(self, which: NDArray[np.intp]) -> pa.Table:
        return self.table.drop_columns([self.target]).take(pa.array(which))

    def labels(self, which: NDArray[np.intp]) -> NDArray[Any]:
        return np.asarray(self.table[self.target].to_pylist())[which]


def _load(name: str) -> _Data:
    limits = ""
    if name == "titanic":
        title, target = "Who survived the Titanic?", "outcome"
        limits = "The passengers of one ship in 1912, without its crew; one age in five is missing."
        options = csv.ConvertOptions(strings_can_be_null=True)
        table = csv.read_csv(Path(__file__).parent / "data" / "titanic.csv", convert_options=options)
    else:
        bunch = getattr(datasets, f"load_{name}")()
        title, target = name.replace("_", " ").capitalize(), "class"
        features = [str(feature).replace(" (cm)", "").replace("_", " ") for feature in bunch.feature_names]
        table = pa.table(dict(zip(features, bunch.data.T, strict=True)))
        table = table.append_column(target, pa.array([str(bunch.target_names[code]) for code in bunch.target]))
    train, test = _split(table[target].to_pylist(), seed=0)
    return _Data(title, target, table, train, test, limits)


def _split(labels: list[Any], seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to learn from, and rows that test."""
    train, test = train_test_split(np.arange(len(labels)), test_size=_TEST_SHARE, stratify=labels, random_state=seed)
    return train, test


def _accuracies(data: _Data) -> NDArray[np.float64]:
    """The accuracy on each of several splits: one split may be a lucky one. The first is the one that is shown."""
    found = []
    for seed in range(_N_SPLITS):
        train, test = _split(data.table[data.target].to_pylist(), seed)
        model = _MODELS["rules"]().fit(data.rows(train), data.labels(train))
        found.append(model.score(data.rows(test), data.labels(test)))
    return np.array(found)


def run_demo(asked: Namespace) -> None:
    """Fit a real table, print a chart and three explained rows, and write the report."""
    name, picture, table = asked.data, asked.picture, asked.table
    check_places([picture, asked.report, table])
    data = _load(name)
    console = Console(record=picture is not None, width=_WIDTH if picture is not None else None, highlight=False)
    train, y_train = data.rows(data.train), data.labels(data.train)
    accuracies = _accuracies(data)  # also a warm-up: the first fit of a process loads code
    started = time.perf_counter()
    model: Any = _MODELS["rules"]().fit(train, y_train)
    seconds = time.perf_counter() - started
    width = max(min(console.width, _WIDTH), MIN_WIDTH + 2)
    sections = [
        _summary(data, model, accuracies, seconds, width),
        _chart(data, model, width),
        *_rows(data, model, max(width, MIN_WIDTH + 2)),
    ]
    for title, lines in sections:
        console.print(Text(title, style="bold"))
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print()
    if picture is not None:
        # Without the fonts that rich would have a browser fetch: a picture needs no network.
        svg = re.sub(r"@font-face \{.*?\}", "", console.export_svg(title=f"ferl demo --data {name}"), flags=re.DOTALL)
        replace_text(picture, svg)
        console.print(f"picture: {picture}")
    if table is not None:
        with open_sink(str(table), "csv", data.table.schema) as sink:
            sink.write(sink.prepare(data.table))
        console.print(f"table: {table}, {data.table.num_rows:,} rows; the labels are in the column {data.target}")
    page = _write_report(data, model, asked.report)
    console.print(Text(f"Report for the browser, with a form to try other rows: {page}"), soft_wrap=True)


def demo_report(name: str, path: str | Path, kind: str = "rules") -> Path:
    """Write the report of a model of an embedded table, on the rows that were held out.

    Parameters
    ----------
    name : {"titanic", "iris", "wine", "breast_cancer"}
        The table.
    path : str or Path
        The file.
    kind : {"rules", "in words", "deep", "medium", "compact"}, default="rules"
        The model.

    Returns
    -------
    Path
        The file.
    """
    data = _load(name)
    return _write_report(data, _MODELS[kind]().fit(data.rows(data.train), data.labels(data.train)), path)


def _write_report(data: _Data, model: Any, path: str | Path) -> Path:
    rows, labels = data.rows(data.test), data.labels(data.test)
    return write_report(
        model,
        rows,
        labels,
        path,
        title=data.title,
        table="the held-out rows",
        intended_use="A demonstration of ferl. Use it for no decision.",
        limits=data.limits,
    )


def _summary(
    data: _Data, model: Any, accuracies: NDArray[np.float64], seconds: float, width: int
) -> tuple[str, list[str]]:
    """What was learned, and how good the answers to the held-out rows are."""
    judged = judge_rows(model, data.rows(data.test), codes_of(data.labels(data.test), model.classes_))
    n_rows = judged.recall.n_rows
    most = judged.classes[int(n_rows.argmax())]
    auc = "" if judged.auc is None else f", AUC {judged.auc:.3f}"
    answered = ~judged.abstains
    kept = f"; {percent(judged.right[answered].mean())} of the answers given are right" if answered.any() else ""
    classes = "both classes stay possible" if len(model.classes_) == 2 else "all classes stay possible"
    lines = [
        f"{model.n_rules_} rules learned from {len(data.train):,} rows in {seconds:.2g} s; the other "
        f"{len(data.test):,} rows test them.",
        f"Accuracy {percent(judged.right.mean(), 1)} (always {most}: {percent(n_rows.max() / n_rows.sum())}){auc}. "
        f"Over {_N_SPLITS} random splits: {percent(accuracies.min(), 1)} to {percent(accuracies.max(), 1)}, mean "
        f"{percent(accuracies.mean(), 1)}.",
        f"No answer for {percent(judged.abstains.mean())} of the rows, where {classes}{kept}.",
    ]
    return f"{data.title} ({data.table.num_rows:,} rows)", as_text([Section("", tuple(lines))], width - 2).splitlines()


def _chart(data: _Data, model: Any, width: int) -> tuple[str, list[str]]:
    """Bars: how much the features matter."""
    importance = model.feature_importances_
    shown = [j for j in np.argsort(-importance, kind="stable")[:_N_BARS] if importance[j] > 0]
    names = [data.table.column_names[j] for j in shown]
    left, most = max(map(len, names)), importance.max()
    longest = max(min(_BAR, width - left - len("    100 %")), 1)
    bars = [
        f"{name:<{left}} {'█' * max(round(longest * importance[j] / most), 1)} {percent(importance[j], 0)}"
        for name, j in zip(names, shown, strict=True)
    ]
    return "What matters most", bars


def _rows(data: _Data, model: Any, width: int) -> list[tuple[str, list[str]]]:
    """A clear row, a doubtful one, and the same with a value that no training row comes near."""
    rows, truth = data.rows(data.test), data.labels(data.test)
    evidence = model.predict_evidence(rows)
    clear = int(np.argmax(evidence.belief.max(axis=1)))
    # In doubt between classes, and not because a value is unusual or missing.
    is_usual = model.support_deficit(rows).sum(axis=1) == 0
    is_usual &= np.array([None not in row.values() for row in rows.to_pylist()])
    doubtful = int(np.argmin(np.where(is_usual, evidence.probability.max(axis=1), np.inf)))
    row = rows.slice(doubtful, 1)
    slipped, name = _slipped(row, model)
    before, after = (number_text(item[name][0].as_py()) for item in (row, slipped))
    titled = [
        (f"A clear row (in truth: {truth[clear]})", rows.slice(clear, 1)),
        (f"A doubtful row (in truth: {truth[doubtful]})", row),
        (f"The same row with a typing error: {name} {after} instead of {before}", slipped),
    ]
    return [(title, model.explain(item).to_text(width - 2).splitlines()) for title, item in titled]


def _slipped(row: pa.Table, model: Any) -> tuple[pa.Table, str]:
    """The row with the decimal point of its most important number in the wrong place, and that number's name."""
    order = np.argsort(-model.feature_importances_, kind="stable").tolist()
    feature = next(j for j in order if not pa.types.is_string(row.schema.field(j).type))
    name = row.column_names[feature]
    return row.set_column(feature, name, pa.array([row[name][0].as_py() * _SLIP])), name
