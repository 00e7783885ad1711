"""Digests of fitted trees and their answers: the same table gives the same bits, whatever is rearranged in the code."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn import datasets

from ferl import FERLClassifier

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "keel"
EMBEDDED = ("iris", "digits", "breast_cancer")
VARIANTS = ("deep", "medium")
N_CERTIFIED = 40  # rows whose radius is taken in: certificates cost the most
TREE = ("parent", "feature", "trapezoid", "support", "class_weight", "consequent", "gain", "share")
PROFILE = ("mean", "variance", "exemplar", "exemplar_row")


def table_of(name):
    """A table and its labels: one of scikit-learn's, or one of the folder, with its categories as text."""
    if name in EMBEDDED:
        return getattr(datasets, f"load_{name}")(return_X_y=True)
    table = pyarrow.csv.read_csv(FOLDER / f"{name}.csv")
    labels = np.asarray(table["class"].to_pylist()).astype(str)
    return table.drop_columns(["class"]), labels


def digest_of(name, variant):
    """SHA-256 of a fitted tree's arrays and of what it answers for its training rows."""
    X, y = table_of(name)
    model = FERLClassifier(variant, random_state=0).fit(X, y)
    tree, evidence = model.tree_, model.predict_evidence(X)
    arrays = [getattr(tree, own) for own in TREE] + [getattr(tree.profile, own) for own in PROFILE]
    arrays += [tree.cuts.interval, tree.cuts.share]
    if tree.categories is not None:
        arrays += [tree.categories.start, tree.categories.membership]
    first = X.slice(0, N_CERTIFIED) if isinstance(X, pa.Table) else X[:N_CERTIFIED]
    arrays += [evidence.belief, evidence.ignorance, evidence.conflict, model.predict_proba(X)]
    arrays += [model.novelty(X), model.support_deficit(X), model.certified_radius(first)]
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
