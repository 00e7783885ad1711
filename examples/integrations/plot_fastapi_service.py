"""
A web service that warns when not to trust it
=============================================

A FastAPI service whose answers carry a set of classes, the reasons and the novelty of a row, with a JSON schema that
is made from the model's table. The service itself is ``examples/service/service.py``; ``load_test.py`` beside it
measures how long answers take.
"""

# %%
# Fit a model on a table with numbers and categories, and write it to a file: the service reads the file.

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from fastapi.testclient import TestClient

from ferl import FERLClassifier, save_model

rng = np.random.default_rng(0)
n = 600
table = pd.DataFrame(
    {
        "income": rng.normal(50, 15, n).round(1),
        "debt": rng.gamma(2.0, 8.0, n).round(1),
        "housing": rng.choice(["own", "rent", "parents"], n),
        "late_before": rng.random(n) < 0.2,
    }
)
risk = 0.06 * table["debt"] - 0.04 * table["income"] + 1.5 * table["late_before"] + (table["housing"] == "rent")
late = np.where(risk + rng.logistic(0, 0.5, n) > 0.5, "late", "on time")
file = Path(tempfile.mkdtemp()) / "model.json"
save_model(FERLClassifier(max_rules=20, random_state=0).fit(table, late), file)

# %%
# The service. In production: ``FERL_MODEL=model.json uvicorn --factory service:create_app``.

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "service"))
from service import create_app

client = TestClient(create_app(str(file)))
print(json.dumps(client.get("/model").json(), indent=2))

# %%
# An applicant, and one unlike all that the model has seen. The first answer has a label and its reasons. The second
# says what is unusual; where the evidence does not tell the classes apart, the label is null and the set has all of
# them.

rows = [
    {"income": 41.0, "debt": 38.5, "housing": "rent", "late_before": True},
    {"income": 900.0, "debt": 12.0, "housing": "castle", "late_before": None},
]
for answer in client.post("/answers", json=rows).json():
    print(answer["label"], answer["prediction_set"], "ignorance", round(answer["ignorance"], 3))
    for reason in answer["reasons"]:
        print(f"    {reason['name']}: {reason['value']} ({reason['weight']:+.2f})")
    for odd in answer["unusual"][:1]:
        print(f"    most unusual: {odd['feature']} is {odd['value']} (novelty {odd['novelty']:.2f})")

# %%
# The whole story of one row, as text.

print(client.post("/explanation", json=rows[0]).json()["text"])

# %%
# A column that the model does not know, or text where a number belongs, is refused with a message that names it.

refused = client.post("/answers", json=[{"incme": 41.0}])
print(refused.status_code, refused.json()["detail"][0]["msg"], refused.json()["detail"][0]["loc"])
