"""Readings of a fitted model."""
