"""The parts of ``combinations.py``."""
