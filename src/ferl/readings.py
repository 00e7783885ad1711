"""What a fitted classifier says besides its answers: novelty, certificates, explanations ... One line each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ferl._read.certificate import Certificate, certified_radius, certify
from ferl._read.explanation import Explanation, explain, feature_importances
from ferl._read.novelty import lost_support, novelty, novelty_attribution
from ferl._read.stability import StabilityReport, report_stability
from ferl._sklearn import check_rows
from ferl._tables import add_up_indicators
from ferl._util.arrays import Floats


class Readings:
    """Readings of the tree that :class:`ferl.FERLClassifier` inherits; ``self`` is one, fitted."""

    def support_deficit(self: Any, X: ArrayLike) -> Floats:
        """Routing mass lost at closed gates, by the feature that lost it, shape (n_rows, n_features).

        A split's gate compares a row with the training rows that reached this split. So a value can lie inside the
        feature's overall range and still be unlike anything seen there; and where a gate is closed, features tested
        further down are not asked. A row's sum is one minus the total firing of its rules. (Not for compact trees,
        whose words need not cover everything: there it is the firing that the gates withheld, summed over all nodes.)
        """
        check_is_fitted(self)
        return add_up_indicators(lost_support(self, check_rows(self, X)), self.missing_features_)

    def novelty(self: Any, X: ArrayLike, *, measure: str | None = None) -> Floats:
        """How unlike the training rows each row is, shape (n_rows,); higher is more novel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        measure : {"neighbour", "residual"}, optional
            "neighbour": the distance to the nearest exemplar of the rules the row reaches, as the mean over features of
            the distance in standard deviations inside rules; 0 for a row that is an exemplar of a rule. (The nearest is
            searched in single precision, then measured in double.) "residual": the paper's, the squared distance from
            the middle of those rules in the features they do not test, plus nine times the support deficit (mass lost
            at a gate counts as three standard deviations). None: "neighbour", or "residual"
            for a model that keeps no exemplars.

        Returns
        -------
        ndarray of shape (n_rows,)

        See Also
        --------
        ferl.NoveltyDetector : turns the score into p-values, so that nobody has to guess a threshold.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).fit(X, y)
        >>> flower = [[5.0, 3.4, 1.5, 2.4]]  # a small iris with the petal width of the largest
        >>> clf.novelty(flower).round(2)
        array([2.79])
        >>> clf.novelty_attribution(flower).round(2)
        array([[0.  , 0.08, 0.06, 2.65]])
        """
        return novelty(self, X, measure)

    def novelty_attribution(self: Any, X: ArrayLike, *, measure: str | None = None) -> Floats:
        """What each feature adds to :meth:`novelty`, shape (n_rows, n_features).

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        measure : {"neighbour", "residual"}, optional
            As in :meth:`novelty`.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Not negative; a row's sum is its novelty.
        """
        return novelty_attribution(self, X, measure)

    def certified_radius(self: Any, X: ArrayLike, *, scale: ArrayLike | None = None) -> Floats:
        """Max-norm radius around each row in which :meth:`predict` cannot change, shape (n_rows,).

        Sound, rounding included, for ``combination`` "dempster" and "vote"; the largest such radius may be larger. A
        row without a margin has 0: where nothing fires, say. A tree of one rule has infinity everywhere, and so has
        any row whose label no movement can change.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features)
            Rows.
        scale : array-like of shape (n_features,), optional
            Unit of each feature, in which the radius counts: standard deviations, say, or 0 for a feature that does
            not move. None: 1 for all, the features' own units.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return certified_radius(self, X, scale)

    def certificate(self: Any, x: ArrayLike, *, scale: ArrayLike | None = None) -> Certificate:
        """The certified radius of one row, and which features limit it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), or data frame of one row
            The row.
        scale : array-like of shape (n_features,), optional
            As in :meth:`certified_radius`.

        Returns
        -------
        Certificate
        """
        return certify(self, x, scale)

    @property
    def feature_importances_(self: Any) -> Floats:
        """What the conditions on each feature explain of the training labels, shape (n_features,), with sum one.

        The weighted Gini decrease, as in scikit-learn; see :func:`ferl._read.explanation.feature_importances`.
        """
        return feature_importances(self)

    def explain(
        self: Any, x: Any, *, feature_names: Sequence[str] | None = None, counterfactual: bool = True
    ) -> Explanation:
        """One row's story: rules, evidence, doubt, novelty, and the nearest change that would alter the label.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
            The row; a dict has a value for each feature, None where it is missing.
        feature_names : sequence of str, optional
            Names to print; by default those of the training table.
        counterfactual : bool
            Whether to search for changes of single features that alter the label, most of the work.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(variant="medium", max_rules=3, random_state=0).fit(X, y)
        >>> clf.explain(X[70]).summary
        '2 with belief 0.94, because x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06.'
        """
        return explain(self, x, feature_names=feature_names, counterfactual=counterfactual)

    def stability_report(self: Any, X: ArrayLike | None = None) -> StabilityReport:
        """How fast the answers can change, and what in the tree decides it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_rows, n_features), optional
            Rows over which the largest number of sources is taken. None: all sources, which bounds it for any row.

        Returns
        -------
        StabilityReport
        """
        return report_stability(self, X)
