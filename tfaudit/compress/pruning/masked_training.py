"""Training under masks: the compiled train function that holds them, and the callback that puts it in place."""

from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.keras_model import require_instance
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import Schedule
from tfaudit.errors import InputError


class MaskedTrainFunction:
    """Second compiled train function of a model, with masks; it also detects an interrupted fit.

    Keras caches the train function that it traced, with the constraints of that moment. Constraints set later need
    another function, and without them the model's own function has to return. Both are cached, so each is traced once.
    `compile` discards Keras' own function, and its absence reveals the new compilation.

    Keras calls `on_train_end` only if the fit ends without an exception. But every fit begins with
    `make_train_function()`: this method of the model is replaced while the masked function is active, and calls
    `interrupted`, which has to swap it out.

    `active` is true while the model uses the masked function.
    """

    def __init__(self, model: keras.Model, interrupted: Callable[[], None]) -> None:
        self.active = False
        self._model, self._optimizer, self._interrupted = model, model.optimizer, interrupted
        self._own: Any = None
        self._masked: Any = None
        self._replaced: Any = None
        self._hook = self._make_train_function

    def fits(self, model: keras.Model) -> bool:
        """Return whether this is the model, compiled as it was at the last swap."""
        same = model is self._model and model.optimizer is self._optimizer
        return same and self._own is not None and model.train_function is self._own

    def swap_in(self) -> None:
        """Make the model train with the masked function; the constraints have to be set."""
        model, self.active = self._model, True
        self._own, model.train_function = model.train_function, self._masked
        type(model).make_train_function(model)  # bypasses the hook of another callback
        self._masked = model.train_function
        self._set_hook()

    def swap_in_when_built(self, attach: Callable[[], None]) -> None:
        """Swap in on the first batch, for a model that `fit` builds then: build it from that batch's shapes first.

        `attach` is called once the model is built and has to end with `swap_in`.
        """
        model, self.active = self._model, True

        def prepare(iterator: Any) -> None:
            self.swap_out()
            if earlier := getattr(model.train_function, "prepare", None):  # of another callback of this fit
                earlier(iterator)
            else:
                model._symbolic_build(data_batch=iterator.element_spec)
            self._masked = None
            attach()

        def first_step(iterator: Any) -> Any:
            prepare(iterator)
            return model.train_function(iterator)

        first_step.prepare = prepare  # type: ignore[attr-defined]
        self._own, self._masked = model.train_function, first_step
        model.train_function = first_step
        self._set_hook()

    def swap_out(self) -> None:
        """Restore the model's own function."""
        model, self.active = self._model, False
        if vars(model).get("make_train_function") is self._hook:
            del model.make_train_function
            if self._replaced is not None:
                model.make_train_function = self._replaced
        if model.train_function is self._masked:
            model.train_function = self._own

    def _set_hook(self) -> None:
        self._replaced = vars(self._model).get("make_train_function")
        self._model.make_train_function = self._hook

    def _make_train_function(self, force: bool = False) -> None:
        if not force or not self.active:
            self._interrupted()
            self._model.make_train_function(force=force)
            return
        # Another callback forces a new trace within this fit, for example because it froze a layer: the model's own
        # function is outdated as well.
        type(self._model).make_train_function(self._model, force=True)
        self._masked, self._own = self._model.train_function, None


class MaskingCallback(keras.callbacks.Callback):
    """Base of the callbacks that train a model under masks. One instance serves several fits."""

    def __init__(self) -> None:
        super().__init__()
        self._masked: MaskedKernels | None = None
        self._train_function: MaskedTrainFunction | None = None

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
            raise InputError("model", got, "model.compile(optimizer) first: masks are held by model.optimizer")

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
        masked, train_function = self._masked, self._train_function
        reusable = masked is not None and train_function is not None and train_function.fits(self.model)
        if masked is None or train_function is None or not (reusable and masked.fits(kernels, schedule)):
            masked = MaskedKernels(self.model, kernels, schedule, method, data)
            train_function = MaskedTrainFunction(self.model, self._detach)
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
