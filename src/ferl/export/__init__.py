"""The rules in other forms: text, data frames, DOT for Graphviz, LaTeX for papers."""

from ferl.export.graphviz import export_graphviz
from ferl.export.latex import export_latex
from ferl.export.text import export_text, overview, rules_frame, splits_frame

__all__ = ["export_graphviz", "export_latex", "export_text", "overview", "rules_frame", "splits_frame"]
