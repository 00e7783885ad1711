"""Refits of rules: the weights of some rules are learned again, while those of the others are held.

What held rules say of a row is added to its scores before the weights are fitted. The problem is that of a fit:
multinomial log-loss with the ridge of each rule on the weight of its standardised firing, weights with the signs that
monotone constraints allow. It is convex, so the result does not depend on the weights before.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ferl import _core
from ferl._learn.rows import Block, exact_sum, weight_scale
from ferl._learn.update_rules import NEVER, distinct, rule_firing, rule_signs
from ferl._models.rule_model import RuleModel
from ferl._util.arrays import Floats, Ints
from ferl._util.text import shown


def refitted(
    model: RuleModel, block: Block, held: Collection[int], constraint: Ints | None, ridge: Floats, n_threads: int
) -> RuleModel:
    """The model whose weights are fitted again, but for those of rules that are held; the prior is fitted as well.

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
        Without a curvature and without quantiles of novelty, which would be those of other weights.
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
    offset = _scores(firing[:, is_held], rules.weight[is_held])
    found = _core.wide_refit(
        np.ascontiguousarray(firing[:, free]), target, rows.weight, sign[free], ridge[free], offset, n_threads
    )
    weight = np.where(is_held[:, None], rules.weight, 0.0)
    weight[free] = found["weight"]
    return replace(model, rules=replace(rules, weight=weight), prior=found["prior"], curvature=None, novelty_scale=None)


def _scores(firing: Floats, weight: Floats) -> Floats:
    """What rules say, rule by rule: a product of matrices may add up in an order that depends on the threads."""
    score = np.zeros((len(firing), weight.shape[1]))
    for own, said in zip(firing.T, weight, strict=True):
        score += own[:, None] * said
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
