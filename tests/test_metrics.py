"""The measures against hand-computed values, against brute force over tie orders, and against their laws."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ferl.metrics import (
    augrc,
    aurc,
    determinacy,
    expected_calibration_error,
    mean_set_size,
    set_coverage,
    u65,
    u80,
)

Curve = Callable[[object, object, object], float]
LAW = settings(deadline=None)  # a busy machine is not a broken law
CURVES = pytest.mark.parametrize("metric", [aurc, augrc])

# ---------------------------------------------------------------------------------------------------------------------
# Selection curves
# ---------------------------------------------------------------------------------------------------------------------


def curve_in_given_order(wrong: NDArray[np.bool_], *, generalised: bool) -> float:
    """The definition, for rows that are already ordered from most to least confident."""
    n = len(wrong)
    return sum(wrong[:k].sum() / (n if generalised else k) for k in range(1, n + 1)) / n


def brute_force(wrong: NDArray[np.bool_], confidence: NDArray[np.float64], *, generalised: bool) -> float:
    """The mean of the definition over every order that respects the confidences."""
    values = [
        curve_in_given_order(wrong[list(order)], generalised=generalised)
        for order in itertools.permutations(range(len(wrong)))
        if all(confidence[a] >= confidence[b] for a, b in itertools.pairwise(order))
    ]
    return float(np.mean(values))


@st.composite
def ranked_answers(draw: st.DrawFn, max_rows: int = 30) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Which rows are wrong, and a confidence with many ties (integers, so that transforms of it stay exact)."""
    n = draw(st.integers(1, max_rows))
    wrong = draw(arrays(np.bool_, n))
    confidence = draw(arrays(np.int64, n, elements=st.integers(-4, 4))).astype(np.float64)
    return wrong, confidence


def labels(wrong: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.zeros(len(wrong), dtype=np.int64), wrong.astype(np.int64)


def test_aurc_by_hand() -> None:
    # Errors at ranks 2 and 4: error rates 0, 1/2, 1/3, 2/4.
    assert aurc([1, 1, 1, 1], [1, 0, 1, 0], [4, 3, 2, 1]) == pytest.approx((0 + 1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_augrc_by_hand() -> None:
    # The same rows: 0, 1, 1 and 2 errors, of 4 rows.
    assert augrc([1, 1, 1, 1], [1, 0, 1, 0], [4, 3, 2, 1]) == pytest.approx((0 + 1 + 1 + 2) / 16)


def test_aurc_with_a_tie_by_hand() -> None:
    # One sure and right; then two tied rows, one wrong: expected error rates 0, (1/2)/2, 1/3.
    assert aurc(["a", "a", "b"], ["a", "a", "a"], [0.9, 0.5, 0.5]) == pytest.approx((0 + 1 / 4 + 1 / 3) / 3)


def test_row_order_of_the_input_does_not_break_ties() -> None:
    assert aurc([0, 0], [0, 1], [0.5, 0.5]) == aurc([0, 0], [1, 0], [0.5, 0.5]) == 0.5


@LAW
@given(ranked_answers(max_rows=6))
def test_ties_are_the_mean_over_all_tie_orders(answers: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    wrong, confidence = answers
    assert aurc(*labels(wrong), confidence) == pytest.approx(brute_force(wrong, confidence, generalised=False))
    assert augrc(*labels(wrong), confidence) == pytest.approx(brute_force(wrong, confidence, generalised=True))


@CURVES
@LAW
@given(answers=ranked_answers())
def test_only_the_order_of_the_confidence_matters(
    metric: Curve, answers: tuple[NDArray[np.bool_], NDArray[np.float64]]
) -> None:
    wrong, confidence = answers
    for transformed in (3 * confidence + 7, np.exp(confidence), confidence**3):
        assert metric(*labels(wrong), transformed) == metric(*labels(wrong), confidence)


@CURVES
@LAW
@given(answers=ranked_answers(), seed=st.integers(0, 2**16))
def test_row_permutation_changes_nothing(
    metric: Curve, answers: tuple[NDArray[np.bool_], NDArray[np.float64]], seed: int
) -> None:
    wrong, confidence = answers
    order = np.random.default_rng(seed).permutation(len(wrong))
    assert metric(*labels(wrong[order]), confidence[order]) == metric(*labels(wrong), confidence)


@CURVES
@LAW
@given(answers=ranked_answers())
def test_no_ranking_beats_errors_last_and_none_is_worse_than_errors_first(
    metric: Curve, answers: tuple[NDArray[np.bool_], NDArray[np.float64]]
) -> None:
    wrong, confidence = answers
    value = metric(*labels(wrong), confidence)
    assert metric(*labels(wrong), ~wrong) - 1e-12 <= value <= metric(*labels(wrong), wrong) + 1e-12


@LAW
@given(ranked_answers())
def test_bounds_and_relation_of_the_two_curves(answers: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    wrong, confidence = answers
    risk, generalised = aurc(*labels(wrong), confidence), augrc(*labels(wrong), confidence)
    assert 0 <= generalised <= risk + 1e-12 <= 1 + 2e-12
    assert generalised <= wrong.mean() + 1e-12


@LAW
@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_a_constant_confidence_gives_the_error_rate(wrong: list[bool]) -> None:
    mask = np.array(wrong)
    assert aurc(*labels(mask), np.zeros(len(mask))) == pytest.approx(mask.mean())


def test_no_errors_is_zero_and_all_errors_is_one() -> None:
    assert aurc([0, 1], [0, 1], [0.2, 0.9]) == 0.0
    assert aurc([0, 1], [1, 0], [0.2, 0.9]) == 1.0


def test_infinite_confidence_is_only_a_rank() -> None:
    assert aurc([0, 0], [0, 1], [np.inf, -np.inf]) == aurc([0, 0], [0, 1], [1, 0])


# ---------------------------------------------------------------------------------------------------------------------
# Calibration
# ---------------------------------------------------------------------------------------------------------------------


def test_calibration_error_by_hand() -> None:
    # Two bins: [0.2, 0.4] with accuracy 1/2 against 0.3, and [0.8, 0.9, 1.0] with accuracy 2/3 against 0.9.
    value = expected_calibration_error([1, 1, 1, 1, 1], [1, 0, 1, 1, 0], [0.2, 0.4, 0.8, 0.9, 1.0], n_bins=2)
    assert value == pytest.approx((2 * abs(0.5 - 0.3) + 3 * abs(2 / 3 - 0.9)) / 5)


def test_a_bin_contains_its_upper_edge() -> None:
    # 0.2 is the upper edge of the third of 15 bins: alone there, apart from 0.21.
    value = expected_calibration_error([1, 1], [1, 0], [0.2, 0.21])
    assert value == pytest.approx((0.8 + 0.21) / 2)


def test_confidences_of_zero_and_one_have_a_bin() -> None:
    assert expected_calibration_error([0, 0], [1, 0], [0.0, 1.0]) == 0.0


def test_a_rounding_error_above_one_is_accepted() -> None:
    assert expected_calibration_error([0], [0], [1.0 + 1e-15]) == 0.0


@LAW
@given(ranked_answers(), st.integers(1, 20))
def test_calibration_error_is_a_fraction_and_one_bin_is_the_smallest(
    answers: tuple[NDArray[np.bool_], NDArray[np.float64]], n_bins: int
) -> None:
    wrong, confidence = answers
    probability = (confidence + 4) / 8
    value = expected_calibration_error(*labels(wrong), probability, n_bins=n_bins)
    assert abs((1 - wrong.mean()) - probability.mean()) - 1e-12 <= value <= 1 + 1e-12


@pytest.mark.parametrize("n_bins", [0, -1, 2.5, True])
def test_calibration_error_refuses_a_wrong_number_of_bins(n_bins: int) -> None:
    with pytest.raises(ValueError, match=r"n_bins must be an int of at least 1; got"):
        expected_calibration_error([0], [0], [0.5], n_bins=n_bins)


def test_calibration_error_refuses_confidences_outside_the_unit_interval() -> None:
    with pytest.raises(ValueError, match=r"confidence must lie in \[0, 1\].*got \[0.5, 90\]"):
        expected_calibration_error([0, 0], [0, 0], [0.5, 90])


# ---------------------------------------------------------------------------------------------------------------------
# Prediction sets
# ---------------------------------------------------------------------------------------------------------------------

T, F = True, False
CLASSES = ["a", "b", "c"]
SETS = np.array([[T, F, F], [T, T, F], [T, T, T], [F, F, T], [F, F, F]])
TRUTH = ["a", "b", "c", "a", "b"]  # single right, pair right, all right, wrong, empty


def test_sets_by_hand() -> None:
    assert set_coverage(TRUTH, SETS, CLASSES) == 3 / 5
    assert determinacy(SETS) == 2 / 5
    assert mean_set_size(SETS) == 7 / 5
    third = 1 / 3
    assert u65(TRUTH, SETS, CLASSES) == pytest.approx((1 + 0.65 + (-0.6 * third**2 + 1.6 * third)) / 5)
    assert u80(TRUTH, SETS, CLASSES) == pytest.approx((1 + 0.80 + (-1.2 * third**2 + 2.2 * third)) / 5)


def test_classes_need_not_be_sorted() -> None:
    order = [2, 0, 1]
    assert u65(TRUTH, SETS[:, order], [CLASSES[i] for i in order]) == u65(TRUTH, SETS, CLASSES)


@st.composite
def labelled_sets(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    n, n_classes = draw(st.integers(1, 20)), draw(st.integers(1, 6))
    classes = np.array(draw(st.lists(st.integers(-99, 99), min_size=n_classes, max_size=n_classes, unique=True)))
    y_true = classes[draw(arrays(np.int64, n, elements=st.integers(0, n_classes - 1)))]
    return y_true, draw(arrays(np.bool_, (n, n_classes))), classes


@LAW
@given(labelled_sets())
def test_utilities_lie_between_discounted_accuracy_and_coverage(
    case: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]],
) -> None:
    y_true, sets, classes = case
    coverage = np.mean([sets[i, list(classes).index(label)] for i, label in enumerate(y_true)])
    assert set_coverage(*case) == coverage
    assert 0 <= u65(*case) <= u80(*case) + 1e-12 <= coverage + 2e-12
    assert 0 <= determinacy(sets) <= 1
    assert 0 <= mean_set_size(sets) <= sets.shape[1]


@LAW
@given(labelled_sets(), st.integers(0, 2**16))
def test_on_single_labels_every_set_measure_is_the_accuracy(
    case: tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]], seed: int
) -> None:
    y_true, _, classes = case
    column = np.random.default_rng(seed).integers(len(classes), size=len(y_true))
    singletons = np.arange(len(classes)) == column[:, None]
    accuracy = np.mean(classes[column] == y_true)
    assert set_coverage(y_true, singletons, classes) == accuracy
    assert u65(y_true, singletons, classes) == pytest.approx(accuracy)
    assert u80(y_true, singletons, classes) == pytest.approx(accuracy)
    assert determinacy(singletons) == mean_set_size(singletons) == 1


# ---------------------------------------------------------------------------------------------------------------------
# Errors: each names the argument, the value and what would be right
# ---------------------------------------------------------------------------------------------------------------------

SELECTION = pytest.mark.parametrize("metric", [aurc, augrc, expected_calibration_error])
SET_METRICS = pytest.mark.parametrize("metric", [u65, u80, set_coverage])


@SELECTION
def test_selection_metrics_name_both_lengths(metric: Curve) -> None:
    with pytest.raises(ValueError, match="y_true has 3 rows but y_pred has 2"):
        metric([0, 1, 0], [0, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="y_true has 2 rows but confidence has 3"):
        metric([0, 1], [0, 1], [0.1, 0.2, 0.3])


@SELECTION
def test_selection_metrics_refuse_empty_nan_and_tables(metric: Curve) -> None:
    with pytest.raises(ValueError, match="y_true is empty"):
        metric([], [], [])
    with pytest.raises(ValueError, match="confidence holds NaN in 1 of 2 rows"):
        metric([0, 1], [0, 1], [0.5, np.nan])
    with pytest.raises(ValueError, match=r"confidence must have one dimension; got an array of shape \(2, 2\)"):
        metric([0, 1], [0, 1], [[0.5, 0.5], [0.5, 0.5]])


@SELECTION
def test_selection_metrics_refuse_text_against_numbers(metric: Curve) -> None:
    with pytest.raises(ValueError, match="text and numbers are never equal"):
        metric([0, 1], ["0", "1"], [0.5, 0.5])


@SET_METRICS
def test_set_metrics_name_both_lengths(metric: Curve) -> None:
    with pytest.raises(ValueError, match="y_true has 2 rows but prediction_set has 5"):
        metric(["a", "b"], SETS, CLASSES)
    with pytest.raises(ValueError, match="prediction_set has 3 columns but classes has 2 entries"):
        metric(TRUTH, SETS, ["a", "b"])


@SET_METRICS
def test_set_metrics_name_unknown_labels(metric: Curve) -> None:
    with pytest.raises(ValueError, match=r"labels that are not in classes: 'A', 'z'\."):
        metric(["a", "z", "c", "A", "b"], SETS, CLASSES)
    with pytest.raises(ValueError, match="text and numbers are never equal"):
        metric([0, 1, 2, 0, 1], SETS, CLASSES)
    with pytest.raises(ValueError, match="the same label twice"):
        metric(TRUTH, SETS, ["a", "b", "a"])


@SET_METRICS
def test_set_metrics_refuse_empty_input(metric: Curve) -> None:
    with pytest.raises(ValueError, match="y_true is empty"):
        metric([], np.zeros((0, 3), dtype=bool), CLASSES)


@pytest.mark.parametrize("metric", [determinacy, mean_set_size])
def test_set_sizes_refuse_what_is_not_a_set(metric: Callable[[object], float]) -> None:
    with pytest.raises(ValueError, match=r"must be a boolean array .* got float64 of shape \(5, 3\)"):
        metric(SETS.astype(float))
    with pytest.raises(ValueError, match=r"must be a boolean array .* got bool of shape \(3,\)"):
        metric(SETS[0])
    with pytest.raises(ValueError, match="prediction_set is empty"):
        metric(np.zeros((0, 3), dtype=bool))
