"""The report's engine under node, for the tests that compare its numbers with those of Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ferl.report
from ferl._models.model import Model
from ferl.report.page_form import numbers, page_form
from ferl.report.writing import ENGINE

STATIC = Path(ferl.report.__file__).parent / "static"
RUNNER = Path(__file__).parent / "golden" / "judge.mjs"
JUDGE = """
({ model, rows }) => { const engine = ferlEngine(model); return rows.map((row) => engine.judge(row.map(Number))); }
"""


def judge(model: Model, rows: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """What the engine says of encoded rows, without indicators; the test is skipped where there is no node."""
    return as_arrays(run(JUDGE, {"model": page_form(model), "rows": numbers(rows)}))


def run(function: str, task: Any) -> Any:
    """What a function in JavaScript makes of a task, beside the engine's scripts."""
    command = [_node(), str(RUNNER), function, *(str(STATIC / name) for name in ENGINE)]
    done = subprocess.run(command, input=json.dumps(task), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def as_arrays(answers: list[dict[str, Any]]) -> dict[str, NDArray[Any]]:
    """The answers to some rows, as the engine's JSON has them, by their names."""
    result = {name: np.array([answer[name] for answer in answers], dtype=object) for name in answers[0]}
    kinds = {"set": bool, "label": int}
    return {name: values.astype(kinds.get(name, float)) for name, values in result.items()}


def _node() -> str:
    node = shutil.which("node")
    if node is None and os.environ.get("CI"):
        pytest.fail("no node, which the continuous checks never do without: apt-get install nodejs")
    if node is None:
        pytest.skip("no node: apt-get install nodejs")
    return node
