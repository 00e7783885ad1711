"""Feature importance: what the conditions on each feature explain of the training labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ferl.frames import add_up_indicators
from ferl.tree import FuzzyTree

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier

Floats = NDArray[np.float64]


def feature_importances(estimator: FERLClassifier) -> Floats:
    """Weighted Gini decrease of each feature's conditions, as shares of one, shape (n_features,).

    Every condition divides the training weight of the node above it into what fits and what does not. Its decrease is
    the Gini impurity times weight above, less those of the two parts. The two sides of a learned split say the same, so
    the shares are those of scikit-learn; a word of a compact tree counts by itself. A condition on a value being
    missing counts for its feature.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.

    Returns
    -------
    ndarray of shape (n_features,)
        Not negative, with sum one; all zero for a tree without conditions, or of conditions that explain nothing.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y).feature_importances_.round(2)
    array([0.  , 0.  , 0.56, 0.44])
    """
    check_is_fitted(estimator)
    tree = estimator.tree_
    n_columns = estimator.n_features_in_ + len(estimator.missing_features_)
    by_column = np.zeros((1, n_columns))
    np.add.at(by_column[0], tree.feature[1:], condition_decrease(tree)[1:])
    decrease = add_up_indicators(by_column, estimator.missing_features_)[0]
    total = decrease.sum()
    return np.asarray(decrease / total if total > 0 else np.zeros(len(decrease)))


def condition_decrease(tree: FuzzyTree) -> Floats:
    """Decrease of impurity times weight by each node's own condition, shape (n_nodes,); 0 at the root."""
    above = tree.class_weight[np.maximum(tree.parent, 0)]
    rest = np.maximum(above - tree.class_weight, 0.0)
    decrease = _impurity(above) - _impurity(tree.class_weight) - _impurity(rest)
    decrease[0] = 0.0
    return np.maximum(decrease, 0.0)


def _impurity(class_weight: Floats) -> Floats:
    """Gini impurity times weight."""
    weight = class_weight.sum(axis=1)
    squares = (class_weight**2).sum(axis=1)
    return np.asarray(weight - np.divide(squares, weight, out=np.zeros(len(weight)), where=weight > 0))
