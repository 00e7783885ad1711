"""Data sets by name from openml.org, through scikit-learn and its cache on disk."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any
from urllib.error import URLError

import numpy as np
from rich.console import Console
from sklearn.datasets import fetch_openml, get_data_home

from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError

PAPER = "paper"
PAPER_SETS: dict[str, int] = {
    "australian": 40981,
    "balance": 11,
    "banana": 1460,
    "contraceptive": 23,
    "crx": 29,
    "ecoli": 39,
    "german": 31,
    "glass": 41,
    "heart": 53,
    "ionosphere": 59,
    "magic": 1120,
    "optdigits": 28,
    "penbased": 32,
    "phoneme": 1489,
    "pima": 37,
    "ring": 1496,
    "saheart": 1498,
    "satimage": 182,
    "segment": 36,
    "spambase": 44,
    "texture": 40499,
    "twonorm": 1507,
    "vehicle": 54,
    "vowel": 307,
    "wdbc": 1510,
    "wine": 187,
    "wisconsin": 15,
}
"""The paper's data sets by their numbers at OpenML. They are the same problems, not always the same rows: the paper's
files leave out rows with missing values and a few features."""
WITHOUT_COPY = ("bupa", "mammographic", "spectfheart")
"""Those of the paper for which no copy with the same target is known there."""


def load_openml(names: Sequence[str], console: Console) -> list[DataSet]:
    """Fetch data sets, from the cache where they are known.

    Parameters
    ----------
    names : sequence of str
        Names: those of `PAPER_SETS`, others as OpenML has them, or numbers there. "paper" is all of `PAPER_SETS`.
    console : Console
        Where it is said what comes, and what does not.

    Returns
    -------
    list of DataSet
        In alphabetical order.

    Raises
    ------
    BenchError
        A name is not known, a data set cannot be used, or openml.org cannot be reached.
    """
    wanted = dict.fromkeys(one for name in names for one in (PAPER_SETS if name == PAPER else [name]))
    if PAPER in names:
        console.print(f"No copy at openml.org is known of {', '.join(WITHOUT_COPY)}: left out.")
    missing = [name for name in wanted if name in WITHOUT_COPY]
    if missing:
        raise BenchError(f"no copy of {', '.join(missing)} is known at openml.org; give a folder with --data")
    fetched = []
    for number, name in enumerate(wanted, start=1):
        console.print(f"{name} ({number} of {len(wanted)}) from openml.org or {get_data_home()} ...")
        fetched.append(_fetch(name))
    return sorted(fetched, key=lambda data: data.name)


def _fetch(name: str) -> DataSet:
    known = PAPER_SETS.get(name)
    which: dict[str, Any] = {"data_id": known or int(name)} if known or name.isdigit() else {"name": name}
    try:
        with warnings.catch_warnings():
            # Several versions, or one that is marked as doubtful: the number above is the one meant.
            warnings.filterwarnings("ignore", category=UserWarning, module="sklearn.datasets")
            bunch = fetch_openml(**which, as_frame=True, parser="pandas", n_retries=1)
    except (URLError, TimeoutError) as error:
        raise BenchError(
            f"{name} is not in the cache {get_data_home()}, and openml.org cannot be reached ({error}); "
            "connect once, or give a folder with --data"
        ) from error
    except ValueError as error:
        raise BenchError(f"{name} from openml.org: {' '.join(str(error).split())}") from error
    return from_frame(name, bunch.data, bunch.target)


def from_frame(name: str, features: Any, target: Any) -> DataSet:
    """Turn a pandas frame and its labels into a data set; a column that is not of numbers is a category.

    Parameters
    ----------
    name : str
        Name of the data set.
    features : DataFrame
        The features. A missing category is the category "?".
    target : Series or None
        The labels.

    Returns
    -------
    DataSet

    Raises
    ------
    BenchError
        There are no labels, fewer than two classes, or rows without a label.
    """
    if target is None or target.ndim != 1:
        raise BenchError(f"{name} has no single target column at openml.org")
    if target.isna().any():
        raise BenchError(f"{name} has {int(target.isna().sum())} rows without a label")
    values, codes = np.unique(target.astype(str).to_numpy(dtype=str), return_inverse=True)
    if not 2 <= len(values) <= len(target) // 2:
        raise BenchError(f"{name} has {len(values)} distinct labels in {len(target)} rows; it is not a classification")
    is_number = [dtype.kind in "biuf" for dtype in features.dtypes]
    numeric = features.loc[:, is_number].to_numpy(dtype=np.float64, na_value=np.nan)
    texts = features.loc[:, [not number for number in is_number]].astype(object)
    categorical = np.asarray(texts.where(texts.notna(), "?").astype(str).to_numpy(), dtype=np.object_)
    y = codes.astype(np.int64)
    return DataSet(
        name=name,
        numeric=numeric,
        categorical=categorical,
        y=y,
        class_names=tuple(str(value) for value in values),
        digest=_digest(numeric, categorical, y),
    )


def _digest(numeric: Any, categorical: Any, y: Any) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(numeric).tobytes() + y.tobytes())
    digest.update(repr(categorical.tolist()).encode())
    return digest.hexdigest()
