"""Campaigns of numbered cases: each case is made from the seed and its number, counted, and never run twice.

The counts are kept in a file, so that a campaign of hours can be run in pieces: the same command goes on where the last
one ended. A case that ended wrongly is named, and its number makes it again (``--only NUMBER``).
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

KEPT = Path(__file__).parent.parent / "build" / "guards"
WRONG = "WRONG"
EVERY = 5.0  # seconds between two notes of how far the campaign has come


def run(name: str, what: str, case: Callable[[int, int], str | Mapping[str, int]]) -> int:
    """Run a campaign as the command line says; returns the exit code.

    Parameters
    ----------
    name : str
        Of the file that keeps the counts.
    what : str
        What a case is, in the plural.
    case : callable
        Takes the seed and the number of a case; returns how it ended, or what is counted of it. An exception: it ended
        wrongly.
    """
    parser = argparse.ArgumentParser(description=f"Run {what} until there are so many, or for so long.")
    parser.add_argument("--cases", type=int, default=1_000_000, help="in all, those of earlier runs among them")
    parser.add_argument("--minutes", type=float, default=10.0, help="at most, for this run")
    parser.add_argument("--seed", type=int, default=1, help="another one: another campaign, counted by itself")
    parser.add_argument("--only", type=int, help="run this one case and show what is wrong with it")
    given = parser.parse_args()
    if given.only is not None:
        print(case(given.seed, given.only))
        return 0
    file = KEPT / f"{name}-{given.seed}.json"
    kept = json.loads(file.read_text()) if file.exists() else {"cases": 0, "seconds": 0.0, "ends": {}, "wrong": []}
    ends, first, seconds = Counter[str](kept["ends"]), kept["cases"], kept["seconds"]
    end, noted, began = time.monotonic() + 60 * given.minutes, time.monotonic(), time.process_time()

    def keep() -> None:
        kept["ends"], kept["seconds"] = dict(ends), seconds + time.process_time() - began
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(kept, indent=1) + "\n")

    while kept["cases"] < given.cases and time.monotonic() < end:
        number = kept["cases"]
        try:
            how = case(given.seed, number)
            ends.update([how] if isinstance(how, str) else how)
        except Exception:
            traceback.print_exc()
            print(f"case {number} of seed {given.seed} ended wrongly: --seed {given.seed} --only {number}")
            ends[WRONG] += 1
            kept["wrong"].append(number)
        kept["cases"] += 1
        if time.monotonic() > noted + EVERY:
            noted = time.monotonic()
            keep()
    keep()
    rate = (kept["cases"] - first) / max(time.process_time() - began, 1e-9)
    print(f"{kept['cases'] - first:,} {what} in this run, {rate:,.1f} for each second of processor time")
    print(
        f"seed {given.seed}, {kept['cases']:,} in all: " + ", ".join(f"{n:,} {how}" for how, n in sorted(ends.items()))
    )
    return 1 if ends[WRONG] else 0
