"""A fitted classifier as one ONNX model, and a table as what the model is fed with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl import _core
from ferl._answers import model_of
from ferl._models.model import Model
from ferl._models.novelty import chosen_measure
from ferl._models.rule_model import RuleModel
from ferl._models.tree_model import TreeModel
from ferl._sklearn import encode_rows
from ferl._tables import ColumnKind, Derived, Missing
from ferl._tables.derived import MOST_DAYS, CategoryEvidence, DateInRange, DatePart, DayEvidence, KnownDate
from ferl._util.arrays import Floats
from ferl._util.text import shown
from ferl.onnx import rules, trees
from ferl.onnx.graph import IR_VERSION, ML_OPSET, OPSET, PREFIX, Graph, Operand, Value
from ferl.rules import FERLClassifier

if TYPE_CHECKING:
    from onnx import ModelProto

MATRIX = "X"
"""Name of the input of a model whose features are all numbers."""
OUTPUTS = {"rules": rules.OUTPUTS, "trees": trees.OUTPUTS}
"""Names of all outputs that a kind of model can have, in their order."""
DTYPES = ("float64", "float32")
_PER_ROW = ("label", "ignorance", "rows", "conflict", "novelty")
_LARGEST_EXACT = 2**53  # the integers up to here are doubles
_MOST_LISTED = 1_000_000  # days from the first to the last of which each has an entry in a table


def to_onnx(
    clf: FERLClassifier,
    *,
    evidence: bool = True,
    novelty: bool | str = True,
    contributions: bool = False,
    dtype: str = "float64",
) -> ModelProto:
    """A fitted classifier as an ONNX model, of standard operators only.

    The model returns label, evidence, set and novelty for any number of rows at once, with categories, unseen
    categories and missing values. They agree with Python up to rounding, about 1e-12. ``docs/guide/onnx.md`` has
    examples.

    Parameters
    ----------
    clf : FERLClassifier or FERLTreeClassifier
        A fitted classifier.
    evidence : bool, default=True
        Whether belief, plausibility, ignorance, set and, for rules, rows are among the outputs.
    novelty : bool or {"neighbour", "residual"}, default=True
        Whether novelty is among the outputs: the model's own measure, or this one; see
        :meth:`ferl.FERLClassifier.novelty`. The exemplars of "neighbour", which are training rows, make most of the
        file and take most of the time. The evidence of rules needs them, too: a file of rules has none with
        ``evidence=False, novelty=False``, or where they were fitted with ``n_exemplars=0``.
    contributions : bool, default=False
        Whether what each rule adds to the scores is among the outputs; see
        :meth:`ferl.FERLClassifier.contributions`. Not for trees, which add nothing up.
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

        Rules have ``probability`` in place of ``pignistic``, ``rows`` (n_samples,), about how many training rows an
        answer rests on, ``conflict`` (n_samples,), ``scores`` (n_samples, n_classes), the summed weights of evidence,
        and ``contributions`` (n_samples, n_terms + 1, n_classes) if requested; the last of these belong to the prior.

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
    from ferl import __version__

    graph, fitted = Graph(), model_of(clf, "to_onnx")
    _check_dtype(dtype)
    if not isinstance(novelty, bool | str):
        raise ValueError(f"novelty is {novelty!r}; it must be True, False, 'neighbour' or 'residual'.")
    measure = None if novelty is False else chosen_measure(fitted.tree, None if novelty is True else novelty)
    inputs, table = _add_inputs(graph, fitted, dtype)
    result = _finished(graph, fitted, _answers(fitted, graph, table, evidence, measure, contributions))
    names = [name for name in OUTPUTS[fitted.kind] if name in result]
    for name in names:
        is_cast = dtype != "float64" and name not in ("label", "set")
        graph.name(graph.cast(result[name], dtype) if is_cast else result[name], name)
    outputs = [_declared_output(graph, fitted, name, dtype) for name in names]
    helper = graph.onnx.helper
    model: ModelProto = helper.make_model(
        graph.proto("ferl", inputs, outputs),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        ir_version=IR_VERSION,
        producer_name="ferl",
        producer_version=__version__,
        doc_string="Fuzzy rules: label, evidence, prediction set and novelty of each row.",
    )
    # Metadata for readers of the file, as JSON if it is more than one word.
    properties = {
        "ferl_version": __version__,
        "model": fitted.kind,
        **{name: str(value) for name, value in vars(fitted.reading).items()},
        "classes": json.dumps(fitted.classes.tolist(), ensure_ascii=False),
        "features": json.dumps(fitted.feature_names(), ensure_ascii=False),
    }
    if (columns := column_inputs(fitted)) is not None:
        properties["inputs"] = json.dumps({column.name: column.form for column in columns}, ensure_ascii=False)
    helper.set_model_props(model, properties)
    return model


@singledispatch
def _answers(
    model: Model, graph: Graph, table: Value, evidence: bool, measure: str | None, contributions: bool
) -> dict[str, Value]:
    """Outputs by their names: matrices, classes first, and values of each row."""
    raise TypeError(f"ONNX has no form of {type(model).__name__}.")


@_answers.register
def _(
    model: RuleModel, graph: Graph, table: Value, evidence: bool, measure: str | None, contributions: bool
) -> dict[str, Value]:
    return rules.rule_answers(graph, model, table, evidence, measure, contributions)


@_answers.register
def _(
    model: TreeModel, graph: Graph, table: Value, evidence: bool, measure: str | None, contributions: bool
) -> dict[str, Value]:
    if contributions:
        raise ValueError(
            "contributions=True needs rules, whose weights add up, and this is a tree. Leave it out, or fit a "
            "FERLClassifier."
        )
    result = trees.tree_answers(graph, model, table, measure)
    code = graph("ArgMax", result["pignistic"], axis=0, keepdims=0)
    if model.usual_class:  # else ArgMax has the first of equals where nothing fires
        is_known = graph("Greater", graph("ReduceMax", result["belief"], axes=[0], keepdims=0), 0.0)
        code = graph("Where", is_known, code, np.array(model.usual_class))
    result["code"] = code
    if evidence:
        largest = graph("ReduceMax", result["belief"], axes=[0], keepdims=1)
        return result | {"set": graph("GreaterOrEqual", result["plausibility"], graph("Sub", largest, _core.TIE))}
    return {name: item for name, item in result.items() if name in ("code", "pignistic", "novelty")}


def _finished(graph: Graph, model: Model, result: dict[str, Value]) -> dict[str, Value]:
    """All outputs, rows first; the label follows from the others."""
    code = result.pop("code", None) or graph("ArgMax", result["probability"], axis=0, keepdims=0)
    done = {name: item for name, item in result.items() if name in ("contributions", "novelty")}
    for name, item in result.items():
        if name not in done:
            done[name] = graph.remove_axis(item, 0) if name in _PER_ROW else graph("Transpose", item, perm=[1, 0])
    return done | {"label": graph("Gather", _labels(model.classes), code)}


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
    labels = _labels(model.classes)
    width = [] if name in _PER_ROW else [len(model.classes)]
    if name == "contributions" and isinstance(model, RuleModel):
        width = [len(model.term_columns) + 1, *width]
    output_type: Any = {"label": object if labels.dtype.kind in "OUT" else labels.dtype, "set": bool}.get(name, dtype)
    return graph.declared(name, output_type, ["n_rows", *width])


# ---------------------------------------------------------------------------------------------------------------------
# Inputs
# ---------------------------------------------------------------------------------------------------------------------


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


def column_inputs(model: Model) -> list[Input] | None:
    """The inputs of a model with categories, one for each feature; None: all features are numbers."""
    columns = model.schema
    if all(categories is None for categories in columns.categories):
        return None
    names = model.feature_names()
    taken = set(OUTPUTS[model.kind])
    inputs = []
    for feature, (name, categories) in enumerate(zip(names, columns.categories, strict=True)):
        while not name or name in taken or name.startswith(PREFIX):
            name = f"{name}_" if name and not name.startswith(PREFIX) else f"x{feature}"
        taken.add(name)
        inputs.append(_input(name, categories, columns.label(feature), columns.kinds[feature]))
    return inputs


def _input(name: str, categories: NDArray[Any] | None, label: str, kind: ColumnKind) -> Input:
    if categories is None:
        return Input(name, "number", means=_meaning(kind))
    if categories.dtype.kind == "O":
        known, missing = tuple(categories.tolist()), ""
        while missing in known:
            missing = f"<{missing}>" if missing else "<missing>"
        return Input(name, "text", known, missing, tuple(item for item in kind.missing if item != missing))
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
    clf : FERLClassifier or FERLTreeClassifier
        The fitted classifier that :func:`ferl.onnx.to_onnx` was given.
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
    _check_dtype(dtype)
    rows = encode_rows(clf, model.schema, X)
    inputs = column_inputs(model)
    if inputs is None:
        return {MATRIX: np.ascontiguousarray(rows, dtype=dtype)}
    return {
        one_input.name: _fed(one_input, rows[:, feature], dtype)[:, None] for feature, one_input in enumerate(inputs)
    }


def _fed(item: Input, column: Floats, dtype: str) -> NDArray[Any]:
    if item.kind == "number":
        return column.astype(dtype)
    codes = np.where(np.isnan(column), len(item.categories) + 1, column).astype(np.intp)
    if item.kind == "code":
        return np.array([*item.categories, np.inf, np.nan])[codes]  # categories are finite
    unseen = item.missing
    while unseen == item.missing or unseen in item.categories:
        unseen += "?"
    return np.array([*item.categories, unseen, item.missing], dtype=object)[codes]


def _check_dtype(dtype: str) -> None:
    """Raise where ``dtype`` is no type of :func:`to_onnx`."""
    if dtype not in DTYPES:
        raise ValueError(f"dtype is {dtype!r}; it must be {' or '.join(map(repr, DTYPES))}.")


# ---------------------------------------------------------------------------------------------------------------------
# In the graph
# ---------------------------------------------------------------------------------------------------------------------


def _add_inputs(graph: Graph, model: Model, dtype: str) -> tuple[list[Any], Value]:
    """The declared inputs, and their values as a table with all columns of the model, shape (n_rows, n_columns)."""
    inputs, width = column_inputs(model), 1
    if inputs is None:
        inputs, width = [Input(MATRIX, "number", means="numbers")], model.n_features
    types = {"number": dtype, "code": "float64", "text": "object"}
    declared = [
        graph.declared(one_input.name, types[one_input.kind], ["n_rows", width], one_input.form) for one_input in inputs
    ]
    table = graph.join([_encoded(graph, one_input, dtype) for one_input in inputs], axis=1)
    derived = [add_derived(graph, item, graph.take(table, [item.feature], axis=1)) for item in model.derived]
    return declared, graph.join([table, *derived], axis=1)


def _encoded(graph: Graph, item: Input, dtype: str) -> Value:
    """A column as :meth:`ferl._tables.Schema.encode` gives it, shape (n_samples, 1)."""
    if item.kind == "number":
        return item.name if dtype == "float64" else graph.cast(item.name, "float64")
    if item.kind == "text":
        code = graph(
            "LabelEncoder",
            item.name,
            domain="ai.onnx.ml",
            keys_strings=[*item.categories, item.missing, *item.markers],
            values_int64s=[*range(len(item.categories)), *([-1] * (1 + len(item.markers)))],
            default_int64=len(item.categories),
        )
        code = graph.cast(code, "float64")
        # A feature without any category in training is missing everywhere.
        is_missing = graph("Less", code, 0.0 if item.categories else 1.0)
        return graph("Where", is_missing, np.nan, code)
    same = graph.cast(graph("Equal", item.name, np.array([item.categories])), "float64")
    # The last column: what no category before it equals.
    ruled_out = graph("Sub", 1.0, graph("ReduceMax", same, axes=[1], keepdims=1))
    code = graph.cast(graph("ArgMax", graph.join([same, ruled_out], axis=1), axis=1, keepdims=1), "float64")
    return graph("Where", graph("IsNaN", item.name), np.nan, code)


# ---------------------------------------------------------------------------------------------------------------------
# Derived columns: the arithmetic of ferl._tables.derived in standard operators
# ---------------------------------------------------------------------------------------------------------------------


def add_derived(graph: Graph, derived: Derived, values: Value) -> Value:
    """A derived column from the values of its feature; both have the shape (n_rows, 1)."""
    if isinstance(derived, Missing):
        return graph.cast(graph("IsNaN", values), "float64")
    if isinstance(derived, CategoryEvidence):
        n = len(derived.evidence) - 1
        code = graph("Where", graph("IsNaN", values), n + 1.0, values)  # n: what training did not have
        table = np.array([*derived.evidence[:n], 0.0, derived.evidence[n]])
        return graph("Gather", table, graph.cast(code, "int64"), axis=0)
    if isinstance(derived, DateInRange):
        inside = graph(
            "And", graph("GreaterOrEqual", values, derived.first), graph("LessOrEqual", values, derived.last)
        )
        return graph("Where", inside, values, np.nan)
    if isinstance(derived, KnownDate):
        return graph("Where", graph("IsNaN", values), np.nan, graph.between(values, derived.first, derived.last))
    is_known = graph("LessOrEqual", graph("Abs", values), MOST_DAYS)
    days = graph("Where", is_known, values, 0.0)
    if isinstance(derived, DayEvidence):
        return graph("Where", graph("IsNaN", values), np.nan, _day(graph, derived, is_known, graph("Floor", days)))
    if isinstance(derived, DatePart):
        return graph("Where", is_known, _part(graph, derived.part, days), np.nan)
    raise TypeError(f"{type(derived).__name__} has no form in ONNX. Use the model in Python.")


def _day(graph: Graph, day_evidence: DayEvidence, is_known: Value, whole: Value) -> Value:
    """The evidence of a day; days outside the training range come first or last in the table."""
    first, n = int(day_evidence.days[0]), int(day_evidence.days[-1]) - int(day_evidence.days[0]) + 1
    if n > _MOST_LISTED:
        same = graph.cast(graph("Equal", whole, day_evidence.days[None, :].astype(np.float64)), "float64")
        result = graph.total(graph("Mul", same, day_evidence.evidence[None, :]), axis=1)
    else:
        table = np.zeros(n + 2)
        table[day_evidence.days - first + 1] = day_evidence.evidence
        place = graph.between(graph("Sub", whole, first - 1.0), 0.0, n + 1.0)
        result = graph("Gather", table, graph.cast(place, "int64"), axis=0)
    return graph("Where", is_known, result, 0.0)


def _part(graph: Graph, part: str, days: Value) -> Value:
    """A part of dates that are known."""
    whole = graph("Floor", days)
    if part == "weekday":
        return _rest(graph, graph("Add", whole, 3.0), 7.0)
    if part == "hour":
        seconds = graph("Mul", graph("Sub", days, whole), 86_400.0)
        return graph("Div", graph("Floor", graph("Add", seconds, 0.5)), 3600.0)
    # The civil calendar, whose years begin in March so that the day of a leap year comes last.
    day = graph("Add", whole, 719_468.0)  # since the first of March of year 0
    era = _whole(graph, day, 146_097.0)  # of 400 years
    day = graph("Sub", day, graph("Mul", era, 146_097.0))
    leaps = graph("Sub", _whole(graph, day, 36_524.0), _whole(graph, day, 1460.0))
    year = _whole(graph, graph("Sub", graph("Add", day, leaps), _whole(graph, day, 146_096.0)), 365.0)
    leap_days = graph("Sub", _whole(graph, year, 4.0), _whole(graph, year, 100.0))
    day = graph("Sub", day, graph("Add", graph("Mul", year, 365.0), leap_days))  # of the year, from 0
    if part == "month":
        month = _whole(graph, graph("Add", graph("Mul", day, 5.0), 2.0), 153.0)  # March is 0
        return _rest(graph, graph("Add", month, 2.0), 12.0)
    is_leap = graph("And", _divides(graph, year, 4.0), graph("Not", _divides(graph, year, 100.0)))
    is_leap = graph("Or", is_leap, graph("Equal", year, 0.0))  # year: of an era
    of_spring = graph("Add", day, graph("Where", is_leap, 61.0, 60.0))  # before it are January and February
    return graph("Where", graph("Less", day, 306.0), of_spring, graph("Sub", day, 305.0))


def _whole(graph: Graph, value: Operand, by: float) -> Value:
    return graph("Floor", graph("Div", value, by))


def _rest(graph: Graph, value: Value, by: float) -> Value:
    return graph("Sub", value, graph("Mul", _whole(graph, value, by), by))


def _divides(graph: Graph, value: Value, by: float) -> Value:
    return graph("Equal", _rest(graph, value, by), 0.0)
