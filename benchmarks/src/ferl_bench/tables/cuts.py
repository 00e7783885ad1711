"""The cuts table: how often the interval of a learned threshold holds the true one, where that is known."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from statistics import fmean, median

import numpy as np
from rich.progress import track

from ferl_bench.facts import n_cores, versions
from ferl_bench.methods.ferl import MODELS, fit
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

N_ROWS = (100, 300, 1000, 3000)
FLIPPED = (0.0, 0.1, 0.3)  # share of labels that are wrong
N_RESAMPLES = (25, 100)
CUT = 0.3  # of a feature that is uniform between 0 and 1
LEVEL = 0.9
NOTES = (
    f"One feature, uniform between 0 and 1; label 1 above {CUT}, and a share of the labels flipped. The tree has two "
    "rules. Coverage: share of draws whose interval holds the true threshold; ± is two standard errors.",
    "Bootstrap intervals of a threshold are approximate: the best cut is not a smooth function of the rows. Share: of "
    "resamples whose cut lies inside the band, mean over draws.",
)


@dataclass(frozen=True)
class Figures:
    """What was found for one number of rows, resamples and wrong labels."""

    n_rows: int
    n_resamples: int
    flipped: float
    coverage: float
    error: float
    width: float
    share: float


def run_cuts(request: Request) -> Report:
    """Draw tables with a known threshold, so many for each number of rows and share of wrong labels."""
    repetitions = request.repetitions
    cases = [(b, n, flipped) for b in N_RESAMPLES for n in N_ROWS for flipped in FLIPPED]
    with one_thread():
        result = [measure(*case, repetitions) for case in track(cases, "drawing", console=request.console)]
    header = ["Resamples", "Rows", "Wrong labels", "Coverage of 90 %", "Median error", "Median width", "Share in band"]
    rows = [
        [
            f"{item.n_resamples}",
            f"{item.n_rows}",
            f"{item.flipped:.0%}",
            f"{item.coverage:.1%} ±{2 * sqrt(item.coverage * (1 - item.coverage) / repetitions):.1%}",
            f"{item.error:.4f}",
            f"{item.width:.4f}",
            f"{item.share:.0%}",
        ]
        for item in result
    ]
    return Report(
        name="cuts",
        title="Cuts: how sure a learned threshold is",
        facts={**versions(), "cores": n_cores(), "draws": repetitions, "level": LEVEL},
        sections=[Section("Intervals of the first split", header, rows, NOTES)],
        data={"cases": [asdict(item) for item in result]},
    )


def measure(n_resamples: int, n_rows: int, flipped: float, repetitions: int) -> Figures:
    """Coverage and width of the first split's interval over many draws."""
    covered, errors, widths, shares = [], [], [], []
    for draw in range(repetitions):
        rng = np.random.default_rng([n_rows, round(100 * flipped), draw])
        X = rng.random((n_rows, 1))
        y = ((X[:, 0] > CUT) ^ (rng.random(n_rows) < flipped)).astype(np.int64)
        tree = fit({**MODELS["deep"], "max_rules": 2, "n_resamples": n_resamples}, X, y, draw).tree_
        if tree.cuts is None or tree.n_nodes == 1:
            continue
        low, high = tree.cuts.interval[0]
        covered.append(float(low <= CUT <= high))
        errors.append(abs(float(low + high) / 2 - CUT))
        widths.append(float(high - low))
        shares.append(float(tree.cuts.share[0]))
    return Figures(n_rows, n_resamples, flipped, fmean(covered), median(errors), median(widths), fmean(shares))


TABLE = Table(
    summary="How often the interval of a learned threshold holds the true one.",
    run=run_cuts,
    chapter="Sets, novelty and proofs",
    minutes=1,
    needs_data=False,
    in_one_process=True,
    repetitions=500,
)
