"""Base class of callbacks that train a model under masks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import Schedule
from tfaudit.compress.second_train_function import SecondTrainFunction, TrainingCallback


class MaskingCallback(TrainingCallback):
    """Base class of callbacks that train a model under masks. One instance serves several fits."""

    def __init__(self, method: PruningMethod, data: tuple[Any, Any] | None = None) -> None:
        super().__init__()
        self._method, self._data = method, data
        self._masked: MaskedKernels | None = None

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

    def _attach(
        self,
        kernels: Kernels,
        schedule: Schedule,
        masks: Mapping[str, np.ndarray],
        *,
        steps: int | None = None,
        total: int = 0,
    ) -> None:
        """Put masks on the kernels of `self.model`.

        `steps` is the first epoch's length, None if unknown; `total` the fit's length, 0 if unknown.
        """
        if (
            self._masked is None
            or self._train_function is None
            or not self._train_function.fits(self.model)
            or not self._masked.fits(kernels, schedule)
        ):
            self._masked = MaskedKernels(self.model, kernels, schedule, self._method, self._data)
            self._train_function = SecondTrainFunction(self.model, self._detach)
        self._masked.start(masks, steps, total)
        self._masked.attach()
        self._train_function.swap_in()
        self._masked.apply()

    def _detach(self) -> None:
        """Take the masks off."""
        if self._masked is not None:
            self._masked.detach()
        super()._detach()
