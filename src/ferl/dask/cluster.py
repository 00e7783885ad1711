"""A cluster and its client: which one, and what is computed there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from typing import Any

from dask import delayed
from distributed import default_client

_START = (
    "Start one with distributed.Client(distributed.LocalCluster()), or connect to a scheduler with "
    'distributed.Client("tcp://address:8786").'
)


def running_client(client: Any) -> Any:
    """The client given, or else the default one, if it can compute something."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise RuntimeError(f"There is no Dask client. {_START}") from None
    if client.status != "running":
        raise RuntimeError(f"The Dask client is {client.status}, so nothing can be fitted. {_START}")
    if client.asynchronous:
        raise TypeError("The Dask client is asynchronous, and fit waits for its results. Pass a synchronous client.")
    return client


def constant(thing: Any) -> Any:
    """Something that many tasks need: one entry of the graph, so that it survives the death of any worker."""
    # Not traversed: Dask would take dataclasses apart in search of tasks.
    return delayed(thing, traverse=False, pure=False)


def reduced(parts: Sequence[Any], merge: Callable[..., Any], *options: Any) -> Any:
    """Delayed results merged by pairs of neighbours until one is left, so that no task holds more than two.

    ``merge(one, other, *options)`` must not change what it is given: a task may run again on the same results.
    """
    task = delayed(merge, pure=False)
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [task(*pair, *options) if len(pair) == 2 else pair[0] for pair in pairs]
    return parts[0]


def computed(client: Any, wanted: Any) -> Any:
    """The result of a delayed computation; an error of a task is raised here, as it was there."""
    future = None
    try:
        future = client.compute(wanted)
        return future.result()
    except Exception as error:
        if isinstance(error, CancelledError) or client.status == "closed":
            raise RuntimeError(f"The Dask client was closed during the fit, so nothing was fitted. {_START}") from error
        raise
    finally:
        # After an interrupt, too: the cluster drops tasks that nobody waits for.
        if future is not None:
            future.release()
