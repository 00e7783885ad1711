"""Answers of a model as columns of a table, and as a file written from a file of rows in constant memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ferl._judge import TakenNameError
from ferl._judge.judgement import ABSTENTIONS, AS_FITTED, Judgement, Rule, judge
from ferl._models.certificates import certified_radius
from ferl._models.model import Model
from ferl._models.novelty import total_spread
from ferl._tables.table_files import Batch, RowReader, TableFile, format_of, open_sink
from ferl._tell.reasons import Reason, read_reasons
from ferl._util.arrays import Floats
from ferl._util.text import spoken
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
        Number of columns for what cost a row most on its way to a class; of rules.
    wished : label or None
        That class; None: of each row, the most probable class but its label.
    rule : Rule
        How answers are chosen.
    guess : bool
        Whether abstaining rows get their most probable label all the same.
    with_radius : bool
        Whether the proven radius is among the answers, in standard deviations.
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
    rule: Rule = AS_FITTED
    guess: bool = False
    with_radius: bool = False
    safe_csv: bool = False
    with_probabilities: bool = False

    @property
    def by_class(self) -> tuple[str, ...]:
        """What is written of every class."""
        if self.every_class:
            return ("probability", "belief", "plausibility")
        return ("probability",) * self.with_probabilities


def answer_columns(model: Model, rows: Floats, judged: Judgement, wanted: Wanted) -> dict[str, Any]:
    """Label, its probability, the prediction set as text, ignorance, of rules the rows behind, and what else is wanted.

    Parameters
    ----------
    model : Model
        The model.
    rows : ndarray of shape (n_samples, n_columns)
        Rows as the model reads them; there may be none.
    judged : Judgement
        What is decided of them.
    wanted : Wanted
        What is to be answered.

    Returns
    -------
    dict of str to pyarrow.Array
        An abstaining row has no label and no probability, unless a guess is wanted.
    """
    silent = None if wanted.guess else judged.abstains
    columns = {
        "label": pa.array(model.classes.tolist()).take(pa.array(judged.label, mask=silent)),
        "probability": pa.array(judged.confidence, mask=silent),
        "set": set_texts(judged.sets, model.classes),
        **{name: pa.array(item) for name, item in judged.evidence.figures.items()},
    }
    if wanted.with_novelty:
        columns["novelty"] = pa.array(judged.novelty, from_pandas=True)
        promised = wanted.rule.calibration
        if promised is not None and promised.novelty is not None and judged.novelty is not None:
            columns["novelty_p"] = pa.array(promised.novelty_p_values(judged.novelty))
    if wanted.with_radius:
        spread = total_spread(model.tree)[: model.n_features]
        columns["radius"] = pa.array(certified_radius(model, rows, spread) if len(rows) else np.zeros(0), mask=silent)
    columns["abstention"] = pa.array(list(ABSTENTIONS)).take(pa.array(judged.abstention, mask=~judged.abstains))
    for what in wanted.by_class:
        for label, item in zip(model.classes, getattr(judged.evidence, what).T, strict=True):
            columns[f"{what}({label})"] = pa.array(np.ascontiguousarray(item))
    reasons = _reasons(model, rows, wanted, judged) if wanted.n_reasons else []
    for k in range(wanted.n_reasons):
        texts = [reason[k].text if k < len(reason) else None for reason in reasons]
        columns[f"reason_{k + 1}"] = pa.array(texts, pa.string())
    return {wanted.prefix + name: column for name, column in columns.items()}


def _reasons(model: Any, rows: Floats, wanted: Wanted, judged: Judgement) -> list[tuple[Reason, ...]]:
    """What cost each row most on its way to a class.

    Without a wished class it is the most probable class of each row other than its label, so the reasons support the
    label. A row without a label has no reasons of this kind.
    """
    result: list[tuple[Reason, ...]] = [()] * len(rows)
    classes, n_reasons = model.classes.tolist(), wanted.n_reasons
    if wanted.wished is not None:
        result = read_reasons(model, rows, n_reasons, wanted.wished)
    elif len(rows) and len(classes) > 1:
        label, other = judged.label, judged.evidence.probability.copy()
        other[np.arange(len(rows)), label] = -1.0
        pairs = np.column_stack([label, other.argmax(axis=1)])
        has_label = ~judged.abstains | wanted.guess
        for given, towards in np.unique(pairs[has_label], axis=0).tolist():
            places = np.flatnonzero((pairs == (given, towards)).all(axis=1) & has_label)
            reasons = read_reasons(
                model, rows[places], n_reasons, classes[towards], rival=classes[given], supported=spoken(classes[given])
            )
            for row, row_reasons in zip(places, reasons, strict=True):
                result[row] = row_reasons
    return result


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
    result = np.frombuffer(b"".join(encoded.dictionary.to_pylist()), dtype=np.uint8).reshape(-1, width)
    members = np.unpackbits(result, axis=1, count=len(labels)).astype(bool)
    texts = ["|".join(label for label, inside in zip(labels, member, strict=True) if inside) for member in members]
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
    form = format_of(out, as_json)
    reader = RowReader(model.schema, model.derived, file.names, file.path, file.form, model.read_features)
    kept = [] if wanted.only_answers else file.names
    # CSV keeps the text of numbers to the letter. The types of Parquet and JSON are for programs.
    is_typed = form != "csv" and not file.is_parquet

    def answered(batch: pa.Table) -> tuple[pa.Table, Batch, NDArray[np.int64]]:
        """A batch of the file with the answers for its rows, the rows, and how many abstain for each reason."""
        read = reader.read(batch)
        judged = judge(model, read.rows, wanted.rule, with_novelty=wanted.with_novelty)
        numbers = read.numbers if is_typed else {}
        columns = [numbers.get(name, column) for name, column in zip(kept, batch.columns if kept else (), strict=True)]
        answers = answer_columns(model, read.rows, judged, wanted)
        counts = np.bincount(judged.abstention[judged.abstains], minlength=len(ABSTENTIONS))
        return pa.table([*columns, *answers.values()], names=[*kept, *answers]), read, counts

    n_rows, abstained = 0, np.zeros(len(ABSTENTIONS), dtype=np.int64)
    schema = answered(file.schema.empty_table())[0].schema  # all batches have it
    taken = set(kept)
    for name in schema.names[len(kept) :]:
        if name in taken:
            raise TakenNameError(file.path.name, name)
    with (
        file_bar(f"judging {file.path.name}", file.size) as moved,
        open_sink(out, form, schema, safe_csv=wanted.safe_csv) as sink,
    ):

        def prepared(batch: pa.Table) -> tuple[Any, Batch, NDArray[np.int64]]:
            table, read, counts = answered(batch)
            return sink.prepare(table), read, counts

        # Several batches at a time, each on one thread, and written in their order.
        for ready, read, counts in in_order(prepared, file.batches(moved), threads):
            sink.write(ready)
            reader.count(read)
            n_rows += len(read.rows)
            abstained += counts
    result = {word: n for word, n in zip(ABSTENTIONS, abstained.tolist(), strict=True) if n}
    return Outcome(n_rows, result, reader.unseen_lines())
