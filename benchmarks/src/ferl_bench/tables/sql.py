"""The SQL table: a million rows judged by DuckDB and by the compiled core, as ratios in the same run."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl import FERLClassifier, FERLTreeClassifier
from ferl._estimator import FERLEstimator
from ferl.export import export_sql
from ferl_bench.big_table import draw
from ferl_bench.errors import BenchError, NotInstalledError, require
from ferl_bench.facts import n_cores, versions
from ferl_bench.race import race
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

N_FIT = 20_000
N_ROWS = 1_000_000
N_FEWER = 100_000  # where each row is compared with all rows that the model keeps
BRIEF = {"evidence": False, "reasons": 0}
RULES: tuple[Any, dict[str, Any]] = (FERLClassifier, {})
FEW_RULES: tuple[Any, dict[str, Any]] = (FERLClassifier, {"max_rules": 15, "max_maps": 0})
TREE: tuple[Any, dict[str, Any]] = (FERLTreeClassifier, {"variant": "deep"})
LINES: dict[str, tuple[tuple[Any, dict[str, Any]], dict[str, Any], int]] = {
    "rules: label, probabilities": (RULES, BRIEF, N_ROWS),
    "rules: the same, 3 reasons": (RULES, {**BRIEF, "reasons": 3}, N_ROWS),
    "15 rules, no maps: label, probabilities": (FEW_RULES, BRIEF, N_ROWS),
    "deep tree: label, probabilities": (TREE, BRIEF, N_ROWS),
    "deep tree: sets": (TREE, {}, N_ROWS),
    "rules: sets, rows behind": (RULES, {"reasons": 0}, N_FEWER),
}
NOTES = (
    "Processor time, one thread each, on a generated table of 20 numbers and 5 columns of categories. DuckDB reads a "
    "table in memory and writes the answers to another one; its time includes that of reading and planning the query. "
    "Python reads the same table from Arrow: predict_proba; predict_set where there are sets.",
    "Largest difference: of a probability, over all rows.",
)


def run_sql(request: Request) -> Report:
    """Fit models on a generated table, and race their queries with themselves."""
    try:
        duckdb = require("duckdb", "duckdb")
    except NotInstalledError as error:
        raise BenchError(str(error)) from error
    (train, y), (rows, _) = _table(0, N_FIT), _table(1, N_ROWS)
    seconds: dict[str, dict[str, float]] = {}
    lines, fitted = [], dict[str, FERLEstimator[Any]]()
    with one_thread():
        for name, ((kind, parameters), wanted, n_rows) in LINES.items():
            request.console.print(f"racing {name}")
            key = str((kind, parameters))
            if key not in fitted:
                fitted[key] = kind(**parameters, random_state=0, n_jobs=1).fit(train, y)
            clf, judged = fitted[key], rows.slice(0, n_rows)
            query = export_sql(clf, **wanted)
            with duckdb.connect() as connection:
                connection.execute("SET threads = 1")
                connection.register("given", judged)
                connection.execute('CREATE TABLE "rows" AS SELECT * FROM given')
                runners = {
                    "DuckDB": partial(connection.execute, f"CREATE OR REPLACE TABLE answers AS {query}"),
                    "core": partial(clf.predict_set if "sets" in name else clf.predict_proba, judged),
                }
                measured = seconds[name] = race(runners, request.repetitions - 1)
                apart = _apart(connection, clf, judged)
            cells = [clf.model_.size, f"{n_rows:,}", f"{len(query) / 1024:.0f}"]
            cells += [f"{measured['DuckDB'] / measured['core']:.1f}", f"{measured['DuckDB']:.1f}"]
            lines.append([name, *cells, f"{measured['core']:.1f}", f"{apart:.0e}"])
    header = [
        "Model and answers",
        "Size",
        "Rows",
        "Query, kB",
        "DuckDB / core",
        "DuckDB, s",
        "Core, s",
        "Largest difference",
    ]
    return Report(
        name="sql",
        title="SQL: a million rows in DuckDB",
        facts={
            **versions(("numpy", "duckdb", "pyarrow")),
            "cores": n_cores(),
            "protocol": f"fitted on {N_FIT:,} generated rows, up to {N_ROWS:,} others judged",
        },
        sections=[Section("Time", header, lines, list(NOTES))],
        data={"seconds": seconds},
    )


def _table(part: int, n_rows: int) -> tuple[pa.Table, NDArray[np.int8]]:
    X, codes, y, _ = draw(part, n_rows)
    columns: dict[str, Any] = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    for place, code in enumerate(codes):
        columns[f"c{place}"] = pa.DictionaryArray.from_arrays(code, [f"v{k}" for k in range(code.max() + 1)])
    return pa.table(columns), y


def _apart(connection: Any, clf: FERLEstimator[Any], rows: pa.Table) -> float:
    """The largest difference of a probability; both in ascending order, since a query returns rows in any."""
    label = clf.classes_[1]
    result = connection.execute(f'SELECT "probability_{label}" FROM answers ORDER BY 1').fetchnumpy()
    expected = np.sort(clf.predict_proba(rows)[:, 1])
    return float(np.abs(next(iter(result.values())) - expected).max())


TABLE = Table(
    summary="A million rows judged by DuckDB and by the compiled core, as ratios in the same run.",
    run=run_sql,
    chapter="Speed",
    minutes=10,
    needs_data=False,
    in_one_process=True,
    repetitions=1,
)
