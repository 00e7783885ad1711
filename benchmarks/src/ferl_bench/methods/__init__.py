"""One file for each method of the benchmark; each defines ``METHODS``, a tuple of `ferl_bench.method.Method`."""
