"""One file for each table of the benchmark; each turns measurements into a `ferl.bench.render.Report`."""
