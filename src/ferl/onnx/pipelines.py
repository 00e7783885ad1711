"""ferl's classifiers inside pipelines of scikit-learn that skl2onnx converts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ferl._answers import model_of
from ferl.onnx.export import MATRIX, column_inputs, to_onnx
from ferl.onnx.graph import OPSET, onnx_module
from ferl.rules import FERLClassifier
from ferl.trees import FERLTreeClassifier

OPTIONS = {"zipmap": [True, False, "columns"], "output_class_labels": [False, True], "nocl": [True, False]}
"""Options of skl2onnx that its parser evaluates for every classifier."""


def register_converters() -> None:
    """Let skl2onnx convert pipelines, votes and stacks that contain classifiers of ferl.

    Call it once before ``skl2onnx.to_onnx``. Labels and probabilities agree with the pipeline up to rounding, if its
    numbers are doubles: ``skl2onnx`` takes the types of the example rows. Evidence, sets and novelty are outputs of
    :func:`ferl.onnx.to_onnx` only.

    Raises
    ------
    ImportError
        If the package skl2onnx is not installed.

    Examples
    --------
    >>> import onnxruntime, skl2onnx
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from ferl import FERLClassifier
    >>> from ferl.onnx import register_converters
    >>> register_converters()
    >>> X, y = load_iris(return_X_y=True)
    >>> pipeline = make_pipeline(StandardScaler(), FERLClassifier(random_state=0)).fit(X, y)
    >>> model = skl2onnx.to_onnx(pipeline, X[:1], options={"zipmap": False})
    >>> session = onnxruntime.InferenceSession(model.SerializeToString())
    >>> label, probability = session.run(None, {"X": X})
    >>> bool((label == pipeline.predict(X)).all()), bool(abs(probability - pipeline.predict_proba(X)).max() < 1e-9)
    (True, True)
    """
    try:
        skl2onnx = import_module("skl2onnx")
    except ImportError as error:
        raise ImportError("register_converters needs the package skl2onnx: pip install skl2onnx.") from error
    for kind in (FERLClassifier, FERLTreeClassifier):
        skl2onnx.update_registered_converter(
            kind, f"Ferl{kind.__name__}", _declare_outputs, _convert, options=OPTIONS, overwrite=True
        )


def _declare_outputs(operator: Any) -> None:
    """Types and shapes of label and probabilities, as for any classifier, in the precision of the input."""
    shapes, types = import_module("skl2onnx.common.shape_calculator"), import_module("skl2onnx.common.data_types")
    _check_features(operator)
    shapes.calculate_linear_classifier_output_shapes(operator)
    # Dictionaries of probabilities have single precision in ONNX.
    maps = [item for item in operator.scope_inst.operators.values() if item.type == "SklearnZipMap"]
    is_map = any(given is operator.outputs[1] for one_map in maps for given in one_map.inputs)
    kind = types.DoubleTensorType if _is_double(operator) and not is_map else types.FloatTensorType
    operator.outputs[1].set_type(kind(operator.outputs[1].type.shape))


def _check_features(operator: Any) -> None:
    """Refuse text: a step of a pipeline has one matrix for all features."""
    inputs = column_inputs(model_of(operator.raw_operator, "register_converters")) or []
    texts = [one_input.name for one_input in inputs if one_input.kind == "text"]
    if texts:
        raise ValueError(
            f"{', '.join(texts)} came to the classifier as text, and steps of a converted pipeline exchange numbers. "
            "Encode categories in the pipeline (OneHotEncoder, OrdinalEncoder), or convert the classifier alone by "
            "ferl.onnx.to_onnx."
        )


def _is_double(operator: Any) -> bool:
    kinds = import_module("skl2onnx.common.data_types")
    return isinstance(operator.inputs[0].type, kinds.DoubleTensorType)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Put the classifier's graph between the operator's input and outputs."""
    onnx, clf = onnx_module(), operator.raw_operator
    _check_opset(container.target_opset)
    dtype = "float64" if _is_double(operator) else "float32"
    model = to_onnx(clf, evidence=False, novelty=False, dtype=dtype)
    if container.target_opset > OPSET:
        model = onnx.version_converter.convert_version(model, container.target_opset)
    prefix = scope.get_unique_operator_name("ferl") + "/"
    graph = onnx.compose.add_prefix(model, prefix).graph

    def connect(operator_type: str, source: str | list[str], target: str, **attributes: Any) -> None:
        name = scope.get_unique_operator_name(operator_type)
        container.add_node(operator_type, source, target, name=name, **attributes)

    types = onnx.TensorProto
    wanted = types.DOUBLE if dtype == "float64" else types.FLOAT
    given = operator.inputs[0].full_name
    matrix = scope.get_unique_variable_name("rows")
    connect("Cast", given, matrix, to=wanted)
    inputs = column_inputs(model_of(clf, "register_converters"))
    if inputs is None:
        connect("Identity", matrix, prefix + MATRIX)
    else:
        doubles = scope.get_unique_variable_name("codes")
        connect("Cast", matrix, doubles, to=types.DOUBLE)
        for feature, one_input in enumerate(inputs):
            source = matrix if one_input.kind == "number" else doubles
            index = scope.get_unique_variable_name("feature")
            container.add_initializer(index, types.INT64, [1], [feature])
            connect("Gather", [source, index], prefix + one_input.name, axis=1)
    container.nodes.extend(graph.node)
    container.initializers.extend(graph.initializer)
    container.node_domain_version_pair_sets.update((item.domain, item.version) for item in model.opset_import)
    label, probability = operator.outputs
    result = next(item.name for item in graph.output if item.name.endswith(("/probability", "/pignistic")))
    is_wide = isinstance(probability.type, import_module("skl2onnx.common.data_types").DoubleTensorType)
    connect("Identity", f"{prefix}label", label.full_name)
    connect("Cast", result, probability.full_name, to=types.DOUBLE if is_wide else types.FLOAT)


def _check_opset(target: int) -> None:
    if target < OPSET:
        raise ValueError(
            f"target_opset is {target}; classifiers of ferl need operators of version {OPSET} or newer. "
            f"Convert with target_opset={OPSET}."
        )
