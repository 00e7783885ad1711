"""
Rules in words: iris in low, medium and high
============================================

If people have agreed what "high" means, rules can use their words. Here the words come from the quantiles of the table.
You can also write them yourself (:doc:`/guide/words`).
"""

from sklearn.datasets import load_iris

from ferl import FERLClassifier, export_text
from ferl.plot import plot_memberships

iris = load_iris()
names = ["sepal length", "sepal width", "petal length", "petal width"]
clf = FERLClassifier(words=True, random_state=0).fit(iris.data, iris.target_names[iris.target])
ax = plot_memberships(clf, "petal length", feature_names=names)

# %%
print(export_text(clf, feature_names=names))
