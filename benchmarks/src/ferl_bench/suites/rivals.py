"""FERL-wide and its rivals on tables as they are: each reads categories and missing values itself, or prepares them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.methods.ferl import size

N_TREES = 100
N_BAGS, N_PAIRS = 4, 10  # as in the row EBM of the frontier
HOLE = "(missing)"
_CODE = ("ferl_bench/suites/protocol.py", "ferl_bench/suites/rivals.py")


def fit_ferl(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit the default, FERL-wide, on the frame as it is."""
    from ferl import FERLClassifier

    return FERLClassifier(random_state=seed, n_jobs=1).fit(frame, y)


def ferl_sets(fitted: Any, frame: Any) -> NDArray[np.bool_]:
    """Return the sets of the evidence itself."""
    return np.asarray(fitted.predict_set(frame))


class Categorised:
    """LightGBM on pandas categories; a category that the fitting rows lack is missing."""

    def __init__(self, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> None:
        texts = [name for name in frame.columns if name.startswith("c")]
        self.categories = {name: sorted(set(frame[name].dropna())) for name in texts}
        machine = require("lightgbm").LGBMClassifier(n_estimators=N_TREES, n_jobs=1, random_state=seed, verbose=-1)
        self.fitted = machine.fit(self._prepared(frame), y)
        self.classes_ = self.fitted.classes_

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, n_classes)."""
        return np.asarray(self.fitted.predict_proba(self._prepared(frame)))

    def _prepared(self, frame: pd.DataFrame) -> pd.DataFrame:
        known = {name: pd.Categorical(frame[name], categories=own) for name, own in self.categories.items()}
        return frame.assign(**known)


def fit_lightgbm(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with the package's defaults; it reads categories and missing values."""
    return Categorised(frame, y, seed)


class Nominal:
    """EBM with its categories declared: without that it reads text of digits as numbers."""

    def __init__(self, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> None:
        kinds = ["nominal" if name.startswith("c") else "continuous" for name in frame.columns]
        machine = require("interpret.glassbox").ExplainableBoostingClassifier(
            feature_types=kinds,
            outer_bags=N_BAGS,
            interactions=N_PAIRS if len(np.unique(y)) == 2 else 0,
            n_jobs=1,
            random_state=seed,
        )
        self.fitted = machine.fit(frame, y)
        self.classes_ = self.fitted.classes_

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """Return probabilities; shape (n_rows, n_classes)."""
        return np.asarray(self.fitted.predict_proba(frame))


def fit_ebm(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with four bags, and ten pairs for two classes; it reads categories and missing values."""
    return Nominal(frame, y, seed)


def fit_prepared(make: Callable[[int], Any], scale: bool, frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit a classifier of scikit-learn behind medians for missing numbers and a column of 0 and 1 for each category.

    A missing category is one more category.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    texts = [name for name in frame.columns if name.startswith("c")]
    numbers = [name for name in frame.columns if name.startswith("x")]
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    name_holes = SimpleImputer(missing_values=None, strategy="constant", fill_value=HOLE)
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    prepare = make_column_transformer(
        (make_pipeline(fill, StandardScaler()) if scale else fill, numbers),
        (make_pipeline(name_holes, encode), texts),
    )
    return make_pipeline(prepare, make(seed)).fit(frame, y)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(N_TREES, random_state=seed, n_jobs=1)


def _tree(seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=seed)


def _regression(seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000, random_state=seed)


def _rival(name: str, fit: Any, *packages: str, is_interpretable: bool = True) -> Method:
    return Method(
        name=name,
        fit=fit,
        parameters={"suite": "frames"},
        packages=("numpy", "pandas", "scikit-learn", *packages),
        code=_CODE,
        is_interpretable=is_interpretable,
    )


METHODS = (
    Method(
        name="FERL-wide",
        fit=fit_ferl,
        size=size,
        prediction_set=ferl_sets,
        parameters={"suite": "frames"},
        packages=("numpy", "pandas", "scikit-learn"),
        code=_CODE,
        is_ours=True,
    ),
    _rival("EBM", fit_ebm, "interpret-core"),
    _rival("LightGBM", fit_lightgbm, "lightgbm", is_interpretable=False),
    _rival("Random forest", partial(fit_prepared, _forest, False), is_interpretable=False),
    _rival("CART", partial(fit_prepared, _tree, False)),
    _rival("Logistic regression", partial(fit_prepared, _regression, True)),
)
