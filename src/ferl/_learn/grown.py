"""The learning task of the core and its result, before sums over all rows turn it into a model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ferl import _core
from ferl._learn.ground import CONDITIONS, UNBOUNDED, Ground
from ferl._models.settings import RuleSettings
from ferl._models.terms import CurvesAndMaps
from ferl._util.arrays import Floats, Ints
from ferl._util.threads import n_threads


def rule_options(settings: RuleSettings, ground: Ground, tuning: _core.Tuning | None = None) -> _core.RuleOptions:
    """The task of the core; ``tuning``: other numbers than all fits have."""
    words = ground.word_conditions
    if words is not None:
        is_plain = words.is_complement == 0  # conditions such as "not low" make rules longer and no better
    return _core.RuleOptions(
        max_rules=int(min(settings.max_rules, UNBOUNDED)),
        max_conditions=int(settings.max_conditions),
        max_maps=-1 if settings.max_maps is None else int(min(settings.max_maps, UNBOUNDED)),
        prune=float(settings.prune),
        min_rule_worth=float(settings.min_rule_worth),
        effort=int(settings.effort),
        monotone=[] if ground.constraint is None else ground.constraint.tolist(),
        words=None if words is None else (words.feature[is_plain], words.trapezoid[is_plain]),
        curves_only=ground.curves_only,
        last_stage_ignores_groups=ground.last_stage_ignores_groups,
        n_threads=n_threads(settings.n_jobs),
        seed=ground.seed,
        tuning=tuning,
    )


@dataclass(frozen=True)
class GrownRules:
    """Rules, curves and maps as the core returns them; categories are indices of the sample.

    Attributes
    ----------
    grown : dict
        What ``_core.grow_rules`` returned.
    n_categories : ndarray of shape (n_columns,), int32
        Number of categories of each column; 0: it holds numbers.
    """

    grown: dict[str, Any]
    n_categories: Ints

    @cached_property
    def curves(self) -> CurvesAndMaps | None:
        """Curves and maps, without the weight of rows in their cells."""
        column, value = self.grown["grid_column"], self.grown["grid_value"]
        if not len(column):
            return None
        cut_start, cell_start = (self.grown[name].astype(np.int32) for name in ("grid_cut_start", "grid_cell_start"))
        none = np.zeros(len(value))
        return CurvesAndMaps(column, cut_start, self.grown["grid_cut"], cell_start, value, none, self.n_categories)

    @cached_property
    def tree(self) -> _core.Tree:
        """The conditions, without gates."""
        everywhere = np.tile([-np.inf, np.inf], (len(self.grown["parent"]), 1))
        return _core.Tree(**{name: self.grown[name] for name in CONDITIONS}, support=everywhere, gate_margin=1.0)

    @cached_property
    def scores(self) -> _core.Scores:
        """The weights, without gates."""
        prior, nowhere = self.grown["prior"], np.zeros(0, dtype=np.int32)
        weights = self.grown["rule_node"], self.grown["weight"], prior, np.zeros_like(prior)
        curves = None if self.curves is None else self.curves.core
        return _core.Scores(self.tree, *weights, nowhere, 0, np.zeros((0, 2)), nowhere, 1.0, curves)

    def evidence_by_column(self, rows: Floats, n_threads: int) -> Floats:
        """How much of the evidence depends on each column, as :func:`ferl._models.novelty.evidence_by_column`."""
        grown, found = self.grown, np.zeros(rows.shape[1])
        firing = np.zeros((len(rows), len(grown["parent"])))
        self.tree.fire(rows, False, n_threads, firing)
        moved = np.abs(grown["weight"]).sum(axis=1) * firing[:, grown["rule_node"]].std(axis=0)
        terms = [*zip(map(self._columns, grown["rule_node"].tolist()), moved.tolist(), strict=True)]
        if self.curves is not None:
            spread = self.curves.value[self.curves.cells_of(rows)].std(axis=0).sum(axis=1)
            terms += zip(self.curves.term_columns, spread.tolist(), strict=True)
        for read, size in terms:
            for column in read:
                found[column] += size / len(read)
        return found

    def _columns(self, node: int) -> tuple[int, ...]:
        """The columns of the conditions down to a node."""
        found = []
        while node > 0:
            found.append(int(self.grown["feature"][node]))
            node = int(self.grown["parent"][node])
        return tuple(found)
