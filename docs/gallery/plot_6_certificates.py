"""
Certificates: how far a label provably holds
============================================

No row in the box around a row gets another label: this is what a certified radius proves. Wrong answers tend to have
small radii. The second part tries to change labels inside the radius, and never succeeds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from ferl import FERLClassifier

data = load_breast_cancer()
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target, random_state=0)
clf = FERLClassifier(random_state=0).fit(X_train, y_train)
radius = clf.certified_radius(X_test, scale="spread")
right = clf.predict(X_test) == y_test
ax = plt.figure(figsize=(6, 3.5)).subplots()
ax.hist([radius[right], radius[~right]], bins=20, stacked=True, label=["right", "wrong"], color=["#56B4E9", "#D55E00"])
ax.set(xlabel="certified radius (standard deviations)", ylabel="test rows")
ax.legend()

# %%
rng = np.random.default_rng(0)
spread = X_train.std(axis=0)
changed = 0
for row, reach in zip(X_test, radius, strict=True):
    corners = row + rng.choice([-0.999, 0.999], (50, row.size)) * reach * spread
    changed += (clf.predict(corners) != clf.predict(row[None])[0]).sum()
print(f"{changed} of {50 * len(X_test)} attacks at the corners of the boxes changed a label")
