"""FERLTreeClassifier: the paper's fuzzy trees."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from ferl._estimator import SHARED_CONSTRAINTS, FERLEstimator
from ferl._learn.drift import Drift
from ferl._learn.grow_trees import fit_tree, grow_tree, pruning_path
from ferl._learn.rows import Block, Rows
from ferl._learn.update import update_tree
from ferl._models.settings import TreeSettings
from ferl._models.tree_model import TreeModel
from ferl._models.words import LinguisticVariable
from ferl._sklearn import Interval, StrOptions, fit_context


class FERLTreeClassifier(FERLEstimator[TreeModel]):
    """One fuzzy tree, as in the paper *Evidential Rule Learning for Interpretable Classification with Abstention*.

    Deep and medium learn splits. Each split is a *band*, not a line: the cut is found again in bootstrap resamples, and
    where the cuts scatter both branches share the row. A row reaches several leaves, whose class distributions are
    combined by Dempster's rule. Compact is a small tree in words that are fixed before learning, "petal length is low";
    an expert may write them (:mod:`ferl.words`).

    Parameters
    ----------
    variant : {"deep", "medium", "compact"}, default="deep"
        Defaults of the parameters that are None: a larger tree, a smaller one, a small one in words.
    words : bool, {"quantile", "triangles", "width", "mdlp"} or sequence of LinguisticVariable, default=None
        False: splits are learned. Otherwise, the tree is in words. "quantile" or True: words of equal weight;
        "triangles": overlapping triangles; "width": words of equal width; "mdlp": words between cuts that separate the
        classes. A sequence of variables is matched to features by name; numbers without words are not used. None:
        "quantile" for compact, learned splits for deep and medium.
    max_rules : int, default=None
        Largest number of leaves. None: 150 for deep, 50 for medium, 15 for compact.
    max_depth : int, default=None
        Largest number of conditions on the way to a leaf. None: 24 for deep, 12 for medium, 5 for compact.
    n_sets : int, default=3
        Number of words for a feature, 2 to 7 ("mdlp": at most), when they are made from the table.
    min_rule_worth : float, default=None
        Words: the least loss by the criterion without the word; words with a smaller loss are removed. None: 0 for deep
        and medium, 0.045 for compact.
    min_leaf_weight : float, default=2.0
        Least training weight on either side of a split, or below a word, in rows.
    min_gain : float, default=None
        Least gain of a split or word by the criterion, as a share of the whole training weight ("entropy": in nats);
        one that gains less is weak. None: 0 for deep and medium, 0.005 for compact.
    patience : int, default=3
        Number of weak splits or words in a row that growth accepts before a strong one. If none follows they are
        removed.
    min_coverage : float, default=0.0
        Share of the training weight that a node needs to grow further.
    criterion : {"gini", "entropy", "cci", "consistent"}, default=None
        Learned splits: the criterion that chooses features and nodes (Gini always chooses the cut of a feature). "gini"
        (None: this): the weighted Gini decrease. "entropy": the decrease of entropy, which halves many classes where
        Gini separates them one by one, so that rules are shorter. "cci": the weight that the two children's majority
        classes classify better than the parent's (ties by Gini). Words: "consistent" (None: this): the change in
        accuracy plus mean log-probability of the training rows, by the evidence of all nodes together. "cci": accuracy
        alone, the paper's.
    n_resamples : int, default=25
        Learned splits: number of bootstrap resamples behind each band. Multiples of 8 cost least.
    band : {"mean_std", "median_mad"}, default="mean_std"
        Learned splits: how centre and half-width of a band follow from the cuts of the resamples. Often "median_mad" is
        0, and the tree crisp.
    band_scale : float, default=1.0
        Learned splits: factor on the half-width of a band.
    two_mode : bool, default=True
        Learned splits: where cuts fall into two groups, use the group of the full-sample cut, if the rows outside the
        resamples confirm it.
    n_banded_features : int or None, default=1
        Learned splits: how many features per node, best first by their crisp cut, get a band and compete with it.
        None: all.
    consequents : {"shrinkage", "laplace", "raw"}, default="shrinkage"
        How class weights become the distribution of a node: hierarchical shrinkage towards its parent, one row of each
        class added, or the frequencies themselves.
    shrinkage : float, default=5.0
        Strength of hierarchical shrinkage, in rows.
    combination : {"dempster", "cautious", "chain", "vote"}, default="dempster"
        How evidence is combined: Dempster's rule; Denoeux's cautious rule, for sources that repeat each other; cautious
        along each path and Dempster across paths; or the mixture of the sources' distributions.
    sources : {"leaves", "all"}, default=None
        Which nodes are sources of evidence: the leaves, or every node but the root. ("chain" always reads whole paths.)
        None: the leaves; all for a tree in words.
    discount : float, default=0.0
        Believe a source backed by training weight W only to the share ``W / (W + discount)``.
    support_gate : bool, default=True
        Fade out conditions outside the range of the training rows that reached them, so that far-away rows get
        ignorance instead of a confident answer.
    gate_margin : float, default=1.0
        How far outside, in ranges of the feature, a condition is not met at all.
    ccp_alpha : float, default=0.0
        Cost-complexity pruning after growth: impurity that one rule must save, as in scikit-learn.
    growth_rows : int or None, default=50_000
        With more distinct rows than this, conditions are chosen on a random sample of this size. Distributions of
        leaves and ranges always come from all rows. None: no sampling.
    n_exemplars : int, default=None
        Number of training rows that each node keeps to compare new rows with, for :meth:`novelty`. 0: the model keeps
        no training row, and novelty is the paper's residual. None: 128 for deep and medium, 256 for compact.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn. Weights that would lower the total weight of all rows are scaled up.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to read as categories, by name, by number, or as a mask, in addition to text, categorical and boolean
        columns. None: no feature is a category.
    missing_conditions : bool, default=False
        Whether rules may test if a value is missing, where this separates the classes. Otherwise a missing value is no
        evidence: it goes down every branch, in the proportions of the training rows.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        With two classes: 1 for a feature with which the soft vote for the second class (``combination="vote"`` of
        the leaves without ``discount``) may only rise, -1: only fall, 0: neither. A dict names the features it
        constrains. Holds where no gate closes: with ``support_gate=False``, everywhere. Learned splits only.
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
    model_ : TreeModel
        All that answers are read from, frozen; the attributes below are its parts.
    tree_ : FuzzyTree
        The rules, as arrays.
    words_ : list of LinguisticVariable or None
        The words of each feature, None for those without. None where conditions are not words.
    n_rules_ : int
        Number of rules (leaves).
    lipschitz_ : float
        How fast answers can change where the gates are open, per unit of the largest change of a feature: the
        L1-norm of the soft vote (with words: of all nodes, before it is normalised).
    n_growth_rows_ : int
        Number of distinct rows that rules were chosen on.
    columns_ : Schema
        Names of the features and their categories: what turns a table into the numbers that rules read.
    categories_ : list of (ndarray or None)
        Categories of each feature, sorted; None for a feature that holds numbers.
    missing_features_ : tuple of int
        Features for which rules may test whether they are missing.
    drift_ : Drift or None
        After :meth:`partial_fit`: how the last block differed from the rows before; None after the first block.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had names.

    Notes
    -----
    ``sample_weight`` counts rows: weight 2 is the row twice, to the last bit. Weights that average less than one per
    given row are scaled up to an average of one; then, a row that is given twice counts as two rows.
    Class weights never make all rows together weigh less than without them.

    The time to fit a tree of words grows with rows x words x classes; deep looks at a class only where it occurs.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("deep", random_state=0).fit(X, y)
    >>> clf.predict(X[:1])
    array([0])
    >>> clf.predict_set([[60.0, 30.0, 50.0, 20.0]])  # nothing like any iris: abstains
    array([[ True,  True,  True]])
    """

    _settings_type = TreeSettings
    _moved: ClassVar[dict[str, str]] = {
        "partition": "write words=...",
        "prune": "ccp_alpha prunes trees; prune belongs to FERLClassifier.",
        "max_conditions": "max_depth limits the rules of a tree; max_conditions belongs to FERLClassifier.",
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "variant": [StrOptions({"deep", "medium", "compact"})],
        "words": ["boolean", str, "array-like", None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_leaf_weight": [Interval(Real, 0, None, closed="neither")],
        "min_gain": [Interval(Real, 0, None, closed="left"), None],
        "patience": [Interval(Integral, 0, None, closed="left")],
        "min_coverage": [Interval(Real, 0, 1, closed="both")],
        "criterion": [StrOptions({"gini", "entropy", "cci", "consistent"}), None],
        "n_resamples": [Interval(Integral, 1, 1000, closed="both")],
        "band": [StrOptions({"mean_std", "median_mad"})],
        "band_scale": [Interval(Real, 0, None, closed="left")],
        "two_mode": ["boolean"],
        "n_banded_features": [Interval(Integral, 1, None, closed="left"), None],
        "consequents": [StrOptions({"shrinkage", "laplace", "raw"})],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "combination": [StrOptions({"dempster", "cautious", "chain", "vote"})],
        "sources": [StrOptions({"leaves", "all"}), None],
        "discount": [Interval(Real, 0, None, closed="left")],
        "ccp_alpha": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        variant: str = "deep",
        *,
        words: bool | str | Sequence[LinguisticVariable | None] | None = None,
        max_rules: int | None = None,
        max_depth: int | None = None,
        n_sets: int = 3,
        min_rule_worth: float | None = None,
        min_leaf_weight: float = 2.0,
        min_gain: float | None = None,
        patience: int = 3,
        min_coverage: float = 0.0,
        criterion: str | None = None,
        n_resamples: int = 25,
        band: str = "mean_std",
        band_scale: float = 1.0,
        two_mode: bool = True,
        n_banded_features: int | None = 1,
        consequents: str = "shrinkage",
        shrinkage: float = 5.0,
        combination: str = "dempster",
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
        self.words = words
        self.max_rules = max_rules
        self.max_depth = max_depth
        self.n_sets = n_sets
        self.min_rule_worth = min_rule_worth
        self.min_leaf_weight = min_leaf_weight
        self.min_gain = min_gain
        self.patience = patience
        self.min_coverage = min_coverage
        self.criterion = criterion
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

    @classmethod
    def _refuse_moved(cls, variant: Any = "deep", *_: Any, **parameters: Any) -> None:
        """Refuse as well the values that meant rules, before these had a class."""
        given = parameters | {"variant": variant}
        for name, value in (("variant", "wide"), ("criterion", "evidence"), ("combination", "weights")):
            if isinstance(given.get(name), str) and given[name] == value:
                raise ValueError(f"{name} is {value!r}: rules whose evidence adds up are FERLClassifier().")
        super()._refuse_moved(**parameters)

    def _learn(self, settings: TreeSettings, rows: Rows) -> TreeModel:
        return fit_tree(settings, rows)

    def _update(self, settings: TreeSettings, block: Block) -> tuple[TreeModel, Drift]:
        return update_tree(self.model_, settings, block)

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
        settings = self._settings()
        settings.check()
        rows = type(self)(**self.get_params())._training_rows(X, y, sample_weight)
        ccp_alphas, impurities = pruning_path(grow_tree(settings, rows)[0])
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
        FERLTreeClassifier
            Fitted, with these parameters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLTreeClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLTreeClassifier("medium", random_state=0).fit(X, y)
        >>> vote = clf.reading(combination="vote")
        >>> clf.predict_proba(X[127:128]).round(2), vote.predict_proba(X[127:128]).round(2)
        (array([[0.11, 0.23, 0.65]]), array([[0.01, 0.21, 0.78]]))
        >>> vote.tree_ is clf.tree_
        True
        """
        return self._read_as(
            combination=combination,
            sources=sources,
            discount=discount,
            support_gate=support_gate,
            gate_margin=gate_margin,
        )
