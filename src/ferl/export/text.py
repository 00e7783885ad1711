"""Splits: how sure the resamples are of each learned threshold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ferl._model.tree import Cuts
from ferl._read.rules import checked_names, data_frame

if TYPE_CHECKING:
    from ferl.classifier import FERLClassifier


def splits_frame(
    estimator: FERLClassifier, *, feature_names: Sequence[str] | None = None, backend: str | None = None
) -> Any:
    """Learned splits of a fitted classifier as a data frame, heaviest first.

    A split's cut was found again in every bootstrap resample. The frame says between which values the best cut lies and
    how many resamples agree with the band that was learned from them. Bootstrap intervals of a threshold are
    approximate; ``docs/cuts.md`` has their measured coverage.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted, deep or medium. The words of a compact tree are not learned: its frame is empty.
    feature_names : sequence of str, optional
        Names to print; by default those of the training table.
    backend : {"pandas", "polars", "pyarrow"}, optional
        Whose data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Schema: ``feature``; ``threshold`` and ``half_width`` of the band; ``low`` and ``high``, between which the best
        cut lies with about 90 % confidence; ``share`` of the resamples whose cut lies inside the band; ``support``
        (training weight that reached the split); ``gain`` (Gini decrease times weight); ``node`` (its number in
        ``tree_``).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier, splits_frame
    >>> iris = load_iris()
    >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(iris.data, iris.target)
    >>> splits_frame(clf)[["feature", "threshold", "half_width", "low", "high", "share"]].round(2)
      feature  threshold  half_width  low  high  share
    0      x2       2.46        0.09  1.9   3.0   0.52
    1      x3       1.68        0.06  1.5   1.8   0.56
    """
    names, _ = checked_names(estimator, "splits_frame", feature_names, None)
    tree = estimator.tree_
    cuts = tree.cuts or Cuts(np.full((tree.n_nodes, 2), np.nan), np.full(tree.n_nodes, np.nan))
    splits = np.flatnonzero(~np.isnan(cuts.share))  # a split of categories has no threshold
    splits = splits[np.argsort(-tree.weight[splits], kind="stable")]
    low, high = tree.trapezoid[splits + 1, 2], tree.trapezoid[splits + 1, 3]  # a split's left side comes right after it
    columns = {
        "feature": [names[j] for j in tree.feature[splits + 1]],
        "threshold": ((low + high) / 2).tolist(),
        "half_width": ((high - low) / 2).tolist(),
        "low": cuts.interval[splits, 0].tolist(),
        "high": cuts.interval[splits, 1].tolist(),
        "share": cuts.share[splits].tolist(),
        "support": tree.weight[splits].tolist(),
        "gain": tree.gain[splits].tolist(),
        "node": splits.tolist(),
    }
    return data_frame(columns, backend)
