"""What the shell says of a table with decimal commas, dates, ordered words, 0 and 1, markers and a rare class."""

import json
import re

import numpy as np
import pytest

from cli_examples import ferl
from ferl import export_text, load_model, overview
from ferl._cli.rows import read_row_of
from ferl._models.nearest import nearest_changes
from ferl._tables.table_files import FileForm, TableFile

DESCRIPTION = {
    "target": {"values": {"0": "granted", "1": "denied", "2": "fraud"}},
    "columns": {
        "income": {"label": "monthly income", "unit": "EUR"},
        "rating": {"order": ["C", "B", "A"]},
    },
}


def bank_rows(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    income, ratio = rng.lognormal(7.9, 0.45, n_rows).round(2), rng.beta(2, 5, n_rows).round(3)
    late, home, rating = rng.poisson(0.5, n_rows), rng.integers(0, 2, n_rows), rng.choice(["C", "B", "A"], n_rows)
    day = np.datetime64("2019-01-01") + rng.integers(0, 2000, n_rows)
    branch = rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], n_rows)
    risk = (
        6 * (ratio - 0.3)
        + late
        - 2 * home
        + (rating == "C")
        - 0.5
        + (day - np.datetime64("2021-09-27")).astype(int) / 700
    )
    outcome = np.where(rng.random(n_rows) < 1 / (1 + np.exp(-risk)), 1, 0)
    outcome[:12] = 2
    lines = ["income;debt ratio;late;home;rating;branch;applied;outcome"]
    for k in range(n_rows):
        said = "NA" if rng.random() < 0.05 else str(ratio[k]).replace(".", ",")
        number = str(income[k]).replace(".", ",")
        lines.append(f"{number};{said};{late[k]};{home[k]};{rating[k]};{branch[k]};{day[k]};{outcome[k]}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """A folder with the table, a rule model of it, and what ``ferl fit`` said."""
    folder = tmp_path_factory.mktemp("bank")
    (folder / "bank.csv").write_text(bank_rows(400), encoding="utf-8")
    (folder / "bank.json").write_text(json.dumps(DESCRIPTION), encoding="utf-8")
    command = ["fit", folder / "bank.csv", "--target", "outcome", "--describe", folder / "bank.json", "--test", "0.5"]
    told = ferl(*command, "--held-out", folder / "held.csv", "--set", "max_rules=25", "-o", folder / "model.json")
    ferl(*command, "--model", "medium", "-o", folder / "tree.json")
    return folder, told


def test_decimal_commas_with_a_marker_among_them_are_numbers(bank):
    folder, told = bank
    assert "column 'debt ratio' holds numbers as text, with 'NA' for missing values" in told.stderr
    summary = json.loads(ferl("inspect", folder / "model.json", "--json").stdout)
    assert {own["name"]: own["kind"] for own in summary["features"]} == {
        "income": "number",
        "debt ratio": "number",
        "late": "number",
        "home": "number",
        "rating": "ordered",
        "branch": "category",
        "applied": "date",
    }
    # A marker that training did not have among numbers with commas.
    (folder / "new.csv").write_text(bank_rows(20, seed=1).replace("NA", "?"), encoding="utf-8")
    ferl("predict", folder / "model.json", folder / "new.csv", "-o", folder / "answers.csv")


def test_rows_held_out_have_the_separator_of_the_table(bank):
    folder, told = bank
    lines = (folder / "held.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "income;debt ratio;late;home;rating;branch;applied;outcome"
    assert set(lines[1:]) <= set(bank_rows(400).splitlines())
    evaluated = ferl("evaluate", folder / "model.json", folder / "held.csv", "--target", "outcome").stdout
    accuracy = next(line for line in told.stdout.splitlines() if line.startswith("test accuracy"))
    assert accuracy in evaluated


def test_figures_name_labels_by_their_meaning_and_warn_of_a_class_that_is_never_found(bank):
    folder, told = bank
    for said in (told, ferl("evaluate", folder / "model.json", folder / "held.csv", "--target", "outcome")):
        assert re.search(r"always predicting (granted|denied) gives", said.stdout)
        assert re.search(r"test recall +granted [\d.]+% of \d+, denied [\d.]+% of \d+, fraud 0.0% of 6", said.stdout)
        assert "note: less than 30% of fraud (6 rows) are predicted" in said.stderr
        assert "--decision balanced" in said.stderr


def test_a_model_that_is_no_better_than_guessing_says_so(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},{'yes' if u < 0.1 else 'no'}" for x, u in rng.random((200, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *rows]), encoding="utf-8")
    command = ["fit", tmp_path / "t.csv", "--target", "y", "--test", "0.5", "-o", tmp_path / "m.json"]
    assert "no better than always predicting no" in ferl(*command, "--set", "max_rules=3").stderr


def test_inspect_speaks_in_the_words_of_the_table(bank):
    folder, _ = bank
    told = ferl("inspect", folder / "model.json").stdout
    assert re.search(r"classes +granted, denied, fraud", told)
    assert "monthly income (EUR)" in told
    assert "C < B < A" in told
    assert re.search(r"\n *rating [^\n]*(C|B|A)", told)  # conditions, not only the columns that they ask
    assert "1 conditions" not in told
    with_rules = ferl("inspect", folder / "model.json", "--rules").stdout
    assert "weights of evidence" not in with_rules  # the rules tell the weights; two beginnings would contradict


def test_the_top_rules_are_never_none(bank):
    folder, _ = bank
    model = load_model(folder / "model.json")
    for top in (1, 2, 5):
        text = export_text(model, max_rules=top)
        assert re.search(r"\(rules? \d|^ +\d+\. if", text, re.MULTILINE), text
    assert "(rule" not in export_text(model, max_rules=0)


def test_categories_with_the_same_weights_are_told_together(bank):
    text = export_text(load_model(bank[0] / "model.json"), width=10_000)
    told = [line for line in text.splitlines() if "any other:" in line]
    assert told
    for line in told:
        weights = [part.split(": ", 1)[1] for part in line.strip().split("; ")]
        assert len(set(weights[:-1])) == len(weights) - 1


def test_dates_are_later_and_earlier(bank):
    folder, _ = bank
    model = load_model(folder / "model.json")
    assert "the later applied, from 20" in export_text(model, width=10_000)
    assert "The later applied" in str(overview(model))
    assert "the higher applied" not in export_text(model, width=10_000)


def test_dates_move_in_trees_alone(bank):
    # Rules read several columns of a date: none of them moves alone.
    folder, _ = bank
    by_model = {}
    for name in ("model", "tree"):
        told = " ".join(
            " ".join(
                ferl("explain", folder / f"{name}.json", folder / "bank.csv", "--details", "--row", row).stdout.split()
            )
            for row in range(20, 32)
        )
        by_model[name] = re.findall(r"If (?:\w+ of )?applied were [^:]*", told)
    assert by_model["model"] == []
    assert by_model["tree"]
    assert all(re.search(r"days? (later|earlier), ", change) for change in by_model["tree"])


def test_a_column_of_0_and_1_is_changed_to_0_or_1_only(bank):
    folder, _ = bank
    model = load_model(folder / "model.json").model_
    file, changes = TableFile(folder / "bank.csv", FileForm()), []
    for number in range(1, 40):
        row = read_row_of(model, file, number).values
        label = int(model.evidence(row).probability.argmax())
        changes += nearest_changes(model, row, label, {}).found
    changed = [{change.value, change.to} for change in changes if change.feature == "home"]
    assert changed
    assert all(values == {0.0, 1.0} for values in changed)


def test_certificates_count_spreads_in_the_words_of_the_table(bank):
    folder, _ = bank
    told = ferl("certify", folder / "model.json", folder / "bank.csv", "--row", 20, "--guess").stdout
    assert "debt ratio" in told
    assert "applied" not in told  # rules read several columns of a date, and dates stay
    for row in range(20, 40):
        told = ferl("certify", folder / "tree.json", folder / "bank.csv", "--row", row, "--guess").stdout
        assert "units of scale" not in told
        assert re.match(r"The label (stays|is) (granted|denied)\b", told)
        if "applied" in told:
            assert re.search(
                r"no number moves by more than [\d.]+ standard deviations; the next label is (granted|denied|fraud)\.",
                told,
            )
            assert re.search(r"applied [\d.]+ days", told)
            return
    raise AssertionError("no row whose certificate the date limits")
