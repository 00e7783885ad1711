"""Partition files: what experts may write, round trips, hostile input, and the page that explains them."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ferl.words import (
    FuzzySet,
    LinguisticVariable,
    PartitionError,
    load_partition,
    quantile_partition,
    save_partition,
)
from ferl.words.files import read_set
from word_examples import (
    INF,
    LAW,
    TEMPERATURE,
    ends,
    names,
    near,
    variables,
)

# ---------------------------------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------------------------------


def has_yaml() -> bool:
    try:
        import yaml  # noqa: F401
    except ImportError:
        return False
    return True


WITH_YAML = pytest.mark.skipif(not has_yaml(), reason="PyYAML is not installed")
SUFFIX = pytest.mark.parametrize("suffix", [".json", pytest.param(".yaml", marks=WITH_YAML)])


def load_text(folder: Path, text: str | bytes, suffix: str = ".json") -> list[LinguisticVariable]:
    path = folder / f"partition{suffix}"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_partition(path)


def load_value(folder: Path, value: object) -> list[LinguisticVariable]:
    return load_text(folder, json.dumps(value))


@SUFFIX
@LAW
@given(st.lists(variables(), min_size=1, max_size=4, unique_by=lambda variable: variable.name))
def test_a_saved_partition_is_read_back_exactly(tmp_path, suffix, partition):
    path = tmp_path / f"partition{suffix}"
    save_partition([None, *partition], path)
    assert load_partition(path) == partition
    assert os.listdir(tmp_path) == [path.name]


def test_a_saved_file_reads_well(tmp_path):
    path = tmp_path / "partition.json"
    sets = [FuzzySet.crisp("none", 0), FuzzySet.trapezoid("some", 0, 1, 10, 20), FuzzySet.rising("many", 10, 20)]
    save_partition([TEMPERATURE, LinguisticVariable("cigarettes", sets, range=(0, INF))], path)
    assert path.read_text(encoding="utf-8") == (
        "{\n"
        '  "temperature": {\n'
        '    "unit": "°C",\n'
        '    "sets": {\n'
        '      "normal": {"until": 37.5, "gone": 38.0},\n'
        '      "fever": {"from": 37.5, "full": 38.5}\n'
        "    }\n"
        "  },\n"
        '  "cigarettes": {\n'
        '    "range": [0.0, null],\n'
        '    "sets": {\n'
        '      "none": {"is": 0.0},\n'
        '      "some": [0.0, 1.0, 10.0, 20.0],\n'
        '      "many": {"from": 10.0, "full": 20.0}\n'
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_all_ways_to_write_a_set(tmp_path):
    sets = {
        "a": {"until": 1},
        "b": {"is": [1, 2]},
        "c": [2, 2.5, 3],
        "d": {"from": 2.5, "full": 3, "until": 4, "gone": 5},
        "e": [4, 5, 6, 7],
        "f": {"from": 6, "full": 7, "until": 8},
        "g": {"from": 8},
    }
    variable = load_value(tmp_path, {"x": {"sets": sets, "unit": None, "range": None}})[0]
    expected = [(-INF, -INF, 1, 1), (1, 1, 2, 2), (2, 2.5, 2.5, 3), (2.5, 3, 4, 5), (4, 5, 6, 7)]
    expected += [(6, 7, 8, 8), (8, 8, INF, INF)]
    np.testing.assert_array_equal(ends(variable), expected)
    assert variable.unit == ""


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        ("fever from 37.5 to 38.5", "x: not fever below 37.5..38.5, fever above 37.5..38.5"),
        ("fever from 37.5 to 38.5 °C", "x (°C): not fever below 37.5..38.5, fever above 37.5..38.5"),
        ("young until 30 to 40 years of age", "x (years of age): young below 30..40, not young above 30..40"),
        ("very cold until -5", "x: very cold up to -5, not very cold from -5"),
        ("  fever from 1e2  ", "x: not fever up to 100, fever from 100"),
    ],
)
def test_one_line_is_enough_for_one_word(tmp_path, sentence, text):
    variable = load_value(tmp_path, {"x": sentence})[0]
    assert str(variable) == text
    x = near(ends(variable))
    np.testing.assert_allclose(variable.membership(x).sum(axis=1), 1, rtol=1e-12)


GOOD = {"normal": {"until": 37.5, "gone": 38.0}, "fever": {"from": 37.5, "full": 38.5}}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "must list variables by their names"),
        ({}, "must list variables by their names"),
        (3, "holds 3; it must list"),
        ({"": GOOD}, "empty name"),
        ({"t": 3}, "Variable 't': it is 3; write"),
        ({"t": [1, 2, 3]}, r"Variable 't': it is \[1, 2, 3\]"),
        ({"t": {}}, "Variable 't': sets is None"),
        ({"t": {"sets": []}}, r"Variable 't': sets is \[\]"),
        ({"t": {"sets": {}}}, "Variable 't': it has 0 sets"),
        ({"t": {"sets": GOOD, "units": "C"}}, "Variable 't': it has the entry 'units'.*known: sets, unit, range"),
        ({"t": {"sets": GOOD, "unit": 3}}, "Variable 't': the unit is 3"),
        ({"t": {"sets": GOOD, "range": 3}}, r"Variable 't': the range is 3; write \[0, 100\]"),
        ({"t": {"sets": GOOD, "range": [1, "a"]}}, "Variable 't': an end of the range is 'a'"),
        ({"t": {"sets": GOOD, "range": [4, 1]}}, "Variable 't': the range goes from 4.0 to 1.0"),
        ({"t": {"sets": GOOD | {"high": 3}}}, "Variable 't': Set 'high' is 3; write"),
        ({"t": {"sets": GOOD | {"high": {}}}}, "Variable 't': Set 'high' is {}; write"),
        ({"t": {"sets": GOOD | {"high": [1, 2]}}}, r"Variable 't': Set 'high' is \[1, 2\]; write"),
        ({"t": {"sets": GOOD | {"high": [1, 2, "3"]}}}, "Variable 't': Set 'high': a number of its list is '3'"),
        ({"t": {"sets": GOOD | {"high": [3, 2, 1]}}}, "Variable 't': Set 'high' has a=3.0.*must ascend"),
        ({"t": {"sets": GOOD | {"high": {"to": 3}}}}, "Set 'high' has the entry 'to'.*known: from, full, until, gone"),
        ({"t": {"sets": GOOD | {"high": {"full": 3}}}}, "Set 'high' has 'full' without 'from'"),
        ({"t": {"sets": GOOD | {"high": {"gone": 3}}}}, "Set 'high' has 'gone' without 'until'"),
        ({"t": {"sets": GOOD | {"high": {"from": math.nan}}}}, "Variable 't': Set 'high': 'from' is NaN"),
        ({"t": {"sets": GOOD | {"high": {"from": math.inf}}}}, "Variable 't': Set 'high': 'from' is infinite"),
        ({"t": {"sets": GOOD | {"high": {"from": True}}}}, "Variable 't': Set 'high': 'from' is True"),
        ({"t": {"sets": GOOD | {"high": {"from": 10**1000}}}}, "Set 'high': 'from' is 1000.*magnitudes"),
        ({"t": {"sets": GOOD | {"high": {"is": [1, 2, 3]}}}}, "Set 'high': 'is' has 3 numbers"),
        ({"t": {"sets": GOOD | {"high": {"is": 1, "from": 2}}}}, "Set 'high' has the entry 'from'.*known: is"),
        ({"t": {"sets": GOOD | {"FEVER": {"from": 99}}}}, "Variable 't': two sets are called 'fever' and 'FEVER'"),
        ({"t": {"sets": GOOD | {"b\u0007": {"from": 99}}}}, "Variable 't': a set has the name"),
        ({"t": "fever"}, "Variable 't': 'fever' is not understood"),
        ({"t": "fever from x to y"}, "is not understood.*'fever from 37.5 to 38.5"),
        ({"t": "fever from 39 to 38"}, "Variable 't': Set 'fever' has a=39.0, b=38.0"),
        ({"t": "fever from 1e999"}, "Variable 't': Set 'fever': a limit is infinite"),
        ({"t": "a from" * 10_000}, "is not understood"),
        ({"t": GOOD["fever"]}, "Variable 't': it has the entry 'from'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_variable_and_the_set(tmp_path, value, message):
    with pytest.raises(PartitionError, match=f"(?s){message}") as caught:
        load_value(tmp_path, value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "cannot be read as json"),
        (b"\xff\xfe", "cannot be read as json.*utf-8"),
        (b'{"t": ', "cannot be read as json"),
        (b"[" * 200_000, "cannot be read as json"),
        (b'{"a":' * 100_000, "cannot be read as json"),
        (b'{"t": ' + b"9" * 5000 + b"}", "cannot be read as json"),
        (b" " * 1_000_001, "more than 1,000,000 bytes"),
        (b'{"t": 1, "t": 2}', "two variables called 't'"),
        (b'{"t": {"sets": {}, "sets": {}}}', "Variable 't': it has two entries called 'sets'"),
        (b'{"t": {"sets": {"a": 1, "a": 1}}}', "Variable 't': sets has two entries called 'a'"),
        (b'{"t": {"sets": {"a": {"from": 1, "from": 2}}}}', "Variable 't': Set 'a' has two entries called 'from'"),
        (b'{"t": {"sets": {"a": {"is": 1, "is": 2}}}}', "Variable 't': Set 'a' has two entries called 'is'"),
        (b'{"t\\ud800": "a from 3"}', "cannot be printed"),
    ],
    ids=range(13),
)
def test_a_broken_file_is_refused(tmp_path, text, message):
    with pytest.raises(PartitionError, match=f"(?s){message}"):
        load_text(tmp_path, text)


WORDS_OF_FILES = st.sampled_from(["sets", "unit", "range", "from", "full", "until", "gone", "is", "low", "high"])
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-5, 5), st.floats(), st.text(max_size=5), WORDS_OF_FILES
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=5), st.dictionaries(st.one_of(WORDS_OF_FILES, st.text(max_size=3)), inner, max_size=5)
    ),
    max_leaves=20,
)
likely = st.dictionaries(
    st.text(max_size=3),
    st.one_of(trees, st.fixed_dictionaries({"sets": st.dictionaries(names, trees, min_size=1, max_size=4)})),
    max_size=3,
)


@settings(LAW, max_examples=200)
@given(st.one_of(trees, likely))
def test_any_file_ends_in_a_partition_or_a_partition_error(tmp_path, value):
    with suppress(PartitionError):
        partition = load_value(tmp_path, value)
        assert all(isinstance(variable, LinguisticVariable) for variable in partition)


@LAW
@given(variables(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_damage_to_a_file_ends_in_a_partition_or_a_partition_error(tmp_path, variable, random, n_damages):
    path = tmp_path / "partition.json"
    save_partition([variable], path)
    content = bytearray(path.read_bytes())
    for _ in range(n_damages):
        content[random.randrange(len(content))] = random.choice(b'0123456789.-+eE"{}[]:, \x00\xff')
    with suppress(PartitionError):
        load_text(tmp_path, bytes(content))


def test_an_interrupted_save_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "partition.json"
    save_partition([TEMPERATURE], path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        save_partition(quantile_partition(np.eye(3)), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_link_stays_a_link(tmp_path):
    path, link = tmp_path / "real.json", tmp_path / "link.json"
    save_partition([TEMPERATURE], path)
    link.symlink_to(path)
    save_partition(quantile_partition(np.eye(3)), link)
    assert link.is_symlink()
    assert len(load_partition(path)) == 3


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(PartitionError, match="Two variables are called 'temperature'"):
        save_partition([TEMPERATURE, TEMPERATURE], tmp_path / "x.json")
    with pytest.raises(PartitionError, match="no variable to write"):
        save_partition([None], tmp_path / "x.json")
    with pytest.raises(PartitionError, match=r"'x.txt' does not end in .json, .yaml or .yml"):
        save_partition([TEMPERATURE], tmp_path / "x.txt")
    with pytest.raises(PartitionError, match=r"'x.toml' does not end in .json, .yaml or .yml"):
        load_partition(tmp_path / "x.toml")
    with pytest.raises(FileNotFoundError):
        load_partition(tmp_path / "x.json")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["x.yaml", "x.YML"])
def test_yaml_without_its_package_says_how_to_get_it(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"needs PyYAML: pip install pyyaml"):
        load_partition(tmp_path / name)
    with pytest.raises(ImportError, match=r"needs PyYAML: pip install pyyaml"):
        save_partition([TEMPERATURE], tmp_path / name)


@WITH_YAML
def test_a_yaml_file_is_read_as_it_looks(tmp_path):
    text = """
    temperature: fever from 37.5 to 38.5
    smoker: {sets: {no: {is: 0}, yes: {is: 1}}}   # not false and true
    age:
      unit: years
      sets:
        young: {until: 30, gone: 40}
        middle-aged: [30, 40, 55, 65]
        old: {from: 55, full: 65}
    """
    temperature, smoker, age = load_text(tmp_path, text, ".yml")
    assert temperature == load_value(tmp_path, {"temperature": "fever from 37.5 to 38.5"})[0]
    assert [one.name for one in smoker.sets] == ["no", "yes"]
    assert str(age) == "age (years): young below 30..40, middle-aged between 30..40 and 55..65, old above 55..65"


@WITH_YAML
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t: {unit: %, sets: {}}", "cannot be read as yaml.*in quotes"),
        ("t: !!python/object/apply:os.system ['true']", "cannot be read as yaml"),
        ("t: !!timestamp nonsense", "cannot be read as yaml"),
        ("t: &a [*a]", "cannot be read as yaml"),
        ("t: " + "[" * 5000, "cannot be read as yaml"),
        ("? [a, b]\n: 3", "cannot be read as yaml"),
        ("a: 1\n---\nb: 2", "cannot be read as yaml"),
        ("t: 1\nt: 2", "two variables called 't'"),
        ("t: {sets: {a: [1, 2, 3], a: [1, 2, 3]}}", "Variable 't': sets has two entries called 'a'"),
        ("t: {sets: {1: {is: 1}, 2: {is: 2}}}", "Variable 't': a set has the name 1; a name must be text.*quotes"),
        ("t: {sets: {a: {from: .nan}, b: {is: 2}}}", "Variable 't': Set 'a': 'from' is NaN"),
        ("t: {sets: {a: {from: -.inf}, b: {is: 2}}}", "Variable 't': Set 'a': 'from' is infinite"),
        ("t: 0x" + "f" * 20_000, "thousands of digits"),
        ("t: 2020-01-01", "'2020-01-01' is not understood"),
        ("&a a: &b [1]\n*a : *b", "two variables called 'a'"),
    ],
)  # fmt: skip
def test_a_wrong_yaml_file_is_refused(tmp_path, text, message):
    with pytest.raises(PartitionError, match=f"(?s){message}"):
        load_text(tmp_path, text, ".yaml")


@WITH_YAML
def test_a_yaml_file_that_unfolds_without_end_is_refused_at_once(tmp_path):
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 40)]
    with pytest.raises(PartitionError, match="Variable 'a0': it is") as caught:
        load_text(tmp_path, "\n".join(lines), ".yaml")
    assert len(str(caught.value)) < 600
    with pytest.raises(PartitionError, match="Variable 't': it is") as caught:
        load_text(tmp_path, "t:\n" + "\n".join(f"- {line.split(': ')[1]}" for line in lines), ".yaml")
    assert len(str(caught.value)) < 600
    maps = ["a0: &a0 {x: 1}"] + [
        f"a{i}: &a{i} {{{', '.join(f'k{j}: *a{i - 1}' for j in range(9))}}}" for i in range(1, 40)
    ]
    with pytest.raises(PartitionError, match="Variable 't': it has the entry 'a0'") as caught:
        load_text(tmp_path, "t:\n" + "\n".join(f"  {line}" for line in maps), ".yaml")
    with pytest.raises(PartitionError, match="Variable 't': sets is") as caught:
        load_text(tmp_path, "t:\n  sets:\n" + "\n".join(f"  - {line.split(': ', 1)[1]}" for line in maps), ".yaml")
    assert len(str(caught.value)) < 600


# ---------------------------------------------------------------------------------------------------------------------
# The page for experts
# ---------------------------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[1] / "docs" / "guide" / "words.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@WITH_YAML
def test_the_files_of_the_page_can_be_read(tmp_path):
    short, long = (load_text(tmp_path, block, ".yaml") for block in blocks("yaml"))
    assert str(short[0]) == "temperature (°C): not fever below 37.5..38.5, fever above 37.5..38.5"
    assert [variable.name for variable in long] == ["temperature", "age", "oxygen saturation", "smoker"]


def test_every_way_of_writing_a_set_in_the_table_of_the_page_is_one():
    rows = re.findall(r"^\| (`.*`) \|", PAGE, flags=re.MULTILINE)
    forms = [form for row in rows for form in re.findall("`([^`]*)`", row) if form[0] in "{["]
    assert len(forms) == 9
    for form in forms:
        read_set("word", json.loads(re.sub("([a-z]+):", r'"\1":', form)))
