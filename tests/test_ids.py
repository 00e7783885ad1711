"""Columns that name rows are told with the remedy; columns that describe rows are not."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from ferl import FERLClassifier, IdColumnWarning, NoveltyDetector, TableWarning
from ferl._tables.columns import are_ids, are_running_numbers

N = 60
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"x": RNG.normal(size=N), "count": RNG.integers(0, 9, N), "kind": RNG.choice(["a", "b"], N)})
Y = TABLE["x"] > 0


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(N),
        np.arange(N) + 7000.0,
        RNG.permutation(2 * N)[:N],
        [f"customer {k}" for k in range(N)],
        pd.Categorical([f"customer {k}" for k in range(N)]),
        np.where(np.arange(N) == 5, np.nan, np.arange(N)),
    ],
    ids=["running", "from 7000 on", "with gaps", "text", "declared", "one missing"],
)
def test_a_column_of_ids_is_told_with_the_remedy(ids):
    table = TABLE.assign(customer=ids)
    with pytest.warns(
        IdColumnWarning, match=r"Column 'customer' has another value .* X\.drop\(columns=\['customer'\]\)"
    ):
        FERLClassifier(random_state=0).fit(table, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FERLClassifier(random_state=0).fit(table.drop(columns=["customer"]), Y)


def test_the_warning_points_to_the_code_of_the_user_and_names_all_columns():
    table = TABLE.assign(row=np.arange(N), name=[f"c{k}" for k in range(N)])
    for estimator in (FERLClassifier(random_state=0), NoveltyDetector(random_state=0, cv=0.5)):
        with pytest.warns(TableWarning, match="Column 'row' and column 'name' have another value") as caught:
            estimator.fit(table, Y)
        assert {own.filename for own in caught} == {__file__}
    with pytest.warns(IdColumnWarning, match="Column 'row'") as caught:
        cross_val_score(FERLClassifier(random_state=0), table, Y, cv=2)
    assert {own.filename for own in caught} == {__file__}
    assert {own.message.columns for own in caught} == {("row", "name")}
    with pytest.warns(IdColumnWarning, match=r"Feature 1 has another value .* np\.delete\(X, \[1\], axis=1\)"):
        FERLClassifier(random_state=0).fit(np.column_stack([TABLE["x"], np.arange(N)]), Y)


def test_ordinary_columns_are_not_taken_for_ids():
    prices = (100 * np.exp(RNG.normal(5, 1, N))).round()
    days = pd.date_range("2020-01-01", periods=N)
    table = TABLE.assign(price=prices, half=np.arange(N) / 2, day=days, age=RNG.integers(18, 90, N))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FERLClassifier(random_state=0).fit(table, Y)
        FERLClassifier(random_state=0).fit(np.arange(N)[:, None], Y)  # there is nothing else to learn from
        FERLClassifier(random_state=0).fit(TABLE[:15].assign(n=np.arange(15)), Y[:15])  # few rows say little


def test_times_ages_ranks_and_few_whole_numbers_are_not_taken_for_ids():
    named = ["year", "Year", "birthYear", "AGE", "date", "time", "rank", "income_rank", "years", "cage", "stage"]
    assert [name for name in named if are_running_numbers(np.arange(N) + 1960.0, name)] == ["cage", "stage"]
    ages = np.sort(RNG.choice(np.arange(22, 61), 20, replace=False)).astype(float)
    assert not are_running_numbers(ages, "x")
    assert not are_running_numbers(RNG.permutation(80)[:40].astype(float), "millimetres")
    with pytest.warns(IdColumnWarning, match=r"may be ids or names\. .* a time or a rank that matters, keep it"):
        FERLClassifier(random_state=0).fit(TABLE.assign(t=np.arange(N)), np.arange(N) > 30)


def test_a_name_that_says_so_makes_ids_of_distinct_whole_numbers():
    apart = 1000.0 * np.arange(N) ** 2
    assert [are_running_numbers(apart, name) for name in ("customer_id", "orderNo", "income", "paid")] == [
        True,
        False,
        False,
        False,
    ]
    counts = ["number_of_visits", "no_employees", "key_length", "row_width", "index_sp500", "PAID", "BID", "COVID"]
    ids = ["patientId", "patientID", "ID", "id_card", "order number", "row", "PATIENT_ID", "time_id"]
    assert [name for name in counts + ids if are_running_numbers(apart, name)] == ids
    assert are_running_numbers(apart[:20], "customer_id")
    assert are_ids(99, 100)
    assert not are_ids(98, 100)
    assert not are_ids(15, 15)
