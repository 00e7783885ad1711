"""Stages of the compiled core that only tests call: a module of their own, which released wheels do not have."""

from __future__ import annotations

from typing import Any

import pytest


def stages() -> Any:
    """The module ``ferl._core_testing``; where the core was built without it, the test is skipped."""
    reason = "this wheel has no stages for tests: install from a checkout"
    return pytest.importorskip("ferl._core_testing", reason=reason)
