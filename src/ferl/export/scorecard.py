"""Scorecards: rules as points that add up, as banks have used them for fifty years; and reason codes."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Sequence
from functools import partial
from html import escape
from numbers import Real
from os import PathLike
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin

from ferl._answers import model_of
from ferl._models.evidence import Evidence
from ferl._models.rule_model import RuleModel
from ferl._sklearn import Interval, fit_context
from ferl._tables import data_frame
from ferl._tables.values import harmless_text
from ferl._tell.conditions import MAX_LISTED
from ferl._tell.curves import Points, ScoreLine, ScoreTable, outside_card, read_score_table
from ferl._tell.page import Section, Table, as_html, as_text, escaped, latex_table
from ferl._tell.reasons import POINTS_TO_DOUBLE, Reason, read_reasons
from ferl._tell.statements import Style, in_sentence, reader_names
from ferl._util.arrays import Floats
from ferl._util.files import replace_text
from ferl._util.text import MAX_LETTERS, cut, number_text, one_line, shown
from ferl._wrapper import Wrapper
from ferl.export.binning import (
    Binning,
    FeatureBins,
    PopulationStability,
    bins_of_points,
    monotone_edges,
    read_bins,
    shift_of,
)
from ferl.metrics.comparison import Cost, cost_of_change
from ferl.rules import FERLClassifier

CARD_WIDTH = 160  # columns of the text of a card
WHEN_WIDTH = 80
# A page for a printer, or for "print to PDF": no line of a table is divided, and a table is not parted from its title.
PRINT_STYLE = """\
@page{size:A4;margin:16mm}
body{font:14px/1.4 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.4em}
@media print{body{font-size:9.5pt;margin:0;padding:0;max-width:none}tr,p{break-inside:avoid}h4{break-after:avoid}
thead{display:table-header-group}}"""


def export_scorecard(
    estimator: FERLClassifier,
    *,
    base_points: float = 600,
    base_odds: float = 50,
    points_to_double: float = 20,
    positive: Any = None,
    rounded: bool = False,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    backend: str | None = None,
) -> Any:
    """Rules of a fitted classifier as a scorecard: a table of points that add up.

    A row starts with the points of the first line. Each feature adds the points of the line with its value, and each
    rule on several features adds its points in proportion to how far the row fits it. The total determines the
    probability of the class ``positive``. :class:`Scorecard` offers the same table as text, LaTeX and CSV, totals and
    probabilities of rows, and the model with whole points.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    base_points, base_odds, points_to_double : float, default=600, 50, 20
        A row whose odds are ``base_odds`` to one has ``base_points``, and ``points_to_double`` more double the odds.
    positive : label, default=None
        Two classes: the class that points support; None: the second one. With three or more classes each class has
        points: the difference of the points of two classes gives their odds, and a class whose weight of evidence is
        the logarithm of ``base_odds`` has ``base_points``.
    rounded : bool, default=False
        Whether points are whole numbers; :meth:`Scorecard.cost` measures what rounding costs.
    feature_names, class_names : sequence of str, default=None
        Names to print; by default the names in the training table, and the labels.
    backend : {"pandas", "polars", "pyarrow"}, default=None
        Library of the returned data frame; by default the first of these that is installed.

    Returns
    -------
    data frame
        Columns: ``feature`` ("income and age" for a rule or a map on several features, "rule 7" for a rule in words);
        ``when`` (for which values); ``from`` and ``to`` (ends of an interval of numbers, None elsewhere); ``points``
        and ``points_to`` (at the two ends of the interval, in proportion in between; with three or more classes
        ``points(label)`` and ``points_to(label)``); ``rules`` (numbers of the rules behind the line); and for two
        classes ``class`` (the class that points support).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLClassifier
    >>> from ferl.export import export_scorecard
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLClassifier(max_rules=2, random_state=0).fit(X[50:, 2:], y[50:])
    >>> export_scorecard(clf, rounded=True)[["feature", "when", "points", "points_to"]]
        feature      when  points  points_to
    0  all rows    always     496        496
    1        x1   up to 1    -153       -153
    2        x1  1 to 2.5    -153        187
    3        x1  from 2.5     187        187
    4        x1   missing       0          0
    5        x0   up to 3    -225       -225
    6        x0  3 to 6.9    -225        236
    7        x0  from 6.9     236        236
    8        x0   missing       0          0
    """
    card = Scorecard(
        estimator,
        base_points=base_points,
        base_odds=base_odds,
        points_to_double=points_to_double,
        positive=positive,
        rounded=rounded,
    )
    return card.frame(feature_names=feature_names, class_names=class_names, backend=backend)


class Scorecard(ClassifierMixin, Wrapper):
    """A classifier whose evidence is counted in points.

    Parameters
    ----------
    estimator : FERLClassifier, default=None
        A fitted classifier is used as it is; :meth:`fit` fits a clone. None: ``FERLClassifier()``.
    base_points, base_odds, points_to_double : float, default=600, 50, 20
        As in :func:`export_scorecard`.
    positive : label, default=None
        As in :func:`export_scorecard`.
    rounded : bool, default=False
        Whether all points of the table are whole numbers. The probabilities then follow from the rounded table.

    Attributes
    ----------
    estimator_ : FERLClassifier
        The classifier inside.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.export import Scorecard
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> card = Scorecard(FERLClassifier(max_rules=8, random_state=0), rounded=True).fit(X[::2], y[::2])
    >>> print(card.cost(X[1::2], y[1::2]))
    accuracy 0.9507 -> 0.9507, log-loss 0.1497 -> 0.1498, AUC 0.9878 -> 0.9878; 0 of 284 rows get another label
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": "no_validation",
        "base_points": [Interval(Real, None, None, closed="neither")],
        "base_odds": [Interval(Real, 0, None, closed="neither")],
        "points_to_double": [Interval(Real, 0, None, closed="neither")],
        "positive": "no_validation",
        "rounded": ["boolean"],
    }

    def __init__(
        self,
        estimator: FERLClassifier | None = None,
        *,
        base_points: float = 600,
        base_odds: float = 50,
        points_to_double: float = 20,
        positive: Any = None,
        rounded: bool = False,
    ) -> None:
        self.estimator = estimator
        self.base_points = base_points
        self.base_odds = base_odds
        self.points_to_double = points_to_double
        self.positive = positive
        self.rounded = rounded

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Fit the classifier inside.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **fit_params : dict
            What else the classifier's ``fit`` takes: ``units=``, ``describe=``.

        Returns
        -------
        Scorecard
        """
        self._fit_inside(X, y, self._routed(sample_weight, fit_params))
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in self.__dict__ or "model_" in vars(self._template())

    @property
    def classes_(self) -> NDArray[Any]:
        """The labels, in the order of the columns."""
        return self._classifier("classes_").classes_

    @property
    def unit(self) -> float:
        """Points of a weight of evidence of one: a factor of e in the odds."""
        return self._count.unit

    @property
    def neutral(self) -> float:
        """Points of even odds."""
        return self._count.neutral

    def total(self, X: ArrayLike) -> Floats:
        """Total points of rows, shape (n_samples,), or (n_samples, n_classes) of three and more classes.

        They are the sum of the lines for every value: one outside the training range, or between two lines, counts as
        the nearest that the table has. The probability of such a row comes closer to the class frequencies.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        """
        points = self._totals(X)
        return points[:, 0] if points.shape[1] == 1 else points

    def decision_function(self, X: ArrayLike) -> Floats:
        """The weights of evidence that correspond to the totals, in the form that the classifier inside returns.

        Outside of what training saw they count for less, and the class frequencies for more.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Probability of each class, from the totals; outside the training range closer to the class frequencies.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.predict_evidence(X).probability

    def predict_evidence(self, X: ArrayLike) -> Evidence:
        """Belief, plausibility and ignorance that the totals mean, resting on the rows that the classifier counts.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        Evidence
        """
        inside, scores = self._model().evidence(self._classifier("predict_evidence")._rows(X)), self._scores(X)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return inside.with_shares(powers / powers.sum(axis=1, keepdims=True))

    def cost(self, X: ArrayLike, y: ArrayLike) -> Cost:
        """What counting in these points costs on given rows, against the classifier inside: nothing but rounding.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows that the classifier was not fitted on.
        y : array-like of shape (n_samples,)
            Their labels.

        Returns
        -------
        Cost
            Accuracy, log-loss and AUC before and after, and how many rows get another label.
        """
        before = self._classifier("cost").predict_proba(X)
        return cost_of_change(self.classes_, y, before, self.predict_proba(X))

    def binning(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_bins: int = 10,
        monotone: bool = False,
        feature_names: Sequence[str] | None = None,
    ) -> Binning:
        """Binning tables: rows, share, event rate, weight of evidence and points by bin, and information values.

        Events are the rows of the class that points do not support. Numbers are divided into bins of about equally many
        rows; of categories the most frequent ones are a bin each. Missing values are a bin.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels, of two classes.
        n_bins : int, default=10
            Largest number of bins for each feature, without the bin of missing values.
        monotone : bool, default=False
            Whether neighbouring bins of numbers are merged until the event rate only rises, or only falls.
        feature_names : sequence of str, default=None
            Names to print; by default the names in the training table.

        Returns
        -------
        Binning

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from ferl import FERLClassifier
        >>> from ferl.export import Scorecard
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> card = Scorecard(FERLClassifier(max_rules=8, random_state=0)).fit(X[::2], y[::2])
        >>> binning = card.binning(X[1::2], y[1::2], n_bins=3, monotone=True)
        >>> binning.frame()[["feature", "bin", "rows", "event_rate"]].round(2).head(3)
                        feature                      bin  rows  event_rate
        0  worst concave points            up to 0.07955    95        0.01
        1  worst concave points  above 0.07955 to 0.1407    95        0.20
        2  worst concave points             above 0.1407    94        0.96
        """
        if n_bins < 2:
            raise ValueError(f"n_bins is {n_bins}; it must be at least 2.")
        model, positive = self._model(), self._positive()
        if len(self.classes_) != 2:
            raise ValueError(f"binning needs two classes, events and others; there are {len(self.classes_)}.")
        rows, labels = self.estimator_._rows(X), np.asarray(y)
        if len(labels) != len(rows):
            raise ValueError(f"X has {len(rows)} rows and y has {len(labels)}; each row needs its label.")
        is_event = (labels == self.classes_[1 - positive]).astype(np.float64)
        if not np.isin(labels, self.classes_).all() or not 0 < is_event.sum() < len(rows):
            raise ValueError(f"y must hold both classes and no other; the classes are {shown(self.classes_.tolist())}.")
        names, points, tables = model.feature_names(feature_names), self._feature_points(rows), []
        for feature in self._read_features():
            values = rows[:, feature]
            bins = read_bins(model, feature, names[feature], values, n_bins)
            if monotone and bins.bin_of_category is None and len(bins.edges):
                counts = [bins.counts(values)[:-1], bins.counts(values, is_event)[:-1]]
                number = partial(_number_of, model, feature)
                bins = bins.merged(monotone_edges(*counts), number)
            n, events = bins.counts(values), bins.counts(values, is_event)
            kept = n > 0
            means = bins.counts(values, points[:, feature])[kept] / n[kept]
            texts = tuple(text for text, is_kept in zip(bins.labels, kept.tolist(), strict=True) if is_kept)
            tables.append(FeatureBins(names[feature], texts, n[kept], events[kept], means))
        tables.sort(key=lambda item: -item.information_value)
        return Binning(str(model.labels[1 - positive]), tuple(tables))

    def psi(
        self, X: ArrayLike, X_later: ArrayLike, *, n_bins: int = 10, feature_names: Sequence[str] | None = None
    ) -> PopulationStability:
        """Population stability: how far the totals and features of later rows differ from earlier rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Earlier rows, for example the training rows of the card.
        X_later : array-like or data frame of shape (n_later, n_features)
            Later rows, for example from a later month.
        n_bins : int, default=10
            Largest number of bins for the total and for each feature; they have about equally many earlier rows.
        feature_names : sequence of str, default=None
            Names to print; by default the names in the training table.

        Returns
        -------
        PopulationStability
            With three or more classes, the total of the last class is used.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from ferl import FERLClassifier
        >>> from ferl.export import Scorecard
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> card = Scorecard(FERLClassifier(max_rules=8, random_state=0)).fit(X[::2], y[::2])
        >>> card.psi(X[::2], X[1::2]).total.verdict
        'stable'
        """
        if n_bins < 2:
            raise ValueError(f"n_bins is {n_bins}; it must be at least 2.")
        model, encoded = self._model(), [self.estimator_._rows(item) for item in (X, X_later)]
        if not min(map(len, encoded)):
            raise ValueError("X or X_later has no rows; both need at least one.")
        before, later = (self._totals(item)[:, -1] for item in (X, X_later))
        bins = bins_of_points(before, n_bins)
        total = shift_of(bins.name, bins.labels, bins.counts(before), bins.counts(later))
        names, shifts = model.feature_names(feature_names), []
        for feature in self._read_features():
            values = [item[:, feature] for item in encoded]
            bins = read_bins(model, feature, names[feature], values[0], n_bins)
            shifts.append(shift_of(names[feature], bins.labels, *map(bins.counts, values)))
        shifts.sort(key=lambda item: -item.psi)
        return PopulationStability(total, tuple(shifts), *map(len, encoded))

    def _read_features(self) -> list[int]:
        """The features that the card reads."""
        model = self._model()
        return sorted({model.feature_of(column) for column in model.read_columns.tolist()})

    def _feature_points(self, rows: Floats) -> Floats:
        """Points of each feature beside the average training row, of two classes, shape (n_samples, n_features)."""
        model, positive = self._model(), self._positive()
        parts = model.feature_contributions(rows) - model.share_among_features(model.mean_contributions[None])
        return np.asarray(self.unit * (parts[:, :-1, positive] - parts[:, :-1, 1 - positive]))

    # -----------------------------------------------------------------------------------------------------------------
    # Forms
    # -----------------------------------------------------------------------------------------------------------------

    def frame(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        backend: str | None = None,
    ) -> Any:
        """The table as a data frame; see :func:`export_scorecard`."""
        return data_frame(self._columns(feature_names, class_names), backend)

    def text(self, *, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None) -> str:
        """The table as text, and what totals mean.

        Parameters
        ----------
        feature_names, class_names : sequence of str, default=None
            As in :func:`export_scorecard`.

        Returns
        -------
        str
        """
        points, meaning = self._page(feature_names, class_names)
        return as_text([Section("", (points,)), Section("", meaning)], CARD_WIDTH)

    def _page(
        self, feature_names: Sequence[str] | None = None, class_names: Sequence[str] | None = None
    ) -> tuple[Table, tuple[str, ...]]:
        """The table in short lines, and what totals mean; long conditions go on in the next line."""
        table, style = self._table(feature_names, class_names, max_listed=MAX_LISTED)
        heads, rows, last = self._heads(style), [], ""
        for line in table.with_base():
            first, *more = textwrap.wrap(one_line(line.when), WHEN_WIDTH) or [""]
            name = self._name(line, style)
            rows.append(("" if name == last else cut(one_line(name), MAX_LETTERS), first, *self._count.texts(line)))
            rows += [("", text, *[""] * len(heads)) for text in more]
            last = name
        heads = [cut(one_line(head), MAX_LETTERS) for head in heads]
        return Table(("", "", *heads), tuple(rows), "ll" + "r" * len(heads)), tuple(self._meaning(style))

    def html(
        self,
        path: str | PathLike[str] | None = None,
        *,
        title: str = "Scorecard",
        binning: Binning | None = None,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
    ) -> str | None:
        """The card as a page that prints well, for a PDF by "print" in any browser.

        Parameters
        ----------
        path : str or path, default=None
            Where to write. None: the text is returned.
        title : str, default="Scorecard"
            Heading of the page.
        binning : Binning, default=None
            Binning tables to append, from :meth:`binning`.
        feature_names, class_names : sequence of str, default=None
            As in :func:`export_scorecard`.

        Returns
        -------
        str or None
        """
        points, meaning = self._page(feature_names, class_names)
        sections = [Section("Points", (points, *meaning)), *([] if binning is None else binning._sections)]
        page = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
            f"<style>{PRINT_STYLE}</style></head><body><h1>{escape(title)}</h1>{as_html(sections)}</body></html>\n"
        )
        if path is None:
            return page
        replace_text(path, page)
        return None

    def latex(
        self,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        width: str = r"0.5\linewidth",
    ) -> str:
        r"""The table in LaTeX; the document needs ``\usepackage{booktabs}``.

        Parameters
        ----------
        feature_names, class_names : sequence of str, default=None
            As in :func:`export_scorecard`.
        width : str, default="0.5\linewidth"
            Width of the column of values, a length of LaTeX.

        Returns
        -------
        str
        """
        table, style = self._table(feature_names, class_names)
        heads = self._heads(style)
        rows = [
            (
                escaped(self._name(line, style)),
                escaped(line.when),
                *(text.replace("-", "$-$") for text in self._count.texts(line)),
            )
            for line in table.with_base()
        ]
        notes = [escaped(text) for text in self._meaning(style)]
        return latex_table(f"lp{{{width}}}{'r' * len(heads)}", ("", "", *map(escaped, heads)), rows, notes)

    def csv(
        self,
        path: str | PathLike[str] | None = None,
        *,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        safe: bool = False,
    ) -> str | None:
        """The table of :meth:`frame` as comma-separated values.

        Parameters
        ----------
        path : str or path, default=None
            Where to write. None: the text is returned.
        feature_names, class_names : sequence of str, default=None
            As in :func:`export_scorecard`.
        safe : bool, default=False
            Whether text that a spreadsheet would take for a formula gets an apostrophe before it.

        Returns
        -------
        str or None
        """
        columns = self._columns(feature_names, class_names)
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        lines = [list(columns), *zip(*columns.values(), strict=True)]
        for line in lines:
            writer.writerow([harmless_text(item) if safe and isinstance(item, str) else item for item in line])
        if path is None:
            return out.getvalue()
        replace_text(path, out.getvalue())
        return None

    # -----------------------------------------------------------------------------------------------------------------
    # How points are counted
    # -----------------------------------------------------------------------------------------------------------------

    def _classifier(self, step: str) -> FERLClassifier:
        self._take_fitted(step)
        return cast(FERLClassifier, self.estimator_)

    def _model(self) -> RuleModel:
        model = model_of(self._classifier("a scorecard"), "Scorecard", RuleModel, "FERLClassifier")
        if model.cases is not None:
            raise ValueError(
                "The model has known cases, whose vote cannot be computed by hand: no points represent it. Fit "
                "with cases=False, or strike the cases out: ferl.editing.edit(clf).strike()."
            )
        return model

    def _positive(self) -> int:
        """Index of the class that points support, for two classes."""
        classes = self.classes_.tolist()
        if self.positive is None:
            return len(classes) - 1
        if len(classes) != 2:
            raise ValueError(
                f"positive is {shown(self.positive)}; {len(classes)} classes have points each. Leave it out."
            )
        if self.positive not in classes:
            raise ValueError(f"positive is {shown(self.positive)}; the classes are {shown(classes)}.")
        return int(classes.index(self.positive))

    @property
    def _count(self) -> Points:
        return Points(self.base_points, self.base_odds, self.points_to_double, self.rounded)

    def _table(
        self,
        feature_names: Sequence[str] | None = None,
        class_names: Sequence[str] | None = None,
        max_listed: int | None = None,
    ) -> tuple[ScoreTable, Style]:
        """The table in points, whose base holds the points of even odds, and the names in it."""
        self._validate_params()
        model = self._model()
        names, labels = reader_names(model, feature_names, class_names)
        style = Style(model, names, [in_sentence(str(label)) for label in labels], max_listed=max_listed)
        scale = partial(self._count.scale, positive=self._positive())
        return read_score_table(model, style, scale, partial(scale, offset=self._count.neutral)), style

    def _totals(self, X: ArrayLike) -> Floats:
        """Totals of rows, shape (n_samples, 1) of two classes and (n_samples, n_classes) of others."""
        return self._table()[0].total(self._classifier("a scorecard")._rows(X))

    def _scores(self, X: ArrayLike) -> Floats:
        """The weights of evidence that the totals of rows mean, faded as in the model, shape (n_samples, n_classes)."""
        scores = (self._totals(X) - self.neutral) / self.unit
        if scores.shape[1] == 1 < len(self.classes_):
            halves = [-scores / 2, scores / 2]
            scores = np.hstack(halves if self._positive() == 1 else halves[::-1])
        model = self._model()
        fading = model.fading(self.estimator_._rows(X))[:, None]
        return np.asarray(fading * scores + (1 - fading) * model.base)

    # -----------------------------------------------------------------------------------------------------------------
    # What all forms share
    # -----------------------------------------------------------------------------------------------------------------

    def _meaning(self, style: Style) -> list[str]:
        """What totals mean, line by line."""
        outside = outside_card(self._model())
        return [*self._count.meaning(style.classes, self._positive()), *filter(None, [outside])]

    def _columns(self, feature_names: Sequence[str] | None, class_names: Sequence[str] | None) -> dict[str, list[Any]]:
        table, style = self._table(feature_names, class_names)
        lines = table.with_base()
        labels = [""] if len(table.base) == 1 else [f"({label})" for label in style.classes]
        columns: dict[str, list[Any]] = {
            "feature": [self._name(line, style) for line in lines],
            "when": [line.when for line in lines],
            "from": [line.low if math.isfinite(line.low) else None for line in lines],
            "to": [line.high if math.isfinite(line.high) else None for line in lines],
        }
        for k, label in enumerate(labels):
            columns[f"points{label}"] = [self._number(line.start[k]) for line in lines]
            columns[f"points_to{label}"] = [self._number(line.end[k]) for line in lines]
        columns["rules"] = [", ".join(str(self._model().numbers[rule]) for rule in line.rules) for line in lines]
        if len(labels) == 1:
            columns["class"] = [style.classes[self._positive()]] * len(lines)
        return columns

    def _name(self, line: ScoreLine, style: Style) -> str:
        """What a line is about; a rule on several features by their names, one in words by its number."""
        model = self._model()
        if line.rules and line.name == f"rule {model.numbers[line.rules[0]]}":
            columns = dict.fromkeys(model.term_columns[line.rules[0]])
            return " and ".join(style.names[column] for column in columns) if len(columns) > 1 else line.name
        return line.name

    def _number(self, points: float) -> float | int:
        return int(points) if self.rounded else float(points)

    def _heads(self, style: Style) -> list[str]:
        return ["points"] if len(style.classes) <= 2 else style.classes


def _number_of(model: RuleModel, feature: int, value: float) -> str:
    return number_text(model.number(feature, value))


def reason_codes(
    estimator: FERLClassifier,
    X: ArrayLike,
    n: int = 4,
    *,
    positive: Any = None,
    against: str = "average",
    points_to_double: float = POINTS_TO_DOUBLE,
    feature_names: Sequence[str] | None = None,
    rival: Any = None,
) -> list[tuple[Reason, ...]]:
    """The features that cost each row most on its way to a class, in sentences for the person concerned.

    A reason names one feature and its value, in at most 120 characters. A rule or a map on several features is shared
    equally among them.

    Parameters
    ----------
    estimator : FERLClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows.
    n : int, default=4
        Largest number of reasons for each row.
    positive : label, default=None
        The class that a row should have had. None: the second of two classes; three and more classes need it.
    against : {"average", "best"}, default="average"
        What a row is compared with: the average training row, which is one of the two methods that the official
        interpretation of Regulation B (12 CFR 1002.9(b)(2), comment 5) describes, or the most that any value of the
        feature and any fit of the rule could get.
    points_to_double : float, default=20
        As in :func:`ferl.export.export_scorecard`.
    feature_names : sequence of str, default=None
        Names to print; by default the names in the training table.
    rival : label, default=None
        The class that ``positive`` is compared with: the cost of a reason is then in log-odds of these two. None: the
        other of two classes; with three or more classes, only the evidence for ``positive`` counts.

    Returns
    -------
    list of tuple of Reason
        For each row the feature that cost it most comes first; there are fewer than ``n`` where fewer cost anything,
        and none far outside the training range, where no evidence counts.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ferl import FERLClassifier
    >>> from ferl.export import reason_codes
    >>> data = load_breast_cancer()
    >>> clf = FERLClassifier(max_rules=8, max_conditions=1, random_state=0).fit(data.data, data.target)
    >>> for reason in reason_codes(clf, data.data[:1], n=2, feature_names=data.feature_names)[0]:
    ...     print(reason)
    worst area is 2019: 162 points below average
    radius error is 1.095: 68 points below average
    """
    model = model_of(estimator, "reason_codes", RuleModel, "FERLClassifier")
    return read_reasons(model, estimator._rows(X), n, positive, against, points_to_double, feature_names, rival)
