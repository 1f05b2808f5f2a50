"""Training by a user's function."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.pruning.kernels import select_kernels
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.train_function_swap import OWN_LOOP
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.examples import Examples
from tfaudit.datasets.pipeline import full_batches, training_batches
from tfaudit.errors import InputError
from tfaudit.models.member_model import build_member, check_outputs, check_seeds
from tfaudit.population.checkpoints import Checkpoint, CheckpointFile
from tfaudit.population.training import StopAt, TrainerInOneModel, copy_variables, make_optimizer
from tfaudit.runtime.user_functions import check_call, import_reference
from tfaudit.study.study import Study

GRADIENT_BATCH = 32  # examples per batch of pruning scores that use gradients
SHORTFALL = 0.01  # tolerated lack of zeros, as a share of the weights


def fit_function(reference: str) -> Any:
    """Import a function `fit(model, train, *, seed, callbacks)`; raise an `InputError` if it cannot be called so."""
    function = import_reference("training", reference)
    expected = "fit(model, train, seed=..., callbacks=[...])"
    check_call("training", reference, function, expected, None, None, seed=0, callbacks=[])
    return function


def check_own_parts(study: Study, train: Dataset) -> None:
    """Build a study's own model once, and look at its trainings and optimizers; raise `InputError`."""
    for training in filter(None, (study.training, study.retraining)):
        if isinstance(training, str):
            fit_function(training)
        else:
            make_optimizer(training, steps=1, steps_per_epoch=1)
    if study.model in study.sources:
        model = build_member(study, train, 0)
        check_outputs(model, train, repr(study.model))
        check_seeds(study, train, model)


class OwnTraining(TrainerInOneModel):
    """Trains models in place with a function, one after another in one model, as a `Trainer` does.

    The function receives the model, compiled if the study's model function compiles it, the training set as
    `tfaudit.Examples`, the member's seed, which is also Keras' global seed, and callbacks, which it has to pass to
    `model.fit`. It returns the History, or a table with a row per epoch.

    Args:
        study: study that sets the model.
        reference: reference of the function.
        data: the training set, in memory.
    """

    def __init__(self, study: Study, reference: str, data: Dataset) -> None:
        super().__init__(study, data)
        self._name = repr(reference.rpartition("/")[2])
        self._fit = fit_function(reference)
        if not data.in_memory:
            got = f"a function with {data.name!r}, which does not fit into memory"
            raise InputError("training", got, "a tfaudit.Training, or a data set of up to 600 MB")
        self._set_model(build_member(study, data, 0))
        if self.model.compiled:
            self._note_optimizer()

    def batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return endless training batches, for pruning scores that use gradients."""
        return training_batches(
            self.data, batch_size=GRADIENT_BATCH, seed=seed, targets=bool(self.model.compiled)
        )

    def full_batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return endless training batches, none of them short."""
        return full_batches(self.data, GRADIENT_BATCH, seed)

    def train(
        self,
        model: keras.Model,
        seed: int,
        *,
        split_seed: int | None = None,
        until: int | None = None,
        checkpoint: CheckpointFile | None = None,
        fork: Checkpoint | None = None,
    ) -> pd.DataFrame:
        """Train a model in place and return the history, as `Trainer.train` does.

        `split_seed` is not used: the function itself splits off its validation examples. Nor are `checkpoint` and
        `fork`: only the function can go on where it was interrupted.

        Raises:
            InputError: the function ignores the callbacks, does not stop at `until`, changes pruned weights, ends with
                fewer zeros than it was to prune, or returns neither a History nor a table.
        """
        stops = [] if until is None else [StopAt(until)]
        data = self.data
        targets = data.labels if data.targets is None else data.targets
        train = Examples(
            data.held,
            targets,
            data.groups,
            class_names=data.class_names,
            weights=data.weights,
        )
        self._start_from(model)
        witness = _MaskMonitor(self._masking)
        callbacks = [*self.callbacks, *stops, witness]
        keras.utils.set_random_seed(seed)
        try:
            returned = self._fit(self.model, train, seed=seed, callbacks=callbacks)
        except InputError as error:  # of a callback, about how the function uses it
            got = f"where {error.argument} is {error.got}"
            raise self._error(got, error.expected) from error
        if not witness.epochs:
            how = f"model.fit(..., callbacks=callbacks), or {OWN_LOOP} in a loop, without which nothing is pruned"
            raise self._error("which does not use its callbacks", how)
        if witness.unheld > SHORTFALL:
            got = f"in which {witness.unheld:.0%} of the weights are not 0 although they are pruned"
            how = "updates by the model's optimizer: model.optimizer.apply(gradients, ...)"
            raise self._error(got, how)
        for stop in stops:
            if not stop.stopped:
                got = f"which did {stop.done} steps and was to stop after {until}"
                how = "model.fit, or a loop that calls on_train_batch_end and ends where model.stop_training is set"
                raise self._error(got, how)
        if self.sparsity is not None:
            self._check_sparsity(self.sparsity)
        copy_variables(self.model, model)
        return self._history(returned)

    def _error(self, what: str, expected: str) -> InputError:
        """Return an error about the behaviour of the function."""
        return InputError("training", f"{self._name}, {what}", expected)

    @property
    def _masking(self) -> list[MaskingCallback]:
        return [callback for callback in self.callbacks if isinstance(callback, MaskingCallback)]

    def _check_sparsity(self, target: float) -> None:
        kernels = [kernel.numpy() for kernel in select_kernels(self.model, self.layers).values()]
        zeros = sum(int((kernel == 0).sum()) for kernel in kernels) / sum(
            kernel.size for kernel in kernels
        )
        # A step that was traced for an earlier member leaves the zeros of that member's masks.
        reached = min([zeros, *(callback.masked_share() for callback in self._masking)])
        if reached < target - SHORTFALL:
            got = f"after which {reached:.0%} of the weights to prune are 0"
            how = "all callbacks in one fit, updates by model.optimizer, no early end and no earlier weights restored"
            raise self._error(got, f"{target:.0%}: {how}")

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


class _MaskMonitor(keras.callbacks.Callback):
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
