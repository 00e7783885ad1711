"""Combinations of what a model may be, and every law on each of them.

Single features hold by their tests; what breaks is combinations. A case draws a table (numbers, ties, categories,
dates, gaps, weights, groups, two to four classes), a kind of model and its parameters, what is done with the model
(updates, edits, a file, a wrapper, a decision), and then checks all laws that apply::

    python guards/combinations.py --minutes 60

A new parameter is one more line in :func:`draw_options`, a new law one more function with ``@law``.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE)]

import campaign  # noqa: E402

import onnx_examples  # noqa: E402
from estimators import KINDS, TREES, classifier  # noqa: E402
from ferl import NoveltyDetector, OtherColumnsWarning, load_model, save_model  # noqa: E402
from ferl.abstention import RiskControlledFERL  # noqa: E402
from ferl.calibration import CalibratedFERL  # noqa: E402
from ferl.conformal import ConformalFERL  # noqa: E402
from ferl.editing import edit  # noqa: E402
from ferl.onnx import onnx_inputs, to_onnx  # noqa: E402
from ferl.streaming import fit_batches  # noqa: E402
from table_examples import Mixed, mixed_table, rows_beside  # noqa: E402

ROUNDING = 1e-9
LEVELS = (0.5, 2 / 3, 0.8, 0.95)
ALPHAS = (0.05, 0.1, 0.3)
N_ATTACKED = 4  # rows whose certificates are attacked
N_MOVES = 150  # of each of them


@dataclass(frozen=True, eq=False)
class Case:
    """A table, a model that was fitted on it, and rows to judge.

    Attributes
    ----------
    seed : int
        Of all draws.
    kind : str
        Of the model.
    options : dict
        Parameters of the classifier.
    table : Mixed
        The training rows.
    weight : ndarray of shape (n_rows,) or None
        Whole numbers.
    groups : ndarray of shape (n_rows,) or None
        Of rules alone.
    steps : tuple of str
        What is done with the model after its fit.
    """

    seed: int
    kind: str
    options: dict[str, Any]
    table: Mixed
    weight: Any
    groups: Any
    steps: tuple[str, ...] = ()

    @property
    def is_rules(self) -> bool:
        """Whether the model is a list of rules."""
        return self.kind not in TREES

    @property
    def rng(self) -> np.random.Generator:
        """Begins anew at every call."""
        return np.random.default_rng([self.seed, 29])

    def fitted(self, order: Any = None, times: Any = None, **changes: Any) -> Any:
        """The classifier fitted on the rows in another order, or each of them so many times."""
        order = np.arange(len(self.table.y)) if order is None else order
        frame, y = self.table.frame.iloc[order], self.table.y[order]
        weight = None if self.weight is None or times is not None else self.weight[order]
        more = {} if self.groups is None else {"groups": self.groups[order]}
        return classifier(self.kind, **self.options | changes).fit(frame, y, weight, **more)

    @cached_property
    def first(self) -> Any:
        """The classifier after its fit."""
        return self.fitted()

    @cached_property
    def model(self) -> Any:
        """The classifier after all steps."""
        own, rng = self.first, self.rng
        for step in self.steps:
            own = STEPS[step](self, own, rng)
        return own

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Rows to judge."""
        return rows_beside(self.table, self.seed, 40)


# ---------------------------------------------------------------------------------------------------------------------
# What is done with a model
# ---------------------------------------------------------------------------------------------------------------------


def updated(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """After one more block, of half the rows."""
    some = rng.random(len(case.table.y)) < 0.5
    some[:2] = True
    block = None if case.weight is None else case.weight[some]
    fresh = classifier(case.kind, **case.options)
    fresh.partial_fit(case.table.frame, case.table.y, sample_weight=case.weight)
    return fresh.partial_fit(case.table.frame[some], case.table.y[some], sample_weight=block)


def edited(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """Without a rule, without a feature, or with another weight; rules alone."""
    own = edit(model)
    if model.n_rules_ > 1:
        own = own.drop(int(rng.integers(1, model.n_rules_ + 1)))
    if len(case.table.frame.columns) > 1 and rng.random() < 0.5:
        own = own.forbid(str(rng.choice(case.table.frame.columns)))
    return own


def through_a_file(case: Case, model: Any, rng: np.random.Generator) -> Any:
    """Written and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        save_model(model, path)
        return load_model(path)


STEPS: dict[str, Callable[[Case, Any, np.random.Generator], Any]] = {
    "updated": updated,
    "edited": edited,
    "through a file": through_a_file,
}


# ---------------------------------------------------------------------------------------------------------------------
# Drawing a case
# ---------------------------------------------------------------------------------------------------------------------


def draw_table(rng: np.random.Generator) -> Mixed:
    """Numbers with and without ties, categories of few and of many values, dates, gaps."""
    table = mixed_table(
        rng,
        n=int(rng.choice([60, 120, 200])),
        n_numbers=int(rng.integers(1, 5)),
        n_categories=[(), (), (4,), (2, 5), (30,)][rng.integers(5)],
        n_classes=int(rng.choice([2, 2, 2, 3, 4])),
        missing=float(rng.choice([0.0, 0.0, 0.1, 0.4])),
    )
    frame = table.frame.copy()
    for name in table.numbers[1:]:
        frame[name] = frame[name].round(int(rng.integers(0, 4)))
    frame["x0"] *= 10.0 ** rng.integers(-3, 4)
    labels = [table.y, np.array(["no", "yes", "perhaps", "never"])[table.y], table.y * 2.0][rng.integers(3)]
    return Mixed(frame, labels)


def draw_options(rng: np.random.Generator, kind: str, table: Mixed) -> dict[str, Any]:
    """Parameters of the classifier."""
    options: dict[str, Any] = {"random_state": int(rng.integers(1000)), "max_rules": int(rng.choice([2, 6, 15]))}
    options["missing_conditions"] = bool(rng.random() < 0.3)
    options["support_gate"] = bool(rng.random() < 0.8)
    options["n_exemplars"] = int(rng.choice([0, 20, 1024]))
    if rng.random() < 0.3:
        shares = {label: float(rng.choice([0.5, 1.0, 3.0])) for label in np.unique(table.y).tolist()}
        options["class_weight"] = "balanced" if rng.random() < 0.4 else shares
    if rng.random() < 0.3 and kind != "compact" and len(np.unique(table.y)) == 2:
        options["monotonic_cst"] = {"x0": int(rng.choice([-1, 1]))}
    if kind in TREES:
        options["combination"] = str(rng.choice(["dempster", "vote", "cautious"]))
    else:
        options["max_conditions"] = int(rng.integers(1, 4))
        options["effort"] = int(rng.choice([1, 1, 2]))
        options["max_maps"] = [25, 0, None][rng.integers(3)]
    return options


def draw(seed: int) -> Case:
    """A case, from its seed alone."""
    rng = np.random.default_rng([seed, 17])
    kind = str(rng.choice(KINDS))
    table = draw_table(rng)
    options = draw_options(rng, kind, table)
    n = len(table.y)
    weight = rng.integers(1, 4, size=n).astype(float) if rng.random() < 0.4 else None
    groups = rng.integers(0, n // 6, size=n) if kind not in TREES and rng.random() < 0.3 else None
    steps = []
    if groups is None and options.get("class_weight") != "balanced" and rng.random() < 0.25:
        steps.append("updated")
    if kind not in TREES and rng.random() < 0.3:
        steps.append("edited")
    if rng.random() < 0.4:
        steps.append("through a file")
    return Case(seed, kind, options, table, weight, groups, tuple(steps))


# ---------------------------------------------------------------------------------------------------------------------
# Laws
# ---------------------------------------------------------------------------------------------------------------------

LAWS: dict[str, Callable[[Case], None]] = {}


def law(function: Callable[[Case], None]) -> Callable[[Case], None]:
    """A law that every case must keep; one that does not apply to a case returns at once."""
    LAWS[function.__name__] = function
    return function


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """What a model answers, by name."""
    evidence = model.predict_evidence(rows)
    return {
        "label": model.predict(rows),
        "proba": model.predict_proba(rows),
        "belief": evidence.belief,
        "ignorance": evidence.ignorance,
        "set": model.predict_set(rows),
        "novelty": model.novelty(rows),
    }


def is_clear(model: Any, rows: Any) -> Any:
    """Which rows have a most probable class; where two are, rounding decides."""
    ranked = np.sort(model.predict_proba(rows), axis=1)
    return ranked[:, -1] - ranked[:, -2] > ROUNDING


def assert_same(found: dict[str, Any], expected: dict[str, Any], what: str) -> None:
    """The same bits."""
    for name, own in expected.items():
        np.testing.assert_array_equal(found[name], own, err_msg=f"{what}: {name}")


@law
def belief_probability_and_plausibility_are_in_this_order(case: Case) -> None:
    evidence = case.model.predict_evidence(case.rows)
    probability = case.model.predict_proba(case.rows)
    assert min(evidence.belief.min(), evidence.ignorance.min()) >= 0
    np.testing.assert_allclose(evidence.belief.sum(axis=1) + evidence.ignorance, 1.0, atol=ROUNDING)
    np.testing.assert_allclose(probability.sum(axis=1), 1.0, atol=ROUNDING)
    assert (evidence.belief <= probability + ROUNDING).all()
    assert (probability <= evidence.plausibility + ROUNDING).all()


@law
def contributions_add_up_to_the_probability(case: Case) -> None:
    if not case.is_rules:
        return
    probability = case.model.predict_proba(case.rows)
    for parts in (case.model.contributions(case.rows), case.model.feature_contributions(case.rows)):
        scores = parts.sum(axis=1)
        power = np.exp(scores - scores.max(axis=1, keepdims=True))
        np.testing.assert_allclose(power / power.sum(axis=1, keepdims=True), probability, atol=ROUNDING)


@law
def a_file_keeps_every_bit(case: Case) -> None:
    again = through_a_file(case, case.model, case.rng)
    assert_same(answers(again, case.rows), answers(case.model, case.rows), "file")
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("one.json", "two.json")]
        for path, own in zip(paths, (case.model, again), strict=True):
            save_model(own, path)
        assert paths[0].read_bytes() == paths[1].read_bytes()


@law
def onnx_answers_as_python_does(case: Case) -> None:
    if case.options.get("combination") == "cautious":
        return  # has no graph
    session = onnx_examples.session_of(to_onnx(case.model))
    rows = case.rows[is_clear(case.model, case.rows) | ~case.model.predict_evidence(case.rows).belief.any(axis=1)]
    if not len(rows):
        return
    onnx_examples.assert_answers(onnx_examples.run(session, onnx_inputs(case.model, rows)), case.model, rows)


@law
def answers_depend_neither_on_threads_nor_on_batches_nor_on_order(case: Case) -> None:
    expected, order = answers(case.model, case.rows), case.rng.permutation(len(case.rows))
    threaded = clone(case.model)._take(case.model.model_).set_params(n_jobs=2)
    assert_same(answers(threaded, case.rows), expected, "threads")
    moved = answers(case.model, case.rows.iloc[order])
    assert_same({name: own[np.argsort(order)] for name, own in moved.items()}, expected, "order")
    single = [answers(case.model, case.rows.iloc[k : k + 1]) for k in range(6)]
    parts = {name: np.concatenate([own[name] for own in single]) for name in expected}
    assert_same(parts, {name: own[:6] for name, own in expected.items()}, "single rows")


@law
def a_fit_depends_neither_on_threads_nor_on_the_order_of_rows(case: Case) -> None:
    other = case.fitted(case.rng.permutation(len(case.table.y)), n_jobs=2)
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "order of training rows")


@law
def batches_are_the_whole_table(case: Case) -> None:
    frame, y, weight, groups = case.table.frame, case.table.y, case.weight, case.groups
    cuts = np.r_[0, np.sort(case.rng.integers(1, len(y), size=3)), len(y)]
    pieces = [slice(a, b) for a, b in pairwise(cuts) if a < b]
    more = [own for own in (weight, groups) if own is not None]
    if weight is None and groups is not None:
        more = [np.ones(len(y)), groups]
    batches = [(frame.iloc[k], y[k], *(own[k] for own in more)) for k in pieces]
    other = fit_batches(batches, estimator=classifier(case.kind, **case.options))
    assert_same(answers(other, case.rows), answers(case.first, case.rows), "batches")


@law
def weight_two_is_the_row_twice(case: Case) -> None:
    weight = case.rng.integers(1, 4, size=len(case.table.y))
    order = np.repeat(np.arange(len(weight)), weight)
    weighted = Case(case.seed, case.kind, case.options, case.table, weight.astype(float), case.groups)
    found, expected = answers(case.fitted(order, times=weight), case.rows), answers(weighted.first, case.rows)
    for name in ("proba", "belief", "ignorance"):  # weights of classes need not be whole: their sums are rounded
        np.testing.assert_allclose(found[name], expected[name], rtol=0, atol=ROUNDING, err_msg=f"twice: {name}")


@law
def certificates_stand_attacks(case: Case) -> None:
    model, rng = case.model, case.rng
    if model.model_.unproven:
        return
    frame = case.rows.iloc[:N_ATTACKED]
    numbers = case.table.numbers
    rows, radius = model._rows(frame), model.certified_radius(frame)
    columns = [list(case.table.frame.columns).index(name) for name in numbers]
    moved = np.repeat(rows[:, None], N_MOVES, axis=1)
    steps = rng.choice([-1.0, 0.0, 1.0], (len(rows), N_MOVES, len(columns)))
    steps[:, N_MOVES // 2 :] *= rng.random((len(rows), N_MOVES - N_MOVES // 2, len(columns)))
    moved[:, :, columns] += steps * np.minimum(radius, 1e9)[:, None, None] * (1 - 1e-9)
    n_features = len(case.table.frame.columns)
    back = with_derived_again(model, moved.reshape(-1, rows.shape[1])[:, :n_features])
    labels = model.model_.probabilities(back).argmax(axis=1).reshape(len(rows), N_MOVES)
    usual = model.model_.probabilities(rows).argmax(axis=1)
    is_proven = radius > 0
    assert (labels == usual[:, None])[is_proven].all(), "a label changed within its proven radius"


def with_derived_again(model: Any, rows: Any) -> Any:
    """Rows with the derived columns of a model, computed anew."""
    from ferl._tables import with_derived

    return with_derived(np.asfortranarray(rows), model.model_.derived)


@law
def sets_are_nested_and_labels_are_marked_where_all_classes_stay(case: Case) -> None:
    model = case.model
    usual = model.predict_set(case.rows)
    if case.is_rules:
        nested = [model.predict_set(case.rows, level=level) for level in LEVELS]
        assert all((small <= large).all() for small, large in pairwise(nested))
    marker = "?" if model.classes_.dtype.kind in "OUT" else -1
    marked, labels = model.predict(case.rows, no_answer=marker), model.predict(case.rows)
    is_open = usual.all(axis=1) & (usual.shape[1] > 1)
    np.testing.assert_array_equal(marked == marker, is_open)
    np.testing.assert_array_equal(marked[~is_open].astype(labels.dtype), labels[~is_open])


@law
def decisions_are_those_of_the_probabilities(case: Case) -> None:
    model, n = case.model, len(case.model.classes_)
    probability = model.predict_proba(case.rows)
    if n == 2:
        threshold = float(case.rng.choice([0.1, 0.35, 0.5, 0.9]))
        expected = model.classes_[(probability[:, 1] >= threshold).astype(int)]
        np.testing.assert_array_equal(model.predict(case.rows, decision=threshold), expected)
    even, clear = model.predict(case.rows, decision=1.0 - np.eye(n)), is_clear(model, case.rows)
    np.testing.assert_array_equal(even[clear], model.predict(case.rows)[clear])
    asked = model.predictor()
    for decision in ("probable", "balanced", "mild"):
        labels = model.predict(case.rows, decision=decision)
        row = case.rows.iloc[3].to_dict()
        assert asked.predict(row, decision=decision) == labels[3]


@law
def columns_that_no_rule_reads_change_no_probability(case: Case) -> None:
    model, frame = case.model, case.rows
    probability = model.predict_proba(frame)
    unread = [name for j, name in enumerate(frame.columns) if j not in model.model_.read_features]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OtherColumnsWarning)
        np.testing.assert_array_equal(model.predict_proba(frame.assign(more="text")), probability)
        if len(unread) < len(frame.columns):
            np.testing.assert_array_equal(model.predict_proba(frame.drop(columns=unread)), probability)


@law
def monotone_features_move_the_odds_one_way(case: Case) -> None:
    sign = (case.options.get("monotonic_cst") or {}).get("x0")
    if sign is None or "edited" in case.steps or "updated" in case.steps:
        return
    rows = case.rows.iloc[np.repeat(np.arange(1, 6), 40)].reset_index(drop=True)
    values = case.table.frame["x0"]
    middle, width = values.mean(), 6 * values.std()
    rows["x0"] = np.tile(np.linspace(middle - width, middle + width, 40), 5)
    if case.is_rules:
        rise = sign * np.diff(case.model.decision_function(rows).reshape(5, 40), axis=1)
        assert (rise >= -ROUNDING).all()


@law
def forbidden_features_are_not_read(case: Case) -> None:
    history = getattr(case.model.model_, "history", ())
    for entry in history:
        text = str(entry)
        for j, name in enumerate(case.table.frame.columns):
            if "forbid" in text and f"'{name}'" in text:
                assert j not in case.model.model_.read_features
    assert "edited" not in case.steps or len(history) > 0 or case.first.n_rules_ <= 1


@law
def wrappers_keep_their_promises_about_form(case: Case) -> None:
    half = np.arange(len(case.table.y)) % 2 == 0
    frame, y = case.table.frame[half], case.table.y[half]
    turn = case.seed % 4
    if turn == 0:
        conformal = ConformalFERL(case.model, few_rows="include").conformalize(frame, y)
        nested = [conformal.predict_set(case.rows, alpha) for alpha in ALPHAS]
        assert all((large >= small).all() for large, small in pairwise(nested))
        p = conformal.predict_p_values(case.rows)
        assert ((p > 0) & (p <= 1)).all()
    elif turn == 1:
        calibrated = CalibratedFERL(case.model, cv="prefit").fit(frame, y)
        np.testing.assert_allclose(calibrated.predict_proba(case.rows).sum(axis=1), 1.0, atol=ROUNDING)
    elif turn == 2:
        controlled = RiskControlledFERL(case.model, risk=0.4, confidence=0.5).calibrate(frame, y)
        assert len(controlled.predict(case.rows)) == len(case.rows)
    elif case.options["n_exemplars"]:
        p = NoveltyDetector(case.model, cv="prefit").fit(frame).p_values(case.rows)
        assert ((p > 0) & (p <= 1)).all()


@law
def one_row_has_one_story(case: Case) -> None:
    row = case.rows.iloc[2]
    story = case.model.explain(row.to_dict(), counterfactual=False)
    marker = "?" if case.model.classes_.dtype.kind in "OUT" else -1
    label = case.model.predict(case.rows, no_answer=marker)[2]
    assert (story.label is None and label == marker) or story.label == label
    assert len(story.summary) > 0


def case(campaign_seed: int, number: int) -> str:
    """Draw a case and check every law; the error names the law, and what was drawn."""
    own = draw(campaign_seed * 10_000_000 + number)
    has = [name for name in ("weight", "groups") if getattr(own, name) is not None]
    drawn = f"{own.kind} {own.options} {[*has, *own.steps]}"
    try:
        assert own.model is not None
    except Exception as error:
        raise AssertionError(f"fit, update or edit: {drawn}") from error
    for name, check in LAWS.items():
        try:
            check(own)
        except Exception as error:
            raise AssertionError(f"{name}: {drawn}") from error
    return f"{own.kind}{', ' if own.steps else ''}{', '.join(own.steps)}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.exit(campaign.run("combinations", "combinations", case))
