"""Every example in a docstring runs and prints what it says."""

import doctest
import pkgutil
from importlib import import_module

import pytest

import ferl

MODULES = [info.name for info in pkgutil.walk_packages(ferl.__path__, "ferl.") if info.name != "ferl._core"]
ENTRY_POINTS = (
    "ferl.abstention",
    "ferl.calibration",
    "ferl.rules",
    "ferl.trees",
    "ferl.conformal",
    "ferl._learn.consequents",
    "ferl.dask.classifier",
    "ferl._models.evidence",
    "ferl._tables.schema",
    "ferl.metrics.confidence",
    "ferl.saving",
    "ferl.export.text",
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_hold(name):
    assert doctest.testmod(import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_the_main_entry_points_have_examples():
    for name in ENTRY_POINTS:
        assert any(test.examples for test in doctest.DocTestFinder().find(import_module(name)))
