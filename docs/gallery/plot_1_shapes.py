"""
Curves and maps: the whole model of tumours
===========================================

All rules on one feature add up to a curve, and rules on two features to a map. Together they are the whole model. The
picture shows the three most important ones. Values above zero support *malignant*, values below zero support *benign*.
Grey bars are training rows.
"""

from sklearn.datasets import load_breast_cancer

from ferl import FERLClassifier
from ferl.plot import plot_shapes

data = load_breast_cancer()
clf = FERLClassifier(random_state=0).fit(data.data, data.target_names[data.target])
figure = plot_shapes(clf, feature_names=data.feature_names, max_features=3)

# %%
# With ``max_conditions=1`` each rule has one feature, so there are curves only.
curves = FERLClassifier(max_conditions=1, random_state=0).fit(data.data, data.target_names[data.target])
print(f"{clf.n_rules_} rules of up to three conditions, {curves.n_rules_} of one")
figure = plot_shapes(curves, feature_names=data.feature_names, max_features=3)
