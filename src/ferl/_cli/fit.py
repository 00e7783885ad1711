"""``ferl fit``: from a table in a file to a model in a file."""

from __future__ import annotations

import difflib
import json
import math
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import typer
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ferl._cli.columns import note_ids, remark_on_categories, remark_on_ids
from ferl._cli.errors import CommandError, check_outputs, check_place
from ferl._cli.scores import judge_rows
from ferl._cli.target import check_target, note_cost, note_few_rules
from ferl._estimator import FERLEstimator
from ferl._tables import ColumnKind, TableDescription, codes_of
from ferl._tables.columns import IF_CATEGORIES, recognise
from ferl._tables.kinds import NUMBERS, TableWarning
from ferl._tables.schema import IdColumnWarning
from ferl._tables.table_files import (
    FileForm,
    TableFile,
    format_of,
    integers_or_text,
    known_column,
    known_text,
    open_sink,
    text_as_numbers,
    with_decimal_points,
)
from ferl._util.text import near_name, shown
from ferl.rules import FERLClassifier
from ferl.saving import save_model
from ferl.trees import FERLTreeClassifier


@dataclass(frozen=True)
class Choice:
    """Which columns are what.

    Attributes
    ----------
    target : str
        The labels.
    weights : str or None
        How often each row counts.
    categorical : sequence of str
        Categories, whatever they look like.
    drop : sequence of str
        Left out.
    groups : str or None
        Column whose values say which rows belong together; left out.
    """

    target: str
    weights: str | None = None
    categorical: Sequence[str] = ()
    drop: Sequence[str] = ()
    groups: str | None = None

    @property
    def left_out(self) -> list[str]:
        """Columns that are no features."""
        return [self.target, *self.drop, *filter(None, (self.weights, self.groups))]

    def check(self, file: TableFile) -> None:
        """Refuse columns that the file does not have, or that are two things at once."""
        for name in (*self.left_out, *self.categorical):
            if name not in file.names:
                near = near_name(name, file.names)
                hint = f" Did you mean {near!r}?" if near else f" It has {', '.join(map(repr, file.names[:8]))}."
                separator = " Is the separator another one (--separator)?" if len(file.names) == 1 else ""
                raise CommandError(f"{file.path.name} has no column {name!r}.{hint}{separator}")
        if len(set(self.left_out)) < len(self.left_out):
            raise CommandError("Target, weights, groups and dropped columns must be different columns.")
        if self.groups in self.categorical:
            raise CommandError(
                f"--categorical {self.groups}: the model does not read the column of the groups. Leave it out of "
                "--categorical, or out of --groups."
            )


def run_fit(
    table: Path,
    out: Path,
    choice: Choice,
    form: FileForm,
    model: str,
    parameters: dict[str, Any],
    test: float | None,
    held_out: Path | None,
    jobs: int,
    allow_many: bool = False,
    describe: Path | None = None,
) -> None:
    """Read a table, fit, print what came out, and write the model, and the rows held out."""
    check_outputs(out, held_out)
    check_place(out, table)
    if held_out is not None:
        check_place(held_out, table, out)
    said = _description(describe, choice, form)
    file = TableFile(table, replace(form, missing=said.missing))
    choice.check(file)
    estimator = _estimator(model, parameters).set_params(n_jobs=jobs)
    table_rows = _labelled_rows(file, choice.target)
    check_target(_labels(table_rows[choice.target]), choice.target, allow_many)
    noted: set[str] = set()
    X, y, weight = _training_rows(table_rows, file, choice, said, noted)
    fitted_on = np.arange(len(y))
    if test is not None:
        fitted_on, tested_on = (
            _split(y, test, estimator.random_state)
            if choice.groups is None
            else _split_groups(
                known_column(table_rows[choice.groups], file.form), y, choice.groups, test, estimator.random_state
            )
        )
    n_classes = len(np.unique(y))
    note_cost(model, len(fitted_on), X.num_columns, n_classes)
    note_few_rules(estimator._settings(), n_classes)
    with _told_as_notes(noted):
        # scikit-learn asks what has been asked and answered before.
        warnings.filterwarnings("ignore", message="The number of unique classes", category=UserWarning)
        own_weight = None if weight is None else weight[fitted_on]
        estimator.fit(X.take(fitted_on), y[fitted_on], own_weight, describe=said)
    typer.echo(f"rules              {estimator.n_rules_}")
    truth = codes_of(y, estimator.classes_)
    learned = judge_rows(estimator, X.take(fitted_on), truth[fitted_on])
    typer.echo(f"training accuracy  {learned.accuracy_text()}")
    if test is None:
        typer.echo(f"training recall    {learned.recall.text()}")
    else:
        learned = judge_rows(estimator, X.take(tested_on), truth[tested_on])
        for line in learned.lines("test"):
            typer.echo(line)
        if held_out is not None:
            # With the separator of the table: between commas 3,14 would be no number.
            form_out, separator = format_of(str(held_out), False), file.form.separator or ","
            with open_sink(str(held_out), form_out, table_rows.schema, separator=separator) as sink:
                sink.write(sink.prepare(table_rows.take(np.sort(tested_on))))
            typer.echo(f"rows held out      {held_out}")
    named = map(shlex.quote, () if held_out is None else (str(out), str(held_out), "--target", choice.target))
    example = "" if held_out is None else f"ferl evaluate {' '.join(named)} --decision balanced"
    for note in learned.notes(example, is_tested=test is not None):
        typer.echo(f"note: {note}", err=True)
    save_model(estimator.set_params(n_jobs=parameters.get("n_jobs")), out)
    typer.echo(f"model              {out}")


def _description(path: Path | None, choice: Choice, form: FileForm) -> TableDescription:
    """What is said of the table: by a file, by --missing, and by the name of the target."""
    said = TableDescription.of(path)
    target = said.target if said.target.name else replace(said.target, name=choice.target)
    columns = {name: own for name, own in said.columns.items() if name not in choice.left_out}
    missing = tuple(dict.fromkeys((*form.missing, *said.missing)))
    return replace(said, target=target, columns=columns, missing=missing)


@contextmanager
def _told_as_notes(noted: set[str]) -> Iterator[None]:
    """Print what ferl says of columns as notes; that a column may be ids only where it was not noted before."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        yield
    for warning in caught:
        if isinstance(warning.message, IdColumnWarning):
            for name in warning.message.columns:
                if name not in noted:
                    note_ids(name)
        elif isinstance(warning.message, TableWarning):
            typer.echo(f"note: {_note_of(warning.message)}", err=True)
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def _note_of(warning: TableWarning) -> str:
    """What ferl found in a column, with an option of the command where the remedy is a parameter of Python."""
    text = str(warning)
    if warning.remedy == IF_CATEGORIES and warning.columns:
        text = f"{warning.fact} If it holds categories, add --categorical {shlex.quote(warning.columns[0])}"
    return f"{text[0].lower()}{text[1:]}"


def _estimator(model: str, parameters: dict[str, Any]) -> FERLEstimator:
    """The classifier that a model's name and parameters mean, checked before a large table is read in vain."""
    kind: type[FERLEstimator] = FERLClassifier if model == "rules" else FERLTreeClassifier
    known = kind._get_param_names()
    for name in parameters:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
            raise CommandError(f"--set {name}: there is no such parameter. The one most like it is {near[0]!r}.")
    estimator = kind(**parameters if model == "rules" else {"variant": model, **parameters})
    estimator._validate_params()
    estimator._settings().check()
    return estimator


def parsed_settings(settings: Sequence[str]) -> dict[str, Any]:
    """Parameters from ``name=value``: values as JSON writes them, and other text as it is.

    Examples
    --------
    >>> parsed_settings(["max_rules=20", "two_mode=false", "combination=vote"])
    {'max_rules': 20, 'two_mode': False, 'combination': 'vote'}
    """
    found = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise CommandError(f"--set {setting}: write name=value, for example max_rules=20.")
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = None if value == "None" else value
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Columns
# ---------------------------------------------------------------------------------------------------------------------


def _labelled_rows(file: TableFile, target: str) -> pa.Table:
    """The rows of a file that have a label."""
    table = file.read()
    labels = table[target] if file.is_parquet else known_text(table[target], file.form.missing)
    if labels.null_count:
        typer.echo(f"note: {labels.null_count} rows have no {target!r} and are left out", err=True)
        table = table.filter(pc.is_valid(labels))
    if not table.num_rows:
        raise CommandError(f"{file.path.name} has no row with a {target!r}, so there is nothing to fit.")
    return table


def _training_rows(
    table: pa.Table, file: TableFile, choice: Choice, said: TableDescription, noted: set[str]
) -> tuple[pa.Table, NDArray[Any], NDArray[np.float64] | None]:
    """Features, labels and weights; the columns of which the user was told are added to ``noted``."""
    labels = table[choice.target]
    weight = None if choice.weights is None else _weights(table[choice.weights], choice.weights, file.form)
    columns = {
        name: _feature(table[name], name, name in choice.categorical, file, said.columns.get(name), noted)
        for name in file.names
        if name not in choice.left_out
    }
    if not columns:
        raise CommandError(f"{file.path.name} has no column besides those left out, so there is nothing to learn from.")
    return pa.table(columns), _labels(labels), weight


def _feature(
    column: pa.ChunkedArray,
    name: str,
    is_category: bool,
    file: TableFile,
    said: ColumnKind | None,
    noted: set[str],
) -> pa.ChunkedArray:
    """A column with a type that says what it is: numbers, or categories."""
    if file.is_parquet:
        is_declared = pa.types.is_dictionary(column.type)
        return column.dictionary_encode() if is_category and not is_declared else column
    markers = () if said is None else said.missing
    text = known_text(column, (*file.form.missing, *markers))
    if said is not None and said.order:
        return text
    if is_category:
        return integers_or_text(text).dictionary_encode()
    numbers = text_as_numbers(text, file.form.has_decimal_commas)
    if numbers is None:
        pointed = with_decimal_points(text) if file.form.has_decimal_commas else text
        found, fact, _ = recognise(name, [own for own in pointed.unique().to_pylist() if own is not None])
        if found.name in NUMBERS:  # numbers with decimal commas, and markers among them
            return pointed
        # Where there is a note, the fit will say what the column is taken for.
        if found.name == "category" and not fact and remark_on_categories(text, name):
            noted.add(name)
        return text
    if remark_on_ids(numbers, name):
        noted.add(name)
    return numbers


def _labels(labels: pa.ChunkedArray) -> NDArray[Any]:
    if pa.types.is_string(labels.type):
        labels = integers_or_text(labels)
    elif pa.types.is_dictionary(labels.type):
        labels = labels.cast(labels.type.value_type)
    values: NDArray[Any] = labels.to_numpy()
    return values.astype(str) if labels.type in (pa.string(), pa.large_string()) else values


def _weights(column: pa.ChunkedArray, name: str, form: FileForm) -> NDArray[np.float64]:
    numbers = (
        text_as_numbers(column, form.has_decimal_commas)
        if pa.types.is_string(column.type)
        else column.cast(pa.float64())
    )
    if numbers is None or numbers.null_count:
        raise CommandError(f"Column {name!r} has weights that are not numbers, or missing. Give every row a weight.")
    return np.asarray(numbers.to_numpy())


# ---------------------------------------------------------------------------------------------------------------------
# Rows held out
# ---------------------------------------------------------------------------------------------------------------------


def _split(y: NDArray[Any], share: float, seed: Any) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to fit and rows to test, with the same shares of classes where each class has rows for both."""
    counts = np.unique(y, return_counts=True)[1]
    n_test = math.ceil(share * len(y))  # as train_test_split counts
    if n_test >= len(y):
        raise CommandError(f"--test is {share}, which leaves none of {len(y):,} rows to fit. Choose a smaller share.")
    can_stratify = counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(counts)
    fitted_on, tested_on = train_test_split(
        np.arange(len(y)), test_size=share, stratify=y if can_stratify else None, random_state=seed
    )
    return np.sort(fitted_on), np.sort(tested_on)


def _split_groups(
    column: pa.ChunkedArray, y: NDArray[Any], name: str, share: float, seed: Any
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to fit and rows to test, no group among both; rows without a group count as a group of their own each."""
    encoded = column.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    is_alone = np.isnan(codes)
    group = np.where(is_alone, len(encoded.dictionary) + np.cumsum(is_alone), codes).astype(np.int64)
    groups = np.unique(group)
    n_groups = len(groups)
    n_test = math.ceil(share * n_groups)
    if n_test >= n_groups:
        raise CommandError(
            f"--groups {name}: {n_groups:,} groups are too few to hold out a share of {share:g} of them. Choose a "
            "smaller --test, or another column."
        )
    tested = np.random.default_rng(seed).permutation(groups)[:n_test]
    is_tested = np.isin(group, tested)
    absent = np.setdiff1d(y[is_tested], y[~is_tested])
    if len(absent):
        raise CommandError(
            f"--groups {name}: all rows of class {shown(absent[0].item())} are in groups that are held out. Choose "
            "another --seed, or a smaller --test."
        )
    return np.flatnonzero(~is_tested), np.flatnonzero(is_tested)
