"""Similar cases: whether their vote helps, how strongly it counts, and which training rows are kept.

The inner validation of the rules decides. It has learned rules, curves and maps on a part of the rows, and they predict
the others; the cases are rows of the same part, in a distance that begins with the evidence of these rules and is
learned on this part. So neither rules nor cases nor their distance are learned from the rows that judge them. A scale for the scores of the rules and the
strengths of the votes minimise the log-loss of these rows; cases are used if they lower it by more than its standard
error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.optimize import minimize

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
from ferl._util.threads import n_threads, one_blas_thread

# Chosen on calibration parts (ferl bench defaults-cases); all of them lie on a plateau.
RIDGE = 2.0  # rows that hold the strengths of the votes at 0
HOLD = 10.0  # rows that hold the scale of the rules' scores at 1
PRUNE = 2.0  # times the divergence that pruning may cost: a quarter fewer rules, at the same accuracy
LEAST_SCALE = 0.1  # of the rules' scores: rules that counted nothing could not be had back without the cases
LEAST_GAIN = 1.0  # standard errors by which cases must lower the log-loss
LEAST_ROWS = 20  # fewer rows judge nothing
CANDIDATES = 3  # rows for each case that is kept, among which they are chosen
_BLOCK = 512  # rows that are judged by the cases that were kept before them
_MEASURED_ROWS = 1024  # by which the evidence of columns, and the average of the votes, are measured
_DIGITS = 4  # behind the point, of scale and strengths: rounding of sums must not show


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
        return PRUNE * prune


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

    Half of the cases lose about half as much log-loss when they are chosen this way (Hart's condensed nearest neighbour
    rule, in blocks) as when they are drawn at random.
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
        [int.from_bytes(blake2b(own.tobytes(), digest_size=8).digest()) for own in found], dtype=np.uint64
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
    """The rows of all parts that judge, each by rules and cases of the other parts; None where there are too few rows."""
    sample = ground.sample
    if sample.n_rows < LEAST_ROWS:
        return None
    found = [
        _judged_part(part, root, ground, n_most)
        for part in parts
        if len(part["other"]) and len(np.unique(sample.y[part["fit"]])) > 1
    ]
    if not found:
        return None
    return Judged(*(np.concatenate([getattr(own, name) for own in found]) for name in Judged.__dataclass_fields__))


def _judged_part(part: dict[str, Any], root: FuzzyTree, ground: Ground, n_most: int) -> Judged:
    """Some rows by rules and cases of the others."""
    sample, threads, facts = ground.sample, n_threads(ground.settings.n_jobs), ground.facts
    x, profile, others = sample.x, root.profile, part["fit"]
    judges = part["other"]
    judged, score = np.ascontiguousarray(x[judges]), np.empty((len(judges), facts.n_classes))
    rules = GrownRules(part, facts.n_categories)
    rules.scores.scores(judged, threads, score)
    evidence = rules.evidence_by_column(x[others[:_MEASURED_ROWS]], threads)
    kept = others[: CANDIDATES * n_most]
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
    cases = condensed(with_learned_distance(cases, threads), n_most, threads)
    votes = cases.votes(judged, n_threads=threads)
    return Judged(score - score.mean(axis=1, keepdims=True), votes, sample.y[judges], sample.weight[judges])


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

    def losses(at: Floats) -> tuple[Floats, Floats]:
        score = base + np.einsum("k,nkc->nc", at, towards)
        top = score.max(axis=1, keepdims=True)
        power = np.exp(score - top)
        sums = power.sum(axis=1)
        return np.log(sums) + top[:, 0] - score[row, y], power / sums[:, None]

    def value(at: Floats) -> tuple[float, Floats]:
        loss, residual = losses(at)
        residual[row, y] -= 1
        away = np.append(at[0] - 1, at[1:])
        hold = np.append(HOLD, np.full(len(at) - 1, RIDGE))
        slope = np.einsum("n,nc,nkc->k", unit, residual, towards, optimize=False) + hold * away
        return float(unit @ loss + (hold * away**2).sum() / 2), slope

    def fitted(most: float | None) -> Floats:
        start = np.append(1.0, np.full(judged.votes.shape[1], 0.1 if most is None else 0.0))
        bounds = [(LEAST_SCALE, None), *[(0, most)] * (len(start) - 1)]
        with one_blas_thread():
            found = minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, tol=1e-12).x
        return np.asarray(np.round(found, _DIGITS))

    found, alone = fitted(None), fitted(0.0)  # what the scale gains by itself is no gain of the cases
    gained = losses(alone)[0] - losses(found)[0]
    gain = float(weight @ gained / total)
    error = float(np.sqrt((weight**2 * (gained - gain) ** 2).sum()) / total)
    is_used = bool(found[1:].any()) and gain > LEAST_GAIN * error
    return CaseChoice(is_used, gain, error, len(y), float(found[0]) if is_used else 1.0), found[1:]
