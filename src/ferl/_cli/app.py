"""The command line: the options and help of ``ferl demo``, ``fit``, ``predict`` and the other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from typer import Argument, Option

from ferl._cli import shell
from ferl._cli.shell import DemoData, Dialect, Kind, Map, Precision, Score, Signal, declare, plain_errors

app = typer.Typer(
    help="Classifiers made of short rules: probabilities with reasons, and abstention where the evidence is thin.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # else [onnx] would be taken for a colour, and lines would break where the source does
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ferl import __version__

        typer.echo(f"ferl {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: bool = Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and stop."
    ),
) -> None:
    """Classifiers made of short rules: probabilities with reasons, and abstention where the evidence is thin."""


@declare(app, "demo")
def demo(
    data: DemoData = Option(
        DemoData.titanic, help="The table: the passengers of the Titanic, or one of scikit-learn's."
    ),
    report: Path = Option("ferl_demo.html", help="Where to write the report, an HTML file."),
    picture: Path | None = Option(None, help="Also write what is printed as an SVG picture."),
    table: Path | None = Option(None, help="Also write the data set as a CSV file, to try the other commands on."),
) -> None:
    """Fit a real table, draw what matters, explain three rows, and write a report."""


@declare(app, "fit", "Stopped. No model was written.")
def fit(
    table: Path = Argument(help="CSV or Parquet file with a header."),
    target: str = shell.TARGET,
    out: Path = Option(..., "-o", "--out", help="Where to write the model, a JSON file."),
    model: Kind = Option(
        Kind.rules,
        help="rules: up to 150 short rules that add up. deep, medium, compact: fuzzy trees of at most 150, 50 or 15 "
        "leaves; the conditions of compact are in words.",
    ),
    words: bool = Option(False, "--words", help="Write conditions in words; the model then has at most 15 rules."),
    cases: bool = Option(
        False, "--cases", help="Let the most similar training rows vote where that helps; the model then keeps rows."
    ),
    categorical: str = Option("", help="Columns of numbers to read as categories, separated by commas."),
    drop: str = Option("", help="Columns to leave out, separated by commas."),
    weights: str | None = Option(None, help="Column with the weight of each row."),
    test: float | None = Option(
        None, help="Share of the rows to hold out and test the model on; with --groups, share of the groups."
    ),
    groups: str | None = Option(
        None,
        help="Column that names the group of each row, such as a patient; --test and inner validation hold out whole "
        "groups. The model does not read it.",
    ),
    held_out: Path | None = Option(None, help="Where to write the rows held out by --test, a .csv or .parquet file."),
    seed: int = Option(0, help="Seed of the random choices.", min=0),
    describe: Path | None = Option(
        None, help="JSON or YAML file with names, units, meanings of values, orders and markers of missing values."
    ),
    allow_many_classes: bool = Option(False, "--allow-many-classes", help="Fit a target with very many classes."),
    settings: list[str] = Option(
        (), "--set", metavar="NAME=VALUE", help="Any parameter of FERLClassifier or FERLTreeClassifier."
    ),
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Learn rules from a table and write them to a model file.

    The table needs no preparation: text columns are categories, and empty fields are missing values. With --test the
    model is fitted on the rows that are not held out, and the printed figures describe this model.

    Example: ferl fit patients.csv --target outcome --drop name --test 0.25 -o model.json
    """


@declare(app, "rows", "Stopped. No answers were written.")
def predict(
    model: Path = shell.MODEL,
    table: Path = shell.TABLE,
    out: str = Option(..., "-o", "--out", help="A .csv, .parquet or .jsonl file; - for standard output."),
    every_class: bool = Option(False, "--all", help="Add the probability, belief and plausibility of every class."),
    probabilities: bool = Option(
        False, "--probabilities", help="Add the probability of every class, also for rows without an answer."
    ),
    only_answers: bool = Option(False, "--only-answers", help="Leave out the columns of the table."),
    prefix: str = Option("", help="Prefix of the names of the added columns."),
    novelty: bool = Option(True, help="Whether to add a column with the novelty of each row."),
    reasons: int = Option(0, min=0, help="Number of columns with reasons to add; for rules only."),
    wished: str | None = Option(
        None,
        help="Class that the reasons are about: they name the values that count most against it.  [default: the most "
        "probable class besides the label: reasons then support the label]",
    ),
    decision: str | None = shell.DECISION,
    guess: bool = Option(False, "--guess", help="Write the most probable label also for rows without an answer."),
    calibration: Path | None = Option(
        None, help="File from ferl calibrate, for sets, abstentions and p-values with a guarantee."
    ),
    alpha: float | None = shell.ALPHA,
    level: float | None = shell.LEVEL,
    radius: bool = Option(
        False, "--radius", help="Add how far the numbers may move, in standard deviations, before the label can change."
    ),
    safe_csv: bool = Option(
        False,
        "--safe-csv",
        help="Put an apostrophe before text that a spreadsheet would read as a formula (=, +, -, @).",
    ),
    as_json: bool = Option(False, "--json", help="Write one JSON object a line."),
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Predict the rows of a table; a file of any size takes constant memory.

    Adds the columns label, probability (of the label), set (of classes, "a|b"), ignorance, rows (about how many
    training rows are behind the answer), novelty, and abstention (why a row has no answer: all_classes, no_evidence,
    risk, novelty, no_promise). A row whose set holds all classes has no label, unless --guess is given. With a
    calibration for an error rate, the rows that it leaves out have no label instead. Sets follow the probabilities, so
    the label of another --decision may lie outside its set. Columns that the model does not read are copied. Standard
    error lists the categories that no training row has.

    A file of costs has the true classes in its first column and the predicted ones in its header (.csv), or is
    {"true": {"predicted": cost}} (.json). A missing pair costs 0 if the label is right, else 1.

    Example: ferl predict model.json new.csv -o answers.csv
    """


@declare(app, "rows")
def explain(
    model: Path = shell.MODEL,
    table: Path = shell.TABLE,
    row: int = shell.ROW,
    as_json: bool = shell.JSON,
    plain: bool = Option(False, "--plain", help="Print plain text, without colours, 80 columns wide."),
    html: Path | None = Option(None, help="Also write an HTML file.", metavar="FILE"),
    decision: str | None = shell.DECISION,
    changes: bool = Option(True, help="Whether to search for changes that would alter the label."),
    details: bool = Option(False, "--details", help="Also print evidence, rules, ignorance, novelty and all changes."),
    form: Any = None,
) -> None:
    """Explain one row in at most eight lines: the answer, the reasons, and what would change it.

    The file is read only as far as the row.

    Example: ferl explain model.json new.csv --row 3
    """


@declare(app, "labelled", "Stopped. No report was written.")
def report(
    model: Path = shell.MODEL,
    table: Path = shell.TABLE,
    out: Path = Option(..., "-o", "--out", help="Where to write the page, an HTML file."),
    target: str | None = Option(None, help="Column that holds the labels, for metrics."),
    title: str | None = Option(None, help="Heading of the page.  [default: what is predicted]"),
    groups: str | None = Option(
        None, help="Column whose values group the rows, to compare accuracy, abstention and error rates."
    ),
    intended_use: str = Option("", help="What the model is for, in a sentence for the model card."),
    limits: str = Option("", help="Where the model must not be used, in a sentence for the model card."),
    date: str = Option("", help="Date on the model card.  [default: today]"),
    decision: str | None = shell.DECISION,
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Write a page about a model and a table: a model card, rules, metrics, doubtful and unusual rows, and a form.

    One file that needs no network. It contains the model, with the training rows that it keeps, and at most 100 rows of
    the table.

    Example: ferl report model.json new.csv --target outcome -o report.html
    """


@declare(app, "evaluate")
def evaluate(
    model: Path = shell.MODEL,
    table: Path = shell.FRESH_TABLE,
    target: str = shell.TARGET,
    calibration: Path | None = Option(None, help="File from ferl calibrate, to test its guarantees."),
    alpha: float | None = shell.ALPHA,
    level: float | None = shell.LEVEL,
    decision: str | None = shell.DECISION,
    as_json: bool = shell.JSON,
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Test a model on labelled rows: accuracy beside the baseline, recall of each class, sets, abstention.

    The options of ferl predict have the same meaning here. Accuracy and recall count the most probable class of rows
    without an answer.

    Example: ferl evaluate model.json held_out.csv --target outcome
    """


@declare(app, "evaluate")
def compare(
    model: Path = shell.MODEL,
    other: Path = Argument(help="Model file of the challenger."),
    table: Path = shell.FRESH_TABLE,
    target: str = shell.TARGET,
    as_json: bool = shell.JSON,
    html: Path | None = Option(None, help="Also write an HTML file.", metavar="FILE"),
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Compare two models on labelled rows: accuracy, AUC and log-loss with paired intervals, and where they differ.

    Example: ferl compare champion.json challenger.json held_out.csv --target outcome
    """


@declare(app, "evaluate", "Stopped. No calibration was written.")
def calibrate(
    model: Path = shell.MODEL,
    table: Path = shell.FRESH_TABLE,
    out: Path = Option(..., "-o", "--out", help="Where to write the calibration, a JSON file."),
    target: str | None = Option(None, help="Column that holds the labels; without it only novelty is calibrated."),
    alpha: float = Option(0.1, help="How often a set may miss the true class."),
    class_conditional: bool = Option(
        False, "--class-conditional", help="Guarantee the sets for every class separately."
    ),
    score: Score = Option(Score.probability, help="How sets compare classes."),
    risk: float | None = Option(None, help="Abstain so that at most this share of the answers is wrong."),
    confidence: float = Option(0.95, help="Probability with which the guarantee of --risk holds."),
    signal: Signal = Option(Signal.margin, help="Signal that --risk compares with a threshold."),
    decision: str | None = Option(
        None, help="Decision that the guarantee of --risk is about; see ferl predict.  [default: probable]"
    ),
    probabilities: Map | None = Option(None, help="Correct probabilities by the frequencies in these rows."),
    seed: int = Option(0, help="Seed of the rows that --risk sets aside.", min=0),
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Compute guarantees from rows that the model was not fitted on, for ferl predict --calibration.

    Sets miss the true class at most as often as --alpha allows, and novelty gets p-values. On request, answers get an
    error rate (--risk) and probabilities are calibrated (--probabilities). The guarantees hold for new rows from the
    same source as these rows.

    Example: ferl calibrate model.json held_out.csv --target outcome --alpha 0.1 --risk 0.05 -o calibration.json
    """


@declare(app, "rows")
def certify(
    model: Path = shell.MODEL,
    table: Path = shell.TABLE,
    row: int = shell.ROW,
    guess: bool = Option(False, "--guess", help="Prove the most probable class of a row that has no answer."),
    form: Any = None,
) -> None:
    """Prove how far the numbers of a row may move before its label can change, and name the features that limit it.

    Distances are in standard deviations over the training rows. ferl predict --radius does it for all rows. A row
    without an answer has no label to prove.

    Example: ferl certify model.json new.csv --row 3
    """


@declare(app, "labelled")
def drift(
    model: Path = shell.MODEL,
    table: Path = shell.FRESH_TABLE,
    target: str = shell.TARGET,
    as_json: bool = shell.JSON,
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Compare later rows with the training rows; the model does not change.

    Example: ferl drift model.json march.csv --target outcome
    """


@declare(app, "labelled", "Stopped. No model was written.")
def update(
    model: Path = shell.MODEL,
    table: Path = shell.FRESH_TABLE,
    target: str = shell.TARGET,
    out: Path = Option(..., "-o", "--out", help="Where to write the updated model, a JSON file."),
    as_json: bool = shell.JSON,
    form: Any = None,
    jobs: int = shell.JOBS,
) -> None:
    """Update the weights of a model with later rows; its conditions stay. Prints how the rows differ.

    Example: ferl update model.json march.csv --target outcome -o model_march.json
    """


@declare(app, "model_files")
def inspect(
    model: Path = shell.MODEL,
    rules: bool = Option(False, "--rules", help="Print the rules as well, in a pager on a terminal."),
    top: int | None = Option(None, min=1, help="Number of rules to print, the strongest first."),
    page: int | None = Option(None, min=1, help="Page of the rules to print, 40 lines each."),
    as_json: bool = shell.JSON,
) -> None:
    """Show the content of a model file: kind of model, features, classes, rules, training rows kept.

    Example: ferl inspect model.json --rules
    """


@declare(app, "model_files", "Stopped. No file was written.")
def export(
    model: Path = shell.MODEL,
    out: Path | None = Option(None, "-o", "--out", help="Where to write the ONNX file."),
    scorecard: Path | None = Option(
        None, help="Where to write a scorecard of rules: .csv, .txt, .tex or .html.", metavar="FILE"
    ),
    rounded: bool = Option(False, "--rounded", help="Round the points of the scorecard to whole numbers."),
    safe_csv: bool = Option(
        False,
        "--safe-csv",
        help="In a .csv scorecard, put an apostrophe before text that a spreadsheet would take for a formula.",
    ),
    positive: str | None = Option(
        None, "--positive", "--wished", help="Class that points support; for two classes.  [default: the second class]"
    ),
    base_points: float | None = Option(None, help="Score of a row whose odds are --base-odds to one.  [default: 600]"),
    base_odds: float | None = Option(None, help="Odds at which the score is --base-points.  [default: 50]"),
    points_to_double: float | None = Option(None, help="Points that double the odds.  [default: 20]"),
    novelty: bool = Option(True, help="Whether ONNX also returns novelty, which takes up most of the file."),
    dtype: Precision = Option(Precision.float64, help="Type of the numbers that ONNX reads and returns."),
    sql: Path | None = Option(None, help="Where to write the model as one SELECT.", metavar="FILE"),
    dialect: Dialect | None = Option(None, help="The database of --sql.  [default: duckdb]"),
    table: str | None = Option(
        None, help="Table that --sql reads; put points between its schema and its name.  [default: rows]"
    ),
    keep: str = Option("", help="Columns that --sql also returns, such as a key, separated by commas."),
    python: Path | None = Option(
        None, help="Where to write the model as one Python file that needs no other package.", metavar="FILE"
    ),
    c: Path | None = Option(None, "--c", help="Where to write the model as one file of C99.", metavar="FILE"),
    evidence: bool = Option(
        True,
        help="Whether --sql, --python and --c also return sets and ignorance, which need the rows that rules keep.",
    ),
    reasons: int | None = Option(
        None,
        min=0,
        help="Number of reasons in --sql, --python and --c: the features that added most to the label.  "
        "[default: 3; trees have none]",
    ),
) -> None:
    """Write a model in a form that runs without ferl: ONNX, SQL, plain Python or C; or its rules as a scorecard.

    ONNX needs the package onnx: pip install "ferl[onnx]".

    Example: ferl export model.json -o model.onnx --scorecard points.csv --rounded

    Example: ferl export model.json --sql score.sql --dialect postgres --table ward.patients --keep id
    """


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Measure FERL against its peers: every figure in the docs comes from here.

    Needs the package in the folder benchmarks: pip install ./benchmarks
    """
    with plain_errors(False, "Stopped."):
        from importlib.metadata import entry_points

        result = entry_points(group="ferl.commands", name="bench")
        if not result:
            raise ValueError("the benchmark is not installed: pip install ./benchmarks, in a checkout of ferl.")
        command = result["bench"].load()
    command(context.args, prog_name="ferl bench")


if __name__ == "__main__":
    app()
