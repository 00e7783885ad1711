"""What counts the training rows behind an answer: sums of the products of two firings, over all rows.

Firings are rounded to 2^-10. How often a row counts, and what a row of its class weighs, are rounded each by itself, so
that a row of weight 2 is the row twice. Then every product and every partial sum is a double without rounding: the sums
have the same bits in any order of the rows, in any batches and with any number of threads, whether they are summed as
integers or by whichever library multiplies matrices.
"""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ferl import _core
from ferl._learn.rows import Summing
from ferl._util.arrays import Floats, Ints
from ferl._util.threads import one_blas_thread

_FIRING_BITS = 10
_BITS = 53 - 2 * _FIRING_BITS - 1  # of a double that are left for weights, and one to spare
_CHUNK_ROWS = 512  # whose firings at all nodes are in memory at a time: in the cache
_MOST_WEIGHTS = 8  # different weights of rows, which are summed by themselves and then multiplied


def distinct(values: Floats, n_most: int) -> list[float] | None:
    """The different numbers of an array in the order in which they appear; None if there are more than ``n_most``.

    Examples
    --------
    >>> import numpy as np
    >>> distinct(np.array([2.0, 1.0, 2.0]), 2)
    [2.0, 1.0]
    >>> distinct(np.array([2.0, 1.0, 3.0]), 2) is None
    True
    """
    found: list[float] = []
    rest = values
    while len(rest):
        if len(found) == n_most:
            return None
        found.append(float(rest[0]))
        rest = rest[rest != rest[0]]
    return found


@dataclass
class RuleSums:
    """The sums that a model of rules keeps of rows.

    Attributes
    ----------
    moments : _core.Moments
        Of values, by condition.
    tree : _core.Tree
        The conditions.
    n_nodes : int
        Number of its nodes.
    node : ndarray of shape (n_rules,), int32
        Where rules end.
    class_unit : ndarray of shape (n_classes,)
        What a row of each class weighs, and 1 for classes without weight.
    step, class_step : float
        What numbers of rows, and the weights of classes, are rounded to multiples of.
    products : ndarray of shape (1 + n_rules, 1 + n_rules)
        Of firings, a one first.
    """

    moments: _core.Moments
    tree: _core.Tree
    n_nodes: int
    node: Ints
    class_unit: Floats
    step: float
    class_step: float
    products: Floats

    def add(self, X: Floats, codes: Ints, weight: Floats, n_threads: int, report: Any) -> None:
        """Take in rows."""
        self.moments.add(X, codes, weight, n_threads, report)
        unit = self.class_unit[codes]
        whole = np.rint(weight / unit / self.step) * self.step * self._rounded(unit)
        found = distinct(whole, _MOST_WEIGHTS)
        if found is None:
            # Threads would wait for each other between small products: three times the time. Few rows take none anyway.
            with one_blas_thread() if len(X) > _CHUNK_ROWS else nullcontext():
                self._multiply(X, whole, n_threads)
            return
        for count in found:  # in integers: a fraction of the time
            sums = np.zeros_like(self.products)
            self.tree.products(self.node, X if len(found) == 1 else X[whole == count], n_threads, sums)
            self.products += count * sums

    def _multiply(self, X: Floats, whole: Floats, n_threads: int) -> None:
        """Rows of any weights, by products of matrices."""
        for first in range(0, len(X), _CHUNK_ROWS):
            rows = slice(first, first + _CHUNK_ROWS)
            every = np.zeros((len(whole[rows]), self.n_nodes))
            self.tree.fire(X[rows], False, n_threads, every)
            firing = np.ones((len(every), 1 + len(self.node)))
            np.rint(every[:, self.node] * 2.0**_FIRING_BITS, out=firing[:, 1:])
            firing[:, 1:] *= 2.0**-_FIRING_BITS
            self.products += (firing * whole[rows, None]).T @ firing

    def _rounded(self, unit: Floats) -> Floats:
        return np.asarray(np.maximum(np.rint(unit / self.class_step), 1.0) * self.class_step)

    def state(self) -> dict[str, Any]:
        """The sums, to be merged elsewhere."""
        return dict(self.moments.state()) | {"products": self.products}

    def merge(self, state: dict[str, Any]) -> None:
        """Add the sums of other rows."""
        self.moments.merge({name: part for name, part in state.items() if name != "products"})
        self.products += state["products"]

    def finish(self) -> dict[str, Any]:
        """The sums as arrays."""
        return dict(self.moments.finish()) | {"products": self.products}


@dataclass(frozen=True)
class RuleSumming(Summing):
    """Takes the sums that a model of rules keeps of all rows.

    Attributes
    ----------
    node : ndarray of shape (n_rules,), int32
        Where rules end.
    total_weight : float
        Of all rows, nearly.
    class_unit : ndarray of shape (n_classes,)
        What a row of each class weighs.
    """

    node: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    total_weight: float = 1.0
    class_unit: Floats = field(default_factory=lambda: np.ones(1))

    def start(self) -> RuleSums:
        """Sums of nothing."""
        n_nodes, width = len(self.conditions["parent"]), 1 + len(self.node)
        everywhere = np.tile([-np.inf, np.inf], (n_nodes, 1))
        tree = _core.Tree(**self.conditions, support=everywhere, gate_margin=1.0)
        unit = np.where(self.class_unit > 0, self.class_unit, 1.0)
        n_bits = _BITS - math.ceil(math.log2(self.total_weight))  # behind the point
        class_bits = 0 if (unit == 1).all() else n_bits // 2
        steps = 2.0 ** (class_bits - n_bits), 2.0**-class_bits
        return RuleSums(super().start(), tree, n_nodes, self.node, unit, *steps, np.zeros((width, width)))
