"""Two answers of 50 %: one rests on hundreds of training rows, the other on four.

``python docs/pictures/make_rows_behind.py`` writes docs/pictures/rows_behind.png.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from ferl import FERLClassifier
from ferl._util.text import rows_text
from ferl.plot import plot_evidence

BLUE, GREY, RED = "#0072B2", "#777777", "#D55E00"
ANSWERS = (0.025, 8.05)


def main() -> None:
    """Draw the probability above the training rows, and the evidence of two rows."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=3000), rng.normal(size=5) + 8])
    y = np.where(np.where(x < 4, x, 8 - x) + rng.logistic(size=len(x)) / 3 > 0, "yes", "no")
    model = FERLClassifier(random_state=0).fit(x[:, None], y)
    grid = np.linspace(x.min(), x.max(), 1200)
    two = model.predict_evidence(np.array(ANSWERS)[:, None])

    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    top, bars = figure.subfigures(2, 1, height_ratios=[5, 4])
    ax = top.subplots()
    ax.plot(grid, model.predict_proba(grid[:, None])[:, 1], color=BLUE, lw=1.6)
    ax.plot(ANSWERS, two.probability[:, 1], "o", color=RED, markersize=6)
    for name, at in zip("ab", ANSWERS, strict=True):
        ax.annotate(name, (at, 0.5), (6, 4), textcoords="offset points", fontweight="bold")
    ax.plot(x[:3000], rng.uniform(-0.42, -0.12, size=3000), ".", color=GREY, markersize=1.2)
    ax.plot(x[3000:], np.full(5, -0.27), "o", color=GREY, markersize=4)
    ax.text(3.2, -0.27, "3,000 training rows", va="center", fontsize=9)
    ax.text(7.5, -0.17, "five", ha="center", va="bottom", fontsize=9)
    ax.set(xlabel="the only feature", ylabel="probability of yes", ylim=(-0.48, 1.05), yticks=[0, 0.5, 1])
    ax.spines[["top", "right"]].set_visible(False)
    for panel, name, at, rows in zip(bars.subplots(1, 2), "ab", ANSWERS, two.rows, strict=True):
        plot_evidence(model, [at], legend=name == "a", ax=panel)
        panel.set_title(f"{name}: rests on {rows_text(float(rows))}", loc="left", fontsize=10)
        panel.set_xlabel("mass of evidence")
    figure.savefig(Path(__file__).parent / "rows_behind.png", dpi=150)


if __name__ == "__main__":
    main()
