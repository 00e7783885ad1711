"""Data sets from OpenML, by a stand-in of its replies: nothing here needs a network."""

from __future__ import annotations

import gzip
import hashlib
import json
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from bench_examples import quiet
from ferl_bench.command import app
from ferl_bench.errors import BenchError
from ferl_bench.openml import PAPER_SETS, WITHOUT_COPY, from_frame, load_openml

ARFF = """@RELATION scale
@ATTRIBUTE weight NUMERIC
@ATTRIBUTE colour {red,green}
@ATTRIBUTE id NUMERIC
@ATTRIBUTE class {left,right}
@DATA
""" + "\n".join(
    f"{i % 7}.5,{'?' if i == 3 else 'red' if i % 2 else 'green'},{i},{'left' if i % 3 else 'right'}" for i in range(12)
)
SITE = "https://www.openml.org/"
NUMBER = PAPER_SETS["balance"]
FURTHER = {"is_row_identifier": "false", "number_of_missing_values": "0"}


class Reply(BytesIO):
    """An answer of the site, compressed as it sends them."""

    def info(self) -> dict[str, str]:
        return {"Content-Encoding": "gzip"}


class Site:
    """Knows one data set, by number and by name, and counts what it was asked."""

    def __init__(self) -> None:
        features = [
            {"index": str(place), "name": name, "data_type": kind, "is_target": target, "is_ignore": ignored}
            for place, (name, kind, target, ignored) in enumerate(
                [
                    ("weight", "numeric", "false", "false"),
                    ("colour", "nominal", "false", "false"),
                    ("id", "numeric", "false", "true"),
                    ("class", "nominal", "true", "false"),
                ]
            )
        ]
        description = {
            "id": str(NUMBER),
            "name": "scale",
            "version": "1",
            "format": "ARFF",
            "status": "active",
            "description": "a stand-in",
            "url": f"{SITE}data/v1/download/{NUMBER}/scale.arff",
            "md5_checksum": hashlib.md5(ARFF.encode()).hexdigest(),
        }
        qualities = {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "12"}]}}
        listed = {"data": {"dataset": [{"did": NUMBER, "version": 1, "status": "active"}]}}
        api = "api/v1/json/data"
        self.pages = {
            f"{api}/{NUMBER}": json.dumps({"data_set_description": description}),
            f"{api}/features/{NUMBER}": json.dumps(
                {"data_features": {"feature": [{**one, **FURTHER} for one in features]}}
            ),
            f"{api}/qualities/{NUMBER}": json.dumps(qualities),
            f"{api}/list/data_name/scale/limit/2/status/active/": json.dumps(listed),
            f"data/v1/download/{NUMBER}/scale.arff": ARFF,
        }
        self.asked: list[str] = []

    def open(self, request: Any) -> Reply:
        page = request.full_url.removeprefix(SITE)
        self.asked.append(page)
        if page not in self.pages:
            raise HTTPError(request.full_url, 412, "no such data set", {}, BytesIO())  # type: ignore[arg-type]
        return Reply(gzip.compress(self.pages[page].encode()))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", site.open)
    return site


@pytest.mark.parametrize("name", ["balance", "scale", str(NUMBER)])
def test_a_data_set_is_found_by_the_papers_name_by_its_own_and_by_number(site: Site, name: str) -> None:
    (data,) = load_openml([name], quiet())
    assert data.name == name
    assert data.class_names == ("left", "right")
    assert data.numeric[:3, 0].tolist() == [0.5, 1.5, 2.5]
    assert data.numeric.shape == (12, 1)  # the identifier is to be ignored
    assert data.categorical[:4, 0].tolist() == ["green", "red", "green", "?"]
    assert data.y[:4].tolist() == [1, 0, 0, 1]


def test_a_second_time_nothing_is_fetched(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (first,) = load_openml(["balance"], quiet())
    assert len(site.asked) == 4
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    (second,) = load_openml(["balance"], quiet())
    assert second.digest == first.digest


def offline(request: object) -> None:
    raise URLError("no route to host")


def test_offline_the_command_says_so_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "cache"))
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    done = CliRunner().invoke(app, ["frontier", "--openml", "balance", "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert done.stderr.startswith("error: balance is not in the cache")
    assert "openml.org cannot be reached (<urlopen error no route to host>)" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("site")
def test_an_unknown_name_is_named() -> None:
    with pytest.raises(BenchError, match=r"nowhere from openml.org: No active dataset nowhere found"):
        load_openml(["nowhere"], quiet())


def test_sets_of_the_paper_without_a_copy_are_named() -> None:
    with pytest.raises(BenchError, match="no copy of bupa is known"):
        load_openml(["bupa"], quiet())
    assert not set(WITHOUT_COPY) & set(PAPER_SETS)
    assert len(PAPER_SETS) + len(WITHOUT_COPY) == 30
    assert len(set(PAPER_SETS.values())) == len(PAPER_SETS)


def test_what_is_no_classification_is_refused() -> None:
    frame = pandas.DataFrame({"x": np.arange(6.0)})
    with pytest.raises(BenchError, match="6 distinct labels in 6 rows"):
        from_frame("numbers", frame, pandas.Series(np.arange(6.0)))
    with pytest.raises(BenchError, match="1 rows without a label"):
        from_frame("holes", frame, pandas.Series(["a", None, "b", "a", "b", "a"]))
    with pytest.raises(BenchError, match="no single target"):
        from_frame("none", frame, None)
