"""Fuzzy sets and linguistic variables: their laws, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ferl.words import (
    WORDS,
    FuzzySet,
    LinguisticVariable,
    PartitionError,
)

# ---------------------------------------------------------------------------------------------------------------------
# Fuzzy sets
# ---------------------------------------------------------------------------------------------------------------------
from tree_examples import bare_tree
from word_examples import (
    INF,
    LAW,
    TEMPERATURE,
    ends,
    fuzzy_sets,
    near,
    numbers,
    variables,
)


def test_constructors_make_the_shapes_they_are_named_after():
    assert FuzzySet.trapezoid("x", 1, 2, 3, 4).ends == (1, 2, 3, 4)
    assert FuzzySet.triangle("x", 1, 2, 4).ends == (1, 2, 2, 4)
    assert FuzzySet.falling("x", 1, 2).ends == (-INF, -INF, 1, 2)
    assert FuzzySet.falling("x", 1).ends == (-INF, -INF, 1, 1)
    assert FuzzySet.rising("x", 1, 2).ends == (1, 2, INF, INF)
    assert FuzzySet.rising("x", 1).ends == (1, 1, INF, INF)
    assert FuzzySet.crisp("x", 1).ends == (1, 1, 1, 1)
    assert FuzzySet.crisp("x", 1, 5).ends == (1, 1, 5, 5)
    assert all(type(end) is float for end in FuzzySet.crisp("x", np.int64(1), np.float32(5)).ends)


@LAW
@given(fuzzy_sets(), st.lists(numbers, max_size=20))
def test_membership_is_that_of_the_core_to_the_last_bit(one, values):
    x = near(np.array([*one.ends, *values]))
    tree = bare_tree(
        parent=np.array([-1, 0], dtype=np.int32),
        feature=np.array([-1, 0], dtype=np.int32),
        trapezoid=np.array([[-INF, -INF, INF, INF], one.ends]),
        support=np.array([[0.0, 1.0], [0.0, 1.0]]),
        class_weight=np.ones((2, 1)),
        consequent=np.ones((2, 1)),
        gain=np.zeros(2),
    )
    fired = tree.fire(x[:, None], gated=False)
    np.testing.assert_array_equal(one.membership(x), fired[:, 1])


@LAW
@given(fuzzy_sets())
def test_membership_is_full_on_the_core_and_nothing_outside_the_support(one):
    a, b, c, d = one.ends
    core = np.array([x for x in (b, c) if np.isfinite(x)])
    np.testing.assert_allclose(one.membership(core), 1.0, rtol=1e-12)
    outside = [np.nextafter(x, outward) for x, outward in ((a, -INF), (d, INF)) if np.isfinite(x)]
    np.testing.assert_array_equal(one.membership(outside), 0.0)


def test_membership_keeps_the_shape_and_missing_values():
    fever = TEMPERATURE["fever"]
    assert fever.membership(38.0) == 0.5
    assert fever.membership([[37.0, 38.0], [39.0, np.nan]]).shape == (2, 2)
    for one in (fever, FuzzySet.crisp("x", 1), FuzzySet.falling("x", 0)):
        assert np.isnan(one.membership(np.nan))
    np.testing.assert_array_equal(fever.membership([-INF, INF]), [0, 1])
    assert TEMPERATURE.membership(np.zeros((3, 4))).shape == (3, 4, 2)


@LAW
@given(fuzzy_sets(), st.lists(numbers, max_size=20))
def test_a_complement_is_one_minus_the_membership(one, values):
    assume(np.isinf(one.ends).any() and max(abs(end) for end in one.ends if np.isfinite(end)) < 1e150)
    x = near(np.array([*one.ends, *values]))
    np.testing.assert_allclose(one.complement().membership(x), 1 - one.membership(x), rtol=0, atol=5e-16)
    assert one.complement().name == f"not {one.name}"
    assert one.complement().complement().name == one.name


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("fever", (2, 1, 3, 4), r"Set 'fever' has a=2.0, b=1.0.*must ascend"),
        ("fever", (1, np.nan, 3, 4), r"Set 'fever': b is NaN"),
        ("fever", (1, "2", 3, 4), r"Set 'fever': b is '2'; it must be a number"),
        ("fever", (True, 2, 3, 4), r"Set 'fever': a is True"),
        ("fever", (1, 2, 3, 10**400), r"Set 'fever': d is 1000.*magnitudes up to 1e\+150"),
        ("fever", (1, 2, 3, 1e151), r"Set 'fever': d is 1e\+151"),
        ("fever", (-INF, 2, 3, 4), "both -inf"),
        ("fever", (1, 2, 3, INF), "both inf"),
        ("fever", (INF, INF, INF, INF), "both -inf"),
        ("fever", (-INF, -INF, -INF, -INF), "both inf"),
        ("fever", (-INF, -INF, INF, INF), "excludes nothing"),
        ("fever", (0, 5e-324, 3, 4), "must be upright"),
        ("", (1, 2, 3, 4), "empty name"),
        ("  ", (1, 2, 3, 4), "empty name"),
        (" fever", (1, 2, 3, 4), "spaces around"),
        ("fe\nver", (1, 2, 3, 4), "cannot be printed"),
        (7, (1, 2, 3, 4), "a name must be text"),
    ],
)
def test_a_set_that_is_none_is_refused_by_name(name, shape, message):
    with pytest.raises(PartitionError, match=f"(?s){message}"):
        FuzzySet(name, *shape)


# ---------------------------------------------------------------------------------------------------------------------
# Linguistic variables
# ---------------------------------------------------------------------------------------------------------------------

LOW, HIGH = FuzzySet.falling("low", 1, 2), FuzzySet.rising("high", 3, 4)


@pytest.mark.parametrize(
    ("sets", "options", "message"),
    [
        ([LOW], {}, "it has 1 sets; a variable has 2 to 7"),
        ([FuzzySet.crisp(str(i), i) for i in range(8)], {}, "it has 8 sets"),
        ([LOW, FuzzySet.rising("LOW", 1, 2)], {}, "two sets are called 'low' and 'LOW'"),
        ([LOW, FuzzySet.rising("low", 1, 2)], {}, "two sets are called 'low' and 'low'"),
        ([FuzzySet.rising("high", 1, 2), LOW], {}, "set 'low' must stand before 'high'.*from 2.*up to 1"),
        ([LOW, FuzzySet.rising("high", 0, 0.5)], {}, "'low' and 'high' are full on the same values"),
        ([FuzzySet.crisp("no", 0), FuzzySet.crisp("none", 0)], {}, "'no' and 'none' are full on the same values"),
        ([LOW, HIGH], {}, "between 2 and 3 belong to no set. Let 'low' and 'high' overlap"),
        ([LOW, FuzzySet.rising("high", 2, 3)], {}, "between 2 and 2 belong to no set"),
        ([LOW, FuzzySet.triangle("mid", 1, 2, 3)], {}, "values above 3, where set 'mid' ends.*Make 'mid' a shoulder"),
        ([FuzzySet.crisp("mid", 0, 3), HIGH], {}, "values below 0, where set 'mid' ends"),
        ([FuzzySet.triangle("mid", 0, 2, 4), HIGH], {"range": (0, 9)}, "values below 0, where set 'mid' ends"),
        ([FuzzySet.crisp("no", 0), FuzzySet.rising("some", 1)], {"range": (0, 9)}, "between 0 and 1 belong to no set"),
        ([LOW, HIGH], {"range": (3, 3)}, "the range goes from 3.0 to 3.0"),
        ([LOW, HIGH], {"range": (3, np.nan)}, "an end of the range is NaN"),
        ([LOW, HIGH], {"range": (3, 4, 5)}, "give its lowest and its highest"),
        ([LOW, HIGH], {"unit": 5}, "the unit is 5"),
        ([LOW, "high"], {}, "'high' is not a FuzzySet"),
    ],
)
def test_an_unusable_variable_is_refused_by_name_with_the_set_that_is_wrong(sets, options, message):
    with pytest.raises(PartitionError, match=f"Variable 'dose': .*{message}"):
        LinguisticVariable("dose", sets, **options)


@pytest.mark.parametrize("name", ["", " ", "a\tb", None, 3])
def test_a_variable_needs_a_name(name):
    with pytest.raises(PartitionError, match="name"):
        LinguisticVariable(name, TEMPERATURE.sets)


def test_a_range_stands_for_the_shoulders():
    sets = (FuzzySet.crisp("none", 0), FuzzySet.trapezoid("some", 0, 1, 5, 9), FuzzySet.crisp("many", 6, 20))
    assert LinguisticVariable("cigarettes", sets, range=(0, 20)).range == (0.0, 20.0)
    assert LinguisticVariable("cigarettes", (*sets[:2], FuzzySet.rising("many", 5, 9)), range=(0, INF))


def test_categories_need_not_cover_the_values_between_them():
    sex = LinguisticVariable("sex", [FuzzySet.crisp("female", 0), FuzzySet.crisp("male", 1)])
    np.testing.assert_array_equal(sex.membership([0, 0.5, 1]), [[1, 0], [0, 0], [0, 1]])


@LAW
@given(variables(), st.lists(st.floats(0, 1), max_size=20))
def test_every_value_of_the_range_belongs_to_some_set(variable, shares):
    assume(not all(one.is_value for one in variable.sets))
    x = near(ends(variable))
    x = np.concatenate([x, [np.quantile(x, share) for share in shares]])
    x = x[(x >= variable.range[0]) & (x <= variable.range[1])]
    assert (variable.membership(x).max(axis=1) > 0).all()


def test_the_complement_exists_for_shoulders_only():
    age = LinguisticVariable(
        "age", [FuzzySet.falling("young", 30, 40), FuzzySet("middle", 30, 40, 50, 60), FuzzySet.rising("old", 50, 60)]
    )
    assert age.complement("old") == FuzzySet.falling("not old", 50, 60)
    assert age.complement("Young") == FuzzySet.rising("not young", 30, 40)
    with pytest.raises(PartitionError, match=r"Variable 'age': 'not middle'.*only the first and the last set"):
        age.complement("middle")
    with pytest.raises(PartitionError, match="there is no set 'ancient'; its sets are young, middle, old"):
        age.complement("ancient")
    yes_no = LinguisticVariable("smoker", [FuzzySet.crisp("no", 0), FuzzySet.crisp("yes", 1)])
    with pytest.raises(PartitionError, match="where they are shoulders"):
        yes_no.complement("yes")


@pytest.mark.parametrize(
    ("sets", "text"),
    [
        (TEMPERATURE.sets, "dose: normal below 37.5..38.0, fever above 37.5..38.5"),
        ((FuzzySet.falling("a", 1), FuzzySet.rising("b", 1)), "dose: a up to 1, b from 1"),
        ((FuzzySet.crisp("a", 1), FuzzySet.crisp("b", 2.5)), "dose: a is 1.0, b is 2.5"),
        (
            (FuzzySet.falling("a", 0, 1), FuzzySet.triangle("b", 0, 1, 2), FuzzySet.rising("c", 1, 2)),
            "dose: a below 0..1, b around 1 (0..2), c above 1..2",
        ),
        (
            (FuzzySet.falling("a", 0, 1 / 3), FuzzySet("b", 0, 1 / 3, 2, 2), FuzzySet.rising("c", 2)),
            "dose: a below 0.000..0.333, b between 0.000..0.333 and 2.000, c from 2.000",
        ),
        (
            (FuzzySet.falling("a", 1.7e9, 1.7e9 + 1e-3), FuzzySet.rising("b", 1.7e9, 1.7e9 + 1e-3)),
            "dose: a below 1700000000.000..1700000000.001, b above 1700000000.000..1700000000.001",
        ),
        ((FuzzySet.falling("a", 1e-20, 2e-20), FuzzySet.rising("b", 1e-20, 2e20)),
         "dose: a below 1e-20..2e-20, b above 1e-20..2e+20"),
    ],
)  # fmt: skip
def test_a_variable_reads_as_a_sentence(sets, text):
    assert str(LinguisticVariable("dose", sets)) == text


def test_the_unit_stands_in_the_sentence():
    assert str(TEMPERATURE) == "temperature (°C): normal below 37.5..38.0, fever above 37.5..38.5"


def test_there_are_different_words_for_two_to_seven_sets():
    assert list(WORDS) == [2, 3, 4, 5, 6, 7]
    for n, words in WORDS.items():
        assert len(set(words)) == len(words) == n
