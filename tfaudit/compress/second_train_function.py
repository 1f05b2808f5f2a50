"""A second compiled train function of a model, for callbacks that change the training step."""

from collections.abc import Callable
from typing import Any

import keras

from tfaudit.compress.callback import ModelCallback
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import build_from


class SecondTrainFunction:
    """Second compiled train function of a model, which also detects an interrupted fit.

    Keras caches the traced train function with the constraints and the loss at the time of tracing. Later changes of a
    callback need a second function, and the model's own function has to return afterwards. Both are cached, so each is
    traced once. `compile` discards Keras' own function, and its absence reveals the new compilation.

    Keras calls `on_train_end` only if the fit ends without an exception. But every fit begins with
    `make_train_function()`. While the second function is active, this method of the model is replaced by one that calls
    `interrupted`, which has to swap the second function out.

    `active` is true while the model uses the second function.
    """

    def __init__(self, model: keras.Model, interrupted: Callable[[], None]) -> None:
        self.active = False
        self._model, self._optimizer, self._interrupted = model, model.optimizer, interrupted
        self._own: Any = None
        self._second: Any = None
        self._replaced: Any = None
        self._hook = self._make_train_function

    def fits(self, model: keras.Model) -> bool:
        """Return whether this is the model, compiled as it was at the last swap."""
        same = model is self._model and model.optimizer is self._optimizer
        return same and self._own is not None and model.train_function is self._own

    def swap_in(self) -> None:
        """Make the model train with the second function; everything that it traces has to be set before."""
        model = self._model
        self.active = True
        self._own, model.train_function = model.train_function, self._second
        type(model).make_train_function(model)  # bypasses the hook of another callback
        self._second = model.train_function
        self._set_hook()

    def swap_in_when_built(self, attach: Callable[[], None]) -> None:
        """Swap in on the first batch of an unbuilt model, after building it from this batch's shapes.

        `attach` is called once the model is built and has to end with `swap_in`.
        """
        model = self._model
        self.active = True

        def prepare(iterator: Any) -> None:
            self.swap_out()
            # The `prepare` of another callback in this fit.
            if earlier := getattr(model.train_function, "prepare", None):
                earlier(iterator)
            else:
                build_from(model, iterator.element_spec)
            self._second = None
            attach()

        def first_step(iterator: Any) -> Any:
            prepare(iterator)
            return model.train_function(iterator)

        first_step.prepare = prepare  # type: ignore[attr-defined]
        self._own, self._second = model.train_function, first_step
        model.train_function = first_step
        self._set_hook()

    def swap_out(self) -> None:
        """Restore the model's own function."""
        model = self._model
        self.active = False
        if vars(model).get("make_train_function") is self._hook:
            del model.make_train_function
            if self._replaced is not None:
                model.make_train_function = self._replaced
        if model.train_function is self._second:
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
        self._second, self._own = self._model.train_function, None


class TrainingCallback(ModelCallback):
    """Base class of callbacks that change the training step. One instance serves several fits."""

    def __init__(self) -> None:
        super().__init__()
        self._train_function: SecondTrainFunction | None = None

    def _require_optimizer(self, expected: str) -> None:
        if getattr(self.model, "optimizer", None) is None:
            raise InputError("model", "a model without an optimizer", expected)

    def _detach(self) -> None:
        """Make the model train as without the callback."""
        if self._train_function is not None:
            self._train_function.swap_out()
