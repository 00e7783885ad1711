"""Drift: how a block of new rows differs from the rows a model has learned from, as far as the model can detect."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ferl._learn.consequents import own_trust
from ferl._learn.rows import Block
from ferl._learn.update_rules import firing_shift, lacking_evidence
from ferl._models.model import Model
from ferl._models.novelty import residual_parts, usual_residual
from ferl._models.rule_model import RuleModel
from ferl._models.settings import RuleSettings, Settings, TreeSettings
from ferl._models.tree import FuzzyTree
from ferl._models.tree_model import TreeModel
from ferl._util.arrays import Floats
from ferl._util.text import listed, number_text, percent_text, points_text, spoken
from ferl._util.threads import n_threads

_STANDARD_ERRORS = 3  # beyond which a figure is a sign of drift
_LEAST_SUPPORT = 0.02  # a few rows beyond the range of the rows before are no drift
_MOST_SUPPORT = 0.5  # beyond it the model is silent about most rows
_LEAST_NOVELTY = 0.1
_LEAST_SHIFT = 0.2  # of the share of a class, that a block must be large enough to show
LEAST_ROWS = math.ceil((_STANDARD_ERRORS * 0.5 / _LEAST_SHIFT) ** 2)  # a share has a standard error of 0.5 / sqrt(n)
# With fewer the noise is unknown: n equal figures lie sqrt(n) standard errors from 0, and one row has no error.
_LEAST_ROWS_OF_SIGNS = _STANDARD_ERRORS**2 + 1
_CHUNK_ROWS = 4096  # whose firings are in memory at a time


@dataclass(frozen=True, repr=False)
class Drift:
    """A block against the rows before it. Every figure comes with the noise it has where nothing drifts.

    Attributes
    ----------
    n_rows : int
        Rows of the block that have weight.
    labels, labels_error : float
        How much less probability the old consequents give to the block's labels than to new labels drawn as those
        before, leaf by leaf; and the standard error of that. Rules: less than to labels drawn by their own
        probabilities. Above 0: the rules fit the block less well. (Splits are chosen to fit the rows they are grown on,
        so a tree of many rules on few rows shows a little of it without any drift.)
    routing, routing_noise : float
        Total variation distance between the shares of the leaves in the block and before, from 0 to 1; and its mean for
        two samples of these sizes from one source, if every row went to one leaf (rows that are shared make less). With
        rules, which overlap: how far a rule's mean firing has moved, the mean over rules. With few rules chance alone
        may give three times the mean.
    support, support_error : float
        Mean routing mass that the old gates withhold from the block's rows (see
        :meth:`ferl.FERLClassifier.support_deficit`), and its standard error. Before it was 0, and rows from the same
        source have little; 0 where the model has no gates.
    novelty, novelty_error : float
        Mean residual (see :meth:`ferl.FERLClassifier.novelty`), in units of its mean over the rows before, and its
        standard error: 1 or a little less where the block's rows lie around the middle of their rules as those did.
        NaN where no feature has a spread to compare with.
    class_shift, class_noise : dict
        By label: its share in the block less its share before; and the standard error of that.
    words : dict
        By label: what sentences call it.
    """

    n_rows: int
    labels: float
    labels_error: float
    routing: float
    routing_noise: float
    support: float
    support_error: float
    novelty: float
    novelty_error: float
    class_shift: dict[Any, float]
    class_noise: dict[Any, float]
    words: dict[Any, str] = field(default_factory=dict)

    @property
    def z(self) -> float:
        """``labels`` in standard errors: beyond 3, labels follow the features in another way than they did."""
        return self.labels / self.labels_error if self.labels_error > 0 else 0.0

    @property
    def signs(self) -> tuple[str, ...]:
        """What differs by more than three times its noise, in clauses, the most serious first."""
        found = []
        if self.z > _STANDARD_ERRORS:
            found.append("the rules fit the labels less well than before")
        label, words = self._most_shifted
        shift = self.class_shift[label]
        if abs(shift) > _STANDARD_ERRORS * self.class_noise[label]:
            found.append(f"{words} is {points_text(shift)} {'more' if shift > 0 else 'less'} frequent")
        if self.routing > _STANDARD_ERRORS * self.routing_noise > 0:
            found.append("rows go to other rules")
        if self.support > max(_STANDARD_ERRORS * self.support_error, _LEAST_SUPPORT):
            found.append(
                f"values lie outside the training range ({percent_text(self.support)} of the firing is withheld)"
            )
        if self.novelty - 1 > max(_STANDARD_ERRORS * self.novelty_error, _LEAST_NOVELTY):
            distance = math.sqrt(self.novelty)  # novelty is its square
            found.append(f"rows lie {_times(distance, 3)} times as far from the middle of their rules")
        return tuple(found)

    @property
    def _most_shifted(self) -> tuple[Any, str]:
        """The label whose share has moved most, and what sentences call it."""
        label = max(self.class_shift, key=lambda name: abs(self.class_shift[name]))
        return label, spoken(self.words.get(label, label))

    @property
    def verdict(self) -> str:
        """Whether the block differs from the rows before, and what to do, in a sentence or two.

        A block of fewer than 57 rows without a sign of drift is too small for a conclusion: 57 show that a class is 20
        points more frequent. A block of fewer than 10 always is, since the noise of its figures is not known.
        """
        n_rows = f"{self.n_rows} row{'s' * (self.n_rows != 1)}"
        if self.n_rows < (_LEAST_ROWS_OF_SIGNS if self.signs else LEAST_ROWS):
            # Where the values lie is seen in each row.
            share = f"{percent_text(self.support)} of the firing is withheld"
            so_far = f" Values lie outside the training range ({share})." if self.support > _LEAST_SUPPORT else ""
            return f"Verdict: {n_rows} {_are(self.n_rows)} too few to detect drift; {LEAST_ROWS} are enough.{so_far}"
        if not self.signs:
            return f"Verdict: no sign of drift in {n_rows}."
        fits = "The rules still fit the labels; look at the next rows before you fit anew."
        remedy = "Fit anew on recent rows." if self.z > _STANDARD_ERRORS else fits
        if self.support > _MOST_SUPPORT:
            remedy = "Check that the values have the units of the training rows; if so, fit anew on recent rows."
        return f"Verdict: drift in {n_rows}: {listed(self.signs)}. {remedy}"

    def __repr__(self) -> str:
        label, words = self._most_shifted
        return "\n".join(
            [
                f"<Drift: {self.n_rows} rows>",
                f"labels   {self.labels:+.4f} ± {self.labels_error:.4f} less probability for labels, z = {self.z:.1f}",
                f"routing  {self.routing:.4f} of the weight in other rules; {self.routing_noise:.4f} by chance",
                f"support  {self.support:.4f} ± {self.support_error:.4f} withheld by gates",
                f"novelty  {_times(self.novelty, 3)} ± {_times(self.novelty_error)} times that before",
                f"classes  {words} {self.class_shift[label]:+.4f} ± {self.class_noise[label]:.4f}, the largest shift",
                self.verdict,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures, ``z`` among them, as numbers of Python, and the verdict."""
        figures = {name: value for name, value in asdict(self).items() if name != "words"}
        return figures | {"z": self.z, "verdict": self.verdict}


def _are(n_rows: int) -> str:
    return "is" if n_rows == 1 else "are"


def drift_of_tree(model: TreeModel, settings: TreeSettings, block: Block, class_weight: Floats) -> Drift:
    """Compare a block with what a tree remembers of the rows before.

    Parameters
    ----------
    model : TreeModel
        Before it has learned from the block.
    settings : TreeSettings
        How it learns.
    block : Block
        Rows as the model reads them, all of some weight.
    class_weight : ndarray of shape (n_nodes, n_classes)
        Weight of each class of the block that reaches each node.
    """
    tree, n_rows = model.tree, _numbers_of_rows(model, block)
    moved, noise = _shift(_placed(tree, tree.class_weight), _placed(tree, class_weight), *n_rows)
    lacking = _lacking_in_leaves(tree, settings, block)
    return _drift(model, settings, block, class_weight, lacking, moved, noise, 1 / 2)


def drift_of_rules(model: RuleModel, settings: RuleSettings, block: Block, class_weight: Floats) -> Drift:
    """Compare a block with what rules remember of the rows before; parameters as in :func:`drift_of_tree`."""
    before, now = _numbers_of_rows(model, block)
    moved, noise = firing_shift(model, block, now / before)
    lacking = lacking_evidence(model, block)
    return _drift(model, settings, block, class_weight, lacking, moved, noise, 1 / max(len(moved), 1))


def _drift(
    model: Model,
    settings: Settings,
    block: Block,
    class_weight: Floats,
    lacking: Floats,
    moved: Floats,
    noise: Floats,
    scale: float,
) -> Drift:
    """The figures of a block.

    Parameters
    ----------
    model, settings, block, class_weight
        As in :func:`drift_of_tree`.
    lacking : ndarray of shape (n_samples,)
        Probability that was expected for each row's label, less what the model before gives it.
    moved, noise : ndarray of shape (n_rules,)
        How far each rule's share of the weight has moved, and its standard error if nothing has changed.
    scale : float
        Factor on their sums.
    """
    tree, weight, threads = model.tree, block.weight, n_threads(settings.n_jobs)
    n_rows = _numbers_of_rows(model, block)
    shift, class_noise = _shift(tree.class_weight[0], class_weight[0], *n_rows)
    names, words = model.classes.tolist(), [spoken(label) for label in model.labels]
    mean_size = math.sqrt(2 / math.pi)  # of a normal deviate
    return Drift(
        len(block.X),
        *_labels(lacking, weight, *n_rows),
        float(np.abs(moved).sum() * scale),
        float(mean_size * noise.sum() * scale),
        *_mean(model.lost_support(block.X, threads).sum(axis=1), weight),
        *_mean(_relative_residual(tree, block.X, threads), weight),
        dict(zip(names, shift.tolist(), strict=True)),
        dict(zip(names, class_noise.tolist(), strict=True)),
        dict(zip(names, words, strict=True)),
    )


def _numbers_of_rows(model: Model, block: Block) -> tuple[float, float]:
    """Number of rows before and now, according to their weights."""
    return float(model.tree.weight[0]), _effective_rows(block.weight)


def _times(factor: float, digits: int = 2) -> str:
    """A factor with few digits; large whole numbers keep all digits."""
    return number_text(factor if factor < 100 else round(factor), digits) if math.isfinite(factor) else f"{factor:.3g}"


def _placed(tree: FuzzyTree, class_weight: Floats) -> Floats:
    """Weight in each leaf, and what is in none: words need not cover everything."""
    weight = class_weight.sum(axis=1)
    in_leaves = weight[tree.leaves]
    return np.append(in_leaves, max(weight[0] - in_leaves.sum(), 0.0))


def _relative_residual(tree: FuzzyTree, X: Floats, threads: int) -> Floats:
    usual = usual_residual(tree)
    residual = residual_parts(tree, X, threads).sum(axis=1)
    return np.asarray(residual / (usual if usual > 0 else math.nan))


def _labels(lacking: Floats, weight: Floats, n_before: float, n_now: float) -> tuple[float, float]:
    share = weight / weight.sum()
    # Uncentred: the mean is 0 without drift. And the consequents are means of a sample themselves.
    error = math.sqrt(share**2 @ lacking**2 * (1 + n_now / n_before))
    return float(share @ lacking), error


def _lacking_in_leaves(tree: FuzzyTree, settings: TreeSettings, block: Block) -> Floats:
    """Probability that was expected for each row's label, less what the leaves give it, weighted by firing."""
    leaves = tree.leaves
    consequent, expected = tree.consequent[leaves], _expected_probability(tree, settings)
    out = np.empty(len(block.X))
    for first in range(0, len(out), _CHUNK_ROWS):
        rows = slice(first, first + _CHUNK_ROWS)
        firing = tree.fire(block.X[rows], gated=False, n_threads=n_threads(settings.n_jobs))[:, leaves]
        out[rows] = firing @ expected - np.einsum("il,li->i", firing, consequent[:, block.codes[rows]])
    return out


def _expected_probability(tree: FuzzyTree, settings: TreeSettings) -> Floats:
    """Mean probability that each leaf gives the label of a new row like those before, shape (n_leaves,).

    That of the rows before is larger: these are what the leaf knows. A consequent p that follows the frequencies q of W
    rows by t per unit gives their labels ``sum p q``, of which ``t (1 - sum q^2) / (W - 1)`` is the noise of
    these rows.
    """
    leaves = tree.leaves
    weight = tree.weight[leaves]
    share = np.divide(
        tree.class_weight[leaves], weight[:, None], out=tree.consequent[leaves], where=weight[:, None] > 0
    )
    trust = own_trust(tree.class_weight, tree.parent, settings.consequents, settings.shrinkage)[leaves]
    noise = trust * (1 - (share**2).sum(axis=1)) / np.maximum(weight - 1, 1.0)
    return np.asarray((tree.consequent[leaves] * share).sum(axis=1) - noise)


def _shift(before: Floats, now: Floats, n_before: float, n_now: float) -> tuple[Floats, Floats]:
    """Change of shares, and its standard error if both are samples of one source."""
    old, new = before / before.sum(), now / now.sum()
    pooled = (n_before * old + n_now * new) / (n_before + n_now)
    return new - old, np.sqrt(pooled * np.maximum(1 - pooled, 0.0) * (1 / n_before + 1 / n_now))


def _effective_rows(weight: Floats) -> float:
    """Rows of equal weight whose mean would be as noisy (Kish)."""
    share = weight / weight.sum()
    return float(1 / (share @ share))


def _mean(values: Floats, weight: Floats) -> tuple[float, float]:
    """Weighted mean, and its standard error."""
    share = weight / weight.sum()
    mean = float(share @ values)
    return mean, float(math.sqrt(share**2 @ (values - mean) ** 2))
