"""A concept detector trained with torch: sigmoid outputs, cross-entropy, AdamW, cosine schedule, early stopping."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ferl._sklearn import Interval, fit_context, take_rows
from ferl._util.arrays import Floats
from ferl._util.threads import count_bar
from ferl.concepts.detectors import n_rows_of


class TorchDetector(BaseEstimator):
    """A network that names concepts, trained here.

    Parameters
    ----------
    module : torch.nn.Module or callable, default=None
        The network: its output is one logit for each concept. A callable makes it, ``module(row_shape, n_concepts)``.
        None: one hidden layer for rows of features, standardised first. :func:`resnet50` is one for images.
    hidden : int, default=256
        Units of the hidden layer; only where ``module`` is None, as ``dropout``.
    dropout : float, default=0.3
        Share of them that is silent in each training step.
    inputs : callable, default=None
        ``inputs(rows, training)`` turns some rows into a tensor of float32: reads image files, say. None: the rows are
        numbers.
    epochs : int, default=25
        Passes over the training rows; the learning rate falls to zero along half a cosine.
    batch_size : int, default=128
        Rows in a step.
    learning_rate : float, default=0.002
        Of AdamW.
    weight_decay : float, default=0.01
        Of AdamW.
    validation : float, default=0.1
        Share of the rows that only decides when to stop. 0: all epochs, and the last one counts.
    patience : int, default=5
        Epochs without a better loss on those rows after which training stops; the best epoch counts.
    device : str, default=None
        "cpu", "cuda", ... None: a GPU where there is one.
    random_state : int, RandomState or None, default=None
        Seed of weights, batches and validation rows.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    module_ : torch.nn.Module
        The network, on the CPU.
    n_epochs_ : int
        Epochs that counted.
    losses_ : ndarray of shape (n_epochs,)
        Loss on the validation rows after each epoch; empty without such rows.

    Notes
    -----
    Concept labels that are NaN are left out of the loss. Needs torch: ``pip install './benchmarks[torch]'``.
    """

    accepts_missing_concepts = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "module": [callable, None],
        "hidden": [Interval(Integral, 1, None, closed="left")],
        "dropout": [Interval(Real, 0, 1, closed="left")],
        "inputs": [callable, None],
        "epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "validation": [Interval(Real, 0, 1, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left")],
        "device": [str, None],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        module: Any = None,
        *,
        hidden: int = 256,
        dropout: float = 0.3,
        inputs: Callable[[Any, bool], Any] | None = None,
        epochs: int = 25,
        batch_size: int = 128,
        learning_rate: float = 2e-3,
        weight_decay: float = 1e-2,
        validation: float = 0.1,
        patience: int = 5,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.module = module
        self.hidden = hidden
        self.dropout = dropout
        self.inputs = inputs
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.validation = validation
        self.patience = patience
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, concepts: NDArray[Any]) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, ...)
            Rows: features, images, or whatever ``inputs`` reads.
        concepts : ndarray of shape (n_samples, n_concepts)
            1, 0, or NaN where not known.

        Returns
        -------
        TorchDetector
            The detector itself.
        """
        torch = require_torch()
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        targets = np.asarray(concepts, dtype=np.float32)
        self.n_concepts_ = targets.shape[1]
        fitting, held_out = self._parts(len(targets), seed)
        self._learn_scale(X, fitting)
        device = self._device(torch)
        # The caller's random numbers are not ours to move.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            module = self._module(torch, X).to(device)
            schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
            rng = np.random.default_rng(seed)

            def batches(training: bool) -> Iterator[tuple[Any, Any]]:
                rows = rng.permutation(fitting) if training else held_out
                for part in _parts_of(rows, self.batch_size):
                    yield self._tensor(X, part, training).to(device), torch.from_numpy(targets[part]).to(device)

            with count_bar("training the detector", self.epochs, self.verbose > 0) as move:
                self.n_epochs_, self.losses_ = best_epoch(module, batches, schedule, move, judged=len(held_out) > 0)
        self.module_ = module.to("cpu").eval()
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Probability of each concept, shape (n_samples, n_concepts)."""
        check_is_fitted(self)
        torch = require_torch()
        device = self._device(torch)
        module = self.module_.to(device)
        result = []
        with torch.inference_mode():
            for rows in _parts_of(np.arange(n_rows_of(X)), 4 * self.batch_size):
                logits = module(self._tensor(X, rows, training=False).to(device))
                result.append(torch.sigmoid(logits.double()).cpu().numpy())
        module.to("cpu")
        return np.concatenate(result) if result else np.empty((0, self.n_concepts_))

    def _parts(self, n_rows: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        order = np.random.default_rng([seed, n_rows]).permutation(n_rows)
        n_held_out = round(self.validation * n_rows)
        if n_rows - n_held_out < 1:
            raise ValueError(
                f"validation={self.validation} of {n_rows} rows leaves none to train on. Use a smaller share."
            )
        return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])

    def _learn_scale(self, X: Any, rows: NDArray[np.intp]) -> None:
        self.mean_, self.scale_ = None, None
        if self.module is None and self.inputs is None:
            values = np.asarray(take_rows(X, rows), dtype=np.float64)
            if values.ndim != 2:
                raise ValueError(
                    f"X has the shape {values.shape}; without a module rows of features are needed. Pass a module, "
                    "for example module=resnet50."
                )
            spread = values.std(axis=0)
            self.mean_ = values.mean(axis=0).astype(np.float32)
            self.scale_ = np.where(spread > 0, spread, 1.0).astype(np.float32)

    def _tensor(self, X: Any, rows: NDArray[np.intp], training: bool) -> Any:
        chosen = take_rows(X, rows)
        if self.inputs is not None:
            return self.inputs(chosen, training)
        values = np.asarray(chosen, dtype=np.float32)
        if self.mean_ is not None:
            values = (values - self.mean_) / self.scale_
        return require_torch().from_numpy(np.ascontiguousarray(values))

    def _module(self, torch: Any, X: Any) -> Any:
        if isinstance(self.module, torch.nn.Module):
            return deepcopy(self.module)
        shape = tuple(self._tensor(X, np.arange(1), training=False).shape[1:])
        if self.module is not None:
            return self.module(shape, self.n_concepts_)
        return torch.nn.Sequential(
            torch.nn.Linear(shape[0], self.hidden),
            torch.nn.ReLU(),
            torch.nn.Dropout(self.dropout),
            torch.nn.Linear(self.hidden, self.n_concepts_),
        )

    def _device(self, torch: Any) -> str:
        return self.device or ("cuda" if torch.cuda.is_available() else "cpu")


def _parts_of(rows: NDArray[np.intp], size: int) -> Sequence[NDArray[np.intp]]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def resnet50_detector(*, weights: str | None = "DEFAULT", size: int = 224, **parameters: Any) -> TorchDetector:
    """A detector for image files: ResNet-50, fine-tuned as a whole.

    Parameters
    ----------
    weights : str, default="DEFAULT"
        Weights of torchvision to start from; they are downloaded once. None: random ones.
    size : int, default=224
        Height and width of the images that the network sees.
    **parameters
        Of :class:`TorchDetector`; by default the paper's 15 epochs, batches of 64 and a learning rate of
        1e-4.

    Returns
    -------
    TorchDetector
        Its rows are paths of image files: ``fit(paths, concepts)``. Needs torch and torchvision.
    """
    settings = {"epochs": 15, "batch_size": 64, "learning_rate": 1e-4, "weight_decay": 1e-4} | parameters
    return TorchDetector(partial(resnet50, weights=weights), inputs=partial(read_images, size=size), **settings)


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
    weights : str, default="DEFAULT"
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
    size : int, default=224
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
        remedy = "pip install './benchmarks[torch]'" if missing == "torch" else f"pip install {missing}"
        raise ModuleNotFoundError(
            f"This detector needs {missing}, which is not installed ({remedy}). Detectors of scikit-learn, functions "
            "and precomputed concepts work without it."
        ) from error


def best_epoch(
    module: Any, batches: Batches, schedule: Schedule, on_epoch: Callable[[int], object] | None = None, *, judged: bool
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
    on_epoch : callable, default=None
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
