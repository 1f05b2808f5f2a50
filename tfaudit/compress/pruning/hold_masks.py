"""Fine-tuning under constant masks: a callback for models after one-shot pruning."""

import warnings
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import find_kernels, kernels_of_masks
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import (
    TOLERANCE,
    UNMASKED,
    warn_of_files,
    warn_of_shortfall,
)
from tfaudit.errors import InputError, Notice, require


class HoldMasks(MaskingCallback):
    """Callback that holds pruned weights at 0 while a model trains: fine-tuning after pruning ([R] 6), or rewinding.

    `masks = tfaudit.prune(model, 0.9)`, then `model.fit(..., callbacks=[tfaudit.HoldMasks(masks)])`. Like `Pruning`, it
    adds no layers to the model, and one instance serves several fits: on the same model, compiled as it was, the traced
    train function is reused, and `masks` may be replaced between two fits.

    Args:
        masks: bool arrays in the kernels' shapes by Keras variable path, True where a weight stays. A model that was
            saved and loaded may have other paths; masks are then matched by the ends of the paths.

    Raises:
        InputError: there are no masks; in `fit`: the model lacks a kernel, or a kernel has another shape.

    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, name="only")], name="net")
    >>> model.compile("sgd", "mse")
    >>> mask = np.arange(80).reshape(8, 10) % 4 == 0
    >>> hold = HoldMasks({"net/only/kernel": mask})
    >>> _ = model.fit(np.ones((64, 8)), np.ones((64, 10)), epochs=2, verbose=0, callbacks=[hold])
    >>> bool(((model.layers[0].kernel.numpy() != 0) == mask).all())
    True
    """

    def __init__(self, masks: Mapping[str, np.ndarray]) -> None:
        super().__init__(PruningMethod())
        expected = "the masks that tfaudit.prune returns"
        if not isinstance(masks, Mapping):
            expected += ", or for a pruned model HoldMasks.from_zeros(model)"
            raise InputError("masks", type(masks).__name__, expected)
        require(bool(masks), "masks", masks, expected)
        self.masks = dict(masks)

    @classmethod
    def from_zeros(cls, model: keras.Model) -> "HoldMasks":
        """Return the callback that holds the zeros of a pruned model, for example one loaded from a `.keras` file.

        Kernels without zeros stay free, and so do kernels of zeros only, which were initialised so.

        Raises:
            InputError: the model is not a Keras 3 model, or its kernels have no zeros to hold.
        """
        kernels = find_kernels(model, embeddings=True).items()
        nonzero = {name: kernel.numpy() != 0 for name, kernel in kernels}
        masks = {name: mask for name, mask in nonzero.items() if mask.any() and not mask.all()}
        require(bool(masks), "model", model.name, "a pruned model, whose kernels have zeros")
        return cls(masks)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Put the masks on."""
        super().on_train_begin(logs)
        kernels = kernels_of_masks(self.model, self.masks)
        self._attach(kernels, None, self.masks)

    def _end(self) -> None:
        masked = self._masked
        self._detach()
        if masked is None:
            return
        unheld = masked.unheld()
        masked.apply()
        if unheld > TOLERANCE / 10:
            text = f"sparsity: {unheld:.0%} of the weights were not 0 under their masks until the end: {UNMASKED}"
            warnings.warn(Notice(text), stacklevel=2)
        warn_of_shortfall(self.model, masked.kernels, masked.sparsity(), UNMASKED)
        warn_of_files(self._files, masked.sparsity())
