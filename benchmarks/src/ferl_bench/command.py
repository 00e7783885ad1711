"""``ferl bench``: the command. Everything but typer is imported when it runs, so that ``--help`` is fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from ferl_bench.errors import BenchError

if TYPE_CHECKING:
    from rich.console import Console

    from ferl_bench.data import DataSet
    from ferl_bench.limits import Limits
    from ferl_bench.table import Request, Table

app = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, add_completion=False)

DEFAULT_OUT = Path("bench-results")
SIZE_OPTIONS = "--rows, --tables and --seeds"
SUITES = ("second", "pmlb")


@dataclass(frozen=True)
class Options:
    """What was written on the command line; None where nothing was."""

    data: Path | None
    openml: str | None
    datasets: str | None
    jobs: int | None
    out: Path
    docs: Path | None
    fresh: bool
    repetitions: int | None
    concepts: Path | None
    fold_minutes: float | None
    method_minutes: float | None
    suite: str | None
    keep: bool = False
    rows: str | None = None
    tables: str | None = None
    methods: str | None = None
    seeds: int | None = None
    known: Path | None = None

    @property
    def has_data(self) -> bool:
        """Whether data sets are given."""
        return any(given is not None for given in (self.data, self.openml, self.datasets))

    @property
    def has_sizes(self) -> bool:
        """Whether there is an option that the learning curve alone has."""
        return any(given is not None for given in (self.rows, self.tables, self.seeds))


@app.command()
def bench(
    table: Annotated[str | None, typer.Argument(help="Name of a table, or all.", show_default=False)] = None,
    list_tables: Annotated[bool, typer.Option("--list", help="List the tables, and how long each takes.")] = False,
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of CSV files, the label in the column 'class'.")
    ] = None,
    openml: Annotated[
        str | None,
        typer.Option("--openml", help="Data sets from openml.org instead: names with commas between, or 'paper'."),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option("--datasets", help="Which of the folder, names with commas between; all by default.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Parallel processes; all cores by default.")] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for results and reports.")] = DEFAULT_OUT,
    docs: Annotated[Path | None, typer.Option("--docs", help="Write the pages to this folder as well.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute again what is already known.")] = False,
    repetitions: Annotated[
        int | None,
        typer.Option(
            "--repetitions", "--repeats", min=1, help="Rounds of a race, draws of a simulation; each has its default."
        ),
    ] = None,
    concepts: Annotated[
        Path | None, typer.Option("--concepts", help="Folder of image features with concepts, for the cbm tables.")
    ] = None,
    fold_minutes: Annotated[
        float | None,
        typer.Option(
            "--fold-minutes", min=0, help="Stop a fold after this much processor time; 10 by default, 0 for no limit."
        ),
    ] = None,
    method_minutes: Annotated[
        float | None,
        typer.Option(
            "--method-minutes",
            min=0,
            help="A method starts no new fold after so long in all, small data sets first; by default what the method "
            "itself says, 0 for no limit.",
        ),
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option("--suite", help="Other tables: 'second', which packages bring along, or 'pmlb', for frontier."),
    ] = None,
    keep: Annotated[
        bool,
        typer.Option("--keep", help="With all: run no table whose report is in --out, and say of which day it is."),
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option("--rows", help="learning-curve: numbers of training rows with commas between, 'all' among them."),
    ] = None,
    tables: Annotated[
        str | None, typer.Option("--tables", help="learning-curve: names with commas between; 'flights' for all three.")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Suites, learning-curve: names with commas between; all by default."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", min=1, help="learning-curve: draws of training rows; 1, and 4 by time, by default."),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            "--known", help="Packed results of rivals, which are then not fitted: docs/results/rivals.jsonl.xz."
        ),
    ] = None,
) -> None:
    """Measure FERL against its peers: every figure in the docs comes from here. Interrupt it any time: it resumes.

    Example: ferl bench frontier --data DIR
    """
    options = Options(
        data=data,
        openml=openml,
        datasets=datasets,
        jobs=jobs,
        out=out,
        docs=docs,
        fresh=fresh,
        repetitions=repetitions,
        concepts=concepts,
        fold_minutes=fold_minutes,
        method_minutes=method_minutes,
        suite=suite,
        keep=keep,
        rows=rows,
        tables=tables,
        methods=methods,
        seeds=seeds,
        known=known,
    )
    with _plain_errors(f"Stopped. Finished results are kept in {out}; the same command goes on from there."):
        if list_tables:
            _list()
        elif table is None:
            raise BenchError("which table? `ferl bench --list` names them, `ferl bench all` runs them all")
        elif table == "all":
            _run_all(options)
        else:
            _run_one(_of_suite(table, suite), options)


def _of_suite(table: str, suite: str | None) -> str:
    """Return the name of the table of a suite."""
    if suite is None or table == f"frontier-{suite}":
        return table
    if table != "frontier" or suite not in SUITES:
        there = " and ".join(f"`ferl bench frontier --suite {name}`" for name in SUITES)
        raise BenchError(f"{table} has no suite {suite!r}; there are {there}")
    return f"{table}-{suite}"


def _list() -> None:
    from rich.console import Console

    from ferl_bench.overview import show_tables

    show_tables(Console())


def _run_one(name: str, options: Options) -> None:
    from rich.console import Console

    from ferl_bench.render import publish
    from ferl_bench.table import get_table

    table, console = get_table(name), Console()
    _refuse_unused(name, table, options)
    data_sets = _load(options, console) if table.needs_data or (table.reads_data and options.has_data) else []
    request = _request(table, options, data_sets, console, fresh=options.fresh)
    if table.needs_suite and options.datasets is not None:
        request = replace(request, names=_names(options.datasets, "--datasets"))
    if options.methods is not None:
        request = replace(request, methods=_names(options.methods, "--methods"))
    if table.has_sizes:
        request = _with_sizes(request, options)
    options.out.mkdir(parents=True, exist_ok=True)
    _unpack(options, console)
    start = perf_counter()
    report = table.run(request)
    seconds = perf_counter() - start
    publish(report, options.out, console, seconds=seconds, conditions=request.conditions(), docs=options.docs)


def _run_all(options: Options) -> None:
    from rich.console import Console

    from ferl_bench.overview import run_all
    from ferl_bench.table import all_tables

    if options.suite not in (None, "second"):
        raise BenchError(f"all has no suite {options.suite!r}; there is --suite second")
    if options.keep and options.fresh:
        raise BenchError("--keep takes what is known and --fresh computes it again: give one of them")
    if options.repetitions is not None:
        raise BenchError("--repetitions differ from table to table; with all, each has its own")
    if options.has_sizes or options.methods is not None:
        raise BenchError(f"{SIZE_OPTIONS}, and --methods, are for tables by their names, not for all")
    console = Console()
    data_sets = _load(options, console)
    options.out.mkdir(parents=True, exist_ok=True)
    if options.fresh:
        _set_aside(options.out / "results.jsonl")
    _unpack(options, console)
    requests = {
        name: (table, _request(table, options, data_sets, console, fresh=False))
        for name, table in all_tables().items()
        if (options.concepts is not None or not table.needs_concepts)
        and (not table.needs_suite or name == f"frontier-{options.suite}")
        and not table.has_sizes  # an hour or more, by its name only
    }
    failed = run_all(requests, options.out, console, source=_source(options), docs=options.docs, keep=options.keep)
    if failed:
        typer.echo(f"error: {len(failed)} table(s) failed: {', '.join(failed)}", err=True)
        raise typer.Exit(1)


def _unpack(options: Options, console: Console) -> None:
    """Add the packed results of rivals to those of the folder."""
    from ferl_bench.packed import unpack

    if options.known is None:
        return
    if options.fresh:
        raise BenchError("--known takes what is known and --fresh computes it again: give one of them")
    n_new = unpack(options.known, options.out / "results.jsonl")
    console.print(f"{options.known}: {n_new} results that {options.out} lacked.")


def _request(table: Table, options: Options, data_sets: list[DataSet], console: Console, *, fresh: bool) -> Request:
    from ferl_bench.facts import n_cores
    from ferl_bench.limits import Limits
    from ferl_bench.table import Request

    return Request(
        data_sets=data_sets if table.needs_data or table.reads_data else [],
        out=options.out,
        console=console,
        n_processes=1 if table.in_one_process else options.jobs or (1 if table.has_sizes else n_cores()),
        fresh=fresh,
        repetitions=options.repetitions or table.repetitions or 1,
        concepts=options.concepts,
        limits=Limits() if table.in_one_process else _limits(options),
        folder=options.data if table.has_sizes or table.has_folder else None,
    )


def _with_sizes(request: Request, options: Options) -> Request:
    """Return the request with the options of the learning curve."""
    return replace(
        request,
        names=[] if options.tables is None else _names(options.tables, "--tables"),
        sizes=[] if options.rows is None else [_n_rows(text) for text in _names(options.rows, "--rows")],
        seeds=options.seeds,
    )


def _n_rows(text: str) -> float:
    if text == "all":
        return inf
    if not text.isdecimal() or int(text) < 1:
        raise BenchError(f"--rows has {text!r}; give whole numbers with commas between, or 'all': --rows 1000,20000")
    return int(text)


def _limits(options: Options) -> Limits:
    from ferl_bench.limits import FOLD_MINUTES, Limits

    fold = FOLD_MINUTES if options.fold_minutes is None else options.fold_minutes
    return Limits(fold or None, inf if options.method_minutes == 0 else options.method_minutes)


def _refuse_unused(name: str, table: Table, options: Options) -> None:
    """An option that would change nothing is a mistake of who gave it."""
    folder = None if table.has_sizes or table.has_folder else options.data
    sources = (folder, options.openml, None if table.needs_suite else options.datasets)
    unused = {
        "--data, --openml and --datasets": not (table.needs_data or table.reads_data)
        and any(given is not None for given in sources),
        "--jobs and --fresh": table.in_one_process and (options.jobs is not None or options.fresh),
        "--known": table.in_one_process and options.known is not None,
        "--fold-minutes and --method-minutes": (table.in_one_process or table.needs_concepts)
        and (options.fold_minutes is not None or options.method_minutes is not None),
        "--repetitions": table.repetitions is None and options.repetitions is not None,
        "--concepts": not table.needs_concepts and options.concepts is not None,
        "--keep": options.keep,
        SIZE_OPTIONS: options.has_sizes and not table.has_sizes,
        "--methods": options.methods is not None and not (table.has_sizes or table.needs_suite),
    }
    for option, given in unused.items():
        if given:
            raise BenchError(f"{option} do not apply to {name}; `ferl bench --list` says what does")


def _load(options: Options, console: Console) -> list[DataSet]:
    if (options.data is None) == (options.openml is None):
        raise BenchError("give the data sets either as --data DIR or as --openml NAMES")
    if options.data is not None:
        from ferl_bench.data import load_folder

        names = None if options.datasets is None else _names(options.datasets, "--datasets")
        return load_folder(options.data, names)
    if options.datasets is not None:
        raise BenchError("--datasets chooses from --data; list the names in --openml itself")
    from ferl_bench.openml import load_openml

    assert options.openml is not None
    return load_openml(_names(options.openml, "--openml"), console)


def _source(options: Options) -> str:
    """How the data sets are given, as it stands on the results page: without the reader's own paths."""
    return "--data DIR" if options.openml is None else f"--openml {options.openml}"


def _set_aside(path: Path) -> None:
    """Keep earlier results under another name: the tables share theirs, so each would else ignore what another did."""
    if path.exists():
        path.replace(path.with_name(f"{path.stem}-before{path.suffix}"))


def _names(listed: str, option: str) -> list[str]:
    names = [name.strip() for name in listed.split(",") if name.strip()]
    if not names:
        raise BenchError(f"{option} was given without a name")
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
