"""Fine-tuning under constant masks: a callback for models after one-shot pruning."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.kernels import find_kernels, kernels_of_masks
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import UNMASKED, warn_of_shortfall
from tfaudit.errors import InputError, require


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
        self._detach()
        self._require_optimizer("model.compile(optimizer) first: masks are held by model.optimizer")
        kernels = kernels_of_masks(self.model, self.masks)
        self._attach(kernels, lambda step: (tf.constant(False), tf.constant(0.0)), self.masks)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the masks off; pruned weights stay 0."""
        self._detach()
        if self._masked is not None:
            self._masked.apply()  # averaged or restored weights may be nonzero under the masks
            warn_of_shortfall(self.model, self._masked.kernels, self._masked.sparsity(), UNMASKED)
