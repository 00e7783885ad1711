"""The cbm-ood table: images of classes that neither detector nor rules have seen, told from their concepts."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from rich.progress import Progress

from ferl_bench.concepts.data import ConceptSet, load_concept_set
from ferl_bench.concepts.novelty import RESIDUAL, WIDE, Named, name_anomalies, novelty_scores
from ferl_bench.concepts.seeing import View, see
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import Headline
from ferl_bench.render import Report, Section
from ferl_bench.table import Request, Table
from ferl_bench.tables.cbm_accuracy import MOST_RULES, SEEDS
from ferl_bench.tables.ood import MEASURES, novelty_measures
from ferl_bench.threads import one_thread

SETS = ("CUB-200", "Animals-38", "WBCAtt")
N_FOLDS = 5
PAPER: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "CUB-200": {
        RESIDUAL: (68.2, 31.0, 82.3, 10.2),
        "Mahalanobis": (70.2, 32.3, 73.3, 13.5),
        "10-NN": (70.5, 33.4, 74.3, 13.6),
        "Isolation forest": (58.8, 25.6, 89.3, 8.5),
    },
    "Animals-38": {
        RESIDUAL: (86.2, 68.3, 75.8, 57.2),
        "Mahalanobis": (88.0, 67.5, 54.2, 56.2),
        "10-NN": (88.2, 67.7, 54.3, 53.2),
        "Isolation forest": (81.8, 55.4, 78.6, 39.1),
    },
}
"""In the order of `MEASURES`; those of AwA2 stand beside Animals-38."""
NOTES = (
    f"Classes in {N_FOLDS} folds; those of a fold are removed before detector, calibration and rules are trained. Mean "
    "over folds, then over three detector seeds, ± standard deviation over seeds. All detectors of novelty read the "
    "same cross-fitted, calibrated concepts.",
    "In brackets: the paper's figure, of another detector on the images themselves; for Animals-38 that of AwA2. It "
    "does not say how many neighbours its kNN looks at (here beside 10-NN). It rejects at a threshold from validation "
    "rows and does not define its FPR95; the two do not add up to 100 as ours do.",
    "AUPR-Out: novel rows are the positives. FPR95 and rejected: at the threshold that accepts 95 % of the known test "
    "rows, the share of novel rows accepted and rejected.",
)
Figures = dict[str, dict[str, float]]
"""Measures by name, by detector."""


def run_ood(request: Request) -> Report:
    """Leave out classes of every set, and show WBCAtt's unseen kinds of cells."""
    folder = request.require_concepts()
    by_seed: dict[str, list[Figures]] = {}
    named: list[Named] = []
    with one_thread(), Progress(console=request.console) as progress:
        task = progress.add_task("", total=len(SETS) * len(SEEDS) * (N_FOLDS + 1))
        for name in SETS:
            data = load_concept_set(folder, name)
            for seed in SEEDS:
                folds = []
                for number, left_out in enumerate(class_folds(data)):
                    progress.update(task, description=f"{name}, seed {seed}, fold {number}")
                    view = see(data, seed, request.out, left_out=left_out)
                    is_novel = np.isin(data.y[view.new_rows], left_out) & (data.y[view.new_rows] >= 0)
                    known = np.isin(view.new_rows, data.test)
                    folds.append(measure(data, view, seed, is_novel[known], known))
                    progress.advance(task)
                by_seed.setdefault(name, []).append(mean_figures(folds))
                for title, figures in _unseen_kinds(data, seed, request, named).items():
                    by_seed.setdefault(title, []).append(figures)
                progress.advance(task)
    facts = {**versions(("numpy", "scikit-learn", "torch")), "cores": n_cores(), "seeds": len(SEEDS)}
    return make_report(by_seed, named, facts)


def class_folds(data: ConceptSet) -> list[NDArray[np.int64]]:
    """The classes of a set in five parts, the same for every seed."""
    classes = np.random.default_rng(0).permutation(np.unique(data.y[data.train]))
    return [np.sort(part) for part in np.array_split(classes, N_FOLDS)]


def measure(data: ConceptSet, view: View, seed: int, is_novel: NDArray[np.bool_], chosen: NDArray[np.bool_]) -> Figures:
    """Measures of every detector of novelty on some of the new rows, as percentages.

    Parameters
    ----------
    data : ConceptSet
        The set.
    view : View
        What was seen of it.
    seed : int
        Of the detectors.
    is_novel : ndarray of bool of shape (n_chosen,)
        Which of the chosen rows are novel.
    chosen : ndarray of bool of shape (n_new,)
        The rows.

    Returns
    -------
    dict of dict
    """
    X, new = view.concepts(data, crossfit=True, calibrated=True)
    scores = novelty_scores(X, data.y[view.rows], new[chosen], seed, MOST_RULES[data.name])
    return {
        name: {key: 100 * value for key, value in novelty_measures(is_novel, score).items()}
        for name, score in scores.items()
    }


def _unseen_kinds(data: ConceptSet, seed: int, request: Request, named: list[Named]) -> dict[str, Figures]:
    """Kinds that are in no class, together and each alone, against the test rows, with all classes known."""
    kinds = data.unknown_kinds
    if not kinds:
        return {}
    view, result = see(data, seed, request.out), {}
    part = data.part[view.new_rows]
    for title, item in {f"{len(kinds)} kinds": kinds, **{kind: [kind] for kind in kinds}}.items():
        chosen = np.isin(part, ["test", *item])
        result[f"{data.name}: {title}, never annotated"] = measure(data, view, seed, part[chosen] != "test", chosen)
    if seed == SEEDS[0]:
        X, new = view.concepts(data, crossfit=True, calibrated=True)
        for kind in kinds:
            rows = new[part == kind]
            named.append(name_anomalies(kind, X, data.y[view.rows], rows, data.concept_names, MOST_RULES[data.name]))
    return result


def mean_figures(folds: list[Figures]) -> Figures:
    """Mean over folds."""
    return {name: {key: fmean(figures[name][key] for figures in folds) for key in MEASURES} for name in folds[0]}


def make_report(by_seed: Mapping[str, list[Figures]], named: list[Named], facts: Mapping[str, object]) -> Report:
    """Turn the figures of all sets into the report."""
    sections = [
        _section(name, seeds, NOTES if not place else ()) for place, (name, seeds) in enumerate(by_seed.items())
    ]
    if named:
        rows = [[one.kind, *one.concepts] for one in named]
        note = "Per kind, the concepts that most often lead a row's novelty attribution, with the share of rows."
        header = ["Unseen cells", *(f"{place}." for place in range(1, len(rows[0])))]
        sections.append(Section("Anomalous concepts by name", header, rows, [note]))
    return Report(
        name="cbm_ood",
        title="Concept bottlenecks: images of unseen classes",
        facts=facts,
        sections=sections,
        data={"sets": dict(by_seed), "paper": PAPER, "named": {one.kind: one.concepts for one in named}},
        headlines=[_headline(name, seeds) for name, seeds in by_seed.items()],
    )


def _section(name: str, seeds: list[Figures], notes: tuple[str, ...]) -> Section:
    rows = [[head, *(_cell(name, head, key, seeds) for key in MEASURES)] for head in seeds[0]]
    best, auroc = _best_rival(seeds)
    ours = _mean(seeds, WIDE)
    verdict = f"FERL-wide against the best other, {best}: {ours - auroc:+.1f} points of AUROC."
    return Section(name, ["Detector", *MEASURES.values()], rows, [*notes, verdict])


def _cell(name: str, head: str, key: str, seeds: list[Figures]) -> str:
    values = [figures[head][key] for figures in seeds]
    paper = PAPER.get(name, {}).get(head)
    beside = f" [{paper[list(MEASURES).index(key)]:.1f}]" if paper is not None else ""
    spread = f" ±{stdev(values):.1f}" if len(values) > 1 else ""
    return f"{fmean(values):.1f}{spread}{beside}"


def _best_rival(seeds: list[Figures]) -> tuple[str, float]:
    rivals = {name: _mean(seeds, name) for name in seeds[0] if not name.startswith("FERL")}
    best = max(rivals, key=lambda name: rivals[name])
    return best, rivals[best]


def _mean(seeds: list[Figures], name: str) -> float:
    return fmean(figures[name]["auroc"] for figures in seeds)


def _headline(name: str, seeds: list[Figures]) -> Headline:
    best, auroc = _best_rival(seeds)
    return Headline(f"{name}: AUROC of unseen images by concepts, %", _mean(seeds, WIDE), auroc, best, decimals=1)


TABLE = Table(
    summary="Images of unseen classes, told by their concepts, against detectors without rules.",
    run=run_ood,
    chapter="Sets, novelty and proofs",
    minutes=10,
    needs_data=False,
    in_one_process=True,
    needs_concepts=True,
)
