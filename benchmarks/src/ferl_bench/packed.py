"""Results of rivals in one small file, so that a page can be made again with only our own fits.

Two commands: ``python -m ferl_bench.packed bench-results/results.jsonl --to docs/results/rivals.jsonl.xz`` packs them,
``ferl bench frontier --data DIR --known docs/results/rivals.jsonl.xz`` takes them as known. Each has the fingerprint of
its data, code and versions: where one of these differs, the result is not used.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterable, Sequence
from pathlib import Path

from ferl_bench.cache import ResultFile
from ferl_bench.errors import BenchError
from ferl_bench.method import all_methods


def pack(sources: Iterable[Path], target: Path) -> int:
    """Write what the files have of rivals, and return how many results these are.

    Parameters
    ----------
    sources : iterable of Path
        Files of results, packed or not; of equal fingerprints the last counts.
    target : Path
        The packed file. It may be one of the sources.

    Returns
    -------
    int
    """
    rivals = _rivals()
    found = {key: line for source in sources for key, line in _lines(source).items()}
    # Results of one data set share many figures: side by side they take less space.
    entries = [(json.loads(line), line) for line in found.values()]
    lines = sorted(
        (one["data_set"], one["method"], one["fold"], line) for one, line in entries if one["method"] in rivals
    )
    target.write_bytes(
        lzma.compress("".join(f"{line}\n" for *_, line in lines).encode(), preset=9 | lzma.PRESET_EXTREME)
    )
    return len(lines)


def unpack(packed: Path, results: Path) -> int:
    """Add results of a packed file to a file of results that lacks them, and return how many were added."""
    known = _lines(results) if results.exists() else {}
    new = [line for key, line in _lines(packed).items() if key not in known]
    # The first makes the folder, and ends a line that was cut short.
    with ResultFile(results, fresh=True), results.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in new))
    return len(new)


def _lines(path: Path) -> dict[str, str]:
    """The results of a file by fingerprint, as lines; failures, and what cannot be read, are left out."""
    try:
        text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    except (OSError, lzma.LZMAError) as error:
        raise BenchError(f"{path} cannot be read: {error}") from error
    found = {}
    for line in text.decode(errors="replace").splitlines():
        try:
            entry = json.loads(line)
            if "error" not in entry or "limit_minutes" in entry:
                found[str(entry["fingerprint"])] = line
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _rivals() -> set[str]:
    """Names of the methods that are not ours, of all tables and suites."""
    from ferl_bench.suites import learners, pmlb_methods, rivals

    methods = [*all_methods(), *rivals.METHODS, *pmlb_methods.METHODS, *learners.METHODS]
    return {method.name for method in methods if not method.is_ours}


def main(arguments: Sequence[str] | None = None) -> None:
    """Pack the files that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m ferl_bench.packed", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("sources", type=Path, nargs="+", help="files of results, packed or not")
    parser.add_argument("--to", type=Path, required=True, help="the packed file, .jsonl.xz")
    asked = parser.parse_args(arguments)
    n_packed = pack(asked.sources, asked.to)
    print(f"{asked.to}: {n_packed} results, {asked.to.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
