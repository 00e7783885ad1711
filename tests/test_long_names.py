"""Names of hundreds of thousands of letters: reports and explanations look at their beginning only."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ferl import FERLTreeClassifier
from ferl._util import text
from ferl._util.text import spoken
from ferl.report.writing import report_html


def test_a_report_does_not_read_long_names_to_their_end(monkeypatch):
    n_letters, n_read = 300_000, 0
    plain = text.one_line

    def counted(line: str) -> str:
        nonlocal n_read
        n_read += len(line)
        return plain(line)

    monkeypatch.setattr(text, "one_line", counted)
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"name " * (n_letters // 5) + str(i): rng.normal(size=60) for i in range(3)})
    X["c" * n_letters] = rng.choice(["u" * n_letters, "v" * n_letters], 60)
    y = np.array(["a" * n_letters, "b" * n_letters], dtype=object)[(X.iloc[:, 0] > 0).astype(int)]
    page = report_html(FERLTreeClassifier("medium", max_rules=4, random_state=0).fit(X, y), X, y)
    assert len(page) < n_letters
    assert 0 < n_read < n_letters


def test_what_is_spoken_of_a_long_name_is_its_beginning():
    assert spoken("x" * 80) == "x" * 59 + "…"
    assert spoken("x" * 10**6) == spoken("x" * 80)
    assert spoken("   ") == "'   '"
    assert len(spoken("\n" * 10**6)) <= 60
    assert spoken("") == "''"
