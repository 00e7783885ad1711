"""``ferl bench``: the commands. Everything but typer is imported when a command runs, so that others start fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ferl.bench.errors import BenchError

if TYPE_CHECKING:
    from rich.console import Console

    from ferl.bench.render import Report

app = typer.Typer(no_args_is_help=True, help="Measure FERL against its peers: the paper's tables and the speed races.")

DataOption = Annotated[Path, typer.Option("--data", help="Folder of CSV files, the label in the column 'class'.")]
NamesOption = Annotated[str | None, typer.Option("--datasets", help="Names separated by commas; all by default.")]
OutOption = Annotated[Path, typer.Option("--out", help="Folder for results and reports.")]
JobsOption = Annotated[int | None, typer.Option("--jobs", min=1, help="Parallel processes; all cores by default.")]
FreshOption = Annotated[bool, typer.Option("--fresh", help="Compute again what is already known.")]
RepeatsOption = Annotated[int, typer.Option("--repeats", min=1, help="Rounds of every race; the median counts.")]

DEFAULT_OUT = Path("bench-results")


@app.command()
def frontier(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """Accuracy, selection and prediction sets against the number of rules. Interrupt it any time: it resumes."""
    _run_table("frontier", data, datasets, jobs, out, fresh)


@app.command()
def defaults(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """What each default was chosen over, measured on training rows only. Interrupt it any time: it resumes."""
    _run_table("defaults", data, datasets, jobs, out, fresh)


@app.command("defaults-compact")
def defaults_compact(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """The same for compact trees. Interrupt it any time: it resumes."""
    _run_table("defaults_compact", data, datasets, jobs, out, fresh)


@app.command("defaults-trust")
def defaults_trust(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """The same for conformal sets and abstention. Interrupt it any time: it resumes."""
    _run_table("defaults_trust", data, datasets, jobs, out, fresh)


@app.command()
def credal(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """Prediction sets: by the evidence, by credal rivals, and conformal. Interrupt it any time: it resumes."""
    _run_table("credal", data, datasets, jobs, out, fresh)


@app.command()
def selective(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """How the error falls when the least certain rows are set aside. Interrupt it any time: it resumes."""
    _run_table("selective", data, datasets, jobs, out, fresh)


@app.command("partition-refit")
def partition_refit(
    data: DataOption,
    datasets: NamesOption = None,
    jobs: JobsOption = None,
    out: OutOption = DEFAULT_OUT,
    fresh: FreshOption = False,
) -> None:
    """What moving the words of a compact tree after learning would gain. Interrupt it any time: it resumes."""
    _run_table("partition_refit", data, datasets, jobs, out, fresh)


@app.command()
def speed(
    data: DataOption,
    datasets: NamesOption = None,
    repeats: RepeatsOption = 5,
    out: OutOption = DEFAULT_OUT,
) -> None:
    """Fit and predict time, memory and growth of cost against one CART tree, on one thread."""
    with _plain_errors("Stopped. Nothing was written."):
        from rich.console import Console

        from ferl.bench.data import load_folder
        from ferl.bench.tables.speed import run_speed

        console = Console()
        data_sets = load_folder(data, _names(datasets))
        out.mkdir(parents=True, exist_ok=True)
        report = run_speed(data_sets, repeats=repeats, console=console)
        _publish(report, out, console)


@app.command()
def certificates(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """How far labels are certified, against the paper's constant and against attacks. In one process."""
    _run_in_one_process("certificates", data, datasets, out)


@app.command()
def ood(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """Novelty of classes left out of training, against detectors without rules. In one process."""
    _run_in_one_process("ood", data, datasets, out)


@app.command("support-gate")
def support_gate(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """The same trees with and without support gates, on test rows and far outside. In one process."""
    _run_in_one_process("support_gate", data, datasets, out)


@app.command()
def tables(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """Categories and missing values as they are, against one-hot encoding and imputation. In one process."""
    _run_in_one_process("tables", data, datasets, out)


@app.command()
def shift(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """What prediction sets do when the test rows move away from the training rows. In one process."""
    _run_in_one_process("shift", data, datasets, out)


@app.command()
def calibration(data: DataOption, datasets: NamesOption = None, out: OutOption = DEFAULT_OUT) -> None:
    """What temperature and isotonic calibration gain on the test parts. In one process."""
    _run_in_one_process("calibration", data, datasets, out)


@app.command()
def cuts(
    repetitions: Annotated[int, typer.Option("--repetitions", min=2, help="Draws for each case.")] = 500,
    out: OutOption = DEFAULT_OUT,
) -> None:
    """How often the interval of a learned threshold holds the true one. Needs no data; in one process."""
    _run_simulation("cuts", repetitions, out)


@app.command()
def guarantees(
    repetitions: Annotated[int, typer.Option("--repetitions", min=2, help="Draws from the population.")] = 1000,
    out: OutOption = DEFAULT_OUT,
) -> None:
    """Whether conformal sets and promised error rates hold in repeated draws. Needs no data; in one process."""
    _run_simulation("guarantees", repetitions, out)


def _run_simulation(name: str, repetitions: int, out: Path) -> None:
    """Run the table of that name: ``run_<name>`` in the file ``tables/<name>.py``, which draws its own rows."""
    with _plain_errors("Stopped. Nothing was written."):
        from rich.console import Console

        run = getattr(import_module(f"ferl.bench.tables.{name}"), f"run_{name}")
        console = Console()
        out.mkdir(parents=True, exist_ok=True)
        _publish(run(repetitions=repetitions, console=console), out, console)


def _run_in_one_process(name: str, data: Path, datasets: str | None, out: Path) -> None:
    """Run the table of that name: ``run_<name>`` in the file ``tables/<name>.py``, which keeps no results."""
    with _plain_errors("Stopped. Nothing was written."):
        from rich.console import Console

        from ferl.bench.data import load_folder

        run = getattr(import_module(f"ferl.bench.tables.{name}"), f"run_{name}")
        console = Console()
        data_sets = load_folder(data, _names(datasets))
        out.mkdir(parents=True, exist_ok=True)
        _publish(run(data_sets, console=console), out, console)


def _run_table(name: str, data: Path, datasets: str | None, jobs: int | None, out: Path, fresh: bool) -> None:
    """Run the table of that name: ``run_<name>`` in the file ``tables/<name>.py``."""
    with _plain_errors(f"Stopped. Finished results are kept in {out}; the same command goes on from there."):
        from rich.console import Console

        from ferl.bench.facts import n_cores

        run = getattr(import_module(f"ferl.bench.tables.{name}"), f"run_{name}")
        console = Console()
        report = run(data, out, names=_names(datasets), n_processes=jobs or n_cores(), fresh=fresh, console=console)
        _publish(report, out, console)


def _publish(report: Report, out: Path, console: Console) -> None:
    """Write a report, then print it: in this order a closed terminal costs nothing."""
    from ferl.bench.render import show, write

    messages = write(report, out)
    show(report, console)
    for message in messages:
        console.print(message, markup=False)


def _names(datasets: str | None) -> list[str] | None:
    if datasets is None:
        return None
    names = [name.strip() for name in datasets.split(",") if name.strip()]
    if not names:
        raise BenchError("--datasets was given without a name")
    return names


@contextmanager
def _plain_errors(on_interrupt: str) -> Iterator[None]:
    """Show a mistake of the user as one line with exit code 2, and an interrupt as one line with the usual 130."""
    try:
        yield
    except (BenchError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        typer.echo(f"\n{on_interrupt}", err=True)
        raise typer.Exit(130) from None
