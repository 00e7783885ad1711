"""Labels and weights: what stands beside the rows of a table."""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Collection, Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ferl import _core
from ferl._tables.columns import is_text
from ferl._tables.values import MISSING, is_missing, spelled_number
from ferl._util.arrays import Floats, Ints, arrow
from ferl._util.text import listed, shown

_FEW_LABELS = 1000  # below which it is not worth while to import pyarrow
_TOTAL_WEIGHT = (1e-100, 1e40)
ROUNDING = 1e-9  # sums of weights that differ by less are equal up to rounding
_CLASS_WEIGHT_BITS = (16, 36)  # fewest and most of a class weight's 53; the others count repetitions


def label_markers(labels: Collection[Any], classes: Collection[Any] = ()) -> tuple[str, ...]:
    """Text that stands for a missing label, where all other labels are numbers or spell them: the rule of features.

    Parameters
    ----------
    labels : collection
        The distinct labels.
    classes : collection, default=()
        Labels that are known to be classes.

    Examples
    --------
    >>> label_markers(["0", "1", "NA", ""]), label_markers(["no", "NA"]), label_markers(["NA"], ["0", "NA"])
    (('NA', ''), (), ())
    """
    known = set(classes)
    texts = [label for label in labels if isinstance(label, str) and label not in known]
    markers = tuple(text for text in texts if text.strip() in MISSING)
    others = [label for label in (*labels, *known) if label not in markers] if markers else []
    return markers if others and all(map(_is_number, others)) else ()


def is_missing_label(label: Any, markers: Collection[str]) -> bool:
    """Whether a label is missing; ``markers``: text that stands for one, without blanks around it."""
    return label.strip() in markers if isinstance(label, str) else is_missing(label)


def _is_number(label: Any) -> bool:
    number = spelled_number(label) if isinstance(label, str) else label
    return isinstance(number, Real) and math.isfinite(number)


def refuse_missing_labels(y: Any, classes: Collection[Any] = (), is_part: bool = False) -> None:
    """Name the first row without a label; NaN among numbers is left to scikit-learn, which has a good error for it.

    ``is_part``: whether there are other labels, so that it is not known yet whether all but markers are numbers.
    """
    if not isinstance(y, np.ndarray | list | tuple) and not hasattr(y, "to_numpy"):
        return
    labels = np.asarray(y).ravel()
    if labels.dtype.kind not in "OUT":
        return
    values = labels.tolist()
    if not set(map(type, values)) <= {str, int, bool}:  # no slow loop for these types
        missing = [row for row, label in enumerate(values) if is_missing(label)]
        if missing:
            raise ValueError(
                f"y contains NaN: {len(missing)} labels are missing, the first in row {missing[0]}. Leave these rows "
                "out."
            )
    if markers := () if is_part else label_markers(dict.fromkeys(values), classes):
        missing = [row for row, label in enumerate(values) if label in markers]
        refuse_markers(markers, f" {len(missing)} labels are missing, the first in row {missing[0]}.")


def refuse_markers(markers: tuple[str, ...], text: str = "") -> None:
    """Refuse text that stands for missing labels; ``text``: how many there are, in a sentence."""
    if markers:
        raise ValueError(
            f"y contains {listed(list(map(shown, markers)))} beside numbers, which stands for a missing label.{text} "
            "Leave these rows out, or give the class another name if it is one."
        )


def labels_of(y: Any) -> NDArray[Any]:
    """Labels of a batch as an array; labels of Arrow in NumPy's types."""
    if hasattr(y, "combine_chunks"):
        pa = arrow()

        held = y.type.value_type if pa.types.is_dictionary(y.type) else y.type
        y = np.asarray(y.cast(held))
    refuse_missing_labels(y, is_part=True)
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"The labels of a batch have shape {labels.shape}; they must be one for each row.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN. Leave rows without a label out.")
    return labels


def distinct_of(y: Any) -> tuple[NDArray[Any], Ints]:
    """As :func:`distinct_labels` of :func:`labels_of`; text of Arrow does not become Python's, row by row."""
    text = _arrow_text(y)
    if text is None:
        return distinct_labels(labels_of(y))
    texts, indices = _in_order(text)
    return np.array(texts, dtype=object), indices


def batch_codes(y: Any, classes: NDArray[Any]) -> Ints:
    """As :func:`codes_of` of :func:`labels_of`; text of Arrow does not become Python's, row by row."""
    text = _arrow_text(y)
    if text is None:
        return codes_of(labels_of(y), classes)
    encoded = text.dictionary_encode()
    return np.asarray(_index_among(encoded.dictionary.to_pylist(), classes)[encoded.indices.to_numpy()])


def _arrow_text(y: Any) -> Any | None:
    """Labels that Arrow holds as text, in pandas or not, none of them missing; otherwise None."""
    pa, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")  # not imported: then labels are not theirs
    if pandas is not None and isinstance(y, pandas.Series):
        storage = getattr(y.dtype, "storage", "")
        if isinstance(y.dtype, pandas.ArrowDtype) or (isinstance(storage, str) and storage.startswith("pyarrow")):
            y = y.array.__arrow_array__()
    if pa is None or not isinstance(y, pa.Array | pa.ChunkedArray) or not len(y) or not is_text(y.type) or y.null_count:
        return None
    y = y.cast(pa.large_string())  # Arrow does not encode all its types of text
    return y.combine_chunks() if isinstance(y, pa.ChunkedArray) else y


def _in_order(text: Any) -> tuple[list[str], Ints]:
    """The distinct texts of an Arrow array without missing values, sorted, and each row's index among them."""
    encoded = text.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    ascending = sorted(range(len(texts)), key=texts.__getitem__)
    order = np.empty(len(texts), dtype=np.int32)
    order[ascending] = np.arange(len(texts))
    return [texts[index] for index in ascending], order[encoded.indices.to_numpy()]


def distinct_labels(y: NDArray[Any]) -> tuple[NDArray[Any], Ints]:
    """The distinct labels, sorted, and each row's index among them: `numpy.unique`, without a sort where it can be."""
    if y.dtype.kind in "iu" and len(y) > 0:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and high < 2**63:
            offset = y.astype(np.int64) - low
            present = np.bincount(offset) > 0
            return (np.flatnonzero(present) + low).astype(y.dtype), (np.cumsum(present) - 1).astype(np.int32)[offset]
    result = distinct_text(y)
    if result is not None:
        return result
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int32)


def distinct_text(y: NDArray[Any]) -> tuple[NDArray[Any], Ints] | None:
    """As :func:`distinct_labels`, for many labels that are all text and none missing; otherwise None."""
    if y.ndim != 1 or y.dtype.kind not in "OU" or len(y) < _FEW_LABELS or not isinstance(y[0], str):
        return None
    pa = arrow()
    try:
        array = pa.array(y, from_pandas=True)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError):
        return None
    if not isinstance(array, pa.Array) or not pa.types.is_string(array.type) or array.null_count:
        return None
    texts, indices = _in_order(array)
    # The row where a text comes first: its label keeps the type that it has there.
    first = np.empty(len(texts), dtype=np.intp)
    first[indices[::-1]] = np.arange(len(y) - 1, -1, -1)
    return y[first], indices


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> Ints:
    """Index of each label in the classes; -1 for an unknown label. Text never equals a number: "1" is not 1."""
    refuse_other_kind(labels, "y", classes, "classes_")
    try:
        result, inverse = distinct_labels(labels)
    except TypeError:  # objects without an order: text and None, for example
        result, inverse = labels, np.arange(len(labels), dtype=np.int32)
    return _index_among(result.tolist(), classes)[inverse]


def _index_among(labels: list[Any], classes: NDArray[Any]) -> Ints:
    index = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([index.get(label, -1) for label in labels], dtype=np.int32)


def refuse_other_kind(first: NDArray[Any], first_name: str, second: NDArray[Any], second_name: str) -> None:
    """Refuse text against numbers: NumPy calls them unequal, which would read as an error rate of 1."""
    kinds = first.dtype.kind + second.dtype.kind
    if "O" not in kinds and (kinds[0] in "UST") != (kinds[1] in "UST"):
        held = f"{first_name} holds {first.dtype} and {second_name} holds {second.dtype}"
        raise ValueError(f"{held}: text and numbers are never equal. Pass labels of the same kind.")


# ---------------------------------------------------------------------------------------------------------------------
# Weights
# ---------------------------------------------------------------------------------------------------------------------


def plain_labels(y: Any) -> Any:
    """Labels, text of NumPy's StringDType as objects: scikit-learn does not take that type."""
    return y.astype(object) if isinstance(y, np.ndarray) and y.dtype.kind == "T" else y


def weights_and_factors(
    sample_weight: ArrayLike | None,
    class_weight: Mapping[Any, float] | str | None,
    classes: NDArray[Any],
    codes: Ints,
    *,
    as_given: bool = False,
) -> tuple[Floats, Floats]:
    """Weight of each row, and the factor of each class in it.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        Weight 2 is the row twice, weight 0 a row that is not there.
    class_weight : dict, "balanced" or None
        As in scikit-learn; classes not in the dict weigh 1.
    classes : ndarray of shape (n_classes,)
        The labels.
    codes : ndarray of shape (n_samples,)
        Each row's label, as an index of ``classes``.
    as_given : bool, default=False
        Whether class weights that average less than one stay as they are; see :func:`class_factors`.

    Returns
    -------
    weight : ndarray of shape (n_samples,)
        The weight of a row, times the factor of its class.
    factor : ndarray of shape (n_classes,)
    """
    weight = checked_sample_weight(sample_weight, len(codes))
    totals = np.zeros(len(classes))
    if class_weight is not None and (isinstance(class_weight, str) or not as_given):
        # fsum: the same in any order of the rows
        totals = np.array([math.fsum(weight[codes == c].tolist()) for c in range(len(classes))])
    factor = class_factors(class_weight, classes, totals)
    if class_weight is not None:
        with np.errstate(over="ignore", under="ignore"):
            weight = np.asarray(weight * factor[codes])
    positive = weight[weight > 0]
    with np.errstate(over="ignore"):
        check_weight_span(positive.min(initial=np.inf), positive.max(initial=0.0), float(positive.sum()))
    return weight, factor


def check_class_weight(class_weight: Mapping[Any, float]) -> None:
    """Refuse class weights that are no weights, whatever the classes are."""
    for label, value in class_weight.items():
        if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
            raise ValueError(
                f"class_weight[{label!r}] is {value!r}; class weights must be finite and not negative. Use 0 to leave "
                "a class out."
            )


def class_factors(class_weight: Mapping[Any, float] | str | None, classes: NDArray[Any], totals: Floats) -> Floats:
    """The weight of a row of each class, shape (n_classes,); ``totals``: sample weight of each class.

    Class weights that make the rows weigh less than without them are multiplied by one number, so that the rows weigh
    the same. This number depends on totals, never on how many rows have them: weight 2 is the row twice. Totals of
    zero leave class weights as they are. Class weights are rounded to at most 36 binary digits, since weight 3
    is the row three times only if sums of weights are exact: 1.4 + 1.4 + 1.4 is not 3 * 1.4.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        factors = np.divide(math.fsum(totals), len(classes) * totals, out=np.ones(len(classes)), where=totals > 0)
    else:
        check_class_weight(class_weight)
        known = classes.tolist()
        for label in class_weight:
            if label not in known:
                raise ValueError(f"class_weight names the class {label!r}; the classes in y are {known}.")
        factors = np.array([float(class_weight.get(label, 1.0)) for label in known])
        if not factors.any():
            raise ValueError("All class weights are zero, so there is nothing to fit.")
    factors = _with_few_bits(factors)
    with_factors, without = math.fsum(totals * factors), math.fsum(totals[factors > 0])
    is_light = with_factors < (1 - ROUNDING) * without
    return _with_few_bits(factors * (without / with_factors)) if is_light else factors


def _with_few_bits(factors: Floats) -> Floats:
    """Class weights as multiples of 2^-36 of the power of two above the largest, with 16 binary digits at least.

    On this grid sums over rows are exact, in doubles and in the fixed point of the core, if no class weight is
    more than 10^8 times another.
    """
    _, exponent = np.frexp(factors)
    grid = exponent - np.clip(_CLASS_WEIGHT_BITS[1] - (exponent[factors > 0].max() - exponent), *_CLASS_WEIGHT_BITS)
    return np.asarray(np.ldexp(np.rint(np.ldexp(factors, -grid)), grid))


def check_weight_span(low: float, high: float, total: float) -> None:
    """Refuse weights that sums cannot hold side by side: from their smallest and largest, and their sum."""
    if not high > 0:
        raise ValueError(
            "sample_weight and class_weight together leave every row a weight of zero, so there is nothing to fit."
        )
    if not _TOTAL_WEIGHT[0] <= total <= _TOTAL_WEIGHT[1]:
        raise ValueError(
            f"The weights sum to {total:.3g}; sums from {_TOTAL_WEIGHT[0]:.0e} to {_TOTAL_WEIGHT[1]:.0e} can be "
            "fitted. Divide all of them by one number."
        )
    # The core adds weights up in fixed point: lighter rows would count for nothing.
    if high > _core.WEIGHT_SPAN * low:
        raise ValueError(
            f"The weights reach from {low:.3g} to {high:.3g}; the largest may be at most "
            f"{_core.WEIGHT_SPAN:.1e} times the smallest. Give negligible rows a weight of 0."
        )


def checked_sample_weight(sample_weight: ArrayLike | None, n_rows: int, may_be_zero: bool = False) -> Floats:
    """Weights as doubles, one for each row; ``may_be_zero``: all of them may be, in a part of a table."""
    if sample_weight is None:
        return np.ones(n_rows)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight holds what is no number ({error}). Pass one number for each row.") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weight.shape}; it needs one number per row, shape ({n_rows},).")
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight[{row}] is {weight[row]}; weights must be finite and not negative. Use 0 to leave a row out."
        )
    if not weight.any() and not may_be_zero:
        raise ValueError("All sample weights are zero, so there is nothing to fit. Give at least one row some weight.")
    return np.ascontiguousarray(weight)


# ---------------------------------------------------------------------------------------------------------------------
# Groups of rows
# ---------------------------------------------------------------------------------------------------------------------


def checked_groups(groups: Any, n_rows: int) -> NDArray[Any]:
    """The group of each row, none of them missing, as values that are compared by equality."""
    if getattr(getattr(groups, "dtype", None), "kind", "") == "M":
        groups = np.asarray(groups).astype("datetime64[us]")  # nanoseconds would become whole numbers
    checked = np.asarray(groups.to_pylist() if hasattr(groups, "to_pylist") else groups, dtype=object)
    if checked.shape != (n_rows,):
        raise ValueError(f"X has {n_rows} rows and groups the shape {checked.shape}. Pass one group for each row of X.")
    for row, group in enumerate(checked.tolist()):
        # NaN is no group, nor is NA, which is not even comparable with itself.
        if group is None or not isinstance(group == group, bool | np.bool_) or group != group:
            raise ValueError(
                f"groups[{row}] is {group!r}; every row needs a group. Make missing ones a group of their own."
            )
    return checked


def group_numbers(groups: Any, n_rows: int) -> Floats:
    """A whole number for the group of each row, the same wherever a group comes: in any row, batch or table.

    Numbers are hashes of 53 bits: two of a million groups have the same one with a probability of one in 18,000, and
    then count as one group.

    Examples
    --------
    >>> import numpy as np
    >>> from ferl._tables.labels import group_numbers
    >>> a, b, again = group_numbers(["ward 1", "ward 2", "ward 1"], 3)
    >>> bool(a == again), bool(a == b), bool(group_numbers(np.array([3]), 1) == group_numbers([3.0], 1))
    (True, False, True)
    """
    checked: list[Any] = checked_groups(groups, n_rows).tolist()
    known = {}
    for group in dict.fromkeys(checked):  # of any type
        is_number = isinstance(group, Real)
        is_whole = is_number and math.isfinite(group) and group % 1 == 0
        text = str(int(group)) if is_whole else str(group)
        digest = hashlib.blake2b(f"{is_number}{text}".encode(), digest_size=8).digest()
        known[group] = float(int.from_bytes(digest, "little") >> 11)
    return np.array([known[group] for group in checked])
