"""Fuzzy rules that justify their answers and say when not to trust them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferl._learn.near_copies import NearCopiesWarning
    from ferl._models.evidence import Evidence, RuleEvidence
    from ferl._models.tree import FuzzyTree
    from ferl._tables import DescriptionError, TableDescription
    from ferl._tables.kinds import TableWarning, load_description
    from ferl._tables.schema import IdColumnWarning, OtherColumnsWarning
    from ferl._tell.explanation import Explanation
    from ferl._tell.overview import Overview
    from ferl.certified_cache import CertifiedCache
    from ferl.detector import NoveltyDetector
    from ferl.export import (
        curves_frame,
        export_graphviz,
        export_latex,
        export_text,
        overview,
        rules_frame,
        splits_frame,
    )
    from ferl.metrics import Comparison, compare
    from ferl.plot import plot_tree
    from ferl.rules import FERLClassifier
    from ferl.saving import ModelFileError, load_model, save_model
    from ferl.trees import FERLTreeClassifier

__version__ = "0.1.0"
__all__ = [
    "CertifiedCache",
    "Comparison",
    "DescriptionError",
    "Evidence",
    "Explanation",
    "FERLClassifier",
    "FERLTreeClassifier",
    "FuzzyTree",
    "IdColumnWarning",
    "ModelFileError",
    "NearCopiesWarning",
    "NoveltyDetector",
    "OtherColumnsWarning",
    "Overview",
    "RuleEvidence",
    "TableDescription",
    "TableWarning",
    "__version__",
    "compare",
    "curves_frame",
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
_MODULES = {
    "_learn.near_copies": ["NearCopiesWarning"],
    "_models.evidence": ["Evidence", "RuleEvidence"],
    "_models.tree": ["FuzzyTree"],
    "_tables.kinds": ["DescriptionError", "TableDescription", "TableWarning", "load_description"],
    "_tables.schema": ["IdColumnWarning", "OtherColumnsWarning"],
    "_tell.explanation": ["Explanation"],
    "_tell.overview": ["Overview"],
    "certified_cache": ["CertifiedCache"],
    "detector": ["NoveltyDetector"],
    "export": [
        "curves_frame",
        "export_graphviz",
        "export_latex",
        "export_text",
        "overview",
        "rules_frame",
        "splits_frame",
    ],
    "metrics": ["Comparison", "compare"],
    "plot": ["plot_tree"],
    "rules": ["FERLClassifier"],
    "saving": ["ModelFileError", "load_model", "save_model"],
    "trees": ["FERLTreeClassifier"],
}
_HOME = {name: f"ferl.{module}" for module, names in _MODULES.items() for name in names}


# Packages that people reach by their names after `import ferl`, as in ferl.plot.plot_shapes(clf).
_PACKAGES = frozenset(
    [
        *("abstention", "calibration", "concepts", "conformal", "dask", "editing", "export", "interop", "metrics"),
        *("onnx", "plot", "report", "streaming", "words"),
    ]
)


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"ferl.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'ferl' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
