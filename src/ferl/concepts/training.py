"""The training loop of a network of concepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

Batches = Callable[[bool], Iterable[tuple[Any, Any]]]
"""``batches(training)``: inputs and concept labels of the rows to train on, or of those to judge by."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to learn."""

    epochs: int
    learning_rate: float
    weight_decay: float
    patience: int


def require_torch(package: str = "torch") -> Any:
    """Import torch, or a package that builds on it, or say what to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        missing = package.partition(".")[0]
        remedy = "pip install 'ferl[concepts]'" if missing == "torch" else f"pip install {missing}"
        raise ModuleNotFoundError(
            f"This detector needs {missing}, which is not installed ({remedy}). Detectors of scikit-learn, functions "
            "and precomputed concepts work without it."
        ) from error


def best_epoch(
    module: Any,
    batches: Batches,
    schedule: Schedule,
    on_epoch: Callable[[int], object] | None = None,
    *,
    judged: bool,
) -> tuple[int, NDArray[np.float64]]:
    """Train a network and leave it with the weights of its best epoch.

    Parameters
    ----------
    module : torch.nn.Module
        The network; one logit for each concept.
    batches : callable
        Where rows come from.
    schedule : Schedule
        How long and how fast.
    on_epoch : callable, optional
        Told the number of each epoch that is over.
    judged : bool
        Whether there are rows to judge by; without them the last epoch counts.

    Returns
    -------
    n_epochs : int
        Number of the epoch that counts.
    losses : ndarray
        Loss on the rows to judge by, after each epoch.
    """
    torch = require_torch()
    optimiser = torch.optim.AdamW(
        [one for one in module.parameters() if one.requires_grad],
        lr=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
    )
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, schedule.epochs)
    losses: list[float] = []
    best, weights = 0, None
    for epoch in range(1, schedule.epochs + 1):
        module.train()
        for inputs, targets in batches(True):
            optimiser.zero_grad(set_to_none=True)
            _loss(torch, module(inputs), targets).backward()
            optimiser.step()
        cosine.step()
        if on_epoch is not None:
            on_epoch(epoch)
        if not judged:
            continue
        losses.append(_mean_loss(torch, module, batches))
        if losses[-1] <= min(losses):
            best, weights = epoch, {name: value.detach().clone() for name, value in module.state_dict().items()}
        elif epoch - best >= schedule.patience:
            break
    if weights is not None:
        module.load_state_dict(weights)
    return (best if judged else schedule.epochs), np.array(losses)


def _mean_loss(torch: Any, module: Any, batches: Batches) -> float:
    module.eval()
    total, n_rows = 0.0, 0
    with torch.inference_mode():
        for inputs, targets in batches(False):
            total += float(_loss(torch, module(inputs), targets)) * len(targets)
            n_rows += len(targets)
    return total / n_rows


def _loss(torch: Any, logits: Any, targets: Any) -> Any:
    """Mean cross-entropy over the concepts that are known."""
    known = ~torch.isnan(targets)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.nan_to_num(targets), reduction="none")
    return (loss * known).sum() / known.sum().clamp(min=1)
