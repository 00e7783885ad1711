"""Tables spread over a Dask cluster: fits with the same model as in memory, and answers that are computed lazily.

The tree is grown once, on the client, from a sample that every partition has sent a part of. The sums over all rows are
taken where the rows are, and merged by pairs.
"""

try:
    import dask.array
    import dask.dataframe  # noqa: F401 - is it there
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        f'ferl.dask needs Dask with its data frames and its distributed scheduler ({error}): pip install "ferl[dask]".'
    ) from error

from ferl.dask.classifier import DaskEvidence, DaskFERLClassifier, DaskFERLTreeClassifier

__all__ = ["DaskEvidence", "DaskFERLClassifier", "DaskFERLTreeClassifier"]
