"""Base class of callbacks that train a model under masks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import reached_sparsity
from tfaudit.compress.pruning.schedules import Schedule
from tfaudit.compress.train_function_swap import SecondTrainFunction, TrainingCallback


class MaskingCallback(TrainingCallback):
    """Base class of callbacks that train a model under masks. One instance serves several fits.

    At the end of a training, after all other callbacks of a fit, it compares the weights with the masks, and the files
    that callbacks have saved with the weights.
    """

    def __init__(self, method: PruningMethod, data: tuple[Any, Any] | None = None) -> None:
        super().__init__()
        self._method, self._data = method, data
        self._masked: MaskedKernels | None = None
        self._files: dict[str, float] = {}  # sparsities, in the order of saving
        self._history: Any = None

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Take off masks that an interrupted fit of another model left."""
        self._detach()
        self._require_optimizer("model.compile(optimizer) first: masks are held by model.optimizer")
        self._files = {}
        # Keras appends its `History` to the callbacks of a fit. One that has not begun comes after this callback.
        history = getattr(self.model, "history", None)
        later = self.params and getattr(history, "params", None) is self.params
        self._history = history if later and not hasattr(history, "epoch") else None

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the masks off, once all callbacks of a fit have seen its end; pruned weights stay 0."""
        history = self._history
        if history is None:
            self._end()
            return
        inner = history.on_train_end

        def last(logs: dict[str, Any] | None = None) -> None:
            vars(history).pop("on_train_end", None)
            inner(logs)
            self._end()

        history.on_train_end = last

    def saved(self, path: str) -> None:
        """Note the sparsity of the weights that a callback has saved."""
        if self._masked is not None:
            self._files.pop(path, None)
            self._files[path] = reached_sparsity(self.model, self._masked.kernels)

    def training_state(self) -> dict[str, Any]:
        """Return what later steps of the fit depend on, by name."""
        return {} if self._masked is None else self._masked.state()

    def restore_training(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state, in a fit whose masks are on."""
        if self._masked is not None:
            self._masked.restore(state)

    def begin_late(self, step: int) -> None:
        """Take the state after some steps without the callback: nothing is pruned."""
        if self._masked is not None:
            self._masked.prune_nothing()

    def masked_share(self) -> float:
        """Return the share of weights that the latest fit's masks prune; 0 before the first fit."""
        return 0.0 if self._masked is None else self._masked.sparsity()

    def unheld(self) -> float:
        """Return the share of weights that are not 0 although masks prune them, for lack of an optimizer's updates."""
        return 0.0 if self._masked is None else self._masked.unheld()

    def _end(self) -> None:
        """Take the masks off, and compare the weights and saved files with what was asked for."""
        raise NotImplementedError

    def _attach(
        self,
        kernels: Kernels,
        schedule: Schedule | None,
        masks: Mapping[str, np.ndarray],
        *,
        steps: int | None = None,
    ) -> None:
        """Put masks on the kernels of `self.model`; `steps` is the first epoch's length, None if unknown."""
        if (
            self._masked is None
            or self._train_function is None
            or not self._train_function.fits(self.model)
            or not self._masked.fits(kernels, schedule)
        ):
            self._masked = MaskedKernels(self.model, kernels, schedule, self._method, self._data)
            self._train_function = SecondTrainFunction(self.model, self)
        self._masked.start(masks, steps)
        self._put_on()

    def _put_on(self) -> None:
        """Put the masks on the kernels, and let the model train with them."""
        assert self._masked is not None
        assert self._train_function is not None
        self._masked.attach()
        self._train_function.swap_in()
        self._masked.apply()

    def _detach(self) -> None:
        """Take the masks off."""
        if self._masked is not None:
            self._masked.detach()
        super()._detach()
