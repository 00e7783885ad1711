"""What the authors published beside their paper, what the paper's rows are called here, and why figures differ.

The authors' results are those of their public repository; where the paper has the same row, its figure is rounded from
them or differs a little. They are figures of their runs, on their folds, and not measured here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SOURCE = "Fuminides/fuzzy_greedy_tree_public, results/benchmark2_summary.csv"
PROTOCOL = (
    "StratifiedKFold(5, shuffle, random_state=33), 25 % of each training part set aside, nominal values as integers"
)


@dataclass(frozen=True)
class Published:
    """One row of the authors' published results.

    Attributes
    ----------
    row : str
        Its name there.
    figures : mapping of str to float
        Measures in the units of the tables.
    what : str
        What it is, where that is known.
    in_paper : bool
        Whether the paper has the row.
    """

    row: str
    figures: Mapping[str, float]
    what: str = ""
    in_paper: bool = True


def _answers(accuracy: float, aurc: float, size: float | None = None, **sets: float) -> dict[str, float]:
    return {"accuracy": accuracy, "aurc": aurc, **({} if size is None else {"size": size}), **sets}


AUTHORS: Mapping[str, Published] = {
    "FERL-deep": Published("FERL-deep", _answers(83.23, 9.21, 143, u65=0.795, u80=0.827)),
    "FERL-deep, tuned": Published(
        "FERL-deep-tuned",
        _answers(83.65, 8.28, 100, u65=0.816, u80=0.849),
        "band width by 3-fold inner Brier score from {bootstrap, 0.25, 0.5, 1 node standard deviation}",
        in_paper=False,
    ),
    "RuleFit": Published(
        "RuleFit", _answers(83.67, 7.87, 223), "imodels, one-vs-rest, 30 rules a class", in_paper=False
    ),
    "FURIA": Published(
        "FURIA", _answers(78.51, 17.42, 69), "a short re-implementation on wittgenstein's RIPPER, not Huehn's algorithm"
    ),
    "Fuzzy-UCS (DS)": Published("FuzzyUCS-DS", _answers(77.72, 17.94, 1506, u65=0.779, u80=0.789), "jUCS"),
    "NeuRules": Published("NeuRules", _answers(79.85, 13.72, 19)),
    "RRL": Published("RRL", _answers(78.06, 13.62, 196)),
    "RL-Net": Published("RL-Net", _answers(75.22, 20.53, 194), "20 rules; the size counts their 194 conditions"),
    "Greedy rule list": Published(
        "SampledRuleList",
        _answers(71.20, 19.59, 14),
        "a greedy rule list of imodels; the paper's row SamRuLe looks like this one",
    ),
    "SamRuLe": Published("SamRuLe-OVR", _answers(54.92, 36.73, 2.8), "SamRuLe itself, one-vs-rest", in_paper=False),
    "NGBoost": Published("NGBoost", _answers(82.31, 9.16), in_paper=False),
    "XGBoost": Published("GB", _answers(85.58, 6.60), "scikit-learn's gradient boosting"),
    "EDL(64)": Published("EDL", _answers(84.71, 7.30)),
    "Random forest": Published("RF", _answers(86.62, 6.26)),
}
"""The authors' published results by the name of the method here; `in_paper` says whether the paper has such a row."""

PAPER_ROWS: Mapping[str, str] = {
    "CART": "CART",
    "C4.5": "C4.5",
    "FIGS": "FIGS",
    "RRL": "RRL",
    "RL-Net": "RL-Net",
    "NeuRules": "NeuRules",
    "SamRuLe": "Greedy rule list",
    "FURIA": "FURIA",
    "FUCS (DS)": "Fuzzy-UCS (DS)",
    "NCC": "NCC",
    "CDT": "CDT",
    "CDT (C4.5)": "CDT (C4.5)",
    "FERL-compact": "FERL-compact, the paper's tree",
    "FERL-medium": "FERL-medium",
    "FERL-deep": "FERL-deep",
    "Logistic reg.": "Logistic regression",
    "RF": "Random forest",
    "GB": "XGBoost",
    "EDL": "EDL(64)",
}
"""The rows of the paper's table of accuracy and AURC, and what they are called here."""

FAR = 1.5
"""From this difference of accuracy or AURC on, in points, a row says why it differs from the paper's."""

_CDT = (
    "the paper gives CDT and CDT (C4.5) the same figures to the last digit, so that its two rows look like one method; "
    "here they grow differently"
)
WHY: Mapping[str, str] = {
    "C4.5": (
        "the paper's tree has 254 leaves, more than CART's 175, so it cannot have been pruned as Quinlan "
        "does; here it is"
    ),
    "CDT": _CDT,
    "CDT (C4.5)": _CDT,
    "FERL-compact, the paper's tree": (
        "the paper reads the tree by a soft vote, here it is read by Dempster's rule over all of its nodes; "
        "the authors' release, which votes, is the row ex_fuzzy FERL compact"
    ),
    "FERL-medium": (
        "the paper names depth 5, at which a binary tree has at most 32 leaves, and yet 43 rules; here medium "
        "has depth 12 and at most 50 rules"
    ),
    "FIGS": (
        "with more than two classes there is one sum of trees for each class here, and the leaves of all of "
        "them count; the paper does not say what it does"
    ),
    "NCC": (
        "here numbers are cut by the MDL principle, as the authors of the method do; the paper does not say "
        "how it cuts them"
    ),
    "FURIA": (
        "the authors ran a short re-implementation on wittgenstein's RIPPER; here it is the algorithm of "
        "Huehn and Huellermeier"
    ),
    "Fuzzy-UCS (DS)": (
        "the authors ran jUCS, and their published result is not the paper's either; here the method is "
        "implemented from the description of Shiraishi and others"
    ),
    "Greedy rule list": (
        "the paper calls its row SamRuLe; it looks like the authors' SampledRuleList, of which it is not known how it "
        "samples; here the list is fitted to all rows"
    ),
}
"""Why ours differs from the paper's, by method; only what is known."""


def why(name: str) -> str:
    """Return the sentence, or that none is known."""
    return WHY.get(name, "no reason is known; the authors' folds, their encoding and their parameters differ")


def brackets(paper: Mapping[str, float], authors: Published | None, key: str, decimals: int) -> str:
    """Return the paper's figure and the authors' in brackets, or nothing when there is neither.

    Examples
    --------
    >>> from ferl_bench.published import AUTHORS, brackets
    >>> brackets({"accuracy": 77.95}, AUTHORS["RRL"], "accuracy", 2), brackets({}, AUTHORS["RuleFit"], "accuracy", 2)
    ('[77.95; 78.06]', '[-; 83.67]')
    >>> brackets({"accuracy": 79.76}, None, "accuracy", 2), brackets({}, None, "ece", 1)
    ('[79.76]', '')
    """
    stated = f"{paper[key]:.{decimals}f}" if key in paper else "-"
    if authors is not None and key in authors.figures:
        return f"[{stated}; {authors.figures[key]:.{decimals}f}]"
    return f"[{stated}]" if key in paper else ""
