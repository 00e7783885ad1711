"""The benchmark: the paper's tables and the speed races, run by ``ferl bench``.

The library does not import this package. A rival is one file in ``methods/``, a table one in ``tables/``.
"""

__version__ = "0.1.0"
