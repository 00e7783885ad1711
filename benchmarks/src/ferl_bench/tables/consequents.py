"""The consequent ablation: how class weights become the distribution of a rule."""

from __future__ import annotations

from ferl_bench.ablation import Line, ablation_report, run_lines
from ferl_bench.render import Report
from ferl_bench.table import Request, Table

LINES = (
    Line("shrinkage 5", {}),
    Line("raw", {"consequents": "raw"}),
    Line("Laplace", {"consequents": "laplace"}),
    Line("shrinkage 1", {"shrinkage": 1.0}),
    Line("shrinkage 2", {"shrinkage": 2.0}),
    Line("shrinkage 10", {"shrinkage": 10.0}),
    Line("shrinkage 20", {"shrinkage": 20.0}),
    Line("shrinkage 50", {"shrinkage": 50.0}),
)
NOTES = (
    "Raw: class frequencies. Laplace: one row of every class added. Shrinkage: a node's distribution is its parent's "
    "plus the difference, divided by one plus so many rows over the parent's weight (Agarwal et al., 2022).",
    "Growth does not look at these parameters: with the same seed every line has the same tree.",
)


def run_consequents(request: Request) -> Report:
    """Measure every kind of consequent on every data set and fold."""
    rows = run_lines(request, LINES)
    return ablation_report("consequents", "Consequents: raw, Laplace and shrinkage", rows, request.facts(), NOTES)


TABLE = Table(
    summary="Raw, Laplace and shrunk class distributions of rules.", run=run_consequents, chapter="Ablations", minutes=1
)
