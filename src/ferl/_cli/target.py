"""What a target must be like: classes, few enough to learn, and more than one; and what many of them cost."""

from __future__ import annotations

import numpy as np
import typer
from numpy.typing import NDArray

from ferl._cli.errors import CommandError
from ferl._models.settings import RuleSettings, Settings
from ferl._tables.table_files import field_number
from ferl._util.text import shown

# More distinct values than this are asked about: numbers with fractions, whole numbers, text.
_MANY_FRACTIONS, _MANY_INTEGERS, _MANY_TEXTS = 10, 50, 200
_FEW_ROWS = 3  # on average for each of more than _SOME classes: labels hardly repeat, as names do
_SOME = 20
_TELL_SECONDS = 10.0
_COSTLY_CLASSES = 50


def check_target(labels: NDArray[np.generic], name: str, allow_many: bool) -> None:
    """Refuse a target that is constant, or that has so many values that it is hardly meant as classes.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The labels.
    name : str
        The column.
    allow_many : bool
        Whether many values are meant to be classes.
    """
    found = np.unique(labels)
    if len(found) == 1:
        raise CommandError(
            f"{name} is {shown(found[0].item())} in all {len(labels):,} rows: is this the right column? There is "
            "nothing to tell apart. Name another one with --target, or add rows of another class."
        )
    question = _question(found, len(labels))
    if question and not allow_many:
        raise CommandError(
            f"{name} has {len(found):,} distinct values in {len(labels):,} rows: {question} name another column with "
            "--target, or add --allow-many-classes if every value is a class."
        )


def _question(found: NDArray[np.generic], n_rows: int) -> str:
    """What to ask about the distinct values of a target; nothing where they are plainly classes."""
    # Labels of a CSV file are text where they are not whole numbers.
    numbers = [field_number(str(value), decimal_commas=True) for value in found.tolist()]
    n_found, is_number = len(found), None not in numbers
    has_fractions = is_number and any(number is not None and number % 1 != 0 for number in numbers)
    most = _MANY_FRACTIONS if has_fractions else _MANY_INTEGERS if is_number else _MANY_TEXTS
    if n_found <= most and not (n_found > _SOME and n_rows < _FEW_ROWS * n_found):
        return ""
    if is_number:
        return "is this a regression target? ferl learns classes; cut the numbers into a few,"
    return "is this a name or an id? ferl learns classes;"


def fit_seconds(model: str, n_rows: int, n_columns: int, n_classes: int) -> float:
    """Seconds that a fit takes on one core of 2024, measured with 10 to 1,000 classes; right within a factor of 3."""
    if model == "rules":
        return 1e-6 * n_rows * n_columns * n_classes + 0.05 * n_classes
    if model == "compact":
        return 3.5e-5 * n_rows * n_classes
    return 5e-9 * n_rows * n_columns * n_classes + 0.001 * n_classes


def note_cost(model: str, n_rows: int, n_columns: int, n_classes: int) -> None:
    """Say what a fit of many classes takes, before it is paid."""
    seconds = fit_seconds(model, n_rows, n_columns, n_classes)
    if n_classes < _COSTLY_CLASSES or seconds < _TELL_SECONDS:
        return
    deep = fit_seconds("deep", n_rows, n_columns, n_classes)
    other = f"; --model deep takes about {_spoken(deep)}" if model in ("rules", "compact") else ""
    typer.echo(
        f"note: {n_classes:,} classes in {n_rows:,} rows: a fit of {model} takes roughly {_spoken(seconds)}, since its "
        f"time grows with rows x classes{other}",
        err=True,
    )


def note_few_rules(settings: Settings, n_classes: int) -> None:
    """Say before a fit that a tree has fewer rules than there are classes."""
    if isinstance(settings, RuleSettings) or settings.max_rules >= n_classes:
        return
    typer.echo(
        f"note: {n_classes:,} classes and at most {settings.max_rules:,} rules: each rule of a tree speaks most for "
        f"one class, so that the others are hardly found. Add --set max_rules={2 * n_classes}, say",
        err=True,
    )


def _spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
