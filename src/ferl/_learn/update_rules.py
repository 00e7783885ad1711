"""Updating rules: weights of evidence learn from a block of rows, held by the rows before.

The model summarises earlier rows by its weights and by the curvature of the loss around them: near its minimum the loss
is a parabola. A block moves the weights to the minimum of the sum of its loss and this parabola (Laplace's
approximation, block by block), and its curvature is added.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ferl import _core
from ferl._learn.consequents import level_columns
from ferl._learn.rows import Block, exact_sum, weight_scale
from ferl._models.rule_model import Curvature, RuleModel
from ferl._models.terms import CurvesAndMaps
from ferl._models.tree import FuzzyTree
from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown
from ferl._util.threads import one_blas_thread

RIDGE = 1.0  # curvature of each weight before any row: rules that hardly fire must stay finite
_CHUNK_ROWS = 4096  # whose firings at all nodes are in memory at a time
_MOST_STEPS = 40
_MOST_CONJUGATE_STEPS = 60
_MOST_SWEEPS = 500
_MOST_HALVINGS = 30
_TOLERANCE = 1e-10  # of the loss, per row


@dataclass(frozen=True)
class ScoredRows:
    """The scores of some rows by wide rules, with open gates.

    Attributes
    ----------
    firing : ndarray of shape (n_samples, 1 + n_rules)
        Firing of each rule, after a one for the prior.
    offset : ndarray of shape (n_samples, n_classes)
        What curves, maps and cases add, gates open.
    probability : ndarray of shape (n_samples, n_classes)
        By the present weights.
    """

    firing: Floats
    offset: Floats
    probability: Floats

    @classmethod
    def by(cls, model: RuleModel, X: Floats) -> ScoredRows:
        """The scores of rows by a model."""
        firing = np.column_stack([np.ones(len(X)), rule_firing(model, X)])
        offset = added_beside_rules(model, X)
        return cls(firing, offset, softmax(firing @ stacked(model) + offset))

    def scores(self, weight: Floats) -> Floats:
        """Scores by other weights of the prior and the rules, shape (n_samples, n_classes)."""
        return np.asarray(self.firing @ weight + self.offset)

    @property
    def spread(self) -> Floats:
        """Curvature of each row's loss by its scores, the mean over the classes, shape (n_samples,)."""
        p = self.probability
        return np.asarray((p * (1 - p)).sum(axis=1) / max(p.shape[1] - 1, 1))

    def curvature(self, weight: Floats) -> Curvature:
        """How sharply the loss of the rows rises, ``weight`` being how often each counts."""
        p = self.probability
        rules = (self.firing * (weight * self.spread)[:, None]).T @ self.firing
        classes = np.diag(weight @ p) - (p * weight[:, None]).T @ p
        return Curvature((rules + rules.T) / 2, (classes + classes.T) / 2)


def rule_firing(model: RuleModel, X: Floats) -> Floats:
    """Firing of each wide rule, gates open, shape (n_samples, n_rules)."""
    node = model.rules.node
    firing = np.empty((len(X), len(node)))
    for first in range(0, len(X), _CHUNK_ROWS):
        rows = slice(first, first + _CHUNK_ROWS)
        firing[rows] = model.tree.fire(X[rows], gated=False)[:, node]
    return firing


def added_beside_rules(model: RuleModel, X: Floats) -> Floats:
    """What curves, maps and cases add to the scores of training rows, gates open, shape (n_samples, n_classes)."""
    added = np.zeros((len(X), len(model.classes)))
    if model.curves is not None:
        for cells in model.curves.cells_of(X).T:
            added += model.curves.value[cells]
    return added if model.cases is None else added + model.cases.added(X, others_alone=True)


def stacked(model: RuleModel) -> Floats:
    """The prior and the weights of the rules, shape (1 + n_rules, n_classes)."""
    return np.vstack([model.prior, model.rules.weight])


def softmax(score: Floats) -> Floats:
    """Probabilities of scores, row by row."""
    raised = np.exp(score - score.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


# ---------------------------------------------------------------------------------------------------------------------
# What is known of the rows before
# ---------------------------------------------------------------------------------------------------------------------


def with_curvature_of(model: RuleModel, block: Block) -> RuleModel:
    """A model that was just fitted, with the curvature of the rows it was fitted on."""
    rows = distinct(replace(block, codes=np.zeros_like(block.codes)))
    weight = rows.weight * (model.tree.weight[0] / rows.weight.sum())  # fits scale weights below one
    n_classes = len(model.classes)
    # One row of which nothing is known: classes that have not come yet are free to move, and not without bound.
    nothing = (np.eye(n_classes) - 1 / n_classes) / n_classes
    with one_blas_thread():
        found = ScoredRows.by(model, rows.X).curvature(weight)
    curvature = replace(found, classes=found.classes + nothing)
    return replace(model, curvature=curvature)


def with_some_curvature(model: RuleModel) -> RuleModel:
    """The model, whose curvature is estimated from the rows it keeps if it has none."""
    if model.curvature is not None:
        return model
    rows = model.tree.profile.exemplar_row
    if not len(rows):
        raise ValueError(
            "The model was fitted by fit with n_exemplars=0, so it contains neither the certainty of its weights nor "
            "training rows to estimate it from. Begin with partial_fit, which keeps it, or fit with n_exemplars > 0."
        )
    return with_curvature_of(model, Block(rows, np.zeros(len(rows), dtype=np.int32), np.ones(len(rows))))


def distinct(block: Block) -> Block:
    """The rows in an order that their content alone decides, equal ones as one row of their weights' sum."""
    X = np.where(np.isnan(block.X), np.nan, block.X + 0.0)  # one kind of NaN and of zero
    content = np.ascontiguousarray(np.column_stack([X, block.codes.astype(np.float64)]))
    keys = content.view(f"V{content.itemsize * content.shape[1]}").ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(block.weight, kind="stable")  # a sum depends on the order of its terms
    weight = np.bincount(inverse[order], weights=block.weight[order], minlength=len(first)).astype(np.float64)
    return Block(X[first], block.codes[first], weight)


def lacking_evidence(model: RuleModel, block: Block) -> Floats:
    """Probability that labels drawn by the model's own answers would get, less what the labels get.

    Outside the training range the answers are the class frequencies: labels of such rows are no contradiction.

    No allowance is made for weights that follow the noise of the rows before, as for the leaves of trees: the ridge of
    a fit holds them back by as much.

    Parameters
    ----------
    model : RuleModel
        Wide rules.
    block : Block
        Rows.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    p = model.probabilities(block.X)
    return np.asarray((p**2).sum(axis=1) - p[np.arange(len(p)), block.codes])


def firing_shift(model: RuleModel, block: Block, n_relative: float) -> tuple[Floats, Floats]:
    """Change of each rule's mean firing, and its standard error if nothing has changed, both of shape (n_rules,).

    Parameters
    ----------
    model : RuleModel
        Wide rules.
    block : Block
        Rows.
    n_relative : float
        Number of rows, divided by the number of rows before.
    """
    firing, tree = ScoredRows.by(model, block.X).firing[:, 1:], model.tree
    before = tree.weight[model.rules.node] / tree.weight[0]
    share = block.weight / block.weight.sum()
    now = share @ firing
    return now - before, np.sqrt(share**2 @ (firing - now) ** 2 * (1 + n_relative))


# ---------------------------------------------------------------------------------------------------------------------
# Weights that go on
# ---------------------------------------------------------------------------------------------------------------------


def with_learned_weights(model: RuleModel, block: Block, constraint: Ints | None) -> RuleModel:
    """The model whose weights of evidence have learned from one more block.

    Parameters
    ----------
    model : RuleModel
        Wide rules that have a curvature.
    block : Block
        Rows, with categories that are new as missing values.
    constraint : ndarray of shape (n_columns,) or None
        Sign of each column's monotone constraint.

    Returns
    -------
    RuleModel
        With the curvature of all rows, and the range of all values.
    """
    rows = distinct(block)
    with one_blas_thread():
        scored = ScoredRows.by(model, rows.X)
        problem = _Problem(scored, rows.codes, rows.weight, model)
        if constraint is None:
            found = problem.minimum()
        else:
            found = problem.bounded_minimum(np.append(0, rule_signs(model.tree, model.rules.node, constraint)))
        found -= found.mean(axis=1, keepdims=True)
        after = replace(scored, probability=softmax(scored.scores(found))).curvature(rows.weight)
    before = problem.before
    ranges = model.ranges
    low, high = np.fmin.reduce(rows.X, axis=0, initial=np.inf), np.fmax.reduce(rows.X, axis=0, initial=-np.inf)
    return replace(
        model,
        rules=replace(model.rules, weight=found[1:].copy()),
        prior=found[0].copy(),
        curves=_with_more_rows(model.curves, rows),
        ranges=np.column_stack([np.minimum(ranges[:, 0], low), np.maximum(ranges[:, 1], high)]),
        level_columns=level_columns(constraint),
        curvature=Curvature(before.rules + after.rules, before.classes + after.classes),
    )


def _with_more_rows(curves: CurvesAndMaps | None, rows: Block) -> CurvesAndMaps | None:
    """Curves and maps with the weight of a block in their cells; values stay.

    Steps of single cells would follow the noise of the block: on 15,000 rows with a sine and a product they take the
    log-loss from 0.495 to 0.519, where weights that go on alone take it to 0.492.
    """
    if curves is None:
        return None
    support = curves.support.copy()
    for cells in curves.cells_of(rows.X).T:
        support += np.bincount(cells, weights=rows.weight, minlength=len(support))
    return replace(curves, support=support)


NEVER = 2  # no sign will do


def rule_signs(tree: FuzzyTree, node: Ints, constraint: Ints) -> Ints:
    """Sign that each rule's weight for the second class must have; 0: any; NEVER: it must be 0.

    A product of conditions rises with a feature where its condition on it does.
    """
    signs = []
    for end in node.tolist():
        bound = [step for step in tree.path(end) if constraint[tree.feature[step]]]
        wished = {int(constraint[tree.feature[step]]) * _direction(tree.trapezoid[step]) for step in bound}
        signs.append(NEVER if 0 in wished or len(wished) > 1 else sum(wished))
    return np.array(signs, dtype=np.int32)


def _direction(trapezoid: Floats) -> int:
    """1: the condition only rises; -1: it only falls; 0: both."""
    return int(trapezoid[3] == np.inf) - int(trapezoid[0] == -np.inf)


@dataclass(frozen=True)
class _Problem:
    """The loss of a block, and the parabola around the weights before."""

    scored: ScoredRows
    codes: Ints
    weight: Floats
    start: RuleModel

    @property
    def before(self) -> Curvature:
        if self.start.curvature is None:
            raise ValueError("The weights have no curvature.")
        return self.start.curvature

    @cached_property
    def anchor(self) -> Floats:
        return stacked(self.start)

    @cached_property
    def classes(self) -> Floats:
        """Curvature between the classes, relative to its mean over them."""
        return _relative(self.before.classes)

    def value(self, at: Floats) -> float:
        """Loss and parabola together."""
        score = self.scored.scores(at)
        top = score.max(axis=1)
        loss = np.log(np.exp(score - top[:, None]).sum(axis=1)) + top - score[np.arange(len(score)), self.codes]
        moved = at - self.anchor
        return float(self.weight @ loss + (moved * self._held(moved)).sum() / 2)

    def _held(self, moved: Floats) -> Floats:
        """Slope of the parabola."""
        return np.asarray(self.before.rules @ moved @ self.classes + RIDGE * moved)

    def slope(self, at: Floats, p: Floats) -> Floats:
        """Slope of the loss and the parabola together; rows sum to zero, as the rows of the weights do."""
        residual = p.copy()
        residual[np.arange(len(p)), self.codes] -= 1
        return np.asarray(self.scored.firing.T @ (residual * self.weight[:, None]) + self._held(at - self.anchor))

    def probability(self, at: Floats) -> Floats:
        return softmax(self.scored.scores(at))

    # -----------------------------------------------------------------------------------------------------------------
    # Any signs
    # -----------------------------------------------------------------------------------------------------------------

    def minimum(self) -> Floats:
        """Newton's steps, each by conjugate gradients."""
        at = self.anchor.copy()
        value = self.value(at)
        for _ in range(_MOST_STEPS):
            p = self.probability(at)
            slope = self.slope(at, p)
            step = self._newton_step(slope, p)
            at, value, done = self._search(at, value, step, slope)
            if done:
                break
        return at

    @cached_property
    def _metric(self) -> tuple[Floats, Floats]:
        """Inverses of the curvature of all rows, by rules and by classes: what guides conjugate gradients."""
        added = self.scored.curvature(self.weight)
        rules, classes = self.before.rules + added.rules, self.before.classes + added.classes
        mean = 1 / len(classes)  # added and then removed: the inverse for weights that sum to zero
        by_rules = np.linalg.inv(rules + RIDGE * np.eye(len(rules)))
        by_classes = np.linalg.inv(_relative(classes) + mean) - mean
        return by_rules.astype(np.float64), by_classes.astype(np.float64)

    def _newton_step(self, slope: Floats, p: Floats) -> Floats:
        by_rules, by_classes = self._metric
        step, left = np.zeros_like(slope), -slope
        guided = by_rules @ left @ by_classes
        direction, size = guided, float((left * guided).sum())
        enough = 1e-8 * size
        for _ in range(_MOST_CONJUGATE_STEPS):
            if size <= enough:
                break
            curved = self._curved(direction, p)
            along = float((direction * curved).sum())
            if along <= 0:
                break
            step = step + size / along * direction
            left = left - size / along * curved
            guided = by_rules @ left @ by_classes
            before, size = size, float((left * guided).sum())
            direction = guided + size / before * direction
        return step

    def _curved(self, direction: Floats, p: Floats) -> Floats:
        """Change of the slope along a direction."""
        score = self.scored.firing @ direction
        change = p * (score - (p * score).sum(axis=1, keepdims=True)) * self.weight[:, None]
        return np.asarray(self.scored.firing.T @ change + self._held(direction))

    def _search(self, at: Floats, value: float, step: Floats, slope: Floats) -> tuple[Floats, float, bool]:
        """Halve the step until the value falls enough; done: it hardly falls any more."""
        along = float((step * slope).sum())
        if -along <= _TOLERANCE * self.weight.sum():
            return at, value, True
        for _ in range(_MOST_HALVINGS):
            now = self.value(at + step)
            if now <= value + 1e-4 * along:
                return at + step, now, False
            step, along = step / 2, along / 2
        return at, value, True

    # -----------------------------------------------------------------------------------------------------------------
    # Given signs, two classes
    # -----------------------------------------------------------------------------------------------------------------

    def bounded_minimum(self, signs: Ints) -> Floats:
        """Newton's steps, each the minimum of a parabola within the bounds, coordinate by coordinate."""
        low = np.where((signs == 0) | (signs == -1), -np.inf, 0.0)
        high = np.where((signs == 0) | (signs == 1), np.inf, 0.0)
        second = np.clip(self.anchor[:, 1], low, high)
        at = np.column_stack([-second, second])
        value = self.value(at)
        for _ in range(_MOST_STEPS):
            p = self.probability(at)
            slope = self.slope(at, p)
            added = replace(self.scored, probability=p).curvature(self.weight)
            curvature = self.before.rules + added.rules + RIDGE * np.eye(len(low))
            step = _bounded_step(curvature, slope[:, 1], low - at[:, 1], high - at[:, 1])
            at, value, done = self._search(at, value, np.column_stack([-step, step]), slope)
            if done:
                break
        return at


def _relative(classes: Floats) -> Floats:
    """A curvature between classes, divided by its mean eigenvalue but the one that is always 0; of one class 0."""
    total = np.trace(classes)
    return np.asarray(classes * ((len(classes) - 1) / total)) if total > 0 else np.zeros_like(classes)


def _bounded_step(curvature: Floats, slope: Floats, low: Floats, high: Floats) -> Floats:
    """Where ``slope @ d + d @ curvature @ d / 2`` is least between bounds."""
    step, slope = np.zeros(len(slope)), slope.copy()
    diagonal = np.diag(curvature)
    most = float((slope**2 / diagonal).max())
    for _ in range(_MOST_SWEEPS):
        largest = 0.0
        for k in range(len(step)):
            change = min(max(step[k] - slope[k] / diagonal[k], low[k]), high[k]) - step[k]
            if change != 0:
                step[k] += change
                slope += change * curvature[k]
                largest = max(largest, change * change * diagonal[k])
        if largest <= 1e-14 * most:
            break
    return step


# ---------------------------------------------------------------------------------------------------------------------
# Refits: the weights of some rules are learned again, while the others are held
# ---------------------------------------------------------------------------------------------------------------------


def refitted(
    model: RuleModel, block: Block, held: Collection[int], constraint: Ints | None, ridge: Floats, n_threads: int
) -> RuleModel:
    """The model with refitted weights and prior; held rules keep their weights.

    What held rules add to a row is added to its scores before the weights are fitted. The problem is the same as in a
    fit: multinomial log-loss with the ridge of each rule on the weight of its standardised firing, and weights with the
    signs that monotone constraints allow. It is convex, so the result does not depend on the earlier weights.

    Parameters
    ----------
    model : RuleModel
        The rules.
    block : Block
        Rows as the model reads them, all of some weight.
    held : collection of int
        Indices of the rules that keep their weights.
    constraint : ndarray of shape (n_columns,) or None
        Sign of each column's monotone constraint.
    ridge : ndarray of shape (n_rules,)
        What holds back the weight of each rule's standardised firing.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    RuleModel
        The model without curvature and quantiles of novelty, which belong to the earlier weights.
    """
    rules = model.rules
    _refuse_lacking_classes(model, block)
    scale = weight_scale(exact_sum(block.weight), len(block.weight))  # as a fit counts rows
    rows = distinct(replace(block, weight=block.weight * scale))
    firing = rule_firing(model, rows.X)
    sign = np.zeros(len(rules.node), dtype=np.int32)
    if constraint is not None:
        sign = rule_signs(model.tree, rules.node, constraint)
    is_held = np.isin(np.arange(len(sign)), list(held))
    free = ~is_held & (sign != NEVER)
    target = np.eye(len(model.classes))[rows.codes]
    offset = _scores(firing[:, is_held], rules.weight[is_held]) + added_beside_rules(model, rows.X)
    found = _core.refit_rules(
        np.ascontiguousarray(firing[:, free]), target, rows.weight, sign[free], ridge[free], offset, n_threads
    )
    weight = np.where(is_held[:, None], rules.weight, 0.0)
    weight[free] = found["weight"]
    return replace(model, rules=replace(rules, weight=weight), prior=found["prior"], curvature=None, novelty_scale=None)


def _scores(firing: Floats, weight: Floats) -> Floats:
    """The sum over rules, one by one: a product of matrices may add up in an order that depends on the threads."""
    score = np.zeros((len(firing), weight.shape[1]))
    for fires, adds in zip(firing.T, weight, strict=True):
        score += fires[:, None] * adds
    return score


def _refuse_lacking_classes(model: RuleModel, block: Block) -> None:
    known = model.class_frequency > 0
    lacking = known & (np.bincount(block.codes, minlength=len(known)) == 0)
    if lacking.any():
        label = model.classes.tolist()[int(np.argmax(lacking))]
        raise ValueError(
            f"y has no row of the class {shown(label)}, so that a refit would make that class impossible. Give rows of "
            "all classes."
        )
