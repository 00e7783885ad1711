"""The rules in DOT and LaTeX: what is said, that nothing breaks out of it, and that real programs read it."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from ferl import FERLClassifier, FERLTreeClassifier, export_graphviz, export_latex
from ferl._models.tree import fold
from ferl._tell.conditions import Bound
from ferl._tell.statements import statements
from ferl.export.graphviz import quoted
from ferl.export.latex import escaped
from table_examples import mixed_table
from tree_examples import tree_classifier

IRIS = load_iris()
NAMES = ["sepal length", "sepal width", "petal length", "petal width"]
HOSTILE = ['a "quoted"\nline', "back\\slash \\N \\l", "<b>html</b> & &lt; &#65;", "50% $x_1$ #~^{}|--``''"]
HOSTILE_CLASSES = ['"];0->0;//', "\\end{tabular} \\N", "a & b \\\\ %"]
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed: dot is not on the path")
needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed: no pdflatex")


def iris(variant: str = "medium", **options: Any) -> FERLClassifier:
    return tree_classifier(variant, random_state=0, **options).fit(IRIS.data, IRIS.target)


def mixed(variant: str = "medium") -> FERLClassifier:
    table = mixed_table(np.random.default_rng(0), n=300, n_classes=3)
    return tree_classifier(variant, max_rules=12, random_state=0).fit(table.frame, table.y)


def text_of(*args: Any, **options: Any) -> str:
    text = export_graphviz(*args, **options)
    assert text is not None
    return text


def svg_texts(dot: str) -> list[str]:
    """What Graphviz draws, line by line."""
    done = subprocess.run(["dot", "-Tsvg"], input=dot.encode(), capture_output=True, check=True)
    assert done.stderr == b""
    return [
        "".join(own.itertext()) for own in ElementTree.fromstring(done.stdout).iter("{http://www.w3.org/2000/svg}text")
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Folding
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [iris, mixed])
@pytest.mark.parametrize("variant", ["medium", "compact"])
@pytest.mark.parametrize("limits", [(None, None), (2, None), (None, 4), (3, 3), (0, None), (None, 1)])
def test_folding_keeps_every_rule_shown_or_counted(make: Any, variant: str, limits: tuple[Any, Any]) -> None:
    tree = make(variant).tree_
    folded = fold(tree, *limits)
    shown_leaves = sum(bool(tree.is_leaf[node]) for node in folded.nodes)
    assert shown_leaves + sum(folded.n_hidden.values()) == len(tree.leaves)
    assert all(tree.depth[node] <= (limits[0] if limits[0] is not None else 99) for node in folded.nodes)
    ends = [node for node in folded.nodes if node not in folded.children]
    assert limits[1] is None or len(ends) <= limits[1]


def test_the_heaviest_nodes_are_unfolded_first() -> None:
    tree = iris().tree_
    folded = fold(tree, max_rules=4)
    assert len(folded.children) == 3
    lightest = min(tree.weight[node] for node in folded.children)
    assert all(tree.weight[node] <= lightest for node in folded.n_hidden)


# ---------------------------------------------------------------------------------------------------------------------
# Graphviz
# ---------------------------------------------------------------------------------------------------------------------


def test_dot_has_every_node_every_edge_and_their_bands() -> None:
    clf = iris()
    dot, tree = text_of(clf, feature_names=NAMES), clf.tree_
    assert {int(n) for n in re.findall(r"^    (\d+) \[", dot, re.MULTILINE)} == set(range(tree.n_nodes))
    edges = {(int(a), int(b)) for a, b in re.findall(r"(\d+) -> (\d+)", dot)}
    assert edges == {(int(tree.parent[node]), node) for node in range(1, tree.n_nodes)}
    for node in np.flatnonzero(~tree.is_leaf):
        low, high = tree.trapezoid[node + 1, 2:]
        band = Bound((low + high) / 2, (high - low) / 2).text()
        assert f'{node} [label="{NAMES[tree.feature[node + 1]]}\\n{band}\\n' in dot


def test_dot_of_a_folded_tree_says_how_many_rules_are_inside() -> None:
    clf = iris()
    dot = text_of(clf, max_depth=1)
    assert sum(int(n) for n in re.findall(r"\.\.\. (\d+) rules", dot)) + 1 == clf.n_rules_  # setosa is a leaf
    assert "peripheries=2" in dot


def test_dot_goes_to_a_path_a_file_or_the_caller(tmp_path: Path) -> None:
    clf = iris()
    text = text_of(clf)
    assert export_graphviz(clf, tmp_path / "tree.dot") is None
    assert (tmp_path / "tree.dot").read_text(encoding="utf-8") == text + "\n"
    stream = io.StringIO()
    assert export_graphviz(clf, stream) is None
    assert stream.getvalue() == text + "\n"


def test_dot_options_change_what_they_name() -> None:
    clf = iris()
    assert "rankdir=LR" in text_of(clf, rotate=True)
    assert "rankdir=TB" in text_of(clf)
    assert "fillcolor" in text_of(clf)
    assert "fill" not in text_of(clf, filled=False)
    assert re.search(r"x2\\n2\.46 ±0\.09\\n", text_of(clf, decimals=2))
    assert re.search(r"x2\\n2\.\d{4} ±0\.\d{4}\\n", text_of(clf, decimals=4))


@needs_dot
@pytest.mark.parametrize("make", [iris, mixed])
@pytest.mark.parametrize("variant", ["medium", "compact"])
def test_graphviz_reads_trees_of_all_kinds(make: Any, variant: str) -> None:
    clf = make(variant)
    drawn = svg_texts(text_of(clf))
    assert sum(re.fullmatch(r"[\d.]+ rows \(.*\)", text) is not None for text in drawn) == clf.tree_.n_nodes


@needs_dot
def test_graphviz_shows_hostile_names_letter_by_letter() -> None:
    drawn = svg_texts(text_of(iris(), feature_names=HOSTILE, class_names=HOSTILE_CLASSES))
    assert "<b>html</b> & &lt; &#65;" in drawn
    assert any(text.startswith("\\end{tabular} \\N ") for text in drawn)
    assert any(text.startswith('"];0->0;// ') for text in drawn)
    for text in ["back\\slash \\N \\l", 'a "quoted" line', HOSTILE[3]]:
        assert svg_texts(f"digraph {{ 0 [label={quoted(text)}] }}") == [text]


@needs_dot
def test_graphviz_shows_hostile_categories() -> None:
    rng = np.random.default_rng(0)
    names = np.array(['"', "\\N", "</TABLE>", "a\nb", "&amp;"], dtype=object)
    code = rng.integers(5, size=200)
    clf = FERLTreeClassifier("medium", random_state=0).fit(pd.DataFrame({"c": names[code]}), code > 2)
    assert any("\\N" in text and "</TABLE>" in text for text in svg_texts(text_of(clf)))


# ---------------------------------------------------------------------------------------------------------------------
# LaTeX
# ---------------------------------------------------------------------------------------------------------------------


def cells(latex: str) -> list[list[str]]:
    """Cells of the rows that hold rules: cut at ampersands that are not escaped."""
    rows = [line for line in latex.splitlines() if re.match(r"\d+ & ", line)]
    return [[cell.strip() for cell in re.split(r"(?<!\\)&", row.removesuffix(r" \\"))] for row in rows]


@pytest.mark.parametrize("make", [iris, mixed])
@pytest.mark.parametrize("variant", ["medium", "compact"])
def test_latex_has_a_row_for_each_rule_in_their_order(make: Any, variant: str) -> None:
    clf = make(variant)
    rows, rules = cells(export_latex(clf)), statements(clf.model_)
    assert len(rows) == len(rules)
    for row, rule in zip(rows, rules, strict=True):
        assert len(row) == 5
        assert row[2] == str(clf.classes_[rule.label])
        assert float(row[3]) == pytest.approx(rule.adds[rule.label], abs=0.006)
        assert float(row[4]) == pytest.approx(rule.support, abs=0.051)


def test_latex_says_what_is_left_out_and_what_words_mean() -> None:
    clf = iris("compact")
    latex = export_latex(clf, feature_names=NAMES, max_rules=1)
    assert len(cells(latex)) == 1
    assert rf"\ldots{{}} and {clf.model_.is_rule.sum() - 1} more" in latex
    assert "petal length: low below" in latex
    assert "petal length is \\emph{" in latex


def test_latex_escapes_names_and_keeps_its_structure() -> None:
    latex = export_latex(iris(), feature_names=HOSTILE, class_names=HOSTILE_CLASSES)
    assert latex.count(r"\begin{tabular}") == latex.count(r"\end{tabular}") == 1
    assert all(len(row) == 5 for row in cells(latex))
    assert r"\textless{}b\textgreater{}html" in latex
    assert not set("\\$&#%_^~{}") & set(re.sub(r"\\text\w+\{\}|\\[$&#%_{}]", "", escaped("\\$&#%_^~{}")))


def test_latex_tables_float_when_they_have_a_caption() -> None:
    latex = export_latex(iris(), caption="Rules of $x$", label="tab:rules")
    assert latex.startswith(
        "\\begin{table}\n\\centering\n\\caption{Rules of $x$}\n\\label{tab:rules}\n\\begin{tabular}"
    )
    assert latex.endswith("\\end{tabular}\n\\end{table}")


@needs_latex
@pytest.mark.parametrize("variant", ["medium", "compact"])
def test_latex_compiles_with_hostile_names(variant: str, tmp_path: Path) -> None:
    body = "\n\n".join(
        [
            export_latex(iris(variant), feature_names=HOSTILE, class_names=HOSTILE_CLASSES, caption="a", label="b"),
            export_latex(mixed(variant), max_rules=3),
        ]
    )
    head = "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\n"
    (tmp_path / "rules.tex").write_text(f"{head}{body}\n\\end{{document}}\n", encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "-no-shell-escape", "rules.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


# ---------------------------------------------------------------------------------------------------------------------
# Refused
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("export", [export_graphviz, export_latex])
def test_what_cannot_be_exported_is_refused(export: Any) -> None:
    clf = iris()
    with pytest.raises(ValueError, match="decimals is -1"):
        export(clf, decimals=-1)
    with pytest.raises(ValueError, match="max_rules is -1"):
        export(clf, max_rules=-1)
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        export(clf, feature_names=["a"])
    with pytest.raises(TypeError, match="pass the fitted FERLClassifier or"):
        export(make_pipeline(clf))


def test_a_label_without_a_caption_is_refused() -> None:
    with pytest.raises(ValueError, match="label is 'a' and caption None"):
        export_latex(iris(), label="a")
