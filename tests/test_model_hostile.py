"""Model files of strangers: a model that answers, or an error that names the field."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sys
import tracemalloc
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ferl import FERLClassifier, ModelFileError, export_text, load_model, splits_frame
from ferl._models.form import json_text
from ferl._models.model_file import model_to_form, parsed_model
from ferl.saving import _contents, _estimator
from model_examples import DATA, LAW, fitted

# ---------------------------------------------------------------------------------------------------------------------
# Hostile input
# ---------------------------------------------------------------------------------------------------------------------


@cache
def text_of(name: str) -> str:
    """Small models of all kinds as text; Hypothesis mutates them."""
    if name in ("tree", "rules"):
        return (DATA / f"model_{name}.json").read_text(encoding="utf-8")
    own = {"kind": "rules", "words": "quantile"} if name == "rules in words" else {"kind": name.removeprefix("fitted ")}
    model = fitted(**own, max_rules=5, n_exemplars=4, missing_conditions=True)
    return json_text(model_to_form(*_contents(model)))


def document(name: str = "tree"):
    return json.loads(text_of(name))


def load_form(form, folder: Path) -> FERLClassifier:
    return load_bytes(json.dumps(form).encode(), folder)


def load_bytes(content: bytes, folder: Path) -> FERLClassifier:
    path = folder / "model.json"
    path.write_bytes(content)
    return load_model(path)


def places(value, path=()):
    """The ways to all that a document holds."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*path, key))


@cache
def all_places(name: str):
    return sorted(places(document(name)), key=lambda path: tuple(map(str, path)))


def holder(form, path):
    for key in path[:-1]:
        form = form[key]
    return form


def judge(content: bytes, folder: Path) -> None:
    """A mutant is a model that can answer, or an error of the right kind."""
    found = model_or_message(content, folder)
    if isinstance(found, str):
        assert found.startswith("model.json: ")
        assert len(found) < 1000
    else:
        use(found)


def model_or_message(content: bytes, folder: Path) -> FERLClassifier | str:
    try:
        return load_bytes(content, folder)
    except ModelFileError as error:
        return str(error)


def use(model: FERLClassifier) -> None:
    """Ask a model all that it can be asked; rows with values it knows, with none, and far away."""
    n = model.n_features_in_
    texts = [None if levels is None else levels.tolist() for levels in model.columns_.categories]
    rows = [
        [1.5 if own is None else (own[0] if own else None) for own in texts],
        [None] * n,
        [-1e150 if own is None else (own[-1] if own else None) for own in texts],
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        probability = model.predict_proba(rows)
        assert probability.shape == (3, len(model.classes_))
        assert np.isfinite(probability).all()
        np.testing.assert_allclose(probability.sum(axis=1), 1, rtol=1e-6)
        model.predict(rows), model.predict_set(rows), model.novelty(rows), model.novelty_attribution(rows)
        model.novelty(rows, measure="residual"), model.support_deficit(rows)
        if model.model_.kind == "rules":
            assert np.isfinite(model.decision_function(rows)).all()
            assert np.isfinite(model.feature_contributions(rows)).all()
            assert (model.certified_radius(rows) >= 0).all()
            assert model.stability_report().lipschitz >= 0
        else:
            use_tree(model, rows)
        assert export_text(model)
        model.predict(rows, decision="balanced")
        pickle.dumps(model)
        again = json_text(model_to_form(*_contents(model)))
        assert json_text(model_to_form(*_contents(_estimator(*parsed_model(again.encode()))))) == again


def use_tree(model: FERLClassifier, rows) -> None:
    model.stability_report()
    if not model.model_.unproven:
        assert (model.certified_radius(rows) >= 0).all()
    splits_frame(model)


KINDS = ["tree", "deep", "compact", "fitted rules", "rules in words", "rules"]
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 70),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, 10**400, -1, 0]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e308, -1e308, 1e150, 0.5, 1 + 1e-12]),
    st.sampled_from(["inf", "-inf", "nan", "", "a", "\ud800", "NaN", "1", "vote", "chain", "compact"]),
    st.lists(st.integers(-1, 9), max_size=5),
    st.dictionaries(st.sampled_from(["kind", "levels", "a"]), st.integers(), max_size=2),
)


@LAW
@given(st.data(), st.sampled_from(KINDS))
def test_mutated_values_give_a_model_that_answers_or_an_error(tmp_path, data, name):
    form = document(name)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(all_places(name)[1:]))
        try:
            own = holder(form, path)
            own[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # an earlier mutation has taken it away
        action = data.draw(st.sampled_from(["replace", "replace", "drop", "truncate", "double", "swap", "nudge"]))
        value = own[path[-1]]
        if action == "drop":
            del own[path[-1]]
        elif action == "truncate" and isinstance(value, list):
            del value[data.draw(st.integers(0, len(value))) :]
        elif action == "double" and isinstance(value, list):
            value += value
        elif action == "swap" and isinstance(value, list) and len(value) > 1:
            i, j = data.draw(st.integers(0, len(value) - 1)), data.draw(st.integers(0, len(value) - 1))
            value[i], value[j] = value[j], value[i]
        elif action == "nudge" and type(value) in (int, float):
            own[path[-1]] = value + data.draw(st.sampled_from([1, -1, 1e-13, -1e-13, 100]))
        else:
            own[path[-1]] = data.draw(VALUES)
    judge(json.dumps(form).encode(), tmp_path)


@LAW
@given(st.data(), st.sampled_from(KINDS))
def test_mutated_bytes_give_a_model_that_answers_or_an_error(tmp_path, data, name):
    content = bytearray(text_of(name).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        action = data.draw(st.sampled_from(["flip", "digit", "cut", "repeat"]))
        if action == "flip":
            content[place] ^= 1 << data.draw(st.integers(0, 7))
        elif action == "digit":
            content[place : place + 1] = data.draw(st.sampled_from([b"9", b"-", b"e9", b"1", b".", b"0"]))
        elif action == "cut":
            del content[place : place + data.draw(st.integers(1, 50))]
        else:
            content[place:place] = content[place : place + data.draw(st.integers(1, 50))]
    judge(bytes(content), tmp_path)


JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)


@LAW
@given(
    JSON,
    st.sampled_from(
        [(), ("tree",), ("columns",), ("parameters",), ("tree", "profile"), ("classes",), ("weights",), ("history",)]
    ),
)
def test_random_json_is_refused_with_an_error(tmp_path, value, path):
    form = document("rules" if path in (("weights",), ("history",)) else "deep")
    if not path:
        form = value
    else:
        holder(form, path)[path[-1]] = value
    judge(json.dumps(form).encode(), tmp_path)


@LAW
@given(st.binary(max_size=200))
def test_random_bytes_are_refused(tmp_path, content):
    with pytest.raises(ModelFileError):
        load_bytes(content, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "nested"),
        (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "nested"),
        (b'{"format": "ferl-model", "version": 1, "version": 1}', "'version' stands twice"),
        (b"{" + b",".join(b'"%d":1' % (i % 199_999) for i in range(200_000)) + b"}", "'0' stands twice"),
        (b'{"format": "ferl-model", "version": NaN}', "NaN, which is not JSON"),
        (b'{"format": "ferl-model", "version": ' + b"9" * 10_000 + b"}", "not JSON"),
        (b'{"format": "ferl-model", "version": 0}', "version 0 of the format"),
        (b'{"format": "ferl-model", "version": true}', "version True of the format"),
        (b'{"format": "ferl-model", "version": 1}', "model is None"),
        (b"\xff\xfe{}", "not JSON"),
        (b"{}", "no model of ferl"),
        (b'"' + b"[" * 1000 + b'"', "no model of ferl"),  # brackets inside text nest nothing
    ],
    ids=range(13),
)
def test_odd_files_are_refused(tmp_path, content, message):
    with pytest.raises(ModelFileError, match=message):
        load_bytes(content, tmp_path)


def set_at(form, path, value):
    holder(form, path)[path[-1]] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("model",), "os.system", "model is 'os.system'"),
        (("variant",), "os.system", "variant is 'os.system'"),
        (("parameters", "gate_margin"), 0, "gate_margin"),
        (("reading", "gate_margin"), 0, r"reading\.gate_margin"),
        (("reading", "combination"), "weights", r"reading\.combination"),
        (("reading", "more"), 1, "reading has 'more'"),
        (("parameters", "n_jobs"), 0, "n_jobs"),
        (("parameters", "n_jobs"), "all", "n_jobs"),
        (("parameters", "__class__"), 1, "__class__"),
        (("classes", "labels"), ["well", "ill"], "sorted"),
        (("classes", "labels"), ["ill", "ill"], "sorted"),
        (("classes", "labels"), ["ill"], r"tree.class_weight: row 0 .* list of 1 number"),
        (("classes", "dtype"), "S10", "dtype"),
        (("missing_features",), [3], "missing_features"),
        (("missing_features",), [], "tree"),
        (("tree", "parent", 1), 1, "pre-order"),
        (("tree", "parent", 0), 0, "root"),
        (("tree", "parent", 2), 2**40, r"parent\[2\]"),
        (("tree", "feature", 1), 99, r"feature\[1\]"),
        (("tree", "feature", 1), True, r"feature\[1\] is True"),
        (("tree", "feature", 1), -1, "only the root"),
        (("tree", "trapezoid", 1), [3, 2, 1, 0], "trapezoid: that of node 1"),
        (("tree", "trapezoid", 1), ["nan", "nan", "nan", "nan"], "trapezoid"),
        (("tree", "trapezoid", 1), [1.0, 2.0, 3.0], "row 1"),
        (("tree", "support", 1), [2.0, 1.0], "support"),
        (("tree", "share", 1), 1.5, "share"),
        (("tree", "consequent", 1), [0.7, 0.7], "sums to 1.4"),
        (("tree", "class_weight", 1, 0), -1.0, "class_weight"),
        (("tree", "gain", 1), "inf", "gain"),
        (("tree", "word"), ["x"], "word"),
        (("tree", "cuts"), None, "cuts"),
        (("tree", "profile", "exemplar", 0, 0), 9999, "exemplar"),
        (("tree", "profile", "exemplar_row", 0, 1), 7.0, "exemplar_row: column 1"),
        (("tree", "profile", "variance", 0, 0), -1.0, "variance"),
        (("tree", "profile", "mean", 0, 0), 1e300, "mean"),
        (("words",), [None], "words"),
        (("n_growth_rows",), -1, "n_growth_rows"),
        (("columns", "features", 1, "levels"), ["west", "north"], "sorted"),
    ],
)
def test_errors_name_the_field(tmp_path, path, value, message):
    form = document()
    set_at(form, path, value)
    with pytest.raises(ModelFileError, match=message):
        load_form(form, tmp_path)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("version",), 2, "version 2 of the format"),
        (("weights",), None, "weights"),
        (("variant",), "deep", "the model has 'variant'"),
        (("parameters", "variant"), "deep", "parameters has 'variant'"),
        (("reading", "combination"), "vote", "reading has 'combination'"),
        (("parameters", "max_conditions"), 4, "max_conditions"),
        (("parameters", "max_conditions"), 2.5, "max_conditions"),
        (("parameters", "prune"), -1, "prune"),
        (("weights", "node"), [1, 3, 5], r"weights\.weight has 4 entries; it must have 3"),
        (("weights", "node"), [1, 3, 5, 6], r"weights\.node"),
        (("weights", "node", 0), 0, r"weights\.node\[0\]"),
        (("weights", "node", 3), 8, r"weights\.node\[3\]"),
        (("weights", "node"), [3, 1, 5, 7], r"weights\.node"),
        (("weights", "weight", 1), [1.0], r"weights\.weight: row 1"),
        (("weights", "weight", 1), [1.0, -0.5], "weights of rule 1 sum to 0.5, not to 0"),
        (("weights", "weight", 1), ["inf", "-inf"], r"weights\.weight"),
        (("weights", "weight", 1), ["nan", "nan"], r"weights\.weight"),
        (("weights", "weight", 1), [1e200, -1e200], r"weights\.weight"),
        (("weights", "products"), None, r"weights\.products is None"),
        (("weights", "products", "unit"), 0, r"weights\.products\.unit is 0; it must be a number above 0"),
        (("weights", "products", "unit"), 1e300, r"weights\.products\.unit"),
        (("weights", "products", "sums"), [[1]], r"weights\.products\.sums has 1 entries; it must have 5"),
        (("weights", "products", "sums", 1), [1], r"weights\.products: row k must have k \+ 1 numbers"),
        (("weights", "products", "sums", 1, 0), -1, r"weights\.products\.sums\[1\]: number 0 is -1"),
        (("weights", "products", "sums", 1, 0), "inf", r"weights\.products\.sums\[1\]"),
        (("weights", "products", "sums", 1, 1), 39376897, "in column 1 a sum exceeds that of the first row"),
        (("weights", "products", "sums", 3, 3), 1, r"weights\.products: it has the eigenvalue -"),
        (("weights", "row_curvature"), 0, r"weights\.row_curvature is 0; it must be a number from 0\.001 to 1"),
        (("weights", "row_curvature"), "nan", r"weights\.row_curvature"),
        (("weights", "prior"), [0.5, 0.5], r"weights\.prior: it sums to 1"),
        (("weights", "prior"), [0.5, -0.5, 0.0], r"weights\.prior has 3 entries"),
        (("weights", "ranges"), [[0, 1]], r"weights\.ranges has 1 entries"),
        (("weights", "ranges", 0), [2, 1], r"weights\.ranges: the range of column 0"),
        (("weights", "ranges", 0), ["-inf", "inf"], r"weights\.ranges: the range of column 0"),
        (("weights", "ranges", 0), [0, 1e200], r"weights\.ranges: the range of column 0"),
        (("weights", "more"), 1, "weights has 'more'"),
        (("tree", "parent", 4), 2, "node 2 has 2 children; rules branch at the root alone"),
        (("tree", "feature", 3), 0, r"tree\.categories\.node"),
        (("tree", "word"), ["", *["low"] * 7], "nodes have words where the entry words defines them"),
        (("words",), [None] * 4, "nodes have words where the entry words defines them"),
        (("words",), [None], "words has 1 entries"),
        (("history",), {}, "history is {}"),
        (("history", 0), 1, r"history\[0\]"),
        (("history", 0), {"x": "\ud800"}, r"history\[0\]"),
        (("classes", "labels"), ["ill", "so so", "well"], "class_weight"),
    ],
)
def test_errors_name_the_field_of_a_wide_model(tmp_path, path, value, message):
    form = document("rules")
    set_at(form, path, value)
    with pytest.raises(ModelFileError, match=message):
        load_form(form, tmp_path)


def test_numbers_of_the_history_are_finite(tmp_path):
    content = text_of("rules").replace('{"note":', '{"much":1e999,"note":')
    with pytest.raises(ModelFileError, match=r"history\[0\]"):
        load_bytes(content.encode(), tmp_path)


def test_rules_are_no_longer_than_wide_rules_are(tmp_path):
    form = one_chain(3)
    assert load_form(form, tmp_path).n_rules_ == 1
    with pytest.raises(ModelFileError, match="more than 3 conditions"):
        load_form(one_chain(4), tmp_path)


def one_chain(n: int):
    """One rule with a condition on each of ``n`` numbers."""
    form = document("rules")
    form["columns"] = {"names": None, "features": [{"kind": "number"}] * n}
    form["missing_features"] = []
    form["tree"] |= {
        "parent": list(range(-1, n)),
        "feature": list(range(-1, n)),
        "trapezoid": [["-inf", "-inf", "inf", "inf"], *[[0, 1, "inf", "inf"]] * n],
        "support": [[0, 1]] * (n + 1),
        "share": [1] * (n + 1),
        "class_weight": [[1, 1]] * (n + 1),
        "consequent": [[0, 1]] * (n + 1),
        "gain": [0] * (n + 1),
        "categories": None,
        "profile": {name: [[0] * n] * (n + 1) for name in ("mean", "variance")}
        | {"exemplar": [[]] * (n + 1), "exemplar_row": []},
    }
    rule = {"node": [n], "weight": [[1, -1]], "ridge": [1], "products": {"unit": 1, "sums": [[1], [1, 1]]}}
    form["weights"] = rule | {"row_curvature": 0.25, "prior": [0, 0], "ranges": [[0, 1]] * n}
    return form


def test_category_memberships_are_checked(tmp_path):
    good = document("deep")
    assert good["tree"]["categories"]["node"]
    for path, value in [
        (("usual", 0), 2.0),
        (("node", 0), 0),
        (("code", 0), [99]),
        (("code", 0), [1, 0]),
        (("membership", 0), [0.5] * 9),
    ]:
        form = copy.deepcopy(good)
        set_at(form["tree"]["categories"], path, value)
        with pytest.raises(ModelFileError, match=r"tree\.categories"):
            load_form(form, tmp_path)


def one_split(n_nodes_deep: int, n_categories: int):
    """A tree that is one long path of splits on a feature with many categories: little text, much memory."""
    form = document("deep")
    n = 2 * n_nodes_deep + 1
    parent = [-1]
    for _ in range(n_nodes_deep):
        parent.append(max(0, len(parent) - 1) if len(parent) > 1 else 0)
    # Right sides in pre-order: those of the deepest split first.
    parent += list(range(n_nodes_deep - 1, -1, -1))
    nodes = list(range(1, n))
    form["columns"] = {"names": ["c"], "features": [{"kind": "int", "levels": list(range(n_categories))}]}
    form["missing_features"] = []
    form.pop("table")
    form["tree"] = {
        "parent": parent,
        "feature": [-1] + [0] * (n - 1),
        "trapezoid": [["-inf", "-inf", "inf", "inf"]] * n,
        "support": [[0, 1]] * n,
        "share": [1] * n,
        "class_weight": [[1, 1]] * n,
        "consequent": [[0, 1]] * n,
        "gain": [0] * n,
        "word": [],
        "cuts": {"interval": [["nan", "nan"]] * n, "share": ["nan"] * n},
        "categories": {"node": nodes, "usual": [1] * (n - 1), "code": [[]] * (n - 1), "membership": [[]] * (n - 1)},
        "profile": {"mean": [[0]] * n, "variance": [[0]] * n, "exemplar": [[]] * n, "exemplar_row": []},
    }
    return form


def test_a_small_file_cannot_ask_for_much_memory(tmp_path):
    assert load_form(one_split(20, 10), tmp_path).n_rules_ == 21
    form = one_split(2000, 50_000)  # 200 million memberships from 0.6 MB
    content = json.dumps(form).encode()
    tracemalloc.start()
    with pytest.raises(ModelFileError, match=r"tree\.categories would take 200,000,000 values"):
        load_bytes(content, tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * len(content)
    form = one_split(2000, 10)
    form["tree"]["profile"]["exemplar_row"] = [[0]]
    form["tree"]["profile"]["exemplar"][0] = [0] * 100_000
    with pytest.raises(ModelFileError, match=r"tree\.profile\.exemplar would take"):
        load_form(form, tmp_path)
    with pytest.raises(ModelFileError, match="levels deep"):
        load_form(one_split(10_001, 2), tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_does_not_make_loading_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(ModelFileError, match="no regular file"):
        load_model(tmp_path / "pipe.json")
    with pytest.raises(OSError, match="directory"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.json")


def test_a_newer_version_says_which_ferl_to_install(tmp_path):
    form = document()
    form["version"], form["ferl"], form["anything"] = 3, "7.3", [1]
    with pytest.raises(ModelFileError, match=r"version 3 .* reads version 1\. It was written by ferl '7\.3'"):
        load_form(form, tmp_path)
