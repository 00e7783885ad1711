"""Pictures of a fitted classifier, its answers and its measurements; drawn with matplotlib, the extra ``plot``.

Every function draws on ``ax``, or on a figure of its own, and returns the Axes; ``plot_shapes`` draws several and
returns the figure. None of them shows a window or changes a setting of matplotlib.
"""

from ferl.plot.bars import plot_contributions, plot_evidence, plot_importance, plot_novelty
from ferl.plot.curves import plot_novelty_of_rows, plot_reliability, plot_risk_coverage, plot_similar
from ferl.plot.regions import plot_decision_regions
from ferl.plot.shapes import plot_shapes
from ferl.plot.tree import plot_memberships, plot_tree

__all__ = [
    "plot_contributions",
    "plot_decision_regions",
    "plot_evidence",
    "plot_importance",
    "plot_memberships",
    "plot_novelty",
    "plot_novelty_of_rows",
    "plot_reliability",
    "plot_risk_coverage",
    "plot_shapes",
    "plot_similar",
    "plot_tree",
]
