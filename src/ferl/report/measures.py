"""How good the answers are, as numbers and as the points of two pictures."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ferl.metrics import aurc, expected_calibration_error, risk_coverage_curve
from ferl.report.table_reading import TableReading

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

N_BINS = 15  # of confidence, as in expected_calibration_error
MAX_POINTS = 200  # of a curve
MAX_CLASSES = 40  # of a confusion matrix that can be read


def measures(reading: TableReading, classes: list[str]) -> dict[str, Any] | None:
    """What can be said of answers whose labels are known; None where no row has one.

    A label that is none of the model's classes cannot be hit: it counts as an error and as not covered.

    Parameters
    ----------
    reading : TableReading
        The table, read.
    classes : list of str
        Names of the classes.

    Returns
    -------
    dict or None
    """
    truth, label, confidence = reading.answers()
    n = len(truth)
    if not n:
        return None
    correct = truth == label
    coverage, risk, _ = risk_coverage_curve(truth, label, confidence)
    return {
        "n_rows": n,
        "n_without_label": reading.n_rows - n,
        "n_other_labels": int((truth < 0).sum()),
        "accuracy": float(correct.mean()),
        "aurc": aurc(truth, label, confidence),
        "ece": expected_calibration_error(truth, label, confidence, N_BINS),
        "set_coverage": reading.n_covered / n,
        "by_class": _by_class(truth, label, classes),
        "confusion": _confusion(truth, label, classes) if len(classes) <= MAX_CLASSES else None,
        "reliability": _reliability(correct, confidence),
        "risk_coverage": _thinned(coverage, risk),
    }


def _by_class(truth: Codes, label: Codes, classes: list[str]) -> list[dict[str, Any]]:
    rows = np.bincount(truth[truth >= 0], minlength=len(classes))
    said = np.bincount(label, minlength=len(classes))
    hits = np.bincount(label[truth == label], minlength=len(classes))
    return [
        {
            "name": name,
            "n_rows": int(rows[c]),
            "n_predicted": int(said[c]),
            "recall": float(hits[c] / rows[c]) if rows[c] else None,
            "precision": float(hits[c] / said[c]) if said[c] else None,
        }
        for c, name in enumerate(classes)
    ]


def _confusion(truth: Codes, label: Codes, classes: list[str]) -> dict[str, Any]:
    """Counts by true and predicted class, and their shares of the true one; other labels have a row of their own."""
    n_classes = len(classes)
    place = np.where(truth >= 0, truth, n_classes).astype(np.int64)
    counts = np.bincount(place * n_classes + label, minlength=(n_classes + 1) * n_classes).reshape(-1, n_classes)
    names = [*classes, "other labels"]
    kept = [row for row in range(n_classes + 1) if row < n_classes or counts[row].any()]
    return {
        "rows": [
            {
                "name": names[row],
                "is_class": row < n_classes,
                "counts": counts[row].tolist(),
                "shares": (counts[row] / max(counts[row].sum(), 1)).tolist(),
            }
            for row in kept
        ]
    }


def _reliability(correct: NDArray[np.bool_], confidence: Floats) -> list[dict[str, float]]:
    """Bins of confidence that hold rows: their mean confidence, accuracy and share of the rows."""
    place = np.clip(np.ceil(confidence * N_BINS).astype(np.int64) - 1, 0, N_BINS - 1)
    counts = np.bincount(place, minlength=N_BINS)
    hits = np.bincount(place, correct, minlength=N_BINS)
    sure = np.bincount(place, confidence, minlength=N_BINS)
    return [
        {
            "low": bin_ / N_BINS,
            "confidence": float(sure[bin_] / counts[bin_]),
            "accuracy": float(hits[bin_] / counts[bin_]),
            "share": float(counts[bin_] / len(correct)),
            "n_rows": int(counts[bin_]),
        }
        for bin_ in np.flatnonzero(counts).tolist()
    ]


def _thinned(coverage: Floats, risk: Floats) -> list[list[float]]:
    """Points of a curve, of many some that lie evenly, the first and the last among them."""
    places = np.unique(np.linspace(0, len(coverage) - 1, min(len(coverage), MAX_POINTS)).round().astype(int))
    return [[float(coverage[place]), float(risk[place])] for place in places]
