"""Fine-tuning under masks that do not change: the callback for what was pruned at one blow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.train_function import MaskedTrainFunction
from tfaudit.errors import InputError

__all__ = ["HoldMasks"]


class HoldMasks(keras.callbacks.Callback):
    """Keep pruned weights at 0 while a model trains on: one-shot pruning with fine-tuning ([R] 6), or rewinding.

    `masks = tfaudit.prune(model, 0.9)`, then `model.fit(..., callbacks=[tfaudit.HoldMasks(masks)])`. Like `Pruning`, it
    leaves the model what it is, and one instance may be used again: on the same model, compiled as it was, the traced
    train function is reused, and `masks` may be replaced between two fits.

    Args:
        masks: by Keras variable path a bool array of the kernel's shape, True where a weight stays.

    Attributes:
        masks: as given; those of the next fit.

    Raises:
        InputError: no masks; in `fit`: a kernel that the model does not have, or of another shape.

    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, name="only")], name="net")
    >>> model.compile("sgd", "mse")
    >>> mask = np.arange(80).reshape(8, 10) % 4 == 0
    >>> hold = HoldMasks({"net/only/kernel": mask})
    >>> _ = model.fit(np.ones((64, 8)), np.ones((64, 10)), epochs=2, verbose=0, callbacks=[hold])
    >>> bool(((model.layers[0].kernel.numpy() != 0) == mask).all())
    True
    """

    def __init__(self, masks: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        if not masks:
            raise InputError("masks: came empty; give those that tfaudit.prune returns")
        self.masks = dict(masks)
        self._masked: MaskedKernels | None = None
        self._train_function: MaskedTrainFunction | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Put the masks on."""
        self._detach()
        kernels = self._kernels()
        masked, train_function = self._masked, self._train_function
        if (
            masked is None
            or train_function is None
            or not (train_function.fits(self.model) and masked.fits(kernels, _never))
        ):
            masked = MaskedKernels(self.model, kernels, _never)
            train_function = MaskedTrainFunction(self.model, self._detach)
        masked.reset(self.masks, beyond=-1)
        masked.attach()
        self._masked, self._train_function = masked, train_function
        train_function.swap_in()
        masked.apply()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the masks off; the pruned weights stay 0."""
        self._detach()
        if self._masked is not None:
            self._masked.apply()  # averages of weights, and weights that were restored, need not heed the masks

    def _kernels(self) -> dict[str, keras.Variable]:
        kernels = find_kernels(self.model)
        for name, mask in self.masks.items():
            if name not in kernels:
                raise InputError(f"masks: {self.model.name!r} has no kernel {name!r}; it has {', '.join(kernels)}")
            if np.shape(mask) != tuple(kernels[name].shape):
                raise InputError(f"masks: {name!r} has shape {np.shape(mask)}, its kernel {tuple(kernels[name].shape)}")
        return {name: kernels[name] for name in self.masks}

    def _detach(self) -> None:
        if self._masked is not None:
            self._masked.detach()
        if self._train_function is not None:
            self._train_function.swap_out()


def _never(step: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """A schedule that never prunes."""
    return tf.constant(False), tf.constant(0.0)
