"""FERLClassifier: its parameters, and how they become a model; :mod:`ferl._readings` has what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Bunch, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ferl._learn.grow import fit_model, grow
from ferl._learn.pruning import pruning_path
from ferl._learn.rows import Block, Facts, Rows, RowsInMemory
from ferl._learn.updating import known_codes, settle_classes, update_model, weighed_block
from ferl._model.settings import PRESETS, Settings
from ferl._model.words import LinguisticVariable
from ferl._readings import Readings
from ferl._sklearn import Interval, StrOptions, check_parameters, check_rows, fit_context, learn_labels, learn_table
from ferl._tables import weights_and_factors, with_indicators
from ferl._util.threads import n_threads


def _is_tree(classifier: FERLClassifier) -> bool:
    if classifier.variant == "wide":
        raise AttributeError("partial_fit goes on with the sums of a tree; fit wide rules on all rows.")
    return True


class FERLClassifier(Readings, ClassifierMixin, BaseEstimator):
    """One fuzzy rule tree whose every answer carries its evidence.

    Deep and medium grow a binary tree best-first. Each split is a *band*, not a line: the cut is found again in
    bootstrap resamples, and where the cuts scatter both branches share the row. Compact grows a tree of words,
    "petal length is low", that are fixed before learning; an expert may write them (:mod:`ferl.partition`).

    A row fires several rules, each with a strength; their class distributions are combined by Dempster's rule into
    belief and plausibility for every class. What no rule claims is ignorance: it widens the prediction set, up to all
    classes, which is an abstention.

    Parameters
    ----------
    variant : {"deep", "medium", "compact", "wide"}, default="deep"
        Deep and medium learn their splits and have at most 150 and 50 rules; compact has at most 15 rules, in words.
        Wide has up to 150 short rules of one to three conditions, whose weights of evidence add up.
    max_rules, max_depth : int, default=None
        Largest number of rules (leaves), and of conditions on the way to one. None: the variant's, 150 and 24 for
        deep, 50 and 12 for medium, 15 and 5 for compact; 150 for wide, whose conditions ``max_conditions`` counts.
    min_leaf_weight : float, default=2.0
        Least training weight on either side of a split, or below a word, in rows.
    min_gain : float, default=None
        A split or word that gains less by the criterion, as a share of the whole training weight, is weak ("entropy":
        in nats). None: 0 for deep and medium, 0.005 for compact.
    patience : int, default=3
        Weak ones in a row that growth goes through in search of a strong one. If none follows they are taken back.
    min_coverage : float, default=0.0
        Share of the training weight a node needs to grow further.
    criterion : {"gini", "entropy", "cci", "consistent"}, default=None
        Deep and medium: by what features and nodes are chosen; where a feature is cut, Gini says. The weighted Gini
        decrease (None: this); the decrease of "entropy", which halves many classes where Gini takes them off one by
        one, so that rules are shorter; or "cci", the weight that the two children's majority classes classify better
        than the parent's (ties by Gini). Compact: "consistent" (None: this), what a word changes in accuracy plus mean
        log-probability of the training rows, by the evidence of all nodes together; or "cci", accuracy alone.
    partition : {"quantile", "width", "mdlp"} or sequence of LinguisticVariable, default="quantile"
        Compact only: the words. Sets of equal weight, of equal width, or between cuts that tell the classes apart; or
        those given, which find their features by name. Features without words are not used.
    n_sets : int, default=3
        Compact only: number of words for a feature, 2 to 7 ("mdlp": at most) when they are made from the table.
    min_rule_worth : float, default=0.045
        Compact only: after growth, rules whose absence costs less by the criterion are taken out again, the least
        first.
    prune : float, default=0.003
        Wide only, as the next one: rules are taken out, and the others corrected, as long as the mean divergence
        (Kullback and Leibler's, in nats) from what all rules together say of the training rows stays below. 0: none is.
    max_conditions : int, default=3
        Largest number of conditions of a rule, 1 to 3. With 1 every feature has a curve of its own.
    n_resamples : int, default=25
        Deep and medium only, as the next four: number of bootstrap resamples behind each band. They are swept eight at
        a time, so multiples of 8 cost least.
    band : {"mean_std", "median_mad"}, default="mean_std"
        Centre and half-width of a band, from the cuts of the resamples. The paper's text says median and median
        absolute deviation, which are so often 0 that the tree is nearly crisp; its accuracy is that of mean and
        standard deviation.
    band_scale : float, default=1.0
        Factor on the half-width.
    two_mode : bool, default=True
        Where the cuts fall into two groups, use the group of the full-sample cut rather than the middle, if the rows
        outside the resamples say so.
    n_banded_features : int or None, default=1
        How many features per node, best first by their crisp cut, get a band and compete with it. None: all.
    consequents : {"shrinkage", "laplace", "raw"}, default="shrinkage"
        How class weights become a node's distribution; see :func:`ferl._learn.consequents.consequents`.
    shrinkage : float, default=5.0
        Strength of hierarchical shrinkage, in rows.
    combination : {"dempster", "cautious", "chain", "vote", "weights"}, default=None
        How the evidence of the sources is combined. None: "weights" for wide, which has no other, and Dempster's rule
        for trees. Trees may also use Denoeux's cautious rule, for sources that repeat
        each other; cautious along each path and Dempster across paths; or the mixture of the sources' distributions.
    sources : {"leaves", "all"}, default=None
        Which nodes are sources of evidence: the leaves, or every node but the root. ("chain" always reads whole
        paths.) None: the leaves for deep and medium, all for compact.
    discount : float, default=0.0
        Believe a source backed by training weight W only to the share ``W / (W + discount)``.
    support_gate : bool, default=True
        Fade out a rule outside the range of values that its conditions saw in training, so that far-away rows get
        ignorance instead of a confident answer.
    gate_margin : float, default=1.0
        How far outside, in ranges of the feature, a rule is silent.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning after growth: impurity one rule must save, as in scikit-learn.
    growth_rows : int or None, default=50_000
        With more distinct rows than this, splits are chosen on a random sample of this size. Rules' distributions and
        ranges always come from all rows. None: no sampling.
    n_exemplars : int, default=None
        Training rows that each node keeps to compare new rows with, for :meth:`novelty`. 0: the model keeps no training
        row, and novelty is the paper's residual. None: 128 for deep and medium, 256 for compact.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories: those whose column says so (text, categorical and boolean columns), or these, by
        name, by number, or as a mask. None: none.
    missing_conditions : bool, default=False
        Whether rules may ask if a value is missing at all, where that tells the classes apart. A missing value is
        otherwise no evidence: it goes down every branch, in the proportions of the training rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Deep and medium with two classes: 1 for a feature with which the soft vote for the second class may only rise,
        -1: only fall, 0: neither. A dict names the features it constrains. Holds for ``combination="vote"`` of the
        leaves without ``discount``, where no gate closes: with ``support_gate=False``, everywhere.
    n_jobs : int, default=None
        Threads for fitting and prediction; -1 for all cores, never more than ``OMP_NUM_THREADS`` where that is set.
        Results do not depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the resamples. Fits with the same seed agree to the last bit, in any order of the rows.
    verbose : int, default=0
        1 shows a progress bar while rules grow.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    model_ : Model
        All that answers are read from, frozen; the attributes below are its parts.
    tree_ : FuzzyTree
        The rules, as arrays.
    partition_ : list of LinguisticVariable or None
        Compact: the words of each feature, None for those without. Otherwise None.
    n_rules_ : int
        Number of rules (leaves).
    lipschitz_ : float
        How fast the soft vote of the rules can change where the gates are open: L1-norm of its change per unit of the
        largest change of a feature. Compact: the vote of all nodes, before it is divided by its sum.
    n_growth_rows_ : int
        Number of distinct rows the splits were chosen on.
    columns_ : Schema
        Names of the features and their categories: what turns a table into the numbers that the tree reads.
    categories_ : list of (ndarray or None)
        Categories of each feature, sorted; None for a feature that holds numbers.
    missing_features_ : tuple of int
        Features that rules may ask whether they are missing.
    drift_ : Drift or None
        After :meth:`partial_fit`: how the last block differed from the rows before; None after the first block.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when the training table had names.

    Notes
    -----
    ``sample_weight`` counts rows: weight 2 is the row twice, to the last bit. Weights that average less than one per
    distinct row are scaled up to one.

    The time to fit a compact tree grows with rows x words x classes. With hundreds of classes it takes many times as
    long as deep, which looks at a class only where it occurs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(random_state=0).fit(X, y)
    >>> clf.predict(X[:1])
    array([0])
    >>> clf.predict_set([[60.0, 30.0, 50.0, 20.0]])  # nothing like any iris: abstains
    array([[ True,  True,  True]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "variant": [StrOptions({"compact", "medium", "deep", "wide"})],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_leaf_weight": [Interval(Real, 0, None, closed="neither")],
        "min_gain": [Interval(Real, 0, None, closed="left"), None],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "min_coverage": [Interval(Real, 0, 1, closed="both")],
        "criterion": [StrOptions({"gini", "entropy", "cci", "consistent", "evidence"}), None],
        "partition": [str, "array-like"],
        "n_sets": [Interval(Integral, 2, 7, closed="both")],
        "min_rule_worth": [Interval(Real, 0, None, closed="left")],
        "prune": [Interval(Real, 0, None, closed="left")],
        "max_conditions": [Interval(Integral, 1, 3, closed="both")],
        "n_resamples": [Interval(Integral, 1, 1000, closed="both")],
        "band": [StrOptions({"mean_std", "median_mad"})],
        "band_scale": [Interval(Real, 0, None, closed="left")],
        "two_mode": ["boolean"],
        "n_banded_features": [Interval(Integral, 1, None, closed="left"), None],
        "consequents": [StrOptions({"shrinkage", "laplace", "raw"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "combination": [StrOptions({"dempster", "cautious", "chain", "vote", "weights"}), None],
        "sources": [StrOptions({"leaves", "all"}), None],
        "discount": [Interval(Real, 0, None, closed="left")],
        "support_gate": ["boolean"],
        "gate_margin": [Interval(Real, 0, None, closed="neither")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
        "growth_rows": [Interval(Integral, 2, None, closed="left"), None],
        "n_exemplars": [Interval(Integral, 0, None, closed="left"), None],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "missing_conditions": ["boolean"],
        "monotonic_cst": ["array-like", dict, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        variant: str = "deep",
        *,
        max_rules: int | None = None,
        max_depth: int | None = None,
        min_leaf_weight: float = 2.0,
        min_gain: float | None = None,
        patience: int = 3,
        min_coverage: float = 0.0,
        criterion: str | None = None,
        partition: str | Sequence[LinguisticVariable | None] = "quantile",
        n_sets: int = 3,
        min_rule_worth: float = 0.045,
        prune: float = 0.003,
        max_conditions: int = 3,
        n_resamples: int = 25,
        band: str = "mean_std",
        band_scale: float = 1.0,
        two_mode: bool = True,
        n_banded_features: int | None = 1,
        consequents: str = "shrinkage",
        shrinkage: float = 5.0,
        combination: str | None = None,
        sources: str | None = None,
        discount: float = 0.0,
        support_gate: bool = True,
        gate_margin: float = 1.0,
        ccp_alpha: float = 0.0,
        growth_rows: int | None = 50_000,
        n_exemplars: int | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: Sequence[str | int | bool] | str | None = "from_dtype",
        missing_conditions: bool = False,
        monotonic_cst: Sequence[int] | Mapping[str, int] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.variant = variant
        self.max_rules = max_rules
        self.max_depth = max_depth
        self.min_leaf_weight = min_leaf_weight
        self.min_gain = min_gain
        self.patience = patience
        self.min_coverage = min_coverage
        self.criterion = criterion
        self.partition = partition
        self.n_sets = n_sets
        self.min_rule_worth = min_rule_worth
        self.prune = prune
        self.max_conditions = max_conditions
        self.n_resamples = n_resamples
        self.band = band
        self.band_scale = band_scale
        self.two_mode = two_mode
        self.n_banded_features = n_banded_features
        self.consequents = consequents
        self.shrinkage = shrinkage
        self.combination = combination
        self.sources = sources
        self.discount = discount
        self.support_gate = support_gate
        self.gate_margin = gate_margin
        self.ccp_alpha = ccp_alpha
        self.growth_rows = growth_rows
        self.n_exemplars = n_exemplars
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.missing_conditions = missing_conditions
        self.monotonic_cst = monotonic_cst
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers and categories (text, booleans, categorical columns), with or without missing values: NumPy, pandas,
            polars, pyarrow.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        FERLClassifier
            The estimator itself.
        """
        return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None = None) -> Self:
        self._forget()
        try:
            return self._take(fit_model(self._settings(), self._training_rows(X, y, sample_weight, classes)))
        except BaseException:
            self._forget()  # an interrupted or refused fit leaves no half-new, half-old model behind
            raise

    def _forget(self) -> None:
        for name in ("model_", "drift_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _settings(self) -> Settings:
        return Settings.of(self.get_params(deep=False))

    def _training_rows(self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None = None) -> Rows:
        """The rows to learn from, checked; where they are is the business of those who override this."""
        table, schema, found, found_codes = learn_table(self, X, y, self.categorical_features)
        settled, codes = settle_classes(found, found_codes, classes)
        weight, unit = weights_and_factors(sample_weight, self.class_weight, settled, codes)
        lacks = np.isnan(table[weight > 0]).any(axis=0) if self.missing_conditions else np.zeros(0, dtype=bool)
        missing = tuple(np.flatnonzero(lacks).tolist())
        block = Block(with_indicators(table, missing), codes, weight)
        return RowsInMemory.of_table(block, Facts(schema, missing, settled, unit), n_threads(self.n_jobs))

    @available_if(_is_tree)
    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows without growing anew.

        The first block grows a tree, as :meth:`fit` does. Later ones leave its conditions as they are and go on with
        what these sum up: class weights and with them the rules' distributions, the ranges where gates are open, means,
        variances and exemplars. ``drift_`` says how the block differs from the rows before; where it does, or where the
        first block was small, :meth:`fit` on all rows finds better conditions. See docs/updating.md.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The block, with the columns of the first one. A category that the first one lacked goes where a missing
            value goes.
        y : array-like of shape (n_samples,)
            Labels.
        classes : array-like of shape (n_classes,), default=None
            First call: all labels, where the first block does not have them all. The others have weight 0 until they
            come. Later calls: may be left out, or must be the same.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. The first block's are scaled as in :meth:`fit`; later ones count as they are, so
            that a block can be given less to say.

        Returns
        -------
        FERLClassifier
            The estimator itself. After an error it is the model it was before.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).partial_fit(X[::2], y[::2])
        >>> clf.partial_fit(X[1::2], y[1::2]).tree_.class_weight[0]
        array([50., 50., 50.])
        >>> abs(clf.drift_.z) < 3
        True
        """
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" needs all labels at once, and partial_fit sees a block. Pass a dict.'
            )
        if not self.__sklearn_is_fitted__():
            self._fit(X, y, sample_weight, classes)
            self.drift_ = None
            return self
        check_parameters(self)
        rows, known = check_rows(self, X), self.classes_
        found, found_codes = learn_labels(self, y, rows.shape)
        codes = known_codes(found, found_codes, classes, known)
        weight, _ = weights_and_factors(sample_weight, self.class_weight, known, codes)
        self.model_, self.drift_ = update_model(self.model_, self._settings(), weighed_block(rows, codes, weight))
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def cost_complexity_pruning_path(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Bunch:
        """Values of ``ccp_alpha`` at which the pruned tree changes.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas`` and ``impurities``, ndarrays of shape (n_subtrees,), ascending.
        """
        # On a copy: asking for the path must not change a fitted model.
        rows = type(self)(**self.get_params())._training_rows(X, y, sample_weight)
        ccp_alphas, impurities = pruning_path(grow(self._settings(), rows).tree)
        return Bunch(ccp_alphas=ccp_alphas, impurities=impurities)

    def reading(
        self,
        *,
        combination: str | None = None,
        sources: str | None = None,
        discount: float | None = None,
        support_gate: bool | None = None,
        gate_margin: float | None = None,
    ) -> Self:
        """Another classifier that shares this fitted model and reads its evidence in another way.

        How evidence is read is settled when a model is fitted: parameters that are set later count for the next fit.

        Parameters
        ----------
        combination, sources, discount, support_gate, gate_margin : default=None
            As in the constructor; None: as this classifier reads it.

        Returns
        -------
        FERLClassifier
            Fitted, with these parameters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier("medium", random_state=0).fit(X, y)
        >>> vote = clf.reading(combination="vote")
        >>> clf.predict_proba(X[127:128]).round(2), vote.predict_proba(X[127:128]).round(2)
        (array([[0.11, 0.23, 0.65]]), array([[0.01, 0.21, 0.78]]))
        >>> vote.tree_ is clf.tree_
        True
        """
        check_is_fitted(self)
        given = {
            "combination": combination,
            "sources": sources,
            "discount": discount,
            "support_gate": support_gate,
            "gate_margin": gate_margin,
        }
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        check_parameters(clone(self).set_params(**changes))
        other = copy(self)
        other.model_ = self.model_.read(replace(self.model_.reading, **changes))
        read: Self = other.set_params(**(other._fitted_parameters() | changes))
        return read

    def _fitted_parameters(self) -> dict[str, Any]:
        """The parameters, with those that the fitted model was settled by as it has them, whatever was set later."""
        model = self._fitted()
        parameters: dict[str, Any] = self.get_params(deep=False)
        parameters |= {"variant": model.variant} | asdict(model.reading)
        for name in ("combination", "sources"):
            given, settled = getattr(self, name), getattr(model.reading, name)
            if settled == PRESETS[model.variant][name] and given in (None, settled):
                parameters[name] = given
        return parameters

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        # Not categorical, which scikit-learn means of tables of nothing but categories: its checks round all numbers.
        return tags
