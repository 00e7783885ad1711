"""Model files: JSON that a reader can compare line by line, read as untrusted input.

:mod:`ferl._models.model_form` declares what a file holds. What no table can declare, and the compiled core relies
on, is checked here. Reading does without scikit-learn, whose import takes longer than judging many rows.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._models.cases import CaseChoice, Cases
from ferl._models.form import (
    Each,
    ModelFileError,
    Nullable,
    Object,
    Sizes,
    file_content,
    is_plain_text,
    parsed_json,
    wrong,
)
from ferl._models.model import Model, Words
from ferl._models.model_form import (
    CASES,
    CATEGORIES,
    COLUMN,
    COLUMNS,
    DERIVED,
    FORMAT,
    HISTORY,
    LABEL_DTYPES,
    LARGEST_MEAN,
    LEVELS,
    MODEL,
    OF_KIND,
    OPTIONAL,
    ROUNDING,
    TREE,
    VARIABLE,
    VERSION,
    WEIGHTS,
)
from ferl._models.rule_model import Curvature, RuleModel
from ferl._models.settings import MAX_CONDITIONS, Gates, TreeReading
from ferl._models.terms import CurvesAndMaps, Rules
from ferl._models.tree import Categories, Cuts, FuzzyTree, Profile
from ferl._models.tree_model import TreeModel
from ferl._models.words import FuzzySet, LinguisticVariable
from ferl._tables import INDICATOR_CATEGORIES, ColumnKind, Derived, DescriptionError, Missing, Schema
from ferl._tables.derived import MOST_DAYS, CategoryEvidence, DateInRange, DatePart, DayEvidence, KnownDate
from ferl._tables.kinds import DATES, UNKNOWN, Target, markers_of, meanings_of, order_of, text_of
from ferl._tables.values import DATE_FORMS
from ferl._util.arrays import Bools, Floats, Ints
from ferl._util.text import shown

LABEL_TYPES = (str, bool, int, float)
_LEVEL_DTYPES: dict[str, type] = {"text": object, "bool": np.bool_, "int": np.int64, "float": np.float64}
_KIND_OF_LEVELS = {np.dtype(dtype).kind: kind for kind, dtype in _LEVEL_DTYPES.items()}
# Reading a tree takes memory for each level of it, and for each level and class: no deeper than this.
MAX_DEPTH = 10_000
MAX_DEPTH_TIMES_CLASSES = 200_000


def read_model(path: str | os.PathLike[str]) -> tuple[Model, dict[str, Any]]:
    """The model in a file, and the parameters that it was fitted with, as they are written."""
    path = Path(path)
    content = file_content(path)
    try:
        return parsed_model(content)
    except ModelFileError as error:
        raise ModelFileError(f"{path.name}: {error}") from error


def parsed_model(content: bytes) -> tuple[Model, dict[str, Any]]:
    """As :func:`read_model`, from what stands in the file."""
    return model_from_form(parsed_json(content), len(content))


# ---------------------------------------------------------------------------------------------------------------------
# A model in its plain form
# ---------------------------------------------------------------------------------------------------------------------


def model_to_form(model: Model, parameters: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """A model and the parameters that it was fitted with as lists, text and numbers of Python."""
    from ferl import __version__

    tree = model.tree
    values = {
        "format": FORMAT,
        "version": VERSION,
        "ferl": __version__,
        "notes": notes,
        "model": model.kind,
        "parameters": parameters,
        "reading": model.reading,
        "classes": _classes_to_form(model.classes),
        "columns": columns_to_form(model.schema),
        "table": _table_to_form(model.schema),
        "missing_features": model.missing_features,
        "n_growth_rows": int(model.n_growth_rows),
        "words": None if model.words is None else list(map(variable_to_form, model.words)),
        "tree": {
            **{name: getattr(tree, name) for name in TREE.fields},
            "categories": None if tree.categories is None else _sparse(tree.categories),
            "profile": {**vars(tree.profile), "exemplar": [item[item >= 0] for item in tree.profile.exemplar]},
        },
        "history": HISTORY.read(list(model.history), "history", Sizes(0)),
    }
    form: dict[str, Any] = _form_of(model.kind).write(values | _BY_KIND[model.kind].values(model))
    return form


def _form_of(kind: str) -> Object:
    return Object(MODEL | OF_KIND[kind] | {"history": HISTORY}, OPTIONAL)


@dataclass(frozen=True)
class _Own:
    """What the file of one kind of model holds of its own.

    Attributes
    ----------
    model : type
        The model.
    reading : type
        How its evidence is read.
    values : callable
        From a model to the entries.
    attributes : callable
        From the entries and the tree to attributes of the model, checked.
    check : callable
        Refuses a tree that the model cannot have, from the form, parents and features.
    """

    model: type[Model]
    reading: type[Gates]
    values: Callable[[Any], dict[str, Any]]
    attributes: Callable[[dict[str, Any], FuzzyTree], dict[str, Any]]
    check: Callable[[FuzzyTree], None]


def model_from_form(form: Any, n_bytes: int) -> tuple[Model, dict[str, Any]]:
    """A model and the parameters that it was fitted with, from their plain form.

    Parameters
    ----------
    form : object
        What stands in the file.
    n_bytes : int
        Size of the file, which bounds what the model may take in memory.

    Returns
    -------
    Model, dict
        The parameters are as they are written.
    """
    _check_version(form)
    kind = MODEL["model"].read(form.get("model"), "model", Sizes(0))
    # Columns and labels first: their numbers are sizes of the other fields.
    sizes = Sizes(n_bytes)
    schema = columns_from_form(form.get("columns"), sizes)
    classes = _classes(MODEL["classes"].read(form.get("classes"), "classes", sizes), sizes)
    missing, weights = form.get("missing_features"), form.get("weights")
    n_features, derived = len(schema.categories), form.get("derived")
    n_missing, n_derived = (len(item) if isinstance(item, list) else 0 for item in (missing, derived))
    sizes |= {"features": n_features, "columns": n_features + n_missing + n_derived, "classes": len(classes)}
    if isinstance(weights, dict) and isinstance(weights.get("node"), list):
        sizes["weights"] = 1 + len(weights["node"])
    result, parts = _form_of(kind).read(form, "the model", sizes), _BY_KIND[kind]
    indicators = np.full(n_missing, len(INDICATOR_CATEGORIES), dtype=np.int32)
    n_categories = np.concatenate([schema.n_categories, indicators, np.zeros(n_derived, dtype=np.int32)])
    tree = _tree(result["tree"], n_categories, sizes)
    parts.check(tree)
    words = _words(result["words"], n_categories)
    if bool(tree.word) != (words is not None):
        raise wrong("tree.word", "nodes have words where the entry words defines them, and only there")
    schema = schema if result["table"] is None else _with_table(schema, result["table"])
    model = parts.model(
        tree=tree,
        reading=parts.reading(**result["reading"]),
        classes=classes,
        schema=schema,
        derived=(
            *map(Missing, result["missing_features"].tolist()),
            *(_derived(one, k, schema, len(classes)) for k, one in enumerate(result.get("derived") or ())),
        ),
        words=words,
        n_growth_rows=result["n_growth_rows"],
        history=tuple(result["history"] or ()),
        **parts.attributes(result, tree),
    )
    return model, result["parameters"]


def _derived(form: dict[str, Any], index: int, schema: Schema, n_classes: int) -> Derived:
    """A column that is computed from a feature; what its numbers are computed from is checked."""
    where, kind, feature = f"derived[{index}]", form["kind"], form["feature"]
    column = _DERIVED[kind]
    given = {key: value for key, value in form.items() if value is not None and key != "kind"}
    if set(given) != column._field_names():
        raise wrong(where, f"it has {', '.join(given)}, which a column of kind {kind!r} has not, or lacks one")
    if feature >= len(schema.categories):
        raise wrong(f"{where}.feature", f"{feature} is no feature of the model")
    if given.get("label", 0) >= n_classes:
        raise wrong(f"{where}.label", f"{given['label']} is no class of the model")
    known, length = schema.categories[feature], len(given.get("evidence", ()))
    if column is CategoryEvidence:
        if known is None or length != len(known) + 1:
            raise wrong(f"{where}.evidence", "it needs a number for each category of its feature, and one for missing")
    elif not schema.kinds[feature].is_date:
        raise wrong(f"{where}.feature", f"{schema.label(feature)} does not hold dates")
    if issubclass(column, KnownDate) and not given["first"] <= given["last"]:
        raise wrong(f"{where}.first", "it must not be above last")
    if column is DayEvidence and (
        not length or length != len(given["days"]) or np.abs(given["days"].astype(np.float64)).max() > MOST_DAYS
    ):
        raise wrong(f"{where}.days", "there must be as many as evidence has numbers, at least one, within the calendar")
    return column(**given)


_DERIVED: dict[str, type[Derived]] = {
    item.kind: item for item in (CategoryEvidence, KnownDate, DateInRange, DatePart, DayEvidence)
}


def _check_version(form: Any) -> None:
    from ferl import __version__

    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise ModelFileError(f'This is no model of ferl: it does not begin with {{"format": "{FORMAT}", ...}}.')
    version, writer = form.get("version"), form.get("ferl")
    if type(version) is not int or version != VERSION:
        raise ModelFileError(
            f"The model is in version {shown(version)} of the format, and ferl {__version__} reads version {VERSION}. "
            f"It was written by ferl {shown(writer)}: install that version, or fit again."
        )


def columns_to_form(schema: Schema) -> dict[str, Any]:
    """Names and categories: ``{"names": ["city"], "features": [{"kind": "text", "levels": ["Bergen", "Oslo"]}]}``."""
    features = [
        {"kind": "number"} if known is None else {"kind": _KIND_OF_LEVELS[known.dtype.kind], "levels": known.tolist()}
        for known in schema.categories
    ]
    return {"names": None if schema.names is None else list(schema.names), "features": features}


def columns_from_form(form: Any, sizes: Sizes) -> Schema:
    """Columns from their plain form, checked."""
    result = COLUMNS.read(form, "columns", sizes)
    names, features = result["names"], result["features"]
    if not features:
        raise wrong("columns.features", "there must be at least one feature")
    if names is not None and len(set(names)) < len(names):
        raise wrong("columns.names", f"two features are called {shown(Counter(names).most_common(1)[0][0])}")
    categories = [_levels(feature, f"columns.features[{j}]", sizes) for j, feature in enumerate(features)]
    return Schema(None if names is None else tuple(names), tuple(categories))


def _levels(form: dict[str, Any], where: str, sizes: Sizes) -> NDArray[Any] | None:
    if form == {"kind": "number"}:
        return None
    kind = CATEGORIES.read(form, where, sizes)["kind"]
    if kind == "number":
        raise wrong(where, "a feature of numbers has no levels")
    levels = LEVELS[kind].read(form["levels"], f"{where}.levels", sizes)
    for level, following in pairwise(levels):
        if not level < following:
            raise wrong(f"{where}.levels", f"{shown(following)} follows {shown(level)}; they are sorted, each once")
    return np.array(levels, dtype=_LEVEL_DTYPES[kind])


def _classes(form: dict[str, Any], sizes: Sizes) -> NDArray[Any]:
    dtype, labels, where = form["dtype"], form["labels"], "classes.labels"
    kinds = set(map(type, labels))
    if not labels or len(kinds) > 1 or not kinds <= set(LABEL_TYPES):
        raise wrong(where, f"{shown(labels)} must be one or more labels, all text, integers, floats or booleans")
    expected = {"b": bool, "i": int, "u": int, "f": float, "U": str}.get(np.dtype(dtype).kind)
    if expected is not None and kinds != {expected}:
        raise wrong(where, f"{shown(labels)} are not of type {dtype}")
    if kinds == {str} and not all(map(is_plain_text, labels)):
        raise wrong(where, f"{shown(labels)} hold text that is not valid Unicode")
    if any(not first < second for first, second in pairwise(labels)):
        raise wrong(where, "they must be sorted, each once")
    if dtype == "str":  # NumPy gives every label the room of the longest, four bytes a letter
        sizes.take(len(labels) * max(map(len, labels)) // 2, "classes.labels")
    try:
        classes = np.array(labels, dtype=dtype)
    except (OverflowError, ValueError) as error:
        raise wrong(where, f"{error}") from error
    if classes.tolist() != labels:  # NumPy cuts NULs from the end of text, and rounds
        raise wrong(where, f"{shown(labels)} are not of type {dtype}")
    return classes


def _classes_to_form(classes: NDArray[Any]) -> dict[str, Any]:
    dtype = {"U": "str", "T": "object", "O": "object"}.get(classes.dtype.kind, classes.dtype.name)
    labels = [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]
    if dtype not in LABEL_DTYPES or any(type(label) not in LABEL_TYPES for label in labels):
        raise ModelFileError(
            f"The labels are {shown(labels)}, of {classes.dtype}; files hold labels that are text, integers, floats or "
            "booleans. Fit with such labels."
        )
    return {"dtype": dtype, "labels": labels}


def _words(form: list[Any] | None, n_categories: Ints) -> Words | None:
    if form is None:
        return None
    result = [_variable(item, "words") for item in form]
    for column, variable in enumerate(result):
        if variable is not None and n_categories[column]:
            raise ModelFileError(f"words[{column}] has words for a feature that holds categories.")
    return result


def variable_to_form(variable: LinguisticVariable | None) -> dict[str, Any] | None:
    """A variable's entry: its words and their corners."""
    if variable is None:
        return None
    return {
        "name": variable.name,
        "unit": variable.unit,
        "range": np.array(variable.range),
        "words": [one.name for one in variable.sets],
        "trapezoids": np.array([one.ends for one in variable.sets]),
    }


def variables_to_form(variables: Any) -> list[Any]:
    """Variables as lists, text and numbers of Python."""
    form: list[Any] = Each(None, Nullable(VARIABLE)).write(map(variable_to_form, variables))
    return form


def variables_from_form(form: Any, where: str) -> list[LinguisticVariable | None]:
    """Variables from their plain form, checked."""
    return [_variable(item, where) for item in Each(None, Nullable(VARIABLE)).read(form, where, Sizes(0))]


def _variable(form: dict[str, Any] | None, where: str) -> LinguisticVariable | None:
    if form is None:
        return None
    low, high = form["range"].tolist()
    if len(form["words"]) != len(form["trapezoids"]):
        raise wrong(where, f"{len(form['words'])} words have {len(form['trapezoids'])} trapezoids")
    try:
        sets = [FuzzySet(word, *item) for word, item in zip(form["words"], form["trapezoids"].tolist(), strict=True)]
        return LinguisticVariable(form["name"], tuple(sets), form["unit"], (low, high))
    except ValueError as error:
        raise ModelFileError(f"{where}: {error}") from error


# ---------------------------------------------------------------------------------------------------------------------
# The tree: the core trusts its caller, so what it relies on is checked here
# ---------------------------------------------------------------------------------------------------------------------


def _tree(form: dict[str, Any], n_categories: Ints, sizes: Sizes) -> FuzzyTree:
    parent, feature = form["parent"], form["feature"]
    _check_parents(parent, sizes["classes"])
    if feature[0] != -1 or (feature[1:] < 0).any():
        raise wrong("tree.feature", "the root, and only the root, has -1")
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[1:]] = False
    _check_trapezoids(form["trapezoid"], np.append(n_categories > 0, True)[feature])
    _check_ranges(form["support"], "tree.support", "node", np.inf)
    if not form["class_weight"][0].sum() > 0 or not form["class_weight"][is_leaf].sum() > 0:
        raise wrong("tree.class_weight", "the root and the leaves must have some weight")
    total = form["consequent"].sum(axis=1)
    _refuse(np.abs(total - 1) > ROUNDING, "tree.consequent", lambda k: f"that of node {k} sums to {total[k]}, not to 1")
    profile = form["profile"]
    _check_codes(profile["exemplar_row"], n_categories, "tree.profile.exemplar_row")
    return FuzzyTree(
        **{name: form[name] for name in ("parent", "feature", "trapezoid", "support", "share", "class_weight")},
        consequent=form["consequent"],
        gain=form["gain"],
        word=_node_words(form["word"], len(parent)),
        profile=Profile(**profile | {"exemplar": _exemplars(profile["exemplar"], len(profile["exemplar_row"]), sizes)}),
        cuts=_cuts(form["cuts"], is_leaf),
        categories=_categories(form["categories"], n_categories, feature, sizes),
    )


def _refuse(bad: Bools, where: str, what: Callable[[int], str]) -> None:
    """Raise an error for the first entry that is bad."""
    if bad.any():
        raise wrong(where, what(int(np.argmax(bad))))


def _check_parents(parent: Ints, n_classes: int) -> None:
    """Parents in pre-order: each node's is on the path from the root to the node before it."""
    if not len(parent) or parent[0] != -1:
        raise wrong("tree.parent", "it must begin with the root, whose parent is -1")
    path = [0]
    depth = 0
    for node, above in enumerate(parent[1:].tolist(), 1):
        while path and path[-1] != above:
            path.pop()
        if not path:
            raise wrong("tree.parent", f"node {node} has the parent {above}; nodes must be in pre-order")
        depth = max(depth, len(path))
        path.append(node)
    if depth > MAX_DEPTH or depth * n_classes > MAX_DEPTH_TIMES_CLASSES:
        raise wrong(
            "tree.parent",
            f"the tree is {depth} levels deep and has {n_classes} classes; files hold at most {MAX_DEPTH} levels, and "
            f"{MAX_DEPTH_TIMES_CLASSES} levels times classes",
        )


def _check_splits(tree: FuzzyTree) -> None:
    """Learned splits have two sides, which test the same feature, and cuts; words have neither."""
    if (tree.cuts is None) != bool(tree.word):
        raise wrong("tree.cuts", "learned splits have cuts, and only they; words have null")
    if tree.word:
        return
    n_children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    bad = ~tree.is_leaf & (n_children != 2)
    _refuse(bad, "tree.parent", lambda k: f"node {k} has {n_children[k]} children; a learned split has two")
    order = np.argsort(tree.parent[1:], kind="stable") + 1  # siblings side by side
    bad = tree.feature[order[::2]] != tree.feature[order[1::2]]
    above = tree.parent[order[::2]]
    _refuse(bad, "tree.feature", lambda k: f"the two sides of the split at node {above[k]} test different features")


def _check_chains(tree: FuzzyTree) -> None:
    """A rule is a chain of nodes from the root that nothing branches off, with conditions on different columns."""
    if tree.cuts is not None:
        raise wrong("tree.cuts", "only the learned splits of a tree have cuts; it must be null")
    n_children = np.bincount(tree.parent[1:], minlength=tree.n_nodes)
    n_children[0] = 0
    bad = n_children > 1
    _refuse(bad, "tree.parent", lambda k: f"node {k} has {n_children[k]} children; rules branch at the root alone")
    chain: list[int] = []
    for node, above in enumerate(tree.parent[1:].tolist(), 1):
        column = int(tree.feature[node])
        chain = [*chain, column] if above else [column]
        if len(chain) > MAX_CONDITIONS:
            raise wrong("tree.parent", f"the rule of node {node} has more than {MAX_CONDITIONS} conditions")
        if column in chain[:-1]:
            raise wrong("tree.feature", f"the rule of node {node} reads column {column} twice")


def _node_words(words: list[Any], n_nodes: int) -> tuple[str, ...]:
    if not words:
        return ()
    if len(words) != n_nodes or words[0] != "":
        raise wrong("tree.word", f"it must be empty, or have one word for each of {n_nodes} nodes, '' for the root")
    for node, word in enumerate(words[1:], 1):
        if type(word) is not str or not word.strip() or not word.isprintable():
            raise wrong("tree.word", f"that of node {node} is not a printable word")
    return tuple(words)


def _check_trapezoids(values: Floats, is_free: Bools) -> None:
    """``is_free``: nodes without a condition on numbers, the root and categories."""
    a, b, c, d = values.T
    rising = np.isfinite(a) & np.isfinite(b) | (a == -np.inf) & (b == -np.inf)
    falling = np.isfinite(c) & np.isfinite(d) | (c == np.inf) & (d == np.inf)
    everything = np.isinf(values).all(axis=1)
    _refuse(
        ~(rising & falling & (a <= b) & (b <= c) & (c <= d)) | (is_free & ~everything),
        "tree.trapezoid",
        lambda k: (
            f"that of node {k} is {values[k].tolist()}; it must ascend, the first two finite or both -inf, the "
            "last two finite or both inf, and the root and categories have none that is finite"
        ),
    )


def _check_ranges(values: Floats, where: str, what: str, most: float) -> None:
    """Ranges that ascend; from inf to -inf where no training row has a value."""
    is_empty = (values[:, 0] == np.inf) & (values[:, 1] == -np.inf)
    is_right = (values[:, 0] <= values[:, 1]) & np.isfinite(values).all(axis=1) & (np.abs(values) <= most).all(axis=1)
    _refuse(~is_empty & ~is_right, where, lambda k: f"the range of {what} {k} is {values[k].tolist()}; it must ascend")


def _cuts(form: dict[str, Any] | None, is_leaf: Bools) -> Cuts | None:
    if form is None:
        return None
    interval, share = form["interval"], form["share"]
    lacking = np.isnan(share)
    _refuse(is_leaf & ~lacking, "tree.cuts.share", lambda k: f"node {k} is a leaf and must have 'nan'")
    bad = np.where(lacking, ~np.isnan(interval).all(axis=1), ~(interval[:, 0] <= interval[:, 1]))
    _refuse(bad, "tree.cuts.interval", lambda k: f"that of node {k} is {interval[k].tolist()}; it must ascend")
    return Cuts(interval, share)


def _sparse(categories: Categories) -> dict[str, Any]:
    """The most frequent membership of each condition on categories, and the memberships that differ from it."""
    nodes = np.flatnonzero(np.diff(categories.start))
    result: dict[str, list[Any]] = {"usual": [], "code": [], "membership": []}
    for node in nodes.tolist():
        memberships = categories.of(node)
        values, inverse, counts = np.unique(memberships.view(np.int64), return_inverse=True, return_counts=True)
        codes = np.flatnonzero(inverse != np.argmax(counts))
        result["usual"].append(values[np.argmax(counts)].view(np.float64))
        result["code"].append(codes)
        result["membership"].append(memberships[codes])
    return result | {"node": nodes, "usual": np.array(result["usual"], dtype=np.float64)}


def _categories(form: dict[str, Any] | None, n_categories: Ints, feature: Ints, sizes: Sizes) -> Categories | None:
    if not n_categories.any():
        if form is not None:
            raise ModelFileError("tree.categories is given, but all features are numbers; it must be null.")
        return None
    if form is None:
        raise ModelFileError("tree.categories is None; it must be an object, as some features hold categories.")
    widths = np.append(n_categories, 0)[feature]  # the root's feature is -1
    nodes = form["node"]
    if not np.array_equal(nodes, np.flatnonzero(widths)):
        raise wrong("tree.categories.node", "it must list the nodes whose feature holds categories, in order")
    n_memberships = int(widths.sum(dtype=np.int64))
    sizes.take(n_memberships, "tree.categories")
    if n_memberships > np.iinfo(np.int32).max:
        raise wrong("tree.categories.node", f"{n_memberships} memberships are more than a tree can have")
    start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int32)
    membership = np.repeat(form["usual"], widths[nodes])
    for index, node in enumerate(nodes.tolist()):
        codes, memberships = form["code"][index], form["membership"][index]
        if len(codes) != len(memberships) or (codes >= widths[node]).any():
            raise wrong(
                f"tree.categories.code[{index}]", f"it must list {len(memberships)} of {widths[node]} categories"
            )
        membership[start[node] + codes] = memberships
    return Categories(n_categories, start, membership)


def _check_codes(rows: Floats, n_categories: Ints, where: str) -> None:
    for column in np.flatnonzero(n_categories).tolist():
        codes = rows[:, column][~np.isnan(rows[:, column])]
        if ((codes < 0) | (codes >= n_categories[column]) | (codes != np.floor(codes))).any():
            what = f"column {column} has a category that is none of {n_categories[column]}"
            raise wrong(where, what)


def _exemplars(lists: list[Ints], n_rows: int, sizes: Sizes) -> Ints:
    width = max(map(len, lists))
    sizes.take(len(lists) * width, "tree.profile.exemplar")
    if n_rows and not len(lists[0]):
        raise wrong("tree.profile.exemplar", "there are rows, so the root must have some")
    result = np.full((len(lists), width), -1, dtype=np.int32)
    for node, one_list in enumerate(lists):
        result[node, : len(one_list)] = one_list
    return result


# ---------------------------------------------------------------------------------------------------------------------
# What adds up
# ---------------------------------------------------------------------------------------------------------------------


def _weights_of(model: RuleModel) -> dict[str, Any]:
    rules = {name: getattr(model.rules, name) for name in ("node", "weight", "ridge")}
    rules["products"] = _products_to_form(model.rules.products)
    rules["category_weight"] = [{"column": j, "weight": item} for j, item in model.category_weight.items()] or None
    more = {name: getattr(model, name) for name in WEIGHTS.fields if name not in rules}
    columns = [one for one in model.derived if not isinstance(one, Missing)]
    empty = dict.fromkeys(DERIVED.fields)
    return {
        "weights": rules | more | {"curves": _curves_to_form(model.curves), "cases": _cases_to_form(model.cases)},
        "derived": [empty | vars(one) | {"kind": one.kind} for one in columns],
        "replaced": model.replaced,
    }


def _curves_to_form(curves: CurvesAndMaps | None) -> dict[str, Any] | None:
    if curves is None:
        return None
    terms, none = range(curves.n_terms), np.zeros(0)
    return {
        "column": curves.column,
        "cuts": [(*curves.cuts(term), none)[:2] for term in terms],
        "value": [curves.value[curves.cells(term)] for term in terms],
        "support": [curves.support[curves.cells(term)] for term in terms],
    }


def _cases_to_form(cases: Cases | None) -> dict[str, Any] | None:
    if cases is None:
        return None
    place = np.where(cases.place > np.iinfo(np.int32).max, -1, cases.place)
    return {name: getattr(cases, name) for name in CASES.fields} | {"place": place}


def _case_choice(form: dict[str, Any] | None, has_cases: bool) -> CaseChoice | None:
    if form is not None and form["is_used"] != has_cases:
        raise wrong("weights.case_choice", "is_used must be true where the model has cases, and only there")
    return None if form is None else CaseChoice(**form)


def _cases(form: dict[str, Any] | None, n_categories: Ints) -> Cases | None:
    """Cases of a file."""
    if form is None:
        return None
    if not len(form["label"]):
        raise wrong("weights.cases", "a model without cases has null here")
    _check_codes(form["row"], n_categories, "weights.cases.row")
    usual = form["usual"]
    _check_centred(usual[None], "weights.cases.usual", lambda _: f"it sums to {usual.sum()}, not to 0")
    if not form["weight"].all():
        raise wrong("weights.cases.weight", "weights must be above 0")
    cases = Cases(**form | {"place": form["place"].astype(np.int64), "n_categories": n_categories})
    try:
        return cases if cases.core else None
    except ValueError as error:
        raise ModelFileError(f"weights.cases: {error}") from error


def _curves(form: dict[str, Any] | None, n_categories: Ints) -> CurvesAndMaps | None:
    """Curves and maps of a file; the core checks what is left, such as the order of cuts."""
    if form is None:
        return None
    where, sizes = "weights.curves", [len(item) for item in form["value"]]
    if not sizes:
        raise wrong(where, "a model without curves and maps has null here")
    cuts = [axis for pair in form["cuts"] for axis in pair]
    column = np.array(form["column"], dtype=np.int32).reshape(-1, 2)
    is_map = column[:, 1] >= 0
    if (np.diff(is_map.astype(int)) < 0).any():
        raise wrong(where, "curves must come before maps")
    if any(len(item) != size for item, size in zip(form["support"], sizes, strict=True)):
        raise wrong(where, "support must have one number for each cell")
    for k, value in enumerate(form["value"]):
        _check_centred(value, f"{where}.value[{k}]", lambda j: f"the values of cell {j} do not sum to 0")
    curves_and_maps = CurvesAndMaps(
        column,
        np.cumsum([0, *map(len, cuts)], dtype=np.int32),
        np.concatenate([np.zeros(0), *cuts]),
        np.cumsum([0, *sizes], dtype=np.int32),
        np.concatenate(form["value"]),
        np.concatenate([np.zeros(0), *form["support"]]),
        n_categories,
    )
    try:
        return curves_and_maps if curves_and_maps.core else None
    except ValueError as error:
        raise ModelFileError(f"{where}: {error}") from error


def _rule_attributes(result: dict[str, Any], tree: FuzzyTree) -> dict[str, Any]:
    form = result["weights"]
    node, weight, prior, scale = form["node"], form["weight"], form["prior"], form["novelty_scale"]
    if not np.array_equal(node, tree.leaves[tree.leaves > 0]):
        raise wrong("weights.node", "it must list the last node of each rule, in order")
    _check_centred(weight, "weights.weight", lambda k: f"the weights of rule {k} sum to {weight[k].sum()}, not to 0")
    _check_centred(prior[None], "weights.prior", lambda _: f"it sums to {prior.sum()}, not to 0")
    _check_ranges(form["ranges"], "weights.ranges", "column", LARGEST_MEAN)
    if scale is not None and (scale[1:] < scale[:-1]).any():
        raise wrong("weights.novelty_scale", "quantiles must ascend")
    replaced = np.zeros(0, dtype=np.int32) if result["replaced"] is None else result["replaced"]
    if np.isin(tree.feature, replaced).any():
        raise wrong("replaced", "a condition is on a feature that is read through its derived columns alone")
    curvature = form["curvature"]
    if curvature is not None:
        for name, matrix in curvature.items():
            _check_curvature(matrix, f"weights.curvature.{name}")
        classes, where = curvature["classes"], "weights.curvature.classes"
        _check_centred(classes, where, lambda k: f"row {k} sums to {classes[k].sum()}, not to 0")
    return {
        "rules": Rules(node, weight, form["ridge"], _products(form["products"])),
        "prior": prior,
        "ranges": form["ranges"],
        "curves": _curves(form["curves"], tree.n_categories(len(form["ranges"]))),
        "level_columns": () if form["level_columns"] is None else tuple(form["level_columns"].tolist()),
        "row_curvature": float(form["row_curvature"]),
        "category_weight": _category_weight(form["category_weight"], tree.n_categories(len(form["ranges"]))),
        "curvature": None if curvature is None else Curvature(**curvature),
        "novelty_scale": scale,
        "cases": _cases(form["cases"], tree.n_categories(len(form["ranges"]))),
        "case_choice": _case_choice(form["case_choice"], form["cases"] is not None),
        "replaced": tuple(replaced.tolist()),
    }


def _products_to_form(products: Floats) -> dict[str, Any]:
    """Sums over rows, in the largest power of two that all are multiples of; whole numbers take half the digits."""
    mantissa, exponent = np.frexp(products[products > 0])
    last_bit = (mantissa * 2.0**53).astype(np.int64)
    last_bit &= -last_bit
    unit = min(1.0, float(np.ldexp(last_bit.astype(np.float64), exponent - 53).min(initial=1.0)))
    if products.max() < unit * 2.0**53:
        sums: NDArray[Any] = (products / unit).astype(np.int64)
    else:
        unit, sums = 1.0, products
    return {"unit": unit, "sums": [row[: k + 1] for k, row in enumerate(sums)]}


def _products(form: dict[str, Any]) -> Floats:
    """The symmetric matrix of a triangle: sums of squares fall in no direction, and firings are at most 1."""
    where, rows = "weights.products", form["sums"]
    if any(len(row) != k + 1 for k, row in enumerate(rows)):
        raise wrong(where, "row k must have k + 1 numbers, up to the diagonal")
    result = np.zeros((len(rows), len(rows)))
    for k, row in enumerate(rows):
        result[k, : k + 1] = result[: k + 1, k] = row * form["unit"]
    _refuse((result > result[0]).any(axis=0), where, lambda k: f"in column {k} a sum exceeds that of the first row")
    _check_curvature(result, where)
    return result


def _category_weight(form: list[dict[str, Any]] | None, n_categories: Ints) -> dict[int, Floats]:
    result = {item["column"]: item["weight"] for item in form or []}
    where = "weights.category_weight"
    if len(result) < len(form or []):
        raise wrong(where, "a column is listed twice")
    for column, weight in result.items():
        n = int(n_categories[column]) if column < len(n_categories) else 0
        if len(weight) != n or n == 0:
            raise wrong(where, f"column {column} has {n} categories, not {len(weight)}")
    return result


def _check_centred(weight: Floats, where: str, what: Callable[[int], str]) -> None:
    """Refuse rows that do not sum to zero, up to rounding."""
    _refuse(np.abs(weight.sum(axis=1)) > ROUNDING * np.maximum(1.0, np.abs(weight).sum(axis=1)), where, what)


def _check_curvature(values: Floats, where: str) -> None:
    """A matrix that can be a curvature is symmetric and positive semidefinite, up to rounding."""
    if not np.array_equal(values, values.T):
        raise wrong(where, "it must be symmetric")
    eigenvalue = np.linalg.eigvalsh(values)  # ascending
    if eigenvalue[0] < -ROUNDING * max(eigenvalue[-1], 1.0):
        raise wrong(where, f"it has the eigenvalue {eigenvalue[0]:.3g}; none may be negative")


_BY_KIND = {
    "rules": _Own(RuleModel, Gates, _weights_of, _rule_attributes, _check_chains),
    "trees": _Own(
        TreeModel,
        TreeReading,
        lambda model: {"variant": model.variant},
        lambda result, tree: {"variant": result["variant"]},
        _check_splits,
    ),
}

# ---------------------------------------------------------------------------------------------------------------------
# What people wrote about the table
# ---------------------------------------------------------------------------------------------------------------------


def _table_to_form(schema: Schema) -> dict[str, Any] | None:
    """The target and the kinds of columns; None where a reader would not miss them."""
    columns = list(map(_column_to_form, schema.kinds))
    if schema.target == Target() and all(column in (None, {"kind": "real"}) for column in columns):
        return None
    empty = {"kind": None} | dict.fromkeys(COLUMN.optional)
    return {
        "target": {"name": schema.target.name, "values": dict(schema.target.values)},
        "columns": [None if column is None else empty | column for column in columns],
    }


def _column_to_form(kind: ColumnKind) -> dict[str, Any] | None:
    """What is known of a column; None where that is nothing: "category" follows from the categories."""
    form: dict[str, Any] = {name: getattr(kind, name) for name in COLUMN.fields if name != "kind"}
    form = {name: dict(item) if name == "values" else item for name, item in form.items() if item}
    if kind.name in ("unknown", "category") and not form:
        return None
    return {"kind": kind.name, **form}


def _with_table(schema: Schema, form: dict[str, Any]) -> Schema:
    """The schema with what the field of a file adds, checked."""
    target = form["target"]
    try:
        meanings = meanings_of(target["values"] or {}, "table.target.values")
        kinds = [_column(f"table.columns[{j}]", entry, schema, j) for j, entry in enumerate(form["columns"])]
        name = text_of(target["name"], "table.target.name")
    except DescriptionError as error:
        raise ModelFileError(str(error)) from error
    return replace(schema, target=Target(name, meanings), kinds=tuple(kinds))


def _column(where: str, form: dict[str, Any] | None, schema: Schema, feature: int) -> ColumnKind:
    is_category = schema.categories[feature] is not None
    if form is None:
        return replace(UNKNOWN, name="category") if is_category else UNKNOWN
    name, date_form, is_zoned = form["kind"], form["date_form"] or "", bool(form["is_zoned"])
    if (name == "category") != is_category:
        kind = "categories" if is_category else "numbers"
        raise wrong(f"{where}.kind", f"{name!r} does not fit a column of {kind}")
    order = order_of(form["order"] or [], f"{where}.order")
    if order and name != "ordered":
        raise wrong(f"{where}.order", f"a column of kind {name!r} has none")
    if is_zoned and name not in DATES:
        raise wrong(f"{where}.is_zoned", "it may be true for times only")
    if date_form != "" and (name not in DATES or date_form not in DATE_FORMS):
        raise wrong(f"{where}.date_form", f"{shown(date_form)} is not one of {', '.join(DATE_FORMS)}, of dates")
    return ColumnKind(
        name,
        order,
        is_zoned,
        markers_of(form["missing"] or [], f"{where}.missing"),
        text_of(form["label"] or "", f"{where}.label"),
        text_of(form["unit"] or "", f"{where}.unit"),
        meanings_of(form["values"] or {}, f"{where}.values"),
        date_form,
    )
