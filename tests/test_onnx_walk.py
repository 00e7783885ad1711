"""Trees of splits in ONNX: rows go down to where both sides must be taken, and no value near a limit gets lost."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from sklearn.datasets import make_classification

from ferl import FERLTreeClassifier
from ferl.onnx import onnx_inputs, to_onnx
from onnx_examples import assert_answers, assert_exports, run, session_of
from table_examples import fit_mixed, mixed_table, rows_beside


def fitted(scale=1.0, shift=0.0, **parameters):
    X, y = make_classification(1500, n_features=6, n_informative=4, n_redundant=0, n_classes=3, random_state=0)
    X = X * scale + shift
    return FERLTreeClassifier("deep", random_state=0, max_rules=40, n_jobs=1, **parameters).fit(X, y), X


def operators(model):
    return {node.op_type for node in model.graph.node}


def rows_at_limits(clf, X):
    """Rows of which one value is an end of a band or of a gate, or a neighbour of it in single or double precision."""
    tree, rng = clf.tree_, np.random.default_rng(0)
    ends = tree.core.gate[:, :2]
    rows = []
    for node in range(1, tree.n_nodes):
        for limit in (*tree.trapezoid[node], *ends[node]):
            if not np.isfinite(limit):
                continue
            near = np.float32(limit)
            around = [limit, near, *(np.nextafter(limit, way) for way in (-np.inf, np.inf))]
            around += [np.nextafter(near, np.float32(way)) for way in (-np.inf, np.inf)]
            rows.append(X[rng.integers(len(X), size=len(around))])
            rows[-1][:, tree.feature[node]] = around
    return np.concatenate(rows)


@pytest.mark.parametrize("parameters", [{}, {"support_gate": False}, {"band_scale": 0.0}, {"combination": "vote"}])
def test_values_at_the_ends_of_bands_and_gates_say_the_same(parameters):
    clf, X = fitted(**parameters)
    assert {"TreeEnsembleRegressor", "Loop"} <= operators(to_onnx(clf))
    assert_exports(clf, rows_at_limits(clf, X))


@pytest.mark.parametrize(("scale", "shift"), [(1e60, 0.0), (1e-60, 0.0), (1e-6, 1e4), (1.0, 1e12)])
def test_numbers_that_single_precision_cannot_tell_apart_say_the_same(scale, shift):
    clf, X = fitted(scale, shift)
    assert_exports(clf, X[:300], "residual")
    assert_exports(clf, X[:300])


def test_a_row_without_any_value_reaches_all_leaves():
    clf, X = fitted()
    assert_exports(clf, np.vstack([np.full((1, 6), np.nan), X[:3]]))


def test_categories_are_asked_on_the_way():
    table = mixed_table(np.random.default_rng(1), n=300)
    clf = fit_mixed(table, kind="deep", missing_conditions=True)
    assert "Loop" in operators(to_onnx(clf))
    assert_exports(clf, rows_beside(table, 0))


def test_sources_above_the_leaves_are_asked_of_all_nodes():
    clf, X = fitted(sources="all")
    assert "Loop" not in operators(to_onnx(clf))
    assert_exports(clf, X[:200])


def test_answers_depend_neither_on_threads_nor_on_other_rows():
    clf, X = fitted()
    rows = X[np.random.default_rng(0).integers(len(X), size=20_000)]
    rows[::7, 2] = np.nan
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 4
    model = to_onnx(clf, novelty=False)
    many = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    found = run(many, onnx_inputs(clf, rows))
    assert_answers(found, clf, rows)
    alone = run(session_of(model), onnx_inputs(clf, rows[14:15]))
    np.testing.assert_array_equal(alone["belief"], found["belief"][14:15])
