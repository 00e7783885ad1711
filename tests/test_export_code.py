"""The model as plain Python and C: the answers of the classifier, scores and probabilities to the last bit."""

from __future__ import annotations

import ctypes
import datetime
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from database_examples import EVIL, RULES, TREES, added_to_average, fitted, hard_rows, mixed_frame, plain_rows
from ferl import FERLClassifier
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._tell.reasons import largest_first
from ferl.editing import edit
from ferl.export import export_c, export_python

ALL = (*RULES, *TREES, "indicators")
# Products of what sources leave are taken in another order than in the core.
ROUNDED = ("tree deep", "tree compact", "tree medium chain")


def python_answers(code: str, X: pd.DataFrame) -> list[dict]:
    names: dict = {}
    exec(compile(code, "model.py", "exec"), names)
    return [names["predict"](dict(zip(X.columns, row, strict=True))) for row in plain_rows(X)]


class Compiled:
    """A model in C, compiled with all warnings as errors and loaded.

    Parameters
    ----------
    code : str
        The file.
    folder : Path
        Where to compile it.
    """

    def __init__(self, code: str, folder: Path) -> None:
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            pytest.skip("no C compiler")
        (folder / "model.c").write_text(code, encoding="utf-8")
        flags = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, "model.c", "-o", "model.so", "-lm"], check=True, cwd=folder)
        self.library = ctypes.CDLL(str(folder / "model.so"))
        self.row, self.answer = (self._struct(code, name) for name in ("ferl_row", "ferl_answer"))

    @staticmethod
    def _struct(code: str, name: str) -> type[ctypes.Structure]:
        body = re.search(rf"struct {name} {{\n(.*?)\n}};", code, re.DOTALL)
        assert body is not None
        kinds = {
            "double ": ctypes.c_double,
            "int ": ctypes.c_int,
            "const char *": ctypes.c_char_p,
            "char ": ctypes.c_char,
        }
        fields = []
        for kind, field, size in re.findall(
            r"^  (double |int |const char \*|char )(\w+)(?:\[(\d+)\])?;", body[1], re.M
        ):
            fields.append((field, kinds[kind] * int(size) if size else kinds[kind]))
        return type(name, (ctypes.Structure,), {"_fields_": fields})

    def __call__(self, values: dict[int, object]) -> tuple[int, ctypes.Structure]:
        """What the function returns, and the answer; ``values`` by the index of the column."""
        row, answer = self.row(), self.answer()
        for field, kind in self.row._fields_:
            found = re.match(r"x(\d+)", field)
            value = values[int(found[1])] if found else b"\0"
            is_text = kind is ctypes.c_char_p
            setattr(row, field, value.encode() if is_text and value is not None else self._number(value, is_text))
        return self.library.ferl_predict(ctypes.byref(row), ctypes.byref(answer)), answer

    @staticmethod
    def _number(value: object, is_text: bool) -> object:
        if value is None:
            return None if is_text else float("nan")
        if isinstance(value, datetime.datetime):
            apart = value - datetime.datetime(1970, 1, 1, tzinfo=value.tzinfo and datetime.UTC)
            return apart.days + (apart.seconds * 1_000_000 + apart.microseconds) / 86_400e6
        return value if isinstance(value, bytes) else float(value)


def assert_same(clf, X: pd.DataFrame, name: str, found: dict[str, np.ndarray]) -> None:
    evidence, rounding = clf.predict_evidence(X), 1e-12 if name in ROUNDED else 0.0
    np.testing.assert_allclose(found["probability"], clf.predict_proba(X), rtol=0, atol=rounding)
    np.testing.assert_allclose(found["ignorance"], evidence.ignorance, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found["label"], clf.predict(X))
    np.testing.assert_array_equal(found["set"], clf.predict_set(X))
    if clf.model_.kind == "rules":
        np.testing.assert_array_equal(found["score"], clf.model_.decision_scores(clf._rows(X)))
        np.testing.assert_allclose(found["rows"], evidence.rows, rtol=1e-12, atol=1e-12)
        added, classes = added_to_average(clf, X), clf.classes_.tolist()
        for row, label, own in zip(added, clf.predict(X).tolist(), found["reason"], strict=True):
            size = row[:, classes.index(label)]
            expected = [int(k) for k in np.argsort(-size, kind="stable")[:3] if size[k] > 1e-9]
            assert own == expected
    else:
        np.testing.assert_allclose(found["belief"], evidence.belief, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ALL)
def test_python_answers_as_the_classifier_does(name):
    clf, X = fitted(name), hard_rows()
    answers, classes, columns = python_answers(export_python(clf), X), clf.classes_.tolist(), X.columns.tolist()
    by_class = {
        own: np.array([[answer[own][label] for label in classes] for answer in answers])
        for own in ("probability", "score", "belief")
        if own in answers[0]
    }
    found = by_class | {own: np.array([answer[own] for answer in answers]) for own in ("ignorance", "label")}
    found["set"] = np.array([[label in answer["set"] for label in classes] for answer in answers])
    if "rows" in answers[0]:
        found["rows"] = np.array([answer["rows"] for answer in answers])
        found["reason"] = [[columns.index(own) for own in answer["reasons"]] for answer in answers]
    assert_same(clf, X, name, found)


@pytest.mark.parametrize("name", ALL)
def test_c_answers_as_the_classifier_does(name, tmp_path):
    clf, X = fitted(name), hard_rows()
    model = Compiled(export_c(clf), tmp_path)
    answers = []
    for row in plain_rows(X):
        code, answer = model(dict(enumerate(row)))
        assert code == 0
        answers.append(answer)
    fields = [field for field, _ in model.answer._fields_ if field not in ("label", "reason", "in_set")]
    found = {
        own: np.array(
            [
                np.ctypeslib.as_array(getattr(answer, own))
                if own in ("score", "probability", "belief")
                else getattr(answer, own)
                for answer in answers
            ]
        )
        for own in fields
    }
    found["label"] = clf.classes_[[answer.label for answer in answers]]
    found["set"] = np.array([list(answer.in_set) for answer in answers]).astype(bool)
    if "reason" in dict(model.answer._fields_):
        found["reason"] = [[own for own in answer.reason if own >= 0] for answer in answers]
    assert_same(clf, X, name, found)


def test_the_file_of_python_needs_no_other_package(tmp_path):
    clf, X = fitted("two classes"), hard_rows()[:3]
    code = export_python(clf, evidence=False)
    assert set(re.findall(r"^(?:from|import) (\w+)", code, re.M)) <= {"bisect", "datetime", "math", "struct"}
    (tmp_path / "model.py").write_text(code, encoding="utf-8")
    row = {name: value for name, value in zip(X.columns, plain_rows(X)[0], strict=True) if name != "day"}
    call = f"from model import predict; print(predict({{**{row!r}, 'day': None}})['probability'])"
    environment = {name: own for name, own in os.environ.items() if not name.startswith("PYTHON")}
    alone = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {call}"]
    printed = subprocess.run(alone, check=True, capture_output=True, text=True, env=environment).stdout
    expected = clf.predict_proba(X[:1].assign(day=pd.to_datetime([None])))[0].tolist()
    assert printed.strip() == str(dict(zip(clf.classes_.tolist(), expected, strict=True)))


def test_python_takes_values_in_several_types():
    clf, X = fitted("rules"), hard_rows()
    code, row = export_python(clf, evidence=False), dict(zip(X.columns, plain_rows(X)[100], strict=True))
    row |= {"day": datetime.datetime(2020, 5, 4), "b": 2.5, "flag": True, "code": 17.0, "c": 3.0}
    others = [
        row | {"day": "2020-05-04"},
        row | {"day": datetime.date(2020, 5, 4)},
        row | {"b": Decimal("2.5"), "c": 3},
        row | {"flag": "true", "code": "017"},
        row | {"flag": 1, "code": 17},
    ]
    names: dict = {}
    exec(code, names)
    assert [names["predict"](own) for own in others] == [names["predict"](row)] * len(others)
    assert names["predict"](row | {"b": None}) == names["predict"](row | {"b": float("nan")})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"b": "2,5"}, "Column 'b' holds '2,5'; in training it held numbers"),
        ({"b": float("inf")}, "Column 'b' holds infinity"),
        ({"code": float("-inf")}, "Column 'code' holds infinity"),
        ({"day": 17}, "Column 'day' holds 17; in training it held dates"),
        ({"day": datetime.datetime(2020, 5, 4, tzinfo=datetime.UTC)}, "dates without a time zone are expected"),
        ({"day": "yesterday"}, "Invalid isoformat"),
    ],
)
def test_python_refuses_what_the_classifier_refuses(changed, message):
    names: dict = {}
    exec(export_python(fitted("rules"), evidence=False), names)
    row = dict(zip(hard_rows().columns, plain_rows(hard_rows())[100], strict=True))
    with pytest.raises(ValueError, match=re.escape(message)):
        names["predict"](row | changed)
    with pytest.raises(ValueError, match="The row has no column 'b'"):
        names["predict"]({name: own for name, own in row.items() if name != "b"})


def test_c_returns_the_number_of_the_column_that_holds_infinity(tmp_path):
    clf, X = fitted("rules"), hard_rows()
    model = Compiled(export_c(clf, evidence=False), tmp_path)
    row = dict(enumerate(plain_rows(X)[100]))
    place = [own for own, _ in model.row._fields_].index("x1_b") + 1
    assert model(row | {1: float("inf")})[0] == place
    assert model(row)[0] == 0


def test_names_and_text_cannot_break_out(tmp_path):
    X, y = mixed_frame()
    names, labels = ['"""\n*/ import os', "a\\"], ['??/"\n', "*/ x '''"]
    frame = pd.DataFrame({names[0]: X[EVIL], names[1]: X["place"].replace("north", '\\"; \n/* ü')})
    clf = FERLClassifier(random_state=0).fit(frame, np.where(y == "mid", *labels))
    rows = frame[:40]
    assert [own["label"] for own in python_answers(export_python(clf), rows)] == clf.predict(rows).tolist()
    model = Compiled(export_c(clf), tmp_path)
    found = [model(dict(enumerate(row)))[1] for row in plain_rows(rows)]
    assert clf.classes_[[own.label for own in found]].tolist() == clf.predict(rows).tolist()
    texts = (ctypes.c_char_p * 2).in_dll(model.library, "ferl_labels")
    assert [own.decode() for own in texts] == clf.classes_.tolist()


def test_models_of_hard_numbers(tmp_path):
    """Huge, tiny and constant columns, and one that is always missing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"huge": rng.normal(size=400) * 1e140, "tiny": rng.normal(size=400) * 1e-140, "same": 1.0})
    X["none"] = np.nan
    y = (X["huge"] > 0) ^ (X["tiny"] > 0)
    clf = FERLClassifier(random_state=0).fit(X, y)
    rows = pd.concat([X[:50], X[:20] * 3, pd.DataFrame(np.full((1, 4), np.nan), columns=X.columns)], ignore_index=True)
    answers = python_answers(export_python(clf), rows)
    np.testing.assert_array_equal(
        [[own["probability"][label] for label in clf.classes_.tolist()] for own in answers], clf.predict_proba(rows)
    )
    model = Compiled(export_c(clf), tmp_path)
    found = [list(model(dict(enumerate(row)))[1].probability) for row in plain_rows(rows)]
    np.testing.assert_array_equal(found, clf.predict_proba(rows))


def test_other_kinds_of_models_are_refused():
    class Other(Model):
        kind = "other"

    from ferl.export.lowering import Wanted, add_answers

    with pytest.raises(ValueError, match="Other has no form in SQL or plain code"):
        add_answers(object.__new__(Other), None, Wanted())


def test_a_missing_date_is_answered():
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), unit="D")
    table = pd.DataFrame({"when": days, "b": rng.normal(size=300)})
    clf = FERLClassifier(random_state=0).fit(table, np.where(table["when"].dt.month > 6, "s", "w"))
    names: dict = {}
    exec(export_python(clf), names)
    row = pd.DataFrame({"when": pd.to_datetime([None]), "b": [1.0]})
    found = names["predict"]({"when": None, "b": 1.0})["probability"]
    assert list(found.values()) == pytest.approx(clf.predict_proba(row)[0].tolist())


def test_features_that_add_equally_much_come_in_the_order_of_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 2)).round(1), columns=["b", "a"])
    clf = edit(FERLClassifier(random_state=0).fit(X, (X["a"] > 0) ^ (X["b"] > 0))).flatten("a").flatten("b")
    assert {len(own) for own in clf.model_.term_columns} == {2}  # which the two features share
    added, shared = added_to_average(clf, X), RuleModel.share_among_features
    np.testing.assert_allclose(added[:, 0], added[:, 1], atol=1e-12)

    def rounded(model, parts):  # as sums in another order may be
        return shared(model, parts) - 1e-14 * np.arange(3)[:, None]

    monkeypatch.setattr(RuleModel, "share_among_features", rounded)
    assert {tuple(own["reasons"]) for own in python_answers(export_python(clf), X)} == {("b", "a")}
    ranked = largest_first(np.array([[0.3, 0.5, 0.5 + 1e-14, 0.2], [0.5, 0.5 + 1e-8, 0.5, 0.1]]), 3)
    assert ranked.tolist() == [[1, 2, 0], [1, 0, 2]]
