"""The rules in other forms: text, data frames, scorecards, DOT for Graphviz, LaTeX for papers."""

from ferl._tell.reasons import Reason
from ferl.export.binning import Binning, PopulationStability
from ferl.export.graphviz import export_graphviz
from ferl.export.latex import export_latex
from ferl.export.scorecard import Scorecard, export_scorecard, reason_codes
from ferl.export.text import export_text, overview, rules_frame, splits_frame

__all__ = [
    "Binning",
    "PopulationStability",
    "Reason",
    "Scorecard",
    "export_graphviz",
    "export_latex",
    "export_scorecard",
    "export_text",
    "overview",
    "reason_codes",
    "rules_frame",
    "splits_frame",
]
