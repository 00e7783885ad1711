"""Evidence: belief, plausibility and ignorance that a model gives to rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl import _core
from ferl._model.model import Model
from ferl._util.arrays import Bools, Floats

# Evidence counts grow without bound as ignorance vanishes; below this they would say nothing more.
_LEAST_IGNORANCE = 1e-9

_FEW_ROWS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Weighed:
    """What weights of evidence say beside belief; arrays of shape (n_samples, n_classes)."""

    plausibility: Floats
    probability: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Evidence:
    """The combined evidence for a block of rows.

    The masses of trees lie on single classes (``belief``) and on the whole frame (``ignorance``), and sum to one; those
    of wide rules also on sets of classes that nothing speaks against. For every class ``belief <= pignistic <=
    plausibility``.

    Attributes
    ----------
    belief : ndarray of shape (n_samples, n_classes)
        Mass committed to each class: the least that speaks for it.
    ignorance : ndarray of shape (n_samples,)
        Mass committed to no class: 1 when nothing fires.
    conflict : ndarray of shape (n_samples,)
        Share of the evidence that contradicted itself: of trees the mass that Dempster's normalisation removed, of wide
        rules the share of all weights that cancelled.
    classes : ndarray of shape (n_classes,)
        Labels, in the order of the columns.
    weighed : Weighed, optional
        Of wide rules: plausibility and probability, which do not follow from the others.

    Examples
    --------
    >>> import numpy as np
    >>> e = Evidence(np.array([[0.7, 0.2]]), np.array([0.1]), np.array([0.0]), np.array(["no", "yes"]))
    >>> e.plausibility
    array([[0.8, 0.3]])
    >>> e.pignistic
    array([[0.75, 0.25]])
    >>> e.prediction_set()
    array([[ True, False]])
    >>> e
    <Evidence: 1 rows, 2 classes, mean ignorance 0.100>
    """

    belief: Floats
    ignorance: Floats
    conflict: Floats
    classes: NDArray[Any]
    weighed: Weighed | None = field(default=None, kw_only=True)

    def __len__(self) -> int:
        return len(self.belief)

    def __getitem__(self, rows: Any) -> Evidence:
        """The evidence of some rows: a slice, a mask, numbers, or one number."""
        chosen: Any = [rows] if isinstance(rows, int | np.integer) else rows
        weighed = self.weighed
        if weighed is not None:
            weighed = Weighed(weighed.plausibility[chosen], weighed.probability[chosen])
        return Evidence(
            self.belief[chosen], self.ignorance[chosen], self.conflict[chosen], self.classes, weighed=weighed
        )

    def __repr__(self) -> str:
        n_rows, n_classes = self.belief.shape
        return f"<Evidence: {n_rows} rows, {n_classes} classes, mean ignorance {self.ignorance.mean():.3f}>"

    @property
    def plausibility(self) -> Floats:
        """What does not speak against each class, shape (n_samples, n_classes)."""
        if self.weighed is not None:
            return self.weighed.plausibility
        return np.asarray(self.belief + self.ignorance[:, None])

    @property
    def probability(self) -> Floats:
        """What ``predict_proba`` gives, shape (n_samples, n_classes).

        The pignistic probability of trees; of wide rules the softmax of the scores, their normalised plausibility.
        """
        return self.pignistic if self.weighed is None else self.weighed.probability

    @property
    def pignistic(self) -> Floats:
        """Each mass shared equally among the classes it lies on, shape (n_samples, n_classes)."""
        if self.weighed is not None:
            return _pignistic_of_weights(self.belief, self.weighed)
        return np.asarray(self.belief + self.ignorance[:, None] / self.belief.shape[1])

    @property
    def dirichlet(self) -> Floats:
        """Parameters of the equivalent Dirichlet distribution of subjective logic, shape (n_samples, n_classes).

        ``alpha(c) = C * belief(c) / ignorance + 1``, with C classes as the weight of the uniform prior. Its mean is
        the pignistic probability. Ignorance counts as at least 1e-9, so that certainty stays finite.
        """
        if self.weighed is not None:
            raise ValueError(
                "Wide rules also give mass to sets of some of the classes, which no Dirichlet distribution has; use "
                "belief and plausibility."
            )
        least = np.maximum(self.ignorance, _LEAST_IGNORANCE)
        return np.asarray(self.belief.shape[1] * self.belief / least[:, None] + 1.0)

    def prediction_set(self) -> Bools:
        """Classes whose plausibility is at least the largest belief but for 1e-12, shape (n_samples, n_classes).

        What is nearer is a tie that rounding would decide. The whole frame is an abstention.
        """
        return np.asarray(self.plausibility >= self.belief.max(axis=1, keepdims=True) - _core.TIE)


def _pignistic_of_weights(belief: Floats, weighed: Weighed) -> Floats:
    """Masses of weights of evidence, each shared equally among its classes.

    A set of several classes has the mass ``eta prod(e_c inside) prod(1 - e_c outside)``. What it gives to each of its
    classes is an integral of ``prod(1 - e + e t)`` over t from 0 to 1, a polynomial, which Gauss's rule gives exactly.
    """
    scores = np.log(weighed.probability)
    weight = scores - scores.mean(axis=1, keepdims=True)
    stays = np.exp(np.minimum(weight, 0.0))
    eta = weighed.plausibility.max(axis=1) / np.exp(weight.max(axis=1))
    nodes, shares = np.polynomial.legendre.leggauss(weight.shape[1] // 2 + 1)
    integral = np.zeros_like(stays)
    for t, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        factor = 1 - stays + stays * t
        integral += share * factor.prod(axis=1, keepdims=True) / factor
    outside = 1 - stays
    alone = np.stack([np.delete(outside, c, axis=1).prod(axis=1) for c in range(stays.shape[1])], axis=1)
    return np.asarray(belief + eta[:, None] * stays * (integral - alone))


def decision_scores(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """The summed weights of evidence of wide rules, shape (n_samples, n_classes)."""
    out = np.empty((len(rows), len(model.classes)))
    model.scores.scores(rows, n_threads, out)
    return out


def contributions(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """What each wide rule, and last the prior, adds to the scores, shape (n_samples, n_rules + 1, n_classes)."""
    weights = model.rule_weights
    firing = model.tree.fire(rows, gated=False, n_threads=n_threads)[:, weights.node]
    firing = np.column_stack([firing, np.ones(len(rows))]) * supports(model, rows).prod(axis=1)[:, None]
    return np.asarray(firing[:, :, None] * np.vstack([weights.weight, weights.prior]))


def feature_contributions(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """What each feature, and last the prior, adds to the scores, shape (n_samples, n_features + 1, n_classes).

    A rule of several conditions is shared equally among them.
    """
    return share_among_features(model, contributions(model, rows, n_threads))


def share_among_features(model: Model, parts: Floats) -> Floats:
    """What wide rules and the prior add, by feature, shape (n_samples, n_features + 1, n_classes).

    Parameters
    ----------
    model : Model
        Of wide rules.
    parts : ndarray of shape (n_samples, n_rules + 1, n_classes)
        What each rule adds, and last the prior.

    Returns
    -------
    ndarray of shape (n_samples, n_features + 1, n_classes)
    """
    by_column, n = share_among_columns(model, parts), model.n_features
    out = by_column[:, [*range(n), by_column.shape[1] - 1]]
    for k, feature in enumerate(model.missing_features):
        out[:, feature] += by_column[:, n + k]
    return np.asarray(out)


def share_among_columns(model: Model, parts: Floats) -> Floats:
    """As :func:`share_among_features`, by column, indicators of missing values apart."""
    n_columns = model.n_features + len(model.missing_features)
    out = np.zeros((len(parts), n_columns + 1, parts.shape[2]))
    out[:, -1] = parts[:, -1]
    # Rule by rule, not as a product of arrays, whose rounding depends on how many rows there are.
    if len(parts) <= _FEW_ROWS:  # the same sums in the same order: ten times as fast for one row, slower for many
        rules, columns, n_conditions = model.shared_rules
        share = parts[:, :-1].transpose(1, 0, 2) / n_conditions[:, None, None]
        np.add.at(out.transpose(1, 0, 2), columns, share[rules])
        return out
    for rule, asked in enumerate(model.rule_columns):
        for column in asked:
            out[:, column] += parts[:, rule] / len(asked)
    return out


def supports(model: Model, rows: Floats) -> Floats:
    """How open the gates of wide rules are, shape (n_samples, n_gated_columns); see ``Model.gated_columns``."""
    out = np.empty((len(rows), len(model.gated_columns)))
    model.scores.supports(rows, out)
    return out


def read_evidence(model: Model, rows: Floats, n_threads: int = 1) -> Evidence:
    """Fire rows through a model and combine what its sources say.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns), float64
        Rows as the model reads them.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    Evidence
    """
    shape = len(rows), len(model.classes)
    belief, ignorance, conflict = np.empty(shape), np.empty(len(rows)), np.empty(len(rows))
    if model.weights is not None:
        weighed = Weighed(np.empty(shape), np.empty(shape))
        model.scores.weigh(rows, n_threads, belief, weighed.plausibility, weighed.probability, ignorance, conflict)
        return Evidence(belief, ignorance, conflict, model.classes, weighed=weighed)
    model.sources.combine(rows, n_threads, belief, ignorance, conflict)
    return Evidence(belief, ignorance, conflict, model.classes)


def evidence_of_scores(scores: Floats, conflict: Floats, classes: NDArray[Any]) -> Evidence:
    """The evidence that summed weights of evidence mean.

    Parameters
    ----------
    scores : ndarray of shape (n_samples, n_classes)
        The sums; only their differences within a row count.
    conflict : ndarray of shape (n_samples,)
        Share of the weights that cancelled, which sums no longer tell.
    classes : ndarray of shape (n_classes,)
        Labels.

    Returns
    -------
    Evidence
    """
    # Where all scores are equal nothing is said, exactly: a mean of equal numbers may differ from them by rounding.
    own = np.ascontiguousarray(scores - scores.max(axis=1, keepdims=True))
    belief, ignorance, weighed = np.empty_like(own), np.empty(len(own)), Weighed(np.empty_like(own), np.empty_like(own))
    _core.weigh_scores(own, belief, weighed.plausibility, weighed.probability, ignorance)
    return Evidence(belief, ignorance, conflict, classes, weighed=weighed)


def read_probabilities(model: Model, rows: Floats, n_threads: int = 1) -> Floats:
    """What ``read_evidence(...).probability`` is, without the rest; shape (n_samples, n_classes)."""
    if model.weights is not None:
        out = np.empty((len(rows), len(model.classes)))
        model.scores.probabilities(rows, n_threads, out)
        return out
    evidence = read_evidence(model, rows, n_threads)
    # As `evidence.pignistic`, in the memory of the beliefs, which nobody else has.
    return np.add(evidence.belief, (evidence.ignorance / len(model.classes))[:, None], out=evidence.belief)
