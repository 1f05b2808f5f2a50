"""Training under masks: the base of the callbacks that hold them."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import require_instance
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import Schedule
from tfaudit.compress.second_train_function import SecondTrainFunction
from tfaudit.errors import InputError


class MaskingCallback(keras.callbacks.Callback):
    """Base of the callbacks that train a model under masks. One instance serves several fits."""

    def __init__(self) -> None:
        super().__init__()
        self._masked: MaskedKernels | None = None
        self._train_function: SecondTrainFunction | None = None

    def set_model(self, model: Any = None) -> None:
        """Take the model of a fit; a class instead of an instance, or a Keras 2 model, is refused."""
        require_instance(self, model)
        super().set_model(model)

    def masked_share(self) -> float:
        """Return the share of the weights that the masks of the latest fit prune; 0 before the first."""
        return 0.0 if self._masked is None else self._masked.sparsity()

    def unheld(self) -> float:
        """Return the share of the weights that the masks prune and that are not 0, as after updates by no optimizer."""
        return 0.0 if self._masked is None else self._masked.unheld()

    def _require_optimizer(self) -> None:
        if getattr(self.model, "optimizer", None) is None:
            got = "a model without an optimizer"
            raise InputError(
                "model", got, "model.compile(optimizer) first: masks are held by model.optimizer"
            )

    def _attach(
        self,
        kernels: Kernels,
        schedule: Schedule,
        masks: Mapping[str, np.ndarray],
        *,
        method: PruningMethod | None = None,
        data: tuple[tf.Tensor, tf.Tensor] | None = None,
        first: int | None = None,
        beyond: int = -1,
    ) -> None:
        """Put masks on the kernels of `self.model`.

        The masks are those to start with; `schedule`, `method` and `data` are as in `MaskedKernels`. At step `first`
        the schedule is asked before training starts (None: at none). `beyond` is as in `MaskedKernels.reset`.
        """
        masked = self._masked
        train_function = self._train_function
        reusable = (
            masked is not None and train_function is not None and train_function.fits(self.model)
        )
        if (
            masked is None
            or train_function is None
            or not (reusable and masked.fits(kernels, schedule))
        ):
            masked = MaskedKernels(self.model, kernels, schedule, method, data)
            train_function = SecondTrainFunction(self.model, self._detach)
        masked.reset(masks, beyond=beyond)
        if first is not None:
            masked.update(first)
        masked.attach()
        self._masked, self._train_function = masked, train_function
        train_function.swap_in()
        masked.apply()

    def _detach(self) -> None:
        """Take the masks off."""
        if self._masked is not None:
            self._masked.detach()
        if self._train_function is not None:
            self._train_function.swap_out()
