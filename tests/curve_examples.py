"""Classifiers whose model has curves and maps of any shape, for the tests of all that reads them."""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from ferl import FERLClassifier
from ferl._models.terms import CurvesAndMaps
from ferl._sklearn import check_rows


def with_curves(clf: FERLClassifier, X, n_curves: int, n_maps: int, seed: int = 0) -> FERLClassifier:
    """The same classifier with random curves and maps, cut at values of the rows, those of categories included."""
    rng, model = np.random.default_rng(seed), clf.model_
    rows = check_rows(clf, X)
    n_categories = model.tree.n_categories(rows.shape[1])
    n_columns = clf.n_features_in_
    columns = [[int(rng.integers(n_columns)), -1] for _ in range(n_curves)]
    columns += [rng.choice(n_columns, 2, replace=False).tolist() for _ in range(n_maps)]
    cuts, sizes, values = [], [], []
    for pair in columns:
        n_cells = 1
        unseen = []
        for column in pair:
            chosen_cuts = np.zeros(0)
            if column >= 0 and not n_categories[column]:
                known = np.unique(rows[~np.isnan(rows[:, column]), column])
                chosen_cuts = np.sort(rng.choice(known, min(len(known), int(rng.integers(0, 7))), replace=False))
            cuts.append(chosen_cuts)
            if column >= 0:
                unseen.append(int(n_categories[column] or len(chosen_cuts)) + 2)
                n_cells *= unseen[-1]
        value = rng.normal(0, 0.5, (n_cells, len(clf.classes_)))
        value -= value.mean(axis=1, keepdims=True)
        table = value.reshape(*unseen, -1)
        for axis, column in enumerate(item for item in pair if item >= 0):
            if n_categories[column]:
                np.moveaxis(table, axis, 0)[-1] = 0.0
        sizes.append(n_cells)
        values.append(value)
    curves = CurvesAndMaps(
        np.array(columns, dtype=np.int32),
        np.cumsum([0, *map(len, cuts)], dtype=np.int32),
        np.concatenate(cuts),
        np.cumsum([0, *sizes], dtype=np.int32),
        np.concatenate(values),
        np.zeros(sum(sizes)),
        n_categories,
    )
    support = sum(np.bincount(item, minlength=sum(sizes)) for item in curves.cells_of(rows).T)
    result = copy(clf)
    result.model_ = replace(model, curves=replace(curves, support=support.astype(float)))
    return result
