"""
Where a model has no answer
===========================

Colours fade with ignorance, where few training rows lie or none. Lines cross where the set has several classes:
between two classes, that is doubt, and away from the rows, that is ignorance.
"""

from sklearn.datasets import load_iris

from ferl import FERLClassifier
from ferl.plot import plot_decision_regions

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]
clf = FERLClassifier(random_state=0).fit(X, y)
ax = plot_decision_regions(clf, X, y, features=(0, 1), feature_names=["petal length", "petal width"])

# %%
# No training row has a petal of 20 cm. There is no answer, and the explanation names the feature.
print(clf.explain([20.0, 1.5], feature_names=["petal length", "petal width"]).summary)
print(clf.support_deficit([[20.0, 1.5]]))
