"""The one exception the benchmark raises for a mistake the user can correct."""

from __future__ import annotations


class BenchError(Exception):
    """A wrong folder, name or file; the command prints the message on one line and exits with code 2."""
