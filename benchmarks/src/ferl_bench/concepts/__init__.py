"""Concept bottlenecks in the benchmark: stored features of images, what detectors see in them, and heads."""
