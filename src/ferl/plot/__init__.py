"""Pictures of a fitted classifier, its answers and its measurements; drawn with matplotlib, the extra ``plot``.

Every function draws on ``ax``, or on a figure of its own, and returns the Axes. None of them shows a window or changes
a setting of matplotlib.
"""

from ferl.plot.critical_difference import average_ranks, critical_difference, plot_critical_difference

__all__ = [
    "average_ranks",
    "critical_difference",
    "plot_critical_difference",
]
