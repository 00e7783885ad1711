"""
A threshold for a cost
======================

scikit-learn's ``TunedThresholdClassifierCV`` chooses the probability from which on a row counts as positive, by
cross-validation on the training rows. Here a missed positive costs five times as much as a false alarm.
"""

# %%
# The data, and what a mistake costs.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from ferl import FERLClassifier

X, y = make_classification(
    2000, n_features=5, n_informative=3, n_redundant=0, weights=[0.8], flip_y=0.1, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)


def gain(truth, answer):
    """Minus the cost of an average row: 5 for a missed positive, 1 for a false alarm."""
    (_, false_alarms), (missed, _) = confusion_matrix(truth, answer, labels=[0, 1])
    return -(5 * missed + false_alarms) / len(truth)


# %%
# The threshold is chosen on training rows alone.

tuned = TunedThresholdClassifierCV(
    FERLClassifier(max_rules=10, random_state=0), scoring=make_scorer(gain), cv=3, store_cv_results=True
).fit(X_train, y_train)
plain = FERLClassifier(max_rules=10, random_state=0).fit(X_train, y_train)
print(f"threshold {tuned.best_threshold_:.2f} instead of 0.50")
print(
    f"cost of a test row: {-gain(y_test, tuned.predict(X_test)):.3f}, plain {-gain(y_test, plain.predict(X_test)):.3f}"
)

# %%
# How the cost depends on the threshold.

figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(tuned.cv_results_["thresholds"], -np.asarray(tuned.cv_results_["scores"]))
axes.axvline(tuned.best_threshold_, linestyle="--", color="black")
axes.set(xlabel="a row counts as positive from this probability on", ylabel="cost of a row")

# %%
# The fitted classifier inside answers all other questions as ever.

evidence = tuned.estimator_.predict_evidence(X_test)
print(f"{(evidence.prediction_set().sum(axis=1) > 1).mean():.1%} of the test rows have both classes in their set")
