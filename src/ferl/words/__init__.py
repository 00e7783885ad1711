"""Linguistic variables: words for the values of a feature, as fuzzy sets that are fixed before learning.

They are built from a table (:func:`quantile_partition`, :func:`triangular_partition`, :func:`width_partition`,
:func:`mdlp_partition`) or written by an expert, in Python or in a file (:func:`load_partition`). After learning they
can be moved to where a fitted tree's rules describe the rows best (:func:`refit_partition`).
"""

from ferl._learn.word_builders import mdlp_partition, quantile_partition, triangular_partition, width_partition
from ferl._models.words import (
    WORDS,
    FuzzySet,
    LinguisticVariable,
    Partition,
    PartitionError,
    WordConditions,
    arrange,
    word_conditions,
)
from ferl.words.files import load_partition, save_partition
from ferl.words.refit import RefitResult, refit_partition

__all__ = [
    "WORDS",
    "FuzzySet",
    "LinguisticVariable",
    "Partition",
    "PartitionError",
    "RefitResult",
    "WordConditions",
    "arrange",
    "load_partition",
    "mdlp_partition",
    "quantile_partition",
    "refit_partition",
    "save_partition",
    "triangular_partition",
    "width_partition",
    "word_conditions",
]
