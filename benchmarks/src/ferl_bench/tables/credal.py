"""The table of prediction sets: what the evidence gives by itself, credal rivals, and conformal sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ferl_bench.conformal import ALPHA, with_adaptive_sets, with_ferl_sets, with_mapie_sets
from ferl_bench.headline import GOAL, Headline, against_best, against_paper
from ferl_bench.method import Method, get_method
from ferl_bench.methods.ferl import COMPACT_TREE, WIDE
from ferl_bench.render import Report, Section
from ferl_bench.rows import SETS, Measure, Row, data_set_section, failure_notes, method_section, rows_json, run_notes
from ferl_bench.table import Request, Table

TARGETS = {
    "FERL-wide": {"set_coverage": 0.935, "u65": 0.873, "u80": 0.900},
    "FERL-deep": {"u65": 0.825, "u80": 0.848},
}
COLUMNS = (Measure("accuracy", "Acc %", 100), *(replace(measure, spread=2) for measure in SETS))
BY_DATA_SET = ("set_coverage", "set_size", "u65")
NATIVE = (*WIDE, "FERL-deep", "FERL-medium", "FERL-compact", COMPACT_TREE, "NCC", "CDT", "CDT (C4.5)")
MLP_PAPER = {"determinacy": 0.22, "set_coverage": 0.95, "set_size": 2.17, "u65": 0.63, "u80": 0.74}
NOTES = (
    "In brackets: the paper's figure; ±: standard deviation over data sets; means over data sets of fold means.",
    "Acc: of the single label. Determinacy: share of sets with one class. u65, u80: utility-discounted accuracy.",
    "FERL-wide and FERL-compact: the fewest, most probable classes whose beliefs reach 2/3 together, otherwise all. "
    "Trees (FERL-deep, FERL-medium, the paper's tree): the classes whose plausibility reaches the best belief. NCC and "
    "CDT: implemented here from their papers; ferl_bench/methods says what is simplified.",
)
CONFORMAL_NOTES = (
    f"Calibrated on the calibration part at alpha = {ALPHA:g}. Scores: 1 - Pl, one minus the plausibility; 1 - p, one "
    "minus the probability; APS, the probability of all classes at least as probable.",
    "FERL's sets are those of ferl.conformal: an empty one gets the most probable class. 1 - p of the rivals is "
    "MAPIE's, filled in the same way. APS of MLP is the paper's, deterministic and not filled; it is implemented here "
    "because MAPIE refuses it for two classes.",
)


def conformal_methods() -> list[Method]:
    """Return the methods whose sets are calibrated."""
    deep, mlp, forest = get_method("FERL-deep"), get_method("MLP(64)"), get_method("Random forest")
    return [
        with_ferl_sets(get_method("FERL-wide"), "FERL-wide, 1 - p", "probability"),
        with_ferl_sets(deep, "FERL-deep, 1 - Pl", "plausibility"),
        with_ferl_sets(deep, "FERL-deep, 1 - p", "probability"),
        with_ferl_sets(deep, "FERL-deep, APS", "aps"),
        with_adaptive_sets(mlp, "MLP(64), APS", MLP_PAPER),
        with_mapie_sets(mlp, "MLP(64), 1 - p"),
        with_mapie_sets(forest, "Random forest, 1 - p"),
    ]


def run_credal(request: Request) -> Report:
    """Measure the prediction sets of every method on every data set and fold."""
    native, conformal = [get_method(name) for name in NATIVE], conformal_methods()
    rows = request.rows([*native, *conformal])
    facts = request.facts(("numpy", "scikit-learn", "MAPIE"))
    return make_report(rows[: len(native)], rows[len(native) :], facts)


def make_report(native: Sequence[Row], conformal: Sequence[Row], facts: Mapping[str, object]) -> Report:
    """Turn rows into the report."""
    rows, by_key = [*native, *conformal], {measure.key: measure for measure in SETS}
    return Report(
        name="credal",
        title="Prediction sets: by the evidence, by credal rivals, and conformal",
        facts=facts,
        sections=[
            method_section("Native sets", native, COLUMNS, [*NOTES, *run_notes(native), *_target_notes(native)]),
            method_section("Conformal sets", conformal, COLUMNS, [*CONFORMAL_NOTES, *run_notes(conformal)]),
            *(_numbered(data_set_section(rows, by_key[key])) for key in BY_DATA_SET),
        ],
        data={"targets": TARGETS, **rows_json(rows)},
        headlines=_headlines(native, conformal),
        failures=failure_notes(rows),
    )


def _headlines(native: Sequence[Row], conformal: Sequence[Row]) -> list[Headline]:
    by_key = {measure.key: measure for measure in SETS}
    utilities = [(by_key["u65"], True), (by_key["u80"], True)]
    return [
        *against_paper(native, ("FERL-deep", COMPACT_TREE), utilities),
        *(
            Headline(f"{name}: {title.lower()}", value, wanted, GOAL, decimals=3)
            for name, title, value, wanted in _wanted(native)
        ),
        *(headline for name in TARGETS for headline in against_best(native, name, utilities)),
        *(headline for name in TARGETS for headline in against_best(conformal, f"{name}, 1 - p", utilities)),
    ]


def _target_notes(rows: Sequence[Row]) -> list[str]:
    """Say by how much the wanted utilities are reached or missed."""
    notes = []
    for name, title, value, wanted in _wanted(rows):
        verdict = "reached" if value >= wanted else "missed"
        notes.append(f"{name}, {title.lower()}: {value:.4f} (wanted: at least {wanted:g}; {verdict}).")
    return notes


def _wanted(rows: Sequence[Row]) -> list[tuple[str, str, float, float]]:
    """Method, measure, its value and the wanted one, of the methods that have goals and could be measured."""
    titles, by_name = {measure.key: measure.title for measure in SETS}, {row.method.name: row for row in rows}
    return [
        (name, titles[key], value, wanted)
        for name, targets in TARGETS.items()
        if name in by_name
        for key, wanted in targets.items()
        if (value := by_name[name].centre(key)) is not None
    ]


def _numbered(section: Section) -> Section:
    """Method names are long and many: in the tables by data set their columns are numbered, and a note names them."""
    names = section.header[1:]
    key = "Columns: " + "; ".join(f"{number} {name}" for number, name in enumerate(names, 1)) + "."
    return replace(section, header=[section.header[0], *(str(i) for i in range(1, len(names) + 1))], notes=[key])


TABLE = Table(
    summary="Prediction sets: by the evidence, by credal rivals, and conformal.",
    run=run_credal,
    chapter="Sets, novelty and proofs",
    minutes=6,
)
