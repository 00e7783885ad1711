"""NoveltyDetector: novelty scores turned into p-values, so that nobody has to guess a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from scipy.stats import betabinom, false_discovery_control
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold, train_test_split
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ferl._estimator import FERLEstimator
from ferl._models.model import Model
from ferl._models.novelty import MEASURES
from ferl._sklearn import Interval, LinkedToDocs, StrOptions, fit_context, remember_columns, take_rows
from ferl._util.arrays import Floats
from ferl._util.text import listed, percent_text, spoken, value_text
from ferl._wrapper import frozen, unfitted, with_inputs_of
from ferl.rules import FERLClassifier

MAX_NAMED = 3  # features that a sentence names
LEAST_NAMED = 0.1  # share of a row's novelty that a named feature makes
_SURE = 0.001  # probability by chance below which a batch has drifted
_MOST_ROWS = 1000  # beyond, a batch is large enough for a conclusion, or no size is
UNLABELLED_EXEMPLARS = 2048  # without labels there is one rule, which is then compared with this many rows


@dataclass(frozen=True)
class BatchDrift:
    """How many rows of a batch look unlike the training rows, against how many would by chance.

    Attributes
    ----------
    n_rows : int
        Rows of the batch.
    n_novel : int
        Rows with a p-value of at most ``alpha``.
    alpha : float
        The share of novel rows that is expected by chance.
    p_value : float
        Probability of at least this number of novel rows by chance.
    features : tuple of (str, float)
        What each feature adds to the novelty of these rows, as a share, the largest first.
    least_rows : int
        Least size of a batch that is reported as drift if half of its rows are novel; smaller batches are too small for
        a conclusion.
    """

    n_rows: int
    n_novel: int
    alpha: float
    p_value: float
    features: tuple[tuple[str, float], ...]
    least_rows: int = 0

    @property
    def verdict(self) -> str:
        """Whether the batch is unlike the training rows, in a sentence or two."""
        expected = self.alpha * self.n_rows
        by_chance = "less than one" if expected < 1 else f"about {expected:,.0f}"
        result = (
            f"{self.n_novel:,} of {self.n_rows:,} rows are unlike the training rows, where chance explains {by_chance}"
        )
        if self.p_value > _SURE and self.n_rows < self.least_rows:
            rows = "1 row is" if self.n_rows == 1 else f"{self.n_rows} rows are"
            return f"Verdict: {rows} too few to detect drift; {self.least_rows} are enough. {result}."
        if self.p_value > _SURE:
            return f"Verdict: no sign of drift. {result}."
        named = [f"{spoken(name)} ({percent_text(part)})" for name, part in self.features[:MAX_NAMED]]
        return f"Verdict: drift. {result}. Most of their novelty comes from {listed(named)}."

    def __str__(self) -> str:
        return self.verdict


@dataclass(frozen=True)
class Judge:
    """A fitted classifier, and the ascending novelty of rows that it was not fitted on."""

    classifier: Any
    calibration: Floats


def _refuse_fit_predict(detector: Any) -> bool:
    raise AttributeError(
        "NoveltyDetector has no fit_predict: it judges new rows, and would find its training rows familiar. Call "
        "fit(X, y) and then predict on other rows."
    )


class NoveltyDetector(LinkedToDocs, OutlierMixin, BaseEstimator):
    """Says which rows are unlike the training rows, with a stated rate of false alarms.

    The novelty of a row (:meth:`FERLClassifier.novelty`) is compared with the novelty of rows that the classifier was
    not fitted on. The share of these rows that is at least as novel is a conformal *p-value*: for a row from the same
    distribution it is rarely small. The notes give the proven bound.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier, default=None
        The classifier whose novelty is used. None: ``FERLClassifier()``.
    cv : int, float or "prefit", default=5
        Where the rows come from that new rows are compared with. An int: cross-fitted, each row is judged by a
        classifier that was fitted on the other ``cv - 1`` parts; no row is given away. A float: this share of the rows
        is held out. "prefit": ``estimator`` is fitted already, and the rows given to :meth:`fit` are held-out rows.
    alpha : float, default=0.05
        Wanted rate of false alarms of :meth:`predict` for each row, and false discovery rate of :meth:`detect`.
    measure : {"neighbour", "residual"}, default=None
        As in :meth:`FERLClassifier.novelty`.
    random_state : int, RandomState or None, default=None
        How rows are divided, and the seed of the default classifier. (A classifier that is given keeps its seed.)

    Attributes
    ----------
    estimator_ : FERLClassifier or FERLTreeClassifier
        The classifier fitted on all rows but those held out; names the features of novel rows.
    n_calibration_ : int
        Number of rows that new rows are compared with.
    offset_ : float
        ``decision_function`` is ``score_samples`` minus this; follows ``alpha``.
    measure_ : str or None
        ``measure`` at the time of fitting.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when the training table had names.

    Notes
    -----
    *Held out and prefit*: if calibration rows and a new row are exchangeable (drawn alike), ``P(p <= alpha) <= alpha``,
    over the draw of both. Over a batch, :meth:`detect` keeps the expected share of false discoveries below ``alpha``
    (Bates, Candes, Lei, Romano and Sesia, 2023).

    *Cross-fitted*: a row is compared with each of K parts under the classifier that did not see this part. Proven is
    ``P(p <= alpha) <= 2 alpha + 2 (1 - alpha) (K - 1) / (n + K)`` for n rows (as for cross-conformal sets); the rate
    itself is close to ``alpha``. For batches nothing is proven.

    Rows of the training table have too small a novelty, since rows are compared with the training rows. So there is no
    ``fit_predict``.

    Without labels the classifier is one rule, and novelty the distance to the nearest of some training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from ferl import NoveltyDetector
    >>> X, y = load_wine(return_X_y=True)
    >>> known = y != 2
    >>> detector = NoveltyDetector(alpha=0.05, random_state=0).fit(X[known], y[known])
    >>> float((detector.predict(X[~known]) == -1).mean()) > 0.5  # the third kind of wine
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [FERLEstimator, None],
        "cv": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"prefit"}),
        ],
        "alpha": [Interval(Real, 0, 1, closed="neither")],
        "measure": [StrOptions(set(MEASURES)), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: FERLEstimator[Any] | None = None,
        *,
        cv: int | float | str = 5,
        alpha: float = 0.05,
        measure: str | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.alpha = alpha
        self.measure = measure
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Fit the classifier and judge rows that it has not seen.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows without novelties; with ``cv="prefit"``, rows that the estimator was not fitted on.
        y : array-like of shape (n_samples,), default=None
            Labels. None: all rows are of one kind. Not used with ``cv="prefit"``.

        Returns
        -------
        NoveltyDetector
            The detector itself.
        """
        self.__dict__.pop("_judges", None)  # a fit that is refused leaves no half-new, half-old detector behind
        table: Any = self._checked_table(X)
        # Without labels all rows are of one class.
        labels = np.zeros(len(table), dtype=np.int64) if y is None else np.asarray(y)
        is_labelled = y is not None
        if self.cv == "prefit":
            judges = [self._prefit_judge(table)]
        elif labels.shape[:1] != (len(table),):
            raise ValueError(f"X has {len(table)} rows, but y has shape {labels.shape}. Pass one label for each row.")
        else:
            judges = []
            for item, held_out in self._splits(len(table)):
                classifier = self._classifier(is_labelled).fit(take_rows(table, item), take_rows(labels, item))
                judges.append(self._judge_of(classifier, take_rows(table, held_out)))
        self.n_calibration_ = sum(len(judge.calibration) for judge in judges)
        self._checked_allowed(self.n_calibration_)
        self.measure_ = self.measure  # calibration rows and new ones must be measured alike
        one = judges[0].classifier
        # A copy, which may be fitted again: judges stay as they were when they were compared.
        self.estimator_ = frozen(one) if len(judges) == 1 else self._classifier(is_labelled).fit(table, labels)
        self._judges = judges
        return self

    @property
    def offset_(self) -> float:
        """Rows whose ``score_samples`` is below it are outliers."""
        check_is_fitted(self)
        # A row is an outlier up to this p-value, inclusive; scikit-learn's outliers are below the offset.
        return float(np.nextafter(self._checked_allowed(self.n_calibration_) / (self.n_calibration_ + 1), 1))

    @available_if(_refuse_fit_predict)
    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None) -> NDArray[np.int64]:
        """Not offered: rows are not judged by a detector that has seen them."""
        raise NotImplementedError

    def p_values(self, X: ArrayLike) -> Floats:
        """P-value of each row, shape (n_samples,): the smaller, the less it looks like the training rows."""
        return self._judge(X)[0]

    def detect(self, X: ArrayLike, alpha: float | None = None) -> NDArray[np.bool_]:
        """Novel rows of a batch, by the procedure of Benjamini and Hochberg, bool of shape (n_samples,).

        Among the rows it finds, the expected share of false discoveries is at most ``alpha``, with held-out rows (see
        the notes). Unlike :meth:`predict`, which judges each row alone and in a large batch of ordinary rows always
        finds some.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The batch.
        alpha : float, default=None
            False discovery rate; by default the detector's.

        Returns
        -------
        ndarray of shape (n_samples,), bool
        """
        rate = self.alpha if alpha is None else alpha
        if not 0 < rate < 1:
            raise ValueError(f"alpha is {rate}; a false discovery rate lies between 0 and 1.")
        # P-values are whole shares, so they often meet the bound exactly, and rounding must not decide.
        return np.asarray(false_discovery_control(self.p_values(X), method="bh") <= rate * (1 + 1e-12))

    def novelty(self, X: ArrayLike) -> Floats:
        """Novelty by the classifier fitted on all rows, shape (n_samples,); higher is more novel."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.novelty(X, measure=self.measure_))

    def novelty_attribution(self, X: ArrayLike) -> Floats:
        """What each feature adds to :meth:`novelty`, shape (n_samples, n_features)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.novelty_attribution(X, measure=self.measure_))

    def explain(self, X: ArrayLike) -> list[str]:
        r"""A sentence for each row: whether it is novel, against how many rows, and by which features.

        Names, units and meanings of values come from the classifier inside: fit one with ``describe=`` and pass it with
        ``cv="prefit"``.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        list of str

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from ferl import NoveltyDetector
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> detector = NoveltyDetector(random_state=0).fit(X, y)
        >>> odd = X.iloc[[0, 0]].copy()
        >>> odd.iloc[0, 3] = 2.4
        >>> for sentence in detector.explain(odd):
        ...     print(sentence.replace(";", ";\n "))
        Novel (p = 0.007): more unusual than all 150 rows it was compared with;
          88 % of its novelty is from petal width (cm) 2.4.
        Ordinary (p = 1.000): all 150 rows it was compared with are at least as unusual.
        """
        p_values, parts = self.p_values(X), self.novelty_attribution(X)
        most = self._checked_allowed(self.n_calibration_) / (self.n_calibration_ + 1)
        model, rows, result = self.estimator_.model_, self.estimator_._rows(X), []
        for row, p, part in zip(rows, p_values.tolist(), parts, strict=True):
            shown = f"p = {p:.3f}" if p >= 0.0005 else "p < 0.001"
            what = f"({shown}): {_rank_text(p, self.n_calibration_)}"
            result.append(f"Novel {what}{_reasons(model, row, part)}." if p <= most else f"Ordinary {what}.")
        return result

    def drift(self, X: ArrayLike) -> BatchDrift:
        """Whether a batch as a whole is unlike the training rows: more of its rows are novel than chance explains.

        Rows of the same source have p-values of at most ``alpha`` with a probability of about ``alpha``; a batch with
        many more of them has drifted. How many come by chance is a beta-binomial variable, exactly so with held-out
        rows, closely with cross-fitted ones. Drift is what has a probability below 0.001 by chance.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The batch.

        Returns
        -------
        BatchDrift
            Its ``verdict`` is a sentence.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from ferl import NoveltyDetector
        >>> X, y = load_wine(return_X_y=True)
        >>> detector = NoveltyDetector(random_state=0).fit(X[::2], y[::2])
        >>> detector.drift(X[1::2]).verdict[:27]
        'Verdict: no sign of drift. '
        >>> detector.drift(X[1::2] + X.std(axis=0)).verdict[:15]
        'Verdict: drift.'
        """
        p_values = self.p_values(X)
        n_rows = len(p_values)
        n_allowed, n_compared = self._checked_allowed(self.n_calibration_), self.n_calibration_ + 1
        novel = p_values <= n_allowed / n_compared
        # The rate of false alarms, given the calibration rows, is a beta variable (Vovk, 2012), so their number in a
        # batch is beta-binomial.
        by_chance = betabinom.sf(novel.sum() - 1, n_rows, n_allowed, n_compared - n_allowed)
        parts = self.novelty_attribution(X)[novel]
        finite = np.where(np.isfinite(parts), parts, 0.0).sum(axis=0)
        share = finite / max(float(finite.sum()), np.finfo(np.float64).tiny)
        names = self.estimator_.model_.feature_names()
        order = np.argsort(-share, kind="stable").tolist()
        by_feature = tuple((names[f], float(share[f])) for f in order)
        least_rows = _least_rows(n_allowed, n_compared)
        return BatchDrift(n_rows, int(novel.sum()), n_allowed / n_compared, float(by_chance), by_feature, least_rows)

    def score_samples(self, X: ArrayLike) -> Floats:
        """How ordinary each row is, shape (n_samples,): its p-value, and among equal p-values the less novel first."""
        p_values, novelty = self._judge(X)
        # At most half the distance to the next p-value, however novel: infinity is a novelty too.
        return p_values - 0.5 * (1 - 1 / (1 + novelty)) / (self.n_calibration_ + 1)

    def decision_function(self, X: ArrayLike) -> Floats:
        """``score_samples`` minus ``offset_``, shape (n_samples,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """-1 for rows with a p-value of at most ``alpha``, 1 for the others, shape (n_samples,)."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        return with_inputs_of(tags, FERLClassifier() if self.estimator is None else self.estimator)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_judges")

    def _judge(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """P-values, and novelty as the mean over the judges."""
        check_is_fitted(self)
        scores = [judge.classifier.novelty(X, measure=self.measure_) for judge in self._judges]
        n_as_novel = np.ones(len(scores[0]))  # the row itself
        for judge, novelty in zip(self._judges, scores, strict=True):
            n_as_novel += len(judge.calibration) - np.searchsorted(judge.calibration, novelty, side="left")
        return n_as_novel / (self.n_calibration_ + 1), np.mean(scores, axis=0)

    def _checked_table(self, X: Any) -> Any:
        """The table as it is, if rows can be taken from it; the classifier checks what is in it."""
        if issparse(X):
            raise TypeError("Sparse input is not supported. Pass a dense table, for example X.toarray().")
        if not hasattr(X, "__len__"):
            X = np.asarray(X)
        remember_columns(self, X)
        return X

    def _classifier(self, is_labelled: bool) -> Any:
        """What is fitted; without labels it keeps more training rows to compare new rows with."""
        classifier = (
            FERLClassifier(random_state=self.random_state) if self.estimator is None else unfitted(self.estimator)
        )
        is_chosen = classifier.n_exemplars != type(classifier)().n_exemplars
        return classifier if is_labelled or is_chosen else classifier.set_params(n_exemplars=UNLABELLED_EXEMPLARS)

    def _prefit_judge(self, X: ArrayLike) -> Judge:
        try:
            check_is_fitted(self.estimator)
        except (TypeError, NotFittedError) as error:
            raise ValueError(
                'cv="prefit" needs an estimator that is fitted already. Fit it first, or have it fitted here with cv=5.'
            ) from error
        # A copy: after another fit of the estimator the calibration rows would no longer match it.
        return self._judge_of(frozen(self.estimator), X)

    def _splits(self, n_rows: int) -> list[Any]:
        """Pairs of row numbers, to fit on and held out; not stratified: held-out rows are drawn as new ones will be."""
        if not isinstance(self.cv, Integral):
            return [train_test_split(np.arange(n_rows), test_size=float(self.cv), random_state=self.random_state)]
        if n_rows < self.cv:
            raise ValueError(f"cv is {self.cv}, but n_samples={n_rows}. Use at most that many parts.")
        return list(KFold(int(self.cv), shuffle=True, random_state=self.random_state).split(np.zeros(n_rows)))

    def _judge_of(self, classifier: Any, X: ArrayLike) -> Judge:
        return Judge(classifier, np.sort(classifier.novelty(X, measure=self.measure)))

    def _checked_allowed(self, n_rows: int) -> int:
        """How many calibration rows, the new one counted, may be as novel as an outlier."""
        # Rounding must not take one away: 0.05 * 20 is 1.
        n_allowed = math.floor(self.alpha * (n_rows + 1) * (1 + 1e-12))
        if n_allowed == 0:
            needed = math.ceil(1 / self.alpha * (1 - 1e-12)) - 1
            raise ValueError(
                f"With alpha={self.alpha} at least {needed} calibration rows are needed; there are {n_rows}. Give more "
                "rows, a larger alpha, or cv=5, which lets every row serve for calibration."
            )
        return n_allowed


def _least_rows(n_allowed: int, n_compared: int) -> int:
    """Size of the smallest batch that is reported as drift if half of its rows are novel; 0 if no size is enough."""
    n_rows = np.arange(1, _MOST_ROWS + 1)
    by_chance = betabinom.sf((n_rows + 1) // 2 - 1, n_rows, n_allowed, n_compared - n_allowed)
    enough = np.flatnonzero(by_chance <= _SURE)
    return int(n_rows[enough[0]]) if len(enough) else 0


def _rank_text(p_value: float, n_compared: int) -> str:
    """Where a row stands among those it was compared with, from its p-value."""
    n_less = n_compared + 1 - round(p_value * (n_compared + 1))
    if n_less == 0:
        return f"all {n_compared} rows it was compared with are at least as unusual"
    share = f"all {n_compared}" if n_less == n_compared else f"{percent_text(n_less / n_compared)} of the {n_compared}"
    return f"more unusual than {share} rows it was compared with"


def _reasons(model: Model, row: Floats, parts: Floats) -> str:
    """The features that make most of a row's novelty, and their values; "" where it is infinite or nothing."""
    total = float(parts.sum())
    if not 0 < total < math.inf:
        return ""
    names, order = model.feature_names(), np.argsort(-parts, kind="stable")[:MAX_NAMED].tolist()
    named = [
        f"{percent_text(parts[f] / total)}{' of its novelty is' * (f == order[0])} from {spoken(names[f])} "
        f"{_value(model, f, float(row[f]))}"
        for f in order
        if f == order[0] or parts[f] >= LEAST_NAMED * total
    ]
    return f"; {listed(named)}"


def _value(model: Model, feature: int, value: float) -> str:
    categories = model.category_names.get(feature)
    if categories is None or math.isnan(value):
        return value_text(None if math.isnan(value) else model.value(feature, value))
    return value_text(categories[int(value)]) if value < len(categories) else "with a new category"
