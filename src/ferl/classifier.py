"""FERLClassifier: its parameters, and how they become a model; :mod:`ferl._readings` has what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cache
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Bunch, Tags
from sklearn.utils.validation import check_is_fitted

from ferl._learn.grow import fit_model, grow
from ferl._learn.pruning import pruning_path
from ferl._learn.rows import Block, Facts, Rows, RowsInMemory
from ferl._learn.updating import known_codes, rows_of_weight, settle_classes, update_model, warn_of_little_weight
from ferl._learn.updating_wide import with_curvature_of
from ferl._model.settings import MAX_CONDITIONS, Settings, is_wide
from ferl._model.words import LinguisticVariable
from ferl._readings import Readings
from ferl._sklearn import (
    Interval,
    RemembersValidParameters,
    StrOptions,
    check_parameters,
    check_rows,
    fit_context,
    learn_labels,
    learn_table,
)
from ferl._tables import weights_and_factors, with_indicators
from ferl._tables.describe import NOTHING_SAID, TableDescription
from ferl._util.threads import n_threads


@cache
def _parameter_names(cls: Any) -> tuple[str, ...]:
    """As scikit-learn finds them, which inspects the signature at every call, several times in a fit."""
    return tuple(super(FERLClassifier, cls)._get_param_names())


class FERLClassifier(Readings, ClassifierMixin, RemembersValidParameters):
    """Fuzzy rules whose every answer carries its evidence.

    The default, wide, has short rules of one to three conditions. Each speaks for and against every class with a weight
    of evidence, in proportion to how far a row fits it; the weights add up, and they mean belief and plausibility of
    every class by Dempster's rule. Where weights cancel, or values lie outside what training saw, ignorance grows: it
    widens the prediction set, up to all classes, which is an abstention. See docs/guide/rules.md. Compact has few such
    rules, in words that are fixed before learning, "petal length is low"; an expert may write them
    (:mod:`ferl.partition`).

    Deep and medium grow one tree. Each split is a *band*, not a line: the cut is found again in bootstrap resamples,
    and where the cuts scatter both branches share the row. A row reaches several leaves, whose class distributions are
    combined by Dempster's rule. A ``criterion`` makes compact a tree of words.

    Parameters
    ----------
    variant : {"wide", "deep", "medium", "compact"}, default="wide"
        Wide: short rules whose evidence adds up. Deep, medium: a larger, a smaller tree. Compact: few rules, in words.
    max_rules, max_depth : int, default=None
        Largest number of rules (leaves), and of conditions on the way to a leaf of a tree. None: 150 rules for wide,
        15 for compact, whose conditions ``max_conditions`` counts; 150 and 24 for deep, 50 and 12 for medium, 15 and 5
        for a compact tree.
    min_leaf_weight : float, default=2.0
        Trees only, as the next three: least training weight on either side of a split, or below a word, in rows.
    min_gain : float, default=None
        A split or word that gains less by the criterion, as a share of the whole training weight, is weak ("entropy":
        in nats). None: 0, and 0.005 for a compact tree.
    patience : int, default=3
        Weak ones in a row that growth goes through in search of a strong one. If none follows they are taken back.
    min_coverage : float, default=0.0
        Share of the training weight a node needs to grow further.
    criterion : {"gini", "entropy", "cci", "consistent", "evidence"}, default=None
        Deep and medium: by what features and nodes are chosen; where a feature is cut, Gini says. The weighted Gini
        decrease (None: this); the decrease of "entropy", which halves many classes where Gini takes them off one by
        one, so that rules are shorter; or "cci", the weight that the two children's majority classes classify better
        than the parent's (ties by Gini). Compact: "evidence" (None: this), as wide, which has no other; or a tree of
        words, the paper's "cci", accuracy alone, or "consistent", what a word changes in accuracy plus mean
        log-probability of the training rows, by the evidence of all nodes together.
    partition : {"quantile", "triangles", "width", "mdlp"} or sequence of LinguisticVariable, default=None
        Wide and compact: the words that conditions are. Sets of equal weight, triangles, sets of equal width or between
        cuts that tell the classes apart; or those given, which find their features by name (others are not used).
        None: "triangles" for compact (a tree: "quantile"), no words for wide.
    n_sets : int, default=3
        Number of words for a feature, 2 to 7 ("mdlp": at most) when they are made from the table.
    min_rule_worth : float, default=None
        Wide and compact: the share of what all rules know (in nats, at most 1) that each must keep, or else it is taken
        out, the least first; a compact tree: what its absence must cost by the criterion. None: 0.05, 0.045 for a tree,
        0 for wide.
    prune : float, default=0.0015
        Wide and compact, as the next one: rules are taken out, and the others corrected, as long as the mean divergence
        (Kullback and Leibler's, in nats) from what all rules together say of the training rows stays below. 0: none is.
    max_conditions : int, default=3
        Largest number of conditions of a rule, 1 to 3. With 1 every feature has a curve of its own.
    n_resamples : int, default=25
        Deep and medium only, as the next four: bootstrap resamples behind each band. Multiples of 8 cost least.
    band : {"mean_std", "median_mad"}, default="mean_std"
        Centre and half-width of a band, from the cuts of the resamples. Often "median_mad" is 0, and the tree crisp.
    band_scale : float, default=1.0
        Factor on the half-width.
    two_mode : bool, default=True
        Where cuts fall into two groups, use that of the full-sample cut, if rows outside the resamples say so.
    n_banded_features : int or None, default=1
        How many features per node, best first by their crisp cut, get a band and compete with it. None: all.
    consequents : {"shrinkage", "laplace", "raw"}, default="shrinkage"
        How class weights become a node's distribution in a tree; see :func:`ferl._learn.consequents.consequents`.
    shrinkage : float, default=5.0
        Strength of hierarchical shrinkage, in rows.
    combination : {"dempster", "cautious", "chain", "vote", "weights"}, default=None
        How evidence is combined. None: "weights" for wide rules, which have no other, and Dempster's rule for trees,
        which may also use Denoeux's cautious rule, for sources that repeat each other; cautious along each path and
        Dempster across paths; or the mixture of the sources' distributions.
    sources : {"leaves", "all"}, default=None
        Which nodes of a tree are sources of evidence: the leaves, or every node but the root. ("chain" always reads
        whole paths.) None: the leaves; all for a compact tree.
    discount : float, default=0.0
        Trees only: believe a source backed by training weight W only to the share ``W / (W + discount)``.
    support_gate : bool, default=True
        Fade out rules outside the range of values that training saw (a tree's: that their conditions saw), so that
        far-away rows get ignorance instead of a confident answer.
    gate_margin : float, default=1.0
        How far outside, in ranges of the feature, a rule is silent.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning of a tree after growth: impurity one rule must save, as in scikit-learn.
    growth_rows : int or None, default=50_000
        With more distinct rows than this, rules are chosen on a random sample of this size, and so are the weights of
        wide ones. Distributions of leaves and ranges always come from all rows. None: no sampling.
    n_exemplars : int, default=None
        Training rows that each node keeps to compare new rows with, for :meth:`novelty`; of wide rules: that the model
        keeps, which cover the others. 0: the model keeps no training row, and novelty is the paper's residual. None:
        1024 for wide and compact, 128 for deep and medium, 256 for a compact tree.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Which features are categories: those whose column says so (text, categorical and boolean columns), or these, by
        name, by number, or as a mask. None: none.
    missing_conditions : bool, default=False
        Whether rules may ask if a value is missing at all, where that tells the classes apart. A missing value is
        otherwise no evidence: it goes down every branch, in the proportions of the training rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        With two classes: 1 for a feature with which the log-odds of the second class (deep and medium: the soft vote
        for it, ``combination="vote"`` of the leaves without ``discount``) may only rise, -1: only fall, 0: neither. A
        dict names the features it constrains. Holds where no gate closes: with ``support_gate=False``, everywhere.
    n_jobs : int, default=None
        Threads; -1: all cores, never more than ``OMP_NUM_THREADS`` where that is set. Results do not depend on it.
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
        The words of each feature, None for those without. None where conditions are not words.
    n_rules_ : int
        Number of rules (leaves).
    lipschitz_ : float
        How fast answers can change where the gates are open, per unit of the largest change of a feature. Wide: the
        difference of two scores. Trees: the L1-norm of the soft vote (of words: of all nodes, before it is normalised).
    n_growth_rows_ : int
        Number of distinct rows that rules were chosen on.
    columns_ : Schema
        Names of the features and their categories: what turns a table into the numbers that rules read.
    categories_ : list of (ndarray or None)
        Categories of each feature, sorted; None for a feature that holds numbers.
    missing_features_ : tuple of int
        Features that rules may ask whether they are missing.
    drift_ : Drift or None
        After :meth:`partial_fit`: how the last block differed from the rows before; None after the first block.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had names.

    Notes
    -----
    ``sample_weight`` counts rows: weight 2 is the row twice, to the last bit. Weights that average less than one per
    distinct row are scaled up to one.

    The time to fit a tree of words grows with rows x words x classes; deep looks at a class only where it occurs. Wide
    rules have a weight for every class: with hundreds of classes a fit takes seconds to minutes.

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
        "variant": [StrOptions({"wide", "deep", "medium", "compact"})],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_leaf_weight": [Interval(Real, 0, None, closed="neither")],
        "min_gain": [Interval(Real, 0, None, closed="left"), None],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "min_coverage": [Interval(Real, 0, 1, closed="both")],
        "criterion": [StrOptions({"gini", "entropy", "cci", "consistent", "evidence"}), None],
        "partition": [str, "array-like", None],
        "n_sets": [Interval(Integral, 2, 7, closed="both")],
        "min_rule_worth": [Interval(Real, 0, None, closed="left"), None],
        "prune": [Interval(Real, 0, None, closed="left")],
        "max_conditions": [Interval(Integral, 1, MAX_CONDITIONS, closed="both")],
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
        variant: str = "wide",
        *,
        max_rules: int | None = None,
        max_depth: int | None = None,
        min_leaf_weight: float = 2.0,
        min_gain: float | None = None,
        patience: int = 3,
        min_coverage: float = 0.0,
        criterion: str | None = None,
        partition: str | Sequence[LinguisticVariable | None] | None = None,
        n_sets: int = 3,
        min_rule_worth: float | None = None,
        prune: float = 0.0015,
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
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        units: Mapping[str, str] | None = None,
        describe: Any = None,
    ) -> Self:
        """Learn the rules.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers, dates and categories (text, booleans, categorical columns), with or without missing values: NumPy,
            pandas, polars, pyarrow.
        y : array-like of shape (n_samples,)
            Labels. The name of a Series is the target's name in sentences.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        units : mapping of str to str, default=None
            What numbers count, by column: {"glucose": "mg/dl"}. For readers only.
        describe : TableDescription, mapping, str or path-like, default=None
            What people say of the table, or the JSON or YAML file that says it: names, units, meanings of values, for
            readers; orders of categories and markers of missing values, which decide how columns are read. See
            docs/guide/tables.md.

        Returns
        -------
        FERLClassifier
            The estimator itself.
        """
        return self._fit(X, y, sample_weight, description=TableDescription.of(describe, units))

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None = None,
        description: TableDescription = NOTHING_SAID,
    ) -> Self:
        self._forget()
        try:
            rows = self._training_rows(X, y, sample_weight, classes, description)
            return self._take(fit_model(self._settings(), rows))
        except BaseException:
            self._forget()  # an interrupted or refused fit leaves no half-new, half-old model behind
            raise

    def _forget(self) -> None:
        for name in ("model_", "drift_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)

    def _settings(self) -> Settings:
        return Settings.of(self.get_params(deep=False))

    def _training_rows(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: ArrayLike | None = None,
        description: TableDescription = NOTHING_SAID,
    ) -> Rows:
        """The rows to learn from, checked; where they are is the business of those who override this."""
        table, schema, found, found_codes = learn_table(self, X, y, self.categorical_features, description)
        settled, codes = settle_classes(found, found_codes, classes)
        weight, unit = weights_and_factors(sample_weight, self.class_weight, settled, codes)
        lacks = np.isnan(table[weight > 0]).any(axis=0) if self.missing_conditions else np.zeros(0, dtype=bool)
        missing = tuple(np.flatnonzero(lacks).tolist())
        block = Block(with_indicators(table, missing), codes, weight)
        return RowsInMemory.of_table(block, Facts(schema, missing, settled, unit), n_threads(self.n_jobs))

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows without growing anew.

        The first block grows the rules, as :meth:`fit` does. Later ones leave their conditions as they are and go on
        with what these sum up: class weights and with them the rules' distributions, the ranges where gates are open,
        means, variances and exemplars; of wide rules the weights of evidence. ``drift_`` says how the block differs
        from the rows before; where it does, or where the first block was small, :meth:`fit` on all rows finds better
        conditions. See docs/guide/updating.md.

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
        >>> clf = FERLClassifier("deep", random_state=0).partial_fit(X[::2], y[::2])
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
            if self.model_.weights is not None:
                self.model_ = with_curvature_of(self.model_, self._later_rows(X, y, sample_weight, classes))
            self.drift_ = None
            return self
        check_parameters(self)
        block = warn_of_little_weight(self._later_rows(X, y, sample_weight, classes))
        self.model_, self.drift_ = update_model(self.model_, self._settings(), block)
        return self

    def _later_rows(self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None) -> Block:
        """Rows of some weight as the fitted model reads them, checked."""
        rows, known = check_rows(self, X), self.classes_
        found, found_codes = learn_labels(self, y, rows.shape)
        codes = known_codes(found, found_codes, classes, known)
        weight, _ = weights_and_factors(sample_weight, self.class_weight, known, codes)
        return rows_of_weight(Block(rows, codes, weight))

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
        if is_wide(self.variant, self.criterion):
            raise ValueError('Only trees are pruned by their impurity. Use variant="deep", or prune for wide rules.')
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
        parameters |= {"variant": model.variant, "criterion": model.criterion(self.criterion)} | asdict(model.reading)
        for name in ("combination", "sources"):
            given, settled = getattr(self, name), getattr(model.reading, name)
            if settled == model.preset[name] and given in (None, settled):
                parameters[name] = given
        return parameters

    @classmethod
    def _get_param_names(cls) -> list[str]:
        found: list[str] = list(_parameter_names(cls))  # type: ignore[arg-type]  # classes can be hashed
        return found

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        # Not categorical, which scikit-learn means of tables of nothing but categories: its checks round all numbers.
        return tags
