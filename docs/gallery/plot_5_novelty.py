"""
Novelty: wines of a kind that training did not have
===================================================

One of three kinds of wine is left out of training. Its wines are more novel than the training rows, and the novelty of
each wine can be divided among the features.
"""

from sklearn.datasets import load_wine

from ferl import FERLClassifier
from ferl.plot import plot_novelty, plot_novelty_of_rows

wine = load_wine(as_frame=True)
X, y = wine.data.rename(columns=lambda name: name.replace("_", " ")), wine.target
fitted = (y != 2) & (y.index % 2 == 0)
clf = FERLClassifier(random_state=0).fit(X[fitted], y[fitted])
ax = plot_novelty_of_rows(clf, X[y == 2], label="the kind that was left out")

# %%
# The features that make one of these wines unlike the training rows.
strangest = X[y == 2].iloc[clf.novelty(X[y == 2]).argmax()]
ax = plot_novelty(clf, strangest)
