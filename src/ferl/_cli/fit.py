"""``ferl fit``: from a table in a file to a model in a file, with notes on columns and targets that look odd."""

from __future__ import annotations

import difflib
import json
import math
import shlex
import warnings
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl._cli.evaluate import judge_rows
from ferl._cli.shell import CommandError, check_column, check_places, check_share, names_in, note
from ferl._estimator import FERLEstimator
from ferl._learn.grow_rules import dates_note
from ferl._learn.near_copies import NearCopiesWarning
from ferl._models.settings import VARIANTS, UnusedParameterWarning
from ferl._tables import ColumnKind, TableDescription, codes_of
from ferl._tables.columns import IF_CATEGORIES, LEAST_ROWS, are_ids, are_running_numbers, is_text, recognise
from ferl._tables.kinds import NUMBERS, TableWarning
from ferl._tables.labels import label_markers
from ferl._tables.schema import IdColumnWarning
from ferl._tables.table_files import (
    FileForm,
    TableFile,
    field_number,
    format_of,
    integers_or_text,
    known_column,
    known_text,
    open_sink,
    text_as_numbers,
    with_decimal_points,
)
from ferl._tables.values import MISSING, spelled_number
from ferl._util.text import counted, shown
from ferl.rules import FERLClassifier
from ferl.saving import save_model
from ferl.trees import FERLTreeClassifier

# More distinct values of a target than this are asked about: numbers with fractions, whole numbers, text.
_MANY_FRACTIONS, _MANY_INTEGERS, _MANY_TEXTS = 10, 50, 200
_FEW_ROWS = 3  # on average for each of more than _SOME classes: labels hardly repeat, as names do
_SOME = 20
_LONG_SECONDS = 10.0
_COSTLY_CLASSES = 50
_LIKE_NAMES = 0.5  # a column with more categories than this share of its rows looks like names


def run_fit(asked: Namespace) -> None:
    """Read a table, fit, print what came out, and write the model, and the rows held out."""
    _check_options(asked)
    chosen = parsed_settings(asked.settings)
    if asked.words and not chosen.setdefault("words", True):
        raise CommandError(
            f"--words and --set words={json.dumps(chosen['words'])} contradict each other. Leave one out."
        )
    if asked.cases and asked.model != "rules":
        raise CommandError(f"--cases is for rules, and --model is {asked.model}. Leave one out.")
    if asked.cases and not chosen.setdefault("cases", True):
        raise CommandError("--cases and --set cases=false contradict each other. Leave one out.")
    parameters = {"random_state": asked.seed, **chosen}
    estimator = _estimator(asked.model, parameters).set_params(n_jobs=asked.jobs)
    left_out = [asked.target, *names_in(asked.drop), *filter(None, (asked.weights, asked.groups))]
    description = _description(asked, left_out)
    file = TableFile(asked.table, replace(asked.form, missing=description.missing))
    categorical = _check_columns(asked, file, left_out)
    table = _labelled_rows(file, asked.target)
    y = _labels(table[asked.target])
    check_target(y, asked.target, asked.allow_many_classes)
    weight = None if asked.weights is None else _weights(table[asked.weights], asked.weights, file.form)
    noted: set[str] = set()
    X = pa.table(
        {
            name: _feature(table[name], name, name in categorical, file, description.columns.get(name), noted)
            for name in file.names
            if name not in left_out
        }
    )
    fitted_on, tested_on = np.arange(len(y)), np.arange(0)
    if asked.test is not None and asked.groups is None:
        fitted_on, tested_on = _split(y, asked.test, estimator.random_state)
    groups = None if asked.groups is None else known_column(table[asked.groups], file.form)
    if asked.test is not None and groups is not None:
        fitted_on, tested_on = _split_groups(groups, y, asked.groups, asked.test, estimator.random_state)
    n_classes = len(np.unique(y))
    note_cost(asked.model, len(fitted_on), X.num_columns, n_classes)
    most = estimator._settings().max_rules
    if asked.model != "rules" and most < n_classes:
        note(
            f"{n_classes:,} classes and at most {most:,} rules: each rule of a tree supports one class, so "
            f"the others are hardly ever predicted. Add --set max_rules={2 * n_classes}, say"
        )
    with _warnings_as_notes(noted):
        # scikit-learn warns of what the notes above have stated.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        fit_weight = None if weight is None else weight[fitted_on]
        more = {} if groups is None or asked.model != "rules" else _inner_groups(groups.take(fitted_on))
        estimator.fit(X.take(fitted_on), y[fitted_on], fit_weight, describe=description, **more)
    for feature in estimator.model_.leaving_features:
        note(f"column {dates_note(estimator.model_, feature)}")
    if copies := estimator.model_.date_copies_note:
        note(copies)
    typer.echo(f"rules              {estimator.n_rules_}")
    if beside := estimator.model_.size_beside_rules:
        typer.echo(f"beside the rules   {beside}")
    if (choice := getattr(estimator, "cases_", None)) is not None:
        typer.echo(f"known cases        {choice}")
        if choice.is_used:
            note(f"the model keeps {estimator.n_cases_:,} training rows as cases, and so will its file")
    truth = codes_of(y, estimator.classes_)
    judged = judge_rows(estimator, X.take(fitted_on), truth[fitted_on])
    lines, example = [f"training accuracy  {judged.accuracy_text()}"], ""
    if getattr(estimator, "n_cases_", 0):
        note("each training row is its own most similar case, so accuracy on training rows means nothing; use --test")
    if asked.test is None:
        lines.append(f"training recall    {judged.recall.text()}")
    else:
        judged = judge_rows(estimator, X.take(tested_on), truth[tested_on])
        lines += judged.lines("test")
    if asked.held_out is not None:
        # With the separator of the table: between commas 3,14 would be no number.
        path, separator = str(asked.held_out), file.form.separator or ","
        with open_sink(path, format_of(path, False), table.schema, separator=separator) as sink:
            sink.write(sink.prepare(table.take(np.sort(tested_on))))
        lines.append(f"rows held out      {path}")
        named = shlex.join([str(asked.out), path, "--target", asked.target])
        example = f"ferl evaluate {named} --decision balanced"
    for line in lines:
        typer.echo(line)
    for text in judged.notes(example, is_tested=asked.test is not None):
        note(text)
    save_model(estimator.set_params(n_jobs=parameters.get("n_jobs")), asked.out)
    typer.echo(f"model              {asked.out}")


def _inner_groups(column: pa.ChunkedArray) -> dict[str, Any]:
    """Groups for the inner validation of rules, as in :func:`_split_groups`; one alone cannot be left out."""
    groups = [f"row {row}" if item is None else f"group {item}" for row, item in enumerate(column.to_pylist())]
    return {"groups": groups} if len(set(groups)) > 1 else {}


# ---------------------------------------------------------------------------------------------------------------------
# What the user asks for
# ---------------------------------------------------------------------------------------------------------------------


def _check_options(asked: Namespace) -> None:
    check_share("test", asked.test, ", such as 0.25")
    if asked.held_out is not None and asked.test is None:
        raise CommandError("--held-out is for the rows that --test holds out; add --test 0.25, say.")
    if asked.groups is not None and asked.test is None and asked.model != "rules":
        raise CommandError(f"--groups {asked.groups} is about the rows that --test holds out; add --test 0.25, say.")
    check_places([asked.out, asked.held_out], asked.table, asked.describe)


def _check_columns(asked: Namespace, file: TableFile, left_out: Sequence[str]) -> tuple[str, ...]:
    """The columns of --categorical; a column that the file does not have, or that is two things at once, is refused."""
    categorical = names_in(asked.categorical)
    separator = " Is the separator another one (--separator)?" if len(file.names) == 1 else ""
    for name in (*left_out, *categorical):
        has = f"It has {', '.join(map(repr, file.names[:8]))}.{separator}"
        check_column(file.names, name, file.path.name, has)
    if len(set(left_out)) < len(left_out):
        raise CommandError("Target, weights, groups and dropped columns must be different columns.")
    if asked.groups in categorical:
        raise CommandError(
            f"--categorical {asked.groups}: the model does not read the column of the groups. Leave it out of "
            "--categorical, or out of --groups."
        )
    if set(file.names) <= set(left_out):
        raise CommandError(f"{file.path.name} has no column besides those left out, so there is nothing to learn from.")
    return categorical


def _description(asked: Namespace, left_out: Sequence[str]) -> TableDescription:
    """What is known of the table from a file, from --missing, and from the name of the target."""
    known = TableDescription.of(asked.describe)
    target = known.target if known.target.name else replace(known.target, name=asked.target)
    columns = {name: item for name, item in known.columns.items() if name not in left_out}
    missing = tuple(dict.fromkeys((*asked.form.missing, *known.missing)))
    return replace(known, target=target, columns=columns, missing=missing)


def _estimator(model: str, parameters: dict[str, Any]) -> FERLEstimator[Any]:
    """The classifier of this name with these parameters, checked before a large table is read."""
    kind: type[FERLEstimator[Any]] = FERLClassifier if model == "rules" else FERLTreeClassifier
    known = kind._get_param_names()
    for name in parameters:
        if name in ("variant", "words") and parameters[name] in (*VARIANTS, "wide"):
            raise CommandError(
                f"--set {name}={parameters[name]}: choose a tree of the paper with --model; rules are the default."
            )
        if name in kind._moved:
            raise CommandError(f"--set {name}: --model {model} does not have this parameter: {kind._moved[name]}")
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
            raise CommandError(f"--set {name}: no parameter has this name. The most similar one is {near[0]!r}.")
    estimator = kind(**parameters if model == "rules" else {"variant": model, **parameters})
    estimator._validate_params()
    estimator._settings().refuse()
    return estimator


def parsed_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``name=value``: values as JSON writes them, and other text as it is.

    Examples
    --------
    >>> parsed_settings(["max_rules=20", "two_mode=false", "combination=vote"])
    {'max_rules': 20, 'two_mode': False, 'combination': 'vote'}
    """
    result = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise CommandError(f"--set {setting}: write name=value, for example max_rules=20.")
        try:
            result[name.strip()] = json.loads(value)
        except ValueError:
            result[name.strip()] = None if value == "None" else value
    return result


# ---------------------------------------------------------------------------------------------------------------------
# Columns
# ---------------------------------------------------------------------------------------------------------------------


def _labelled_rows(file: TableFile, target: str) -> pa.Table:
    """The rows of a file that have a label."""
    table = file.read()
    labels = table[target] if file.is_parquet else known_text(table[target], file.form.missing)
    if is_text(labels.type):
        texts = labels.cast(pa.string())
        labels = known_text(texts, [marker.strip() for marker in label_markers(texts.unique().drop_null().to_pylist())])
    if labels.null_count:
        note(f"{labels.null_count} rows have no {target!r} and are left out")
        table = table.filter(pc.is_valid(labels))
    if not table.num_rows:
        raise CommandError(f"{file.path.name} has no row with a {target!r}, so there is nothing to fit.")
    return table


def _feature(
    column: pa.ChunkedArray,
    name: str,
    is_category: bool,
    file: TableFile,
    described: ColumnKind | None,
    noted: set[str],
) -> pa.ChunkedArray:
    """A column with the type of what it holds: numbers, or categories. Its name is added to ``noted`` with a note."""
    if file.is_parquet:
        is_declared = pa.types.is_dictionary(column.type)
        return column.dictionary_encode() if is_category and not is_declared else column
    markers = () if described is None else described.missing
    text = known_text(column, (*file.form.missing, *markers))
    if described is not None and described.order:
        return text
    if is_category:
        return integers_or_text(text).dictionary_encode()
    numbers = text_as_numbers(text, file.form.has_decimal_commas)
    if numbers is not None:
        if are_running_numbers(numbers.drop_null().to_numpy(), name):
            noted.add(name)
            _note_ids(name, "another whole number")
        return numbers
    pointed = with_decimal_points(text) if file.form.has_decimal_commas else text
    result, fact, _ = recognise(name, [item for item in pointed.unique().to_pylist() if item is not None])
    if result.name in NUMBERS:  # numbers with decimal commas, and markers among them
        return pointed
    # Where there is a note, the fit will warn of what the column is taken for.
    if result.name == "category" and not fact and _note_categories(text, name):
        noted.add(name)
    return text


def _note_categories(text: pa.ChunkedArray, name: str) -> bool:
    """A note on a column that is taken as categories and was hardly meant to be; whether there was one."""
    counts = {pair["values"]: pair["counts"] for pair in text.value_counts().to_pylist() if pair["values"] is not None}
    others = [value for value in counts if spelled_number(value) is None]
    n_rows = sum(counts.values())
    if len(others) <= 3 and 2 * sum(counts[value] for value in others) < n_rows:
        note(
            f"column {name!r} holds numbers and {', '.join(map(shown, others))}, and is taken as categories. If that "
            f"stands for missing values, add --missing {shlex.quote(','.join(others))}"
        )
    elif len(counts) > max(_LIKE_NAMES * n_rows, LEAST_ROWS):
        kind = "ids" if are_ids(len(counts), n_rows) else "names"
        note(
            f"column {name!r} has {len(counts):,} categories in {n_rows:,} rows, as {kind} have; to leave it out, add "
            f"--drop {shlex.quote(name)}"
        )
    elif markers := [value for value in counts if value.strip() in MISSING]:
        n_marked = sum(counts[value] for value in markers)
        note(
            f"column {name!r} has the category {', '.join(map(shown, markers))} in {counted(n_marked, 'row')}. If that "
            f"stands for missing values, add --missing {shlex.quote(','.join(markers))}"
        )
    else:
        return False
    return True


def _note_ids(name: str, what: str = "another value") -> None:
    note(
        f"column {name!r} has {what} in nearly every row and may be ids or names, useless for new rows. If it "
        f"is a time or a rank that matters, keep it; to leave it out, add --drop {shlex.quote(name)}"
    )


@contextmanager
def _warnings_as_notes(noted: set[str]) -> Iterator[None]:
    """Print warnings about columns as notes; that a column may be ids only where it was not noted before."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        warnings.simplefilter("always", UnusedParameterWarning)
        yield
    for warning in caught:
        if isinstance(warning.message, IdColumnWarning):
            for name in warning.message.columns:
                if name not in noted:
                    _note_ids(name)
        elif isinstance(warning.message, NearCopiesWarning):
            note(f"{warning.message.fact} If rows belong together, add --groups and the column of what they belong to")
        elif isinstance(warning.message, TableWarning):
            text, columns = str(warning.message), warning.message.columns
            if warning.message.remedy == IF_CATEGORIES and columns:
                option = f"--categorical {shlex.quote(columns[0])}"
                text = f"{warning.message.fact} If it holds categories, add {option}"
            note(f"{text[0].lower()}{text[1:]}")
        elif isinstance(warning.message, UnusedParameterWarning):
            note(f"--set {warning.message}")
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _labels(labels: pa.ChunkedArray) -> NDArray[Any]:
    if pa.types.is_string(labels.type):
        labels = integers_or_text(labels)
    elif pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
    values: NDArray[Any] = labels.to_numpy()
    return values.astype(str) if labels.type in (pa.string(), pa.large_string()) else values


def _weights(column: pa.ChunkedArray, name: str, form: FileForm) -> NDArray[np.float64]:
    is_text = pa.types.is_string(column.type)
    numbers = text_as_numbers(column, form.has_decimal_commas) if is_text else column.cast(pa.float64())
    if numbers is None or numbers.null_count:
        raise CommandError(f"Column {name!r} has weights that are not numbers, or missing. Give every row a weight.")
    return np.asarray(numbers.to_numpy())


# ---------------------------------------------------------------------------------------------------------------------
# The target, and what many classes cost
# ---------------------------------------------------------------------------------------------------------------------


def check_target(labels: NDArray[np.generic], name: str, allow_many: bool) -> None:
    """Refuse a target that is constant, or that has too many values to be classes."""
    result = np.unique(labels)
    if len(result) == 1:
        raise CommandError(
            f"{name} is {shown(result[0].item())} in all {len(labels):,} rows: is this the right column? There is "
            "nothing to tell apart. Name another one with --target, or add rows of another class."
        )
    # Labels of a CSV file are text where they are not whole numbers.
    numbers = [field_number(str(value), decimal_commas=True) for value in result.tolist()]
    is_number = None not in numbers
    has_fractions = is_number and any(number is not None and number % 1 != 0 for number in numbers)
    most = _MANY_FRACTIONS if has_fractions else _MANY_INTEGERS if is_number else _MANY_TEXTS
    hardly_repeats = len(result) > _SOME and len(labels) < _FEW_ROWS * len(result)
    if allow_many or (len(result) <= most and not hardly_repeats):
        return
    question = (
        "is this a regression target? ferl learns classes; cut the numbers into a few,"
        if is_number
        else "is this a name or an id? ferl learns classes;"
    )
    raise CommandError(
        f"{name} has {len(result):,} distinct values in {len(labels):,} rows: {question} name another column with "
        "--target, or add --allow-many-classes if every value is a class."
    )


def fit_seconds(model: str, n_rows: int, n_columns: int, n_classes: int) -> float:
    """Seconds that a fit takes on one core of 2024, measured with 10 to 1,000 classes; right within a factor of 3."""
    if model == "rules":
        return 1e-6 * n_rows * n_columns * n_classes + 0.05 * n_classes
    if model == "compact":
        return 3.5e-5 * n_rows * n_classes
    return 5e-9 * n_rows * n_columns * n_classes + 0.001 * n_classes


def note_cost(model: str, n_rows: int, n_columns: int, n_classes: int) -> None:
    """Print what a fit of many classes takes, before it is paid."""
    seconds, deep = (fit_seconds(item, n_rows, n_columns, n_classes) for item in (model, "deep"))
    if n_classes < _COSTLY_CLASSES or seconds < _LONG_SECONDS:
        return
    other = f"; --model deep takes about {_duration(deep)}" if model in ("rules", "compact") else ""
    note(
        f"{n_classes:,} classes in {n_rows:,} rows: a fit of {model} takes roughly {_duration(seconds)}, since its "
        f"time grows with rows x classes{other}"
    )


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# ---------------------------------------------------------------------------------------------------------------------
# Rows held out
# ---------------------------------------------------------------------------------------------------------------------


def _split(y: NDArray[Any], share: float, seed: Any) -> list[NDArray[np.intp]]:
    """Rows to fit and rows to test, with the same shares of classes where each class has rows for both."""
    counts = np.unique(y, return_counts=True)[1]
    n_test = math.ceil(share * len(y))  # as train_test_split counts
    if n_test >= len(y):
        raise CommandError(f"--test is {share}, which leaves none of {len(y):,} rows to fit. Choose a smaller share.")
    can_stratify = counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(counts)
    parts = train_test_split(
        np.arange(len(y)), test_size=share, stratify=y if can_stratify else None, random_state=seed
    )
    return [np.sort(part) for part in parts]


def _split_groups(
    column: pa.ChunkedArray, y: NDArray[Any], name: str, share: float, seed: Any
) -> list[NDArray[np.intp]]:
    """Rows to fit and rows to test, no group among both; each row without a group is a group by itself."""
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    is_alone = np.isnan(codes)
    group = np.where(is_alone, len(encoded.dictionary) + np.cumsum(is_alone), codes).astype(np.int64)
    groups = np.unique(group)
    n_test = math.ceil(share * len(groups))
    if n_test >= len(groups):
        raise CommandError(
            f"--groups {name}: {len(groups):,} groups are too few to hold out a share of {share:g} of them. Choose a "
            "smaller --test, or another column."
        )
    is_tested = np.isin(group, np.random.default_rng(seed).permutation(groups)[:n_test])
    absent = np.setdiff1d(y[is_tested], y[~is_tested])
    if len(absent):
        raise CommandError(
            f"--groups {name}: all rows of class {shown(absent[0].item())} are in groups that are held out. Choose "
            "another --seed, or a smaller --test."
        )
    return [np.flatnonzero(~is_tested), np.flatnonzero(is_tested)]
