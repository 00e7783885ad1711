"""Similar cases: whether their vote helps, how strongly it counts, and which training rows are kept.

The inner validation of the rules decides. It has learned rules, curves and maps on a part of the rows, and they predict
the others; the cases are rows of the same part, in a distance that begins with the evidence of these rules and is
learned on this part. A scale for the scores of the rules and the strengths of the votes minimise the log-loss of the
others; cases are used if they lower it by more than its standard error. Two parts may share their cases, which then are
rows of neither.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from typing import Any

import numpy as np

from ferl._learn.case_distance import with_learned_distance
from ferl._learn.ground import COUNTS_NOTHING, Ground
from ferl._learn.grown import GrownRules
from ferl._learn.rows import Block
from ferl._models.cases import N_NEAREST, CaseChoice, Cases
from ferl._models.novelty import LEAST_EVIDENCE, evidence_by_column
from ferl._models.rule_model import RuleModel, base_scores
from ferl._models.settings import RuleSettings
from ferl._models.tree import FuzzyTree
from ferl._tables import with_derived
from ferl._util.arrays import Floats, Ints
from ferl._util.threads import n_threads

# Chosen on calibration parts (ferl bench defaults-cases); all of them lie on a plateau.
RIDGE = 2.0  # rows that hold the strengths of the votes at 0
HOLD = 10.0  # rows that hold the scale of the rules' scores at 1
PRUNE = 2.0  # times the divergence that pruning may cost: a quarter fewer rules, at the same accuracy
PRUNE_SHARE = 0.1  # of the gain of the cases, which this may cost at most
LEAST_SCALE = 0.1  # of the rules' scores: rules that counted nothing could not be had back without the cases
LEAST_GAIN = 1.0  # standard errors by which cases must lower the log-loss
LEAST_ROWS = 20  # fewer rows judge nothing
PARTS_TOGETHER = 2  # judged by the same cases: a distance is learned for both
MANY_CLASSES = 4  # from this number on each part is judged apart: with fewer cases, classes have few
N_PREDICTED = 200  # rows that a distance is learned from in inner validation, fewer than for the model: time
CANDIDATES = 3  # rows for each case that is kept, among which they are chosen
_BLOCK = 512  # rows that are judged by the cases that were kept before them
_MEASURED_ROWS = 1024  # by which the evidence of columns, and the average of the votes, are measured
_DIGITS = 4  # behind the point, of scale and strengths: rounding of sums must not show
_MOST_STEPS, _LEAST_PART, _LEAST_SLOPE = 50, 1e-6, 1e-9  # of Newton's method; the slope a row


class CaseJudge:
    """Whether cases help, decided while rules are learned: the core calls it with what inner validation has learned.

    Attributes
    ----------
    choice : CaseChoice
        What was found.
    strength : ndarray of shape (n_votes,) or None
        How strongly the votes count; None: no cases.
    """

    def __init__(self, settings: RuleSettings, ground: Ground) -> None:
        self._settings, self._ground = settings, ground
        self.choice = CaseChoice(False, 0.0, 0.0, 0, 1.0)
        self.strength: Floats | None = None

    def __call__(self, parts: list[dict[str, Any]]) -> float:
        """The divergence that pruning may cost. Cases carry a part of what rules would have to."""
        root, prune = self._ground.root(), float(self._settings.prune)
        tried = _judged(parts, root, self._ground, int(self._settings.n_cases))
        if tried is None:
            return prune
        self.choice, strength = fitted_votes(tried, base_scores(root.class_weight[0]))
        if not self.choice.is_used:
            return prune
        self.strength = strength
        return min(PRUNE * prune, prune + PRUNE_SHARE * self.choice.gain)


def with_cases(
    model: RuleModel, settings: RuleSettings, ground: Ground, choice: CaseChoice, strength: Floats
) -> RuleModel:
    """The model with cases, whose votes count as strongly as inner validation chose."""
    n_most, profile = int(settings.n_cases), model.tree.profile
    rows = _model_rows(model, ground, CANDIDATES * n_most)
    evidence = evidence_by_column(model.tree, model.terms, rows[:_MEASURED_ROWS])
    cases = Cases(
        row=rows,
        label=ground.sample.y[: len(rows)].copy(),
        weight=ground.sample.weight[: len(rows)].copy(),
        place=ground.sample.place[: len(rows)].astype(np.int64),
        centre=profile.mean[0].copy(),
        per_unit=_per_unit(evidence, profile.total_variance),
        n_categories=model.tree.n_categories(rows.shape[1]),
        strength=strength,
        usual=np.zeros(len(model.classes)),
    )
    threads = n_threads(settings.n_jobs)
    cases = with_average(condensed(with_learned_distance(cases, threads), n_most, threads))
    return scaled_rules(replace(model, cases=cases, case_choice=choice), choice.scale)


def condensed(cases: Cases, n_most: int, n_threads: int = 1) -> Cases:
    """A limited number of the randomly ordered cases: cases that the nearest kept case mispredicts come first.

    This is Hart's condensed nearest neighbour rule, in blocks. On four tables of 17,000 to 60,000 rows, cases that are
    chosen this way have a log-loss that is .001 to .018 lower than that of as many random ones. On small tables,
    neither is better.
    """
    n = cases.n_cases
    if n <= n_most:
        return cases
    kept = np.zeros(n, dtype=bool)
    kept[0] = True
    for first in range(0, n, _BLOCK):
        rows = np.arange(first, min(first + _BLOCK, n))
        fewer = cases.keep(kept)
        assert fewer is not None
        nearest = fewer.nearest(cases.row[rows], 1, n_threads)[0][:, 0]
        wrong = rows[(fewer.label[nearest] != cases.label[rows]) & ~kept[rows]]
        kept[wrong[: n_most - int(kept.sum())]] = True
    kept[np.flatnonzero(~kept)[: n_most - int(kept.sum())]] = True
    fewer = cases.keep(kept)
    assert fewer is not None
    return fewer


def with_average(cases: Cases) -> Cases:
    """The cases with what they add on average, measured on some of them, each without itself."""
    some = slice(_MEASURED_ROWS)
    added = cases.added(cases.row[some], others_alone=True)
    return replace(cases, usual=np.average(added, axis=0, weights=cases.weight[some]))


def with_more_cases(cases: Cases, block: Block, n_most: int) -> Cases:
    """The cases and the rows of a block, which are cases from now on; equal ones are one case of their weight.

    Above ``n_most`` those are kept whose content has the smallest hash: a random part that does not depend on blocks.
    """
    rows = np.vstack([cases.row, np.where(np.isnan(block.X), np.nan, block.X + 0.0)])
    label, weight = np.append(cases.label, block.codes), np.append(cases.weight, block.weight)
    place = np.append(cases.place, cases.place.max() + 1 + np.arange(len(block.codes)))
    content = np.ascontiguousarray(np.column_stack([rows, label.astype(np.float64)]))
    keys = content.view(f"V{content.itemsize * content.shape[1]}").ravel()
    found, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    by_weight = np.argsort(weight, kind="stable")  # a sum depends on the order of its terms
    summed = np.bincount(inverse[by_weight], weight[by_weight], minlength=len(first))
    hashes = np.array(
        [int.from_bytes(blake2b(key.tobytes(), digest_size=8).digest()) for key in found], dtype=np.uint64
    )
    kept = np.argsort(hashes, kind="stable")[:n_most]
    names = {"row": rows[first[kept]], "label": label[first[kept]], "place": place[first[kept]]}
    return with_average(replace(cases, weight=summed[kept].astype(np.float64), **names))


def scaled_rules(model: RuleModel, scale: float) -> RuleModel:
    """The model whose rules, curves and maps count for more or less, against the class frequencies."""
    curves = model.curves
    return replace(
        model,
        rules=replace(model.rules, weight=scale * model.rules.weight),
        curves=None if curves is None else replace(curves, value=scale * curves.value),
        prior=scale * model.prior + (1 - scale) * model.base,
    )


def _model_rows(model: RuleModel, ground: Ground, n_most: int) -> Floats:
    """The first rows of the sample, whose order is random, as the model reads rows, shape (n_rows, n_columns)."""
    x = ground.drawn.x[:n_most, : model.n_features]
    for j, order in ground.orders.items():
        if j < x.shape[1]:
            known = ~np.isnan(x[:, j])
            x[known, j] = order[x[known, j].astype(np.intp)]
    return np.ascontiguousarray(with_derived(x, model.derived))


# ---------------------------------------------------------------------------------------------------------------------
# Inner validation
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """Rows that neither the rules nor the cases had.

    Attributes
    ----------
    score : ndarray of shape (n_rows, n_classes)
        By the rules.
    votes : ndarray of shape (n_rows, n_votes, n_classes)
        Evidence of the votes of the cases.
    y, weight : ndarray of shape (n_rows,)
        Their classes and weights.
    """

    score: Floats
    votes: Floats
    y: Ints
    weight: Floats


def _judged(parts: list[dict[str, Any]], root: FuzzyTree, ground: Ground, n_most: int) -> Judged | None:
    """The rows of all parts that judge; None where there are too few rows."""
    if ground.sample.n_rows < LEAST_ROWS:
        return None
    found: list[Judged] = []
    n_together = PARTS_TOGETHER if ground.facts.n_classes < MANY_CLASSES else 1
    for first in range(0, len(parts), n_together):
        together = parts[first : first + n_together]
        kept = reduce(np.intersect1d, [part["fit"] for part in together])
        if len(np.unique(ground.sample.y[kept])) > 1:
            found += _judged_parts(together, kept, root, ground, n_most)
    if not found:
        return None
    return Judged(
        *(np.concatenate([getattr(judged, name) for judged in found]) for name in Judged.__dataclass_fields__)
    )


def _judged_parts(
    parts: list[dict[str, Any]], kept: Ints, root: FuzzyTree, ground: Ground, n_most: int
) -> list[Judged]:
    """The rows of some parts, each by the rules without it, and by cases among the kept rows, which are of no part."""
    sample, threads, facts, profile = ground.sample, n_threads(ground.settings.n_jobs), ground.facts, root.profile
    x, rules = sample.x, [GrownRules(part, facts.n_categories) for part in parts]
    measured = x[kept[:_MEASURED_ROWS]]
    evidence = np.sum([own.evidence_by_column(measured, threads) for own in rules], axis=0)
    kept = kept[: CANDIDATES * n_most]
    cases = Cases(
        row=np.ascontiguousarray(x[kept]),
        label=sample.y[kept],
        weight=sample.weight[kept],
        place=np.full(len(kept), -1),
        centre=profile.mean[0].copy(),
        per_unit=_per_unit(evidence, profile.total_variance),
        n_categories=facts.n_categories,
        strength=np.ones(len(N_NEAREST)),
        usual=np.zeros(facts.n_classes),
    )
    cases = condensed(with_learned_distance(cases, threads, N_PREDICTED), n_most, threads)
    found = []
    for part, own in zip(parts, rules, strict=True):
        judged, score = np.ascontiguousarray(x[part["other"]]), np.empty((len(part["other"]), facts.n_classes))
        own.scores.scores(judged, threads, score)
        score -= score.mean(axis=1, keepdims=True)
        votes = cases.votes(judged, n_threads=threads)
        found.append(Judged(score, votes, sample.y[part["other"]], sample.weight[part["other"]]))
    return found


def _per_unit(evidence: Floats, variance: Floats) -> Floats:
    """What a difference of one counts in each column: as in the distance of novelty, by its spread and its evidence."""
    mean = evidence.mean()
    relative = np.maximum(evidence / mean, LEAST_EVIDENCE) if mean > 0 else np.ones_like(evidence)
    return np.where(variance >= COUNTS_NOTHING, 0.0, np.sqrt(relative / variance))


def fitted_votes(judged: Judged, base: Floats) -> tuple[CaseChoice, Floats]:
    """Whether cases are worth it, and the strength of each vote, shape (n_votes,).

    Parameters
    ----------
    judged : Judged
        Rows that judge.
    base : ndarray of shape (n_classes,)
        Scores of the class frequencies, towards which the scale shrinks the scores of the rules.
    """
    y, weight, total = judged.y, judged.weight, float(judged.weight.sum())
    row, towards = np.arange(len(y)), np.concatenate([(judged.score - base)[:, None], judged.votes], axis=1)
    # Rows may weigh less than one each: the penalties count rows.
    unit = weight * (len(y) / total)

    hold = np.append(HOLD, np.full(judged.votes.shape[1], RIDGE))
    no_votes = np.zeros(judged.votes.shape[1])
    rest, least = np.append(1.0, no_votes), np.append(LEAST_SCALE, no_votes)

    def losses(at: Floats) -> tuple[Floats, Floats]:
        score = base + np.einsum("k,nkc->nc", at, towards)
        top = score.max(axis=1, keepdims=True)
        power = np.exp(score - top)
        sums = power.sum(axis=1)
        return np.log(sums) + top[:, 0] - score[row, y], power / sums[:, None]

    def value(at: Floats) -> float:
        return float((unit * losses(at)[0]).sum() + hold @ (at - rest) ** 2 / 2)

    def fitted(n_free: int) -> Floats:
        """The first ones by Newton's method, those at their bound left there while that is best; the others at rest."""
        at, own = rest.copy(), towards[:, :n_free]
        at[1:n_free] = 0.1
        for _ in range(_MOST_STEPS):
            chance = losses(at)[1]
            mean = np.einsum("nc,nkc->nk", chance, own)
            slope = (unit[:, None] * (mean - own[row, :, y])).sum(axis=0) + (hold * (at - rest))[:n_free]
            beside = own - mean[:, :, None]
            weighted = beside * (unit[:, None] * chance)[:, None]
            curvature = np.einsum("nkc,nlc->kl", weighted, beside) + np.diag(hold[:n_free])
            moves = np.flatnonzero((at[:n_free] > least[:n_free]) | (slope < 0))
            if not np.abs(slope[moves]).max(initial=0) > _LEAST_SLOPE * len(y):
                break
            step, before, part = np.zeros_like(at), value(at), 1.0
            step[moves] = np.linalg.solve(curvature[np.ix_(moves, moves)], slope[moves])
            while value(np.maximum(at - part * step, least)) > before and part > _LEAST_PART:
                part /= 2
            at = np.maximum(at - part * step, least)
        return np.asarray(np.round(at, _DIGITS))

    found, alone = fitted(len(rest)), fitted(1)  # what the scale gains by itself is no gain of the cases
    gained = losses(alone)[0] - losses(found)[0]
    gain = float(weight @ gained / total)
    error = float(np.sqrt((weight**2 * (gained - gain) ** 2).sum()) / total)
    n_equal = total**2 / float(weight @ weight)  # rows of equal weight that would judge as surely
    is_used = bool(found[1:].any()) and gain > LEAST_GAIN * error and n_equal >= LEAST_ROWS
    return CaseChoice(is_used, gain, error, len(y), float(found[0]) if is_used else 1.0), found[1:]
