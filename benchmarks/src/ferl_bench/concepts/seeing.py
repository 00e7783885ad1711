"""What detectors see in a concept set: trained once for each seed and set of classes, kept on disk."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl._util.arrays import Floats
from ferl.concepts import ConceptCalibrator, ConceptDetector, see_concepts
from ferl_bench.concepts.data import ConceptSet
from ferl_bench.concepts.torch_detector import TorchDetector
from ferl_bench.errors import require
from ferl_bench.facts import code_digest, versions

Rows = NDArray[np.intp]

N_FOLDS = 5
_CODE = ("ferl/concepts/detectors.py", "ferl_bench/concepts/torch_detector.py")


@dataclass(frozen=True, eq=False)
class View:
    """A set as detectors of one seed see it, some classes left out.

    Attributes
    ----------
    rows : ndarray of int
        Training rows of the known classes.
    cross_fitted, in_sample : ndarray of shape (len(rows), n_concepts)
        Probabilities of the training rows, by detectors that had not seen them, and by the one that had.
    new : ndarray of shape (n_other, n_concepts)
        Probabilities of all rows that are not for training, of any class.
    new_rows : ndarray of int
        Which these are.
    seconds : float
        To train all detectors, those of the folds and the one for new rows, by the clock.
    cpu_seconds : float
        The same, in processor time.
    """

    rows: Rows
    cross_fitted: Floats
    in_sample: Floats
    new: Floats
    new_rows: Rows
    seconds: float
    cpu_seconds: float

    def concepts(self, data: ConceptSet, *, crossfit: bool, calibrated: bool) -> tuple[Floats, Floats]:
        """Concepts of training rows, as a head learns from them, and of the other rows."""
        probability = self.cross_fitted if crossfit else self.in_sample
        if not calibrated:
            return probability, self.new
        calibrator = ConceptCalibrator().fit(probability, data.concepts[self.rows])
        return calibrator.transform(probability), calibrator.transform(self.new)


def see(data: ConceptSet, seed: int, folder: Path, *, left_out: Rows | None = None) -> View:
    """What detectors see, known from an earlier run or trained now.

    Parameters
    ----------
    data : ConceptSet
        The set.
    seed : int
        Of detectors and folds.
    folder : Path
        Where views are kept.
    left_out : ndarray of int, optional
        Classes whose rows no detector sees.

    Returns
    -------
    View
    """
    classes = sorted([] if left_out is None else left_out.tolist())
    path = folder / "concepts" / f"{_key(data, seed, classes)}.npz"
    if not path.exists():
        _keep(path, _train(data, seed, classes))
    with np.load(path, allow_pickle=False) as arrays:
        stored: dict[str, Any] = {name: arrays[name] for name in arrays.files}
    return View(**stored | {name: float(stored[name]) for name in ("seconds", "cpu_seconds")})


def _train(data: ConceptSet, seed: int, left_out: list[int]) -> dict[str, Any]:
    torch = require("torch", "torch")
    # More threads than free cores wait for each other: measured 4 times slower with two on a busy machine.
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = data.train[~np.isin(data.y[data.train], left_out)]
        new_rows = np.setdiff1d(np.arange(len(data.y)), data.train)
        detector = ConceptDetector(TorchDetector(random_state=seed, device="cpu"))
        X, truth, y = data.features[rows], data.concepts[rows], data.y[rows]
        start, cpu_start = perf_counter(), process_time()
        seen = see_concepts(detector, X, truth, y, N_FOLDS, seed)
        seconds, cpu_seconds = perf_counter() - start, process_time() - cpu_start
        return {
            "rows": rows,
            "cross_fitted": seen.probability,
            "in_sample": seen.detector.predict_proba(X),
            "new": seen.detector.predict_proba(data.features[new_rows]),
            "new_rows": new_rows,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
        }
    finally:
        torch.set_num_threads(n_threads)


def _key(data: ConceptSet, seed: int, left_out: list[int]) -> str:
    parts = {
        "code": code_digest(ours=False, further=_CODE),
        "data": data.digest,
        "folds": N_FOLDS,
        "left out": left_out,
        "seed": seed,
        "versions": versions(("numpy", "scikit-learn", "torch")),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _keep(path: Path, arrays: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp.npz")  # savez adds the ending itself where it is missing
    np.savez(temporary, **arrays)
    temporary.replace(path)
