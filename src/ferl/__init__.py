"""Fuzzy rules that justify their answers and say when not to trust them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferl._models.evidence import Evidence
    from ferl._models.tree import FuzzyTree
    from ferl._tables import DescriptionError, TableDescription
    from ferl._tables.kinds import TableWarning, load_description
    from ferl._tables.schema import IdColumnWarning
    from ferl._tell.explanation import Explanation
    from ferl._tell.overview import Overview
    from ferl.certified_cache import CertifiedCache
    from ferl.detector import NoveltyDetector
    from ferl.export import export_graphviz, export_latex, export_text, overview, rules_frame, splits_frame
    from ferl.plot import plot_tree
    from ferl.rules import FERLClassifier
    from ferl.saving import ModelFileError, load_model, save_model
    from ferl.trees import FERLTreeClassifier

__version__ = "0.1.0"
__all__ = [
    "CertifiedCache",
    "DescriptionError",
    "Evidence",
    "Explanation",
    "FERLClassifier",
    "FERLTreeClassifier",
    "FuzzyTree",
    "IdColumnWarning",
    "ModelFileError",
    "NoveltyDetector",
    "Overview",
    "TableDescription",
    "TableWarning",
    "__version__",
    "export_graphviz",
    "export_latex",
    "export_text",
    "load_description",
    "load_model",
    "overview",
    "plot_tree",
    "rules_frame",
    "save_model",
    "splits_frame",
]

# Loaded on first use: scikit-learn takes most of a second to import, and `ferl --help` does not need it.
_HOME = {
    "CertifiedCache": "ferl.certified_cache",
    "DescriptionError": "ferl._tables.kinds",
    "Evidence": "ferl._models.evidence",
    "Explanation": "ferl._tell.explanation",
    "FERLClassifier": "ferl.rules",
    "FERLTreeClassifier": "ferl.trees",
    "FuzzyTree": "ferl._models.tree",
    "IdColumnWarning": "ferl._tables.schema",
    "ModelFileError": "ferl.saving",
    "NoveltyDetector": "ferl.detector",
    "export_graphviz": "ferl.export",
    "export_latex": "ferl.export",
    "export_text": "ferl.export",
    "load_description": "ferl._tables.kinds",
    "load_model": "ferl.saving",
    "plot_tree": "ferl.plot",
    "Overview": "ferl._tell.overview",
    "overview": "ferl.export",
    "rules_frame": "ferl.export",
    "save_model": "ferl.saving",
    "splits_frame": "ferl.export",
    "TableDescription": "ferl._tables.kinds",
    "TableWarning": "ferl._tables.kinds",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'ferl' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
