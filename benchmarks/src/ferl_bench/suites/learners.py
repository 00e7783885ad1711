"""FERL and its rivals on growing tables: each gets the frame and the same number of threads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method

N_THREADS = 2
"""What every fit may use."""
HOLE = "(missing)"
YARDSTICK = "LightGBM-100"
CASES = "FERL with cases"
MOST_ROWS = {CASES: 100_000}
"""Methods that are not run on more rows. A model keeps 20,000 of them as cases by default."""
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]|$)"


class Columns:
    """Which columns are numbers, dates and text, and which texts the fitting rows have.

    Dates are text that begins like one. Rivals get them as hours since 1970: as categories, those of new days would
    all be unknown.

    Parameters
    ----------
    frame : DataFrame
        The fitting rows.
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        others = [name for name in frame if not pd.api.types.is_numeric_dtype(frame[name])]
        self.dates = [name for name in others if frame[name].dropna().str.match(_DATE).all()]
        self.texts = {name: sorted(frame[name].dropna().unique()) for name in others if name not in self.dates}
        self.numbers = [name for name in frame if name not in self.texts]

    def with_hours(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the frame with hours in place of dates."""
        start, hour = pd.Timestamp(0, tz="UTC"), pd.Timedelta(hours=1)
        return frame.assign(**{name: (pd.to_datetime(frame[name], utc=True) - start) / hour for name in self.dates})

    def categorised(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return hours for dates and pandas categories for text; a text that was not seen in fitting is missing."""
        known = {
            name: pd.Categorical(frame[name].where(frame[name].isin(item)), categories=item)
            for name, item in self.texts.items()
        }
        return self.with_hours(frame).assign(**known)

    def filled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return hours for dates, and text without holes."""
        texts = {name: frame[name].astype(object).where(frame[name].notna(), HOLE) for name in self.texts}
        return self.with_hours(frame).assign(**texts)


class Prepared:
    """A classifier behind the preparation of its rows.

    Parameters
    ----------
    prepare : callable
        Turns a frame into what the classifier takes.
    machine : object
        The classifier.
    frame, y : DataFrame, ndarray
        What it is fitted on.
    """

    def __init__(
        self, prepare: Callable[[pd.DataFrame], Any], machine: Any, frame: pd.DataFrame, y: NDArray[np.int64]
    ) -> None:
        self.prepare = prepare
        self.fitted = machine.fit(prepare(frame), y)
        self.classes_ = self.fitted.classes_

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, n_classes)."""
        return np.asarray(self.fitted.predict_proba(self.prepare(frame)))


def fit_ferl(cases: bool, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit the default, with or without cases, on the frame as it is."""
    from ferl import FERLClassifier

    with warnings.catch_warnings():
        # Advice on columns (dates as text, ids) is for whoever prepares a table; here it stays as it comes.
        warnings.simplefilter("ignore", UserWarning)
        return FERLClassifier(cases=cases, random_state=seed, n_jobs=N_THREADS).fit(frame, y)


def fit_lightgbm(n_trees: int, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with the package's defaults but the number of trees and `min_child_weight`: with 0.001 krkopt diverges.

    It reads categories and missing values.
    """
    options: dict[str, Any] = {"n_jobs": N_THREADS, "random_state": seed, "verbose": -1}
    machine = require("lightgbm").LGBMClassifier(n_estimators=n_trees, min_child_weight=1, **options)
    return Prepared(Columns(frame).categorised, machine, frame, y)


def fit_ebm(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with the package's defaults; it reads categories and missing values."""
    from joblib import parallel_config

    columns = Columns(frame)
    kinds = ["nominal" if name in columns.texts else "continuous" for name in frame]
    machine = require("interpret.glassbox").ExplainableBoostingClassifier(
        feature_types=kinds, n_jobs=N_THREADS, random_state=seed
    )
    # Threads end with the process; processes of joblib would go on after one that was too slow was ended.
    with parallel_config(backend="threading"):
        return Prepared(columns.with_hours, machine, frame, y)


def fit_regression(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit logistic regression on standardised numbers (a hole is the median) and a column of 0 and 1 for each text."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = Columns(frame)
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    encode = make_column_transformer(
        (numbers, columns.numbers), (OneHotEncoder(handle_unknown="ignore"), list(columns.texts))
    )
    machine = make_pipeline(encode, LogisticRegression(max_iter=1000, random_state=seed))
    return Prepared(columns.filled, machine, frame, y)


def ferl_statements(fitted: Any) -> dict[str, float]:
    """Return how many rules, curves and maps people read, and how many cases are kept."""
    return {what: float(getattr(fitted, f"n_{what}_")) for what in ("rules", "curves", "maps", "cases")}


def ebm_statements(fitted: Any) -> dict[str, float]:
    """Return how many curves and maps people read."""
    n_columns = [len(term) for term in fitted.fitted.term_features_]
    return {"curves": float(n_columns.count(1)), "maps": float(n_columns.count(2))}


def _method(name: str, fit: Any, *packages: str, **others: Any) -> Method:
    versions = ("numpy", "pandas", "scikit-learn", *packages)
    return Method(name=name, fit=fit, packages=versions, code=("ferl_bench/suites/learners.py",), **others)


METHODS = (
    _method("FERL", partial(fit_ferl, False), measures=ferl_statements, is_ours=True),
    _method(CASES, partial(fit_ferl, True), measures=ferl_statements, is_ours=True),
    _method(YARDSTICK, partial(fit_lightgbm, 100), "lightgbm", is_interpretable=False),
    _method("LightGBM-400", partial(fit_lightgbm, 400), "lightgbm", is_interpretable=False),
    _method("EBM", fit_ebm, "interpret-core", measures=ebm_statements),
    _method("Logistic regression", fit_regression),
)
"""The methods of the learning curve."""
