"""An exported model says under onnxruntime what it says in Python."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from ferl import FERLClassifier, FERLTreeClassifier, __version__
from ferl.conformal import ConformalFERL
from ferl.onnx import onnx_inputs, to_onnx
from ferl.onnx.graph import OPSET, Graph
from ferl.words import FuzzySet, LinguisticVariable
from law_examples import LAW
from onnx_examples import NAMES, assert_answers, assert_exports, run, session_of
from tree_examples import tree_classifier

VARIANTS = ("deep", "medium", "compact")
COMBINATIONS = ("dempster", "cautious", "chain", "vote")


def rows_around(X, seed=0, n=200):
    """Rows of a table, near it and far from it, with values missing; one without any value."""
    rng = np.random.default_rng(seed)
    step = rng.choice([0.0, 0.1, 1.0, 5.0], size=(n, 1)) * X.std(axis=0)
    rows = X[rng.integers(len(X), size=n)] + step * rng.normal(size=(n, X.shape[1]))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    rows[0] = np.nan
    rows[1] = 1e6 * X.std(axis=0)
    return rows


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# ---------------------------------------------------------------------------------------------------------------------
# Equal answers
# ---------------------------------------------------------------------------------------------------------------------


BANDS = {"band", "band_scale"}  # parameters of learned splits


@pytest.mark.parametrize("combination", COMBINATIONS)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
def test_all_variants_and_combinations_say_the_same(load, variant, combination):
    X, y = load(return_X_y=True)
    for sources, measure in (("leaves", "neighbour"), ("all", "residual")):
        model = tree_classifier(variant, combination=combination, sources=sources, random_state=0).fit(X, y)
        assert_exports(model, rows_around(X), measure)


@pytest.mark.parametrize(
    "parameters",
    [
        {"support_gate": False},
        {"gate_margin": 0.1},
        {"discount": 3.0},
        {"discount": 3.0, "combination": "chain"},
        {"consequents": "raw"},
        {"consequents": "raw", "sources": "all"},
        {"consequents": "laplace", "combination": "vote"},
        {"n_exemplars": 0},
        {"n_exemplars": 3},
        {"band": "median_mad"},
        {"band_scale": 0.0},
        {"band_scale": 8.0},
        {"ccp_alpha": 0.02},
        {"max_rules": 1},
        {"max_rules": 2},
    ],
    ids=str,
)
def test_every_parameter_that_answers_depend_on_is_in_the_graph(iris, parameters):
    X, y = iris
    for variant in ("medium",) if BANDS & set(parameters) else ("medium", "compact"):
        model = tree_classifier(variant, random_state=0, **parameters).fit(X, y)
        assert_exports(model, rows_around(X))
        assert_exports(model, rows_around(X), "residual")


@st.composite
def problems(draw):
    """Small tables with ties, on any scale, and parameters that answers depend on."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d = draw(st.sampled_from([(12, 1), (40, 2), (80, 3), (120, 5)]))
    X = rng.normal(size=(n, d)) if draw(st.booleans()) else rng.integers(4, size=(n, d)).astype(float)
    X = X * 10.0 ** draw(st.integers(-8, 8)) + draw(st.sampled_from([0.0, 1.0, -1e4]))
    y = rng.integers(draw(st.integers(2, 5)), size=n)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.2]))] = np.nan
    parameters = {
        "kind": draw(st.sampled_from(VARIANTS)),
        "combination": draw(st.sampled_from(COMBINATIONS)),
        "sources": draw(st.sampled_from([None, "leaves", "all"])),
        "support_gate": draw(st.booleans()),
        "consequents": draw(st.sampled_from(["shrinkage", "raw"])),
        "missing_conditions": draw(st.booleans()),
        "max_rules": draw(st.sampled_from([None, 5])),
    }
    return X, y, parameters, draw(st.sampled_from(["neighbour", "residual"]))


@LAW
@given(problems())
def test_small_trees_of_any_kind_say_the_same(problem):
    X, y, parameters, measure = problem
    few = {} if parameters["kind"] == "compact" else {"n_resamples": 8}
    model = tree_classifier(random_state=0, **few, **parameters).fit(X, y)
    scale = np.nanstd(X, axis=0)
    rng = np.random.default_rng(len(X))
    rows = X[rng.integers(len(X), size=30)]
    rows[10:] += scale * rng.normal(size=(20, X.shape[1])) * rng.choice([0.1, 1.0, 5.0], size=(20, 1))
    assert_exports(model, rows, measure)


@pytest.mark.parametrize("parameters", [{}, {"sources": "all"}, {"sources": "all", "consequents": "raw"}], ids=str)
def test_a_deep_tree_of_150_rules_and_60_features_says_the_same(parameters):
    X, y = make_classification(
        3000, n_features=60, n_informative=20, n_classes=6, n_clusters_per_class=2, flip_y=0.2, random_state=0
    )
    model = FERLTreeClassifier("deep", random_state=0, **parameters).fit(X, y)
    assert model.n_rules_ == 150
    assert_exports(model, rows_around(X, n=300))
    assert_exports(model, rows_around(X, n=300), "residual")


def test_upright_words_share_their_limit_and_there_exclude_each_other_on_both_sides():
    inf = np.inf
    words = LinguisticVariable("x", [FuzzySet("low", -inf, -inf, 0.0, 0.0), FuzzySet("high", 0.0, 0.0, inf, inf)])
    X = np.random.default_rng(0).uniform(0.1, 1.0, size=(60, 1)) * np.repeat([[-1.0], [1.0]], 30, axis=0)
    model = FERLTreeClassifier("compact", words=[words], consequents="raw", random_state=0)
    model.fit(pd.DataFrame(X, columns=["x"]), X[:, 0] > 0)
    tiny = np.nextafter(0.0, 1.0)
    rows = pd.DataFrame({"x": [0.0, -0.0, tiny, -tiny, 0.5, -0.5, np.nan]})
    for combination in COMBINATIONS:
        found = assert_exports(model.reading(combination=combination), rows)
        assert found["label"].tolist()[2:6] == [True, False, True, False]
        if combination == "dempster":  # each is sure of another class: together they say nothing
            assert found["ignorance"].tolist()[:2] == [1.0, 1.0]
            assert found["set"][:2].all()


# ---------------------------------------------------------------------------------------------------------------------
# Inputs and outputs
# ---------------------------------------------------------------------------------------------------------------------


def test_any_number_of_rows_goes_through_one_session(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    session = session_of(to_onnx(model))
    rows = rows_around(X, n=1000)
    whole = run(session, {"X": rows})
    assert_answers(whole, model, rows)
    for n in (0, 1, 7):
        for name, value in run(session, {"X": rows[:n]}).items():
            assert value.shape == (n, *whole[name].shape[1:])
            np.testing.assert_allclose(value, whole[name][:n], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("constant", [1.5e-141, -1e-50, 1 + 1e-9, 1 - 1e-12, 0.0, 1.0, 2.0])
@pytest.mark.parametrize("is_second", [True, False])
def test_onnxruntime_leaves_out_no_operator_that_changes_a_value(operator, constant, is_second):
    """It compares constants with 0 and 1 in single precision."""
    graph, x = Graph(), np.array([1e-141, 2.0, 0.7])
    value, number = graph("Abs", "x"), np.array([[constant]])
    graph.name(graph("Abs", graph(operator, *((value, number) if is_second else (number, value)))), "y")
    helper = graph.onnx.helper
    ends = [helper.make_tensor_value_info(name, graph.onnx.TensorProto.DOUBLE, None) for name in "xy"]
    body = helper.make_graph(graph.nodes, "one operator", ends[:1], ends[1:], graph.constants)
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    compute = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[operator]
    with np.errstate(divide="ignore"):
        expected = np.abs(compute(*((x, constant) if is_second else (constant, x))))
    np.testing.assert_array_equal(session.run(None, {"x": x[None]})[0][0], expected)


def test_tables_of_tiny_units_say_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=200) * 1e-141, "group": rng.choice(["a", "b", "c"], 200)})
    y = (frame["x"] > 0) ^ (frame["group"] == "a")
    for model in (FERLClassifier(random_state=0), FERLClassifier(words=True, random_state=0), FERLTreeClassifier()):
        clf = model.fit(frame, y)
        assert_answers(run(session_of(to_onnx(clf)), onnx_inputs(clf, frame)), clf, frame)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["no", "jä"]), "O"),
        (np.array(["no", "yes"], dtype=object), "O"),
        (np.array([3, 7], dtype=np.int8), "i"),
        (np.array([3, 7], dtype=np.uint64), "i"),
        (np.array([False, True]), "b"),
        (np.array([1.0, 2.0], dtype=np.float32), "f"),
    ],
    ids=lambda own: str(getattr(own, "dtype", own)),
)
def test_labels_keep_their_values(iris, labels, kind):
    X, y = iris
    model = FERLTreeClassifier("compact", random_state=0).fit(X[:100], labels[y[:100]])
    found = assert_exports(model, X[:100])
    assert found["label"].dtype.kind == kind
    assert found["label"].tolist() == model.predict(X[:100]).tolist()


def test_one_class_is_the_answer(iris):
    X, _ = iris
    found = assert_exports(FERLTreeClassifier("deep", random_state=0).fit(X, ["only"] * len(X)), X)
    assert set(found["label"]) == {"only"}


def test_single_precision_is_that_of_inputs_and_outputs_alone(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    rows = rows_around(X).astype(np.float32)
    found = run(session_of(to_onnx(model, dtype="float32")), onnx_inputs(model, rows, dtype="float32"))
    assert {found[name].dtype.name for name in NAMES if name not in ("label", "set")} == {"float32"}
    assert_answers(found, model, rows.astype(np.float64), tolerance=1e-7)


def test_novelty_can_be_left_out(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    lean, full = to_onnx(model, novelty=False), to_onnx(model)
    assert [output.name for output in lean.graph.output] == NAMES[:-1]
    assert lean.ByteSize() < full.ByteSize() / 2
    assert_answers(run(session_of(lean), onnx_inputs(model, X)), model, X)


def test_infinity_is_far_away(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    for measure in ("neighbour", "residual"):
        found = run(session_of(to_onnx(model, novelty=measure)), {"X": np.full((1, 4), np.inf)})
        assert found["ignorance"][0] == 1.0
        assert found["novelty"][0] > 1e100


def test_the_file_says_what_it_is_and_old_runtimes_can_read_it(iris):
    X, y = iris
    model = to_onnx(FERLTreeClassifier("deep", random_state=0).fit(X, np.array(["a", "b", "ç"])[y]))
    told = {own.key: own.value for own in model.metadata_props}
    assert told["ferl_version"] == __version__ == model.producer_version
    assert json.loads(told["classes"]) == ["a", "b", "ç"]
    assert json.loads(told["features"]) == ["x0", "x1", "x2", "x3"]
    assert {own.domain: own.version for own in model.opset_import} == {"": 16, "ai.onnx.ml": 2}
    assert model.ir_version == 8
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx.ml"}


@pytest.mark.parametrize(
    "parameters", [{}, {"support_gate": False}, {"combination": "chain"}, {"max_rules": 1}], ids=str
)
def test_every_operator_is_used(iris, parameters):
    for novelty in (True, "residual", False):
        graph = to_onnx(FERLTreeClassifier("deep", random_state=0, **parameters).fit(*iris), novelty=novelty).graph
        bodies = [own.g for node in graph.node for own in node.attribute if own.HasField("g")]
        used = {name for part in (graph, *bodies) for node in part.node for name in node.input}
        used |= {output.name for part in (graph, *bodies) for output in part.output}
        # A loop also returns the list that it went through, which is empty in the end.
        assert all(used & set(node.output) for part in (graph, *bodies) for node in part.node)
        assert {constant.name for part in (graph, *bodies) for constant in part.initializer} <= used


def test_two_exports_of_one_model_are_the_same_file(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    assert to_onnx(model).SerializeToString() == to_onnx(model).SerializeToString()


@pytest.mark.parametrize(("variant", "combination"), [("compact", "dempster"), ("medium", "vote")])
def test_another_runtime_agrees(iris, variant, combination):
    # The reference evaluator of onnx shares no code with onnxruntime. That of onnx 1.17 adds up but does not multiply
    # what is scattered to one index, so it cannot combine the leaves of a tree by Dempster's rule.
    X, y = iris
    model = tree_classifier(variant, combination=combination, random_state=0, max_rules=6).fit(X, y)
    exported = to_onnx(model, novelty="residual")
    evaluator = ReferenceEvaluator(exported)
    rows = rows_around(X, n=40)
    for few in np.array_split(rows, 4):  # its GatherElements takes from 64 values at most
        found = dict(zip(NAMES, evaluator.run(None, {"X": few}), strict=True))
        assert_answers(found, model, few, "residual")


# ---------------------------------------------------------------------------------------------------------------------
# What cannot be exported
# ---------------------------------------------------------------------------------------------------------------------


def test_what_cannot_be_exported_is_named(iris):
    X, y = iris
    model = FERLTreeClassifier("deep", random_state=0, n_exemplars=0).fit(X, y)
    with pytest.raises(TypeError, match="to_onnx got a ConformalFERL; pass the fitted FERLClassifier"):
        to_onnx(ConformalFERL(model))
    with pytest.raises(TypeError, match="to_onnx got a Pipeline"):
        to_onnx(make_pipeline(model))
    with pytest.raises(NotFittedError):
        to_onnx(FERLTreeClassifier("deep"))
    with pytest.raises(ValueError, match="dtype is 'float16'; it must be 'float64' or 'float32'"):
        to_onnx(model, dtype="float16")
    with pytest.raises(ValueError, match="dtype is 'float16'"):
        onnx_inputs(model, X, dtype="float16")
    with pytest.raises(ValueError, match='measure="neighbour" compares with training rows, and this tree keeps none'):
        to_onnx(model, novelty="neighbour")
    with pytest.raises(ValueError, match="measure is 'distance'"):
        to_onnx(model, novelty="distance")
    with pytest.raises(ValueError, match=r"novelty is 1\.5; it must be True, False"):
        to_onnx(model, novelty=1.5)
    huge = FERLTreeClassifier("compact", random_state=0).fit(X, np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)[y])
    with pytest.raises(ValueError, match=r"labels that are text, integers up to 2\*\*63"):
        to_onnx(huge)


def test_without_the_package_the_error_says_how_to_get_it():
    program = """
import sys
sys.modules["onnx"] = None  # as if it were not installed
import ferl.onnx
from ferl import FERLClassifier, FERLTreeClassifier
try:
    ferl.onnx.to_onnx(FERLClassifier().fit([[0.0], [1.0]], [0, 1]))
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == 'ferl.onnx needs the package onnx: pip install "ferl[onnx]".'


@pytest.mark.parametrize("combination", COMBINATIONS)
def test_a_single_rule_that_is_discounted_loses_no_digits(iris, combination):
    """onnxruntime takes a single factor into a matrix product as a float32."""
    X, y = iris
    assert_exports(
        FERLTreeClassifier("compact", max_rules=1, discount=3.0, combination=combination).fit(X, y),
        X,
    )
    assert_exports(FERLTreeClassifier("deep", max_rules=1, discount=3.0, combination=combination).fit(X, y), X)
