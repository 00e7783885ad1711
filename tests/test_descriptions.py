"""What people say of a table, in files and on the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import ferl
from cli_examples import ferl as command
from ferl import DescriptionError, FERLClassifier, TableDescription, export_text, load_description, load_model
from name_examples import SIZES, loans

YAML = """\
target: {name: deny, values: {0: no, 1: yes}}
missing: [NA, "?"]
columns:
  glucose: {label: plasma glucose, unit: mg/dl}
  size: {order: [low, mid, high]}
"""


def test_descriptions_are_read_from_yaml_and_json(tmp_path):
    (tmp_path / "table.yaml").write_text(YAML, encoding="utf-8")
    said = load_description(tmp_path / "table.yaml")
    assert (said.target.name, dict(said.target.values)) == ("deny", {"0": "no", "1": "yes"})
    assert said.missing == ("NA", "?")
    assert said.columns["size"].order == ("low", "mid", "high")
    form = {
        "target": {"name": "deny", "values": {"0": "no", "1": "yes"}},
        "missing": ["NA", "?"],
        "columns": {"glucose": {"label": "plasma glucose", "unit": "mg/dl"}, "size": {"order": SIZES}},
    }
    (tmp_path / "table.json").write_text(json.dumps(form), encoding="utf-8")
    assert ferl.load_description(tmp_path / "table.json") == said == TableDescription.of(form)


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ([], "the description is .*must be a mapping"),
        ({"colums": {}}, "'colums', which is not known"),
        ({"columns": {"x": {"unit": 3}}}, "columns.x.unit is 3; it must be text"),
        ({"columns": {"x": {"unit": "x" * 201}}}, "at most 200 letters"),
        ({"columns": {"x": {"values": {"0": False}}}}, "columns.x.values.0 is False"),
        ({"columns": {"x": {"values": {True: "yes"}}}}, "a value in columns.x.values is True"),
        ({"columns": {"x": {"order": ["a", "a"]}}}, "has a category twice"),
        ({"columns": {"x": {"order": ["a", 1]}}}, "must all be text, or all be numbers"),
        ({"columns": {"x": {"missing": "NA"}}}, "columns.x.missing is 'NA'; it must be a list"),
        ({"columns": {"x": {"label": "\ud800"}}}, "not valid Unicode"),
        ({"target": {"nam": "y"}}, "'nam', which is not known"),
    ],
)
def test_descriptions_that_are_wrong_say_where(form, message):
    with pytest.raises(DescriptionError, match=message):
        TableDescription.of(form)


def test_descriptions_of_other_tables_and_repeated_keys_are_refused(tmp_path):
    with pytest.raises(DescriptionError, match=r"'agee', which the table does not have. Did you mean 'age'"):
        FERLClassifier().fit(pd.DataFrame({"age": [1, 2]}), [0, 1], units={"agee": "years"})
    with pytest.raises(DescriptionError, match="units is"):
        FERLClassifier().fit(pd.DataFrame({"age": [1, 2]}), [0, 1], units=["years"])
    (tmp_path / "twice.json").write_text('{"target": "y", "target": "z"}')
    with pytest.raises(DescriptionError, match=r"twice.json: the description has 'target' twice"):
        load_description(tmp_path / "twice.json")
    with pytest.raises(DescriptionError, match="format is unknown"):
        load_description(tmp_path / "table.txt")


def test_the_command_line_takes_a_description_and_answers_to_the_markers(tmp_path):
    table, y = loans()
    table = table.assign(size=table["size"].astype(str), deny=y, glucose=table.glucose.round(1).astype(str))
    table.loc[::9, "glucose"] = "?"
    table.loc[::11, "dmi"] = "NA"
    table.to_csv(tmp_path / "table.csv", index=False)
    (tmp_path / "table.yaml").write_text(YAML, encoding="utf-8")
    paths = [str(tmp_path / name) for name in ("table.csv", "table.yaml", "model.json", "out.csv")]
    fit = command("fit", paths[0], "--target", "deny", "--describe", paths[1], "-o", paths[2])
    assert "note: column 'admitted' holds dates as text, and is taken as dates" in fit.stderr
    assert "glucose" not in fit.stderr
    model = load_model(paths[2])
    assert model.model_.schema.target.name == "deny"
    assert [kind.name for kind in model.model_.schema.kinds] == [
        "date",
        "ordered",
        "integer",
        "binary",
        "category",
        "real",
    ]
    assert model.categories_[4].tolist() == ["no", "yes"]
    assert "plasma glucose (mg/dl)" in export_text(model)
    command("predict", paths[2], paths[0], "-o", paths[3], "--all")
    frame = table.drop(columns="deny")
    np.testing.assert_allclose(pd.read_csv(paths[3])["probability(1)"], model.predict_proba(frame)[:, 1], atol=1e-6)
    story = command("explain", paths[2], paths[0], "--row", 4, "--plain")
    assert story.stdout.startswith("deny: "), story.output
    wrong = command("fit", paths[0], "--target", "deny", "--describe", paths[0], "-o", paths[2], code=2)
    assert "format is unknown" in wrong.output
