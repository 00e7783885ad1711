"""Throw mutants of model files and of CSV files at the doors that read them.

Whatever a file holds, reading it ends in an answer or in an error of the right kind. A file that ends otherwise is kept
in ``guards/corpus``, and every later run begins with the files that are there.

::

    python guards/fuzz_model_file.py --minutes 10
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from ferl import ModelFileError, load_model  # noqa: E402
from ferl._tables.files import FileForm, TableFile  # noqa: E402
from ferl._util.files import TableFileError  # noqa: E402
from test_model_hostile import KINDS, text_of, use  # noqa: E402

CORPUS = HERE / "corpus"
TOKENS = [b'"', b"[", b"]", b"{", b"}", b",", b":", b"-", b"e9", b"1e309", b"nan", b'"inf"', b"null", b"true", b"\x00"]
TOKENS += [b"\n", b"\r\n", b'""', b"\xff", b"\xef\xbb\xbf", b"9" * 400, b"0.5", b"-1", b"2147483648", b"\\ud800", b";"]
CSV = b'age,city,y\n1.5,"Oslo, N",yes\n,Bergen,no\n3e2,"two\nlines",yes\n'


def mutant(content: bytes, dice: random.Random) -> bytes:
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


def changed_value(content: bytes, dice: random.Random) -> bytes:
    """A model whose JSON has one value replaced, dropped or doubled."""
    form = json.loads(content)
    holder, key = form, dice.choice(list(form))
    while isinstance(holder[key], dict | list) and holder[key] and dice.random() < 0.8:
        holder = holder[key]
        key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
    action = dice.randrange(3)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder[key], list):
        holder[key] = holder[key] * 2
    else:
        holder[key] = dice.choice(
            [None, True, 0, -1, 2**31, 1e308, 0.5, "", "nan", "inf", [], {}, [[]], "chain", 10**30]
        )
    return json.dumps(form).encode()


def read_model(content: bytes, folder: Path) -> str:
    """How reading a model file ends."""
    path = folder / "model.json"
    path.write_bytes(content)
    try:
        model = load_model(path)
    except ModelFileError:
        return "model refused"
    use(model)
    return "model used"


def read_table(content: bytes, folder: Path) -> str:
    """How reading a CSV file ends."""
    path = folder / "table.csv"
    path.write_bytes(content)
    try:
        for _ in TableFile(path, FileForm()).batches():
            pass
    except (TableFileError, ValueError, OSError):
        return "table refused"
    return "table read"


def run(minutes: float, seed: int) -> Counter[str]:
    """Read mutants for so long; the counts say how it ended."""
    dice, ends = random.Random(seed), Counter[str]()
    seeds = [text_of(kind).encode() for kind in KINDS]
    kept = [path.read_bytes() for path in sorted(CORPUS.glob("*"))] if CORPUS.exists() else []
    end = time.monotonic() + 60 * minutes
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as name:
        for content in kept:
            ends[read_model(content, Path(name)) if content[:1] in b"{[" else read_table(content, Path(name))] += 1
        while time.monotonic() < end:
            is_model = dice.random() < 0.8
            own = dice.choice(seeds) if is_model else CSV
            own = changed_value(own, dice) if is_model and dice.random() < 0.6 else mutant(own, dice)
            try:
                ends[(read_model if is_model else read_table)(own, Path(name))] += 1
            except Exception:
                CORPUS.mkdir(exist_ok=True)
                file = CORPUS / f"crash-{seed}-{sum(ends.values())}.{'json' if is_model else 'csv'}"
                file.write_bytes(own)
                traceback.print_exc()
                print(f"kept as {file}")
                ends["WRONG"] += 1
    return ends


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="default: another one every time")
    given = parser.parse_args()
    chosen = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    counts = run(given.minutes, chosen)
    print(f"seed {chosen}: " + ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items())))
    sys.exit(1 if counts["WRONG"] else 0)
