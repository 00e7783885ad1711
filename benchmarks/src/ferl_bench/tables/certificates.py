"""The certificates table: proven radii against the paper's global constant, and against attacks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ferl._util.arrays import Floats
from ferl_bench.attack import Attacker
from ferl_bench.data import DataSet, encode
from ferl_bench.headline import GOAL, Headline
from ferl_bench.methods import ferl
from ferl_bench.protocol import SEED, make_folds
from ferl_bench.render import Report, Section
from ferl_bench.study import Study
from ferl_bench.table import Request, Table

Figures = dict[str, float]

CODE = ("ferl_bench/tables/certificates.py", "ferl_bench/attack.py")
TARGET = 3.0
TIGHTNESS = 0.95  # wanted of wide rules
MAX_ROWS = 500  # of each test part, for radii
ATTACKED_ROWS = 30  # of the first test part
WIDE_ROWS, WIDE_ROUNDS = 300, 4  # as many rows of wide rules are attacked as often, each time from other random rows
# A distance is computed with rounding; a row at the very edge of the box would be inside or outside by chance.
INSIDE = 1 - 1e-9

MODELS: dict[str, dict[str, Any]] = {
    "vote": {**ferl.MODELS["deep"], "combination": "vote"},
    "dempster": ferl.MODELS["deep"],
    "compact": ferl.TREE_OF_WORDS,
    "wide": ferl.MODELS["wide"],
}
"""Parameters, by the name in figures."""


@dataclass(frozen=True)
class Column:
    """A column of the table: which figure, and how it is written."""

    key: str
    title: str
    form: str = ".3g"


RADII = (
    Column("local", "Local"),
    Column("lipschitz", "Lipschitz"),
    Column("open", "Gates open"),
    Column("ratio", "Local / Lipschitz", ".1f"),
    Column("radius_dempster", "Dempster: local"),
    Column("radius_compact", "Compact: local"),
    Column("radius_wide", "Wide"),
)
ATTACKS = (
    Column("n_attacked", "Rows attacked", ".0f"),
    Column("n_tried", "Rows tried", ".0f"),
    Column("n_successful", "Successful", ".0f"),
    Column("tightness_vote", "Tightness", ".3f"),
    Column("tightness_dempster", "Dempster: tightness", ".3f"),
    Column("tightness_compact", "Compact: tightness", ".3f"),
    Column("n_tried_wide", "Wide: rows tried", ".0f"),
    Column("n_successful_wide", "Wide: successful", ".0f"),
    Column("tightness_wide", "Wide: tightness", ".4f"),
)
TOTALS = ("n_attacked", "n_unchanged", "n_tried", "n_successful")
TOTALS_WIDE = tuple(f"{key}_wide" for key in TOTALS)
NOTES = (
    "Medians over test rows, features standardised: a radius of 1 is one standard deviation of every feature at once.",
    "First four columns: deep trees by vote. Then trees by Dempster's rule, deep and of words; wide rules.",
    "A row on which nothing fires has no margin, and radius 0.",
    "Lipschitz: margin / (2 L), the paper's global certificate, before its cap. Gates open: after it, where the gate "
    "of a path that can be reached begins to close. The local radius needs no cap.",
)
ATTACK_NOTES = (
    "Rows attacked: test rows with a finite radius, by all three trees. Rows tried: rows within these radii; a "
    "successful one has another label. Wide rules: more rows, each attacked several times.",
    "Tightness: certified radius / distance of the nearest row with another label that a search with growing radius "
    "found, median over rows. The best possible radius lies in between.",
)


def run_certificates(request: Request) -> Report:
    """Certify and attack test rows of every data set."""
    studied = request.study(Study("certifying", measure, CODE)).require_some()
    facts = request.facts(
        rows=f"radii of up to {MAX_ROWS} test rows of each fold; attacks on up to {ATTACKED_ROWS} of the first fold, "
        f"of wide rules on up to {WIDE_ROWS}, {WIDE_ROUNDS} times"
    )
    return make_report(studied.figures, studied.failures, facts)


def measure(data: DataSet) -> Figures:
    """Return the figures of one data set.

    Parameters
    ----------
    data : DataSet
        The data set.

    Returns
    -------
    dict
        Medians of radii and ratios over rows, and the number of attacks.
    """
    radii: dict[str, list[Floats]] = {}
    attacks: dict[str, list[float]] = {}
    for fold in make_folds(data.y):
        X_fit, X_test = encode(data, fold.fitting, fold.test)
        for name, parameters in MODELS.items():
            model = ferl.fit(parameters, X_fit, data.y[fold.fitting], fold.index)
            for key, values in _radii(name, model, X_test[:MAX_ROWS]).items():
                radii.setdefault(key, []).append(values)
            if fold.index == 0:
                n_rows = WIDE_ROWS if name == "wide" else ATTACKED_ROWS
                for key, result in _attack(name, model, X_test[:n_rows]).items():
                    attacks.setdefault(key, []).extend(result)
    return {key: _median(np.concatenate(values)) for key, values in radii.items()} | {
        key: float(sum(result)) if key.startswith("n_") else _median(np.array(result))
        for key, result in attacks.items()
    }


def _radii(name: str, model: ferl.Classifier, rows: Floats) -> dict[str, Floats]:
    from ferl._models.certificates import global_radius, lipschitz_radius, local_radius

    evidence, scale = model.predict_evidence(rows), np.ones(rows.shape[1])
    local = local_radius(model.model_, rows, evidence, scale)
    if name != "vote":
        return {f"radius_{name}": local}
    whole, opened = lipschitz_radius(model.model_, evidence, scale), global_radius(model.model_, rows, evidence, scale)
    # A row without a margin has no radius by either; a tree of one rule an infinite one by both.
    compared = (whole > 0) & np.isfinite(whole)
    return {"local": local, "lipschitz": whole, "open": opened, "ratio": local[compared] / whole[compared]}


def _attack(name: str, model: ferl.Classifier, rows: Floats) -> dict[str, list[float]]:
    rng, attacker = np.random.default_rng(SEED), Attacker(model, np.ones(rows.shape[1]))
    radius, is_wide = model.certified_radius(rows), name == "wide"
    n_tried, n_successful, n_unchanged = 0, 0, 0
    tightness: list[float] = []
    for i, (x, certified) in enumerate(zip(rows, radius, strict=True)):
        if not 0 < certified < math.inf:
            continue
        for _ in range(WIDE_ROUNDS if is_wide else 1):
            result, n_rows = attacker.within(x, certified * INSIDE, rng)
            n_tried, n_successful = n_tried + n_rows, n_successful + len(result)
        if i >= ATTACKED_ROWS:
            continue
        nearest = attacker.smallest(x, certified, rng)
        if math.isnan(nearest):
            n_unchanged += 1
        else:
            tightness.append(certified / nearest)
    n_attacked = float(((radius > 0) & (radius < math.inf)).sum())
    counts = zip(TOTALS_WIDE if is_wide else TOTALS, (n_attacked, n_unchanged, n_tried, n_successful), strict=True)
    return {key: [count] for key, count in counts} | {f"tightness_{name}": tightness}


def _median(values: Floats) -> float:
    return float(np.median(values)) if len(values) else math.nan


def make_report(figures: Mapping[str, Figures], failures: Mapping[str, str], facts: Mapping[str, object]) -> Report:
    """Turn the figures of all data sets into the report."""
    medians = {column.key: _over_data_sets(figures, column.key) for column in (*RADII, *ATTACKS)}
    totals = {key: sum(figure[key] for figure in figures.values()) for key in (*TOTALS, *TOTALS_WIDE)}
    notes = [
        *NOTES,
        f"Median over data sets of local / Lipschitz: {medians['ratio']:.1f} (wanted: at least {TARGET:g}).",
        *(f"Failed on {name}: {message}" for name, message in failures.items()),
    ]
    attack_notes = [
        *ATTACK_NOTES,
        f"{totals['n_unchanged']:.0f} of {totals['n_attacked']:.0f} rows kept their label at any distance searched; "
        "they do not count for tightness.",
        f"{totals['n_successful']:.0f} of {totals['n_tried']:.0f} attacks succeeded (wanted: none).",
        f"Wide rules: {totals['n_successful_wide']:.0f} of {totals['n_tried_wide']:.0f} attacks on "
        f"{totals['n_attacked_wide']:.0f} rows succeeded (wanted: none of 10 million); median tightness "
        f"{medians['tightness_wide']:.4f} (wanted: at least {TIGHTNESS:g}).",
    ]
    return Report(
        name="certificates",
        title="Certificates: how far a label is proven to hold",
        facts=facts,
        sections=[
            _table("Certified radii", RADII, figures, medians, notes),
            _table("Attacks", ATTACKS, figures, medians, attack_notes),
        ],
        data={
            "target": {"ratio": TARGET, "n_successful": 0, "tightness_wide": TIGHTNESS},
            "median": {key: _finite(value) for key, value in medians.items()},
            **totals,
            "data_sets": [
                {"data_set": name, **{key: _finite(value) for key, value in item.items()}}
                for name, item in figures.items()
            ],
            "failures": dict(failures),
        },
        draw=lambda figure: _draw(figure, figures),
        headlines=_headlines(medians, totals["n_successful"] + totals["n_successful_wide"]),
        failures=[f"Failed on {name}: {message}" for name, message in failures.items()],
    )


def _headlines(medians: Figures, n_successful: float) -> list[Headline]:
    attacks = Headline("Successful attacks inside the radius", n_successful, 0, GOAL, more_is_better=False, decimals=0)
    ratio = Headline("Local radius / the paper's global one", medians["ratio"], TARGET, GOAL, decimals=1)
    wide = Headline("FERL-wide: radius / nearest attack", medians["tightness_wide"], TIGHTNESS, GOAL)
    return [*(item for item in (ratio, wide) if math.isfinite(item.ours)), attacks]


def _over_data_sets(figures: Mapping[str, Figures], key: str) -> float:
    known = [figure[key] for figure in figures.values() if not math.isnan(figure[key])]
    return median(known) if known else math.nan


def _table(
    title: str, columns: Sequence[Column], figures: Mapping[str, Figures], medians: Figures, notes: Sequence[str]
) -> Section:
    lines = {**figures, "Median": medians}
    rows = [[name, *(f"{item[column.key]:{column.form}}" for column in columns)] for name, item in lines.items()]
    return Section(title, ["Data set", *(column.title for column in columns)], rows, notes)


def _finite(value: float) -> float | None:
    """JSON knows neither infinity nor NaN."""
    return value if math.isfinite(value) else None


def _draw(figure: Any, figures: Mapping[str, Figures]) -> None:
    """Plot the local radius against the Lipschitz one, a mark for each data set."""
    axes = figure.add_subplot()
    shown = {name: item for name, item in figures.items() if 0 < item["lipschitz"] < math.inf and item["local"] > 0}
    for name, item in shown.items():
        mark = (item["lipschitz"], item["local"])
        axes.scatter(*mark, s=25, color="C0", zorder=3)
        axes.annotate(name, mark, xytext=(4, 3), textcoords="offset points", fontsize="x-small")
    if shown:
        ends = np.array(
            [min(item["lipschitz"] for item in shown.values()), max(item["local"] for item in shown.values())]
        )
        axes.plot(ends, ends, color="grey", linewidth=1, label="equal")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.legend()
    axes.set_xlabel("radius by the tree's Lipschitz constant, standard deviations")
    axes.set_ylabel("local radius, standard deviations")
    axes.set_title("Median certified radius of test rows, deep trees by vote", fontsize="medium")
    axes.grid(alpha=0.3)


TABLE = Table(
    summary="How far labels are certified, against the paper's constant and against attacks.",
    run=run_certificates,
    chapter="Sets, novelty and proofs",
    minutes=2,
)
