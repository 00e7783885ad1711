"""The inputs of a graph, and a table as what they are fed with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.rule_model import RuleModel
from ferl._sklearn import encode_rows
from ferl._tables import ColumnKind
from ferl._util.arrays import Floats
from ferl.onnx.graph import PREFIX, Graph, Value
from ferl.rules import FERLClassifier

MATRIX = "X"
"""Name of the input of a model whose features are all numbers."""
OUTPUTS = ("label", "pignistic", "belief", "plausibility", "ignorance", "set", "novelty")
"""Names of the outputs of a tree."""
WIDE_OUTPUTS = (
    *("label", "probability", "belief", "plausibility", "ignorance", "conflict", "set"),
    *("scores", "contributions", "novelty"),
)
"""Names of the outputs of wide rules."""
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
    markers : tuple of str
        Other text that stands for a missing value.
    means : str
        What a number is: "number", or what stands for a date or an ordered category.
    """

    name: str
    kind: str
    categories: tuple[Any, ...] = ()
    missing: str = ""
    markers: tuple[str, ...] = ()
    means: str = "number"

    @property
    def form(self) -> str:
        """What users may want to know of it, as text."""
        if self.kind == "text":
            return f"category, as text; missing: {json.dumps(self.missing)}"
        return f"{self.means}; missing: NaN" if self.kind == "number" else "category, as a number; missing: NaN"


def output_names(model: Model) -> tuple[str, ...]:
    """Names of all outputs that a model can have, in their order."""
    return OUTPUTS if not isinstance(model, RuleModel) else WIDE_OUTPUTS


def column_inputs(model: Model) -> list[Input] | None:
    """The inputs of a model with categories, one for each feature; None: all features are numbers."""
    columns = model.schema
    if all(categories is None for categories in columns.categories):
        return None
    names = model.feature_names()
    taken = set(output_names(model))
    inputs = []
    for feature, (name, categories) in enumerate(zip(names, columns.categories, strict=True)):
        while not name or name in taken or name.startswith(PREFIX):
            name = f"{name}_" if name and not name.startswith(PREFIX) else f"x{feature}"
        taken.add(name)
        inputs.append(_input(name, categories, columns.label(feature), columns.kind(feature)))
    return inputs


def _input(name: str, categories: NDArray[Any] | None, label: str, kind: ColumnKind) -> Input:
    if categories is None:
        return Input(name, "number", means=_meaning(kind))
    if categories.dtype.kind == "O":
        known, missing = tuple(categories.tolist()), ""
        while missing in known:
            missing = f"<{missing}>" if missing else "<missing>"
        return Input(name, "text", known, missing, tuple(own for own in kind.missing if own != missing))
    if categories.dtype.kind == "i" and np.abs(categories.astype(object)).max() > _LARGEST_EXACT:
        raise ValueError(
            f"{label} holds integers beyond 2**53 as categories, such as {categories.tolist()[-1]}; ONNX compares them "
            "as doubles, which cannot tell them apart. Fit with the column as text."
        )
    return Input(name, "code", tuple(float(level) for level in categories.tolist()))


def _meaning(kind: ColumnKind) -> str:
    if kind.is_date:
        return f"days since 1970-01-01{' in UTC' if kind.is_zoned else ''}"
    if kind.is_ordered:
        return f"index, from 0, in {json.dumps(list(kind.order), ensure_ascii=False)}"
    return "number"


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
        text as objects, with "" where it is missing, and numbers, with NaN where they are missing: dates as days since
        1970-01-01, ordered categories as their index in the order. All categories that
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
    """The declared inputs, and their values as numbers: what :meth:`ferl._tables.Schema.encode` gives."""
    inputs = column_inputs(model)
    if inputs is None:
        declared = [_declared_input(graph, MATRIX, dtype, model.n_features, "numbers; missing: NaN")]
        return declared, _as_double(graph, MATRIX, dtype)
    types = {"number": dtype, "code": "float64", "text": "object"}
    declared = [_declared_input(graph, own.name, types[own.kind], 1, own.form) for own in inputs]
    return declared, graph.join([_encoded(graph, own, dtype) for own in inputs], axis=1)


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
            keys_strings=[*own.categories, own.missing, *own.markers],
            values_int64s=[*range(len(own.categories)), *([-1] * (1 + len(own.markers)))],
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
