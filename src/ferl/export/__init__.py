"""The rules in other programs' languages: DOT for Graphviz, LaTeX for papers."""

from ferl.export.graphviz import export_graphviz
from ferl.export.latex import export_latex

__all__ = ["export_graphviz", "export_latex"]
