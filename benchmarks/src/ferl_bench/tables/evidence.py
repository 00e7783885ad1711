"""The evidence ablation: which nodes give evidence, and how it is combined, on the same fitted trees."""

from __future__ import annotations

from ferl_bench.ablation import Line, ablation_report, run_lines
from ferl_bench.render import Report
from ferl_bench.table import Request, Table

LINES = (
    Line(
        "Dempster, leaves",
        {},
        {
            "accuracy": 83.18,
            "aurc": 10.14,
            "ece": 15.83,
            "determinacy": 74.26,
            "set_coverage": 92.31,
            "set_size": 1.70,
            "u65": 79.50,
            "ignorance": 22.93,
        },
    ),
    Line(
        "Dempster, all nodes",
        {"sources": "all"},
        {
            "accuracy": 80.62,
            "aurc": 10.30,
            "ece": 14.88,
            "determinacy": 99.88,
            "set_coverage": 80.69,
            "set_size": 1.00,
            "u65": 80.65,
            "ignorance": 0.07,
        },
    ),
    Line(
        "cautious, leaves",
        {"combination": "cautious"},
        {
            "accuracy": 69.58,
            "aurc": 17.76,
            "ece": 22.09,
            "determinacy": 24.04,
            "set_coverage": 96.78,
            "set_size": 3.05,
            "u65": 59.62,
            "ignorance": 37.19,
        },
    ),
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
    title = "Evidence: which nodes speak, and how what they say is combined"
    return ablation_report("evidence", title, rows, request.facts(), NOTES)


TABLE = Table(
    summary="Sources of evidence and rules of combination, on the same trees.",
    run=run_evidence,
    chapter="Ablations",
    minutes=1,
)
