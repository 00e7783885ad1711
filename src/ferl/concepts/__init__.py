"""Concept bottlenecks: a detector names concepts, calibration makes its numbers honest, rules decide from them.

:class:`ConceptBottleneckFERL` is the estimator. :class:`TorchDetector` trains a network (``pip install
'ferl[concepts]'``), :func:`resnet50` is one for images; everything else works without torch. :func:`load_digit_strokes`
is an example that needs no download.
"""

from ferl.concepts.detectors import ConceptCalibrator, ConceptDetector, SeenConcepts, see_concepts
from ferl.concepts.estimator import ConceptBottleneckFERL, DigitStrokes, load_digit_strokes
from ferl.concepts.explanation import Anomaly, ConceptExplanation, Correction, concept_words, intervene
from ferl.concepts.torch_detector import TorchDetector, resnet50, resnet50_detector

__all__ = [
    "Anomaly",
    "ConceptBottleneckFERL",
    "ConceptCalibrator",
    "ConceptDetector",
    "ConceptExplanation",
    "Correction",
    "DigitStrokes",
    "SeenConcepts",
    "TorchDetector",
    "concept_words",
    "intervene",
    "load_digit_strokes",
    "resnet50",
    "resnet50_detector",
    "see_concepts",
]
