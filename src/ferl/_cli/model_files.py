"""``ferl inspect`` and ``ferl export``: what a model file holds, and other forms of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ferl._cli.errors import CommandError, check_place, check_wide
from ferl._cli.options import label_named
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._sklearn import changed_parameters
from ferl._tables import add_up_indicators
from ferl._tell.statements import Style, statements
from ferl._util.files import replace_text, replacing
from ferl._util.text import spoken
from ferl.export import Scorecard, export_text
from ferl.onnx import to_onnx
from ferl.onnx.graph import onnx_module
from ferl.rules import FERLClassifier
from ferl.saving import load_model

_MAX_SHOWN = 5
_MAX_RULES = 15
_PAGE_LINES = 40


@dataclass(frozen=True)
class RulesWanted:
    """Which rules are to be printed.

    Attributes
    ----------
    shown : bool
        Whether any are.
    top : int or None
        How many, those that say most; None: all.
    page : int or None
        One page of them, from 1; None: all, through a pager where standard output is a terminal.
    """

    shown: bool = False
    top: int | None = None
    page: int | None = None


def run_inspect(model: Path, rules: RulesWanted, as_json: bool) -> None:
    """Print what a model file holds, and its rules if they are asked for."""
    estimator = load_model(model)
    summary = summarise(estimator)
    if as_json:
        if rules.shown:
            summary["rules"] = _page(export_text(estimator, max_rules=rules.top).splitlines(), rules.page)[0]
        print(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    console = Console()
    if rules.page is None:
        _show(summary, estimator.model_, console, with_weights=not rules.shown)
    if not rules.shown:
        return
    text = export_text(estimator, max_rules=rules.top, width=max(console.width, 40))
    lines, n_pages = _page(text.splitlines(), rules.page)
    console.print()
    # A pager where somebody reads and there is more than fits; whoever asks for a page or for the top sees it at once.
    if console.is_terminal and rules.page is None and len(lines) > console.height:
        with console.pager():
            console.print(Text("\n".join(lines)), soft_wrap=True)
        return
    console.print(Text("\n".join(lines)), soft_wrap=True)
    if rules.page is not None:
        typer.echo(f"page {rules.page} of {n_pages}", err=True)


def _page(lines: list[str], page: int | None) -> tuple[list[str], int]:
    """The lines of a page, or all of them; and how many pages there are."""
    n_pages = max(-(-len(lines) // _PAGE_LINES), 1)
    if page is None:
        return lines, n_pages
    if page > n_pages:
        raise CommandError(f"--page is {page}; the rules have {n_pages} {'page' if n_pages == 1 else 'pages'}.")
    return lines[(page - 1) * _PAGE_LINES : page * _PAGE_LINES], n_pages


def summarise(estimator: FERLClassifier) -> dict[str, Any]:
    """What a model holds, as a plain dict."""
    model = estimator.model_
    tree, width = model.tree, model.n_features
    asked = np.bincount(tree.feature[1:], minlength=width + len(model.missing_features))
    tested = add_up_indicators(asked[None].astype(np.float64), model.missing_features)[0]
    features = [
        {
            "name": name,
            **_kind(model, feature, categories),
            "conditions": int(tested[feature]),
        }
        for feature, (name, categories) in enumerate(zip(model.feature_names(), model.schema.categories, strict=True))
    ]
    changed = changed_parameters(estimator)
    return {
        "model": model.title,
        "n_rules": estimator.n_rules_,
        "depth": int(tree.depth.max()),
        "classes": estimator.classes_.tolist(),
        "training_weight": float(tree.weight[0]),
        "training_rows_kept": len(tree.profile.exemplar_row),
        "parameters": {name: value if _is_plain(value) else str(value) for name, value in changed.items()},
        "features": features,
        **({} if not isinstance(model, RuleModel) else _weights(model)),
        **({"history": list(model.history)} if model.history else {}),
    }


def _kind(model: Model, feature: int, categories: Any) -> dict[str, Any]:
    """What a column holds, and its categories where it has some; ordered ones from the lowest to the highest."""
    kind = model.column_kind(feature)
    if categories is not None:
        return {"kind": "category", "categories": categories.tolist()}
    if kind.is_ordered:
        return {"kind": "ordered", "categories": list(kind.order)}
    meanings = {"meanings": dict(kind.values)} if kind.values else {}
    return {"kind": "date" if kind.is_date else "number", **meanings}


def _weights(model: RuleModel) -> dict[str, Any]:
    """Weights of evidence, for the classes in their order; the rule that says most first."""
    weights, names = model.rules, model.column_names()
    order = np.argsort(-np.abs(weights.weight).max(axis=1, initial=0.0), kind="stable")
    asked = [[names[model.tree.feature[step]] for step in model.tree.path(int(weights.node[rule]))] for rule in order]
    style = Style(model, [spoken(name) for name in names], model.labels)
    told = [style.conditions(rule) or "always" for rule in statements(model)]
    return {
        "prior": model.prior.tolist(),
        "weights": [
            {"asks": own, "if": told[rule], "weight": weights.weight[rule].tolist()}
            for rule, own in zip(order, asked, strict=True)
        ],
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _show(summary: dict[str, Any], model: Model, console: Console, with_weights: bool) -> None:
    """Print the summary, in the words of the table; the weights unless the rules follow, which tell them as well."""
    labels, depth = [spoken(label) for label in model.labels], summary["depth"]
    table = Table(show_header=False, box=None, pad_edge=False)
    kept = summary["training_rows_kept"]
    conditions = f", with at most {depth} {'condition' if depth == 1 else 'conditions'} each"
    for name, value in (
        ("model", summary["model"]),
        ("rules", f"{summary['n_rules']}{conditions if depth else ''}"),
        ("classes", _listed(labels)),
        ("training weight", f"{summary['training_weight']:,.1f}".removesuffix(".0")),
        ("training rows kept", f"{kept:,}" + (", as exemplars for novelty" if kept else "")),
        ("parameters", ", ".join(f"{name}={value!r}" for name, value in summary["parameters"].items()) or "defaults"),
        *(("changed by hand", json.dumps(record, ensure_ascii=False)) for record in summary.get("history", [])),
    ):
        table.add_row(name, Text(str(value)))
    console.print(table)
    if "weights" in summary and with_weights:
        _show_weights(summary, labels, console)
    features = Table(title="features", title_justify="left", title_style="bold")
    for heading in ("name", "kind", "values", "conditions"):
        features.add_column(heading, justify="right" if heading == "conditions" else "left")
    for feature in summary["features"]:
        between = " < " if feature["kind"] == "ordered" else ", "
        meanings = [f"{value}: {words}" for value, words in feature.get("meanings", {}).items()]
        values = _listed(feature.get("categories", meanings), between)
        features.add_row(Text(spoken(feature["name"])), feature["kind"], Text(values), str(feature["conditions"]))
    console.print(features)


def _show_weights(summary: dict[str, Any], classes: list[str], console: Console) -> None:
    """The prior and the rules that say most: of few classes all weights, of many the most for and against one."""
    rules = summary["weights"]
    rest = f", the strongest {_MAX_RULES} of {len(rules)} rules" if len(rules) > _MAX_RULES else ""
    table = Table(title=f"weights of evidence{rest}", title_justify="left", title_style="bold")
    table.add_column("if")
    every_class = len(classes) <= _MAX_SHOWN
    for heading in classes if every_class else ("most for", "most against"):
        table.add_column(Text(heading), justify="right")
    for asks, weight in [("(prior)", summary["prior"])] + [(rule["if"], rule["weight"]) for rule in rules[:_MAX_RULES]]:
        extremes = range(len(classes)) if every_class else (int(np.argmax(weight)), int(np.argmin(weight)))
        texts = [f"{'' if every_class else classes[c] + ' '}{round(weight[c], 2) + 0.0:+.2f}" for c in extremes]
        table.add_row(Text(asks), *map(Text, texts))
    console.print(table)


def _listed(values: list[Any], between: str = ", ") -> str:
    listed = between.join(map(str, values[:_MAX_SHOWN]))
    return f"{listed}{between}... ({len(values)} in all)" if len(values) > _MAX_SHOWN else listed


def run_export(model: Path, out: Path, with_novelty: bool, dtype: str) -> None:
    """Write a model as ONNX, checked as onnx checks it, and say what its inputs and outputs are."""
    check_place(out, model)
    try:
        onnx = onnx_module()
    except ImportError as error:
        raise CommandError(str(error)) from error
    exported = to_onnx(load_model(model), novelty=with_novelty, dtype=dtype)
    onnx.checker.check_model(exported, full_check=True)
    content = exported.SerializeToString()
    with replacing(out) as beside:
        beside.write_bytes(content)
    inputs = ", ".join(own.name for own in exported.graph.input)
    outputs = ", ".join(own.name for own in exported.graph.output)
    typer.echo(f"{out}: {len(content):,} bytes\ninputs: {inputs}\noutputs: {outputs}")


def run_scorecard(model: Path, out: Path, positive: str | None, counted: dict[str, Any]) -> None:
    """Write the scorecard of a wide model in the form that the name of the file says, and say what totals mean.

    Parameters
    ----------
    model, out : Path
        The files.
    positive : str or None
        Class that the points speak for; None: the second one.
    counted : dict
        How points are counted: further parameters of :class:`ferl.export.Scorecard`.
    """
    check_place(out, model)
    for name in ("base_odds", "points_to_double"):
        if not counted.get(name, 1.0) > 0:
            raise CommandError(f"--{name.replace('_', '-')} is {counted[name]:g}; it must be greater than 0.")
    estimator = load_model(model)
    check_wide(estimator.model_, "--scorecard", model)
    if positive is not None and (n_classes := len(estimator.classes_)) != 2:
        raise CommandError(f"--positive is {positive!r}, but each of {n_classes} classes has points. Leave it out.")
    label = None if positive is None else label_named(estimator.model_, positive, "--positive")
    card = Scorecard(estimator, positive=label, **counted)
    forms: dict[str, Callable[[], str | None]] = {".csv": card.csv, ".txt": card.text, ".tex": card.latex}
    if out.suffix.lower() not in forms:
        raise CommandError(f"{out.name} ends in {out.suffix!r}; a scorecard is written to .csv, .txt or .tex.")
    text = forms[out.suffix.lower()]() or ""
    replace_text(out, text if text.endswith("\n") else f"{text}\n")
    meaning = card.text().rpartition("\n\n")[2]  # the last part of the text, below the table
    typer.echo(f"{out}: {len(card.frame()):,} lines of points\n{meaning}")
