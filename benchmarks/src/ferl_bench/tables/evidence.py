"""The evidence ablation: which nodes give evidence, and how it is combined, on the same fitted trees."""

from __future__ import annotations

from ferl_bench.ablation import Line, ablation_report, run_lines
from ferl_bench.render import Report
from ferl_bench.table import Request, Table

MEASURES = ("accuracy", "aurc", "ece", "determinacy", "set_coverage", "set_size", "u65", "ignorance")
PAPER = {
    "leaves": (83.18, 10.14, 15.83, 74.26, 92.31, 1.70, 79.50, 22.93),
    "all": (80.62, 10.30, 14.88, 99.88, 80.69, 1.00, 80.65, 0.07),
    "cautious": (69.58, 17.76, 22.09, 24.04, 96.78, 3.05, 59.62, 37.19),
}


def _paper(name: str) -> dict[str, float]:
    return dict(zip(MEASURES, PAPER[name], strict=True))


LINES = (
    Line("Dempster, leaves", {}, _paper("leaves")),
    Line("Dempster, all nodes", {"sources": "all"}, _paper("all")),
    Line("cautious, leaves", {"combination": "cautious"}, _paper("cautious")),
    Line("cautious along paths, Dempster across", {"combination": "chain"}),
    Line("vote of the leaves", {"combination": "vote"}),
    Line("vote of all nodes", {"combination": "vote", "sources": "all"}),
    Line("Dempster, leaves discounted by 1 row", {"discount": 1.0}),
    Line("Dempster, leaves discounted by 5 rows", {"discount": 5.0}),
)
NOTES = (
    "Growth does not look at these parameters: with the same seed every line has the same tree.",
    "Vote: the mixture of the sources' distributions; what no rule claims stays ignorance.",
)


def run_evidence(request: Request) -> Report:
    """Measure every source and rule of combination on every data set and fold."""
    rows = run_lines(request, LINES)
    title = "Evidence: which nodes count, and how their evidence is combined"
    return ablation_report("evidence", title, rows, request.facts(), NOTES)


TABLE = Table(
    summary="Sources of evidence and rules of combination, on the same trees.",
    run=run_evidence,
    chapter="Ablations",
    minutes=1,
)
