"""Stages of the compiled core that only tests call: they are in a module of their own, which wheels do not have."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def stages() -> Any:
    """The module ``ferl._core_testing``; where the core was built without it, the test is skipped, but not in CI."""
    if os.environ.get("CI"):
        return importlib.import_module("ferl._core_testing")
    reason = "built without stages for tests: pip install with -C cmake.define.FERL_TESTING=ON"
    return pytest.importorskip("ferl._core_testing", reason=reason)
