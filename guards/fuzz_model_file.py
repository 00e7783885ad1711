"""Throw mutants of model files and of CSV files at the doors that read them.

Whatever a file holds, reading it ends in an answer or in an error of the right kind. A file that ends otherwise is kept
in ``guards/corpus``, and every later run begins with the files that are there.

::

    python guards/fuzz_model_file.py --cases 1000000 --minutes 10

Mutants are made and loaded in memory; only CSV files, one in ten, are written, since their door takes paths.
"""

from __future__ import annotations

import hashlib
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE)]

import campaign  # noqa: E402

from ferl import FERLClassifier, ModelFileError  # noqa: E402
from ferl._models.model_file import parsed_model  # noqa: E402
from ferl._tables.table_files import FileForm, TableFile  # noqa: E402
from ferl._util.files import TableFileError  # noqa: E402
from ferl.saving import _estimator  # noqa: E402
from test_model_hostile import KINDS, text_of, use  # noqa: E402

CORPUS = HERE / "corpus"
TOKENS = [b'"', b"[", b"]", b"{", b"}", b",", b":", b"-", b"e9", b"1e309", b"nan", b'"inf"', b"null", b"true", b"\x00"]
TOKENS += [b"\n", b"\r\n", b'""', b"\xff", b"\xef\xbb\xbf", b"9" * 400, b"0.5", b"-1", b"2147483648", b"\\ud800", b";"]
VALUES = [b"null", b"true", b"0", b"-1", b"1", b"2", b"7", b"2147483648", b"1e308", b"-1e150", b"0.5", b"5e-324", b'""']
VALUES += [b'"nan"', b'"inf"', b'"-inf"', b"[]", b"{}", b"[[]]", b"[0]", b'"chain"', b'"rules"', b"1" + b"0" * 30]
CSV = b'age,city,y\n1.5,"Oslo, N",yes\n,Bergen,no\n3e2,"two\nlines",yes\n'
LONGEST_MESSAGE = 1000
MANY = 16  # values replaced at a time, at most


@cache
def model_texts() -> list[bytes]:
    """One model of each kind."""
    return [text_of(kind).encode() for kind in KINDS]


@cache
def spans(index: int) -> list[tuple[int, int]]:
    """Where the values of a model's JSON begin and end: numbers, words, text, lists and objects; no keys."""
    return list(_spans(model_texts()[index]))


def _spans(content: bytes) -> Iterator[tuple[int, int]]:
    begun = []
    for token in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]|[^\s,:\[\]{}"]+', content):
        start, end = token.span()
        if token[0] in b"[{":
            begun.append(start)
        elif token[0] in b"]}":
            yield begun.pop(), end
        elif content[end : end + 1] != b":":
            yield start, end


def with_other_bytes(content: bytes, dice: random.Random) -> bytes:
    """The content with one to six changes: bytes flipped, cut, repeated or replaced by a token."""
    found = bytearray(content)
    for _ in range(dice.randint(1, 6)):
        at, length = dice.randrange(len(found) + 1), dice.choice([1, 1, 2, 5, 50])
        action = dice.randrange(5)
        if action == 0 and found:
            found[min(at, len(found) - 1)] ^= 1 << dice.randrange(8)
        elif action == 1:
            del found[at : at + length]
        elif action == 2:
            found[at:at] = found[at : at + length]
        elif action == 3:
            found[at:at] = dice.choice(TOKENS)
        else:
            found[at : at + length] = dice.choice(TOKENS)
    return bytes(found)


def with_other_values(index: int, dice: random.Random) -> bytes:
    """A model whose JSON stays JSON: one value or several are replaced, doubled, dropped or swapped for another one."""
    content, all_spans = model_texts()[index], spans(index)
    found, last = [], 0
    for start, end in sorted(dice.choice(all_spans) for _ in range(dice.choice([1, 1, 1, 2, MANY]))):
        if start < last:
            continue
        own, action = content[start:end], dice.randrange(5)
        if action == 0:
            new = own + b"," + own
        elif action == 1:
            other = dice.choice(all_spans)
            new = content[other[0] : other[1]]
        elif action == 2 and own[:1] in b"-0123456789":
            new = repr(float(own) * dice.choice([1 + 1e-9, -1.0, 1e6, 0.999])).encode()
        else:
            new = dice.choice(VALUES)
        found += [content[last:start], new]
        last = end
    return b"".join([*found, content[last:]])


def load(content: bytes) -> FERLClassifier:
    """What load_model does with the content of a file."""
    return _estimator(*parsed_model(content))


def read_model(content: bytes) -> str:
    """How reading a model file ends."""
    try:
        model = load(content)
    except ModelFileError as error:
        if len(str(error)) >= LONGEST_MESSAGE:
            raise ValueError("The message is longer than anybody reads.") from error
        return "models refused"
    use(model)
    return "models used"


def read_table(content: bytes, folder: Path) -> str:
    """How reading a CSV file ends."""
    path = folder / "table.csv"
    path.write_bytes(content)
    try:
        for _ in TableFile(path, FileForm()).batches():
            pass
    except (TableFileError, ValueError, OSError):
        return "tables refused"
    return "tables read"


def judge(content: bytes, is_model: bool, folder: Path) -> str:
    """How reading a file ends; one that ends wrongly is kept."""
    try:
        return read_model(content) if is_model else read_table(content, folder)
    except Exception:
        CORPUS.mkdir(exist_ok=True)
        file = CORPUS / f"crash-{hashlib.sha256(content).hexdigest()[:16]}.{'json' if is_model else 'csv'}"
        file.write_bytes(content)
        print(f"kept as {file}")
        raise


def case(seed: int, number: int, folder: Path) -> str:
    """Make one mutant and read it."""
    dice = random.Random(f"{seed} {number}")
    index = dice.randrange(len(KINDS))
    kind = dice.randrange(10)
    if kind == 0:
        return judge(with_other_bytes(CSV, dice), False, folder)
    if kind < 4:
        return judge(with_other_bytes(model_texts()[index], dice), True, folder)
    return judge(with_other_values(index, dice), True, folder)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for kept in sorted(CORPUS.glob("*")) if CORPUS.exists() else []:
            print(kept.name, judge(kept.read_bytes(), kept.suffix == ".json", Path(name)))
        sys.exit(campaign.run("fuzz", "files", lambda seed, number: case(seed, number, Path(name))))
