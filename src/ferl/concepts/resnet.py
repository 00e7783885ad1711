"""The recipe for images: a ResNet-50 from ImageNet whose last layer names concepts."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ferl.concepts.torch_detector import TorchDetector
from ferl.concepts.training import require_torch

# Of the images of ImageNet, as its networks expect them.
_MEAN, _SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
_LEAST_AREA = 0.5  # of an image, that a random crop keeps: concepts of small parts must stay in it


def resnet50_detector(*, weights: str | None = "DEFAULT", size: int = 224, **parameters: Any) -> TorchDetector:
    """A detector for image files: ResNet-50, fine-tuned as a whole.

    Parameters
    ----------
    weights : str, optional
        Weights of torchvision to start from; they are downloaded once. None: random ones.
    size : int
        Height and width of the images that the network sees.
    **parameters
        Of :class:`ferl.concepts.TorchDetector`; by default the paper's 15 epochs, batches of 64 and a learning rate of
        1e-4.

    Returns
    -------
    TorchDetector
        Its rows are paths of image files: ``fit(paths, concepts)``. Needs torch and torchvision.
    """
    settings = {"epochs": 15, "batch_size": 64, "learning_rate": 1e-4, "weight_decay": 1e-4} | parameters
    return TorchDetector(partial(resnet50, weights=weights), inputs=partial(read_images, size=size), **settings)


def resnet50(row_shape: tuple[int, ...], n_concepts: int, *, weights: str | None = "DEFAULT") -> Any:
    """A ResNet-50 with one logit for each concept.

    Parameters
    ----------
    row_shape : tuple of int
        Shape of an image: (3, height, width).
    n_concepts : int
        Number of concepts.
    weights : str, optional
        As in :func:`resnet50_detector`.

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
