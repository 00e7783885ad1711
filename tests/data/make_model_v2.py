"""Writes model_v2.json and model_v2_answers.json: a model file of version 2 that every later ferl must read.

Run once, when version 2 was new: ``python tests/data/make_model_v2.py``. Do not run it again with a newer ferl, unless
to see that nothing changes: what is checked in is what users have.
"""

import json
from dataclasses import replace

from make_model_v1 import FOLDER, ROWS, training_table

from ferl import FERLClassifier, save_model


def main():
    model = FERLClassifier(max_rules=4, n_exemplars=3, missing_conditions=True, random_state=0)
    model.fit(*training_table())
    model.model_ = replace(model.model_, history=({"note": "a record of a change by hand"},))
    save_model(model, FOLDER / "model_v2.json")
    answers = {
        "rows": ROWS,
        "probability": model.predict_proba(ROWS).tolist(),
        "label": model.predict(ROWS).tolist(),
    }
    (FOLDER / "model_v2_answers.json").write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
