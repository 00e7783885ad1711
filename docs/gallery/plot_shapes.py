"""
Everything a model of tumours knows
===================================

Curves and maps.
"""

from sklearn.datasets import load_breast_cancer

from ferl import FERLClassifier
from ferl.plot import plot_shapes

data = load_breast_cancer()
clf = FERLClassifier(random_state=0).fit(data.data, data.target_names[data.target])
figure = plot_shapes(clf, feature_names=data.feature_names, max_features=4)
