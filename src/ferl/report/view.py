"""A model with the names that readers of a report see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ferl._models.model import Model
from ferl._tell.statements import Style
from ferl._util.text import number_text, shown_line, shown_names

MAX_CATEGORY_LETTERS = 30


@dataclass(frozen=True)
class View:
    """A model with the names that readers see.

    Attributes
    ----------
    model : Model
        The model.
    features : list of str
        Names of the features.
    classes : list of str
        Names of the classes.
    style : Style
        Puts rules into words, with a model whose categories are called as readers see them.
    categories : dict of int to list of str
        Names of categories, by column.
    target : str or None
        Name of what is predicted; None: the model does not know it.
    """

    model: Model
    features: list[str]
    classes: list[str]
    style: Style
    categories: dict[int, Sequence[Any]]
    target: str | None = None

    @classmethod
    def of(cls, model: Model) -> View:
        """The view of a model."""
        features = shown_names(model.feature_names())
        classes = shown_names(model.labels)
        columns = features + [features[j] for j in model.missing_features]
        categories: dict[int, Sequence[Any]] = {
            j: shown_names(own, MAX_CATEGORY_LETTERS) for j, own in model.category_names.items()
        }
        style = Style(_with_names(model, features, categories), columns, classes, all_classes=False)
        target = shown_line(model.schema.target.name, 60) or None
        return cls(model, features, classes, style, categories, target)


def _with_names(model: Model, features: list[str], categories: dict[int, Sequence[Any]]) -> Model:
    """The same model with names of features and categories as readers see them."""
    own = [
        None if known is None else np.array(categories.get(j, ()), dtype=object)
        for j, known in enumerate(model.schema.categories)
    ]
    # Names have their units already, and categories their meanings.
    kinds = tuple(
        replace(kind, label="", unit="", values=kind.values if own[j] is None else {})
        for j, kind in enumerate(model.schema.kinds)
    )
    return replace(model, schema=replace(model.schema, names=tuple(features), categories=tuple(own), kinds=kinds))


def row_value(view: View, feature: int, value: float) -> str:
    """A value of a row, in words."""
    if math.isnan(value):
        return "missing"
    if view.model.schema.categories[feature] is None:
        return number_text(view.model.number(feature, value))
    names = view.categories.get(feature, ())
    return str(names[int(value)]) if value < len(names) else "not in training"
