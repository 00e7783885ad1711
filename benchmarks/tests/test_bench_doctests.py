"""Every example in a docstring of the benchmark runs and prints what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import ferl_bench

MODULES = [info.name for info in pkgutil.walk_packages(ferl_bench.__path__, "ferl_bench.")]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name: str) -> None:
    assert doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
