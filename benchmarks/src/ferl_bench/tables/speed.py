"""The speed table: FERL against one CART tree, in one process and on one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLClassifier, FERLTreeClassifier
from ferl_bench.data import DataSet, encode
from ferl_bench.errors import require
from ferl_bench.facts import n_cores, versions
from ferl_bench.headline import goal
from ferl_bench.instruction_race import in_use, instruction_sections
from ferl_bench.memory import DEEP_ON_ALL, WIDE_ON_ALL, peak_multiple
from ferl_bench.method import get_method
from ferl_bench.methods.ferl import COMPACT_TREE
from ferl_bench.race import growth_exponent, race, verdict
from ferl_bench.render import Finding, Report, Section, Step, shown_steps
from ferl_bench.table import Request, Table
from ferl_bench.threads import one_thread
from ferl_bench.wide_race import boosting_section, wide_growth_section

PEER, COMPACT, MEDIUM, DEEP, WIDE = "CART", COMPACT_TREE, "FERL-medium", "FERL-deep", "FERL-wide"
OURS = (COMPACT, MEDIUM, DEEP)
SEED = 0
TARGETS = {"fit": 0.6, "fit_compact": 4.0}
MEMORY_TARGETS = {DEEP: 2.5, DEEP_ON_ALL: 3.0, WIDE_ON_ALL: 3.0}
PREDICT_TARGETS = {
    "predict_proba": 2.0,
    "predict_evidence": 1.3,
    "novelty": 1.5,
    "wide_predict_proba": 3.0,
    "wide_novelty": 1.5,
}
ONE_ROW_TARGETS = {"predict_proba": 1.2, "novelty": 2.0, "mixed_predict_proba": 0.5, "wide_predict_proba": 1.2}
MOST_MICROSECONDS = {
    "mixed_predict_proba": 600,
    "explain": 5000,
    "wide_explain": 5000,
    "certified_radius": 300,
    "wide_certified_radius": 300,
    "predictor": 20,
    "wide_predictor": 20,
}
MOST_ONNX = 6.0
# "About 1": sorting alone makes a linear method look like 1.1 over this range.
EXPONENT_TARGET = 1.15

Matrix = tuple[NDArray[np.float64], NDArray[np.int64]]


@dataclass(frozen=True)
class Sizes:
    """How large the generated problems are."""

    n_features: int = 20
    fitting_rows: int = 20_000
    predicted_rows: int = 100_000
    onnx_rows: int = 20_000
    one_row_fitting: int = 2_000
    memory_rows: int = 200_000
    growth_rows: Sequence[int] = (10_000, 20_000, 40_000, 80_000, 160_000)
    growth_features: Sequence[int] = (10, 20, 40, 80)
    growth_features_rows: int = 10_000


def run_speed(request: Request, sizes: Sizes | None = None) -> Report:
    """Run all races; the sizes are those of the generated problems."""
    data_sets, repeats = request.data_sets, request.repetitions
    sizes = Sizes() if sizes is None else sizes
    parts: dict[str, Callable[[Step], Finding]] = {
        "fit": partial(_fit_section, data_sets, repeats),
        **instruction_sections(data_sets, repeats),
        "boosting": partial(boosting_section, data_sets, repeats, SEED),
        "predict": partial(_predict_section, sizes, repeats),
        "ONNX": partial(_onnx_section, sizes, repeats),
        "one row": partial(_one_row_section, sizes, repeats),
        "memory": partial(_memory_section, sizes),
        "growth": partial(_growth_section, sizes, repeats),
        "wide growth": partial(
            wide_growth_section, sizes.growth_rows, sizes.growth_features, sizes.growth_features_rows, repeats, SEED
        ),
    }
    with one_thread(), shown_steps(request.console) as step:
        findings = {name: _attempt(name, part, step) for name, part in parts.items()}
    facts = {
        **versions(),
        "cores": n_cores(),
        "protocol": f"one thread; median of {repeats} rounds in turn after a warm-up, but where noted; seed {SEED}",
        "peer": "DecisionTreeClassifier(random_state=0)",
        "instruction set": in_use(),
    }
    return Report(
        name="speed",
        title="Speed: FERL against one CART tree",
        facts=facts,
        sections=[finding.section for finding in findings.values()],
        data={name: finding.data for name, finding in findings.items()},
        headlines=[headline for finding in findings.values() for headline in finding.headlines],
        failures=[f"{name}: {finding.data['error']}" for name, finding in findings.items() if "error" in finding.data],
    )


def _attempt(name: str, part: Callable[[Step], Finding], step: Step) -> Finding:
    """Run one part; one that cannot be run says so and leaves the others alone."""
    try:
        return part(step)
    except Exception as error:
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding(Section(name.capitalize(), ["Measure"], [[f"failed: {message}"]]), {"error": message})


def _fit_section(data_sets: Sequence[DataSet], repeats: int, step: Step) -> Finding:
    fits = {name: get_method(name).fit for name in (PEER, *OURS)}
    times: dict[str, dict[str, float]] = {}
    for number, data in enumerate(data_sets, start=1):
        step(f"fit: {data.name} ({number} of {len(data_sets)})")
        (X,) = encode(data, np.arange(data.n_rows))
        times[data.name] = race({name: partial(fit, X, data.y, SEED) for name, fit in fits.items()}, repeats)
    sums = {name: sum(rounds[name] for rounds in times.values()) for name in fits}
    ratios = {name: sums[name] / sums[PEER] for name in OURS}
    header = ["Data set", *(f"{name} ms" for name in fits), *(f"{name} / {PEER}" for name in OURS)]
    rows = [_fit_row(name, rounds) for name, rounds in times.items()] + [_fit_row("sum", sums)]
    targets = {DEEP: TARGETS["fit"], COMPACT: TARGETS["fit_compact"]}
    notes = [f"{name} / {PEER}, ratio of the sums: {verdict(ratios[name], most)}" for name, most in targets.items()]
    data_out = {"seconds": times, "sum_seconds": sums, "ratio_of_sums": ratios, "targets": targets}
    goals = [goal(f"{name} / {PEER}, fit", ratios[name], most) for name, most in targets.items()]
    return Finding(Section("Fit, whole data sets", header, rows, notes), data_out, goals)


def _fit_row(name: str, seconds: Mapping[str, float]) -> list[str]:
    milliseconds = [f"{1000 * seconds[method]:.1f}" for method in (PEER, *OURS)]
    return [name, *milliseconds, *(f"{seconds[method] / seconds[PEER]:.2f}" for method in OURS)]


def _predict_section(sizes: Sizes, repeats: int, step: Step) -> Finding:
    step(f"predict: {sizes.predicted_rows:,} rows")
    X, y = _generate(sizes.fitting_rows + sizes.predicted_rows, sizes.n_features)
    X_fit, y_fit = X[: sizes.fitting_rows], y[: sizes.fitting_rows]
    X_new = X[sizes.fitting_rows :].copy()
    peer, ours, wide = (get_method(name).fit(X_fit, y_fit, SEED) for name in (PEER, DEEP, WIDE))
    seconds = race(
        {
            "peer_predict_proba": partial(peer.predict_proba, X_new),
            "predict_proba": partial(ours.predict_proba, X_new),
            "predict_evidence": partial(ours.predict_evidence, X_new),
            "novelty": partial(ours.novelty, X_new),
            "wide_predict_proba": partial(wide.predict_proba, X_new),
            "wide_novelty": partial(wide.novelty, X_new),
        },
        repeats,
    )
    ratios = {
        "predict_proba": seconds["predict_proba"] / seconds["peer_predict_proba"],
        "predict_evidence": seconds["predict_evidence"] / seconds["predict_proba"],
        "novelty": seconds["novelty"] / seconds["predict_proba"],
        "wide_predict_proba": seconds["wide_predict_proba"] / seconds["peer_predict_proba"],
        "wide_novelty": seconds["wide_novelty"] / seconds["wide_predict_proba"],
    }
    rows = [[f"{PEER} predict_proba", f"{1000 * seconds['peer_predict_proba']:.1f}"]]
    for call, ratio in ratios.items():
        title = call.replace("wide_", f"{WIDE} ") if call.startswith("wide_") else f"{DEEP} {call}"
        rows.append([title, f"{1000 * seconds[call]:.1f}", verdict(ratio, PREDICT_TARGETS[call])])
    title = f"Predict, {sizes.predicted_rows:,} x {sizes.n_features} rows, fitted on {sizes.fitting_rows:,}"
    notes = [
        f"predict_proba against {PEER}'s, predict_evidence and novelty against the predict_proba of the same model.",
        f"{DEEP} has {ours.n_rules_} rules, {WIDE} {wide.n_rules_}, {PEER} {peer.get_n_leaves()} leaves.",
    ]
    data = {"seconds": seconds, "ratios": ratios, "targets": PREDICT_TARGETS}
    goals = [goal(f"{key}, ratio", value, PREDICT_TARGETS[key]) for key, value in ratios.items()]
    return Finding(Section(title, ["Call", "ms", "Ratio"], rows, notes), data, goals)


def _onnx_section(sizes: Sizes, repeats: int, step: Step) -> Finding:
    """What a row of a block costs in onnxruntime, on one thread, as a multiple of what it costs in the core."""
    onnxruntime = require("onnxruntime")
    from ferl.onnx import onnx_inputs, to_onnx

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    X, y = _generate(sizes.fitting_rows + sizes.onnx_rows, sizes.n_features)
    X_new = X[sizes.fitting_rows :].copy()
    seconds, ratios, rows = {}, {}, []
    for name in (DEEP, MEDIUM, WIDE):
        step(f"ONNX: {name}")
        model = get_method(name).fit(X[: sizes.fitting_rows], y[: sizes.fitting_rows], SEED)
        exported = to_onnx(model, novelty=False).SerializeToString()
        session = onnxruntime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
        output = ["probability" if name == WIDE else "pignistic"]
        calls = {
            "core": partial(model.predict_proba, X_new),
            "ONNX": partial(session.run, output, onnx_inputs(model, X_new)),
        }
        seconds[name] = race(calls, repeats)
        ratios[name] = seconds[name]["ONNX"] / seconds[name]["core"]
        per_row = [f"{1e9 * seconds[name][call] / sizes.onnx_rows:.0f}" for call in calls]
        rows.append([f"{name}, {model.n_rules_} rules", *per_row, verdict(ratios[name], MOST_ONNX)])
    title = f"ONNX, {sizes.onnx_rows:,} x {sizes.n_features} rows, fitted on {sizes.fitting_rows:,}"
    notes = [
        "onnxruntime on one thread, probabilities alone, against `predict_proba`; novelty is not among the outputs."
    ]
    goals = [goal(f"{name}: ONNX / core, time of a row", ratio, MOST_ONNX) for name, ratio in ratios.items()]
    header = ["Model", "Core, ns a row", "ONNX, ns a row", "Ratio"]
    return Finding(Section(title, header, rows, notes), {"seconds": seconds, "ratios": ratios}, goals)


def _one_row_section(sizes: Sizes, repeats: int, step: Step) -> Finding:
    """What one row costs, as a service asks for it; every call is repeated, since one takes microseconds."""
    step("one row")
    X, y = _generate(sizes.one_row_fitting, sizes.n_features)
    peer, ours, wide = (get_method(name).fit(X, y, SEED) for name in (PEER, DEEP, WIDE))
    frame = _mixed_frame(X)
    mixed_peer = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["c0", "c1", "c2"]), remainder="passthrough"),
        DecisionTreeClassifier(random_state=SEED),
    ).fit(frame, y)
    mixed = FERLTreeClassifier("deep", random_state=SEED).fit(frame, y)
    wide_mixed = FERLClassifier(random_state=SEED).fit(frame, y)
    row, mixed_row = X[:1].copy(), frame.iloc[[0]]
    record = mixed_row.astype(object).iloc[0].to_dict()
    calls: dict[str, tuple[int, Callable[[], object]]] = {
        "peer_predict_proba": (200, partial(peer.predict_proba, row)),
        "predict_proba": (200, partial(ours.predict_proba, row)),
        "predict_evidence": (200, partial(ours.predict_evidence, row)),
        "novelty": (200, partial(ours.novelty, row)),
        "certified_radius": (20, partial(ours.certified_radius, row)),
        "explain": (5, partial(ours.explain, row)),
        "peer_mixed_predict_proba": (20, partial(mixed_peer.predict_proba, mixed_row)),
        "mixed_predict_proba": (50, partial(mixed.predict_proba, mixed_row)),
        "mixed_explain": (5, partial(mixed.explain, mixed_row)),
        "predictor": (200, partial(mixed.predictor().predict_proba, record)),
        "wide_predict_proba": (200, partial(wide.predict_proba, row)),
        "wide_certified_radius": (20, partial(wide.certified_radius, row)),
        "wide_explain": (5, partial(wide.explain, row)),
        "wide_predictor": (200, partial(wide_mixed.predictor().predict_proba, record)),
    }
    rounds = race({name: partial(_again, *call) for name, call in calls.items()}, repeats)
    seconds = {name: rounds[name] / calls[name][0] for name in calls}
    against = {
        "predict_proba": "peer_predict_proba",
        "predict_evidence": "peer_predict_proba",
        "novelty": "predict_evidence",
        "certified_radius": "peer_predict_proba",
        "explain": "peer_predict_proba",
        "mixed_predict_proba": "peer_mixed_predict_proba",
        "mixed_explain": "peer_mixed_predict_proba",
        "predictor": "peer_mixed_predict_proba",
        "wide_predict_proba": "peer_predict_proba",
        "wide_certified_radius": "peer_predict_proba",
        "wide_explain": "peer_predict_proba",
        "wide_predictor": "peer_mixed_predict_proba",
    }
    ratios = {name: seconds[name] / seconds[other] for name, other in against.items()}
    title_of = {name: _title(name) for name in calls}
    rows = [[title_of[name], f"{1e6 * seconds[name]:.0f}"] for name in calls if name not in against]
    for name, ratio in ratios.items():
        judged = verdict(ratio, ONE_ROW_TARGETS[name]) if name in ONE_ROW_TARGETS else f"{ratio:.2f}"
        most = MOST_MICROSECONDS.get(name)
        took = f"{1e6 * seconds[name]:.0f}" + ("" if most is None else f" (wanted: {most} at most)")
        rows.append([title_of[name], took, title_of[against[name]], judged])
    title = f"One row of {sizes.n_features} numbers; mixed frame: one row with 3 columns of text among them"
    notes = [
        f"{PEER} reads the mixed frame through scikit-learn's ColumnTransformer and OneHotEncoder.",
        f"{DEEP} has {ours.n_rules_} rules on numbers and {mixed.n_rules_} on the mixed frame.",
    ]
    goals = [goal(f"One row, {name}, ratio", ratios[name], most) for name, most in ONE_ROW_TARGETS.items()]
    data = {"seconds": seconds, "ratios": ratios, "targets": ONE_ROW_TARGETS}
    return Finding(Section(title, ["Call", "microseconds", "Against", "Ratio"], rows, notes), data, goals)


def _title(call: str) -> str:
    """What the table says for the name of a call."""
    words = {"peer_": f"{PEER} ", "wide_": f"{WIDE} ", "mixed_": "mixed frame: "}
    for part, word in words.items():
        call = call.replace(part, word)
    return call.replace("predictor", "predictor().predict_proba of a dict of the mixed frame")


def _again(n_times: int, call: Callable[[], object]) -> None:
    for _ in range(n_times):
        call()


def _mixed_frame(X: NDArray[np.float64]) -> pd.DataFrame:
    """The table with its first three columns as text of five categories."""
    frame = pd.DataFrame(X[:, 3:], columns=[f"n{j}" for j in range(X.shape[1] - 3)])
    for j in range(3):
        cuts = np.quantile(X[:, j], [0.2, 0.4, 0.6, 0.8])
        frame[f"c{j}"] = np.array(list("abcde"))[np.searchsorted(cuts, X[:, j])]
    return frame


def _memory_section(sizes: Sizes, step: Step) -> Finding:
    X, y = _generate(sizes.memory_rows, sizes.n_features)
    multiples = {}
    for name in (PEER, *MEMORY_TARGETS):
        step(f"memory: {name}, {sizes.memory_rows:,} rows")
        multiples[name] = peak_multiple(name, X, y)
    judged = [[name, verdict(multiples[name], most)] for name, most in MEMORY_TARGETS.items()]
    rows = [[PEER, f"{multiples[PEER]:.2f}"], *judged]
    title = f"Peak extra memory of a fit, {sizes.memory_rows:,} x {sizes.n_features}"
    notes = [
        f"Growth of the resident high-water mark in a fresh process, in multiples of the input's {X.nbytes:,} bytes."
    ]
    data = {"multiples": multiples, "input_bytes": X.nbytes, "targets": MEMORY_TARGETS}
    goals = [
        goal(f"{name}: extra memory of a fit, in inputs", multiples[name], m) for name, m in MEMORY_TARGETS.items()
    ]
    return Finding(Section(title, ["Method", "Multiple of the input"], rows, notes), data, goals)


def _growth_section(sizes: Sizes, repeats: int, step: Step) -> Finding:
    by_rows = [(n, sizes.n_features) for n in sizes.growth_rows]
    by_features = [(sizes.growth_features_rows, d) for d in sizes.growth_features]
    problems: dict[str, Callable[[], object]] = {}
    for n, d in dict.fromkeys(by_rows + by_features):
        step(f"growth: {n:,} x {d}")
        problems[f"{n}x{d}"] = partial(_fit_on_all_rows, *_generate(n, d))
    step("growth: racing")
    seconds = race(problems, repeats)
    rows, data = [], {}
    for name, shapes, size in (("rows", by_rows, 0), ("features", by_features, 1)):
        points = {shape[size]: seconds[f"{shape[0]}x{shape[1]}"] for shape in shapes}
        exponent = growth_exponent(list(points), list(points.values()))
        rows += [[f"{value:,} {name}", f"{1000 * second:.1f}"] for value, second in points.items()]
        rows.append([f"exponent of {name}", "", verdict(exponent, EXPONENT_TARGET)])
        data[name] = {"exponent": exponent, "seconds": points, "target": EXPONENT_TARGET}
    title = f"Growth of {DEEP}'s fit time with all rows used for growth (1 is linear)"
    notes = [f"Rows at {sizes.n_features} features, features at {sizes.growth_features_rows:,} rows."]
    return Finding(Section(title, ["Size", "ms", "Exponent"], rows, notes), data)


def _generate(n_rows: int, n_features: int) -> Matrix:
    """Return a smooth two-class problem with five informative features, so that more features only add work."""
    X, y = make_classification(n_rows, n_features, n_informative=5, n_redundant=0, flip_y=0.05, random_state=SEED)
    return np.ascontiguousarray(X), y.astype(np.int64)


def _fit_on_all_rows(X: NDArray[np.float64], y: NDArray[np.int64]) -> object:
    return FERLTreeClassifier("deep", growth_rows=None, random_state=SEED, n_jobs=1).fit(X, y)


TABLE = Table(
    summary="Fit and predict time, memory and growth of cost against one CART tree, on one thread.",
    run=run_speed,
    chapter="Speed",
    minutes=15,
    in_one_process=True,
    repetitions=5,
)
