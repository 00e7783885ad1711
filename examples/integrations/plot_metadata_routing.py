"""
Weights on their way through a pipeline
=======================================

With metadata routing, ``sample_weight`` reaches the steps that ask for it, through pipelines, searches and
cross-validation. In ferl a weight counts rows: weight 2 is the row twice, to the last bit.
"""

# %%
# Switch routing on, and say who wants weights.

import numpy as np
import sklearn
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ferl import FERLClassifier

X, y = load_iris(return_X_y=True, as_frame=True)
weight = np.where(y == 2, 3.0, 1.0)  # virginica counts three times

with sklearn.config_context(enable_metadata_routing=True):
    classifier = FERLClassifier(max_rules=8, random_state=0).set_fit_request(sample_weight=True)
    classifier.set_predict_request(decision=True).set_score_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), classifier)

    # %%
    # A weighted fit is the fit of repeated rows.

    pipe.fit(X, y, sample_weight=weight)
    scaled = StandardScaler().fit_transform(X)
    repeated = np.repeat(np.arange(len(y)), weight.astype(int))
    twin = FERLClassifier(max_rules=8, random_state=0).fit(scaled[repeated], y[repeated])
    print("same bits:", np.array_equal(twin.predict_proba(scaled), pipe.predict_proba(X)))

    # %%
    # Parameters of ``predict`` are routed as well: here, how the label is chosen.

    probable, balanced = pipe.predict(X), pipe.predict(X, decision="balanced")
    print(f"{(probable != balanced).sum()} labels differ when classes are compared with their frequency")

    # %%
    # A search and a cross-validation hand the weights of each fold on.

    search = GridSearchCV(pipe, {"ferlclassifier__max_rules": [4, 8]}, cv=3).fit(X, y, sample_weight=weight)
    scores = cross_validate(pipe, X, y, params={"sample_weight": weight}, cv=3)["test_score"]
    print(search.best_params_, scores.round(3))
