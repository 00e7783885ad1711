"""From the dict of :func:`ferl.report.content.summarise` to one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike, NDArray

from ferl._answers import model_of
from ferl._models.decision import AnyDecision, Decision
from ferl._models.model import Model
from ferl._sklearn import changed_parameters, check_rows, checked_input
from ferl._tables import codes_of, read_table
from ferl._tables.columns import array_column, infinity_message
from ferl._tables.labels import is_missing_label, label_markers
from ferl._tables.table import Table
from ferl._tables.values import MISSING
from ferl._util.arrays import Ints
from ferl._util.files import replace_text
from ferl._util.text import shown
from ferl._util.threads import n_threads
from ferl.report.charts import templates
from ferl.report.content import ModelCard, summarise
from ferl.report.judged_table import NO_LABEL, OTHER_LABEL, Cell, Groups, JudgedTable
from ferl.rules import FERLClassifier

_HERE = Path(__file__).parent
ENGINE = ("ferl.js", "changes.js")  # what judges rows
ABOUT_ROWS = {"summary", "card", "metrics", "abstained", "novel"}  # sections about the rows of a table
PAGE = ("tools.js", "what_if.js", "page.js")  # what shows the answers
# What would end a script element or, in old engines, a line of script; written so that JSON reads the same text.
_ESCAPES = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


def render(summary: dict[str, Any]) -> str:
    """The report as HTML.

    Parameters
    ----------
    summary : dict
        The content, from :func:`ferl.report.content.summarise`.

    Returns
    -------
    str
        A page with its style, its scripts and the model inside, and a policy that forbids any other, and any request.
    """
    style = _static("style.css")
    scripts = [_static(*ENGINE), _static(*PAGE)]
    allowed = " ".join(map(_hash, scripts))
    policy = f"script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    return (
        templates()
        .get_template("report.html")
        .render(
            **summary,
            policy=f"default-src 'none'; {policy}",
            style=Markup(style),
            engine_script=Markup(scripts[0]),
            page_script=Markup(scripts[1]),
            page_json=Markup(script_json(summary["page"])),
        )
    )


def script_json(value: Any) -> str:
    r"""JSON that can stand inside a script element.

    Examples
    --------
    >>> print(script_json({"name": "</script>"}))
    {"name":"\u003c/script\u003e"}
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _static(*names: str) -> str:
    """Files of the page, one after the other."""
    text = "\n".join((_HERE / "static" / name).read_text(encoding="utf-8") for name in names)
    assert "</" not in text, f"{names} would end their element"
    return text


def _hash(text: str) -> str:
    """What the page's policy names a script or a style by: it may run these, and fetch nothing."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


BLOCK_ROWS = 65_536  # judged at a time


def write_report(
    estimator: FERLClassifier,
    X: ArrayLike,
    y: ArrayLike | None = None,
    path: str | os.PathLike[str] = "report.html",
    *,
    title: str | None = None,
    table: str = "the table",
    groups: str | ArrayLike | None = None,
    decision: AnyDecision = "probable",
    intended_use: str = "",
    limits: str = "",
    date: str = "",
) -> Path:
    """Write a report on a fitted classifier and a table: one HTML file that needs no network.

    The page has a model card, rules with curves and a scorecard or the tree, metrics, rows without an answer and
    unusual rows. A form predicts any row that you type, in the browser. The file contains the model with the
    training rows that it keeps (none with ``n_exemplars=0``) and up to 100 rows of the table.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features)
        Rows to predict; best rows that were not used for fitting.
    y : array-like of shape (n_samples,), default=None
        Their labels; None or NaN where one is not known. None: metrics are left out.
    path : str or path-like, default="report.html"
        The file; it is replaced as a whole.
    title : str, default=None
        Heading of the page. None: what is predicted, by the name of the target.
    table : str, default="the table"
        What the page calls the table.
    groups : str or array-like of shape (n_samples,), default=None
        A column of ``X``, or values of the rows that the model does not read: the page compares accuracy, abstention
        and error rates of the groups; see :func:`ferl.metrics.metrics_by_group`. A column of ``X`` that is not a
        feature of the model is taken for this alone.
    decision : {"probable", "balanced", "mild"}, float, array-like or mapping, default="probable"
        How the labels that figures are about are chosen; see :meth:`ferl.FERLClassifier.predict`. Lists of rows show
        the most probable class, and the form shows both.
    intended_use, limits : str, default=""
        For the model card: what the model is for, and where it must not be used. Empty: the card reads "Not stated."
    date : str, default=""
        The date on the model card. Empty: today.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_iris
    >>> from ferl import FERLTreeClassifier
    >>> from ferl.report import write_report
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FERLTreeClassifier("medium", random_state=0).fit(X[::2], y[::2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(clf, X[1::2], y[1::2], f"{folder}/iris.html")
    ...     path.read_text(encoding="utf-8")[:15]
    '<!doctype html>'
    """
    page = report_html(
        estimator,
        X,
        y,
        title=title,
        table=table,
        groups=groups,
        decision=decision,
        intended_use=intended_use,
        limits=limits,
        date=date,
    )
    replace_text(path, page)
    return Path(path)


def report_html(
    estimator: FERLClassifier,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    title: str | None = None,
    table: str = "the table",
    groups: str | ArrayLike | None = None,
    decision: AnyDecision = "probable",
    intended_use: str = "",
    limits: str = "",
    date: str = "",
) -> str:
    """The text of :func:`write_report`'s file."""
    model: Model = model_of(estimator, "write_report")
    chosen = Decision.of(decision, model.classes)
    X, grouping = _grouping(model, X, groups)
    given = checked_input(estimator, X)
    rows = check_rows(estimator, given)
    truth = None if y is None else label_codes(model, y, len(rows))
    judged = JudgedTable(model, n_threads(estimator.n_jobs), decision=chosen)
    for first in range(0, len(rows), BLOCK_ROWS):
        block = slice(first, first + BLOCK_ROWS)
        judged.add(rows[block], None if truth is None else truth[block], _cells(model, given, first))
    if grouping is not None and (n_held := len(grouping.column.values)) != len(rows):
        raise ValueError(f"groups has {n_held} values and X has {len(rows)} rows; every row needs its value.")
    card = ModelCard(intended_use, limits, date)
    return render(summarise(model, changed_parameters(estimator), judged, title, table, grouping, card))


@dataclass(frozen=True)
class Shown:
    """A page that a notebook displays in a frame.

    Attributes
    ----------
    html : str
        The page, as :func:`write_report` writes it.
    height : int
        Height of the frame in pixels.
    """

    html: str
    height: int = 760

    def _repr_html_(self) -> str:
        # The frame has an origin of its own and runs the scripts of the page alone.
        look = f"width:100%;height:{self.height}px;border:1px solid #8886;border-radius:8px"
        return f'<iframe sandbox="allow-scripts" style="{look}" srcdoc="{escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"Shown({len(self.html.encode()) / 1000:.0f} kB)"


def show(
    estimator: FERLClassifier, X: ArrayLike | None = None, y: ArrayLike | None = None, *, height: int = 760
) -> Shown:
    """Show a fitted classifier in a notebook, with a form that predicts any row; as :meth:`ferl.FERLClassifier.show`.

    Parameters
    ----------
    estimator : FERLClassifier or FERLTreeClassifier
        Fitted.
    X : array-like or data frame of shape (n_samples, n_features), default=None
        Rows to judge. None: the form and the model alone.
    y : array-like of shape (n_samples,), default=None
        Their labels. None: metrics are left out.
    height : int, default=760
        Height of the frame in pixels.

    Returns
    -------
    Shown
        A notebook displays it.
    """
    if X is not None:
        return Shown(report_html(estimator, X, y), height)
    if y is not None:
        raise ValueError("show has labels y and no rows X; pass both, or none.")
    model: Model = model_of(estimator, "show")
    page = summarise(model, changed_parameters(estimator), JudgedTable(model), None, "the table")
    page["sections"] = [item for item in page["sections"] if item.name not in ABOUT_ROWS]
    page["subject"] = page["subject"].split(", judged on ")[0]
    return Shown(render(page), height)


def _grouping(model: Model, X: Any, groups: str | ArrayLike | None) -> tuple[Any, Groups | None]:
    """The table that the model reads, and the column that its rows are grouped by."""
    if groups is None:
        return X, None
    if not isinstance(groups, str):
        values = groups if isinstance(groups, np.ndarray) else np.asarray(groups, dtype=object)
        if values.ndim != 1:
            raise ValueError(f"groups has shape {values.shape}; pass one value for each row, or the name of a column.")
        return X, Groups(str(getattr(groups, "name", None) or "group"), array_column("groups", values))
    given = read_table(X)
    if given.names is None or groups not in given.names:
        known = shown(list(given.names)) if given.names else "without names"
        raise ValueError(
            f"groups is {groups!r}; the columns of X are {known}. Name one of them, or pass a value for each row."
        )
    result = Groups(groups, given.columns[given.names.index(groups)])
    if groups in (model.schema.names or ()) or len(given.names) == model.n_features:
        return given, result  # a model without names takes columns in their order
    return given.without(groups), result


def _cells(model: Model, given: Table, first: int) -> Cell:
    """Values of categorical columns as the table holds them, by the row of a block and the feature."""

    def cell(row: int, feature: int) -> Any:
        known, names = model.schema.names, given.names
        column = feature if known is None or names is None else names.index(known[feature])
        factor = given.columns[column].factor
        return factor.values[factor.codes[first + row]]

    return cell


def label_codes(model: Model, y: Any, n_rows: int) -> Ints:
    """Labels as indices in the classes; ``NO_LABEL`` where one is missing, ``OTHER_LABEL`` for labels of no class."""
    labels: NDArray[Any] = np.asarray(y, dtype=object).ravel()
    if len(labels) != n_rows:
        raise ValueError(f"y has {len(labels)} labels and X has {n_rows} rows; every row needs its label.")
    codes: Ints = codes_of(labels, model.classes)
    markers = label_markers(MISSING, model.classes.tolist())
    for row in np.flatnonzero(codes < 0):
        if isinstance(labels[row], float) and math.isinf(labels[row]):
            raise ValueError(infinity_message("y"))
        codes[row] = NO_LABEL if is_missing_label(labels[row], markers) else OTHER_LABEL
    if len(codes) and (codes == OTHER_LABEL).all():
        raise ValueError(
            f"No label of y ({shown(labels[0])}, for example) is one of the model's classes, "
            f"{shown(model.classes.tolist())}. Pass labels as they were in training."
        )
    return codes
