"""
Where there is no answer: decision regions of iris
==================================================

Colours fade with ignorance, which is high where few training rows lie. Hatched areas have sets of several classes:
between two classes because of doubt, and far from the rows because of ignorance.
"""

from sklearn.datasets import load_iris

from ferl import FERLClassifier
from ferl.plot import plot_decision_regions

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]
clf = FERLClassifier(random_state=0).fit(X, y)
ax = plot_decision_regions(clf, X, y, features=(0, 1), feature_names=["petal length", "petal width"])

# %%
# No training row has a petal of 20 cm, so there is no answer. The explanation names the feature.
print(clf.explain([20.0, 1.5], feature_names=["petal length", "petal width"]).summary)
print(clf.support_deficit([[20.0, 1.5]]))
