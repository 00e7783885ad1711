"""The benchmark: the paper's tables and the speed races, run by ``ferl bench``.

Nothing but the command line imports this package. A rival is one file in ``methods/``, a table one in ``tables/``.
"""
