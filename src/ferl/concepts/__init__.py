"""Concept bottlenecks: a detector names concepts, calibration makes its numbers honest, rules decide from them.

:class:`ConceptBottleneckFERL` is the estimator. Any classifier of several outputs can be its detector.
:func:`load_digit_strokes` is an example that needs no download.
"""

from ferl.concepts.detectors import ConceptCalibrator, ConceptDetector, SeenConcepts, see_concepts
from ferl.concepts.estimator import ConceptBottleneckFERL, DigitStrokes, load_digit_strokes
from ferl.concepts.explanation import Anomaly, ConceptExplanation, Correction, concept_words, intervene

__all__ = [
    "Anomaly",
    "ConceptBottleneckFERL",
    "ConceptCalibrator",
    "ConceptDetector",
    "ConceptExplanation",
    "Correction",
    "DigitStrokes",
    "SeenConcepts",
    "concept_words",
    "intervene",
    "load_digit_strokes",
    "see_concepts",
]
