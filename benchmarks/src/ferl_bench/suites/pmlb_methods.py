"""The rows of the PMLB page: ferl with its defaults, and rivals with those of their packages."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ferl import FERLClassifier
from ferl_bench.errors import require
from ferl_bench.method import Method
from ferl_bench.methods.ebm_defaults import fit as fit_ebm
from ferl_bench.methods.ferl import size
from ferl_bench.methods.xgboost import Boosted
from ferl_bench.suites import rivals
from ferl_bench.suites.pmlb import NAMES

FOLD_MINUTES, N_FOLDS = 10, 5
SLOW = float(len(NAMES) * N_FOLDS * FOLD_MINUTES)
"""A budget in minutes that no method exceeds: slow methods come last, their smallest tables first."""
_CODE = ("ferl_bench/suites/protocol.py", "ferl_bench/suites/rivals.py", "ferl_bench/suites/pmlb_methods.py")


def fit_cases(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit rules with cases."""
    return FERLClassifier(cases=True, random_state=seed, n_jobs=1).fit(frame, y)


def fit_catboost(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with the package's defaults: 1,000 trees."""
    machine = require("catboost").CatBoostClassifier(
        random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )
    return machine.fit(frame, y)


def fit_lightgbm(frame: pd.DataFrame, y: NDArray[np.int64], seed: int) -> Any:
    """Fit with the package's defaults but `min_child_weight`: with its 0.001 the loss diverges on krkopt."""
    machine = require("lightgbm").LGBMClassifier(min_child_weight=1, n_jobs=1, random_state=seed, verbose=-1)
    return machine.fit(frame, y)


def _more_forest(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return ExtraTreesClassifier(random_state=seed, n_jobs=1)


def _machine(seed: int) -> Any:
    """Return an SVM whose probabilities are made as scikit-learn recommends in place of `SVC(probability=True)`."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    return CalibratedClassifierCV(SVC(random_state=seed), ensemble=False)


def _rival(name: str, fit: Any, *packages: str, code: tuple[str, ...] = (), **others: Any) -> Method:
    versions = ("numpy", "pandas", "scikit-learn", *packages)
    return Method(name, fit, parameters={"suite": "frames"}, packages=versions, code=(*_CODE, *code), **others)


_KNOWN = {method.name: method for method in rivals.METHODS}
_EBM_CODE, _XGBOOST_CODE = ("ferl_bench/methods/ebm_defaults.py",), ("ferl_bench/methods/xgboost.py",)
_BLACK: dict[str, Any] = {"is_interpretable": False}

METHODS = (
    _KNOWN["FERL-wide"],
    _rival("FERL-wide with cases", fit_cases, size=size, is_ours=True),
    _rival("CatBoost", fit_catboost, "catboost", budget_minutes=SLOW, **_BLACK),
    _rival("XGBoost", Boosted, "xgboost", code=_XGBOOST_CODE, **_BLACK),
    _rival("LightGBM", fit_lightgbm, "lightgbm", **_BLACK),
    _KNOWN["Random forest"],
    _rival("Extra trees", partial(rivals.fit_prepared, _more_forest, False), **_BLACK),
    _rival("SVM", partial(rivals.fit_prepared, _machine, True), **_BLACK),
    _KNOWN["Logistic regression"],
    _rival("EBM (defaults)", fit_ebm, "interpret-core", code=_EBM_CODE, budget_minutes=SLOW),
)
"""In the order of the page."""
