"""Tables that do not fit into memory: fits and answers from batches of rows, or from Parquet files.

The result is that of a fit in memory, to the last bit, for batches of any size.
"""

from ferl.streaming.batches import Batch
from ferl.streaming.fit import fit_batches, fit_parquet
from ferl.streaming.predict import predict_batches, predict_parquet

__all__ = ["Batch", "fit_batches", "fit_parquet", "predict_batches", "predict_parquet"]
