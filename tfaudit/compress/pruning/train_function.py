"""A second train function for a model: the one that was traced with masks, beside the model's own."""

from collections.abc import Callable
from typing import Any

import keras

__all__ = ["MaskedTrainFunction"]


class MaskedTrainFunction:
    """Swap a model's compiled train function, and notice when a fit was interrupted.

    Keras keeps the train function it has traced, with the constraints of that moment. So constraints that are set
    later need another one, and without them the model's own has to come back. Both are kept, and so traced only once.
    `compile` throws Keras' own away; by its absence a new compilation shows.

    Keras calls `on_train_end` only when nothing went wrong. But every fit begins with `make_train_function()`: so that
    method is replaced on the model while the swap lasts, and calls `interrupted`, which has to swap out.

    Args:
        model: a compiled model.
        interrupted: called when a fit begins on the model before `swap_out`.

    Attributes:
        active: whether the model runs the masked function now.
    """

    def __init__(self, model: keras.Model, interrupted: Callable[[], None]) -> None:
        self.active = False
        self._model, self._optimizer, self._interrupted = model, model.optimizer, interrupted
        self._own: Callable[..., Any] | None = None
        self._masked: Callable[..., Any] | None = None
        self._replaced: Callable[..., Any] | None = None
        self._hook = self._make_train_function

    def fits(self, model: keras.Model) -> bool:
        """Whether this is the model, compiled as it was at the last swap."""
        same = model is self._model and model.optimizer is self._optimizer
        return same and self._own is not None and model.train_function is self._own

    def swap_in(self) -> None:
        """Let the model train with the masked function; the constraints have to be set."""
        model, self.active = self._model, True
        self._own, model.train_function = model.train_function, self._masked
        type(model).make_train_function(model)  # not by way of another callback's hook
        self._masked = model.train_function
        self._set_hook()

    def swap_in_when_built(self, attach: Callable[[], None]) -> None:
        """For a model that `fit` builds on its first batch: build it from the shapes of that batch, just before.

        Args:
            attach: called when the model is built; has to end with `swap_in`.
        """
        model, self.active = self._model, True

        def prepare(iterator: Any) -> None:
            self.swap_out()
            earlier = getattr(model.train_function, "prepare", None)
            if earlier is not None:  # of another callback of this fit
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
        """Give the model its own function back."""
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
        # Another callback wants a fresh trace within this fit, say because it froze a layer: the model's own is
        # outdated as well.
        type(self._model).make_train_function(self._model, force=True)
        self._masked, self._own = self._model.train_function, None
