"""
A fitted model that nothing fits again
======================================

``FrozenEstimator`` keeps a fitted classifier as it is when a tool of scikit-learn would clone and fit it. The model
that was reviewed is then the model that is calibrated, wrapped and shipped; its evidence, sets and novelty stay within
reach.
"""

# %%
# A model, and rows that it was not fitted on.

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from ferl import FERLClassifier
from ferl.conformal import ConformalFERL

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, stratify=y, random_state=0)
X_calibration, X_test, y_calibration, y_test = train_test_split(
    X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=0
)
reviewed = FERLClassifier(random_state=0).fit(X_train, y_train)
frozen = FrozenEstimator(reviewed)

# %%
# A frozen model answers as before, with everything that scikit-learn does not know of.

assert np.array_equal(frozen.predict_proba(X_test), reviewed.predict_proba(X_test))
print(frozen.predict_evidence(X_test).ignorance[:3].round(3), frozen.novelty(X_test)[:3].round(2))

# %%
# scikit-learn's calibration on the second part; the rules do not change.

calibrated = CalibratedClassifierCV(frozen, method="sigmoid").fit(X_calibration, y_calibration)
print(f"accuracy {calibrated.score(X_test, y_test):.3f}, before calibration {reviewed.score(X_test, y_test):.3f}")

# %%
# Sets with a promise around the same frozen model: ``fit`` leaves it alone.

sets = (
    ConformalFERL(frozen)
    .fit(X_train, y_train)
    .conformalize(X_calibration, y_calibration)
    .predict_set(X_test, alpha=0.1)
)
covered = sets[np.arange(len(y_test)), np.searchsorted(reviewed.classes_, y_test)].mean()
print(f"{covered:.1%} of the sets hold the true class, {sets.sum(axis=1).mean():.2f} classes each")
