"""FERL: words fixed before learning, learned splits in the paper's two tree sizes, and short rules that add up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ferl_bench.method import Method
from ferl_bench.tuning import tuned, with_constants

if TYPE_CHECKING:
    from ferl import FERLClassifier, FERLTreeClassifier

    Classifier = FERLClassifier | FERLTreeClassifier

# Parameters of the models that tables compare, by their names there; "wide" is the default, rules without words.
MODELS: dict[str, dict[str, Any]] = {
    "wide": {},
    "compact": {"words": True},
    "medium": {"variant": "medium"},
    "deep": {"variant": "deep"},
}


def classifier_of(parameters: Mapping[str, Any], **others: Any) -> Classifier:
    """Return a classifier with these parameters: a tree if a variant is among them, otherwise rules."""
    # Imported here so that a compiled core that does not load is this method's failure and not the benchmark's.
    from ferl import FERLClassifier, FERLTreeClassifier

    chosen = {**parameters, **others}
    return FERLTreeClassifier(**chosen) if "variant" in chosen else FERLClassifier(**chosen)


def fit(parameters: Mapping[str, Any], X: Any, y: Any, seed: int) -> Classifier:
    """Fit with these parameters on one thread.

    Among them ``tuning`` has numbers of the learner of rules, ``constants`` those of similar cases, and ``case_share``
    bounds the cases by a share of the rows.
    """
    options = {name: value for name, value in parameters.items() if name not in ("tuning", "constants", "case_share")}
    if "case_share" in parameters:
        options["n_cases"] = max(int(parameters["case_share"] * len(y)), 2)
    with tuned(**parameters.get("tuning", {})), with_constants(**parameters.get("constants", {})):
        fitted: Classifier = classifier_of(options, random_state=seed, n_jobs=1).fit(X, y)
    return fitted


def size(fitted: Classifier) -> int:
    """Return the number of rules."""
    return int(fitted.n_rules_)


def prediction_set(fitted: Classifier, X: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return the sets the evidence itself gives, without calibration."""
    sets: NDArray[np.bool_] = fitted.predict_set(X)
    return sets


def readings(fitted: Classifier, X: NDArray[np.float64]) -> dict[str, float]:
    """Return the mean ignorance, and how many features the rules name that fire, weighted by their firing."""
    tree = fitted.tree_
    n_named = [len({int(tree.feature[node]) for node in tree.path(int(leaf))}) for leaf in tree.leaves]
    firing = tree.fire(X)[:, tree.leaves].sum(axis=0)
    return {
        "ignorance": float(fitted.predict_evidence(X).ignorance.mean()),
        "conditions": float(firing @ n_named / max(firing.sum(), 1e-300)),
    }


def wide_readings(fitted: FERLClassifier, X: Any) -> dict[str, float]:
    """Return mean ignorance and belief, mean conditions of a rule, and the number of features, curves and maps."""
    tree, nodes = fitted.tree_, fitted.model_.rules.node
    named = [{int(tree.feature[node]) for node in tree.path(int(end))} for end in nodes]
    evidence = fitted.predict_evidence(X)
    return {
        "ignorance": float(evidence.ignorance.mean()),
        "belief": float(evidence.belief.max(axis=1).mean()),
        "conditions": float(np.mean([len(item) for item in named])) if named else 0.0,
        "features": float(len(set().union(*named))),
        "curves": float(fitted.n_curves_),
        "maps": float(fitted.n_maps_),
    }


def ferl_method(name: str, parameters: dict[str, Any], paper: Mapping[str, float] | None = None) -> Method:
    """Return FERL with these parameters as a method."""
    return Method(
        name=f"FERL-{name}",
        fit=partial(fit, parameters),
        size=size,
        prediction_set=prediction_set,
        parameters=parameters,
        is_ours=True,
        paper=paper or {},
        readings=readings,
    )


def wide_method(max_rules: int | None = None) -> Method:
    """Return FERL-wide with at most this many rules, or with its default, as a method; it reads categories."""
    if max_rules is None:
        method = ferl_method("wide", MODELS["wide"])
    else:
        method = ferl_method(f"wide, {max_rules} rules", {**MODELS["wide"], "max_rules": max_rules})
    return replace(method, readings=wide_readings, reads_categories=True)


def cases_method() -> Method:
    """Return FERL-wide with the vote of similar cases as a method."""
    method = ferl_method("wide with cases", {**MODELS["wide"], "cases": True})
    return replace(method, readings=wide_readings, reads_categories=True)


_SETS = ("determinacy", "set_coverage", "set_size", "u65", "u80")
PAPER_COMPACT = {
    **{"accuracy": 77.77, "aurc": 17.33, "size": 6},
    **dict(zip(_SETS, (0.66, 0.87, 1.68, 0.72, 0.76), strict=True)),
}
PAPER_DEEP = {
    **{"accuracy": 83.23, "aurc": 9.21, "ece": 15.8, "size": 143},
    **dict(zip(_SETS, (0.74, 0.92, 1.70, 0.795, 0.827), strict=True)),
}
TREE_OF_WORDS = {"variant": "compact"}
COMPACT_TREE = "FERL-compact, the paper's tree"
METHODS = (
    replace(ferl_method("compact", MODELS["compact"]), readings=wide_readings, reads_categories=True),
    ferl_method("compact, the paper's tree", TREE_OF_WORDS, PAPER_COMPACT),
    # Words that look at the labels; the worth was chosen on calibration parts (`ferl bench defaults-compact`).
    ferl_method("compact, MDLP", {**TREE_OF_WORDS, "words": "mdlp", "min_rule_worth": 0.04}),
    ferl_method("medium", MODELS["medium"], {"accuracy": 79.21, "aurc": 12.72, "size": 43}),
    # The same trees read in another way. The paper does not say how its main table reads them: its figures there differ
    # from those of its ablation by Dempster's rule (83.18, AURC 10.14).
    ferl_method("deep, vote", {**MODELS["deep"], "combination": "vote"}),
    ferl_method("deep", MODELS["deep"], PAPER_DEEP),
    *(wide_method(max_rules) for max_rules in (6, 10, 15, 25, 50, None)),
    cases_method(),
)
# The sizes of wide rules that tables of more than the frontier show.
WIDE = ("FERL-wide", "FERL-wide with cases", *(f"FERL-wide, {max_rules} rules" for max_rules in (50, 15, 10)))
