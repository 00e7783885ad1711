"""The band ablation, which the paper lacks: what the fuzziness of a split comes from, and how much of it there is."""

from __future__ import annotations

from ferl_bench.ablation import Line, ablation_report, run_lines
from ferl_bench.render import Report
from ferl_bench.table import Request, Table

# The paper's text says median and MAD; its figures are those of mean and standard deviation.
LINES = (
    Line("mean/std, scale 1, 25 resamples, 1 banded feature", {}),
    Line("median/MAD", {"band": "median_mad"}),
    Line("scale 0.25", {"band_scale": 0.25}),
    Line("scale 0.5", {"band_scale": 0.5}),
    Line("scale 1.5", {"band_scale": 1.5}),
    Line("scale 2", {"band_scale": 2.0}),
    Line("one mode", {"two_mode": False}),
    Line("5 resamples", {"n_resamples": 5}),
    Line("10 resamples", {"n_resamples": 10}),
    Line("50 resamples", {"n_resamples": 50}),
    Line("100 resamples", {"n_resamples": 100}),
    Line("2 banded features", {"n_banded_features": 2}),
    Line("4 banded features", {"n_banded_features": 4}),
    Line("all features banded", {"n_banded_features": None}),
    Line("median/MAD, all features banded", {"band": "median_mad", "n_banded_features": None}),
)
NOTES = (
    "Band: centre and half-width of a split from the cuts found in bootstrap resamples, by mean and standard deviation "
    "or by median and median absolute deviation. Scale: factor on the half-width. One mode: the mean even where the "
    "cuts fall in two places.",
    "Banded features: how many features of a node, best first by their crisp cut, compete with a band.",
)


def run_bands(request: Request) -> Report:
    """Measure every kind and width of band on every data set and fold."""
    rows = run_lines(request, LINES)
    title = "Bands: centre, width, resamples, and features that get one"
    return ablation_report("bands", title, rows, request.facts(), NOTES)


TABLE = Table(
    summary="Kind and width of bands, number of resamples and of banded features.",
    run=run_bands,
    chapter="Ablations",
    minutes=1,
)
