"""
Answer less, err less
=====================

A model that knows what it does not know makes fewer errors on the rows that it answers first. The curve goes from the
surest rows on the left to all rows on the right. A decision tree that was grown to the end is sure of everything.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from ferl import FERLClassifier
from ferl.plot import plot_risk_coverage

X, progress = load_diabetes(return_X_y=True)
y = np.where(progress > 140, "fast", "slow")
labels = np.unique(y)
ax = plt.figure(figsize=(6, 4)).subplots()
for name, model in [("FERL", FERLClassifier(random_state=0)), ("CART", DecisionTreeClassifier(random_state=0))]:
    probability = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    plot_risk_coverage(y, labels[probability.argmax(axis=1)], probability.max(axis=1), label=name, ax=ax)

# %%
# How to promise a point of this curve: :doc:`/guide/trust`.
