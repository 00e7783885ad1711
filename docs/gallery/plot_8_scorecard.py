"""
Points and edits
================

Scores in base two are points. A curve that an expert does not believe can be taken away or made monotone; the other
weights are then fitted again, and the cost is printed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from ferl import FERLClassifier
from ferl.editing import edit
from ferl.export import Scorecard
from ferl.plot import plot_shapes

rng = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "income": rng.uniform(10, 90, 900).round(),
        "years at address": rng.integers(0, 20, 900),
        "home": rng.choice(["own", "rent", "other"], 900),
    }
)
worth = 0.06 * X["income"] + 0.1 * X["years at address"] + 1.2 * (X["home"] == "own") - 4
y = np.where(rng.logistic(size=900) < worth, "repaid", "defaulted")
clf = FERLClassifier(random_state=0).fit(X[:600], y[:600])
print(Scorecard(clf, rounded=True).text())

# %%
changed = edit(clf).forbid("home").refit(X[:600], y[:600])
print(changed.cost(X[600:], y[600:]))
figure = plot_shapes(changed)

# %%
# Totals of repaid and defaulted loans.
total = Scorecard(clf).total(X[600:])
ax = plt.figure(figsize=(6, 3)).subplots()
kinds = ["repaid", "defaulted"]
ax.hist([total[y[600:] == kind] for kind in kinds], bins=25, stacked=True, label=kinds, color=["#56B4E9", "#D55E00"])
ax.set(xlabel="points", ylabel="loans")
ax.legend()
