"""Training by a function of the user's own."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.pruning.kernels import select_kernels
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.pruning.pruning import OWN_LOOP
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import Examples
from tfaudit.datasets.pipeline import full_batches, training_batches
from tfaudit.errors import InputError
from tfaudit.models.member_model import build_member, check_outputs, strip_compilation
from tfaudit.population.training import StopAt, copy_variables
from tfaudit.runtime.user_functions import check_call, import_reference
from tfaudit.study.study import Study

GRADIENT_BATCH = 32  # examples per batch of pruning scores that use gradients
SHORTFALL = 0.01  # share of the weights that may be missing from the zeros that were asked for


def fit_function(reference: str) -> Any:
    """Import a function `fit(model, train, *, seed, callbacks)`; raise an `InputError` if it cannot be called so."""
    function = import_reference("training", reference)
    expected = "fit(model, train, seed=..., callbacks=[...])"
    check_call("training", reference, function, expected, None, None, seed=0, callbacks=[])
    return function


class OwnTraining:
    """Trains models in place with a function, one after another in one model, as a `Trainer` does.

    The function receives the model, compiled if the study's model function compiles it, the training set as
    `tfaudit.Examples`, the member's seed, which is also Keras' global seed, and callbacks, which it has to pass to
    `model.fit`. It returns the History, or a table with a row per epoch.

    Args:
        study: sets the model.
        reference: of the function.
        data: the training set, in memory.
        callbacks: callbacks of every training; also an attribute.

    Attributes:
        model: the model to train in.
        sparsity: share of zeros that training must leave in the kernels of `layers`; None if it prunes nothing.
        layers: names of the layers that are pruned; None for all.
    """

    def __init__(
        self,
        study: Study,
        reference: str,
        data: Dataset,
        *,
        callbacks: Sequence[keras.callbacks.Callback] = (),
    ) -> None:
        self._study, self._reference, self._data = study, reference, data
        self._fit = fit_function(reference)
        if not data.in_memory:
            got = f"a function with {data.name!r}, which is too large for the memory"
            raise InputError("training", got, "a tfaudit.Training, or a data set of up to 600 MB")
        self.callbacks = list(callbacks)
        self.sparsity: float | None = None
        self.layers: list[str] | None = None
        self.model = build_member(study, data, 0)
        check_outputs(self.model, data, repr(study.model))
        self._optimizer = self.model.optimizer if self.model.compiled else None
        self._optimizer_start: list[np.ndarray] = []
        if self._optimizer is not None:
            self._optimizer.build(self.model.trainable_variables)
            self._optimizer_start = [variable.numpy() for variable in self._optimizer.variables]

    def build(self, seed: int) -> keras.Model:
        """Return a new model with the weights of a seed; not compiled."""
        return strip_compilation(build_member(self._study, self._data, seed))

    def batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return endless training batches, for pruning scores that use gradients."""
        return training_batches(
            self._data, batch_size=GRADIENT_BATCH, seed=seed, targets=bool(self.model.compiled)
        )

    def full_batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return endless training batches, none of them short."""
        return full_batches(self._data, GRADIENT_BATCH, seed)

    def held_out(self, split_seed: int) -> Dataset:
        """Raise an `InputError`: only the function knows what it validates on."""
        raise InputError(
            "training", f"{self._name}, which splits the data itself", "a tfaudit.Training"
        )

    def train(
        self,
        model: keras.Model,
        seed: int,
        *,
        split_seed: int | None = None,
        until: int | None = None,
    ) -> pd.DataFrame:
        """Train a model in place and return the history, as `Trainer.train`.

        `split_seed` is not used: the function splits off what it validates on itself.

        Raises:
            InputError: the function ignores the callbacks, does not stop at `until`, changes pruned weights, ends with
                fewer zeros than it was to prune, or returns neither a History nor a table.
        """
        copy_variables(model, self.model)
        if self._optimizer is not None:
            for variable, value in zip(
                self._optimizer.variables, self._optimizer_start, strict=True
            ):
                variable.assign(value)
        witness = _Witness(self._masking)
        stops = [] if until is None else [StopAt(until)]
        keras.utils.set_random_seed(seed)
        train = Examples(
            self._data.held,
            self._raw_targets(),
            self._data.groups,
            class_names=self._data.class_names,
        )
        try:
            returned = self._fit(
                self.model, train, seed=seed, callbacks=[*self.callbacks, witness, *stops]
            )
        except InputError as problem:  # of a callback, about what the function does with it
            got = f"{self._name}, where {problem.argument} is {problem.got}"
            raise InputError("training", got, problem.expected) from problem
        if not witness.epochs:
            got = f"{self._name}, which does not use its callbacks"
            how = f"model.fit(..., callbacks=callbacks), or {OWN_LOOP} in a loop, without which nothing is pruned"
            raise InputError("training", got, how)
        if witness.unheld > SHORTFALL:
            got = f"{self._name}, in which {witness.unheld:.0%} of the weights are not 0 although they are pruned"
            raise InputError(
                "training",
                got,
                "updates by the model's optimizer: model.optimizer.apply(gradients, ...)",
            )
        for stop in stops:
            if not stop.stopped:
                got = f"{self._name}, which did {stop.done} steps and was to stop after {until}"
                how = "model.fit, or a loop that calls on_train_batch_end and ends where model.stop_training is set"
                raise InputError("training", got, how)
        self._check_sparsity()
        copy_variables(self.model, model)
        return self._history(returned)

    @property
    def _masking(self) -> list[MaskingCallback]:
        return [callback for callback in self.callbacks if isinstance(callback, MaskingCallback)]

    def _raw_targets(self) -> np.ndarray:
        return self._data.labels if self._data.targets is None else self._data.targets

    @property
    def _name(self) -> str:
        return repr(self._reference.rpartition("/")[2])

    def _check_sparsity(self) -> None:
        if self.sparsity is None:
            return
        kernels = [kernel.numpy() for kernel in select_kernels(self.model, self.layers).values()]
        zeros = sum(int((kernel == 0).sum()) for kernel in kernels) / sum(
            kernel.size for kernel in kernels
        )
        # A step that was traced for an earlier member leaves the zeros of that member's masks.
        reached = min([zeros, *(callback.masked_share() for callback in self._masking)])
        if reached < self.sparsity - SHORTFALL:
            got = f"{self._name}, after which {reached:.0%} of the weights to prune are 0"
            how = "all callbacks in one fit, updates by model.optimizer, no early end and no earlier weights restored"
            raise InputError("training", got, f"{self.sparsity:.0%}: {how}")

    def _history(self, returned: Any) -> pd.DataFrame:
        table = getattr(returned, "history", returned)
        if not isinstance(table, dict | pd.DataFrame):
            got = f"a {type(returned).__name__} from {self._name}"
            raise InputError(
                "training", got, "the History of model.fit, or a table with a row per epoch"
            )
        frame = pd.DataFrame(table).reset_index(drop=True)
        if "epoch" not in frame:
            frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
        return frame


class _Witness(keras.callbacks.Callback):
    """Counts the epochs in which callbacks were called, and notes how well masks were held."""

    def __init__(self, masking: Sequence[MaskingCallback]) -> None:
        super().__init__()
        self.epochs = 0
        # Largest share of the weights that were pruned and not 0 at the end of an epoch.
        self.unheld = 0.0
        self._masking = masking

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.epochs += 1
        self.unheld = max([self.unheld, *(callback.unheld() for callback in self._masking)])
