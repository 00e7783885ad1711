"""Docstrings name every parameter, its default, and shapes in scikit-learn's words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import ferl

SOURCE = Path(ferl.__file__).parent
Function = ast.FunctionDef | ast.AsyncFunctionDef


def public_functions(tree: ast.Module) -> Iterator[tuple[str, Function, str]]:
    """Functions and methods without an underscore, with their docstrings; of a class with parameters its own."""
    for node in tree.body:
        if isinstance(node, Function) and not node.name.startswith("_"):
            yield node.name, node, ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for own in node.body:
                if isinstance(own, Function) and own.name == "__init__":
                    yield node.name, own, ast.get_docstring(node) or ""
                elif isinstance(own, Function) and not own.name.startswith("_"):
                    yield f"{node.name}.{own.name}", own, ast.get_docstring(own) or ""


def faults(function: Function, docstring: str) -> Iterator[str]:
    """What a docstring with a section of parameters leaves out."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", docstring, re.S | re.M)
    if section is None:
        return
    entries = re.findall(r"^(\w[\w, \\\n]*?) *(?::([^\n]*))?\n(?= )", section[1], re.M)
    said = {name.strip(): kind for names, kind in entries for name in names.replace("\\\n", " ").split(",")}
    given = function.args
    defaults = [*[None] * (len(given.posonlyargs + given.args) - len(given.defaults)), *given.defaults]
    pairs = [*zip(given.posonlyargs + given.args, defaults, strict=True)]
    for argument, default in [*pairs, *zip(given.kwonlyargs, given.kw_defaults, strict=True)]:
        name = argument.arg
        if name in ("self", "cls"):
            continue
        if name not in said:
            yield f"does not document {name}"
        elif default is not None and said[name] and "default=" not in said[name]:
            yield f"does not say the default of {name}"
    if "n_rows" in re.sub(r"``.*?``", "", " ".join(said.values())):
        yield "has a shape with n_rows instead of n_samples"


def test_docstrings_name_parameters_defaults_and_samples() -> None:
    found = [
        f"{path.relative_to(SOURCE)}: {name} {fault}"
        for path in sorted(SOURCE.rglob("*.py"))
        for name, function, docstring in public_functions(ast.parse(path.read_text(encoding="utf-8")))
        for fault in faults(function, docstring)
    ]
    assert not found, "\n".join(found)
