"""Networks that name concepts: how one is trained, and a ResNet-50 for images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Of the images of ImageNet, as its networks expect them.
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_LEAST_AREA = 0.5  # of an image, that a random crop keeps: concepts of small parts must stay in it


def resnet50(row_shape: tuple[int, ...], n_concepts: int, *, weights: str | None = "DEFAULT") -> Any:
    """A ResNet-50 with one logit for each concept.

    Parameters
    ----------
    row_shape : tuple of int
        Shape of an image: (3, height, width).
    n_concepts : int
        Number of concepts.
    weights : str, optional
        Weights of torchvision to start from; they are downloaded once. None: random ones.

    Returns
    -------
    torch.nn.Module
    """
    torch, torchvision = require_torch(), require_torch("torchvision")
    if len(row_shape) != 3 or row_shape[0] != 3:
        raise ValueError(f"An image has the shape {row_shape}; a ResNet takes (3, height, width).")
    network: Any = torchvision.models.resnet50(weights=weights)
    network.fc = torch.nn.Linear(network.fc.in_features, n_concepts)
    return network


def read_images(paths: Any, training: bool, *, size: int = 224) -> Any:
    """Image files as a tensor of shape (n_images, 3, size, size).

    Parameters
    ----------
    paths : sequence of path
        The files: JPEG, PNG, WebP or GIF.
    training : bool
        True: cropped and mirrored at random. False: the middle.
    size : int
        Height and width.

    Returns
    -------
    torch.Tensor
    """
    torch, v2 = require_torch(), require_torch("torchvision.transforms.v2")
    crop = (
        [v2.RandomResizedCrop(size, scale=(_LEAST_AREA, 1.0), antialias=True), v2.RandomHorizontalFlip()]
        if training
        else [v2.Resize(round(size * 8 / 7), antialias=True), v2.CenterCrop(size)]
    )
    change = v2.Compose([*crop, v2.ToDtype(torch.float32, scale=True), v2.Normalize(_MEAN, _SPREAD)])
    decode = require_torch("torchvision.io").decode_image
    return torch.stack([change(decode(str(path), mode="RGB")) for path in np.asarray(paths, dtype=object)])


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
