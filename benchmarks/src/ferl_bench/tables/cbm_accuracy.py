"""The cbm-accuracy table: heads of a concept bottleneck, on raw and calibrated, in-sample and cross-fitted concepts."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

import numpy as np
from rich.progress import Progress

from ferl._util.arrays import Floats
from ferl_bench.concepts.data import READERS, ConceptSet, load_concept_set
from ferl_bench.concepts.heads import (
    CART,
    CART_SMALL,
    FERL,
    HEADS,
    LR,
    LR_CLASS,
    LR_ROW,
    LR_SAME,
    LR_TREE,
    LR_WIDE,
    TREE_SETTINGS,
    WIDE,
    Budget,
    Figures,
    Labels,
    judge_few,
    judge_heads,
)
from ferl_bench.concepts.seeing import N_FOLDS, View, see
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread

SEEDS = (0, 1, 2)
MOST_RULES = {
    "CUB-20": Budget(tree=150, wide=60),
    "CUB-200": Budget(tree=400, wide=120),
    "WBCAtt": Budget(tree=150, wide=60),
    "Animals-38": Budget(tree=150, wide=60),
}
"""FERL's budgets; 200 classes need more than the 150 rules of a deep tree."""
STAGES = {
    (False, False): "raw, in-sample",
    (False, True): "calibrated, in-sample",
    (True, False): "raw, cross-fitted",
    (True, True): "calibrated, cross-fitted",
}
"""Kinds of concepts, by whether they are cross-fitted and calibrated."""
BEST = (True, True)
PAPER: dict[str, dict[str, tuple[float, float]]] = {
    "CUB-20": {FERL: (77.67, 86.28), CART: (80.32, 85.57), LR_TREE: (72.75, 74.24), LR: (88.35, 88.54)},
    "CUB-200": {FERL: (59.38, 65.18), CART: (64.66, 64.84), LR_TREE: (49.54, 58.12), LR: (70.42, 70.71)},
    "Animals-38": {FERL: (95.08, 94.91), CART: (94.69, 94.54), LR_TREE: (95.80, 95.78), LR: (95.76, 95.79)},
}
"""Its raw and calibrated accuracies; those of AwA2 stand beside Animals-38."""
NOTES = (
    "Accuracy on test rows, in percent: mean over three detector seeds, ± standard deviation. In brackets: the paper's "
    "figure, raw or calibrated, of another detector (a fine-tuned network) on the images themselves; for Animals-38 "
    "that of AwA2, which has other images and 50 classes. They show what the concepts allow, not who is better.",
    f"In-sample: heads learn from concepts of rows that the detector was trained on. Cross-fitted: {N_FOLDS} folds, "
    "concepts of rows that the detector had not seen. At test time all use the detector fitted on all training rows.",
    "FERL-wide: the default head, one rule for each concept at most, and all rules apply to every row.",
    f"FERL-deep: {', '.join(f'{name}={value}' for name, value in TREE_SETTINGS.items())}, never more rules than CART "
    "has leaves. A decision: the concepts that all rules together ask about which fire for a row (at least 0.01), or "
    "that lie on its way through CART, on average over training rows. Asked at all: by some rule, for some row.",
    "Concept-restricted regression, in two readings. As many as a decision: on as many concepts as a decision of the "
    "tree, the same ones for all rows, those with the largest weights, fitted again. As many as the tree, as wide: on "
    "as many as its rules ask about at all, which with so many rules of a tree are most of them. The paper's caption "
    "has the number of the tree, and its text argues by what each decision uses; its figure stands beside the former.",
    "As many for each class: one regression for each class, on its own choice, so that all together they ask about "
    "most. As many for each row: the full regression, each row with only the concepts that weigh most for its label, "
    "the others at their means; to find these it has read them all.",
)
FEW_NOTE = (
    "Calibrated, cross-fitted concepts. FERL and regression on so many concepts, each on its own choice: fitted on "
    "all, and again on those that gained or weighed most. Mean over seeds."
)
Measured = dict[tuple[bool, bool], list[Figures]]
"""Figures of the seeds, by kind of concepts."""
Few = list[dict[int, dict[str, float]]]
"""Accuracies on few concepts of the seeds, by the number of concepts."""


def run_accuracy(request: Request) -> Report:
    """Fit all heads on all kinds of concepts of the sets in the folder."""
    folder = request.require_concepts()
    measured: dict[str, Measured] = {}
    few: dict[str, Few] = {}
    seconds: dict[str, tuple[float, float]] = {}
    with one_thread(), Progress(console=request.console) as progress:
        task = progress.add_task("", total=len(READERS) * len(SEEDS))
        for name in READERS:
            data = load_concept_set(folder, name)
            views = []
            for seed in SEEDS:
                progress.update(task, description=f"{name}, seed {seed}")
                views.append(see(data, seed, request.out))
                for stage, figures in _judge(data, views[-1], seed).items():
                    measured.setdefault(name, {}).setdefault(stage, []).append(figures)
                few.setdefault(name, []).append(judge_few(*_parts(data, views[-1], BEST), seed, MOST_RULES[name]))
                progress.advance(task)
            seconds[name] = fmean(v.seconds for v in views), fmean(v.cpu_seconds for v in views)
    return make_report(measured, few, seconds, _facts())


def _judge(data: ConceptSet, view: View, seed: int) -> dict[tuple[bool, bool], Figures]:
    return {stage: judge_heads(*_parts(data, view, stage), seed, MOST_RULES[data.name]) for stage in STAGES}


def _parts(data: ConceptSet, view: View, stage: tuple[bool, bool]) -> tuple[Floats, Labels, Floats, Labels]:
    """Concepts and classes of training rows and of test rows."""
    crossfit, calibrated = stage
    X, new = view.concepts(data, crossfit=crossfit, calibrated=calibrated)
    is_test = np.isin(view.new_rows, data.test)
    return X, data.y[view.rows], new[is_test], data.y[view.new_rows[is_test]]


def _facts() -> dict[str, object]:
    return {
        **versions(("numpy", "scikit-learn", "torch")),
        "cores": n_cores(),
        "detector": "TorchDetector with its defaults, one thread, on stored features of a frozen EfficientNet-Lite",
        "seeds": len(SEEDS),
    }


def make_report(
    measured: Mapping[str, Measured],
    few: Mapping[str, Few],
    seconds: Mapping[str, tuple[float, float]],
    facts: Mapping[str, object],
) -> Report:
    """Turn the figures of all sets into the report."""
    sections = [_section(name, item, NOTES if not place else ()) for place, (name, item) in enumerate(measured.items())]
    sections += [_few_section(name, item, measured[name][BEST]) for name, item in few.items()]
    times = [[name, f"{clock:.0f}", f"{cpu:.0f}"] for name, (clock, cpu) in seconds.items()]
    note = f"All {N_FOLDS + 1} detectors of one seed together, on a machine with other work to do."
    sections.append(Section("Training the detectors", ["Set", "Seconds", "CPU seconds"], times, [note]))
    return Report(
        name="cbm_accuracy",
        title="Concept bottlenecks: accuracy of rules over concepts",
        facts=facts,
        sections=sections,
        data={
            "sets": {name: _as_json(item) for name, item in measured.items()},
            "few": {
                name: [{str(n): result for n, result in seed.items()} for seed in item] for name, item in few.items()
            },
            "seconds": {name: list(pair) for name, pair in seconds.items()},
            "paper": PAPER,
        },
        headlines=[headline for name, item in measured.items() for headline in _headlines(name, item[BEST])],
    )


def _section(name: str, measured: Measured, notes: tuple[str, ...]) -> Section:
    rows = []
    for head in HEADS:
        cells = [_cell(name, head, stage, measured[stage]) for stage in STAGES]
        rows.append([head, *cells, *(_mean(measured[BEST], head, key) for key in ("leaves", "decision", "concepts"))])
    return Section(
        f"{name}, at most {MOST_RULES[name].wide} wide rules, {MOST_RULES[name].tree} of a tree",
        ["Head", *STAGES.values(), "Rules", "A decision", "Asked at all"],
        rows,
        [*notes, *_verdicts(measured[BEST])],
    )


def _few_section(name: str, few: Few, seeds: list[Figures]) -> Section:
    rows = []
    for n_concepts in few[0]:
        ours, theirs = (fmean(result[n_concepts][head] for result in few) for head in (FERL, LR))
        rows.append([str(n_concepts), f"{ours:.2f}", f"{theirs:.2f}", f"{ours - theirs:+.2f}"])
    ours, theirs = _accuracy(seeds, FERL), _accuracy(seeds, LR)
    rows.append(["all", f"{ours:.2f}", f"{theirs:.2f}", f"{ours - theirs:+.2f}"])
    note = f"CART on all: {_accuracy(seeds, CART):.2f}."
    return Section(f"{name}, few concepts", ["Concepts", FERL, LR, "Difference"], rows, [FEW_NOTE, note])


def _cell(name: str, head: str, stage: tuple[bool, bool], seeds: list[Figures]) -> str:
    values = [figures[head]["accuracy"] for figures in seeds]
    crossfit, calibrated = stage
    paper = PAPER.get(name, {}).get(head)
    beside = f" [{paper[calibrated]:.2f}]" if paper is not None and crossfit else ""
    spread = f" ±{stdev(values):.2f}" if len(values) > 1 else ""
    return f"{fmean(values):.2f}{spread}{beside}"


def _mean(seeds: list[Figures], head: str, key: str) -> str:
    values = [figures[head][key] for figures in seeds if key in figures[head]]
    return f"{fmean(values):.0f}" if values else ""


def _verdicts(seeds: list[Figures]) -> list[str]:
    """What was to be shown, on cross-fitted calibrated concepts, and whether it is."""
    rivals = {
        WIDE: (LR, LR_WIDE, CART, FERL),
        FERL: (CART, CART_SMALL, LR_SAME, LR_CLASS, LR_ROW, LR_TREE, LR),
    }
    return [
        " ".join(
            f"{item} against {head}: {_accuracy(seeds, item) - _accuracy(seeds, head):+.2f} points." for head in others
        )
        for item, others in rivals.items()
    ]


def _headlines(name: str, seeds: list[Figures]) -> list[Headline]:
    ours = _accuracy(seeds, WIDE)
    return [
        Headline(f"{name}: accuracy of rules over concepts, %", ours, _accuracy(seeds, head), head)
        for head in (CART, LR_WIDE, LR)
    ]


def _accuracy(seeds: list[Figures], head: str) -> float:
    return fmean(figures[head]["accuracy"] for figures in seeds)


def _as_json(measured: Measured) -> dict[str, Any]:
    return {STAGES[stage]: seeds for stage, seeds in measured.items()}


TABLE = Table(
    summary="Accuracy of rules over concepts that a network sees in images.",
    run=run_accuracy,
    chapter="Answers",
    minutes=6,
    needs_data=False,
    in_one_process=True,
    needs_concepts=True,
)
