"""Reading a model file takes memory in proportion to the file, and never more than a stated amount."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from ferl import ModelFileError, _core, load_model
from ferl._models import form as fields
from ferl._models.form import memory_of_json
from ferl._models.model_file import parsed_model
from model_examples import DATA

_N = 30_000
TEXTS = {
    "quotes": b'"' * _N,
    "empty texts": b"[" + b",".join([b'""'] * _N) + b"]",
    "short texts": b"[" + b",".join(b'"%d"' % i for i in range(_N)) + b"]",
    "escapes": b'["' + rb"\"" * _N + b'"]',
    "empty lists": b"[" + b",".join([b"[]"] * _N) + b"]",
    "short lists": b"[" + b",".join([b"[1]"] * _N) + b"]",
    "empty objects": b"[" + b",".join([b"{}"] * _N) + b"]",
    "short objects": b"[" + b",".join([b'{"a":1}'] * _N) + b"]",
    "repeated keys": b"{" + b",".join([b'"a":1'] * _N) + b"}",
    "distinct keys": b"{" + b",".join(b'"%d":[]' % i for i in range(_N)) + b"}",
    "small integers": b"[" + b",".join([b"1"] * _N) + b"]",
    "large integers": b"[" + b",".join([b"9" * 300] * (_N // 100)) + b"]",
    "floats": b"[" + b",".join(b"%d.5" % i for i in range(_N)) + b"]",
    "a long note": json.dumps(["n" * 10 * _N]).encode(),
    "a long note with one wide letter": json.dumps(["n" * 10 * _N + "\U0001f600"], ensure_ascii=False).encode(),
    "nested lists": b"[" + b",".join([b"[[[[[[[[[[]]]]]]]]]]"] * (_N // 10)) + b"]",
}


def peak_of_reading(content: bytes) -> tuple[str, int]:
    """The error that a file gives, and the most bytes that were taken on the way to it."""
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            parsed_model(content)
        return str(caught.value), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", TEXTS)
def test_parsing_takes_no_more_than_was_counted_before(name):
    content = TEXTS[name]
    needed = memory_of_json(len(content), _core.json_size(content))
    assert needed <= 130 * len(content)
    _, peak = peak_of_reading(content)
    assert peak <= needed + 50_000  # the error itself


@pytest.mark.parametrize("name", TEXTS)
def test_what_would_take_more_than_the_limit_is_refused_before_it_is_parsed(name, monkeypatch):
    content = TEXTS[name]
    needed = memory_of_json(len(content), _core.json_size(content))
    monkeypatch.setattr(fields, "MAX_MEMORY", needed - 1)
    message, peak = peak_of_reading(content)
    assert message == f"it would take about {needed:,} bytes in memory; reading a model may take {needed - 1:,}."
    assert peak < 50_000


def test_brackets_and_quotes_inside_text_are_not_counted():
    content = json.dumps({'a"[{': ['\\"]}', "\\\\", [1, {"b": ":,"}]]}).encode()
    assert _core.json_size(content) == {
        "depth": 4,
        "n_lists": 2,
        "n_objects": 2,
        "n_pairs": 2,
        "n_separators": 3,
        "n_texts": 5,
        "highest_byte": ord("}"),
    }
    assert _core.json_size(b'["\\')["depth"] == 1  # ends within text
    assert _core.json_size(b"]]]][")["depth"] == 1


def test_one_long_label_does_not_widen_the_others(tmp_path):
    form = json.loads((DATA / "model_tree.json").read_text(encoding="utf-8"))
    labels = [f"{i:05d}" for i in range(5_000)] + ["z" * 100_000]
    form["classes"] = {"dtype": "str", "labels": labels}
    content = json.dumps(form).encode()
    message, peak = peak_of_reading(content)  # NumPy would take two gigabytes for 0.2 megabytes of file
    assert "classes.labels would take 250,050,000 values in memory" in message
    assert peak < 40 * len(content)
    n_classes = len(form["tree"]["consequent"][0])
    form["classes"]["labels"] = [*sorted(f"{i}" for i in range(n_classes - 1)), "z" * 100_000]  # a few may be long
    (tmp_path / "model.json").write_text(json.dumps(form), encoding="utf-8")
    assert len(load_model(tmp_path / "model.json").classes_[-1]) == 100_000


def test_all_arrays_of_a_file_share_one_budget(monkeypatch):
    budget = fields.Sizes(10)
    budget.take(fields.FREE_CELLS, "one")
    budget.take(320, "two")
    with pytest.raises(ModelFileError, match="three would take 1 values"):
        budget.take(1, "three")
    monkeypatch.setattr(fields, "MAX_MEMORY", 800)
    with pytest.raises(ModelFileError, match="one would take 101 values"):
        fields.Sizes(1_000_000).take(101, "one")
