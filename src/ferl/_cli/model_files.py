"""``ferl inspect`` and ``ferl export``: what a model file holds, and other forms of it."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from contextlib import nullcontext
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from ferl._cli.shell import CommandError, check_places, check_rules, label_named, names_in
from ferl._estimator import FERLEstimator
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._sklearn import changed_parameters
from ferl._tell.page import Section, Table, as_rich
from ferl._tell.statements import Style, statements, weight_text
from ferl._util.files import replace_text, replacing
from ferl._util.text import counted, spoken
from ferl.export import Scorecard, export_c, export_python, export_sql, export_text
from ferl.export.text import first_scores
from ferl.onnx import to_onnx
from ferl.onnx.graph import onnx_module
from ferl.saving import load_model

_MAX_SHOWN = 5
_MAX_RULES = 15
_PAGE_LINES = 40


def run_inspect(asked: Namespace) -> None:
    """Print what a model file holds, and its rules if they are asked for."""
    estimator = load_model(asked.model)
    summary, model = summarise(estimator), estimator.model_
    with_rules = asked.rules or asked.top is not None or asked.page is not None
    if asked.as_json:
        if with_rules:
            summary["rules"] = _page(export_text(estimator, max_rules=asked.top).splitlines(), asked.page)[0]
        print(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    console = Console()
    if asked.page is None:
        console.print(as_rich(_page_of(summary, model, with_weights=not with_rules)))
    if not with_rules:
        return
    text = export_text(estimator, max_rules=asked.top, width=max(console.width, 40))
    lines, n_pages = _page(text.splitlines(), asked.page)
    console.print()
    # A pager where somebody reads and there is more than fits; whoever asks for a page or for the top sees it at once.
    is_long = console.is_terminal and asked.page is None and len(lines) > console.height
    with console.pager() if is_long else nullcontext():
        console.print(Text("\n".join(lines)), soft_wrap=True)
    if asked.page is not None:
        typer.echo(f"page {asked.page} of {n_pages}", err=True)


def _page(lines: list[str], page: int | None) -> tuple[list[str], int]:
    """The lines of a page, or all of them; and how many pages there are."""
    n_pages = max(-(-len(lines) // _PAGE_LINES), 1)
    if page is None:
        return lines, n_pages
    if page > n_pages:
        raise CommandError(f"--page is {page}; the rules have {n_pages} {'page' if n_pages == 1 else 'pages'}.")
    return lines[(page - 1) * _PAGE_LINES : page * _PAGE_LINES], n_pages


def summarise(estimator: FERLEstimator[Any]) -> dict[str, Any]:
    """What a model holds, as a plain dict."""
    model = estimator.model_
    tree, uses = model.tree, model.uses
    features = [
        {"name": name, **_kind(model, feature, categories), **{use: item[feature] for use, item in uses.items()}}
        for feature, (name, categories) in enumerate(zip(model.feature_names(), model.schema.categories, strict=True))
    ]
    changed = changed_parameters(estimator)
    return {
        "model": model.title,
        "n_rules": estimator.n_rules_,
        **{f"n_{name}s": n for rule in model.beside_rules for n, name in rule},
        "depth": int(tree.depth.max()),
        "classes": estimator.classes_.tolist(),
        "training_weight": float(tree.weight[0]),
        "training_rows_kept": len(tree.profile.exemplar_row),
        "parameters": {name: value if _is_plain(value) else str(value) for name, value in changed.items()},
        "features": features,
        **_weights(model),
        **({"history": list(model.history)} if model.history else {}),
    }


def _kind(model: Model, feature: int, categories: Any) -> dict[str, Any]:
    """What a column holds, and its categories where it has some; ordered ones from the lowest to the highest."""
    kind = model.column_kinds[feature]
    if categories is not None:
        return {"kind": "category", "categories": categories.tolist()}
    if kind.is_ordered:
        return {"kind": "ordered", "categories": list(kind.order)}
    meanings = {"meanings": dict(kind.values)} if kind.values else {}
    return {"kind": "date" if kind.is_date else "number", **meanings}


@singledispatch
def _weights(model: Model) -> dict[str, Any]:
    """What only one kind of model holds."""
    return {}


@_weights.register
def _(model: RuleModel) -> dict[str, Any]:
    """Weights of evidence, for the classes in their order; the strongest rule first."""
    weights, names = model.rules, model.column_names()
    order = np.argsort(-np.abs(weights.weight).max(axis=1, initial=0.0), kind="stable")
    asked = [[names[model.tree.feature[step]] for step in model.tree.path(int(weights.node[rule]))] for rule in order]
    style = Style(model, [spoken(name) for name in names], model.labels)
    texts = [style.conditions(rule) or "always" for rule in statements(model)]
    return {
        "prior": model.prior.tolist(),
        "weights": [
            {"asks": item, "if": texts[rule], "weight": weights.weight[rule].tolist()}
            for rule, item in zip(order, asked, strict=True)
        ],
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _page_of(summary: dict[str, Any], model: Model, with_weights: bool) -> list[Section]:
    """The summary in the words of the table; the weights unless the rules follow, which hold them as well."""
    labels, depth, kept = [spoken(label) for label in model.labels], summary["depth"], summary["training_rows_kept"]
    conditions = f", with at most {counted(depth, 'condition')} each" if depth else ""
    facts = [
        ("model", summary["model"]),
        ("rules", f"{summary['n_rules']}{conditions}"),
        *([("beside the rules", model.size_beside_rules)] if model.size_beside_rules else []),
        ("classes", _listed(labels)),
        ("training weight", f"{summary['training_weight']:,.1f}".removesuffix(".0")),
        ("training rows kept", f"{kept:,}" + (", as exemplars for novelty" if kept else "")),
        ("parameters", ", ".join(f"{name}={value!r}" for name, value in summary["parameters"].items()) or "defaults"),
        *(("changed by hand", json.dumps(record, ensure_ascii=False)) for record in summary.get("history", [])),
    ]
    columns = []
    for feature in summary["features"]:
        between = " < " if feature["kind"] == "ordered" else ", "
        meanings = [f"{value}: {words}" for value, words in feature.get("meanings", {}).items()]
        values = _listed(feature.get("categories", meanings), between)
        columns.append((spoken(feature["name"]), feature["kind"], values, *(str(feature[use]) for use in model.uses)))
    features = Table(("name", "kind", "values", *model.uses), tuple(columns), "lll" + "r" * len(model.uses))
    weights = [_weights_section(summary, labels, model)] if isinstance(model, RuleModel) and with_weights else []
    return [Section("", (Table((), tuple(facts), "ll"),)), *weights, Section("features", (features,))]


def _weights_section(summary: dict[str, Any], classes: list[str], model: RuleModel) -> Section:
    """The prior and the strongest rules, on the scale of the report, and the number that ``export_text`` begins with.

    Two classes: the log-odds of the second one. Three and more: the weight of each class, or with many classes the
    largest and the smallest weight.
    """
    rules = [("(prior)", summary["prior"]), *((rule["if"], rule["weight"]) for rule in summary["weights"])]
    rest = f", the strongest {_MAX_RULES} of {len(rules) - 1} rules" if len(rules) - 1 > _MAX_RULES else ""
    headings, rows = ("if", *classes), [(asks, *map(_signed, weight)) for asks, weight in rules[: _MAX_RULES + 1]]
    if len(classes) == 2:
        headings = ("if", f"log-odds of {classes[1]}")
        rows = [(asks, _signed(weight[1] - weight[0])) for asks, weight in rules[: _MAX_RULES + 1]]
    if len(classes) > _MAX_SHOWN:
        headings, rows = ("if", "most for", "most against"), []
        for asks, weight in rules[: _MAX_RULES + 1]:
            ends = (int(np.argmax(weight)), int(np.argmin(weight)))
            rows.append((asks, *(f"{classes[c]} {_signed(weight[c])}" for c in ends)))
    about, first = "(prior) is the score where no rule applies.", first_scores(model)
    if not np.allclose(first, model.prior):
        number = f"{weight_text(first[1] - first[0])}, " if len(classes) == 2 else ""
        about += (
            f" The list of --rules begins with {number}the prior and the means of its curves, which it prints less "
            "their means."
        )
    return Section(f"weights of evidence{rest}", (Table(headings, tuple(rows)), about))


def _signed(weight: float) -> str:
    return f"{round(weight, 2) + 0.0:+.2f}"


def _listed(values: list[Any], between: str = ", ") -> str:
    listed = between.join(map(str, values[:_MAX_SHOWN]))
    return f"{listed}{between}... ({len(values)} in all)" if len(values) > _MAX_SHOWN else listed


def run_export(asked: Namespace) -> None:
    """Write a model as ONNX, SQL, Python, C, its rules as a scorecard, or several of these."""
    plain = {name: getattr(asked, name) for name in ("sql", "python", "c")}
    if not any((asked.out, asked.scorecard, *plain.values())):
        raise CommandError(
            "Name a file: -o model.onnx for ONNX, --sql score.sql for a database, --python model.py or --c model.c for "
            "plain code, --scorecard points.csv for a scorecard."
        )
    about_sql = {"dialect": asked.dialect, "table": asked.table, "keep": asked.keep or None}
    for name, value in about_sql.items():
        if value is not None and asked.sql is None:
            raise CommandError(f"--{name} is about SQL; add --sql score.sql.")
    about_code = {"--no-evidence": not asked.evidence, "--reasons": asked.reasons is not None}
    for option, is_given in about_code.items():
        if is_given and not any(plain.values()):
            raise CommandError(f"{option} is about SQL and plain code; add --sql, --python or --c.")
    numbers = {name: getattr(asked, name) for name in ("base_points", "base_odds", "points_to_double")}
    counted = {name: value for name, value in numbers.items() if value is not None}
    about_points = [f"--{name.replace('_', '-')}" for name in counted]
    about_points += ["--positive"] * (asked.positive is not None) + ["--rounded"] * asked.rounded
    about_points += ["--safe-csv"] * asked.safe_csv
    if about_points and asked.scorecard is None:
        raise CommandError(f"{about_points[0]} is about the points of a scorecard; add --scorecard points.csv.")
    check_places([asked.out, asked.scorecard, *plain.values()], asked.model)
    for name, out in plain.items():
        if out is not None:
            _write_code(asked, name, out)
    if asked.scorecard is not None:
        _write_scorecard(asked, counted)
    if asked.out is not None:
        _write_onnx(asked)


def _write_code(asked: Namespace, language: str, out: Path) -> None:
    """Write a model as SQL, Python or C."""
    wanted: dict[str, Any] = {"evidence": asked.evidence, "reasons": asked.reasons}
    if language == "sql":
        wanted |= {"dialect": asked.dialect or "duckdb", "keep": names_in(asked.keep)}
        wanted["table"] = (asked.table or "rows").split(".")
    text = {"sql": export_sql, "python": export_python, "c": export_c}[language](load_model(asked.model), **wanted)
    replace_text(out, text if text.endswith("\n") else f"{text}\n")
    typer.echo(f"{out}: {len(text.encode()):,} bytes")


def _write_onnx(asked: Namespace) -> None:
    """Write a model as ONNX, checked as onnx checks it, and print what its inputs and outputs are."""
    try:
        onnx = onnx_module()
    except ImportError as error:
        raise CommandError(str(error)) from error
    exported = to_onnx(load_model(asked.model), novelty=asked.novelty, dtype=asked.dtype)
    onnx.checker.check_model(exported, full_check=True)
    content = exported.SerializeToString()
    with replacing(asked.out) as beside:
        beside.write_bytes(content)
    inputs, outputs = (", ".join(item.name for item in some) for some in (exported.graph.input, exported.graph.output))
    typer.echo(f"{asked.out}: {len(content):,} bytes\ninputs: {inputs}\noutputs: {outputs}")


def _write_scorecard(asked: Namespace, counted: dict[str, Any]) -> None:
    """Write a scorecard in the form that the name of the file means, and print what totals mean.

    Parameters
    ----------
    asked : Namespace
        The options.
    counted : dict
        How points are counted: further parameters of :class:`ferl.export.Scorecard`.
    """
    for name in ("base_odds", "points_to_double"):
        if not counted.get(name, 1.0) > 0:
            raise CommandError(f"--{name.replace('_', '-')} is {counted[name]:g}; it must be greater than 0.")
    out, positive = asked.scorecard, asked.positive
    estimator = load_model(asked.model)
    check_rules(estimator.model_, "--scorecard", asked.model)
    if positive is not None and (n_classes := len(estimator.classes_)) != 2:
        raise CommandError(f"--positive is {positive!r}, but each of {n_classes} classes has points. Leave it out.")
    label = label_named(estimator.model_, positive, "--positive")
    card = Scorecard(estimator, positive=label, rounded=asked.rounded, **counted)
    forms: dict[str, Callable[[], str | None]] = {
        ".csv": lambda: card.csv(safe=asked.safe_csv),
        ".txt": card.text,
        ".tex": card.latex,
        ".html": card.html,
    }
    if out.suffix.lower() not in forms:
        raise CommandError(f"{out.name} ends in {out.suffix!r}; a scorecard is written to .csv, .txt, .tex or .html.")
    if asked.safe_csv and out.suffix.lower() != ".csv":
        raise CommandError("--safe-csv is about CSV; leave it out, or write a .csv file.")
    text = forms[out.suffix.lower()]() or ""
    replace_text(out, text if text.endswith("\n") else f"{text}\n")
    meaning = card.text().rpartition("\n\n")[2]  # the last part of the text, below the table
    typer.echo(f"{out}: {len(card.frame()):,} lines of points\n{meaning}")
