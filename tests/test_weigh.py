"""What tools/weigh.py counts in the files of the library."""

from __future__ import annotations

import ast
import importlib.util
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_spec = importlib.util.spec_from_file_location("weigh", ROOT / "tools/weigh.py")
assert _spec is not None
assert _spec.loader is not None
weigh = importlib.util.module_from_spec(_spec)
sys.modules["weigh"] = weigh
_spec.loader.exec_module(weigh)


def test_blanks_comments_and_docstrings_are_no_code():
    text = '"""A module."""\n\n# why\nx = """two\nlines"""\n\ndef f():\n    """Nothing."""\n    return x  # this\n'
    assert weigh.code_lines(text) == 4


@pytest.mark.parametrize(
    ("source", "spelling"),
    [
        ("model.weights is None", "weights is None"),
        ("a if clf.model_.weights else b", "weights is None"),
        ("evidence.weighed is not None", "weighed is None"),
        ("is_wide(model)", "is_wide and the like"),
        ("model.is_tree", "is_wide and the like"),
        ("isinstance(model, RuleModel | TreeModel)", "isinstance"),
        ("isinstance(model, (int, _models.TreeModel))", "isinstance"),
        ("type(model) is RuleModel", "isinstance"),
        ("hasattr(model, 'weights')", "hasattr"),
        ("getattr(model, 'tree', None)", "hasattr"),
        ("self.variant in ('wide', 'compact')", "kind == name"),
        ("model.kind == 'rules'", "kind == name"),
        ("form['kind'] != 'tree'", "kind == name"),
        ("model.partition is None", "besides: partition is None"),
        ("column.kind == 'number'", None),
        ("sample_weight is None", None),
        ("isinstance(values, np.ndarray)", None),
    ],
)
def test_questions_about_the_kind_of_a_model(source, spelling):
    spellings = {found for node in ast.walk(ast.parse(source)) if (found := weigh.spelling_of(node)) is not None}
    assert spellings == ({spelling} if spelling else set())


def test_what_the_files_of_this_tree_hold(capsys):
    weigh.main(["--static", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["modules"] == len(list((ROOT / "src/ferl").rglob("*.py")))
    assert found["lines"] == sum(package["lines"] for package in found["packages"].values())
    assert found["questions"] <= len(found["question_places"])
    assert found["parameters"]["FERLClassifier"] > 0
    assert 0 < found["tests_with_private_imports"] < found["test_files"]
    weigh.main(["--static", "--places"])
    assert "questions about the kind" in capsys.readouterr().out
