"""A slow FERL in plain NumPy: the specification that the compiled core is tested against.

It shares with the core only the training rows in canonical order and their bootstrap draws (``resample``), so
that both grow on the same numbers. Everything else is written from the definitions: nothing is kept up to date, nothing
is skipped, every node is scored by brute force.

- :mod:`oracle.growth`: cuts, bands, gains and the best split of a node;
- :mod:`oracle.best_first`: the order in which nodes are split;
- :mod:`oracle.categories`: splits of categorical features;
- :mod:`oracle.inference`: firing, gates, consequents, evidence;
- :mod:`oracle.line_search`: the nearest value of one column that alters a label;
- :mod:`oracle.novelty`: what the rows of a node look like, and how far from them a row is;
- :mod:`oracle.answers`: all that a model says of rows;
- :mod:`oracle.rules`: rules, stage by stage;
- :mod:`oracle.curves`: curves and maps, stage by stage;
- :mod:`oracle.class_weights`: the weight of a row of each class;
- :mod:`oracle.weights`: what rules, curves and maps add to scores;
- :mod:`oracle.rows_behind`: the training rows behind an answer, and the evidence of rules;
- :mod:`oracle.evidence_columns`: evidence of categories and days, parts of dates.
"""

from oracle.answers import answer, decide
from oracle.best_first import Tree, grow
from oracle.categories import best_subset, category_order, principal_direction, tally
from oracle.groups import group_parts
from oracle.growth import (
    Band,
    CutSpread,
    Gain,
    GrowthOptions,
    Sample,
    Split,
    best_split,
    cut_spread,
    first_best,
    gini_gain,
    may_split,
    node_weights,
    ramp_gain,
    resampled_cuts,
    take_sample,
)
from oracle.inference import (
    TIE,
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
from oracle.novelty import (
    exemplars,
    moments,
    neighbour_candidates,
    path_ends,
    residual_novelty,
    residual_parts,
    total_variance,
    unit_of_distance,
)

__all__ = [
    "TIE",
    "Band",
    "CutSpread",
    "Gain",
    "GrowthOptions",
    "Masses",
    "Sample",
    "Source",
    "Split",
    "Tree",
    "answer",
    "best_split",
    "best_subset",
    "category_order",
    "combine",
    "consequents",
    "cut_spread",
    "decide",
    "dempster",
    "exemplars",
    "fire",
    "first_best",
    "gate",
    "gini_gain",
    "group_parts",
    "grow",
    "may_split",
    "membership",
    "moments",
    "neighbour_candidates",
    "node_weights",
    "path_ends",
    "prediction_set",
    "principal_direction",
    "ramp_gain",
    "ranges",
    "reliability",
    "resampled_cuts",
    "residual_novelty",
    "residual_parts",
    "sum_class_weight",
    "support_deficit",
    "take_sample",
    "tally",
    "total_variance",
    "unit_of_distance",
]
