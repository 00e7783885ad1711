"""The same bits on every CPU: results do not depend on the vector width."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib
import numpy as np
from sklearn.datasets import make_classification
from ferl import FERLClassifier, FERLTreeClassifier
digest = hashlib.sha256()
for n_classes in (2, 3, 11):
    X, y = make_classification(1500, 9, n_informative=7, n_classes=n_classes, random_state=n_classes)
    X[::7, 2] = np.nan
    for weight in (None, np.linspace(0.5, 3, 1500)):
        clf = FERLTreeClassifier("deep", random_state=0).fit(X, y, sample_weight=weight)
        tree, evidence = clf.tree_, clf.predict_evidence(1.3 * X)
        arrays = [tree.trapezoid, tree.class_weight, evidence.belief, evidence.ignorance, evidence.conflict]
        arrays += [tree.cuts.interval, tree.cuts.share, *vars(tree.profile).values()]
        for measure in ("neighbour", "residual"):
            arrays += [read(1.3 * X, measure=measure) for read in (clf.novelty, clf.novelty_attribution)]
        for array in arrays:
            digest.update(array.tobytes())
X, y = make_classification(400, 5, n_informative=5, n_redundant=0, n_clusters_per_class=2, random_state=0)
X[::9, 2] = np.nan
clf = FERLClassifier(cases=True, random_state=0).fit(X, y)
assert clf.n_cases_ == 400
digest.update(clf.predict_proba(1.1 * X).tobytes())
print(digest.hexdigest())
"""


def digest(instruction_set: str) -> str:
    env = {**os.environ, "FERL_INSTRUCTION_SET": instruction_set}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("instruction_set", ["x86-64-v3", "x86-64-v4"])
def test_vector_width_does_not_change_a_bit(instruction_set):
    # On a CPU or compiler without the wider set both runs use the same code, and the test holds trivially.
    assert digest(instruction_set) == digest("baseline")
