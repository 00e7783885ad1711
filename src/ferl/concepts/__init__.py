"""Concept bottlenecks: a detector names concepts, calibration makes its numbers honest, rules decide from them.

:class:`ConceptBottleneckFERL` is the estimator. :class:`TorchDetector` trains a network (``pip install
'ferl[concepts]'``), :func:`resnet50` is one for images; everything else works without torch. :func:`load_cub` and
:func:`load_awa2` read the two standard folders, :func:`load_digit_strokes` the offline example.
"""

from ferl.concepts.awa2 import load_awa2
from ferl.concepts.calibration import ConceptCalibrator
from ferl.concepts.crossfit import SeenConcepts, see_concepts
from ferl.concepts.cub import load_cub
from ferl.concepts.detectors import ConceptDetector
from ferl.concepts.digits import DigitStrokes, load_digit_strokes
from ferl.concepts.estimator import ConceptBottleneckFERL
from ferl.concepts.explanation import Anomaly, ConceptExplanation, Correction
from ferl.concepts.folders import ImageConcepts
from ferl.concepts.interventions import intervene
from ferl.concepts.resnet import resnet50, resnet50_detector
from ferl.concepts.torch_detector import TorchDetector
from ferl.concepts.words import concept_words

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
