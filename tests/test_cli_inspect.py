"""ferl inspect and the help of commands."""

from __future__ import annotations

import json

import pytest

from cli_examples import ferl
from cli_people import ROWS, folder
from ferl import load_model

__all__ = ["folder"]  # a fixture


def test_inspect_tells_what_is_in_a_model(folder):
    text = ferl("inspect", folder / "model.json", "--rules").output
    for part in ("rules", "no, yes", "training rows kept", "category", "101, 202, 303", "if ", "Evidence for yes"):
        assert part in text
    summary = json.loads(ferl("inspect", folder / "model.json", "--json", "--rules").stdout)
    assert summary["features"][2] == {
        "name": "code",
        "kind": "category",
        "categories": [101, 202, 303],
        "conditions": summary["features"][2]["conditions"],
    }
    model = load_model(folder / "model.json")
    assert summary["n_rules"] == model.n_rules_
    assert summary["training_weight"] == ROWS
    assert sum(own["conditions"] for own in summary["features"]) == model.tree_.n_nodes - 1
    assert any(line.lstrip().startswith("1. if") for line in summary["rules"])


@pytest.mark.parametrize("command", ["fit", "predict", "explain", "report", "inspect", "export"])
def test_help_has_an_example(command):
    assert f"Example: ferl {command} " in help_of(command)


def test_help_says_what_is_counted():
    assert "with --groups, share of the groups" in help_of("fit")
    assert "Accuracy and recall count the most probable class of rows without an answer" in help_of("evaluate")


def test_help_shows_what_stands_in_brackets():
    assert 'pip install "ferl[onnx]"' in help_of("export")
    assert "[default: a comma; .tsv: a tab]" in help_of("predict")


def help_of(command):
    return " ".join(ferl(command, "--help").output.replace("│", " ").split())
