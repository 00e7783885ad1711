"""A slow FERL in plain NumPy: the specification that the compiled core is tested against.

It shares with the core only the training rows in canonical order and their bootstrap draws (``_core.resample``), so
that both grow on the same numbers. Everything else is written from the definitions: nothing is kept up to date, nothing
is skipped, every node is scored by brute force.

- :mod:`oracle.growth`: cuts, bands, gains and best-first growth;
- :mod:`oracle.inference`: firing, gates, consequents, evidence.
"""

from oracle.growth import (
    Band,
    Gain,
    GrowthOptions,
    Sample,
    Split,
    Tree,
    best_split,
    first_best,
    gini_gain,
    grow,
    may_split,
    node_weights,
    ramp_gain,
    take_sample,
)
from oracle.inference import (
    Masses,
    Source,
    combine,
    consequents,
    dempster,
    fire,
    gate,
    membership,
    prediction_set,
    ranges,
    reliability,
    sum_class_weight,
    support_deficit,
)

__all__ = [
    "Band",
    "Gain",
    "GrowthOptions",
    "Masses",
    "Sample",
    "Source",
    "Split",
    "Tree",
    "best_split",
    "combine",
    "consequents",
    "dempster",
    "fire",
    "first_best",
    "gate",
    "gini_gain",
    "grow",
    "may_split",
    "membership",
    "node_weights",
    "prediction_set",
    "ramp_gain",
    "ranges",
    "reliability",
    "sum_class_weight",
    "support_deficit",
    "take_sample",
]
