"""A fitted classifier as one ONNX model, and a table as what the model is fed with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._model.model import Model
from ferl._readings import model_of
from ferl._sklearn import encode_rows
from ferl._util.arrays import Floats
from ferl._util.text import shown
from ferl.classifier import FERLClassifier
from ferl.onnx.evidence import add_conditions, add_evidence, add_firings, add_rows
from ferl.onnx.graph import IR_VERSION, ML_OPSET, OPSET, PREFIX, Graph, Value
from ferl.onnx.novelty import add_novelty

if TYPE_CHECKING:
    from onnx import ModelProto


MATRIX = "X"
"""Name of the input of a model whose features are all numbers."""
OUTPUTS = ("label", "pignistic", "belief", "plausibility", "ignorance", "set", "novelty")
DTYPES = ("float64", "float32")
_LARGEST_EXACT = 2**53  # the integers up to here are doubles


@dataclass(frozen=True)
class Input:
    """One input of a graph.

    Attributes
    ----------
    name : str
        The feature's, unless an output or another input has it; then with underscores behind it.
    kind : {"number", "code", "text"}
        A number; a number or boolean that stands for a category; a category that is text.
    categories : tuple
        The categories: text, or doubles.
    missing : str
        What text stands for a missing value: the empty one, unless that is a category.
    """

    name: str
    kind: str
    categories: tuple[Any, ...] = ()
    missing: str = ""

    @property
    def form(self) -> str:
        """What users may want to know of it, as text."""
        if self.kind == "text":
            return f"category, as text; missing: {json.dumps(self.missing)}"
        return "number; missing: NaN" if self.kind == "number" else "category, as a number; missing: NaN"


def column_inputs(model: Model) -> list[Input] | None:
    """The inputs of a model with categories, one for each feature; None: all features are numbers."""
    columns = model.schema
    if all(categories is None for categories in columns.categories):
        return None
    names = model.feature_names()
    taken = set(OUTPUTS)
    inputs = []
    for feature, (name, categories) in enumerate(zip(names, columns.categories, strict=True)):
        while not name or name in taken or name.startswith(PREFIX):
            name = f"{name}_" if name and not name.startswith(PREFIX) else f"x{feature}"
        taken.add(name)
        inputs.append(_input(name, categories, columns.label(feature)))
    return inputs


def _input(name: str, categories: NDArray[Any] | None, label: str) -> Input:
    if categories is None:
        return Input(name, "number")
    if categories.dtype.kind == "O":
        known, missing = tuple(categories.tolist()), ""
        while missing in known:
            missing = f"<{missing}>" if missing else "<missing>"
        return Input(name, "text", known, missing)
    if categories.dtype.kind == "i" and np.abs(categories.astype(object)).max() > _LARGEST_EXACT:
        raise ValueError(
            f"{label} holds integers beyond 2**53 as categories, such as {categories.tolist()[-1]}; ONNX compares them "
            "as doubles, which cannot tell them apart. Fit with the column as text."
        )
    return Input(name, "code", tuple(float(level) for level in categories.tolist()))


def onnx_inputs(clf: FERLClassifier, X: ArrayLike, *, dtype: str = "float64") -> dict[str, NDArray[Any]]:
    """A table as the inputs of the model's graph: what ``InferenceSession.run`` takes as ``input_feed``.

    Parameters
    ----------
    clf : FERLClassifier
        The fitted model that :func:`ferl.onnx.to_onnx` was given.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows; checked as :meth:`ferl.FERLClassifier.predict` checks them.
    dtype : {"float64", "float32"}, default="float64"
        As in :func:`ferl.onnx.to_onnx`.

    Returns
    -------
    dict of str to ndarray
        ``{"X": matrix}`` if all features are numbers. Otherwise one array of shape (n_samples, 1) for each feature:
        text as objects, with "" where it is missing, and numbers, with NaN where they are missing. All categories that
        training did not have come as one and the same value.

    Examples
    --------
    >>> from ferl import FERLClassifier
    >>> from ferl.onnx import onnx_inputs
    >>> rows = [[0.5, "red"], [1.5, "blue"], [2.5, "red"], [3.5, "blue"]]
    >>> clf = FERLClassifier(random_state=0).fit(rows, ["no", "no", "yes", "yes"])
    >>> onnx_inputs(clf, [[2.0, "red"], [None, None]])
    {'x0': array([[ 2.], [nan]]), 'x1': array([['red'], ['']], dtype=object)}
    """
    model = model_of(clf, "onnx_inputs")
    check_dtype(dtype)
    rows = encode_rows(clf, model.schema, X)
    inputs = column_inputs(model)
    if inputs is None:
        return {MATRIX: np.ascontiguousarray(rows, dtype=dtype)}
    return {own.name: _fed(own, rows[:, feature], dtype)[:, None] for feature, own in enumerate(inputs)}


def _fed(own: Input, column: Floats, dtype: str) -> NDArray[Any]:
    if own.kind == "number":
        return column.astype(dtype)
    codes = np.where(np.isnan(column), len(own.categories) + 1, column).astype(np.intp)
    if own.kind == "code":
        return np.array([*own.categories, np.inf, np.nan])[codes]  # categories are finite
    unseen = own.missing
    while unseen == own.missing or unseen in own.categories:
        unseen += "?"
    return np.array([*own.categories, unseen, own.missing], dtype=object)[codes]


def check_dtype(dtype: str) -> None:
    """Raise where ``dtype`` is no type of :func:`to_onnx`."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; it must be {' or '.join(map(repr, DTYPES))}.")


# ---------------------------------------------------------------------------------------------------------------------
# In the graph
# ---------------------------------------------------------------------------------------------------------------------


def add_inputs(graph: Graph, model: Model, dtype: str) -> tuple[list[Any], Value]:
    """The declared inputs, and their values as numbers: the transpose of :meth:`ferl._tables.Schema.encode`."""
    inputs = column_inputs(model)
    if inputs is None:
        declared = [_declared_input(graph, MATRIX, dtype, model.n_features, "numbers; missing: NaN")]
        return declared, graph("Transpose", _as_double(graph, MATRIX, dtype), perm=[1, 0])
    types = {"number": dtype, "code": "float64", "text": "object"}
    declared = [_declared_input(graph, own.name, types[own.kind], 1, own.form) for own in inputs]
    encoded = graph.join([_encoded(graph, own, dtype) for own in inputs], axis=1)
    return declared, graph("Transpose", encoded, perm=[1, 0])


def _declared_input(graph: Graph, name: str, dtype: str, width: int, form: str) -> Any:
    helper = graph.onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return helper.make_tensor_value_info(name, kind, ["n_rows", width], doc_string=form)


def _as_double(graph: Graph, name: str, dtype: str) -> Value:
    return name if dtype == "float64" else graph.cast(name, "float64")


def _encoded(graph: Graph, own: Input, dtype: str) -> Value:
    """A column as :meth:`ferl._tables.Schema.encode` gives it, shape (n_samples, 1)."""
    if own.kind == "number":
        return _as_double(graph, own.name, dtype)
    if own.kind == "text":
        code = graph(
            "LabelEncoder",
            own.name,
            domain="ai.onnx.ml",
            keys_strings=[*own.categories, own.missing],
            values_int64s=[*range(len(own.categories)), -1],
            default_int64=len(own.categories),
        )
        code = graph.cast(code, "float64")
        # A feature without any category in training is missing everywhere.
        is_missing = graph("Less", code, 0.0 if own.categories else 1.0)
        return graph("Where", is_missing, np.nan, code)
    same = graph.cast(graph("Equal", own.name, np.array([own.categories])), "float64")
    # The last column: what no category before it equals.
    ruled_out = graph("Sub", 1.0, graph("ReduceMax", same, axes=[1], keepdims=1))
    code = graph.cast(graph("ArgMax", graph.join([same, ruled_out], axis=1), axis=1, keepdims=1), "float64")
    return graph("Where", graph("IsNaN", own.name), np.nan, code)


def to_onnx(clf: FERLClassifier, *, novelty: bool | str = True, dtype: str = "float64") -> ModelProto:
    """A fitted classifier as an ONNX model, of standard operators only.

    The answers are those of Python up to rounding, about 1e-12: label, evidence, set and novelty, for any number of
    rows at once, with categories, unseen categories and missing values. ``docs/onnx.md`` has examples.

    Parameters
    ----------
    clf : FERLClassifier
        A fitted classifier, of any variant and combination.
    novelty : bool or {"neighbour", "residual"}, default=True
        Whether novelty is among the outputs: the model's own measure, or this one; see
        :meth:`ferl.FERLClassifier.novelty`. The exemplars of "neighbour", which are training rows, make most of the
        file.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers that come in and go out. Inside all is double precision: single precision would round values
        across narrow bands.

    Returns
    -------
    onnx.ModelProto
        Inputs: ``X`` of shape (n_samples, n_features) if all features are numbers. Otherwise one input of shape
        (n_samples, 1) for each feature, by its name; categories that are text are strings, with "" for a missing value,
        other categories are doubles. (:func:`ferl.onnx.onnx_inputs` makes them of any table.)

        Outputs: ``label`` (n_samples,), ``pignistic``, ``belief``, ``plausibility`` (n_samples, n_classes),
        ``ignorance`` (n_samples,), ``set``, bool of shape (n_samples, n_classes), and ``novelty`` (n_samples,). Labels
        are strings, int64, bool or double, as in ``clf.classes_``.

    Raises
    ------
    ImportError
        If the package onnx is not installed: ``pip install "ferl[onnx]"``.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.onnx import onnx_inputs, to_onnx
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(clf).SerializeToString())
    >>> label, ignorance = session.run(["label", "ignorance"], onnx_inputs(clf, X[:3]))
    >>> label.tolist()
    [0, 0, 0]
    >>> bool(abs(ignorance - clf.predict_evidence(X[:3]).ignorance).max() < 1e-12)
    True
    """
    graph = Graph()
    fitted = _checked(clf, novelty, dtype)
    inputs, encoded = add_inputs(graph, fitted, dtype)
    results = _add_answers(graph, fitted, encoded, novelty)
    for name, value in results.items():
        is_number = name not in ("label", "set")
        graph.name(graph.cast(value, dtype) if dtype != "float64" and is_number else value, name)
    outputs = [_declared_output(graph, fitted, name, dtype) for name in results]
    helper = graph.onnx.helper
    model: ModelProto = helper.make_model(
        helper.make_graph(graph.nodes, "ferl", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="ferl",
        producer_version=_version(),
        doc_string="A fuzzy rule tree: label, evidence, prediction set and novelty of each row.",
    )
    helper.set_model_props(model, _properties(fitted))
    return model


def _checked(clf: Any, novelty: bool | str, dtype: str) -> Model:
    fitted = model_of(clf, "to_onnx")
    check_dtype(dtype)
    if not isinstance(novelty, bool | str):
        raise ValueError(f"novelty is {novelty!r}; it must be True, False, 'neighbour' or 'residual'.")
    return fitted


def _add_answers(graph: Graph, model: Model, encoded: Value, novelty: bool | str) -> dict[str, Value]:
    """All outputs by their names, rows first."""
    tree, gated = model.tree, model.reading.support_gate
    rows = add_rows(graph, encoded, model.n_features, model.missing_features)
    margin = model.reading.gate_margin if gated else None
    conditions = add_conditions(graph, tree, rows, margin) if tree.n_nodes > 1 else None
    firings = add_firings(graph, tree, rows, conditions, gated)
    belief, ignorance = add_evidence(graph, model, firings)
    plausibility = graph("Add", belief, ignorance)
    pignistic = graph("Add", belief, graph("Div", ignorance, float(tree.n_classes)))
    largest = graph("ReduceMax", belief, axes=[0], keepdims=1)
    matrices = {
        "pignistic": pignistic,
        "belief": belief,
        "plausibility": plausibility,
        "set": graph("GreaterOrEqual", plausibility, largest),
    }
    found = {name: graph("Transpose", value, perm=[1, 0]) for name, value in matrices.items()}
    code = graph("ArgMax", pignistic, axis=0, keepdims=0)
    found["label"] = graph("Gather", _labels(model.classes), code)
    found["ignorance"] = graph.remove_axis(ignorance, 0)
    if novelty is not False:
        measure = None if novelty is True else novelty
        ungated = add_firings(graph, tree, rows, conditions, False) if gated else firings
        found["novelty"] = add_novelty(graph, model, rows, conditions, firings, ungated, measure)
    return {name: found[name] for name in OUTPUTS if name in found}


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in a type that ONNX and all languages have: text, int64, bool or float64."""
    kind = classes.dtype.kind
    if kind in "iu" and classes.max() <= np.iinfo(np.int64).max:
        return classes.astype(np.int64)
    if kind == "f":
        return classes.astype(np.float64)
    if kind == "b" or (kind in "OUT" and all(isinstance(label, str) for label in classes.tolist())):
        return classes
    raise ValueError(
        f"The labels are {shown(classes.tolist())}, of {classes.dtype}; labels that are text, integers up to 2**63, "
        "floats or booleans can be exported. Fit with such labels."
    )


def _declared_output(graph: Graph, model: Model, name: str, dtype: str) -> Any:
    """Type and shape of an output."""
    helper = graph.onnx.helper
    width = [len(model.classes)] if name in ("pignistic", "belief", "plausibility", "set") else []
    labels = _labels(model.classes)
    own: Any = {"label": object if labels.dtype.kind in "OUT" else labels.dtype, "set": bool}.get(name, dtype)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(own)), ["n_rows", *width])


def _properties(model: Model) -> dict[str, str]:
    """What a reader of the file may want to know, as JSON where it is not one word."""
    inputs = column_inputs(model)
    properties: dict[str, Any] = {
        "ferl_version": _version(),
        "variant": model.variant,
        "combination": model.reading.combination,
        "classes": json.dumps(model.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(model.feature_names(), ensure_ascii=False),
    }
    if inputs is not None:
        properties["inputs"] = json.dumps({own.name: own.form for own in inputs}, ensure_ascii=False)
    return properties


def _version() -> str:
    from ferl import __version__

    return __version__
