"""
A scorecard of the Titanic, and an edited one
=============================================

The weights of rules scale to points. A committee can remove a feature; the other weights are then fitted again, and the
cost is printed.
"""

from importlib.resources import files

import matplotlib.pyplot as plt
import pandas as pd

from ferl import FERLClassifier
from ferl.editing import edit
from ferl.export import Scorecard
from ferl.plot import plot_shapes

titanic = pd.read_csv(files("ferl._cli") / "data" / "titanic.csv").sample(frac=1, random_state=0)
X, y = titanic.drop(columns="outcome"), titanic["outcome"]
clf = FERLClassifier(max_rules=10, max_conditions=1, max_maps=None, random_state=0).fit(X[:900], y[:900])
print(Scorecard(clf, rounded=True).text())

# %%
# Totals of the passengers who survived and who died.
total = Scorecard(clf).total(X[900:])
ax = plt.figure(figsize=(6, 3)).subplots()
kinds = ["died", "survived"]
ax.hist([total[y[900:] == kind] for kind in kinds], bins=25, stacked=True, label=kinds, color=["#0072B2", "#E69F00"])
ax.set(xlabel="points", ylabel="passengers")
ax.legend()

# %%
# The same model without the fare.
changed = edit(clf).forbid("fare").refit(X[:900], y[:900])
print(changed.cost(X[900:], y[900:]))
figure = plot_shapes(changed, max_features=3)
