"""Commands on a model and further rows: ``ferl evaluate``, ``calibrate``, ``certify``, ``drift`` and ``update``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ferl._cli.errors import plain_errors
from ferl._cli.options import (
    DebugOption,
    Decision,
    DecisionOption,
    JobsOption,
    MissingOption,
    SeparatorOption,
    names_in,
)

ModelArgument = Annotated[Path, typer.Argument(help="Model file, from ferl fit or save_model.")]
TableArgument = Annotated[Path, typer.Argument(help="CSV or Parquet file of rows that the model was not fitted on.")]
TargetOption = Annotated[str, typer.Option(help="Column that holds the labels.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


class Score(StrEnum):
    """How badly a label fits a row."""

    probability = "probability"
    plausibility = "plausibility"
    aps = "aps"
    raps = "raps"


class Signal(StrEnum):
    """What decides which rows are answered."""

    margin = "margin"
    belief = "belief"
    ignorance = "ignorance"
    novelty = "novelty"


class Map(StrEnum):
    """How probabilities are moved."""

    temperature = "temperature"
    isotonic = "isotonic"


def evaluate(
    model: ModelArgument,
    table: TableArgument,
    target: TargetOption,
    calibration: Annotated[
        Path | None, typer.Option(help="File from ferl calibrate, to test what it promises.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="How often a set may miss the true class.  [default: as calibrated]")
    ] = None,
    decision: DecisionOption = Decision.probable,
    as_json: JsonOption = False,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Tell how right a model is on labelled rows: accuracy beside the baseline, recall of each class, sets, abstention.

    With the options of ferl predict it judges the answers that ferl predict would give; accuracy and recall count the
    guess for abstaining rows.

    Example: ferl evaluate model.json held_out.csv --target outcome
    """
    with plain_errors(debug, "Stopped."):
        from ferl._cli.evaluate import run_evaluate
        from ferl._cli.labelled import Source

        source = Source.of(model, table, target, separator, names_in(missing), jobs)
        run_evaluate(source, calibration, alpha, decision.value, as_json)


def calibrate(
    model: ModelArgument,
    table: TableArgument,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write what was learned, a JSON file.")],
    target: Annotated[
        str | None, typer.Option(help="Column that holds the labels; without it only novelty is calibrated.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="How often a set may miss the true class.")] = 0.1,
    class_conditional: Annotated[
        bool, typer.Option("--class-conditional", help="Keep the promise of the sets for every class by itself.")
    ] = False,
    score: Annotated[Score, typer.Option(help="How sets compare classes.")] = Score.probability,
    risk: Annotated[
        float | None, typer.Option(help="Abstain so that at most this share of the answers is wrong.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="Probability with which the promise of --risk holds.")] = 0.95,
    signal: Annotated[Signal, typer.Option(help="What --risk decides by.")] = Signal.margin,
    probabilities: Annotated[
        Map | None, typer.Option(help="Move probabilities towards the frequencies in these rows.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the rows that --risk sets aside.", min=0)] = 0,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Learn from rows that the model was not fitted on what its answers promise; ferl predict --calibration keeps it.

    Sets that miss the true class at most so often (--alpha), p-values of novelty, and where asked for an error rate
    among answered rows (--risk) and calibrated probabilities (--probabilities). The promises hold for new rows that
    come from where these rows come from.

    Example: ferl calibrate model.json held_out.csv --target outcome --alpha 0.1 --risk 0.05 -o calibration.json
    """
    with plain_errors(debug, "Stopped. No calibration was written."):
        from ferl._cli.calibrate import Promise, run_calibrate
        from ferl._cli.labelled import Source

        promise = Promise(
            alpha,
            class_conditional,
            score.value,
            risk,
            confidence,
            signal.value,
            None if probabilities is None else probabilities.value,
            seed,
        )
        run_calibrate(Source.of(model, table, target, separator, names_in(missing), jobs), out, promise)


def certify(
    model: ModelArgument,
    table: Annotated[Path, typer.Argument(help="CSV or Parquet file with the columns that the model was fitted on.")],
    row: Annotated[int, typer.Option(help="Which row, counted from 1; the header does not count.")],
    guess: Annotated[
        bool, typer.Option("--guess", help="Prove the most probable class of a row that has no answer.")
    ] = False,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    debug: DebugOption = False,
) -> None:
    """Prove how far the numbers of a row may move before its label can change, and name what sets the limit.

    Distances are in spreads: standard deviations over the training rows. ferl predict --radius does it for all rows. A
    row without an answer has no label to prove.

    Example: ferl certify model.json new.csv --row 3
    """
    with plain_errors(debug, "Stopped."):
        from ferl._cli.certify import run_certify
        from ferl._tables.table_files import FileForm

        run_certify(model, table, row, FileForm(separator, names_in(missing)), guess)


def drift(
    model: ModelArgument,
    table: TableArgument,
    target: TargetOption,
    as_json: JsonOption = False,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Tell how later rows differ from those that a model has learned from; the model stays as it is.

    Example: ferl drift model.json march.csv --target outcome
    """
    with plain_errors(debug, "Stopped."):
        from ferl._cli.labelled import Source
        from ferl._cli.update import run_update

        run_update(Source.of(model, table, target, separator, names_in(missing), jobs), None, as_json)


def update(
    model: ModelArgument,
    table: TableArgument,
    target: TargetOption,
    out: Annotated[Path, typer.Option("-o", "--out", help="Where to write the updated model, a JSON file.")],
    as_json: JsonOption = False,
    separator: SeparatorOption = None,
    missing: MissingOption = "",
    jobs: JobsOption = -1,
    debug: DebugOption = False,
) -> None:
    """Let a model learn from later rows: its conditions stay, its weights go on. Prints how the rows differ.

    Example: ferl update model.json march.csv --target outcome -o model_march.json
    """
    with plain_errors(debug, "Stopped. No model was written."):
        from ferl._cli.labelled import Source
        from ferl._cli.update import run_update

        run_update(Source.of(model, table, target, separator, names_in(missing), jobs), out, as_json)
