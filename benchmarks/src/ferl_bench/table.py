"""What a table of the benchmark is, what it is run with, and the list of those there are."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from ferl_bench import tables as tables_package
from ferl_bench.cache import Result, ResultFile
from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.facts import n_cores, versions
from ferl_bench.limits import Limits
from ferl_bench.method import Method
from ferl_bench.protocol import DESCRIPTION
from ferl_bench.render import Report
from ferl_bench.rows import Row, make_row, require_some
from ferl_bench.runner import Job, plan, run
from ferl_bench.study import Studied, Study, StudyJob, unflatten

Figures = TypeVar("Figures", bound=Mapping[Any, Any])

CHAPTERS = ("Answers", "Sets, novelty and proofs", "Ablations", "Speed", "Choices of defaults")
"""Parts of the results page, in their order; `ferl bench all` follows it."""


@dataclass(frozen=True)
class Request:
    """What a table is run with.

    Attributes
    ----------
    data_sets : sequence of DataSet
        The data sets; empty for a table that needs none.
    out : Path
        Folder of results; known results in it are used again.
    console : Console
        Where progress is shown.
    n_processes : int
        Number of parallel processes.
    fresh : bool
        Compute everything again.
    repetitions : int
        Rounds of a race, or draws of a simulation.
    concepts : Path, optional
        Folder of image features with concepts.
    limits : Limits
        What a fold and a method may take; nothing is limited by default. Studies and races are not.
    names : sequence of str
        Which data sets of a suite, or tables of the learning curve; empty for all.
    folder : Path, optional
        Folder of files for the learning curve and the tables of PMLB.
    sizes : sequence of float
        Numbers of training rows of the learning curve, infinity for all; empty for its own.
    methods : sequence of str
        Methods of a suite or of the learning curve; empty for all.
    seeds : int, optional
        Draws of training rows of the learning curve; None for those of each table.
    """

    data_sets: Sequence[DataSet]
    out: Path
    console: Console
    n_processes: int = 1
    fresh: bool = False
    repetitions: int = 1
    concepts: Path | None = None
    limits: Limits = field(default_factory=Limits)
    names: Sequence[str] = ()
    folder: Path | None = None
    sizes: Sequence[float] = ()
    methods: Sequence[str] = ()
    seeds: int | None = None

    def conditions(self) -> dict[str, object]:
        """Return what the figures depend on and a user chooses: a report is kept only for the same."""
        names = sorted(data.name for data in self.data_sets)
        chosen = {"sizes": [str(n_rows) for n_rows in self.sizes], "methods": list(self.methods), "seeds": self.seeds}
        given = {name: value for name, value in chosen.items() if value}
        return {"data_sets": names, "tables": list(self.names), "repetitions": self.repetitions, **given}

    def require_concepts(self) -> Path:
        """Return the folder of image features with concepts; refuse to go on without one."""
        if self.concepts is None or not self.concepts.is_dir():
            given = "none was given" if self.concepts is None else f"{self.concepts} does not exist"
            raise BenchError(f"this table needs a folder of image features with concepts, --concepts DIR; {given}")
        return self.concepts

    def results(self, methods: Sequence[Method], make: type[Job] = Job) -> list[Result]:
        """Return the result of every method on every data set and fold, known or computed now; `make` does a fold."""
        with ResultFile(self.out / "results.jsonl", fresh=self.fresh) as cache:
            jobs = plan(self.data_sets, methods, self.limits, make)
            return run(jobs, cache, n_processes=self.n_processes, console=self.console, limits=self.limits)

    def rows(self, methods: Sequence[Method], make: type[Job] = Job) -> list[Row]:
        """Return the methods as rows; refuse when nothing worked."""
        results = self.results(methods, make)
        rows = [make_row(method, results) for method in methods]
        require_some(rows)
        return rows

    def study(self, study: Study[Figures], data_sets: Sequence[DataSet] | None = None) -> Studied[Figures]:
        """Return a study's figures of the data sets (default: all), known or computed now."""
        chosen = self.data_sets if data_sets is None else data_sets
        if not chosen:
            return Studied({}, {})
        # The largest first, so that no long job is left over at the end.
        jobs = [StudyJob(data, study) for data in sorted(chosen, key=lambda data: -data.n_rows * data.n_features)]
        with ResultFile(self.out / "results.jsonl", fresh=self.fresh) as cache:
            results = run(jobs, cache, n_processes=self.n_processes, console=self.console)
        by_name = {result.data_set: result for result in results}
        ordered = [by_name[data.name] for data in chosen]
        figures = {one.data_set: unflatten(one.measures) for one in ordered if one.error is None}
        failures = {one.data_set: one.error for one in ordered if one.error is not None}
        return Studied(figures, failures)  # type: ignore[arg-type]  # what was flattened comes back

    def facts(self, packages: tuple[str, ...] = ("numpy", "scikit-learn"), **further: object) -> dict[str, object]:
        """Return the facts a report starts with: versions, machine, protocol, number of data sets."""
        common = {**versions(packages), "cores": n_cores(), "processes": self.n_processes, "protocol": DESCRIPTION}
        return {**common, **{name.replace("_", " "): fact for name, fact in further.items()}, **self._count()}

    def _count(self) -> dict[str, object]:
        return {"data sets": len(self.data_sets)} if self.data_sets else {}


@dataclass(frozen=True)
class Table:
    """A table of the benchmark: a file in ``tables/`` with a constant ``TABLE``.

    Attributes
    ----------
    summary : str
        One line for the list of tables.
    run : callable
        ``run(request)`` returns the report.
    chapter : str
        Which of `CHAPTERS` it belongs to.
    minutes : float
        About how long it takes on the paper's 30 data sets with two idle cores, after the tables before it: they share
        results.
    needs_data : bool
        False for a simulation, which draws its own rows.
    reads_data : bool
        True for a table that needs no data sets and has more lines with them.
    in_one_process : bool
        True for races and simulations, which are neither divided nor remembered.
    repetitions : int, optional
        Default number of rounds or draws, for tables that have them.
    needs_concepts : bool
        True for tables of concept bottlenecks, which read ``--concepts DIR`` and no other data.
    needs_suite : bool
        True for a table of a suite: ``frontier --suite second``, ``frontier --suite pmlb``. It takes ``--methods``.
    has_folder : bool
        True for a suite whose tables are files of ``--data DIR``, which are downloaded where it lacks them.
    has_sizes : bool
        True for the learning curve: it takes ``--rows``, ``--tables``, ``--methods`` and ``--seeds``, files of
        ``--data`` where it is given, and one process by default, since its fits have threads; `all` leaves it out.
    """

    summary: str
    run: Callable[[Request], Report]
    chapter: str
    minutes: float
    needs_data: bool = True
    reads_data: bool = False
    in_one_process: bool = False
    repetitions: int | None = None
    needs_concepts: bool = False
    needs_suite: bool = False
    has_folder: bool = False
    has_sizes: bool = False


def all_tables() -> dict[str, Table]:
    """Return ``TABLE`` of every file in ``tables/`` by the name on the command line, chapter by chapter."""
    modules = sorted(module.name for module in pkgutil.iter_modules(tables_package.__path__))
    result = {_name(module): importlib.import_module(f"{tables_package.__name__}.{module}").TABLE for module in modules}
    return dict(sorted(result.items(), key=lambda item: CHAPTERS.index(item[1].chapter)))


def get_table(name: str) -> Table:
    """Return one table; only its file is imported."""
    module = name.replace("-", "_")
    available = sorted(info.name for info in pkgutil.iter_modules(tables_package.__path__))
    if module not in available:
        raise BenchError(f"unknown table {name}; available: {', '.join(map(_name, available))}, all")
    table: Table = importlib.import_module(f"{tables_package.__name__}.{module}").TABLE
    return table


def _name(module: str) -> str:
    return module.replace("_", "-")
