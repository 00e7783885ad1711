"""The pictures of the glossary, one for each notion.

``python docs/pictures/make_glossary.py`` writes docs/pictures/glossary.
Plain drawings without data, except where a picture needs a small model; they are SVG files with text as text.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

FOLDER = Path(__file__).parent / "glossary"
BLUE, ORANGE, GREEN, GREY, RED = "#0072B2", "#E69F00", "#009E73", "#999999", "#D55E00"
PICTURES: dict[str, Callable[[Axes], None]] = {}
mpl.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "ferl",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def picture(draw: Callable[[Axes], None]) -> Callable[[Axes], None]:
    """Register a picture under the name of its function."""
    PICTURES[draw.__name__] = draw
    return draw


def bare(ax: Axes) -> None:
    """Leave out the frame and the ticks."""
    ax.set_axis_off()


def bars(ax: Axes, names: list[str], values: list[float], colours: list[str], label: str) -> None:
    """Draw horizontal bars from zero, the first at the top."""
    ax.barh(names[::-1], values[::-1], color=colours[::-1], height=0.6)
    ax.axvline(0, color="black", lw=0.8)
    ax.set_xlabel(label)


@picture
def ramp(ax: Axes) -> None:
    """A condition that is met in part."""
    ax.plot([35, 37.5, 38.5, 41], [0, 0, 1, 1], color=BLUE, lw=2)
    ax.plot([38, 38], [0, 0.5], ":", color=GREY)
    ax.plot([35, 38], [0.5, 0.5], ":", color=GREY)
    ax.annotate("38.0 fits by one half", (38, 0.5), (38.8, 0.3), arrowprops={"arrowstyle": "->"})
    ax.set(xlabel="temperature", ylabel="membership", title="temperature above 37.5..38.5")


@picture
def firing(ax: Axes) -> None:
    """The product of memberships."""
    grid = np.linspace(0, 1, 60)
    first, second = np.clip((grid - 0.3) / 0.3, 0, 1), np.clip((0.8 - grid) / 0.4, 0, 1)
    shown = ax.imshow(np.outer(second, first), origin="lower", extent=(0, 1, 0, 1), cmap="Blues", aspect="auto")
    ax.figure.colorbar(shown, ax=ax, label="firing")
    ax.set(xlabel="age rises", ylabel="dose falls", title="age high and dose low", xticks=[], yticks=[])


@picture
def gate(ax: Axes) -> None:
    """Closed far outside the training range."""
    ax.plot([-1.5, -1, 0, 1, 2, 2.5], [0, 0, 1, 1, 0, 0], color=BLUE, lw=2)
    ax.axvspan(0, 1, color=GREY, alpha=0.25)
    ax.text(0.5, 0.5, "range of\ntraining", ha="center", va="center")
    ax.set(xlabel="value, in ranges", ylabel="gate", xticks=[-1, 0, 1, 2])


@picture
def rule(ax: Axes) -> None:
    """Conditions, and the class that they support."""
    bare(ax)
    ax.add_patch(Rectangle((0, 0), 1, 1, fill=False, color=GREY))
    ax.text(0.05, 0.75, "if glucose above 110..140", size=11)
    ax.text(0.05, 0.5, "and age above 40..50", size=11)
    ax.text(0.05, 0.2, "then +1.2 for ill", size=11, color=RED)
    ax.set(xlim=(0, 1), ylim=(0, 1))


@picture
def weight_of_evidence(ax: Axes) -> None:
    """How a weight moves a probability."""
    weight = np.linspace(-4, 4, 100)
    ax.plot(weight, 1 / (1 + np.exp(-weight)), color=BLUE, lw=2)
    for w in (0, 0.69, 1.39):
        ax.plot([w, w], [0, 1 / (1 + np.exp(-w))], ":", color=GREY)
    ax.annotate("odds 2 : 1", (0.69, 0.667), (1.3, 0.45), arrowprops={"arrowstyle": "->"})
    ax.set(xlabel="summed weight of evidence", ylabel="probability")


@picture
def contribution(ax: Axes) -> None:
    """What the features of a row add, one after the other."""
    names, parts = ["average row", "glucose 180", "age 31", "smoker no", "sum"], [-0.6, 1.9, -0.5, -0.3, 0.5]
    start = 0.0
    for index, (name, part) in enumerate(zip(names, parts, strict=True)):
        left = 0.0 if name in ("average row", "sum") else start
        ax.barh(index, part, left=left, color=GREY if left == 0 else RED if part > 0 else BLUE, height=0.6)
        start = start + part if name != "sum" else part
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.axvline(0, color="black", lw=0.8)
    ax.set_xlabel("log-odds of ill")


def added_up(ax: Axes, parts: list[tuple[str, float, str]]) -> None:
    """Draw beliefs one behind the other with their names, and what a set needs."""
    left = 0.0
    for name, size, colour in parts:
        ax.barh(0, size, left=left, color=colour, height=0.5, edgecolor="white", lw=2)
        ax.text(left + size / 2, -0.42, name, ha="center", va="center")
        left += size
    ax.axvline(2 / 3, ymin=0.22, ymax=0.85, ls="--", color="black")
    ax.text(2 / 3, 0.62, "2/3", ha="center")
    ax.set(xlim=(0, 1), ylim=(-0.6, 0.8), yticks=[], xlabel="belief, added up")


@picture
def belief_and_plausibility(ax: Axes) -> None:
    """Support as a range."""
    names, belief, open_part = ["ill", "well", "unclear"], [0.5, 0.2, 0.1], 0.2
    for index, low in enumerate(belief):
        ax.barh(index, low + open_part, color=BLUE, alpha=0.3, height=0.5)
        ax.barh(index, low, color=BLUE, height=0.5)
    ax.set_yticks(range(3), names)
    ax.invert_yaxis()
    ax.set(xlabel="at least (full), at most (pale)", xlim=(0, 1))


@picture
def ignorance(ax: Axes) -> None:
    """The part that no class has, with few and with many training rows."""
    ax.barh([1, 0], [0.25, 0.47], color=RED, height=0.5)
    ax.barh([1, 0], [0.25, 0.47], left=[0.25, 0.47], color=BLUE, height=0.5)
    ax.barh([1, 0], [0.5, 0.06], left=[0.5, 0.94], color="#dddddd", height=0.5)
    ax.text(0.75, 1, "ignorance", ha="center", va="center")
    ax.set_yticks([1, 0], ["1 row", "16 rows"])
    ax.set(xlim=(0, 1), ylim=(-0.5, 1.5), xlabel="ill, well: 50 % each")


@picture
def conflict(ax: Axes) -> None:
    """What cancels."""
    bars(ax, ["rule 1", "rule 2", "left over"], [2.4, -2.1, 0.3], [RED, BLUE, GREY], "weight for ill (+), against (-)")


@picture
def prediction_set(ax: Axes) -> None:
    """Which classes are in the set."""
    added_up(ax, [("virginica", 0.4, GREEN), ("versicolor", 0.35, GREEN), ("setosa", 0.1, GREY)])


@picture
def abstention(ax: Axes) -> None:
    """All classes in the set: no answer."""
    added_up(ax, [("ill", 0.35, GREEN), ("well", 0.15, GREEN)])
    ax.set_title("no answer")


@picture
def novelty(ax: Axes) -> None:
    """The distance to the nearest kept row."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2)) * [0.5, 1.0]
    new = np.array([2.2, 0.5])
    near = rows[np.abs(rows - new).sum(axis=1).argmin()]
    ax.plot(*rows.T, "o", color=GREY, ms=4)
    ax.plot(*new, "s", color=RED)
    ax.annotate("", near, new, arrowprops={"arrowstyle": "<->", "color": RED})
    ax.set(xlabel="feature 1", ylabel="feature 2", xticks=[], yticks=[])


@picture
def exemplar(ax: Axes) -> None:
    """Rows that are kept cover the others."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(120, 2))
    kept = [0]
    while len(kept) < 12:
        kept.append(int(np.abs(rows[:, None] - rows[kept]).sum(axis=2).min(axis=1).argmax()))
    ax.plot(*rows.T, ".", color=GREY)
    ax.plot(*rows[kept].T, "o", color=BLUE, mfc="none", ms=9)
    ax.set(xticks=[], yticks=[], title="kept rows cover the others")


@picture
def certified_radius(ax: Axes) -> None:
    """A box in which the label cannot change."""
    x = np.linspace(0, 10, 100)
    ax.fill_between(x, 0.5 * x + 2, 10, color=RED, alpha=0.15)
    ax.fill_between(x, 0, 0.5 * x + 2, color=BLUE, alpha=0.15)
    ax.plot(6, 3, "o", color=BLUE)
    ax.add_patch(Rectangle((6 - 1.33, 3 - 1.33), 2.66, 2.66, fill=False, color=BLUE, lw=2))
    ax.set(xlim=(0, 10), ylim=(0, 8), xticks=[], yticks=[], xlabel="feature 1", ylabel="feature 2")


@picture
def word(ax: Axes) -> None:
    """Words are fuzzy sets."""
    for name, corners, colour in [
        ("low", ([0, 2, 4, 10], [1, 1, 0, 0]), BLUE),
        ("medium", ([0, 2, 4, 6, 8, 10], [0, 0, 1, 1, 0, 0]), GREEN),
        ("high", ([0, 6, 8, 10], [0, 0, 1, 1]), ORANGE),
    ]:
        ax.plot(*corners, color=colour, lw=2, label=name)
    ax.legend(frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    ax.set(xlabel="value", ylabel="membership", xticks=[])


@picture
def band(ax: Axes) -> None:
    """A split of a tree, as wide as its cut is uncertain."""
    rng = np.random.default_rng(0)
    cuts = rng.normal(5, 0.7, 25)
    centre, half = cuts.mean(), cuts.std()
    ax.plot(cuts, np.full(25, -0.1), "|", color=GREY, ms=10)
    ax.plot([0, centre - half, centre + half, 10], [1, 1, 0, 0], color=BLUE, lw=2)
    ax.axvspan(centre - half, centre + half, color=BLUE, alpha=0.15)
    ax.text(0.2, -0.13, "cuts of 25 resamples", size=8, va="center")
    ax.set(xlabel="value", ylabel="goes left", ylim=(-0.25, 1.1))


@picture
def scorecard(ax: Axes) -> None:
    """Points that add up."""
    bare(ax)
    ax.add_patch(Rectangle((0, 0), 1, 1, fill=False, color=GREY))
    lines = [
        ("all rows", "487"),
        ("income 52", "+31"),
        ("record late", "-19"),
        ("5 years employed", "+8"),
        ("total", "507"),
    ]
    for index, (name, points) in enumerate(lines):
        weight = "bold" if name == "total" else "normal"
        ax.text(0.05, 0.9 - 0.2 * index, name, weight=weight)
        ax.text(0.95, 0.9 - 0.2 * index, points, ha="right", weight=weight)
    ax.plot([0.05, 0.95], [0.22, 0.22], color="black", lw=0.8)
    ax.set(xlim=(0, 1), ylim=(0, 1))


@picture
def conformal_set(ax: Axes) -> None:
    """A threshold from rows that were not used for fitting."""
    rng = np.random.default_rng(0)
    scores = np.sort(rng.beta(1.2, 5, 200))
    limit = scores[int(np.ceil(201 * 0.9)) - 1]
    ax.hist(scores, bins=25, color=GREY)
    ax.axvline(limit, color=RED)
    ax.text(limit + 0.01, 18, "90 % of the\ncalibration rows\nlie below", color=RED, size=8)
    ax.set(xlabel="1 - probability of the true class", ylabel="rows")


@picture
def risk_and_coverage(ax: Axes) -> None:
    """Fewer answers, fewer errors."""
    share = np.linspace(0.05, 1, 50)
    ax.plot(share, 0.02 + 0.2 * share**2, color=BLUE, lw=2)
    ax.axhline(0.1, ls="--", color=GREY)
    ax.axvline(np.sqrt(0.08 / 0.2), ls=":", color=RED)
    ax.set(xlabel="share of rows answered", ylabel="error among them", xlim=(0, 1), ylim=(0, 0.25))


@picture
def calibration(ax: Axes) -> None:
    """Answers with 80 % are right in 80 % of the cases."""
    said = np.linspace(0.5, 1, 6)
    ax.plot([0.5, 1], [0.5, 1], "--", color=GREY)
    ax.plot(said, 0.5 + 0.75 * (said - 0.5), "o-", color=RED, label="too sure")
    ax.plot(said, said + np.array([0.01, -0.01, 0.012, -0.008, 0.01, 0]), "o-", color=BLUE, label="calibrated")
    ax.legend(frameon=False)
    ax.set(xlabel="probability said", ylabel="share right")


@picture
def drift(ax: Axes) -> None:
    """Later rows differ."""
    months = np.arange(1, 10)
    ax.errorbar(months, [0.2, -0.1, 0.1, 0.0, 0.3, 0.1, 3.8, 5.1, 6.0], yerr=1, fmt="o", color=BLUE)
    ax.axhline(3, ls="--", color=RED)
    ax.set(xlabel="block", ylabel="z of the labels")


@picture
def concept(ax: Axes) -> None:
    """An image, what is seen in it, rules."""
    bare(ax)
    for index, text in enumerate(["image", "loop at the top 0.9\ncrossing strokes 0.1", "rules:\n9 (92 %)"]):
        ax.text(0.12 + 0.38 * index, 0.5, text, ha="center", va="center", bbox={"boxstyle": "round", "fc": "white"})
    for index in (0, 1):
        ax.annotate("", (0.3 + 0.43 * index, 0.5), (0.2 + 0.43 * index, 0.5), arrowprops={"arrowstyle": "->"})
    ax.set(xlim=(0, 1), ylim=(0, 1))


def main() -> None:
    """Write all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        figure = Figure(figsize=(3.6, 2.1), layout="constrained")
        draw(figure.subplots())
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    print(f"{len(PICTURES)} pictures in {FOLDER}")


if __name__ == "__main__":
    main()
