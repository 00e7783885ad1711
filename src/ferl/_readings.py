"""What a fitted classifier answers: one line for each reading of its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from ferl._fitted import FittedModel
from ferl._model.model import Model, RuleWeights
from ferl._model.settings import is_wide as settings_are_wide
from ferl._read.certificate import Certificate, certified_radius, certify
from ferl._read.decision import check_decision, decide
from ferl._read.evidence import (
    Evidence,
    contributions,
    decision_scores,
    feature_contributions,
    read_evidence,
    read_probabilities,
)
from ferl._read.explanation import Explanation, WhatIf, explain, feature_importances, what_if
from ferl._read.novelty import lost_support, novelty, novelty_attribution, novelty_rank
from ferl._read.predictor import Predictor
from ferl._read.stability import StabilityReport, WideStabilityReport, report_stability
from ferl._tables import add_up_indicators
from ferl._util.arrays import Floats
from ferl._util.threads import n_threads


def is_wide(readings: Any) -> bool:
    """Whether a classifier, fitted or not, is one of wide rules."""
    model = readings.__dict__.get("model_")
    if not (settings_are_wide(readings.variant, readings.criterion) if model is None else model.weights is not None):
        raise AttributeError("Only wide rules, of wide and compact models, have weights that add up to scores.")
    return True


class Readings(FittedModel):
    """Answers of a fitted model, which :class:`ferl.FERLClassifier` inherits."""

    def __call__(self, X: ArrayLike) -> Floats:
        """As :meth:`predict_proba`, for libraries that explain functions: ``shap.Explainer(clf, X)``."""
        return self.predict_proba(X)

    def predict(self, X: ArrayLike, *, decision: str = "probable") -> NDArray[Any]:
        """Label of each row, shape (n_samples,).

        A label is given even where :meth:`predict_set` abstains: where nothing fires all classes are equal, and it is
        the first one.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        decision : {"probable", "balanced"}, default="probable"
            "probable": the class of the largest :meth:`predict_proba`, the first of equals, which is right most often.
            "balanced": the class whose probability is largest compared with its frequency among the training rows, so
            that a rare class is named where it is likelier than usual; it finds more of the rare rows, and is wrong
            more often. Frequencies are those of the training weights: after ``class_weight="balanced"`` they are
            equal, and both decisions are one.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        One row in twenty is ill, and hardly a row is more probably ill than not:

        >>> import numpy as np
        >>> from sklearn.metrics import balanced_accuracy_score
        >>> from ferl import FERLClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 3))
        >>> y = np.where(X[:, 0] + rng.normal(size=2000) > 2.35, "ill", "well")
        >>> clf = FERLClassifier("wide", random_state=0).fit(X[:1000], y[:1000])
        >>> round(balanced_accuracy_score(y[1000:], clf.predict(X[1000:])), 1)
        0.6
        >>> round(balanced_accuracy_score(y[1000:], clf.predict(X[1000:], decision="balanced")), 1)
        0.8
        """
        if decision == "probable":
            return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])
        check_decision(decision)
        rows = self._rows(X)
        evidence = read_evidence(self.model_, rows, n_threads(self.n_jobs))
        return np.asarray(self.classes_[decide(self.model_, rows, evidence, decision)])

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, shape (n_samples, n_classes).

        Of wide rules: the softmax of the summed weights of evidence. Of trees: the pignistic probability, belief plus
        an equal share of the ignorance, whatever the frequencies, so that on doubtful rows a rare class gets more
        than its frequency. Where frequencies matter (the expected number of defaults, say) use trees by
        ``combination="vote"``, or calibrate with :class:`ferl.calibration.CalibratedFERL`.
        """
        rows = self._rows(X)
        return read_probabilities(self.model_, rows, n_threads(self.n_jobs))

    def predictor(self) -> Predictor:
        """A prepared predictor for services, which ask row by row: a tenth of the time of a data frame of one row.

        Returns
        -------
        Predictor
            With ``predict``, ``predict_proba`` and ``predict_evidence`` of one row, given as a dict or an array.

        Examples
        --------
        >>> import pandas as pd
        >>> from ferl import FERLClassifier
        >>> table = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "job": ["none", "none", "clerk", "clerk"] * 5})
        >>> ask = FERLClassifier(random_state=0).fit(table, ["no", "no", "yes", "yes"] * 5).predictor()
        >>> str(ask.predict({"age": 45, "job": "clerk"}))
        'yes'
        """
        return Predictor(self._fitted())

    def predict_evidence(self, X: ArrayLike) -> Evidence:
        """Belief, plausibility, ignorance and conflict of each row.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        Evidence
        """
        rows = self._rows(X)
        return read_evidence(self.model_, rows, n_threads(self.n_jobs))

    @available_if(is_wide)
    def decision_function(self, X: ArrayLike) -> Floats:
        """Wide only: the summed weights of evidence, whose softmax is :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Of two classes, what speaks for the second less what speaks for the first.
        """
        rows = self._rows(X)
        scores = decision_scores(self.model_, rows, n_threads(self.n_jobs))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @available_if(is_wide)
    def contributions(self, X: ArrayLike) -> Floats:
        """Wide only: what each rule adds to the scores, shape (n_samples, n_rules + 1, n_classes).

        The last entry is the prior's. They sum to the scores, whose softmax is :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        """
        rows = self._rows(X)
        return contributions(self.model_, rows, n_threads(self.n_jobs))

    @available_if(is_wide)
    def feature_contributions(self, X: ArrayLike) -> Floats:
        """Wide only: what each feature adds to the scores, shape (n_samples, n_features + 1, n_classes).

        The last entry is the prior's; a rule of several conditions is shared equally among them.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        """
        rows = self._rows(X)
        return feature_contributions(self.model_, rows, n_threads(self.n_jobs))

    @property
    def evidence_weights_(self) -> Floats:
        """Wide only: weight of evidence of each rule for each class, shape (n_rules, n_classes); rows sum to zero."""
        return self._wide().weight

    @property
    def prior_(self) -> Floats:
        """Wide only: what speaks for each class before any rule fires, shape (n_classes,)."""
        return self._wide().prior

    def _wide(self) -> RuleWeights:
        weights = self._fitted().weights
        if weights is None:
            raise AttributeError(f"A {self._fitted().variant} tree has no weights of evidence; use variant='wide'.")
        return weights

    def predict_set(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Classes in the prediction set, bool of shape (n_samples, n_classes); the whole row is an abstention."""
        return self.predict_evidence(X).prediction_set()

    def support_deficit(self, X: ArrayLike) -> Floats:
        """Routing mass lost at closed gates, by the feature that lost it, shape (n_samples, n_features).

        Of wide rules: the share of all weights of evidence that is withheld, one minus the product of the features'
        gates.

        A split's gate compares a row with the training rows that reached this split. So a value can lie inside the
        feature's overall range and still be unlike anything seen there; and where a gate is closed, features tested
        further down are not asked. A row's sum is one minus the total firing of its rules. (Not for compact trees,
        whose words need not cover everything: there it is the firing that the gates withheld, summed over all nodes.)
        """
        rows = self._rows(X)
        return add_up_indicators(lost_support(self.model_, rows, n_threads(self.n_jobs)), self.missing_features_)

    def novelty(self, X: ArrayLike, *, measure: str | None = None) -> Floats:
        """How unlike the training rows each row is, shape (n_samples,); higher is more novel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        measure : {"neighbour", "residual"}, default=None
            "neighbour": the distance to the nearest exemplar of the rules the row reaches, as the mean over features of
            the distance in standard deviations inside rules; 0 for a row that is an exemplar of a rule. (The nearest is
            searched in single precision, then measured in double.) Of wide rules: the distance to the nearest exemplar,
            with features scaled by the evidence they carry, in units of the usual distance between exemplars, plus half
            the entropy of the probabilities. "residual": the paper's, the squared distance from the middle of those
            rules in the features they do not test, plus nine times the support deficit (mass lost at a gate counts as
            three standard deviations). None: "neighbour", or "residual" for a model that keeps no exemplars.

        Returns
        -------
        ndarray of shape (n_samples,)

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
        array([5.27])
        >>> clf.novelty_attribution(flower).round(2)
        array([[0.03, 0.43, 0.18, 4.63]])
        """
        rows = self._rows(X)
        return novelty(self.model_, rows, measure, n_threads(self.n_jobs))

    def novelty_rank(self, X: ArrayLike) -> Floats:
        """Share of the training rows that are less novel than each row, shape (n_samples,).

        0.97 says: more unusual than 97 % of the training rows, each compared with the others that the model keeps. NaN
        where the model keeps no rows (``n_exemplars=0``), or comes from a file of an older version.
        """
        return novelty_rank(self._fitted(), self.novelty(X))

    def novelty_attribution(self, X: ArrayLike, *, measure: str | None = None) -> Floats:
        """What each feature adds to :meth:`novelty`, shape (n_samples, n_features).

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        measure : {"neighbour", "residual"}, default=None
            As in :meth:`novelty`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Not negative; a row's sum is its novelty.
        """
        rows = self._rows(X)
        return novelty_attribution(self.model_, rows, measure, n_threads(self.n_jobs))

    def certified_radius(self, X: ArrayLike, *, scale: ArrayLike | str | None = None) -> Floats:
        """Max-norm radius around each row in which :meth:`predict` cannot change, shape (n_samples,).

        Sound, rounding included, for ``combination`` "dempster" and "vote" and for wide rules; the largest such radius
        may be larger. Of wide rules it seldom is: the worst row of a box is at corners of ramps, which are searched
        for a proof. It is told from below, to one part in 4,096. A row without a margin has 0: where nothing fires,
        say. A tree of one rule has infinity everywhere, and so has any row whose label no movement can change.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        scale : array-like of shape (n_features,) or "spread", default=None
            Unit of each feature, in which the radius counts, 0 for a feature that does not move. "spread": the standard
            deviation of each over the training rows. None: 1 for all features.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows = self._rows(X)
        return certified_radius(self.model_, rows, scale, n_threads(self.n_jobs))

    def certificate(self, x: ArrayLike, *, scale: ArrayLike | str | None = None) -> Certificate:
        """The certified radius of one row, and which features limit it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), or data frame of one row
            The row.
        scale : array-like of shape (n_features,) or "spread", default=None
            As in :meth:`certified_radius`.

        Returns
        -------
        Certificate
        """
        return certify(self._fitted(), self._row(x).values, scale)

    @property
    def feature_importances_(self) -> Floats:
        """How much each feature matters, shape (n_features,), with sum one.

        Trees: what the conditions on it explain of the training labels, the weighted Gini decrease, as in scikit-learn.
        Wide: how far its values move two classes apart, in log-odds, on average over training rows. See
        :func:`ferl._read.explanation.feature_importances`.
        """
        return feature_importances(self._fitted())

    def explain(
        self, x: Any, *, feature_names: Sequence[str] | None = None, counterfactual: bool = True
    ) -> Explanation:
        """One row's story: rules, evidence, doubt, novelty, and the nearest change that would alter the label.

        Changes stay within the range seen in training, as far as the model remembers it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
            The row; a dict has a value for each feature, None where it is missing.
        feature_names : sequence of str, default=None
            Names to print; by default those of the training table.
        counterfactual : bool, default=True
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
        '2 (94 %), because x2 > 2.46 ±0.09 and x3 > 1.68 ±0.06.'
        """
        model = self._fitted().with_names(feature_names)
        return explain(model, self._row(x), counterfactual=counterfactual)

    def what_if(self, x: Any, changes: Mapping[Any, Any], *, feature_names: Sequence[str] | None = None) -> WhatIf:
        """What the answer would be if some values of a row were others.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
            The row, as in :meth:`explain`.
        changes : mapping of feature to value
            The other values, by the names of their features or by their indices; None for a missing value.
        feature_names : sequence of str, default=None
            Names to print; by default those of the training table.

        Returns
        -------
        WhatIf

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier("wide", random_state=0).fit(X, y)
        >>> found = clf.what_if(X[70], {"x3": 1.5})
        >>> found.changes, found.after.label
        ((('x3', 1.8, 1.5),), 1)
        """
        model = self._fitted().with_names(feature_names)
        return what_if(model, self._row(x), changes)

    def stability_report(self, X: ArrayLike | None = None) -> StabilityReport | WideStabilityReport:
        """How fast the answers can change, what in the model decides it, and a verdict.

        Of wide rules also in which direction: where a larger value of a feature provably never makes a class less
        probable, or never more, as ``monotonic_cst`` asks.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows over which the largest number of sources is taken, and of which the verdict says how far they may move.
            None: all sources, which bounds it for any row.

        Returns
        -------
        StabilityReport or WideStabilityReport
        """
        rows = None if X is None else self._rows(X)
        return report_stability(self._fitted(), rows)


def model_of(estimator: Any, caller: str) -> Model:
    """The model of a fitted classifier; an error that names the ``caller`` where it is something else."""
    if not isinstance(estimator, Readings):
        raise TypeError(
            f"{caller} got a {type(estimator).__name__}; pass the fitted FERLClassifier inside it, for example "
            "pipeline[-1] or search.best_estimator_."
        )
    return estimator._fitted()


def tree_model_of(estimator: Any, caller: str, instead: str) -> Model:
    """The model of a fitted tree, for a ``caller`` that reads what its nodes say; an error where it is another.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    caller : str
        What the error calls the caller.
    instead : str
        What to use instead.

    Returns
    -------
    Model
    """
    model = model_of(estimator, caller)
    if model.weights is not None:
        raise ValueError(f"{caller} is for trees, and wide rules are none: their evidence adds up. Use {instead}.")
    return model
