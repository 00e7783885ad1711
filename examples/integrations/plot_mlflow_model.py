"""
A model in MLflow, served with its evidence
===========================================

``ferl.mlflow`` logs a classifier with a flavour of its own: the JSON file of ``save_model``, no pickle. What MLflow
serves answers with label, set, ignorance, novelty, and belief and plausibility of each class.
"""

# %%
# Log a model in a run. The rows given as an example make the signature.

import logging
import os
import tempfile

import mlflow
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import ferl.mlflow
from ferl import FERLClassifier

logging.getLogger("mlflow").setLevel(logging.ERROR)
logging.getLogger("alembic").setLevel(logging.ERROR)
folder = tempfile.mkdtemp()
mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
mlflow.set_experiment(
    experiment_id=mlflow.create_experiment("tumours", artifact_location=os.path.join(folder, "files"))
)

data = load_breast_cancer(as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target_names[data.target], random_state=0)
clf = FERLClassifier(max_rules=20, random_state=0).fit(X_train, y_train)
with mlflow.start_run():
    mlflow.log_metric("accuracy", clf.score(X_test, y_test))
    info = ferl.mlflow.log_model(clf, name="tumours", input_example=X_train.head(3))
print(sorted(info.flavors))

# %%
# The classifier itself, with the same answers to the last bit.

back = ferl.mlflow.load_model(info.model_uri)
print("same bits:", np.array_equal(back.predict_proba(X_test), clf.predict_proba(X_test)))

# %%
# What ``mlflow models serve`` would answer, with two reasons for each row.

served = mlflow.pyfunc.load_model(info.model_uri)
answers = served.predict(X_test.head(3), params={"reasons": 2})
print(
    answers[["label", "probability", "set", "ignorance", "novelty", "belief(benign)", "plausibility(benign)"]].round(3)
)
print(*answers["reason_1"], sep="\n")
