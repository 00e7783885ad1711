"""ferl's rules as a model of AutoGluon."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from autogluon.core.models import AbstractModel

if TYPE_CHECKING:
    import pandas as pd


class FERLModel(AbstractModel):
    """A short list of fuzzy rules whose weights of evidence add up, with curves and maps on larger tables.

    Defaults are those of the package. Categories and missing values are read as they are. Rules are validated inside
    the training rows: the validation rows that AutoGluon hands over are not used. A fit cannot be ended early, so that
    it ignores the time limit; most fits of 10,000 rows take seconds.

    Paper: Evidential Rule Learning for Interpretable Classification with Abstention
    Package: https://pypi.org/project/ferl/
    License: BSD-3-Clause
    """

    ag_key = "FERL"
    ag_name = "FERL"
    ag_priority = 40
    seed_name = "random_state"
    _supported_problem_types = ["binary", "multiclass"]
    _default_auxiliary_params_extra = {"valid_raw_types": ["int", "float", "category"]}

    _BASE_BYTES = 250_000_000
    _COPIES = 10

    def _fit(self, X: pd.DataFrame, y: pd.Series, num_cpus: int | str = 1, sample_weight: Any = None, **kwargs: Any):
        from ferl import FERLClassifier, IdColumnWarning, TableWarning

        X = self.preprocess(X, y=y, is_train=True)
        n_jobs = num_cpus if isinstance(num_cpus, int) else -1
        with warnings.catch_warnings():
            # Advice on columns is for whoever prepares a table; a benchmark takes it as it comes.
            warnings.simplefilter("ignore", TableWarning)
            warnings.simplefilter("ignore", IdColumnWarning)
            self.model = FERLClassifier(**self._get_model_params(), n_jobs=n_jobs).fit(
                X, y.to_numpy(), sample_weight=sample_weight
            )

    def _more_tags(self) -> dict:
        return {"can_refit_full": True}

    @classmethod
    def _estimate_memory_usage_static(cls, *, X: pd.DataFrame, **kwargs: Any) -> int:
        """Peak of a fit: 7 to 9.3 copies of the table as doubles were measured with 20,000 and 60,000 rows."""
        return cls._BASE_BYTES + cls._COPIES * 8 * X.shape[0] * X.shape[1]

    def _estimate_memory_usage(self, X: pd.DataFrame, **kwargs: Any) -> int:
        return self.estimate_memory_usage_static(
            X=X, problem_type=self.problem_type, num_classes=self.num_classes, **kwargs
        )
