"""What a fitted classifier answers, whatever the kind of its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ferl._judge.judgement import Predictor, Rule, labels_or_marker
from ferl._learn.drift import Drift
from ferl._models.certificates import certified_radius
from ferl._models.decision import AnyDecision, Decision
from ferl._models.evidence import Evidence
from ferl._models.model import Model, Words
from ferl._models.shapes import feature_importances
from ferl._models.tree import FuzzyTree
from ferl._sklearn import check_rows
from ferl._tables import OneRow, Schema, add_up_derived, read_row
from ferl._tell.explain import explain
from ferl._tell.explanation import Explanation
from ferl._tell.stability import Certificate, StabilityReport, certify, report_stability
from ferl._tell.what_if import WhatIf, what_if
from ferl._util.arrays import Floats
from ferl._util.threads import n_threads

AnyModel = TypeVar("AnyModel", bound=Model)


class Answers(Generic[AnyModel]):
    """The model of a fitted classifier and what it answers, which both classifiers inherit.

    Attributes
    ----------
    model_ : Model
        What was fitted.
    n_jobs : int or None
        Number of threads.
    """

    model_: AnyModel
    n_jobs: int | None
    drift_: Drift | None
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def _take(self, model: AnyModel) -> Self:
        """Take a model that was fitted, read or updated elsewhere."""
        self.model_, self.n_features_in_ = model, model.n_features
        self.__dict__.pop("feature_names_in_", None)
        if model.schema.names is not None:
            self.feature_names_in_ = np.array(model.schema.names, dtype=object)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _fitted(self) -> AnyModel:
        if "model_" not in self.__dict__:
            check_is_fitted(self)  # raises scikit-learn's error
        return self.model_

    def _rows(self, X: Any) -> Floats:
        """Rows as the model reads them."""
        self._fitted()
        return check_rows(self, X)

    def _row(self, x: Any) -> OneRow:
        """One row, in whatever form it comes, as the model reads it."""
        model = self._fitted()
        return read_row(model.schema, model.derived, x, model.read_features)

    @property
    def tree_(self) -> FuzzyTree:
        """The rules, as arrays."""
        return self._fitted().tree

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels."""
        return self._fitted().classes

    @property
    def columns_(self) -> Schema:
        """Names of the features and their categories."""
        return self._fitted().schema

    @property
    def missing_features_(self) -> tuple[int, ...]:
        """Features for which rules may test whether they are missing."""
        return self._fitted().missing_features

    @property
    def words_(self) -> Words | None:
        """The words of each column, None for those without. None where conditions are not words."""
        return self._fitted().words

    @property
    def n_growth_rows_(self) -> int:
        """Number of distinct rows the splits were chosen on."""
        return self._fitted().n_growth_rows

    @property
    def categories_(self) -> list[NDArray[Any] | None]:
        """Categories of each feature, sorted; None for a feature that holds numbers."""
        return list(self._fitted().schema.categories)

    @property
    def n_rules_(self) -> int:
        """Number of rules: the leaves of a tree, or the rules themselves."""
        return self._fitted().n_rules

    @property
    def lipschitz_(self) -> float:
        """How fast answers can change where the gates are open, per unit of the largest change of a feature.

        Rules: the difference of two scores. Trees: the L1-norm of the soft vote.
        """
        return self._fitted().lipschitz

    def __call__(self, X: ArrayLike) -> Floats:
        """As :meth:`predict_proba`, for libraries that explain functions: ``shap.Explainer(clf, X)``."""
        return self.predict_proba(X)

    def predict(self, X: ArrayLike, *, decision: AnyDecision = "probable", no_answer: Any = None) -> NDArray[Any]:
        """Label of each row, shape (n_samples,).

        A label is given even where :meth:`predict_set` abstains, unless ``no_answer`` is. Without evidence, as far
        outside the training range, it is the most frequent class of training.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        decision : {"probable", "balanced", "mild"}, float, array-like, mapping or data frame, default="probable"
            How the label is chosen; the first of equals.

            - "probable": the class of the largest :meth:`predict_proba`, which is right most often.
            - "balanced": the class whose probability is largest compared with its frequency among the training rows,
              so that a rare class is named where it is likelier than usual; it finds more of the rare rows, and is
              wrong more often. Frequencies come from the training weights: after ``class_weight="balanced"`` they
              are equal, and both decisions are one.
            - "mild": compared with the square root of the frequency, halfway between the two.
            - A threshold, a number between 0 and 1, for two classes: ``classes_[1]`` where its probability is at least
              the threshold, else ``classes_[0]``.
            - Costs: the class of the least expected cost. An array of shape (n_classes, n_classes) has a row for each
              true class and a column for each predicted one, in the order of ``classes_``. A mapping ``{(true,
              predicted): cost}`` or ``{true: {predicted: cost}}`` may leave pairs out, which cost 0 where the label is
              right and 1 where it is wrong. A data frame has true classes in its index, predicted ones in its columns.
              Rules weigh costs by the probability; trees by the belief, since their ignorance belongs to no class.
        no_answer : label or None, default=None
            Label of rows on which the classifier abstains: their :meth:`predict_set` has all classes, and ``ferl
            predict`` leaves them empty. It must not be a class: -1 or NaN among numbers, "" among text. None: these
            rows get their most probable label, as with ``ferl predict --guess``.

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
        >>> clf = FERLClassifier(random_state=0).fit(X[:1000], y[:1000])
        >>> round(balanced_accuracy_score(y[1000:], clf.predict(X[1000:])), 1)
        0.6
        >>> round(balanced_accuracy_score(y[1000:], clf.predict(X[1000:], decision="balanced")), 1)
        0.8

        A sick person who is sent home costs ten times as much as a healthy one who is examined:

        >>> costs = {("ill", "well"): 10, ("well", "ill"): 1}
        >>> by_costs, by_threshold = clf.predict(X[1000:], decision=costs), clf.predict(X[1000:], decision=10 / 11)
        >>> bool((by_costs == by_threshold).all())  # "well" has to be ten times as probable
        True

        A row unlike any other has no answer:

        >>> clf.predict([[0.0, 0.0, 0.0], [900.0, 0.0, 0.0]], no_answer="").tolist()
        ['well', '']
        """
        rule = Rule(Decision.of(decision, self.classes_))
        return labels_or_marker(self.model_, self._rows(X), rule, no_answer, n_threads(self.n_jobs))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, shape (n_samples, n_classes).

        Rules: the softmax of the summed weights of evidence. Trees: the pignistic probability, belief plus
        an equal share of the ignorance, whatever the frequencies, so that on doubtful rows a rare class gets more
        than its frequency. Where frequencies matter (for example the expected number of defaults) use trees by
        ``combination="vote"``, or calibrate with :class:`ferl.calibration.CalibratedFERL`.
        """
        rows = self._rows(X)
        return self.model_.probabilities(rows, n_threads(self.n_jobs))

    def predictor(self) -> Predictor:
        """A prepared predictor for services that predict row by row: a tenth of the time of a data frame of one row.

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

        The paper's masses, combined by Dempster's rule or as ``combination`` has it. Ignorance is the mass that no rule
        commits to a class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        Evidence
        """
        rows = self._rows(X)
        return self.model_.evidence(rows, n_threads(self.n_jobs))

    def predict_set(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Classes whose plausibility reaches the largest belief, bool of shape (n_samples, n_classes).

        The set of all classes is an abstention.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
        """
        return self.predict_evidence(X).prediction_set()

    def support_deficit(self, X: ArrayLike) -> Floats:
        """Routing mass lost at closed gates, by the feature that lost it, shape (n_samples, n_features).

        Rules: the share of all evidence that is withheld from belief, one minus the product of the features' gates.

        A split's gate compares a row with the training rows that reached this split. So a value can lie inside the
        feature's overall range and still be unlike anything seen there; and where a gate is closed, features tested
        further down are not evaluated. A row's sum is one minus the total firing of its rules. (Not for compact trees,
        whose words need not cover everything: there it is the firing that the gates withheld, summed over all nodes.)
        """
        rows = self._rows(X)
        return add_up_derived(self.model_.lost_support(rows, n_threads(self.n_jobs)), self.model_.derived)

    def novelty(self, X: ArrayLike, *, measure: str | None = None) -> Floats:
        """How unlike the training rows each row is, shape (n_samples,); higher is more novel.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        measure : {"neighbour", "residual"}, default=None
            "neighbour": the distance to the nearest exemplar of the rules the row reaches, as the mean over features of
            the distance in standard deviations inside rules; 0 for a row that is an exemplar of a rule. (The nearest is
            searched in single precision, then measured in double.) Rules: the distance to the nearest exemplar,
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
        return self.model_.novelty(rows, measure, n_threads(self.n_jobs))

    def novelty_rank(self, X: ArrayLike) -> Floats:
        """Share of the training rows that are less novel than each row, shape (n_samples,).

        0.97 says: more unusual than 97 % of the training rows, each compared with the others that the model keeps. NaN
        where the model keeps no rows (``n_exemplars=0``).
        """
        return self._fitted().novelty_rank(self.novelty(X))

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
        return self.model_.novelty_attribution(rows, measure, n_threads(self.n_jobs))

    def certified_radius(self, X: ArrayLike, *, scale: ArrayLike | str | None = None) -> Floats:
        """Max-norm radius around each row in which :meth:`predict` cannot change, shape (n_samples,).

        Sound, rounding included, for ``combination`` "dempster" and "vote" and for rules; the largest such radius may
        be larger. For rules it seldom is: the worst row of a box is at corners of ramps, which are searched for a
        proof. The radius is rounded down, to one part in 4,096. A row without a margin has 0, for example if no rule
        fires. A tree of one rule has infinity everywhere, and so has any row whose label no movement can change.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        scale : array-like of shape (n_features,) or "spread", default=None
            Unit of each feature, in which the radius counts, 0 for a feature that does not move. "spread": the standard
            deviation of each over the training rows. None: 1 for all features. Categories do not move, nor do the dates
            that rules read by their parts, nor the parts.

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
        Rules: how far its values move two classes apart, in log-odds, on average over training rows. See
        :func:`ferl._models.shapes.feature_importances`.
        """
        return feature_importances(self._fitted())

    def explain(
        self,
        x: Any,
        *,
        feature_names: Sequence[str] | None = None,
        counterfactual: bool = True,
        decision: AnyDecision = "probable",
        details: bool = False,
    ) -> Explanation:
        """Explain one row in at most eight lines: the answer, the reasons, and what would change it.

        Effects compare the row with the average training row: "odds of yes x 12" means that the value of a feature
        multiplies the odds by 12, compared with what this feature contributes on average over the training rows.
        Changes stay within the training range, as far as the model keeps it.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
            The row; a dict has a value for each feature, None where it is missing.
        feature_names : sequence of str, default=None
            Names to print; by default the names in the training table.
        counterfactual : bool, default=True
            Whether to search for changes of single features that alter the label, most of the work.
        decision : {"probable", "balanced", "mild"}, float, array-like or mapping, default="probable"
            As in :meth:`predict`. The explanation has its label, and is about the most probable class.
        details : bool, default=False
            Whether the text also has the details: evidence, all effects and the rules behind them, ignorance, novelty,
            and every change that was found. HTML has them folded in any case.

        Returns
        -------
        Explanation

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLTreeClassifier("medium", max_rules=3, random_state=0).fit(X, y)
        >>> clf.explain(X[70]).summary
        '2 (94 %), because x3 is 1.8.'
        """
        model = self._fitted().with_names(feature_names)
        chosen = Decision.of(decision, model.classes)
        return explain(model, self._row(x), counterfactual=counterfactual, decision=chosen, details=details)

    def what_if(self, x: Any, changes: Mapping[Any, Any], *, feature_names: Sequence[str] | None = None) -> WhatIf:
        """What the answer would be if some values of a row were others.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features), data frame of one row, Series, or dict
            The row, as in :meth:`explain`.
        changes : mapping of feature to value
            The other values, by the names of their features or by their indices; None for a missing value.
        feature_names : sequence of str, default=None
            Names to print; by default the names in the training table.

        Returns
        -------
        WhatIf

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).fit(X, y)
        >>> change = clf.what_if(X[70], {"x3": 1.5})
        >>> change.changes, change.after.label
        ((('x3', 1.8, 1.5),), 1)
        """
        model = self._fitted().with_names(feature_names)
        return what_if(model, self._row(x), changes)

    def stability_report(self, X: ArrayLike | None = None) -> StabilityReport:
        """How fast the answers can change, what in the model decides it, and a verdict.

        For rules also in which direction: where a larger value of a feature provably never makes a class less
        probable, or never more, as ``monotonic_cst`` requires.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Rows for the largest number of sources, and for the verdict on how far rows may move.
            None: all sources, which bounds it for any row.

        Returns
        -------
        StabilityReport
        """
        rows = None if X is None else self._rows(X)
        return report_stability(self._fitted(), rows)


@overload
def model_of(estimator: Any, caller: str) -> Model: ...
@overload
def model_of(estimator: Any, caller: str, only: type[AnyModel], instead: str) -> AnyModel: ...
def model_of(estimator: Any, caller: str, only: type[Model] = Model, instead: str = "") -> Model:
    """The model of a fitted classifier; an error that names the ``caller`` where it is something else.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    caller : str
        What the error calls the caller.
    only : type, default=Model
        The kind of model that the caller is for.
    instead : str, default=""
        What to use for models of the other kind.
    """
    if not isinstance(estimator, Answers):
        raise TypeError(
            f"{caller} got a {type(estimator).__name__}; pass the fitted FERLClassifier or FERLTreeClassifier inside "
            "it, for example pipeline[-1] or search.best_estimator_."
        )
    model: Model = estimator._fitted()
    if not isinstance(model, only):
        raise ValueError(f"{caller} is for {only.kind}, and this is a {type(estimator).__name__}. Use {instead}.")
    return model
