"""The words of a report that need an explanation, each in one or two sentences."""

from __future__ import annotations

_SHARED = {
    "accuracy": "The share of rows whose most probable class is their label.",
    "baseline": "What always saying the commonest class would get. A model is useful where it does better.",
    "recall": "Of the rows that truly have a class, the share that is predicted to have it. What is left is missed.",
    "precision": "Of the rows that are predicted to have a class, the share that truly has it.",
    "probability": "How likely a class is, by the model. The probabilities of all classes add up to 100 %.",
    "belief": "The support that speaks for a class alone: it has at least this much.",
    "plausibility": "The support that does not speak against a class: it has at most this much.",
    "prediction set": "The classes whose plausibility reaches the largest belief: none of the others is supported as "
    "well. It is no guarantee; conformal sets are one.",
    "no answer": "Abstention: every class is in the prediction set, so the row gets no label. Where figures need one, "
    "they count the most probable class.",
    "ignorance": "The share of the support that speaks for no class in particular, 0 to 1. At 1 nothing is known.",
    "support lost": "The share of the evidence that is withheld because values lie outside what training saw, 0 to 1.",
    "novelty": "How unlike the training rows a row is, whatever its class.",
    "certificate": "A proof that the label stays the same as long as no number moves further than stated.",
    "spread": "The standard deviation of a feature over the training rows.",
    "calibration error": "How far probabilities and the share of right answers are apart on average (ECE, 15 bins).",
    "AURC": "The error rate of the surest rows, averaged over how many rows are answered. Lower is better.",
    "false positive rate": "Of the rows that do not have the class, the share that is predicted to have it.",
    "false negative rate": "Of the rows that have the class, the share that is predicted not to have it.",
}
_WIDE = {
    "weight of evidence": "What a rule or a value adds to the logarithm of the odds of a class. 0.69 doubles the odds, "
    "-0.69 halves them.",
    "conflict": "The share of all weights of evidence, for and against, that cancels, 0 to 1.",
    "points": "Weights of evidence in the unit of scorecards: 20 points more double the odds.",
    "reason codes": "What cost a row most points on its way to a class, compared with the average training row.",
    "support": "The training weight of the rows that fit a rule, each counted by how far it fits.",
}
_TREE = {
    "conflict": "How much the rules that fire contradict each other, 0 to 1.",
    "band": "The interval around a threshold (±) in which both sides of a split fire, in shares.",
    "confidence": "The share of a rule's class among the training rows behind the rule.",
    "support": "The training weight of the rows behind a rule.",
    "firing": "How far a row fits a rule, 0 to 1: the product of how far it fits each condition.",
}


def glossary(is_wide: bool) -> dict[str, str]:
    """Words and what they mean, in alphabetical order.

    Parameters
    ----------
    is_wide : bool
        Whether the model has wide rules; otherwise a tree.

    Returns
    -------
    dict
    """
    words = _SHARED | (_WIDE if is_wide else _TREE)
    return dict(sorted(words.items(), key=lambda own: own[0].lower()))
