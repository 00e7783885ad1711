"""Mixed tables, real and generated, and what can be done with them: as they are, or one-hot encoded and filled in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl_bench.data import DataSet
from ferl_bench.methods.ferl import fit

Fit = Callable[["MixedTable", int], Any]


@dataclass(frozen=True)
class MixedTable:
    """Numbers and categories side by side; NaN and None where a value is missing.

    Attributes
    ----------
    numeric : ndarray of shape (n_rows, n_numeric)
        Numbers.
    categorical : ndarray of object of shape (n_rows, n_categorical)
        Text.
    y : ndarray of shape (n_rows,)
        Labels.
    """

    numeric: Floats
    categorical: NDArray[np.object_]
    y: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> MixedTable:
        """Some of the rows."""
        return MixedTable(self.numeric[rows], self.categorical[rows], self.y[rows])

    def frame(self) -> Any:
        """As an Arrow table, which every data frame library can become."""
        import pyarrow as pa

        numbers = {f"x{j}": pa.array(column) for j, column in enumerate(self.numeric.T)}
        return pa.table(numbers | {f"c{j}": pa.array(column.tolist()) for j, column in enumerate(self.categorical.T)})


def of_data_set(data: DataSet) -> MixedTable:
    """A data set of the benchmark."""
    return MixedTable(data.numeric, data.categorical, data.y)


def with_holes(table: MixedTable, share: float, seed: int) -> MixedTable:
    """The table with this share of its values missing, completely at random."""
    rng = np.random.default_rng(seed)
    numeric, categorical = table.numeric.copy(), table.categorical.copy()
    numeric[rng.random(numeric.shape) < share] = np.nan
    categorical[rng.random(categorical.shape) < share] = None
    return MixedTable(numeric, categorical, table.y)


def generate(n_rows: int, n_categories: tuple[int, ...], n_numeric: int, seed: int) -> MixedTable:
    """Rows whose class depends on three numbers, on three categorical features, and on how one of each go together."""
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(n_rows, n_numeric))
    codes = np.column_stack([rng.integers(0, levels, n_rows) for levels in n_categories])
    effect = [np.random.default_rng([7, j]).normal(size=levels) for j, levels in enumerate(n_categories)]
    score = numeric[:, 0] + 0.7 * numeric[:, 1] * (effect[0][codes[:, 0]] > 0) - 0.5 * np.abs(numeric[:, 2])
    score += sum(effect[j][codes[:, j]] for j in range(min(3, len(n_categories))))
    y = (score + 0.5 * rng.normal(size=n_rows) > 0).astype(np.int64)
    names = [[f"level {code}" for code in range(levels)] for levels in n_categories]
    categorical = np.empty(codes.shape, dtype=object)
    for j, name in enumerate(names):
        categorical[:, j] = np.array(name, dtype=object)[codes[:, j]]
    return MixedTable(numeric, categorical, y)


def native(parameters: Mapping[str, Any], table: MixedTable, seed: int) -> Any:
    """FERL with these parameters on the table as it is."""
    return fit(parameters, table.frame(), table.y, seed)


def prepared(make: Callable[[int], Any], table: MixedTable, seed: int) -> Any:
    """Any classifier behind one-hot encoding, and medians for missing numbers."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    n_numeric = table.numeric.shape[1]
    places = np.arange(n_numeric + table.categorical.shape[1])
    prepare = make_column_transformer(
        (SimpleImputer(strategy="median", keep_empty_features=True), places[:n_numeric]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), places[n_numeric:]),
    )
    return make_pipeline(prepare, make(seed)).fit(as_objects(table), table.y)


def as_objects(table: MixedTable) -> NDArray[np.object_]:
    """One array of objects, as scikit-learn's column transformers take it."""
    return np.hstack([table.numeric.astype(object), table.categorical])


def boosted(table: MixedTable, seed: int) -> Any:
    """scikit-learn's gradient boosting, with its own handling of categories and missing values."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    n_numeric, n_categorical = table.numeric.shape[1], table.categorical.shape[1]
    places = np.arange(n_numeric + n_categorical)
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=254)
    prepare = make_column_transformer(("passthrough", places[:n_numeric]), (encode, places[n_numeric:]))
    model = HistGradientBoostingClassifier(
        categorical_features=np.arange(n_numeric, n_numeric + n_categorical), random_state=seed
    )
    return make_pipeline(prepare, model).fit(as_objects(table), table.y)
