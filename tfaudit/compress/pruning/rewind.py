"""Rewinding to early weights, for lottery tickets."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfaudit.compress.callback import ModelCallback
from tfaudit.compress.pruning.kernels import kernels_of_masks
from tfaudit.compress.pruning.masks import masked
from tfaudit.errors import InputError, require_whole


class Rewind(ModelCallback):
    """Callback that stores the weights of an early step and restores them under masks: [P] 2, [R] table 12.

    Train with it, `prune`, rewind with `back(masks)`, and train with `HoldMasks(masks)`; repeat for further rounds with
    a rising sparsity. All variables of the model are restored, biases and BatchNorm's statistics too, but not the
    optimizer: compile the model again to reset it. Only the first fit with the callback stores weights.

    Args:
        step: number of batches after which to store the weights; 0, the default, stores the initial weights.

    Raises:
        InputError: the step is negative; in `back`: no weights are stored, or the masks do not fit.

    >>> import keras
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
        require_whole("step", step, 0)
        self._step, self._done = step, 0
        self._batch = -1  # number of the last batch within its epoch
        self._values: list[np.ndarray] | None = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Store the initial weights, for step 0."""
        if self._step == 0 and self.model.built:
            self._store()

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Raise an `InputError` if step 0 was missed because the first batch builds the model."""
        if self._step == 0 and self._values is None:
            got = "0 for a model without weights before its first batch"
            raise InputError("step", got, "a model that is built")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Store the weights after the chosen step; raise an `InputError` if Keras runs on from it to a later one."""
        self._done += batch - self._batch if batch > self._batch else batch + 1
        self._batch = batch
        if self._done >= self._step and self._values is None:
            if self._done > self._step:
                got = f"{self._step}, after which steps_per_execution goes on to {self._done}"
                raise InputError("step", got, "a step at which an execution ends")
            self._store()

    def back(self, masks: Mapping[str, np.ndarray]) -> None:
        """Restore the stored weights, with 0 where masks, as returned by `tfaudit.prune`, are False."""
        if self._values is None:
            got = f"{self._step}, which no fit reached"
            raise InputError("step", got, "a fit of that many batches with this callback")
        kernels = kernels_of_masks(self.model, masks)
        for variable, value in zip(self.model.variables, self._values, strict=True):
            variable.assign(value)
        for name, mask in masks.items():
            kernels[name].assign(masked(kernels[name], mask))

    def _store(self) -> None:
        if self._values is None:
            self._values = [variable.numpy() for variable in self.model.variables]
