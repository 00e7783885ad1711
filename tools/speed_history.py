#!/usr/bin/env python3
"""Speed and memory across commits, as multiples of scikit-learn's tree in the same process; writes docs/history.md.

::

    python tools/speed_history.py HEAD v0.1.0     # measures these commits, and adds them to the page
    python tools/speed_history.py --page          # writes the page anew from what was measured

Each commit is checked out and compiled in build/history; commits with the same ``cpp/`` share a compiled core. Times
are those of the processor on one thread, the smallest of some repeats, so that other work on the machine matters
little. Needs what a developer's build needs: CMake, ninja, nanobind, a compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "history"
RECORDS = ROOT / "tools" / "speed_history.json"
PAGE = ROOT / "docs" / "history.md"
N_TRAIN, N_NEW, N_FEATURES = 2000, 20_000, 20
COLUMNS = {
    "fit": f"`fit`, wide, {N_TRAIN:,} x {N_FEATURES}",
    "predict": f"`predict_proba`, {N_NEW:,} rows",
    "novelty": f"`novelty`, {N_NEW // 10:,} rows",
    "explain": "`explain`, one row",
    "import": "import",
    "memory": "peak memory",
}


# ---------------------------------------------------------------------------------------------------------------------
# In a process of its own, with the ferl of one commit
# ---------------------------------------------------------------------------------------------------------------------


def seconds(work: Callable[[], Any], times: int, repeats: int) -> float:
    """Return the smallest processor time of some repeats, each of several times: the clock has coarse ticks."""
    taken = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(times):
            work()
        taken.append((time.process_time() - start) / times)
    return min(taken)


def measure(package: str) -> dict[str, float]:
    """Measure ferl or the tree: seconds, and bytes at the peak of a process that does all of it."""
    # The finder of an editable install comes before PYTHONPATH and would give its own ferl instead of the commit's.
    sys.meta_path[:] = [finder for finder in sys.meta_path if "ferl" not in getattr(finder, "known_source_files", ())]
    start = time.process_time()
    if package == "ferl":
        from ferl import FERLClassifier
        from ferl import __file__ as found_at

        if not Path(found_at).is_relative_to(os.environ["PYTHONPATH"]):
            raise SystemExit(f"{found_at} is not the commit's: run this with a Python that has no ferl installed")
    else:
        from sklearn.tree import DecisionTreeClassifier
    result = {"import": time.process_time() - start}
    from sklearn.datasets import make_classification

    X, y = make_classification(N_TRAIN + N_NEW, N_FEATURES, n_informative=8, n_classes=3, flip_y=0.1, random_state=0)
    X_train, y_train, X_new = X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:]
    some = X_new[: N_NEW // 10]
    model: Any
    if package == "ferl":
        model = FERLClassifier(random_state=0, n_jobs=1)
        result["fit"] = seconds(lambda: model.fit(X_train, y_train), 1, 3)
        result["novelty"] = seconds(lambda: model.novelty(some), 1, 3)
        result["explain"] = seconds(lambda: model.explain(X_new[0]), 3, 3)
    else:
        model = DecisionTreeClassifier(random_state=0)
        result["fit"] = seconds(lambda: model.fit(X_train, y_train), 1, 5)
        result["novelty"] = seconds(lambda: model.predict_proba(some), 50, 5)
        result["explain"] = seconds(lambda: model.decision_path(X_new[:1]), 200, 5)
    result["predict"] = seconds(lambda: model.predict_proba(X_new), 5, 5)
    kilobyte = 1.0 if sys.platform == "darwin" else 1024.0  # macOS counts bytes
    result["memory"] = kilobyte * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return result


# ---------------------------------------------------------------------------------------------------------------------
# All commits
# ---------------------------------------------------------------------------------------------------------------------


def git(*words: str) -> str:
    """Return what git says."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def checked_out(commit: str) -> Path:
    """Return the folder of Python files of a commit, with its compiled core."""
    folder = WORK / commit[:12]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    core = WORK / "cores" / f"{git('rev-parse', f'{commit}:cpp')[:12]}{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not core.exists():
        build = WORK / "cmake"
        shutil.rmtree(build, ignore_errors=True)
        options = ["-DSKBUILD=2", "-DSKBUILD_PROJECT_NAME=ferl", "-DCMAKE_BUILD_TYPE=Release"]
        nanobind = subprocess.run(
            [sys.executable, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True
        ).stdout.strip()
        options += [f"-DPython_EXECUTABLE={sys.executable}", f"-Dnanobind_DIR={nanobind}"]
        subprocess.run(["cmake", "-S", str(folder), "-B", str(build), "-G", "Ninja", *options], check=True)
        subprocess.run(["cmake", "--build", str(build)], check=True)
        core.parent.mkdir(exist_ok=True)
        shutil.copy(next(build.glob("_core*.so")), core)
    shutil.copy(core, folder / "src" / "ferl" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}")
    return folder / "src"


def ratios(source: Path) -> dict[str, float]:
    """Return everything that is measured as a multiple of what scikit-learn's tree takes, just before and after."""
    env = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def run(package: str) -> dict[str, float]:
        command = [sys.executable, str(Path(__file__).resolve()), "--measure", package]
        done = subprocess.run(command, env=env, cwd=source, capture_output=True, text=True, check=True)
        result: dict[str, float] = json.loads(done.stdout)
        return result

    before, ours, after = run("tree"), run("ferl"), run("tree")
    return {task: ours[task] / min(before[task], after[task]) for task in COLUMNS}


def shown(value: float) -> str:
    """Return a ratio with three digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def page(records: list[dict[str, Any]]) -> str:
    """Return the page: a row for each commit, the newest first."""
    lines = [
        "---",
        "orphan: true",
        "---",
        "",
        "# Speed across commits",
        "",
        "What ferl takes as a multiple of what scikit-learn's decision tree takes for the same rows, on one thread, in",
        "processor time: 1 is as fast as the tree. A tree has no novelty and no explanation: `novelty` is compared",
        "with `predict_proba` of as many rows, `explain` with the path of one row, `import` with `sklearn.tree`,",
        "memory with a process that does the same. `python tools/speed_history.py COMMIT ...` writes this.",
        "",
        "| Commit | Date | " + " | ".join(COLUMNS.values()) + " |",
        "|---|---|" + "---|" * len(COLUMNS),
    ]
    for record in sorted(records, key=lambda item: item["date"], reverse=True):
        cells = " | ".join(shown(record["ratios"][task]) for task in COLUMNS)
        lines.append(f"| `{record['commit']}` | {record['date'][:10]} | {cells} |")
    machines = sorted({record["machine"] for record in records})
    lines += ["", f"Measured with {'; '.join(machines)}.", ""]
    return "\n".join(lines)


def main() -> None:
    """Measure commits and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", help="names of commits")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--measure", choices=("ferl", "tree"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    if not options.commits and not options.page:
        parser.error("name a commit, such as HEAD, or give --page")
    records = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else []
    import numpy as np
    import sklearn

    machine = f"Python {sys.version.split()[0]}, numpy {np.__version__}, scikit-learn {sklearn.__version__}"
    for name in options.commits:
        commit = git("rev-parse", f"{name}^{{commit}}")
        print(f"{name} ({commit[:12]})", flush=True)
        record = {
            "commit": commit[:12],
            "date": git("show", "-s", "--format=%cI", commit),
            "machine": machine,
            "ratios": {task: round(value, 4) for task, value in ratios(checked_out(commit)).items()},
        }
        records = [item for item in records if item["commit"] != record["commit"]] + [record]
        RECORDS.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(records), encoding="utf-8")


if __name__ == "__main__":
    main()
