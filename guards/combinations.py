"""Combinations of what a model may be, and every law on each of them.

Single features hold by their tests; what breaks is combinations. A case draws a table (numbers, ties, categories,
dates, days with evidence, gaps, constant columns, extreme units, weights, groups, one to four classes, labels that
rules or that neighbours explain), a kind of model and its parameters, what is done with the model (updates, chains of
edits, files, in any order), and then checks all laws that apply, in Python, ONNX, SQL, plain Python, C, the command
line, wrappers and the page of the report::

    python guards/combinations.py --minutes 60

A new parameter is one more line in :func:`combine.draw.draw_options`, a new law one more function with ``@law`` in
`combine/models.py`, `exports.py` or `wrappers.py`. Laws that take long hold for a share of the cases, which their
decorator names.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE)]

import campaign  # noqa: E402
from combine import exports, models, wrappers  # noqa: E402, F401  (each adds its laws to the list)
from combine.draw import draw  # noqa: E402
from combine.laws import LAWS, NONE  # noqa: E402


def case(campaign_seed: int, number: int) -> dict[str, int]:
    """Draw a case and check every law; the error names the law, and what was drawn. Returns what was counted."""
    own = draw(campaign_seed * 10_000_000 + number)
    has = [name for name in ("weight", "groups") if getattr(own, name) is not None]
    drawn = f"{own.kind} {own.options} {[*has, *own.steps]}"
    try:
        assert own.model is not None
    except Exception as error:
        raise AssertionError(f"fit, update or edit: {drawn}") from error
    counts = Counter({own.kind: 1, **dict.fromkeys([*has, *own.steps], 1)})
    counts["cases that vote"] = int(own.has_cases)
    counts["dates"] = int("d0" in own.table.frame)
    counts["days with evidence"] = int(any(column.kind == "day" for column in own.model.model_.derived))
    counts["one class"] = int(len(own.model.classes_) == 1)
    options = ("class_weight", "monotonic_cst", "words", "categorical_features", "growth_rows")
    counts |= {name: int(own.options.get(name) is not None) for name in options}
    for name, (check, every) in LAWS.items():
        if number % every:
            continue
        try:
            counts["checks"] += check(own) != NONE
        except Exception as error:
            raise AssertionError(f"{name}: {drawn}") from error
    return dict(counts)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(campaign.run("combinations", "combinations", case))
