"""``ferl predict``, ``explain`` and ``certify``: what a model answers to the rows of a file, without scikit-learn."""

from __future__ import annotations

import csv
import json
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer
from rich.console import Console

from ferl._cli.shell import CommandError, check_places, check_rules, check_share, label_named, note, write_page
from ferl._judge.answers import Wanted, judge_file
from ferl._judge.judgement import ABSTENTIONS, AS_FITTED, Rule, judge
from ferl._judge.promises import read_calibration
from ferl._models.decision import FREQUENCY_POWER, Decision
from ferl._models.form import ModelFileError, file_content, parsed_json
from ferl._models.model import Model
from ferl._models.model_file import read_model
from ferl._models.novelty import total_spread
from ferl._tables import OneRow
from ferl._tables.table_files import RowReader, TableFile, format_of
from ferl._tell.explain import explain
from ferl._tell.stability import certify
from ferl._util.text import listed, shown, spoken


def run_predict(asked: Namespace) -> None:
    """Judge the rows of a table, and write them with their answers."""
    if asked.out != "-":
        check_places([Path(asked.out)], asked.model, asked.table, asked.calibration, asked.decision)
    model, _ = read_model(asked.model)
    rule = rule_of(asked, model)
    if asked.safe_csv and format_of(asked.out, asked.as_json) != "csv":
        raise CommandError("--safe-csv is about CSV; leave it out, or write a .csv file.")
    if asked.reasons:
        check_rules(model, "--reasons", asked.model)
    elif asked.wished is not None:
        raise CommandError(f"--wished {asked.wished} is about reasons; add --reasons 4, say.")
    wanted = Wanted(
        asked.every_class,
        asked.only_answers,
        asked.novelty,
        asked.prefix,
        asked.reasons,
        label_named(model, asked.wished, "--wished"),
        rule,
        guess=asked.guess,
        with_radius=asked.radius,
        safe_csv=asked.safe_csv,
        with_probabilities=asked.probabilities,
    )
    outcome = judge_file(model, TableFile(asked.table, asked.form), asked.out, wanted, asked.as_json, asked.jobs)
    for line in outcome.notes:
        note(line)
    if asked.out != "-":
        typer.echo(f"{outcome.n_rows:,} rows predicted; answers in {asked.out}", err=True)
    for word, n_rows in outcome.n_abstained.items():
        is_one = n_rows == 1
        verb = f"{'is' if is_one else 'are'} guessed" if asked.guess else f"{'has' if is_one else 'have'} no label"
        share = f"{'1 row' if is_one else f'{n_rows:,} rows'} ({n_rows / outcome.n_rows:.1%})"
        typer.echo(f"{share} {verb}: {ABSTENTIONS[word]} (abstention: {word})", err=True)


def rule_of(asked: Namespace, model: Model) -> Rule:
    """How answers are chosen by --decision, --calibration, --alpha and --level; what cannot be promised is refused."""
    decision = decision_of(asked.decision, model)
    promised = None if asked.calibration is None else read_calibration(asked.calibration, model, asked.model)
    conformal = None if promised is None else promised.conformal
    check_share("alpha", asked.alpha, ", such as 0.1 for sets that hold 90 %")
    if conformal is not None:
        conformal.check(model.classes, conformal.alpha if asked.alpha is None else asked.alpha)
    elif asked.alpha is not None:
        raise CommandError(
            f"--alpha is {asked.alpha:g}, but there are no calibrated sets. Run ferl calibrate MODEL rows.csv --target "
            "COLUMN -o calibration.json, and add --calibration calibration.json."
        )
    if asked.level is not None:
        check_rules(model, "--level", asked.model)
        if conformal is not None:
            raise CommandError(f"--level is {asked.level:g}, but --calibration determines the sets. Use --alpha.")
        if not 0 < asked.level <= 1:
            raise CommandError(f"--level is {asked.level:g}; it must be above 0 and at most 1, such as 0.8.")
    if promised is not None and promised.control is not None:
        kept = promised.control.decision
        if asked.decision is not None and decision != kept:
            raise CommandError(
                f"--decision is {asked.decision}, but the calibration promises an error rate (calibrate --risk) for "
                f"another label: {kept.text(model.labels)}. Leave --decision out, or calibrate with --decision "
                f"{asked.decision}."
            )
        decision = kept
    return Rule(decision, promised, asked.alpha, asked.level)


def decision_of(text: str | None, model: Model) -> Decision:
    """What --decision stands for: a name, a threshold, or a file of costs; None: the most probable class."""
    if text is None or text in FREQUENCY_POWER:
        return Decision.of(text or "probable", model.classes)
    path = Path(text)
    if path.suffix.lower() in (".csv", ".json"):
        try:
            return Decision.of(_read_costs(path, model), model.classes)
        except ModelFileError as error:
            raise CommandError(f"{path.name}: {error}") from error
    try:
        threshold = float(text)
    except ValueError:
        raise CommandError(
            f"--decision is {text}; it must be {listed(list(FREQUENCY_POWER), 'or')}, a threshold such as 0.3, or a "
            ".csv or .json file of costs by true and predicted class."
        ) from None
    return Decision.of(threshold, model.classes)


def _read_costs(path: Path, model: Model) -> Any:
    """The costs in a file, by labels of the model; lists where a JSON file has no names."""
    if path.suffix.lower() == ".json":
        result = parsed_json(file_content(path))
        if not isinstance(result, dict):
            return result
        table = {true: item for true, item in result.items() if isinstance(item, dict)}
        if len(table) < len(result):
            raise CommandError(f'{path.name} must be {{"true": {{"predicted": cost}}}}, with names of classes.')
        cells = [(true, label, cost) for true, item in table.items() for label, cost in item.items()]
    else:
        head, *lines = list(csv.reader(file_content(path).decode("utf-8-sig").splitlines())) or [[]]
        if len(head) < 2 or any(len(line) != len(head) for line in lines):
            raise CommandError(
                f"{path.name} must have a header with the predicted classes after an empty field, and a line for each "
                "true class: its name and the costs, with commas between."
            )
        texts = [(line[0], label, text) for line in lines for label, text in zip(head[1:], line[1:], strict=True)]
        cells = [(true, label, _cost(text, path)) for true, label, text in texts if text.strip()]
    label_of = partial(label_named, model, option=f"a class in {path.name}")
    return {(label_of(text=true.strip()), label_of(text=label.strip())): cost for true, label, cost in cells}


def _cost(text: str, path: Path) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"{path.name} has the cost {shown(text)}; costs must be numbers.") from None


def run_explain(asked: Namespace) -> None:
    """Explain one row; rows are counted from 1, the header not among them."""
    if asked.as_json and asked.plain:
        raise CommandError("--json and --plain are both given; choose one.")
    check_places([asked.html], asked.model, asked.table, asked.decision)
    model, _ = read_model(asked.model)
    decision = decision_of(asked.decision, model)
    row = read_row_of(model, TableFile(asked.table, asked.form), asked.row)
    story = explain(model, row, counterfactual=asked.changes, decision=decision, details=asked.details)
    if asked.html is not None:
        write_page(asked.html, f"Row {asked.row} of {asked.table.name}", story.to_html())
    if asked.as_json:
        typer.echo(json.dumps(story.to_dict(), ensure_ascii=False, allow_nan=False, indent=2))
    elif asked.plain:
        typer.echo(story.to_text())
    else:
        Console().print(story)
    if asked.html is not None:
        typer.echo(f"explanation written to {asked.html}", err=True)


def run_certify(asked: Namespace) -> None:
    """Print the certificate of a row, counted from 1, in standard deviations. A row without an answer has no label."""
    model, _ = read_model(asked.model)
    row = read_row_of(model, TableFile(asked.table, asked.form), asked.row)
    judged = judge(model, row.values, AS_FITTED)
    if judged.abstains[0] and not asked.guess:
        probable = spoken(model.labels[int(judged.label[0])])
        why = list(ABSTENTIONS.values())[judged.abstention[0]]
        typer.echo(
            f"No answer for row {asked.row:,}: {why}, so that there is no label to prove.\n"
            f"Add --guess for the proof of {probable}, the most probable class."
        )
        return
    spread = total_spread(model.tree)[: model.n_features]
    result = certify(model, row.values, "spread")
    typer.echo(str(result))
    units = []
    for name in result.limits:
        feature = result.names.index(name)
        kind = model.column_kinds[feature]
        counted = " days" if kind.is_date else " categories" if kind.is_ordered else ""
        units.append(f"{spoken(name)} {spread[feature]:.4g}{counted}")
    listed = f": {', '.join(units)}" if units else ""
    typer.echo(f"Standard deviations over the training rows{listed}")


def read_row_of(model: Model, file: TableFile, number: int) -> OneRow:
    """The row of this number, from 1; the file is read up to there."""
    if number < 1:
        raise CommandError(f"--row is {number}; rows are counted from 1, the header not among them.")
    reader = RowReader(model.schema, model.derived, file.names, file.path, file.form, model.read_features)
    read = reader.read(_row_of(file, number))
    features = {name: f for f, name in enumerate(reader.features)}
    return OneRow(read.rows, {features[name]: next(iter(result)) for name, result in read.unseen.items()})


def _row_of(file: TableFile, number: int) -> pa.Table:
    n_rows = 0
    for batch in file.batches():
        if number <= n_rows + batch.num_rows:
            return batch.slice(number - 1 - n_rows, 1)
        n_rows += batch.num_rows
    rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    raise CommandError(f"--row is {number}; {file.path.name} has {rows}. Choose one of them, counted from 1.")
