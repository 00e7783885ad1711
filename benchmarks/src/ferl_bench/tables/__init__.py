"""One file for each table of the benchmark; each turns measurements into a `ferl_bench.render.Report`."""
