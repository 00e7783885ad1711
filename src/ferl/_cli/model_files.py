"""``ferl inspect``: what a model file holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ferl._cli.errors import CommandError, check_place
from ferl._sklearn import changed_parameters
from ferl._tables import add_up_indicators
from ferl._util.files import replacing
from ferl.classifier import FERLClassifier
from ferl.export import export_text
from ferl.onnx import to_onnx
from ferl.onnx.graph import onnx_module
from ferl.saving import load_model

_MAX_SHOWN = 5


def run_inspect(model: Path, with_rules: bool, as_json: bool) -> None:
    """Print what a model file holds, and its rules if they are asked for."""
    estimator = load_model(model)
    summary = summarise(estimator)
    if as_json:
        if with_rules:
            summary["rules"] = export_text(estimator).splitlines()
        print(json.dumps(summary, ensure_ascii=False, indent=2))
        return
    console = Console()
    _show(summary, console)
    if with_rules:
        console.print()
        console.print(Text(export_text(estimator, width=max(console.width, 40))), soft_wrap=True)


def summarise(estimator: FERLClassifier) -> dict[str, Any]:
    """What a model holds, as a plain dict."""
    model = estimator.model_
    tree, width = model.tree, model.n_features
    asked = np.bincount(tree.feature[1:], minlength=width + len(model.missing_features))
    tested = add_up_indicators(asked[None].astype(np.float64), model.missing_features)[0]
    features = [
        {
            "name": name,
            "kind": "number" if categories is None else "category",
            **({} if categories is None else {"categories": categories.tolist()}),
            "conditions": int(tested[feature]),
        }
        for feature, (name, categories) in enumerate(zip(model.feature_names(), model.schema.categories, strict=True))
    ]
    changed = changed_parameters(estimator)
    return {
        "variant": model.variant,
        "n_rules": estimator.n_rules_,
        "depth": int(tree.depth.max()),
        "classes": estimator.classes_.tolist(),
        "training_weight": float(tree.weight[0]),
        "training_rows_kept": len(tree.profile.exemplar_row),
        "parameters": {name: value if _is_plain(value) else str(value) for name, value in changed.items()},
        "features": features,
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def _show(summary: dict[str, Any], console: Console) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    kept = summary["training_rows_kept"]
    for name, value in (
        ("variant", summary["variant"]),
        ("rules", f"{summary['n_rules']}, with at most {summary['depth']} conditions each"),
        ("classes", _listed(summary["classes"])),
        ("training weight", f"{summary['training_weight']:,.1f}"),
        ("training rows kept", f"{kept:,}" + (", as exemplars for novelty" if kept else "")),
        ("parameters", ", ".join(f"{name}={value!r}" for name, value in summary["parameters"].items()) or "defaults"),
    ):
        table.add_row(name, Text(str(value)))
    console.print(table)
    features = Table(title="features", title_justify="left", title_style="bold")
    for heading in ("name", "kind", "values", "conditions"):
        features.add_column(heading, justify="right" if heading == "conditions" else "left")
    for feature in summary["features"]:
        values = _listed(feature["categories"]) if "categories" in feature else ""
        features.add_row(Text(feature["name"]), feature["kind"], Text(values), str(feature["conditions"]))
    console.print(features)


def _listed(values: list[Any]) -> str:
    listed = ", ".join(map(str, values[:_MAX_SHOWN]))
    return f"{listed}, ... ({len(values)} in all)" if len(values) > _MAX_SHOWN else listed


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
