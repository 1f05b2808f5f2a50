"""Training under masks: the base of the callbacks that hold them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import Schedule
from tfaudit.compress.second_train_function import SecondTrainFunction, TrainingCallback


class MaskingCallback(TrainingCallback):
    """Base of the callbacks that train a model under masks. One instance serves several fits."""

    def __init__(self, method: PruningMethod, data: tuple[Any, Any] | None = None) -> None:
        super().__init__()
        self._method, self._data = method, data
        self._masked: MaskedKernels | None = None

    def masked_share(self) -> float:
        """Return the share of the weights that the masks of the latest fit prune; 0 before the first."""
        return 0.0 if self._masked is None else self._masked.sparsity()

    def unheld(self) -> float:
        """Return the share of the weights that the masks prune and that are not 0, as after updates by no optimizer."""
        return 0.0 if self._masked is None else self._masked.unheld()

    def _attach(
        self,
        kernels: Kernels,
        schedule: Schedule,
        masks: Mapping[str, np.ndarray],
        *,
        steps: int | None = None,
    ) -> None:
        """Put masks on the kernels of `self.model`: at first these; `steps` is as in `MaskedKernels.start`."""
        if (
            self._masked is None
            or self._train_function is None
            or not self._train_function.fits(self.model)
            or not self._masked.fits(kernels, schedule)
        ):
            self._masked = MaskedKernels(self.model, kernels, schedule, self._method, self._data)
            self._train_function = SecondTrainFunction(self.model, self._detach)
        self._masked.start(masks, steps)
        self._masked.attach()
        self._train_function.swap_in()
        self._masked.apply()

    def _detach(self) -> None:
        """Take the masks off."""
        if self._masked is not None:
            self._masked.detach()
        super()._detach()
