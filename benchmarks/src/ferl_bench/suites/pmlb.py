"""Tables of the Penn Machine Learning Benchmarks: files of a folder, which are downloaded where the folder lacks them.

PMLB codes categories as numbers, and every method reads them as such. The tables are those that ferl was developed on:
choices were made on calibration parts, never on test parts.
"""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pandas as pd
from rich.console import Console

from ferl_bench.data import DataSet
from ferl_bench.errors import BenchError
from ferl_bench.suites.second import as_data_set

URL = "https://github.com/EpistasisLab/pmlb/raw/master/datasets"
"""Where PMLB keeps its tables: ``URL/NAME/NAME.tsv.gz``."""
TIMEOUT_SECONDS = 60
LABEL = "target"
NAMES = (
    "GAMETES_Epistasis_2-Way_20atts_0.1H_EDM-1_1",
    "GAMETES_Epistasis_2-Way_20atts_0.4H_EDM-1_1",
    "GAMETES_Epistasis_3-Way_20atts_0.2H_EDM-1_1",
    "GAMETES_Heterogeneity_20atts_1600_Het_0.4_0.2_50_EDM-2_001",
    "allbp",
    "analcatdata_authorship",
    "analcatdata_boxing1",
    "analcatdata_germangss",
    "analcatdata_lawsuit",
    "ann-thyroid",
    "appendicitis",
    "auto",
    "biomed",
    "calendarDOW",
    "clean1",
    "cleve",
    "coil2000",
    "colic",
    "collins",
    "connect-4",
    "corral",
    "dermatology",
    "dis",
    "dna",
    "horse-colic",
    "hungarian",
    "krkopt",
    "led24",
    "mfeat-factors",
    "mfeat-fourier",
    "mfeat-morphological",
    "mfeat-zernike",
    "mfeat_pixel",
    "molecular-biology_promoters",
    "mux6",
    "parity5+5",
    "penguins",
    "prnn_crabs",
    "prnn_synth",
    "profb",
    "sleep",
    "solar-flare_1",
    "solar-flare_2",
    "soybean",
    "threeOf9",
    "tokyo1",
    "waveform_40",
    "yeast",
)
"""The tables."""


def load_pmlb(folder: Path, names: Sequence[str] = (), console: Console | None = None) -> list[DataSet]:
    """Read tables from a folder; those that it lacks are downloaded into it.

    Parameters
    ----------
    folder : Path
        It has, or gets, ``NAME.tsv.gz``. ``NAME.csv.gz`` and PMLB's ``NAME/NAME.tsv.gz`` are read as well.
    names : sequence of str
        The tables wanted; all of `NAMES` by default.
    console : Console, optional
        Where downloads are announced.

    Returns
    -------
    list of DataSet
        In the order of `NAMES`. Tables of more than 20,000 rows are stratified samples of so many, seed 0.

    Raises
    ------
    BenchError
        A name is unknown, a file cannot be read, or a download failed.
    """
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise BenchError(f"unknown table {', '.join(unknown)}; available: {', '.join(NAMES)}")
    if folder.exists() and not folder.is_dir():
        raise BenchError(f"{folder} is a file; --data takes a folder")
    wanted = [name for name in NAMES if not names or name in names]
    lacking = [name for name in wanted if _file_of(name, folder) is None]
    if lacking and console is not None:
        console.print(f"Downloading {len(lacking)} tables to {folder}: {', '.join(lacking)}", markup=False)
    for name in lacking:
        _download(name, folder)
    return [_read(name, _file_of(name, folder)) for name in wanted]


def _file_of(name: str, folder: Path) -> Path | None:
    candidates = (folder / f"{name}.csv.gz", folder / f"{name}.tsv.gz", folder / name / f"{name}.tsv.gz")
    return next((path for path in candidates if path.is_file()), None)


def _download(name: str, folder: Path) -> None:
    """Fetch a file in one step, so that an interrupt leaves none or a whole one."""
    url = f"{URL}/{quote(name)}/{quote(name)}.tsv.gz"
    try:
        with urlopen(url, timeout=TIMEOUT_SECONDS) as answer:
            content = answer.read()
        gzip.decompress(content)
    except (URLError, TimeoutError, EOFError, OSError) as error:
        raise BenchError(
            f"{name} is not in {folder}, and {url} gives no table ({error}); connect once, or copy {name}.tsv.gz there"
        ) from error
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{name}.{os.getpid()}.tmp"
    try:
        temporary.write_bytes(content)
        temporary.replace(folder / f"{name}.tsv.gz")
    finally:
        temporary.unlink(missing_ok=True)


def _read(name: str, path: Path | None) -> DataSet:
    assert path is not None
    try:
        frame = pd.read_csv(path, sep="," if path.name.endswith(".csv.gz") else "\t", compression="gzip")
    except (OSError, EOFError, ValueError) as error:
        raise BenchError(f"{path} is not a readable table: {error}; remove it to download it again") from error
    if LABEL not in frame.columns:
        raise BenchError(f"{path} has no column {LABEL!r}; its columns are {', '.join(map(str, frame.columns[:10]))}")
    return as_data_set(name, frame, LABEL)
