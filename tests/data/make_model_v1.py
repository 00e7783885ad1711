"""Writes model_v1.json and model_v1_answers.json: a model file of version 1 that every later ferl must read.

Run once, when version 1 was new: ``python tests/data/make_model_v1.py``. Do not run it again with a newer ferl, unless
to see that nothing changes: what is checked in is what users have.
"""

import json
from pathlib import Path

import numpy as np

from ferl import FERLTreeClassifier, save_model

FOLDER = Path(__file__).parent
ROWS = [[36.5, "north", True], [None, "north", True], [39.25, "west", False], [38.0, None, None], [41.0, "moon", True]]


def training_table():
    """Sixty rows with numbers, text, booleans and holes."""
    rng = np.random.default_rng(0)
    rows, labels = [], []
    for _ in range(60):
        heat, place, old = round(rng.normal(38, 1), 2), str(rng.choice(["north", "west"])), bool(rng.random() < 0.5)
        labels.append("ill" if heat > 38 + 0.5 * (place == "west") else "well")
        rows.append([None if rng.random() < 0.1 else heat, place, old])
    return rows, labels


def main():
    model = FERLTreeClassifier("medium", max_rules=4, n_exemplars=3, missing_conditions=True, random_state=0)
    model.fit(*training_table())
    save_model(model, FOLDER / "model_v1.json")
    answers = {
        "rows": ROWS,
        "probability": model.predict_proba(ROWS).tolist(),
        "novelty": model.novelty(ROWS).tolist(),
        "label": model.predict(ROWS).tolist(),
    }
    (FOLDER / "model_v1_answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
