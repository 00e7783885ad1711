"""The command line: ``ferl demo``, ``fit``, ``predict``, ``explain``, ``report``, ``inspect``, ``export`` and more."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ferl._cli import labelled_commands
from ferl._cli.errors import check_outputs, check_place, check_wide, plain_errors
from ferl._cli.options import (
    DebugOption,
    Decision,
    DecisionOption,
    JobsOption,
    MissingOption,
    SeparatorOption,
    label_named,
    names_in,
)

app = typer.Typer(
    help="Fuzzy rules that justify their answers and say when not to trust them.",
    no_args_is_help=True,
    rich_markup_mode="markdown",  # else [onnx] would be taken for a colour, and lines would break where the source does
    pretty_exceptions_enable=False,
    add_completion=False,
)


class Kind(StrEnum):
    """Kinds of models: rules, and the paper's trees."""

    rules = "rules"
    deep = "deep"
    medium = "medium"
    compact = "compact"


class Precision(StrEnum):
    """Types of numbers in ONNX files."""

    float64 = "float64"
    float32 = "float32"


class DemoData(StrEnum):
    """Data sets that come with scikit-learn."""

    iris = "iris"
    wine = "wine"
    breast_cancer = "breast_cancer"


def _print_version(wanted: bool) -> None:
    if wanted:
        from ferl import __version__

        typer.echo(f"ferl {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Fuzzy rules that justify their answers and say when not to trust them."""


@app.command()
def demo(
    data: Annotated[DemoData, typer.Option(help="Which of scikit-learn's embedded data sets to use.")] = DemoData.iris,
    report: Annotated[Path, typer.Option(help="Where to write the report, an HTML file.")] = Path("ferl_demo.html"),
    picture: Annotated[Path | None, typer.Option(help="Also write what is printed as an SVG picture.")] = None,
    table: Annotated[
        Path | None, typer.Option(help="Also write the data set as a CSV file, to try the other commands on.")
    ] = None,
    debug: DebugOption = False,
) -> None:
    """Fit an embedded data set; show rules, the evidence of three rows, what it is the sum of, and write a report."""
    with plain_errors(debug, "Stopped."):
        from ferl._cli.demo import run

        check_outputs(picture, report, table)
        for path in filter(None, (picture, report, table)):
            check_place(path)
        run(data.value, picture, report, table)


@app.command()
def fit(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with a header.")],
    target: Annotated[str, typer.Option(help="Column that holds the labels.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write the model, a JSON file.")],
    model: Annotated[
        Kind,
        typer.Option(
            help="rules: up to 150 short rules whose evidence adds up. deep, medium, compact: the paper's trees, of at "
            "most 150, 50 or 15 leaves, compact in words."
        ),
    ] = Kind.rules,
    words: Annotated[bool, typer.Option("--words", help="Rules in words; at most 15 of them.")] = False,
    categorical: Annotated[str, typer.Option(help="Columns of numbers that are categories, commas between.")] = "",
    drop: Annotated[str, typer.Option(help="Columns to leave out, with commas between.")] = "",
    weights: Annotated[str | None, typer.Option(help="Column that says how often each row counts.")] = None,
    test: Annotated[
        float | None,
        typer.Option(help="Share of the rows to hold out and test the model on; with --groups, share of the groups."),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            help="Column of what rows belong to, such as a patient or a machine: --test holds out whole groups. The "
            "model does not read it."
        ),
    ] = None,
    held_out: Annotated[
        Path | None, typer.Option(help="Where to write the rows held out by --test, a .csv or .parquet file.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resamples and of the rows held out.", min=0)] = 0,
    describe: Annotated[
        Path | None,
        typer.Option(help="JSON or YAML file with names, units, meanings of values, orders, missing markers."),
    ] = None,
    allow_many_classes: Annotated[
        bool, typer.Option("--allow-many-classes", help="Fit a target of very many values, each of them a class.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any parameter of FERLClassifier or FERLTreeClassifier."),
    ] = None,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Learn rules from a table and write them to a model file.

    The table needs no preparation: text is categories, empty fields are missing values. With --test the model is fitted
    on the other rows, so that the figures printed are those of this model.

    Example: ferl fit patients.csv --target outcome --drop name --test 0.25 -o model.json
    """
    with plain_errors(debug, "Stopped. No model was written."):
        from ferl._cli.fit import Choice, parsed_settings, run_fit
        from ferl._tables.table_files import FileForm

        if test is not None and not 0 < test < 1:
            raise ValueError(f"--test is {test}; it must be a share between 0 and 1, such as 0.25.")
        if held_out is not None and test is None:
            raise ValueError("--held-out is for the rows that --test holds out; add --test 0.25, say.")
        if groups is not None and test is None:
            raise ValueError(f"--groups {groups} is about the rows that --test holds out; add --test 0.25, say.")
        parameters = {"random_state": seed, **({"words": True} if words else {}), **parsed_settings(settings or [])}
        choice = Choice(target, weights, names_in(categorical), names_in(drop), groups)
        run_fit(
            table,
            out,
            choice,
            FileForm(separator, names_in(missing)),
            model.value,
            parameters,
            test,
            held_out,
            jobs,
            allow_many_classes,
            describe,
        )


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was fitted on.")],
    out: Annotated[str, typer.Option("-o", "--out", help="A .csv, .parquet or .jsonl file; - for standard output.")],
    every_class: Annotated[
        bool, typer.Option("--all", help="Add probability, belief and plausibility of every class.")
    ] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Add the probability of every class, of abstaining rows too.")
    ] = False,
    only_answers: Annotated[bool, typer.Option("--only-answers", help="Leave out the columns of the table.")] = False,
    prefix: Annotated[str, typer.Option(help="Put this before the names of the columns that are added.")] = "",
    novelty: Annotated[bool, typer.Option(help="Whether to tell how unlike the training rows each row is.")] = True,
    reasons: Annotated[
        int, typer.Option(min=0, help="Add so many columns that say what spoke for the label most; for wide rules.")
    ] = 0,
    wished: Annotated[
        str | None,
        typer.Option(
            help="Reasons say what cost a row most on its way to this class.  [default: the most probable class but "
            "the label, so that they say what spoke for the label]"
        ),
    ] = None,
    decision: DecisionOption = Decision.probable,
    guess: Annotated[
        bool, typer.Option("--guess", help="Give abstaining rows their most probable label all the same.")
    ] = False,
    calibration: Annotated[
        Path | None, typer.Option(help="File from ferl calibrate: sets, abstention and p-values that keep a promise.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="How often a set may miss the true class.  [default: as calibrated]")
    ] = None,
    radius: Annotated[
        bool, typer.Option("--radius", help="Add how far numbers may move, in spreads, while the label provably stays.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv", help="Put an apostrophe before text that a spreadsheet would take for a formula: =, +, -, @."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Judge the rows of a table by a model, a file of any size in constant memory.

    Adds the columns label, probability (of the label), set (the classes that stay possible, "a|b"), ignorance, novelty,
    and abstention (why a row has no answer: all_classes, no_evidence, risk, novelty, no_promise). A row whose set is
    all classes abstains: it has no label, unless --guess is given. With a calibration that promises an error rate, the
    rows that it leaves out abstain instead, whatever their set. Sets go by probability, so that the label of --decision
    balanced may lie outside. Columns that the model does not know are passed on. Categories that training did not have
    are counted and named on standard error.

    Example: ferl predict model.json new.csv -o answers.csv
    """
    with plain_errors(debug, "Stopped. No answers were written."):
        from ferl._models.model_file import read_model
        from ferl._read.answers import Wanted, judge_file
        from ferl._read.calibration import check_alpha, read_calibration
        from ferl._tables.table_files import FileForm, TableFile, format_of

        if out != "-":
            check_place(Path(out), model, table, *([] if calibration is None else [calibration]))
        fitted, _ = read_model(model)
        promise = None if calibration is None else read_calibration(calibration, fitted, model)
        check_alpha(promise, alpha, fitted)
        if safe_csv and format_of(out, as_json) != "csv":
            raise ValueError("--safe-csv is about CSV; leave it out, or write a .csv file.")
        file = TableFile(table, FileForm(separator, names_in(missing)))
        if reasons:
            check_wide(fitted, "--reasons", model)
        if wished is not None and not reasons:
            raise ValueError(f"--wished {wished} is about reasons; add --reasons 4, say.")
        wished_label = None if wished is None else label_named(fitted, wished, "--wished")
        wanted = Wanted(
            every_class,
            only_answers,
            novelty,
            prefix,
            reasons,
            wished_label,
            decision.value,
            guess=guess,
            calibration=promise,
            alpha=alpha,
            with_radius=radius,
            safe_csv=safe_csv,
            with_probabilities=probabilities,
        )
        wanted.rule.check()
        outcome = judge_file(fitted, file, out, wanted, as_json, jobs)
        for note in outcome.notes:
            typer.echo(f"note: {note}", err=True)
        if out != "-":
            typer.echo(f"{outcome.n_rows:,} rows judged; answers in {out}", err=True)
        for word, n_rows in outcome.n_abstained.items():
            typer.echo(_without_answer(word, n_rows, outcome.n_rows, guess), err=True)


@app.command()
def explain(
    model: Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was fitted on.")],
    row: Annotated[int, typer.Option(help="Which row, counted from 1; the header does not count.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Print plain text, without colours, 100 columns wide.")
    ] = False,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML file.", metavar="FILE")] = None,
    changes: Annotated[bool, typer.Option(help="Whether to search for what would change the label.")] = True,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    debug: DebugOption = False,
) -> None:
    """Tell the story of one row: rules, evidence, doubt, novelty, and the nearest change that alters the label.

    The file is read only as far as the row.

    Example: ferl explain model.json new.csv --row 3
    """
    with plain_errors(debug, "Stopped."):
        from ferl._cli.explain import StoryForm, run_explain
        from ferl._tables.table_files import FileForm

        if as_json and plain:
            raise ValueError("--json and --plain are both given; choose one.")
        run_explain(model, table, row, FileForm(separator, names_in(missing)), StoryForm(as_json, plain, html, changes))


@app.command()
def report(
    model: Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")],
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was fitted on.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write the page, an HTML file.")],
    target: Annotated[str | None, typer.Option(help="Column that holds the labels, for metrics.")] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the page.  [default: what is predicted]")] = None,
    groups: Annotated[
        str | None, typer.Option(help="Column by whose values accuracy, abstention and error rates are compared.")
    ] = None,
    decision: DecisionOption = Decision.probable,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Write a page on a model and a table: rules, tree, metrics, doubtful and novel rows, and a what-if form.

    One file that needs no network. It contains the model, with the training rows that it keeps, and at most 100 rows of
    the table.

    Example: ferl report model.json new.csv --target outcome -o report.html
    """
    with plain_errors(debug, "Stopped. No report was written."):
        from ferl._cli.report import Wanted, run_report
        from ferl._tables.table_files import FileForm

        run_report(
            model,
            table,
            out,
            FileForm(separator, names_in(missing)),
            Wanted(target, title, groups, decision.value),
            jobs,
        )


for command in (
    labelled_commands.evaluate,
    labelled_commands.calibrate,
    labelled_commands.certify,
    labelled_commands.drift,
    labelled_commands.update,
):
    app.command()(command)


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")],
    rules: Annotated[
        bool, typer.Option("--rules", help="Print the rules as well, page by page where it is a terminal.")
    ] = False,
    top: Annotated[int | None, typer.Option(min=1, help="So many rules, those that say most.")] = None,
    page: Annotated[int | None, typer.Option(min=1, help="This page of the rules, 40 lines each.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: DebugOption = False,
) -> None:
    """Show what a model file holds: kind of model, features and their kinds, classes, rules, training rows kept.

    Example: ferl inspect model.json --rules
    """
    with plain_errors(debug, "Stopped."):
        from ferl._cli.model_files import RulesWanted, run_inspect

        run_inspect(model, RulesWanted(rules or top is not None or page is not None, top, page), as_json)


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where to write the ONNX file.")] = None,
    scorecard: Annotated[
        Path | None, typer.Option(help="Where to write a scorecard of wide rules: .csv, .txt or .tex.", metavar="FILE")
    ] = None,
    rounded: Annotated[bool, typer.Option("--rounded", help="Whole points in the scorecard.")] = False,
    positive: Annotated[
        str | None,
        typer.Option(
            "--positive", "--wished", help="Class that the points speak for, of two.  [default: the second class]"
        ),
    ] = None,
    base_points: Annotated[
        float | None, typer.Option(help="Total of a row whose odds are --base-odds to one.  [default: 600]")
    ] = None,
    base_odds: Annotated[float | None, typer.Option(help="See --base-points.  [default: 50]")] = None,
    points_to_double: Annotated[float | None, typer.Option(help="Points that double the odds.  [default: 20]")] = None,
    novelty: Annotated[bool, typer.Option(help="Whether novelty is an output; it makes most of the file.")] = True,
    dtype: Annotated[Precision, typer.Option(help="Numbers that come in and go out.")] = Precision.float64,
    debug: DebugOption = False,
) -> None:
    """Write a model as an ONNX file, which runs without Python and without ferl, or its rules as a scorecard.

    ONNX needs the package onnx: pip install "ferl[onnx]".

    Example: ferl export model.json -o model.onnx --scorecard points.csv --rounded
    """
    with plain_errors(debug, "Stopped. No file was written."):
        from ferl._cli.model_files import run_export, run_scorecard

        if out is None and scorecard is None:
            raise ValueError("Name a file: -o model.onnx for ONNX, --scorecard points.csv for a scorecard.")
        numbers = {"base_points": base_points, "base_odds": base_odds, "points_to_double": points_to_double}
        counted = {name: value for name, value in numbers.items() if value is not None}
        asked = [f"--{name.replace('_', '-')}" for name in counted]
        asked += ["--positive"] * (positive is not None) + ["--rounded"] * rounded
        if asked and scorecard is None:
            raise ValueError(f"{asked[0]} is about the points of a scorecard; add --scorecard points.csv.")
        check_outputs(out, scorecard)
        if scorecard is not None:
            run_scorecard(model, scorecard, positive, {**counted, "rounded": rounded})
        if out is not None:
            run_export(model, out, novelty, dtype.value)


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Measure FERL against its peers: every figure in the docs comes from here.

    Needs the package in the folder benchmarks: pip install ./benchmarks
    """
    with plain_errors(False, "Stopped."):
        from importlib.metadata import entry_points

        found = entry_points(group="ferl.commands", name="bench")
        if not found:
            raise ValueError("the benchmark is not installed: pip install ./benchmarks, in a checkout of ferl.")
        command = found["bench"].load()
    command(context.args, prog_name="ferl bench")


def _without_answer(word: str, n_rows: int, n_all: int, guess: bool) -> str:
    """How many rows have no answer for one reason, in a sentence."""
    from ferl._read.judgement import ABSTENTIONS

    rows = "1 row" if n_rows == 1 else f"{n_rows:,} rows"
    verb = ("is" if n_rows == 1 else "are") + " guessed" if guess else ("has" if n_rows == 1 else "have") + " no label"
    return f"{rows} ({n_rows / n_all:.1%}) {verb}: {ABSTENTIONS[word]} (abstention: {word})"


if __name__ == "__main__":
    app()
