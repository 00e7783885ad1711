"""Tables that people know, for the tests of sentences: real ones of scikit-learn, and others made to look like them.

The made ones have the columns, kinds, ranges and missing values of the tables whose names they bear, and labels that
depend on them in the same direction; their rows are drawn at random, always the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_wine

Random = np.random.Generator


class RealTable(NamedTuple):
    """A table and its labels, and what people say of both."""

    frame: pd.DataFrame
    y: NDArray[Any]
    describe: dict[str, Any] | None = None


def _chance(rng: Random, log_odds: Any, yes: str = "yes", no: str = "no") -> NDArray[Any]:
    return np.where(rng.random(len(log_odds)) < 1 / (1 + np.exp(-np.asarray(log_odds))), yes, no)


def _with_gaps(rng: Random, frame: pd.DataFrame, shares: dict[str, float]) -> pd.DataFrame:
    """The frame with some values missing; by column, the share of them."""
    gaps = {name: frame[name].mask(rng.random(len(frame)) < share) for name, share in shares.items()}
    return pd.DataFrame({name: gaps.get(name, frame[name]) for name in frame.columns})


def titanic() -> RealTable:
    """Passengers: class, sex, age with gaps, a skewed fare with four decimals."""
    rng, n = np.random.default_rng(1), 700
    pclass = rng.choice([1, 2, 3], n, p=[0.24, 0.21, 0.55])
    sex = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    age = np.round(rng.gamma(5.0, 6.0, n).clip(0.42, 80.0), 1)
    fare = np.round(np.exp(rng.normal(3.9 - 0.6 * pclass, 0.7, n)).clip(0.0, 512.3292), 4) + 4.0125
    frame = pd.DataFrame(
        {
            "pclass": pclass,
            "sex": sex,
            "age": age,
            "sibsp": rng.choice([0, 1, 2, 3, 8], n, p=[0.68, 0.23, 0.05, 0.03, 0.01]),
            "fare": fare,
            "embarked": rng.choice(["S", "C", "Q"], n, p=[0.7, 0.2, 0.1]),
        }
    )
    odds = 2.6 * (sex == "female") - 0.9 * (pclass - 2) - 0.03 * (age - 30) - 1.2
    return RealTable(_with_gaps(rng, frame, {"age": 0.2, "embarked": 0.01}), _chance(rng, odds, "survived", "died"))


def pbc() -> RealTable:
    """Patients: laboratory values on long scales, many missing, three outcomes of which one is rare."""
    rng, n = np.random.default_rng(2), 420
    bilirubin = np.round(np.exp(rng.normal(0.6, 1.0, n)).clip(0.3, 28.0), 1)
    age = np.round(rng.normal(50.7, 10.4, n).clip(26.2779, 78.4394), 4)
    frame = pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], n, p=[0.89, 0.11]),
            "ascites": rng.choice([0.0, 1.0], n, p=[0.92, 0.08]),
            "edema": rng.choice([0.0, 0.5, 1.0], n, p=[0.85, 0.1, 0.05]),
            "bili": bilirubin,
            "chol": np.round(np.exp(rng.normal(5.8, 0.45, n)).clip(120, 1775)),
            "albumin": np.round(rng.normal(3.5, 0.42, n).clip(1.96, 4.64), 2),
            "copper": np.round(np.exp(rng.normal(4.3, 0.8, n)).clip(4, 588)),
            "platelet": np.round(rng.normal(257, 98, n).clip(62, 721)),
            "protime": np.round(rng.gamma(100, 0.107, n).clip(9.0, 18.0), 1),
            "stage": rng.choice([1.0, 2.0, 3.0, 4.0], n, p=[0.05, 0.22, 0.38, 0.35]),
        }
    )
    score = 1.1 * np.log(bilirubin) + 0.04 * (age - 50) - 0.9 * (frame["albumin"] - 3.5) + 0.5 * (frame["stage"] - 3)
    score = score.to_numpy() + rng.logistic(size=n)
    y = np.where(score > np.quantile(score, 0.61), "dead", "censored").astype(object)
    y[rng.random(n) < 0.08 * (age < 52)] = "transplant"
    gaps = {"ascites": 0.25, "chol": 0.32, "copper": 0.26, "platelet": 0.03, "stage": 0.01}
    return RealTable(_with_gaps(rng, frame, gaps), y.astype(str))


def hdma() -> RealTable:
    """Loans: 12 % are denied, nearly all of the few whose insurance was refused; ratios say a little."""
    rng, n = np.random.default_rng(3), 1000
    frame = pd.DataFrame(
        {
            "dir": np.round(rng.normal(0.33, 0.11, n).clip(0.0, 3.0), 3),
            "hir": np.round(rng.normal(0.26, 0.1, n).clip(0.0, 3.0), 3),
            "lvr": np.round(rng.normal(0.74, 0.18, n).clip(0.02, 1.95), 6),
            "ccs": rng.choice(6, n, p=[0.56, 0.18, 0.06, 0.03, 0.08, 0.09]) + 1.0,
            "mcs": rng.choice(4, n, p=[0.31, 0.6, 0.05, 0.04]) + 1.0,
            "pbcr": rng.choice(["no", "yes"], n, p=[0.93, 0.07]),
            "dmi": rng.choice(["no", "yes"], n, p=[0.98, 0.02]),
            "self": rng.choice(["no", "yes"], n, p=[0.88, 0.12]),
            "single": rng.choice(["no", "yes"], n, p=[0.6, 0.4]),
            "uria": rng.choice([1.8, 2.0, 3.1, 3.2, 3.6, 3.9, 4.3, 5.3, 10.6], n),
            "black": rng.choice(["no", "yes"], n, p=[0.86, 0.14]),
        }
    )
    score = 6.0 * (frame["dir"] - 0.33) + 2.0 * (frame["lvr"] - 0.74) + 0.35 * (frame["ccs"] - 2.1)
    score += 5.0 * (frame["dmi"] == "yes") + 1.6 * (frame["pbcr"] == "yes") + 0.6 * (frame["black"] == "yes")
    score = score.to_numpy() + rng.logistic(size=n)
    y = np.where(score > np.quantile(score, 0.88), "yes", "no")
    return RealTable(_with_gaps(rng, frame, {"pbcr": 0.001, "self": 0.001}), y)


def chile() -> RealTable:
    """Voters: four answers of very different frequency, a code for the region, income in seven steps, gaps."""
    rng, n = np.random.default_rng(4), 700
    statusquo = np.round(rng.normal(0, 1, n).clip(-1.80301, 2.04859), 5)
    frame = pd.DataFrame(
        {
            "region": rng.choice(["C", "M", "N", "S", "SA"], n, p=[0.22, 0.04, 0.12, 0.27, 0.35]),
            "population": rng.choice([3750, 8625, 15000, 22000, 37500, 62500, 120000, 175000, 250000], n),
            "sex": rng.choice(["F", "M"], n),
            "age": rng.integers(18, 71, n),
            "education": rng.choice(["P", "PS", "S"], n, p=[0.41, 0.17, 0.42]),
            "income": rng.choice([2500, 7500, 15000, 35000, 75000, 125000, 200000], n),
            "statusquo": statusquo,
        }
    )
    chance = np.exp(
        np.column_stack([-1.1 + 0 * statusquo, 0.9 - 1.6 * statusquo, 0 * statusquo, 0.8 + 1.6 * statusquo])
    )
    cumulated = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)
    y = np.array(["A", "N", "U", "Y"])[(rng.random(n)[:, None] > cumulated).sum(axis=1).clip(0, 3)]
    return RealTable(_with_gaps(rng, frame, {"income": 0.04, "statusquo": 0.01, "age": 0.002}), y)


def penguins() -> RealTable:
    """Three kinds, well apart; lengths in millimetres, mass in grams, a few gaps."""
    rng, n = np.random.default_rng(5), 340
    kind = rng.choice(["Adelie", "Chinstrap", "Gentoo"], n, p=[0.44, 0.2, 0.36])
    middle = {
        "Adelie": (38.8, 18.3, 190, 3700),
        "Chinstrap": (48.8, 18.4, 196, 3730),
        "Gentoo": (47.5, 15.0, 217, 5080),
    }
    values = np.array([middle[item] for item in kind]) + rng.normal(size=(n, 4)) * (2.9, 1.1, 6.5, 430)
    islands = {"Adelie": ["Torgersen", "Biscoe", "Dream"], "Chinstrap": ["Dream"], "Gentoo": ["Biscoe"]}
    frame = pd.DataFrame(
        {
            "island": [rng.choice(islands[item]) for item in kind],
            "bill_length_mm": values[:, 0].round(1),
            "bill_depth_mm": values[:, 1].round(1),
            "flipper_length_mm": values[:, 2].round(0),
            "body_mass_g": (values[:, 3] / 25).round() * 25,
            "sex": rng.choice(["female", "male"], n),
        }
    )
    return RealTable(_with_gaps(rng, frame, {"sex": 0.03, "bill_depth_mm": 0.01}), kind)


def pima() -> RealTable:
    """Women, diabetic or not: whole numbers, a skewed pedigree with three decimals, gaps in insulin."""
    rng, n = np.random.default_rng(6), 700
    glucose, age = rng.normal(121, 30, n).clip(44, 199).round(), (21 + rng.gamma(1.2, 10, n)).clip(21, 81).round()
    frame = pd.DataFrame(
        {
            "pregnant": rng.poisson(3.8, n).clip(0, 17),
            "glucose": glucose,
            "pressure": rng.normal(72, 12, n).clip(24, 122).round(),
            "insulin": np.exp(rng.normal(4.8, 0.7, n)).clip(14, 846).round(),
            "mass": rng.normal(32.4, 6.9, n).clip(18.2, 67.1).round(1),
            "pedigree": np.exp(rng.normal(-0.95, 0.6, n)).clip(0.078, 2.42).round(3),
            "age": age,
        }
    )
    odds = 0.038 * (glucose - 121) + 0.09 * (frame["mass"] - 32) + 0.03 * (age - 33) - 0.9
    return RealTable(_with_gaps(rng, frame, {"insulin": 0.48, "pressure": 0.05}), _chance(rng, odds, "pos", "neg"))


def diamonds() -> RealTable:
    """Diamonds: prices in dollars, ordered grades; is the cut ideal?"""
    rng, n = np.random.default_rng(7), 600
    carat = np.exp(rng.normal(-0.4, 0.58, n)).clip(0.2, 5.01).round(2)
    cut = rng.choice(["Fair", "Good", "Very Good", "Premium", "Ideal"], n, p=[0.03, 0.09, 0.22, 0.26, 0.4])
    fine = np.array([{"Fair": 2.0, "Good": 1.4, "Very Good": 1.0, "Premium": 0.9, "Ideal": 0.6}[item] for item in cut])
    grades = pd.CategoricalDtype(["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"], ordered=True)
    frame = pd.DataFrame(
        {
            "carat": carat,
            "color": rng.choice(list("DEFGHIJ"), n),
            "clarity": pd.Series(rng.choice(grades.categories, n)).astype(grades),
            "depth": rng.normal(61.8, 1.0 * fine, n).round(1),
            "table": (rng.normal(57.4, 1.2, n) + fine).round(),
            "price": (4100 * carat**1.7 * np.exp(rng.normal(0, 0.25, n))).clip(326, 18823).round(),
            "x": (6.5 * carat ** (1 / 3)).round(2),
        }
    )
    return RealTable(frame, np.where(cut == "Ideal", "ideal", "other"))


def wine() -> RealTable:
    """Real: three wines, thirteen numbers."""
    data = load_wine(as_frame=True)
    return RealTable(data.data, np.asarray(data.target_names)[data.target])


def diabetes() -> RealTable:
    """Real: patients, whose disease progresses fast or not; ages in years, 1 and 2 for the sexes."""
    data = load_diabetes(as_frame=True, scaled=False)
    return RealTable(data.data, np.where(data.target > data.target.median(), "fast", "slow"))


def bank() -> RealTable:
    """Customers of a bank, described: dates, ordered grades, 0 and 1 that mean something, units, gaps."""
    rng, n = np.random.default_rng(8), 600
    grades = pd.CategoricalDtype(["poor", "fair", "good", "excellent"], ordered=True)
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(8.1, 0.45, n)).round(2),
            "customer_since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D"),
            "rating": pd.Series(rng.choice(grades.categories, n, p=[0.1, 0.3, 0.4, 0.2])).astype(grades),
            "debt_ratio": rng.beta(2, 5, n).round(3),
            "late_payments": rng.poisson(0.6, n),
            "owns_home": rng.choice([0, 1], n, p=[0.6, 0.4]),
            "purpose": rng.choice(["car", "home", "holiday"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    odds = 5 * frame["debt_ratio"] + 1.2 * frame["late_payments"] - 0.7 * frame["rating"].cat.codes - 2.6
    y = np.where(_chance(rng, odds - 1.0 * frame["owns_home"]) == "yes", 1, 0)
    words = {
        "target": {"name": "default", "values": {"0": "repaid", "1": "defaulted"}},
        "columns": {
            "income": {"label": "monthly income", "unit": "EUR"},
            "customer_since": {"label": "customer since"},
            "debt_ratio": {"label": "debt ratio"},
            "late_payments": {"label": "late payments"},
            "owns_home": {"label": "owns a home", "values": {"0": "no", "1": "yes"}},
        },
    }
    return RealTable(_with_gaps(rng, frame, {"income": 0.1, "purpose": 0.03}), y, words)


TABLES: dict[str, Callable[[], RealTable]] = {
    item.__name__: item for item in (titanic, pbc, hdma, chile, penguins, pima, diamonds, wine, diabetes)
}


@lru_cache
def real_table(name: str) -> RealTable:
    """One of the tables, made once."""
    return bank() if name == "bank" else TABLES[name]()


def rows_to_judge(table: RealTable, seed: int, n: int) -> pd.DataFrame:
    """Rows of a table, some with numbers moved by up to half a range, with other categories, with values missing."""
    rng = np.random.default_rng(seed)
    rows = table.frame.iloc[rng.integers(len(table.frame), size=n)].reset_index(drop=True)
    for name in rows.columns:
        if pd.api.types.is_numeric_dtype(rows[name]):
            known = table.frame[name].dropna()
            step = rng.choice([0.0, 0.05, 0.5], size=n, p=[0.6, 0.3, 0.1]) * rng.uniform(-1, 1, size=n)
            rows[name] = rows[name] + step * float(known.max() - known.min())
        elif rows[name].dtype.kind != "M" and not isinstance(rows[name].dtype, pd.CategoricalDtype):
            rows[name] = rows[name].mask(rng.random(n) < 0.02, "never seen")
    return rows.mask(rng.random(rows.shape) < 0.05)
