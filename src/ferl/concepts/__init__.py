"""Concept bottlenecks: a detector names concepts, calibration makes its numbers honest, rules decide from them.

:class:`ConceptBottleneckFERL` is the estimator. :class:`TorchDetector` trains a network (``pip install
'ferl[concepts]'``), :func:`resnet50` is one for images; everything else works without torch. :func:`load_cub` and
:func:`load_awa2` read the two standard folders, :func:`load_digit_strokes` the offline example.
"""

from ferl.concepts.datasets import DigitStrokes, ImageConcepts, load_awa2, load_cub, load_digit_strokes
from ferl.concepts.detectors import ConceptCalibrator, ConceptDetector, SeenConcepts, see_concepts
from ferl.concepts.estimator import ConceptBottleneckFERL
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
    "ImageConcepts",
    "SeenConcepts",
    "TorchDetector",
    "concept_words",
    "intervene",
    "load_awa2",
    "load_cub",
    "load_digit_strokes",
    "resnet50",
    "resnet50_detector",
    "see_concepts",
]
