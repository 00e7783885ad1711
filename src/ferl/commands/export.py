"""``ferl export``: a model file as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import typer

from ferl.atomic import replacing
from ferl.commands.errors import CommandError
from ferl.commands.places import check_place
from ferl.model_io import load_model
from ferl.onnx import to_onnx
from ferl.onnx.graph import onnx_module


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
