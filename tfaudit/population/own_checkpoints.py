"""Checkpoints of a fit that a user's function makes: a continued fit passes over the steps that were made.

Only the function knows its data, so no other code can begin in the middle of it. After an interruption the function is
called again, with the same seed, and its `model.fit` draws the same batches. Up to the checkpoint they are read and
dropped: no step is computed, in validation neither, and the function's own callbacks are told nothing. Then model,
optimizer, metrics, callbacks and history take up the state of the checkpoint, and the fit goes on. Only the first step
is made once more, since Keras builds metrics in it.

Whether the batches are the same is checked, not assumed: a checkpoint has weights before and after the step that
follows it. If the same step of the continued fit leads to other weights, training begins again. Weights need to be
equal to 1 % of the step only, so a fit may go on with another processor.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import numbers
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np

from tfaudit.errors import Notice
from tfaudit.population.checkpoints import (
    Checkpoint,
    CheckpointFile,
    callback_arrays,
    has_state,
    numeric,
    restore_callbacks,
    restore_variables,
    variable_arrays,
)

SAMPLE = 1000
"""Weights of a variable that are compared after the first step."""
TOLERANCE = 0.01
"""Largest difference of these weights, as a share of what the step changed."""
_NEXT = "next step"


class OtherStepsError(Exception):
    """A fit that does not make the steps of the fit that left the checkpoint."""


class OwnCheckpoints(keras.callbacks.Callback):
    """Callback that saves checkpoints of a function's `model.fit`, and continues the fit from the last one.

    Within `attached(model)`, the model's first fit that gets this callback tells the other callbacks through it, since
    it has to know them. A training without such a fit is not saved, and a warning says so when a checkpoint is due.

    Args:
        name: name of the function, for warnings.
        file: file of the checkpoint; None to save and to continue nothing.
        every: seconds between two checkpoints.
        handed: the other callbacks that the function gets, which are told of steps that are passed over, too.
    """

    def __init__(
        self,
        name: str,
        file: CheckpointFile | None,
        every: float,
        handed: Sequence[keras.callbacks.Callback],
    ) -> None:
        super().__init__()
        self._name, self._file, self._every, self._handed = name, file, every, handed
        self._found = file.load() if file else None
        self._others: list[keras.callbacks.Callback] = []
        self._inside = self._used = False
        self._own_functions: tuple[Any, Any] | None = None
        self._saved = time.monotonic()
        self._done = 0
        self._rows: list[dict[str, float]] = []
        self._noted: Checkpoint | None = None  # the state before the current step
        self._checked: tuple[np.ndarray, np.ndarray] | None = None

    @contextlib.contextmanager
    def attached(self, model: keras.Model) -> Iterator[None]:
        """Let fits of a model tell their callbacks through this one."""
        own = model.fit
        signature = inspect.signature(own)

        def fit(*values: Any, **named: Any) -> Any:
            bound = signature.bind(*values, **named)
            callbacks = keras.tree.flatten(bound.arguments.get("callbacks"))
            if self._used or self not in callbacks:
                return own(*values, **named)
            bound.arguments["callbacks"] = [self]
            self._others = [callback for callback in callbacks if callback is not self]
            self._inside = self._used = True
            history = own(*bound.args, **bound.kwargs)
            self._inside, self._others = False, []
            if self._found is not None:
                raise OtherStepsError
            return history

        model.fit = fit
        try:
            yield
        finally:
            del model.fit
            self._swap_out(model)

    def set_model(self, model: keras.Model) -> None:
        """Set the model of all callbacks."""
        super().set_model(model)
        for callback in self._others:
            callback.set_model(model)

    def set_params(self, params: dict[str, Any]) -> None:
        """Set the parameters of all callbacks."""
        super().set_params(params)
        for callback in self._others:
            callback.set_params(params)

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Tell all callbacks."""
        for callback in self._others:
            callback.on_train_begin(logs)

    def on_train_end(self, logs: dict | None = None) -> None:
        """Tell the callbacks."""
        self._tell("on_train_end", logs)

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        """Tell the callbacks; in the first epoch, begin to pass over the steps that were made."""
        self._tell("on_epoch_begin", epoch, logs)
        if self._inside and self._found is not None and self._own_functions is None:
            model = self.model
            self._own_functions = model.train_function, model.test_function
            model.train_function, model.test_function = self._pass_over, self._drop

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        """Tell the callbacks and note the history; that of an epoch that was passed over is known."""
        logs = {} if logs is None else logs
        self._tell("on_epoch_end", epoch, logs)
        if not self._inside:
            self._is_due()
        elif self._found is not None:
            if len(self._rows) == len(self._found.rows):
                raise OtherStepsError
            logs.clear()
            logs.update(self._found.rows[len(self._rows)])
        self._rows.append(dict(logs))

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """Take up the state of the checkpoint before the first step that was not made; note the state if it is due."""
        if self._inside:
            found = self._found
            if found is None:
                if self._done and self._is_due():
                    self._noted = self._state()
            elif (self._done, len(self._rows)) == (found.step, len(found.rows)):
                self._take_up(found)
        self._tell("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Save the noted state together with the weights after its next step, or compare them."""
        self._tell("on_train_batch_end", batch, logs)
        self._done += 1
        if not self._inside:
            self._is_due()
        if self._checked is not None:
            self._compare(*self._checked)
            self._checked = None
        if self._noted is not None and self._file is not None:
            self._noted.arrays[_NEXT] = _sample(self.model)
            self._file.save(self._noted)
            self._noted, self._saved = None, time.monotonic()

    def on_test_begin(self, logs: dict | None = None) -> None:
        """Tell the callbacks."""
        self._tell("on_test_begin", logs)

    def on_test_end(self, logs: dict | None = None) -> None:
        """Tell the callbacks."""
        self._tell("on_test_end", logs)

    def on_test_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """Tell the callbacks."""
        self._tell("on_test_batch_begin", batch, logs)

    def on_test_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Tell the callbacks."""
        self._tell("on_test_batch_end", batch, logs)

    def _tell(self, event: str, *values: Any) -> None:
        """Call a method of the other callbacks; while steps are passed over, only of those that the function gets."""
        for callback in self._others:
            if self._found is None or callback in self._handed:
                getattr(callback, event)(*values)

    def _pass_over(self, iterator: Iterator[Any]) -> dict[str, Any]:
        """Take the place of the train function until the first step that was not made."""
        if self._done or self._own_functions is None:
            return self._drop(iterator)
        return self._own_functions[0](iterator)  # type: ignore[no-any-return]

    def _drop(self, iterator: Iterator[Any]) -> dict[str, Any]:
        """Read the batches of one execution."""
        batches = itertools.islice(iterator, self.model.steps_per_execution)
        if not sum(1 for _ in batches):
            raise StopIteration
        return {}

    def _take_up(self, found: Checkpoint) -> None:
        self._swap_out(self.model)
        try:
            restore_variables(self.model, found.arrays)
            restore_callbacks(self._others, found.arrays)
            self._checked = _sample(self.model), found.arrays[_NEXT]
        except (KeyError, ValueError) as problem:  # another model, optimizer or callback
            raise OtherStepsError from problem
        if self._file is not None:
            self._file.report(found.step, False)
        self._found = None
        self._saved = time.monotonic()

    def _swap_out(self, model: keras.Model) -> None:
        """Give the model its own functions back."""
        if self._own_functions is not None:
            model.train_function, model.test_function = self._own_functions
            self._own_functions = None

    def _compare(self, before: np.ndarray, after: np.ndarray) -> None:
        difference = np.linalg.norm(_sample(self.model) - after)
        if not difference <= TOLERANCE * np.linalg.norm(after - before):
            raise OtherStepsError

    def _is_due(self) -> bool:
        """Return whether to save a checkpoint; if none can be, warn once."""
        if self._file is None or time.monotonic() - self._saved < self._every:
            return False
        if obstacle := self._obstacle():
            text = f"checkpoint: none of {self._name}, {obstacle}; after an interruption it begins again"
            warnings.warn(Notice(text), stacklevel=2)
            self._file = None
        return not obstacle

    def _obstacle(self) -> str | None:
        """Return why a later attempt could not continue this training; None if it can."""
        if not self._inside:
            return "outside of the first fit of its model"
        for callback in self._others:
            if callback not in self._handed and not has_state(callback):
                return f"whose callback {type(callback).__name__} has no training_state and restore_training"
        if not all(isinstance(value, numbers.Real) for row in self._rows for value in row.values()):
            return "whose logs are not only numbers"
        return None

    def _state(self) -> Checkpoint:
        arrays = {**variable_arrays(self.model), **callback_arrays(self._others)}
        return Checkpoint(self._done, numeric(self._rows), arrays)


def _sample(model: keras.Model) -> np.ndarray:
    """Return some of the weights of every variable that is trained, float64."""
    weights = [variable.numpy().ravel()[:SAMPLE] for variable in model.trainable_variables]
    return np.concatenate(weights).astype(float)
