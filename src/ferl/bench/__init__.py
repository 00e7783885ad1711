"""The benchmark: the paper's tables and the speed races, run by ``ferl bench``.

Nothing else in the library imports this package. A rival is one file in ``methods/``, a table one file in ``tables/``.
"""
