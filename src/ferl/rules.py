"""FERLClassifier: a list of short rules whose evidence adds up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from ferl._estimator import SHARED_CONSTRAINTS, FERLEstimator
from ferl._learn.drift import Drift
from ferl._learn.grow_rules import fit_rules
from ferl._learn.rows import Block, Rows
from ferl._learn.update import update_rules
from ferl._learn.update_rules import with_curvature_of
from ferl._models.cases import CaseChoice
from ferl._models.evidence import SET_LEVEL, RuleEvidence, checked_level
from ferl._models.rule_model import RuleModel
from ferl._models.settings import MAX_CONDITIONS, MAX_MAPS, N_CASES, VARIANTS, RuleSettings, check_words
from ferl._models.words import LinguisticVariable
from ferl._sklearn import Interval, StrOptions, fit_context
from ferl._tables import TableDescription
from ferl._tell.similar import SimilarCases, similar_cases
from ferl._util.arrays import Bools, Floats
from ferl._util.threads import n_threads

_TREES = 'the paper\'s trees are FERLTreeClassifier("deep" | "medium" | "compact").'


class FERLClassifier(FERLEstimator[RuleModel]):
    """A list of short fuzzy rules whose evidence adds up.

    Each rule has one to three conditions and supports or opposes every class with a weight of evidence, in proportion
    to how far a row fits it. The weights add up to scores, whose softmax is the probability. The evidence discounts it
    by the number of training rows that an answer rests on: the fewer they are, the larger is the ignorance. A set of
    classes needs a belief of 2/3; where all classes together have less, the classifier abstains. See
    docs/guide/evidence.md.

    Tables of at least 1,000 rows may get curves of single features and maps of pairs as well, which add to the scores
    what the rules leave unexplained.

    With ``words`` conditions are words that are fixed before learning, "petal length is low"; an expert may write them
    (:mod:`ferl.words`).

    Parameters
    ----------
    words : bool, {"quantile", "triangles", "width", "mdlp"} or sequence of LinguisticVariable, default=False
        False: conditions are learned. Otherwise, rules are in words. "quantile": words of equal weight; "triangles":
        overlapping triangles; "width": words of equal width; "mdlp": words between cuts that separate the classes. A
        sequence of variables is matched to features by name; numbers without words are not used. True: triangles, and
        few rules.
    max_rules : int or "auto", default=None
        Largest number of rules. None: 150, or 15 with ``words=True``. "auto": inner validation chooses the number, up
        to 1,200, which takes several times as long if many rules are better.
    max_conditions : int, default=3
        Largest number of conditions of a rule, 1 to 3. With 1 every feature has one curve.
    max_maps : int or None, default=25
        Largest number of maps. Tables of at least 1,000 rows get curves of single features and maps of pairs behind
        the rules, where validation shows that they lower the log-loss. 0: curves alone. None: rules alone. With
        ``max_conditions=1`` there are no maps, with ``words`` neither curves nor maps.
    n_sets : int, default=3
        Number of words for a feature, 2 to 7 ("mdlp": at most), when they are made from the table.
    min_rule_worth : float, default=None
        Share of the information of all rules (in nats, at most 1) that each rule must keep; others are removed, the
        least first. None: 0, or 0.05 with ``words=True``.
    prune : float, default=0.0015
        Rules are removed, and the others corrected, as long as the mean Kullback-Leibler divergence (in nats) from the
        predictions of all rules on the training rows stays below this value. 0: no rule is removed. With more than
        10,000 rows the value is at most 15 / n_rows, so rules that apply to many rows are kept.
    effort : int, default=1
        Number of models, from other random choices and other parts of inner validation, whose rules are joined and
        whose weights are averaged; then rules are removed down to the size of one model. Better answers at the same
        size; learning the rules takes a little more than ``effort`` times as long.
    cases : bool, default=False
        Whether the most similar training rows may vote, beside the rules. Inner validation decides whether they help
        and how strongly they count; ``cases_`` has what it found. The model then keeps training rows: see
        docs/guide/cases.md on what a model file holds.
    n_cases : int, default=20_000
        Largest number of training rows that are kept as cases. Rows that the other kept rows mispredict are kept first.
    support_gate : bool, default=True
        Fade out rules outside the training range, so that far-away rows get ignorance instead of a confident answer.
    gate_margin : float, default=1.0
        How far outside, in ranges of the feature, a rule adds nothing.
    growth_rows : int or None, default=500_000
        With more distinct rows than this, rules and weights are learned on a random sample of this size, which is held
        in memory (8 bytes a value). Ranges always come from all rows. None: no sampling, but weights come from at most
        500,000 rows.
    n_exemplars : int, default=1024
        Number of training rows that the model keeps to compare new rows with, for :meth:`novelty`; they are chosen to
        cover the others. 0: it keeps none for this purpose (``cases=True`` keeps rows nevertheless), and novelty is the
        paper's residual.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as in scikit-learn. Weights that would lower the total weight of all rows are scaled up.
    categorical_features : "from_dtype", array-like or None, default="from_dtype"
        Features to read as categories, by name, by number, or as a mask, in addition to text, categorical and boolean
        columns. None: no feature is a category.
    missing_conditions : bool, default=False
        Whether rules may test if a value is missing, where this separates the classes. Otherwise a missing value is no
        evidence: it matches a condition to the same degree as the training rows do on average.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        With two classes: 1 for a feature with which the log-odds of the second class may only rise, -1: only fall, 0:
        neither. A dict names the features it constrains. Holds for all values: outside the training range such a
        feature counts as its nearest end in scores and probabilities; its gate lowers belief alone.
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
    model_ : RuleModel
        All that answers are read from, frozen; the attributes below are its parts.
    tree_ : FuzzyTree
        The rules, as arrays.
    words_ : list of LinguisticVariable or None
        The words of each feature, None for those without. None where conditions are not words.
    n_rules_ : int
        Number of rules.
    n_curves_, n_maps_ : int
        Number of curves and of maps behind the rules.
    cases_ : CaseChoice or None
        Whether similar cases are used, and what they gain; None with ``cases=False``.
    n_cases_ : int
        Number of training rows that are kept as cases.
    n_corners_, n_cells_ : int
        Number of steps of all curves, and of cells of all maps.
    lipschitz_ : float
        Bound on how fast the difference of two scores can change where the gates are open, per unit of the largest
        change of a feature.
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

    Categories of more than 10 values are used by their evidence, dates by their calendar parts and either as a number
    or by the evidence of single days; see docs/guide/tables.md. :meth:`partial_fit` leaves this evidence, and the
    values of curves and maps, as they are after the first block.

    Rules have a weight for every class: with 200 classes 10,000 rows of 20 columns take 6 to 15 s of processor time.

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

    _settings_type = RuleSettings
    _moved: ClassVar[dict[str, str]] = {
        "variant": f"it is a list of rules; {_TREES} Few rules in words: words=True.",
        "partition": "write words=...",
        "criterion": f"rules have one; {_TREES}",
        "combination": f"the evidence of rules adds up; {_TREES}",
        "max_depth": f"max_conditions limits how long rules are (1 to 3); {_TREES}",
        "ccp_alpha": f"prune and min_rule_worth remove rules; {_TREES}",
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "max_rules": [*SHARED_CONSTRAINTS["max_rules"], StrOptions({"auto"})],
        "n_exemplars": [Interval(Integral, 0, None, closed="left")],
        "max_conditions": [Interval(Integral, 1, MAX_CONDITIONS, closed="both")],
        "max_maps": [Interval(Integral, 0, None, closed="left"), None],
        "prune": [Interval(Real, 0, None, closed="left")],
        "effort": [Interval(Integral, 1, None, closed="left")],
        "cases": ["boolean"],
        "n_cases": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        words: bool | str | Sequence[LinguisticVariable | None] = False,
        *,
        max_rules: int | str | None = None,
        max_conditions: int = 3,
        max_maps: int | None = MAX_MAPS,
        n_sets: int = 3,
        min_rule_worth: float | None = None,
        prune: float = 0.0015,
        effort: int = 1,
        cases: bool = False,
        n_cases: int = N_CASES,
        support_gate: bool = True,
        gate_margin: float = 1.0,
        growth_rows: int | None = 500_000,
        n_exemplars: int = 1024,
        class_weight: Mapping[Any, float] | str | None = None,
        categorical_features: Sequence[str | int | bool] | str | None = "from_dtype",
        missing_conditions: bool = False,
        monotonic_cst: Sequence[int] | Mapping[str, int] | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.words = words
        self.max_rules = max_rules
        self.max_conditions = max_conditions
        self.max_maps = max_maps
        self.n_sets = n_sets
        self.min_rule_worth = min_rule_worth
        self.prune = prune
        self.effort = effort
        self.cases = cases
        self.n_cases = n_cases
        self.support_gate = support_gate
        self.gate_margin = gate_margin
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
    def _refuse_moved(cls, words: Any = False, *_: Any, **parameters: Any) -> None:
        """Refuse as well the names of models, which once were this class's first parameter."""
        if isinstance(words, str) and words == "wide":
            raise ValueError("words is 'wide', which once was the name of this model. Leave it out.")
        if isinstance(words, str) and words in VARIANTS:
            check_words(words)
        super()._refuse_moved(**parameters)

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
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
            How often each row counts: weight 2 is the row twice. Weights that average less than one per given row are
            scaled up to one, whatever rows are equal; there, the row twice is two rows.
        groups : array-like of shape (n_samples,), default=None
            Group of each row: a patient, a machine, a month. The number of rules, their ridge, curves and maps
            are validated on groups that were held out as a whole, so that copies of a row, or rows of one time, do not
            confirm each other. None: if single days of a date have evidence, whole days are held out. See
            docs/guide/tables.md.
        units : mapping of str to str, default=None
            Units of numbers, by column: {"glucose": "mg/dl"}. For readers only.
        describe : TableDescription, mapping, str or path-like, default=None
            Description of the table, or a JSON or YAML file with it. Names, units and meanings of values are for
            readers; orders of categories and markers of missing values decide how columns are read. See
            docs/guide/tables.md.

        Returns
        -------
        self : estimator
            The fitted classifier itself.

        Examples
        --------
        Sixty patients, each measured eight times, and a label that is noise. Without groups the measurements of a
        patient confirm each other, and a warning reports rows that nearly repeat:

        >>> import numpy as np
        >>> from ferl import FERLClassifier
        >>> rng = np.random.default_rng(0)
        >>> patient = np.repeat(np.arange(60), 8)
        >>> X = rng.normal(size=(60, 5))[patient] + 0.02 * rng.normal(size=(480, 5))
        >>> y = rng.integers(2, size=60)[patient]
        >>> clf = FERLClassifier(random_state=0).fit(X, y, groups=patient)
        >>> bool(clf.predict_proba(rng.normal(size=(500, 5))).max(axis=1).mean() < 0.7)
        True
        """
        return self._fit(X, y, sample_weight, description=TableDescription.of(describe, units), groups=groups)

    def _learn(self, settings: RuleSettings, rows: Rows) -> RuleModel:
        return fit_rules(settings, rows)

    def _update(self, settings: RuleSettings, block: Block) -> tuple[RuleModel, Drift]:
        return update_rules(self.model_, settings, block)

    def _begin_updates(self, X: Any, y: Any, sample_weight: Any, classes: ArrayLike | None) -> None:
        self.model_ = with_curvature_of(self.model_, self._later_rows(X, y, sample_weight, classes))

    def reading(self, *, support_gate: bool | None = None, gate_margin: float | None = None) -> Self:
        """Another classifier that shares this fitted model and has other gates.

        Gates are settled when a model is fitted: parameters that are set later count for the next fit.

        Parameters
        ----------
        support_gate, gate_margin : default=None
            As in the constructor; None: as this classifier has them.

        Returns
        -------
        FERLClassifier
            Fitted, with these parameters.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).fit(X, y)
        >>> far = [[60.0, 30.0, 50.0, 20.0]]
        >>> for classifier in (clf, clf.reading(support_gate=False)):
        ...     print(f"{classifier.predict_proba(far).max():.2f}")
        0.33
        1.00
        """
        return self._read_as(support_gate=support_gate, gate_margin=gate_margin)

    def decision_function(self, X: ArrayLike) -> Floats:
        """The summed weights of evidence, whose softmax is :meth:`predict_proba`.

        Outside the training range, as far as gates are closed, the logarithms of the class frequencies count instead.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Two classes: the score of the second class minus the score of the first.
        """
        rows = self._rows(X)
        scores = self.model_.decision_scores(rows, n_threads(self.n_jobs))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_evidence(self, X: ArrayLike) -> RuleEvidence:
        """The probability of each row, believed as far as training rows are behind it.

        Ignorance measures how few training rows are behind an answer, and ``rows`` counts them. It does not repeat the
        probability: an answer of 50 % may rest on thousands of rows or on five.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        RuleEvidence
            Belief, plausibility, probability, ignorance, rows and conflict.

        Examples
        --------
        Two answers of 50 %. One row lies among 3,000 training rows, the other among five:

        >>> import numpy as np
        >>> from ferl import FERLClassifier
        >>> rng = np.random.default_rng(0)
        >>> x = np.concatenate([rng.normal(size=3000), rng.normal(size=5) + 8])
        >>> y = np.where(x < 4, x, 8 - x) + rng.logistic(size=len(x)) / 3 > 0
        >>> evidence = FERLClassifier(random_state=0).fit(x[:, None], y).predict_evidence([[0.025], [8.05]])
        >>> evidence.probability[:, 1].round(1)
        array([0.5, 0.5])
        >>> evidence.rows.round()
        array([692.,   4.])
        >>> evidence.ignorance.round(3)
        array([0.001, 0.185])
        """
        return self.model_.evidence(self._rows(X), n_threads(self.n_jobs))

    def predict_set(self, X: ArrayLike, *, level: float = SET_LEVEL) -> Bools:
        """The fewest, most probable classes whose beliefs sum to the level, bool of shape (n_samples, n_classes).

        The set of all classes is an abstention: the classes are close, or few training rows are behind the answer. The
        level does not guarantee that this share of sets contains the true class; :class:`ferl.ConformalFERL` gives a
        guarantee.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        level : float, default=2/3
            Above 0 and at most 1. A higher level makes larger sets.

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import FERLClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = FERLClassifier(random_state=0).fit(X[::2], y[::2])
        >>> [float(clf.predict_set(X[1::2], level=level).sum(axis=1).mean().round(2)) for level in (0.5, 2 / 3, 0.9)]
        [1.0, 1.05, 1.35]
        """
        return self.predict_evidence(X).prediction_set(checked_level(level))

    def contributions(self, X: ArrayLike) -> Floats:
        """What each rule, curve and map adds to the scores, shape (n_samples, n_terms + 1, n_classes).

        Rules come first, then curves, then maps; the last entry is the prior's. They sum to the scores, whose softmax
        is :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        """
        rows = self._rows(X)
        return self.model_.contributions(rows, n_threads(self.n_jobs))

    def feature_contributions(self, X: ArrayLike) -> Floats:
        """What each feature adds to the scores, shape (n_samples, n_features + 1, n_classes).

        The last entry is the prior's; a rule of several conditions, and a map, is shared equally among its features.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        """
        rows = self._rows(X)
        return self.model_.feature_contributions(rows, n_threads(self.n_jobs))

    @property
    def evidence_weights_(self) -> Floats:
        """Weight of evidence of each rule for each class, shape (n_rules, n_classes); rows sum to zero."""
        return self._fitted().rules.weight

    @property
    def prior_(self) -> Floats:
        """Score of each class before any rule applies, shape (n_classes,)."""
        return self._fitted().prior

    def similar(self, X: Any, n: int = 5) -> SimilarCases:
        """The most similar known cases: what they were, how far they are, and how much each adds.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        n : int, default=5
            How many cases of each row.

        Returns
        -------
        SimilarCases
            With ``to_frame``; ``print`` it for text, or look at it in a notebook. A row without any value that counts
            is at distance 0 from all cases, which then come in the order of their numbers.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from ferl import FERLClassifier
        >>> data = load_wine()
        >>> labels = data.target_names[data.target]
        >>> clf = FERLClassifier(cases=True, random_state=0).fit(data.data[::2], labels[::2])
        >>> clf.similar(data.data[1:2], n=3).label.tolist()
        [['class_0', 'class_0', 'class_0']]
        """
        model = self._fitted()
        if model.cases is None:
            why = "it was fitted with cases=False" if model.case_choice is None else f"they are {model.case_choice}"
            raise ValueError(f"The model keeps no cases: {why}. Fit with cases=True on rows that they help with.")
        if not model.cases.read_columns:
            raise ValueError(
                "No feature counts in the distance of cases, as all of them were forbidden: no case is more similar to "
                "a row than another, and the cases add nothing."
            )
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n is {n!r}; it must be a number of cases, at least 1.")
        return similar_cases(model, self._rows(X), int(n), n_threads(self.n_jobs))

    @property
    def cases_(self) -> CaseChoice | None:
        """What inner validation found about similar cases; None where the fit did not try them."""
        return self._fitted().case_choice

    @property
    def n_cases_(self) -> int:
        """Number of training rows that are kept as cases."""
        cases = self._fitted().cases
        return 0 if cases is None else cases.n_cases

    @property
    def n_curves_(self) -> int:
        """Number of curves behind the rules."""
        return self._fitted().n_curves

    @property
    def n_maps_(self) -> int:
        """Number of maps behind the rules."""
        return self._fitted().n_maps

    @property
    def n_corners_(self) -> int:
        """Number of steps of all curves."""
        curves = self._fitted().curves
        return 0 if curves is None else curves.n_corners

    @property
    def n_cells_(self) -> int:
        """Number of cells of all maps, without the cells of missing values and unknown categories."""
        curves = self._fitted().curves
        return 0 if curves is None else curves.n_map_cells
