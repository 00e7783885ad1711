"""
Fewer answers, fewer errors: risk and coverage
==============================================

A model that answers only the rows it is most sure of makes fewer errors. The curve goes from the surest rows on the
left to all rows on the right. A fully grown decision tree is equally sure of every row, so its curve is flat.
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
for name, model in [
    ("ferl", FERLClassifier(random_state=0)),
    ("decision tree", DecisionTreeClassifier(random_state=0)),
]:
    probability = cross_val_predict(model, X, y, cv=3, method="predict_proba")
    plot_risk_coverage(y, labels[probability.argmax(axis=1)], probability.max(axis=1), label=name, ax=ax)

# %%
# :doc:`/guide/trust` explains how to guarantee a point of this curve.
