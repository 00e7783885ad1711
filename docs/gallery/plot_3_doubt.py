"""
Where a model says nothing
==========================

Colours fade with ignorance. Between two classes, and outside of what training saw, no class deserves an answer.
"""

from sklearn.datasets import load_iris

from ferl import FERLClassifier
from ferl.plot import plot_decision_regions

iris = load_iris()
X, y = iris.data[:, 2:], iris.target_names[iris.target]
clf = FERLClassifier(random_state=0).fit(X, y)
ax = plot_decision_regions(clf, X, y, features=(0, 1), feature_names=["petal length", "petal width"])

# %%
# A petal of 20 cm is of no flower that the model knows. It says so, and names the feature.
print(clf.explain([20.0, 1.5], feature_names=["petal length", "petal width"]).summary)
print(clf.support_deficit([[20.0, 1.5]]))
