"""Going back to early weights: the lottery ticket's way of training a pruned model on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.errors import InputError

__all__ = ["Rewind"]


class Rewind(keras.callbacks.Callback):
    """Remember the weights of an early step, and put them back under masks: [P] 2, [R] table 12.

    Train with it, prune, rewind, and train again with the masks held; again for every further round:

        rewind = tfaudit.Rewind()
        model.fit(..., callbacks=[rewind])
        for sparsity in (0.2, 0.36, 0.488):
            masks = tfaudit.prune(model, sparsity)
            rewind.back(masks)
            model.fit(..., callbacks=[tfaudit.HoldMasks(masks)])

    Everything goes back, BatchNorm's statistics and biases too; the optimizer is yours: compile anew, or go on. The
    first fit with the callback counts; later ones leave what it remembers.

    Args:
        step: batches after which to remember; 0: before the first.

    Raises:
        InputError: a negative step; in `back`: nothing remembered yet, or masks that do not fit.

    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4, name="only")], name="net")
    >>> model.compile("sgd", "mse")
    >>> start, rewind = model.layers[0].kernel.numpy(), Rewind()
    >>> _ = model.fit(np.ones((64, 8)), np.ones((64, 4)), verbose=0, callbacks=[rewind])
    >>> mask = np.arange(32).reshape(8, 4) % 2 == 0
    >>> rewind.back({"net/only/kernel": mask})
    >>> bool((model.layers[0].kernel.numpy() == np.where(mask, start, 0)).all())
    True
    """

    def __init__(self, step: int = 0) -> None:
        super().__init__()
        if isinstance(step, bool) or not isinstance(step, int) or step < 0:
            raise InputError(f"step: expected a number of batches, 0 or more, came {step!r}")
        self._step = step
        self._done = 0
        self._values: list[np.ndarray] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Remember the start, where that is asked for."""
        if self._step == 0 and self.model.built:
            self._remember()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Remember the start of a model that is built by its first batch no more: then it is too late."""
        if self._step == 0 and self._values is None:
            raise InputError("step: 0, but the model has no weights before its first batch: build it first")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Remember the step that was asked for."""
        self._done += 1
        if self._done == self._step:
            self._remember()

    def back(self, masks: Mapping[str, np.ndarray]) -> None:
        """Put the remembered weights back, 0 where a mask is False.

        Args:
            masks: by Keras variable path, as `tfaudit.prune` returns them.
        """
        if self._values is None:
            raise InputError(f"step: {self._step} was not reached yet; fit the model with this callback first")
        kernels = find_kernels(self.model)
        unknown = [name for name in masks if name not in kernels]
        if unknown:
            raise InputError(f"masks: {self.model.name!r} has no kernel {unknown[0]!r}; it has {', '.join(kernels)}")
        for variable, value in zip(self.model.variables, self._values, strict=True):
            variable.assign(value)
        for name, mask in masks.items():
            kernels[name].assign(np.where(mask, kernels[name].numpy(), 0))

    def _remember(self) -> None:
        if self._values is None:
            self._values = [variable.numpy() for variable in self.model.variables]
