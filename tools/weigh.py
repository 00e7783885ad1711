"""Weigh the library: lines of code, modules, questions about the kind of a model, module switches, and time.

    python tools/weigh.py                                # this tree: what its files hold, and what two runs call
    python tools/weigh.py --static --places              # what its files hold alone, with every place by file and line
    python tools/weigh.py --tree ../older --json         # another tree, built before (its src/ferl has the core)
    python tools/weigh.py --time --against ../older      # processor time of both trees, and their ratios

Nothing of the library is imported here. What has to run, runs in a process whose PYTHONPATH is the tree's ``src``, so
that older and newer trees are weighed alike.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}

KINDS = {"wide", "deep", "medium", "compact", "rule", "rules", "tree", "trees", "weights"}
"""Values that a kind of model is compared with."""
KIND_NAMES = re.compile(r"^(variant|kind|family|combination|model|model_kind|kind_of_model|.*_kind|__name__)$")
FLAGS = re.compile(r"(^|_)(is|are|has)_(wide|weighed|weights|rules?|trees?|rule_model|tree_model)$|^adds_up$")
"""Names of answers to the question: a property, a function, a variable."""
TYPES = re.compile(r"^_?(FERL|DaskFERL|Rule|Tree|Wide|Weigh)\w*$")
"""Types of which each belongs to one kind of model."""
PARTS = {"weights", "weighed", "tree", "trees", "rules", "terms", "is_rules", "is_tree"}
"""Parts that one kind of model has and another has not."""
SAMPLE_WEIGHTS = {"_learn/batches.py", "_cli/fit.py", "concepts/torch_detector.py"}
"""Files where ``weights`` are those of rows or of a network."""
OPTIONAL = {"partition", "balance"}
"""Parts that a model or a story may have; counted apart."""


def code_lines(text: str) -> int:
    """Number of lines that hold code: no blanks, comments, docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(getattr(first.value, "value", None), str):
                lines.difference_update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(lines)


def last_name(node: ast.AST | None) -> str:
    """The name of a variable, or the last one of ``a.b.c``; empty for everything else."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def strings(node: ast.AST) -> set[str]:
    """The string constants in an expression."""
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def types_in(node: ast.AST) -> bool:
    """Whether an expression names a type that belongs to one kind of model."""
    return any(TYPES.match(last_name(part)) for part in ast.walk(node))


def spelling_of(node: ast.AST) -> str | None:
    """How a node of the syntax tree inquires what kind a model is; None where it does not."""
    if isinstance(node, ast.Compare):
        return _spelling_of_comparison(node)
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
        return "is_wide and the like" if FLAGS.search(last_name(node)) else None
    if isinstance(node, ast.Call):
        called = last_name(node.func)
        if called in ("isinstance", "issubclass") and len(node.args) == 2 and types_in(node.args[1]):
            return "isinstance"
        if called in ("hasattr", "getattr") and len(node.args) == (2 if called == "hasattr" else 3):
            return "hasattr" if strings(node.args[1]) & PARTS else None
    if isinstance(node, ast.MatchClass):
        return "isinstance" if types_in(node.cls) else None
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        return _truth(node.test)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return _truth(node.operand)
    return None


def _spelling_of_comparison(node: ast.Compare) -> str | None:
    left, right = last_name(node.left), node.comparators[0]
    if isinstance(node.ops[0], ast.Is | ast.IsNot):
        if isinstance(right, ast.Constant) and right.value is None:
            if left in ("weights", "weighed"):
                return f"{left} is None"
            return f"besides: {left} is None" if left in OPTIONAL else None
        return "isinstance" if isinstance(node.left, ast.Call) and types_in(right) else None
    if isinstance(node.left, ast.Subscript):
        left = next(iter(strings(node.left.slice)), "")
    if KIND_NAMES.match(left) and any(strings(other) & KINDS or types_in(other) for other in node.comparators):
        return "kind == name"
    return None


def _truth(node: ast.AST) -> str | None:
    return "weights is None" if isinstance(node, ast.Attribute) and node.attr in ("weights", "weighed") else None


def modules(tree: Path) -> list[Path]:
    """The modules of the library."""
    return sorted((tree / "src/ferl").rglob("*.py"))


def questions(tree: Path) -> list[dict[str, Any]]:
    """The places that inquire what kind a model is: file, line, spelling and source."""
    result = []
    for path in modules(tree):
        file = path.relative_to(tree / "src/ferl").as_posix()
        for node in ast.walk(ast.parse(path.read_text())):
            spelling = spelling_of(node)
            if spelling is None or (spelling.startswith("weights") and file in SAMPLE_WEIGHTS):
                continue
            source = ast.unparse(node).splitlines()[0]
            result.append({"file": file, "line": node.lineno, "spelling": spelling, "source": source})  # type: ignore[attr-defined]
    return sorted(result, key=lambda place: (place["file"], place["line"]))


def parameters(tree: Path) -> dict[str, int]:
    """Number of parameters of each public estimator; a class without a constructor has that of its first base."""
    classes: dict[str, tuple[list[str], int | None]] = {}
    for path in modules(tree):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                made = next((n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None)
                count = None if made is None else len(made.args.args) + len(made.args.kwonlyargs) - 1
                classes[node.name] = ([last_name(base) for base in node.bases], count)

    def count(name: str) -> int | None:
        bases, n_parameters = classes.get(name, ([], None))
        return n_parameters if n_parameters is not None else next((n for n in map(count, bases) if n is not None), None)

    public = [name for name in classes if "FERL" in name and not name.startswith("_") and "Error" not in name]
    return {name: n for name in sorted(public) if (n := count(name)) is not None}


def private_imports(tree: Path) -> tuple[list[str], int]:
    """Test files that import private names of the library, the core left out, and the number of all test files."""
    files = sorted((tree / "tests").glob("test_*.py"))
    return [path.name for path in files if any(map(_is_private, _imported(path)))], len(files)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _is_private(name: str) -> bool:
    parts = name.split(".")
    return parts[0] == "ferl" and any(part.startswith("_") and part not in ("_core", "__version__") for part in parts)


def static(tree: Path) -> dict[str, Any]:
    """What the files of a tree hold."""
    packages: dict[str, dict[str, int]] = defaultdict(lambda: {"modules": 0, "lines": 0})
    for path in modules(tree):
        package = packages[path.relative_to(tree / "src/ferl").parts[0]]
        package["modules"] += 1
        package["lines"] += code_lines(path.read_text())
    places = questions(tree)
    asked = {(place["file"], place["line"]) for place in places if not place["spelling"].startswith("besides")}
    private, n_tests = private_imports(tree)
    return {
        "lines": sum(package["lines"] for package in packages.values()),
        "modules": sum(package["modules"] for package in packages.values()),
        "packages": dict(packages),
        "questions": len(asked),  # lines: several questions in one are one place
        "question_files": len({file for file, _ in asked}),
        "questions_by_spelling": dict(Counter(place["spelling"] for place in places).most_common()),
        "question_places": places,
        "parameters": parameters(tree),
        "tests_with_private_imports": len(private),
        "test_files": n_tests,
    }


PREPARED = """
import json, os, statistics, sys, tempfile, time, warnings
import numpy as np, pandas as pd
from importlib import import_module
from sklearn.datasets import load_breast_cancer
import ferl
from ferl import FERLClassifier
warnings.simplefilter("ignore")
tumours = load_breast_cancer(as_frame=True)
module, name = sys.argv[1].split(":")
folder = tempfile.mkdtemp()
def run(*words):
    keep, sys.stdout = sys.stdout, open(os.devnull, "w")
    try:
        getattr(import_module(module), name)([*words], standalone_mode=False)
    finally:
        sys.stdout = keep
table, others, model, page = (os.path.join(folder, own) for own in ("a.csv", "b.csv", "model.json", "page.html"))
tumours.frame[::2].to_csv(table, index=False)
tumours.frame[1::2].to_csv(others, index=False)
run("fit", table, "--target", "target", "-o", model)
def report():
    run("report", model, others, "--target", "target", "-o", page)
"""
"""Breast cancer: rules of every other row in a file, and what writes a page on the rows between."""

SWITCHES = """
frame = tumours.data.copy()
frame["colour"] = pd.Categorical(np.random.default_rng(0).choice(["red", "green", "blue"], len(frame)))
root = os.path.dirname(ferl.__file__) + os.sep
def module_of(frame):
    while frame is not None and not frame.f_code.co_filename.startswith(root):
        frame = frame.f_back
    return frame and frame.f_code.co_filename
def switches(work):
    work()  # what is imported late is imported now
    seen = {"calls": 0, "switches": 0}
    called = set()
    def look(frame, event, _):
        own = frame.f_code.co_filename
        if event in ("call", "return") and own.startswith(root):
            seen["calls"] += event == "call"
            called.add(own)
            seen["switches"] += module_of(frame.f_back) not in (None, own)
    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {**seen, "modules": len(called)}
print(json.dumps({"fit": switches(lambda: FERLClassifier().fit(frame, tumours.target)), "report": switches(report)}))
"""

TIMES = """
def trees():
    made = getattr(ferl, "FERLTreeClassifier", FERLClassifier)
    return made("deep", random_state=0)
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 10))
y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=20000) > 0).astype(int)
frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(10)])
frame["colour"] = pd.Categorical(rng.choice(["red", "green", "blue"], 20000))
values, labels = tumours.data.to_numpy(), tumours.target.to_numpy()
rules = FERLClassifier(random_state=0).fit(X, y)
tree = trees().fit(X, y)
row = X[:1]
def seconds(work, times=1):
    work()
    taken = []
    for _ in range(3):
        begin = time.process_time()
        for _ in range(times):
            work()
        taken.append((time.process_time() - begin) / times)
    return statistics.median(taken)
print(json.dumps({
    "fit rules, 569 x 30": seconds(lambda: FERLClassifier(random_state=0).fit(values, labels)),
    "fit rules, frame of 20,000 x 11": seconds(lambda: FERLClassifier(random_state=0).fit(frame, y)),
    "fit tree, 569 x 30": seconds(lambda: trees().fit(values, labels), 10),
    "fit tree, frame of 20,000 x 11": seconds(lambda: trees().fit(frame, y), 3),
    "predict_proba of rules, 20,000 rows": seconds(lambda: rules.predict_proba(X), 10),
    "predict_proba of a tree, 20,000 rows": seconds(lambda: tree.predict_proba(X), 10),
    "predict_proba of rules, one row": seconds(lambda: rules.predict_proba(row), 500),
    "predict_proba of a tree, one row": seconds(lambda: tree.predict_proba(row), 500),
    "report": seconds(report),
}))
"""


def run_in(tree: Path, script: str) -> dict[str, Any]:
    """The JSON that a script prints last, run with the library of a tree."""
    door = tomllib.loads((tree / "pyproject.toml").read_text())["project"]["scripts"]["ferl"]
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve() / "src")}
    done = subprocess.run(
        [sys.executable, "-c", PREPARED + script, door], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"The library in {tree} did not run:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def times(tree: Path, against: Path | None, rounds: int) -> dict[str, dict[str, float]]:
    """Processor seconds of a tree and of another one in turn, medians of the rounds, and their ratios."""
    trees = {"seconds": tree} | ({} if against is None else {"against": against})
    result: dict[str, dict[str, list[float]]] = {}
    for _ in range(rounds):
        for side, folder in trees.items():
            for work, taken in run_in(folder, TIMES).items():
                result.setdefault(work, {}).setdefault(side, []).append(taken)
    medians = {work: {side: statistics.median(all_) for side, all_ in sides.items()} for work, sides in result.items()}
    if against is not None:
        for sides in medians.values():
            sides["ratio"] = sides["seconds"] / sides["against"]
    return medians


def print_text(result: dict[str, Any], places: bool) -> None:
    """Print what was found for people."""
    print(f"lines of code                {result['lines']:8,}\nmodules                      {result['modules']:8,}")
    for name, package in sorted(result["packages"].items(), key=lambda item: -item[1]["lines"]):
        print(f"    {name:<24}{package['modules']:5} {package['lines']:6,}")
    print(f"questions about the kind     {result['questions']:8,} in {result['question_files']} files")
    for spelling, n in result["questions_by_spelling"].items():
        print(f"    {spelling:<28}{n:5}")
    if places:
        for place in result["question_places"]:
            print(f"    {place['file']}:{place['line']}: {place['source']}")
    print("parameters")
    for name, n in result["parameters"].items():
        print(f"    {name:<28}{n:5}")
    print(f"tests with private imports   {result['tests_with_private_imports']:8,} of {result['test_files']} files")
    for work, run in result.get("runs", {}).items():
        what = f"{run['switches']:8,} of {run['calls']:,} calls over {run['modules']} modules"
        print(f"module switches of {work:<10}{what}")
    for work, sides in result.get("times", {}).items():
        other = f" against {1e3 * sides['against']:10.3f} ms: {sides['ratio']:.2f}" if "ratio" in sides else ""
        print(f"{work:<38}{1e3 * sides['seconds']:10.3f} ms{other}")


def main(arguments: list[str] | None = None) -> None:
    """Weigh a tree and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parents[1], help="the tree to weigh")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--places", action="store_true", help="print every place that inquires what kind a model is")
    parser.add_argument("--static", action="store_true", help="only what files hold; run nothing")
    parser.add_argument("--time", action="store_true", help="processor time of fits, answers and the report")
    parser.add_argument("--against", type=Path, metavar="DIR", help="another tree, whose time is measured in turn")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of timing; their median counts")
    given = parser.parse_args(arguments)
    result = static(given.tree)
    if not given.static:
        result["runs"] = run_in(given.tree, SWITCHES)
    if given.time:
        result["times"] = times(given.tree, given.against, given.rounds)
    if given.json:
        print(json.dumps(result, indent=2))
    else:
        print_text(result, given.places)


if __name__ == "__main__":
    main()
