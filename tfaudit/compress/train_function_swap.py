"""A second compiled train function of a model, for callbacks that change the training step."""

from collections.abc import Callable
from itertools import chain
from typing import Any

import keras

from tfaudit.compress.callback import ModelCallback
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import build_from

OWN_LOOP = "keras.callbacks.CallbackList(callbacks, model=model, epochs=..., steps=...)"
"""Object through which a custom training loop, without `model.fit`, reports events to callbacks."""


class TrainingCallback(ModelCallback):
    """Base class of callbacks that change the training step. One instance serves several fits."""

    def __init__(self) -> None:
        super().__init__()
        self._train_function: SecondTrainFunction | None = None

    def saved(self, path: str) -> None:
        """Take note of a file that a callback has saved while the training step is changed."""

    def _require_optimizer(self, expected: str) -> None:
        if self.model is None:
            raise InputError("model", "none", OWN_LOOP)
        if getattr(self.model, "optimizer", None) is None:
            raise InputError("model", "a model without an optimizer", expected)

    def _detach(self) -> None:
        """Make the model train as without the callback."""
        if self._train_function is not None:
            self._train_function.swap_out()


class SecondTrainFunction:
    """Second compiled train function of a model, for one callback; several may be swapped in, and out in any order.

    Keras caches the traced train function with the constraints and the loss at the time of tracing. Later changes of a
    callback need a second function, and the model's own function has to return afterwards. Both are cached, so each is
    traced once. `compile` discards Keras' own function, and its absence reveals the new compilation.
    """

    def __init__(self, model: keras.Model, callback: TrainingCallback) -> None:
        self._model, self._optimizer, self._callback = model, model.optimizer, callback
        self._own: Any = None  # function in whose place this one is traced
        self._below: Any = None  # function to restore
        self._second: Any = None
        self._watched = _WatchedMethods.of(model)

    @property
    def active(self) -> bool:
        """Whether the model uses the second function."""
        return self in self._watched.functions

    def fits(self, model: keras.Model) -> bool:
        """Return whether this is the model, compiled as it was at the last swap."""
        same = model is self._model and model.optimizer is self._optimizer
        return same and self._own is not None and model.train_function is self._own

    def swap_in(self) -> None:
        """Make the model train with the second function; everything that it traces has to be set before."""
        model = self._model
        self._own = self._below = model.train_function
        model.train_function = self._second
        type(model).make_train_function(model)
        self._second = model.train_function
        self._watched.add(self)

    def swap_in_when_built(self, attach: Callable[[], None]) -> None:
        """Swap in on the first batch of an unbuilt model, after building it from this batch.

        `attach` is called once the model is built and has to end with `swap_in`.
        """
        model = self._model

        def prepare(batches: Any) -> Any:
            self.swap_out()
            # The `prepare` of another callback in this fit.
            if earlier := getattr(model.train_function, "prepare", None):
                batches = earlier(batches)
            elif hasattr(batches, "element_spec"):
                build_from(model, batches.element_spec)
            else:  # the generator of `train_on_batch`
                first = next(batches)
                build_from(model, first)
                batches = chain([first], batches)
            self._second = None
            attach()
            return batches

        def first_step(batches: Any) -> Any:
            batches = prepare(batches)
            return model.train_function(batches)

        first_step.prepare = prepare  # type: ignore[attr-defined]
        self._own = self._below = model.train_function
        self._second = model.train_function = first_step
        self._watched.add(self)

    def swap_out(self) -> None:
        """Restore the model's own function."""
        if not self.active:
            return
        model = self._model
        above = self._watched.above(self)
        if above is not None:
            above._below = self._below
        elif model.train_function is self._second:
            model.train_function = self._below
        else:  # another one, which was traced with the callback's change
            model.train_function = None
        self._watched.remove(self)

    def interrupt(self) -> None:
        """Take off the callback's change, since its fit has ended without `on_train_end`."""
        self._callback._detach()
        self.swap_out()

    def retraced(self, function: Any) -> None:
        """Take a newly made function in place of the second one: all earlier ones are outdated."""
        self._second, self._own, self._below = function, None, None

    def saved(self, path: str) -> None:
        """Tell the callback of a saved file."""
        self._callback.saved(path)


class _WatchedMethods:
    """Methods of a model that take notice of their calls while second train functions are swapped in.

    Keras calls `on_train_end` only if a fit ends without an exception. But every fit gives the model a new `history`
    and then calls `make_train_function()`, which reveals that the fit before was interrupted; `train_on_batch` calls it
    too, in the midst of a training. With `force=True`, another callback wants a new trace within the fit, for example
    because it froze a layer.
    """

    NAMES = ("make_train_function", "save", "save_weights")

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._inner: dict[str, Any] = {}
        self._history: Any = None  # of the fit
        self.functions: list[SecondTrainFunction] = []  # those swapped in, in this order

    @classmethod
    def of(cls, model: keras.Model) -> "_WatchedMethods":
        """Return the instance for a model, always the same one."""
        return vars(model).setdefault("_watched_methods", cls(model))  # type: ignore[no-any-return]

    def add(self, function: SecondTrainFunction) -> None:
        """Add a second train function; the first one begins the watch."""
        if not self.functions:
            self._history = getattr(self._model, "history", None)
            self._inner = {name: getattr(self._model, name) for name in self.NAMES}
            for name in self.NAMES:
                setattr(self._model, name, getattr(self, name))
        self.functions.append(function)

    def remove(self, function: SecondTrainFunction) -> None:
        """Remove a second train function; the last one ends the watch."""
        self.functions.remove(function)
        if not self.functions:
            for name in self.NAMES:
                if vars(self._model).get(name) == getattr(self, name):
                    delattr(self._model, name)

    def above(self, function: SecondTrainFunction) -> SecondTrainFunction | None:
        """Return the function that was swapped in after another one, or None."""
        place = self.functions.index(function) + 1
        return self.functions[place] if place < len(self.functions) else None

    def make_train_function(self, force: bool = False) -> None:
        """Make the train function, of the model alone if a new fit begins."""
        if force:
            self._inner["make_train_function"](force=True)
            for function in self.functions:
                function.retraced(None)
            self.functions[-1].retraced(self._model.train_function)
            return
        if getattr(self._model, "history", None) is not self._history:
            for function in [*self.functions]:
                function.interrupt()
        type(self._model).make_train_function(self._model)

    def save(self, filepath: Any, *arguments: Any, **settings: Any) -> None:
        """Save the model, and tell the callbacks."""
        self._inner["save"](filepath, *arguments, **settings)
        self._tell(filepath)

    def save_weights(self, filepath: Any, *arguments: Any, **settings: Any) -> None:
        """Save the weights, and tell the callbacks."""
        self._inner["save_weights"](filepath, *arguments, **settings)
        self._tell(filepath)

    def _tell(self, filepath: Any) -> None:
        for function in self.functions:
            function.saved(str(filepath))
