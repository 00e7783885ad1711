"""How inner validation deals groups of rows out to parts, group by group."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

_MASK = 2**64 - 1


def mixed(number: int) -> int:
    """The finaliser of SplitMix64, by which all random orders are made."""
    number = (number + 0x9E3779B97F4A7C15) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def group_parts(
    group: Sequence[float], y: Sequence[int], weight: Sequence[float], n_parts: int, turn: int = 0
) -> list[int]:
    """The part of each row.

    Groups come by the power of two of their weight, the heaviest first, and by chance within. Each goes to the part
    that has least of its classes, as shares of all rows; of equals to the lightest, then to the first.
    """
    rows: dict[float, list[int]] = {}
    for row, name in enumerate(group):
        rows.setdefault(name, []).append(row)

    def rank(name: float) -> tuple[int, int]:
        magnitude = math.frexp(math.fsum(weight[row] for row in rows[name]))[1]
        bits = struct.unpack("<Q", struct.pack("<d", name))[0]
        return -magnitude, mixed(bits ^ mixed(turn))

    total: dict[int, float] = {}
    for label, own in zip(y, weight, strict=True):
        total[label] = total.get(label, 0.0) + own
    held: list[dict[int, float]] = [{} for _ in range(n_parts)]
    out = [0] * len(group)
    for name in sorted(rows, key=rank):
        own_weight: dict[int, float] = {}
        for row in rows[name]:
            own_weight[y[row]] = own_weight.get(y[row], 0.0) + weight[row]

        def cost(part: int, own_weight: dict[int, float] = own_weight) -> tuple[float, float, int]:
            of_classes = sum(
                own / total[label] * held[part].get(label, 0.0) for label, own in sorted(own_weight.items())
            )
            return of_classes, sum(held[part].values()), part

        best = min(range(n_parts), key=cost)
        for label, own in own_weight.items():
            held[best][label] = held[best].get(label, 0.0) + own
        for row in rows[name]:
            out[row] = best
    return out
