"""Words for concepts, so that rules read "has a red wing is present"."""

from __future__ import annotations

from collections.abc import Sequence

from ferl.partition import FuzzySet, LinguisticVariable


def concept_words(
    names: Sequence[str], *, words: tuple[str, str] = ("absent", "present"), between: tuple[float, float] = (0.3, 0.7)
) -> list[LinguisticVariable]:
    """Two words for each concept, for a head with ``variant="compact"``.

    Parameters
    ----------
    names : sequence of str
        Names of the concepts.
    words : (str, str)
        The word for a low probability, and that for a high one.
    between : (float, float)
        Probabilities up to the first are fully the first word, from the second on fully the second.

    Returns
    -------
    list of LinguisticVariable
        For ``FERLClassifier("compact", partition=...)``.

    Examples
    --------
    >>> from ferl.concepts import concept_words
    >>> print(concept_words(["has a red wing"])[0])
    has a red wing: absent below 0.3..0.7, present above 0.3..0.7
    """
    low, high = words
    return [
        LinguisticVariable(name, (FuzzySet.falling(low, *between), FuzzySet.rising(high, *between))) for name in names
    ]
