"""One fuzzy rule tree that justifies its answers and says when not to trust them."""

from ferl.classifier import FERLClassifier
from ferl.evidence import Evidence
from ferl.rules import export_text
from ferl.tree import FuzzyTree

__version__ = "0.1.0"
__all__ = ["Evidence", "FERLClassifier", "FuzzyTree", "__version__", "export_text"]
