"""The model as SQL: DuckDB, SQLite and PostgreSQL give the answers of Python."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

from cli_examples import ferl, refused
from database_examples import (
    CATEGORY,
    EVIL,
    RULES,
    TREES,
    DuckDB,
    Postgres,
    SQLite,
    added_to_average,
    fitted,
    hard_rows,
    mixed_frame,
    postgres_programs,
    postgres_server,
)
from ferl import FERLClassifier, FERLTreeClassifier, save_model
from ferl._models.terms import Rules
from ferl.editing import edit
from ferl.export import export_c, export_python, export_sql
from ferl.export.sql import _SQLite as SQLitePrinter


@pytest.fixture(scope="module")
def postgres_address():
    if postgres_programs() is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    with postgres_server() as address:
        yield address


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request):
    if request.param != "postgres":
        yield {"duckdb": DuckDB, "sqlite": SQLite}[request.param]()
        return
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'psycopg[binary]'")
    with psycopg.connect(request.getfixturevalue("postgres_address"), autocommit=True) as connection:
        yield Postgres(connection)


def by_class(found: pd.DataFrame, name: str, clf) -> np.ndarray:
    return found[[f"{name}_{label}" for label in clf.classes_]].to_numpy(float)


def assert_answers(clf, X: pd.DataFrame, found: pd.DataFrame, tolerance: float = 1e-9) -> None:
    """All that the query answers is what the classifier answers."""
    assert len(found) == len(X)
    evidence, labels = clf.predict_evidence(X), clf.predict(X)
    np.testing.assert_allclose(by_class(found, "probability", clf), clf.predict_proba(X), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(np.array(found["label"].tolist(), dtype=labels.dtype), labels)
    if clf.model_.kind == "rules":
        scores = clf.model_.decision_scores(clf._rows(X))
        np.testing.assert_allclose(by_class(found, "score", clf), scores, rtol=0, atol=tolerance)
        np.testing.assert_array_equal(found_reasons(found), reasons_of(clf, X, labels))
    if "ignorance" not in found:
        return
    np.testing.assert_allclose(found["ignorance"].to_numpy(float), evidence.ignorance, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(by_class(found, "in_set", clf).astype(bool), clf.predict_set(X))
    if clf.model_.kind == "rules":
        np.testing.assert_allclose(found["rows"].to_numpy(float), evidence.rows, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_allclose(by_class(found, "belief", clf), evidence.belief, rtol=0, atol=tolerance)


def found_reasons(found: pd.DataFrame) -> list[list[str]]:
    names = [name for name in found if re.fullmatch(r"reason_\d+", name)]
    return [[own if isinstance(own, str) else "" for own in row] for row in found[names].to_numpy().tolist()]


def reasons_of(clf, X: pd.DataFrame, labels: np.ndarray, n: int = 3) -> list[list[str]]:
    """The features that add most to the score of the label, compared with the average training row."""
    added, expected = added_to_average(clf, X), []
    for row, label in zip(added, labels.tolist(), strict=True):
        own = row[:, clf.classes_.tolist().index(label)]
        names = [str(X.columns[k]) for k in np.argsort(-own, kind="stable")[:n] if own[k] > 1e-9]
        expected.append([*names, *[""] * (n - len(names))])
    return expected


@pytest.mark.parametrize("name", [*RULES, *TREES, "indicators"])
def test_databases_answer_as_python_does(name, database):
    clf, X = fitted(name), hard_rows()
    query = export_sql(clf, dialect=database.dialect, keep=["id"])
    assert_answers(clf, X, database.answers(X, query))


@pytest.mark.parametrize("name", ["rules", "tree deep"])
def test_without_evidence_the_query_is_shorter_and_answers_the_rest(name, database):
    clf, X = fitted(name), hard_rows()
    query = export_sql(clf, dialect=database.dialect, keep=["id"], evidence=False)
    assert len(query) < len(export_sql(clf, dialect=database.dialect, keep=["id"]))
    found = database.answers(X, query)
    assert not {"ignorance", "rows", "in_set_mid"} & set(found)
    assert_answers(clf, X, found)


def test_the_standard_runs_on_a_database_that_keeps_to_it(postgres_address):
    psycopg = pytest.importorskip("psycopg")
    X, y = mixed_frame()
    X, rows = X.drop(columns="day"), hard_rows().drop(columns="day")
    clf = FERLClassifier(random_state=0, categorical_features=["place", "many", "flag", "code"]).fit(X, y)
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        assert_answers(clf, rows, Postgres(connection).answers(rows, export_sql(clf, dialect="ansi", keep=["id"])))


def test_sets_of_another_level(database):
    clf, X = fitted("rules"), hard_rows()
    query = export_sql(clf, dialect=database.dialect, keep=["id"], level=0.9, reasons=0)
    found = database.answers(X, query)
    np.testing.assert_array_equal(by_class(found, "in_set", clf).astype(bool), clf.predict_set(X, level=0.9))
    assert (clf.predict_set(X, level=0.9) != clf.predict_set(X)).any()


def test_moments_with_a_zone_and_single_days(database):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 90 * 86_400, 3000), unit="s")
    bad = rng.random(90) < 0.2
    y = (bad[(days - days.min()).days.to_numpy() % 90] | (days.hour < 6)) ^ (rng.random(3000) < 0.05)
    X = pd.DataFrame({"when": days.tz_localize("UTC"), "x": rng.normal(size=3000)})
    clf = FERLClassifier(random_state=0).fit(X, y)
    assert any(own.kind == "day" for own in clf.model_.derived)
    rows = X.sample(300, random_state=0).reset_index(drop=True)
    rows["when"] = rows["when"].dt.tz_convert("Asia/Kolkata")
    rows.loc[:9, "when"] = pd.NaT
    query = export_sql(clf, dialect=database.dialect, keep=["id"])
    found = database.answers(rows, query)
    assert_answers(clf, rows, found)


def test_names_and_labels_that_would_break_out_of_quotes(database):
    X, y = mixed_frame()
    clf = FERLClassifier(random_state=0).fit(X[[EVIL, "place"]], np.where(y == "mid", "'; DROP TABLE rows; --", '"/*'))
    table = 'x"; DROP TABLE rows; --'
    rows = hard_rows()[[EVIL, "place"]]
    query = export_sql(clf, dialect=database.dialect, keep=["id"], table=table, prefix="ferl ")
    found = database.answers(rows, query, table)
    found.columns = [name.removeprefix("ferl ") for name in found]
    assert_answers(clf, rows, found)
    assert (rows["place"] == CATEGORY).any()


def test_a_table_in_a_schema():
    database = DuckDB()
    clf, X = fitted("two classes"), hard_rows()[:20]
    database.answers(X, "SELECT id FROM rows")
    database.connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.ferl_0 AS SELECT * FROM rows; DROP TABLE rows")
    found = database.connection.execute(export_sql(clf, table=("ward", "ferl_0"), keep=["id"])).df()
    np.testing.assert_array_equal(found.sort_values("id")["label"].to_numpy(), clf.predict(X))


def test_labels_that_a_database_takes_for_one_are_numbered(database):
    X, y = mixed_frame()
    for labels in (("a", "A"), ("x" * 70 + "1", "x" * 70 + "2")):
        clf = FERLClassifier(random_state=0).fit(X[["b", "c"]], np.where(y == "mid", *labels))
        found = database.answers(hard_rows()[["b", "c"]], export_sql(clf, dialect=database.dialect, keep=["id"]))
        is_told_apart = f"probability_{labels[0]}" in found
        assert is_told_apart or {"probability_0", "probability_1", "in_set_1"} <= set(found)
        assert is_told_apart == (database.dialect == "postgres" if labels[0] == "a" else database.dialect != "postgres")
        np.testing.assert_array_equal(found["label"], clf.predict(hard_rows()[["b", "c"]]))


def test_nan_is_missing_and_infinity_is_refused(database):
    clf = fitted("two classes")
    X = hard_rows()[:20]
    query = export_sql(clf, dialect=database.dialect, keep=["id"], evidence=False)
    database.answers(X, query)
    if database.dialect != "sqlite":  # which stores NaN as NULL
        database.connection.execute(f"UPDATE rows SET {quoted_evil()} = 'NaN'")
        found = pd.DataFrame(database.connection.execute(f'SELECT "probability_True" FROM ({query}) q').fetchall())
        expected = clf.predict_proba(X.assign(**{EVIL: np.nan}))[:, 1]
        np.testing.assert_allclose(np.sort(found[0]), np.sort(expected), rtol=0, atol=1e-9)
    infinite = "9e999" if database.dialect == "sqlite" else "'-Infinity'"
    database.connection.execute(f"UPDATE rows SET {quoted_evil()} = {infinite} WHERE id = 3")
    with pytest.raises(Exception, match="overflow" if database.dialect == "sqlite" else "finite numbers"):
        database.connection.execute(query).fetchall()


def quoted_evil() -> str:
    return '"a""b; drop"'


@pytest.mark.parametrize(("column", "value"), [("b", "'12,5'"), ("b", "''"), ("day", "'yesterday'"), ("day", "12")])
def test_sqlite_refuses_text_among_numbers_and_what_is_no_date(column, value):
    database, clf = SQLite(), fitted("two classes")
    query = export_sql(clf, dialect="sqlite", keep=["id"], evidence=False)
    database.answers(hard_rows()[:20], query)
    database.connection.execute(f"UPDATE rows SET {column} = {value} WHERE id = 3")
    with pytest.raises(Exception, match="overflow"):
        database.connection.execute(query).fetchall()


def test_sqlite_without_math_functions_takes_exp_from_python():
    assert "create_function" in export_sql(fitted("rules"), dialect="sqlite")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_sqlite_compares_with_the_exact_number(number):
    written = SQLitePrinter.__new__(SQLitePrinter).exact(number)
    (found,) = SQLite().connection.execute(f"SELECT {written} = ?", [number]).fetchone()
    assert found or not 2.0**-1000 < abs(number) < 2.0**53  # beyond, numbers are written in decimals


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10_000), st.sampled_from(["rules", "deep", "compact"]), st.integers(1, 4))
def test_any_small_table(seed, kind, n_classes):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(20, 120))
    X = pd.DataFrame(
        {
            "x": rng.normal(size=n) * 10.0 ** rng.integers(-12, 12),
            "y": rng.integers(0, 3, n).astype(float),
            "z": pd.Series(rng.choice(["a", "b", "c'"], n), dtype=object),
        }
    )
    X.loc[rng.random(n) < 0.2, "x"] = np.nan
    y = rng.integers(0, n_classes, n)
    clf = FERLClassifier(random_state=0) if kind == "rules" else FERLTreeClassifier(kind, random_state=0)
    clf.fit(X, y)
    rows = pd.concat([X, X.assign(x=X["x"] * 3, z="d")], ignore_index=True)
    for database in (DuckDB(), SQLite()):
        found = database.answers(rows, export_sql(clf, dialect=database.dialect, keep=["id"]))
        assert_answers(clf, rows, found, 1e-9)


@cache
def many_classes() -> tuple[FERLClassifier, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(3000, 8)), columns=[f"x{j}" for j in range(8)])
    y = (
        np.digitize(X["x0"] + X["x1"] * (X["x2"] > 0), np.linspace(-2, 2, 5)) * 4 + (X["x3"] > 0) * 2 + (X["x4"] > 0)
    ).to_numpy()
    clf = FERLClassifier(random_state=0, n_exemplars=64).fit(X, y)
    assert len(clf.classes_) > 15
    assert clf.n_rules_ > 40
    return clf, X[:50] + 0.01


def test_many_classes_and_many_rules_stay_within_the_limits_of_databases(database):
    clf, rows = many_classes()
    assert_answers(clf, rows, database.answers(rows, export_sql(clf, dialect=database.dialect, keep=["id"])))


def test_a_query_is_refused_where_a_database_has_too_few_columns():
    tree = fitted("tree deep")
    reading = replace(tree.model_.reading, combination="chain")
    wide = tree.reading(combination="chain")
    assert wide.model_.reading == reading
    assert export_sql(wide, dialect="duckdb")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 4)), rng.integers(0, 40, 4000)
    many = FERLTreeClassifier("deep", random_state=0, combination="chain").fit(X, y)
    with pytest.raises(ValueError, match="columns side by side, and postgres has at most 1600"):
        export_sql(many, dialect="postgres")


def test_known_cases_are_refused_with_the_remedy():
    X, y = load_breast_cancer(return_X_y=True)
    clf = FERLClassifier(cases=True, random_state=0).fit(X[::2], y[::2])
    assert clf.n_cases_
    for export in (export_sql, export_python, export_c):
        with pytest.raises(ValueError, match=r"cases=False, or strike .*: ferl\.editing\.edit\(clf\)\.strike\(\)"):
            export(clf)
        assert export(edit(clf).strike())


def test_kinds_of_terms_without_a_form_are_refused():
    clf = fitted("two classes")

    class SimilarCases(type(clf.model_.curves).__mro__[1]):  # another kind of term
        n_terms = 0
        contributions = columns = mean = spread = None

    model = clf.model_

    class WithCases(type(model)):
        terms = (model.rules, SimilarCases())

    parts = {name: value for name, value in vars(model).items() if name in type(model).__dataclass_fields__}
    other = FERLClassifier().__class__.__new__(type(clf))
    other.__dict__.update(vars(clf))
    other.__dict__["model_"] = WithCases(**parts)
    with pytest.raises(ValueError, match="SimilarCases, which have no form in SQL or plain code"):
        export_sql(other)
    assert isinstance(model.terms[0], Rules)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dialect": "oracle"}, "dialect is 'oracle'; it must be one of"),
        ({"reasons": -1}, "reasons is -1; it must be a whole number"),
        ({"level": 1.5}, "level is 1.5"),
        ({"table": ""}, "has the name '', which no database allows"),
        ({"keep": ["label"]}, "returns the columns 'label' and 'label'"),
        ({"feature_names": ["a"]}, "feature_names has 1 names"),
        ({"feature_names": [*"abcdefgh", "A"]}, "'a' and 'A', which duckdb takes for one"),
        ({"feature_names": [*"abcdefgh", "x\0"]}, "which no database allows"),
    ],
)
def test_wrong_parameters_are_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        export_sql(fitted("rules"), **given)


def test_trees_have_no_reasons_and_no_level():
    with pytest.raises(ValueError, match="this is a tree, whose evidence does not add up"):
        export_sql(fitted("tree deep"), reasons=2)
    with pytest.raises(ValueError, match="sets of trees have no level"):
        export_sql(fitted("tree deep"), level=0.9)
    with pytest.raises(TypeError, match="export_sql got a PosixPath"):
        export_sql(Path("x"))


def test_the_command_line_writes_what_the_functions_return(tmp_path):
    clf, path = fitted("two classes"), tmp_path / "model.json"
    save_model(clf, path)
    sql, python, c = (tmp_path / name for name in ("score.sql", "model.py", "model.c"))
    options = [
        "--sql",
        sql,
        "--dialect",
        "sqlite",
        "--table",
        "ward.rows",
        "--keep",
        "id, b",
        "--python",
        python,
        "--c",
        c,
    ]
    printed = ferl("export", path, *options, "--no-evidence", "--reasons", 2).stdout
    assert [line.partition(":")[0] for line in printed.splitlines()] == [str(sql), str(python), str(c)]
    wanted = {"evidence": False, "reasons": 2}
    query = export_sql(clf, dialect="sqlite", table=("ward", "rows"), keep=["id", "b"], **wanted)
    assert sql.read_text(encoding="utf-8") == f"{query}\n"
    assert python.read_text(encoding="utf-8") == export_python(clf, **wanted)
    assert c.read_text(encoding="utf-8") == export_c(clf, **wanted)


def test_the_command_line_refuses_options_without_what_they_are_about(tmp_path):
    path = tmp_path / "model.json"
    save_model(fitted("tree compact"), path)
    onnx = ["-o", tmp_path / "model.onnx"]
    assert "Name a file: -o model.onnx for ONNX, --sql score.sql" in refused("export", path)
    for option in (["--dialect", "sqlite"], ["--table", "rows"], ["--keep", "id"]):
        assert f"{option[0]} is about SQL; add --sql score.sql" in refused("export", path, *onnx, *option)
    for option in (["--no-evidence"], ["--reasons", 2]):
        assert f"{option[0]} is about SQL and plain code" in refused("export", path, *onnx, *option)
    assert "this is a tree" in refused("export", path, "--sql", tmp_path / "score.sql", "--reasons", 2)
    assert not (tmp_path / "score.sql").exists()
