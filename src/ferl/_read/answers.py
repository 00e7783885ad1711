"""Answers of a model as columns of a table, and as a file written from a file of rows in constant memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl._models.certificates import certified_radius
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._read.calibration import Calibration
from ferl._read.judgement import ABSTENTIONS, Judgement, Rule, judge
from ferl._tables.table_files import Batch, RowReader, TableFile, format_of, open_sink
from ferl._tell.reasons import Reason, read_reasons
from ferl._util.arrays import Floats
from ferl._util.files import TableFileError
from ferl._util.threads import file_bar, in_order, n_threads


@dataclass(frozen=True)
class Wanted:
    """What is to be written.

    Attributes
    ----------
    every_class : bool
        Probability, belief and plausibility of each class as well.
    only_answers : bool
        Leave out the columns of the input.
    with_novelty : bool
        Whether novelty is among the answers.
    prefix : str
        Before the names of the answers.
    n_reasons : int
        Number of columns for what cost a row most on its way to a class; of wide rules.
    wished : label or None
        That class; None: of each row, the most probable class but its label.
    decision : {"probable", "balanced"}
        How the label is chosen.
    guess : bool
        Whether abstaining rows get their most probable label all the same.
    calibration : Calibration or None
        What calibration rows promise.
    alpha : float or None
        How often a set may miss the true class, with such rows; None: as they were calibrated for.
    with_radius : bool
        Whether the proven radius is among the answers, in spreads.
    safe_csv : bool
        Whether text that a spreadsheet would take for a formula gets an apostrophe before it, in CSV.
    with_probabilities : bool
        The probability of each class as well.
    """

    every_class: bool = False
    only_answers: bool = False
    with_novelty: bool = True
    prefix: str = ""
    n_reasons: int = 0
    wished: Any = None
    decision: str = "probable"
    guess: bool = False
    calibration: Calibration | None = None
    alpha: float | None = None
    with_radius: bool = False
    safe_csv: bool = False
    with_probabilities: bool = False

    @property
    def rule(self) -> Rule:
        """How answers are chosen."""
        return Rule(self.decision, self.calibration, self.alpha)

    @property
    def by_class(self) -> tuple[str, ...]:
        """What is told of every class."""
        if self.every_class:
            return ("probability", "belief", "plausibility")
        return ("probability",) * self.with_probabilities

    @property
    def with_p_values(self) -> bool:
        """Whether p-values of novelty are among the answers."""
        return self.with_novelty and self.calibration is not None and self.calibration.novelty is not None


def answer_names(model: Model, wanted: Wanted) -> list[str]:
    """Names of the columns that :func:`answer_columns` gives."""
    names = ["label", "probability", "set", "ignorance"] + ["novelty"] * wanted.with_novelty
    names += ["novelty_p"] * wanted.with_p_values + ["radius"] * wanted.with_radius + ["abstention"]
    names += [f"{what}({label})" for what in wanted.by_class for label in model.classes]
    return [wanted.prefix + name for name in names]


def answer_columns(model: Model, rows: Floats, judged: Judgement, wanted: Wanted) -> list[pa.Array | pa.ChunkedArray]:
    """Label, its probability, the prediction set as text, ignorance, and what else is wanted.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the tree reads them; there may be none.
    judged : Judgement
        What is decided of them.
    wanted : Wanted
        What is to be answered.

    Returns
    -------
    list of pyarrow.Array
        An abstaining row has no label and no probability, unless a guess is wanted.
    """
    silent = None if wanted.guess else judged.abstains
    columns = [
        pa.array(model.classes.tolist()).take(pa.array(judged.label, mask=silent)),
        pa.array(judged.confidence, mask=silent),
        set_texts(judged.sets, model.classes),
        pa.array(judged.evidence.ignorance),
    ]
    if wanted.with_novelty:
        columns.append(pa.array(judged.novelty, from_pandas=True))
    if wanted.with_p_values and wanted.calibration is not None and judged.novelty is not None:
        columns.append(pa.array(wanted.calibration.novelty_p_values(judged.novelty)))
    if wanted.with_radius:
        spread = total_spread(model.tree)[: model.n_features]
        columns.append(pa.array(certified_radius(model, rows, spread) if len(rows) else np.zeros(0), mask=silent))
    columns.append(pa.array(list(ABSTENTIONS)).take(pa.array(judged.abstention, mask=~judged.abstains)))
    for what in wanted.by_class:
        columns += [pa.array(np.ascontiguousarray(own)) for own in getattr(judged.evidence, what).T]
    return columns


def reason_columns(model: Model, rows: Floats, wanted: Wanted, judged: Judgement) -> list[pa.Array]:
    """What cost each row most on its way to a class, one column of text for each reason; null where there is none.

    Without a wished class it is, of each row, the most probable class but its label: what speaks for the label. A row
    that has no label has no such reasons.

    Parameters
    ----------
    model : Model
        The model, of wide rules.
    rows : ndarray of shape (n_samples, n_columns), float64
        Rows as the model reads them.
    wanted : Wanted
        How many, of which class, and whether abstaining rows have a label all the same.
    judged : Judgement
        What is decided of the rows.

    Returns
    -------
    list of pyarrow.Array
    """
    found: list[tuple[Reason, ...]] = [()] * len(rows)
    classes, n_reasons = model.classes.tolist(), wanted.n_reasons
    if wanted.wished is not None:
        found = read_reasons(model, rows, n_reasons, wanted.wished)
    elif len(rows) and len(classes) > 1:
        label, other = judged.label, judged.evidence.probability.copy()
        other[np.arange(len(rows)), label] = -1.0
        pairs = np.column_stack([label, other.argmax(axis=1)])
        has_label = ~judged.abstains | wanted.guess
        for given, towards in np.unique(pairs[has_label], axis=0).tolist():
            own = np.flatnonzero((pairs == (given, towards)).all(axis=1) & has_label)
            told = read_reasons(model, rows[own], n_reasons, classes[towards], rival=classes[given])
            for row, reasons in zip(own, told, strict=True):
                found[row] = reasons
    texts = [[own[k].text if k < len(own) else None for own in found] for k in range(n_reasons)]
    return [pa.array(column, pa.string()) for column in texts]


def set_texts(sets: NDArray[np.bool_], classes: NDArray[Any]) -> pa.Array:
    r"""Prediction sets as text, "a|b"; a bar or backslash inside a label has a backslash before it.

    Examples
    --------
    >>> import numpy as np
    >>> set_texts(np.array([[True, False], [True, True]]), np.array(["a", "b|c"])).to_pylist()
    ['a', 'a|b\\|c']
    """
    labels = [str(label).replace("\\", "\\\\").replace("|", "\\|") for label in classes.tolist()]
    # Rows have few different sets: each text is made once.
    packed = np.packbits(sets, axis=1)
    width = packed.shape[1]
    keys = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(sets), [None, pa.py_buffer(packed)])
    encoded = keys.dictionary_encode()
    found = np.frombuffer(b"".join(encoded.dictionary.to_pylist()), dtype=np.uint8).reshape(-1, width)
    members = np.unpackbits(found, axis=1, count=len(labels)).astype(bool)
    texts = ["|".join(label for label, inside in zip(labels, own, strict=True) if inside) for own in members]
    return pa.array(texts, pa.string()).take(encoded.indices)


# ---------------------------------------------------------------------------------------------------------------------
# Answers for the rows of a file
# ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What became of the rows of a file.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    n_abstained : dict
        Number of rows without an answer, by the word for why; words of no row are left out.
    notes : list of str
        Which categories training did not have.
    """

    n_rows: int
    n_abstained: dict[str, int]
    notes: list[str]


def judge_file(model: Model, file: TableFile, out: str, wanted: Wanted, as_json: bool, jobs: int | None) -> Outcome:
    """Write the rows of a file with the answers of a model.

    Parameters
    ----------
    model : Model
        The model.
    file : TableFile
        The rows.
    out : str
        Where to: a path, or "-" for standard output.
    wanted : Wanted
        What is to be written.
    as_json : bool
        JSON, whatever the name of the output.
    jobs : int or None
        Batches that are judged at a time, as scikit-learn's ``n_jobs``.

    Returns
    -------
    Outcome
    """
    threads = n_threads(jobs)  # refused, if at all, before anything is written
    answerer = _Answerer(model, file, wanted, format_of(out, as_json))
    n_rows, abstained = 0, np.zeros(len(ABSTENTIONS), dtype=np.int64)
    with (
        file_bar(f"judging {file.path.name}", file.size) as moved,
        open_sink(out, answerer.form, answerer.schema, safe_csv=wanted.safe_csv) as sink,
    ):

        def judged(batch: pa.Table) -> tuple[Batch, NDArray[np.int64], Any]:
            read = answerer.rows.read(batch)
            found = answerer.judged(read)
            counts = np.bincount(found.abstention[found.abstains], minlength=len(abstained))
            return read, counts, sink.prepare(answerer.answered(batch, read, found))

        # Several batches at a time, each on one thread, and written in their order.
        for read, counts, prepared in in_order(judged, file.batches(moved), threads):
            sink.write(prepared)
            answerer.rows.count(read)
            n_rows += len(read.rows)
            abstained += counts
    told = {word: n for word, n in zip(ABSTENTIONS, abstained.tolist(), strict=True) if n}
    return Outcome(n_rows, told, answerer.rows.unseen_lines())


class _Answerer:
    """Adds answers to batches; all that it returns has one schema."""

    def __init__(self, model: Model, file: TableFile, wanted: Wanted, form: str) -> None:
        self.model = model
        self.wanted = wanted
        self.form = form
        self.rows = RowReader(model.schema, model.missing_features, file.names, file.path, file.form)
        self.kept = [] if wanted.only_answers else file.names
        self.names = answer_names(model, wanted)
        self.names += [f"{wanted.prefix}reason_{number}" for number in range(1, wanted.n_reasons + 1)]
        # CSV keeps the text of numbers to the letter. The types of Parquet and JSON are for programs.
        self.as_typed = form != "csv" and not file.is_parquet
        kept = set(self.kept)
        double = [name for name in self.names if name in kept]
        if double:
            raise TableFileError(
                f"{file.path.name} has a column {double[0]!r} already. Use --prefix ferl_ to name the answers "
                f"{'ferl_' + double[0]!r} and so on, or --only-answers."
            )
        nothing = file.schema.empty_table()
        read = self.rows.read(nothing)
        self.schema = self.answered(nothing, read, self.judged(read)).schema

    def judged(self, read: Batch) -> Judgement:
        """What is decided of the rows of a batch."""
        return judge(self.model, read.rows, self.wanted.rule, with_novelty=self.wanted.with_novelty)

    def answered(self, batch: pa.Table, read: Batch, judged: Judgement) -> pa.Table:
        """A batch of the file, with the answers for its rows."""
        wanted = self.wanted
        answers = answer_columns(self.model, read.rows, judged, wanted)
        if wanted.n_reasons:
            answers += reason_columns(self.model, read.rows, wanted, judged)
        numbers = read.numbers if self.as_typed else {}
        kept = [numbers.get(name, own) for name, own in zip(self.kept, batch.columns if self.kept else (), strict=True)]
        return pa.table([*kept, *answers], names=[*self.kept, *self.names])
