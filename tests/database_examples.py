"""Tables, models and databases for the tests of exports to SQL and plain code."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from glob import glob
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from ferl import FERLClassifier, FERLTreeClassifier
from ferl._estimator import FERLEstimator
from ferl.editing import edit

EVIL = 'a"b; drop'  # the name of a column
CATEGORY = "ü \"q'; drop"
SQL_TYPES = {"f": "float8", "i": "float8", "b": "boolean", "M": "timestamp", "O": "text"}


def mixed_frame(n_rows: int = 1500, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Numbers, text of few and of many values, booleans, moments, ordered and numbered categories, and holes."""
    rng = np.random.default_rng(seed)
    number, amount, count = rng.normal(size=n_rows), rng.gamma(2.0, 2.0, n_rows).round(2), rng.integers(0, 40, n_rows)
    place, many = rng.choice(["north", "west", CATEGORY], n_rows), rng.integers(0, 25, n_rows)
    flag, code = rng.random(n_rows) < 0.4, rng.choice([3, 17, 99], n_rows)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 700 * 86_400, n_rows), unit="s")
    size = rng.choice(["low", "mid", "high"], n_rows)
    X = pd.DataFrame(
        {
            EVIL: number,
            "b": amount,
            "c": count.astype(float),
            "place": pd.Series(place, dtype=object),
            "many": pd.Series([f"m{item}" for item in many], dtype=object),
            "flag": flag.astype(object),
            "code": code.astype(float),
            "day": day,
            "size": pd.Categorical(size, ["low", "mid", "high"], ordered=True),
        }
    )
    score = (number > 0) * 1.2 + (amount > 4) * (place == "west") * 1.5 + np.sin(count / 6) + flag * 0.5
    score = score + (day.day_of_week > 4) + (many < 12) * 0.8 + (code == 17) * 0.7 + rng.normal(size=n_rows) * 0.5
    score = score + (size == "high") * 0.6 + (day.day_of_year % 9 == 0) * 0.8
    for name in (EVIL, "b", "place", "many", "flag", "code", "day"):
        X.loc[rng.random(n_rows) < 0.06, name] = None
    return X, np.where(score > 3.4, "high", np.where(score > 2, "mid", 'lo"w'))


def hard_rows() -> pd.DataFrame:
    """Rows like those of training, rows outside their range, with other categories, and with missing values."""
    X = mixed_frame(200, seed=1)[0]
    X.loc[0:19, EVIL] = [50.0, -50.0, 3.5, -4.0, 1e9] * 4
    X.loc[15:40, "place"] = "nowhere"
    X.loc[30:60, "many"] = "m99"
    X.loc[35:45, "code"] = 5.0
    X.loc[50:70, "day"] = pd.Timestamp("2031-02-28 23:59:59")
    X.loc[65:75, "day"] = pd.Timestamp("1904-12-31 00:00:01")
    X.loc[60:80, "b"] = np.nan
    X.loc[90, :] = None
    return X


@cache
def fitted(name: str) -> FERLEstimator:
    """Models of all kinds."""
    X, y = mixed_frame()
    options: dict[str, Any] = {"random_state": 0, "categorical_features": ["place", "many", "flag", "code"]}
    if name == "two classes":
        return FERLClassifier(**options).fit(X, y == "high")
    if name == "one class":
        return FERLClassifier(**options).fit(X, np.full(len(X), 7))
    if name == "monotone":
        return FERLClassifier(monotonic_cst={EVIL: 1, "b": 1}, **options).fit(X, y == "high")
    if name == "edited":
        return edit(fitted("two classes")).drop(1).flatten("c").monotone("b", 1)
    if name == "updated":
        clf = FERLClassifier(**options).partial_fit(X[:700], y[:700], classes=np.unique(y))
        return clf.partial_fit(X[700:], y[700:])
    if name.startswith("tree"):
        variant, combination = [*name.split(), "dempster"][1:3]
        return FERLTreeClassifier(variant, combination=combination, **options).fit(X, y)
    parameters = {
        "rules": {},
        "words": {"words": True},
        "no gates": {"support_gate": False},
        "no rows kept": {"n_exemplars": 0},
        "indicators": {"missing_conditions": True, "max_maps": 0},
    }[name]
    return FERLClassifier(**parameters, **options).fit(X, y)


RULES = ("rules", "words", "two classes", "one class", "monotone", "edited", "updated", "no gates", "no rows kept")
TREES = ("tree deep", "tree compact", "tree medium cautious", "tree medium chain", "tree medium vote")


def added_to_average(clf: FERLEstimator, X: pd.DataFrame) -> np.ndarray:
    """What each feature adds to the scores beyond the average row, shape (n_samples, n_features, n_classes)."""
    model, rows = clf.model_, clf._rows(X)
    mean = model.fading(rows)[:, None, None] * model.mean_contributions
    return model.share_among_features(model.contributions(rows) - mean)[:, :-1]


def plain(value: Any) -> Any:
    """A value of a frame as drivers of databases take it."""
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else getattr(value, "item", lambda: value)()


def plain_rows(X: pd.DataFrame) -> list[list[Any]]:
    return [[plain(value) for value in row] for row in X.itertuples(index=False, name=None)]


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class DuckDB:
    """DuckDB in memory."""

    dialect = "duckdb"

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")

    def answers(self, X: pd.DataFrame, query: str, table: str = "rows") -> pd.DataFrame:
        """The answers to a table, which also has the column id."""
        types = {"float8": "DOUBLE"}
        columns = [f"{quoted(name)} {types.get(item, item)}" for name, item in sql_types(X).items()]
        self.connection.execute(f"CREATE OR REPLACE TABLE {quoted(table)} (id INTEGER, {', '.join(columns)})")
        marks = ", ".join("?" * (1 + len(columns)))
        rows = [[index, *row] for index, row in enumerate(plain_rows(X))]
        self.connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
        result = self.connection.execute(query)
        return in_order([item[0] for item in result.description], result.fetchall())


class SQLite:
    """SQLite in memory."""

    dialect = "sqlite"

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:")

    def answers(self, X: pd.DataFrame, query: str, table: str = "rows") -> pd.DataFrame:
        columns = ", ".join(map(quoted, X.columns))
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        self.connection.execute(f"CREATE TABLE {quoted(table)} (id INTEGER, {columns})")
        rows = [
            [index, *(item.isoformat(sep=" ") if hasattr(item, "isoformat") else item for item in row)]
            for index, row in enumerate(plain_rows(X))
        ]
        marks = ", ".join("?" * (1 + len(X.columns)))
        self.connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
        result = self.connection.execute(query)
        return in_order([item[0] for item in result.description], result.fetchall())


class Postgres:
    """A server of PostgreSQL that was started for the tests."""

    dialect = "postgres"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def answers(self, X: pd.DataFrame, query: str, table: str = "rows") -> pd.DataFrame:
        columns = ", ".join(f"{quoted(name)} {item}" for name, item in sql_types(X).items())
        self.connection.execute(f"DROP TABLE IF EXISTS {quoted(table)}")
        self.connection.execute(f"CREATE TABLE {quoted(table)} (id integer, {columns})")
        with self.connection.cursor().copy(f"COPY {quoted(table)} FROM STDIN") as copy:
            for index, row in enumerate(plain_rows(X)):
                copy.write_row([index, *row])
        result = self.connection.execute(query)
        return in_order([item[0] for item in result.description], result.fetchall())


def sql_types(X: pd.DataFrame) -> dict[str, str]:
    """The type of each column; that of objects by their first value."""
    result = {}
    for name in X.columns:
        kind = X[name].dtype.kind if isinstance(X[name].dtype, np.dtype) else "O"
        known = X[name].dropna()
        is_flag = kind == "O" and len(known) and isinstance(known.iloc[0], bool)
        zoned = isinstance(X[name].dtype, pd.DatetimeTZDtype)
        result[str(name)] = "timestamptz" if zoned else SQL_TYPES["b" if is_flag else kind]
    return result


def in_order(names: list[str], rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=names).sort_values("id").reset_index(drop=True)


def postgres_programs() -> str | None:
    """The folder of PostgreSQL's programs; None where it is not installed."""
    result = [os.path.dirname(initdb)] if (initdb := shutil.which("initdb")) else []
    result += sorted(glob("/usr/lib/postgresql/*/bin"), reverse=True)
    return next((item for item in result if os.path.exists(f"{item}/initdb")), None)


@contextmanager
def postgres_server() -> Iterator[str]:
    """A server in a temporary folder, on a socket in it; gives what to connect to. Root runs it as postgres."""
    programs, user = postgres_programs(), {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="ferl-pg-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = f"{folder}/data"
        made = [f"{programs}/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--encoding=UTF8", "--no-sync"]
        subprocess.run(made, check=True, capture_output=True, cwd=folder, **user)
        options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
        control = [f"{programs}/pg_ctl", "-D", data, "-w", "-l", f"{folder}/log"]
        subprocess.run([*control, "-o", options, "start"], check=True, capture_output=True, cwd=folder, **user)
        try:
            yield f"host={folder} dbname=postgres user=postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], capture_output=True, cwd=folder, **user)
