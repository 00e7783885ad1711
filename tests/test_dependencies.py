"""Arrays and data frames of numbers need none of the packages for text, files, the command line or the report."""

import subprocess
import sys
import textwrap

import pytest

BLOCK = "import sys\nfor name in {absent}: sys.modules[name] = None\n"


def run(program: str, absent: list[str]) -> subprocess.CompletedProcess[str]:
    source = BLOCK.format(absent=absent) + textwrap.dedent(program)
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)


def test_numbers_need_neither_arrow_nor_the_command_line_nor_the_report(tmp_path):
    program = f"""
    from functools import partial
    import numpy as np
    from sklearn.datasets import load_iris
    from ferl import FERLClassifier, FERLTreeClassifier, export_text, load_model, save_model
    X, y = load_iris(return_X_y=True)
    for make in (FERLClassifier, *(partial(FERLTreeClassifier, own) for own in ("deep", "medium", "compact"))):
        clf = make(random_state=0).fit(X, y)
        clf.predict(X), clf.predict_proba(X), clf.predict_set(X), clf.novelty(X), clf.certified_radius(X[:3])
        clf.support_deficit(X), clf.partial_fit(X, y), str(clf.explain(X[0])), str(clf.certificate(X[0]))
        export_text(clf)
        save_model(clf, {str(tmp_path / "model.json")!r})
        assert (load_model({str(tmp_path / "model.json")!r}).predict(X) == clf.predict(X)).all()
    print("done")
    """
    done = run(program, ["pyarrow", "pandas", "polars", "jinja2", "typer", "rich"])
    assert done.stdout.strip() == "done", done.stderr


def test_numbers_in_a_data_frame_need_no_arrow():
    program = """
    import pandas as pd
    from sklearn.datasets import load_iris
    from ferl import FERLClassifier, rules_frame
    frame, y = load_iris(return_X_y=True, as_frame=True)
    clf = FERLClassifier(random_state=0).fit(frame, y)
    clf.predict_proba(frame), clf.predict_proba(frame.iloc[:1]), str(clf.explain(frame.iloc[0]))
    assert len(rules_frame(clf)) == clf.n_rules_
    print("done")
    """
    done = run(program, ["pyarrow", "jinja2", "typer", "rich"])
    assert done.stdout.strip() == "done", done.stderr


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("FERLClassifier().fit([[0.5, 'a'], [1.5, 'b'], [2.5, 'a']], [0, 1, 0])", "pyarrow"),
        ("import ferl.report", "jinja2"),
        ("import ferl._cli.app", "typer"),
    ],
)
def test_what_needs_a_package_that_is_absent_says_what_to_install(statement, absent):
    done = run(f"from ferl import FERLClassifier\n{statement}", [absent])
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert "pip install" in last, done.stderr
    assert absent in last, done.stderr
