"""
A pipeline in a file that runs no code
======================================

A pickle runs code when it is loaded. For a classifier alone ``ferl.save_model`` writes JSON; a whole pipeline goes into
a file of skops, which lists what it holds and loads only what you trust.
"""

# %%
# A pipeline with a step of scikit-learn before the rules.

import tempfile
from pathlib import Path

import numpy as np
import skops.io as sio
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl import FERLClassifier

X, y = load_iris(return_X_y=True)
pipe = make_pipeline(StandardScaler(), FERLClassifier(max_rules=10, random_state=0)).fit(X, y)
file = Path(tempfile.mkdtemp()) / "flowers.skops"
sio.dump(pipe, file)

# %%
# What the file holds that skops does not trust by itself. Look at the list before you pass it on: every name should be
# one of ferl's, or one that you expect.

untrusted = sio.get_untrusted_types(file=file)
print(*untrusted, sep="\n")
assert all(name.startswith("ferl.") for name in untrusted)

# %%
# The same answers, to the last bit.

back = sio.load(file, trusted=untrusted)
print("same bits:", np.array_equal(back.predict_proba(X), pipe.predict_proba(X)))
