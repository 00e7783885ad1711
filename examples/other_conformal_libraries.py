"""MAPIE and crepes around a fitted FERL: sets of both libraries, beside those of ConformalFERL.

    pip install mapie crepes && python examples/other_conformal_libraries.py

A FERLClassifier is a scikit-learn classifier, so both can wrap it. They see its probabilities only; ConformalFERL can
also use its plausibility.
"""

from crepes import WrapClassifier
from mapie.classification import SplitConformalClassifier
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from ferl import FERLTreeClassifier
from ferl.conformal import ConformalFERL
from ferl.metrics import mean_set_size, set_coverage

ALPHA = 0.1

X, y = load_wine(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_calibration, X_test, y_calibration, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

ours = (
    ConformalFERL(FERLTreeClassifier("deep", random_state=0))
    .fit(X_train, y_train)
    .conformalize(X_calibration, y_calibration)
)

mapie = SplitConformalClassifier(ours.estimator_, confidence_level=1 - ALPHA, conformity_score="lac", prefit=True)
mapie.conformalize(X_calibration, y_calibration)

crepes = WrapClassifier(ours.estimator_)
crepes.calibrate(X_calibration, y_calibration)

for name, sets in {
    "ConformalFERL": ours.predict_set(X_test, ALPHA),
    "MAPIE": mapie.predict_set(X_test)[1][:, :, 0],
    "crepes": crepes.predict_set(X_test, labels=False, confidence=1 - ALPHA, smoothing=False).astype(bool),
}.items():
    coverage, size = set_coverage(y_test, sets, ours.classes_), mean_set_size(sets)
    print(f"{name:14} coverage {coverage:.3f}, mean set size {size:.2f}")
