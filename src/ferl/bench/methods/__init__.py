"""One file for each method of the benchmark; each defines ``METHODS``, a tuple of `ferl.bench.method.Method`."""
