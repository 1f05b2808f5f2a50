"""Training of one model after another in place: weights and optimizer state are put back, traced functions stay."""

from __future__ import annotations

import math
from collections.abc import Sequence

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.pruning import schedules
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.validation import split_validation
from tfaudit.models.pretrained import load_pretrained
from tfaudit.models.registry import build_model
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

__all__ = ["Rate", "Trainer", "copy_variables", "pruning_schedule"]


class Trainer:
    """Trains models in place, one after another, each in the way that a `Training` says.

    Tracing a train step costs about a second. A trainer compiles one model and trains each member in it, from the very
    weights, optimizer state and random state that a fresh model would have: no member depends on those before it.

    Args:
        study: the model, and its options.
        training: how to train.
        data: the training set.
        callbacks: of every training.
        keep_from: share of the epochs before which none is kept as the best one.

    Attributes:
        model: the compiled model.
        callbacks: as given.
        steps: optimizer steps of a training.
    """

    def __init__(
        self,
        study: Study,
        training: Training,
        data: Dataset,
        *,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        keep_from: float = 0.0,
    ) -> None:
        self._study, self._training, self._data = study, training, data
        held_out = math.ceil(data.num_examples * training.validation)
        self.steps = training.total_steps(data.num_examples - held_out)
        self._steps_per_epoch = min(math.ceil((data.num_examples - held_out) / training.batch_size), max(self.steps, 1))
        self._epochs = math.ceil(self.steps / self._steps_per_epoch)
        self._first_kept_epoch = math.ceil(self._epochs * keep_from)
        self.callbacks = list(callbacks)
        self.model = self.build(0)
        self.model.compile(
            optimizer=_optimizer(training, self.steps, self._steps_per_epoch),
            loss=_loss(training, data.num_classes),
            metrics=["accuracy"],
            jit_compile=bool(tf.config.list_physical_devices("GPU")),  # slower than plain graphs on a CPU
        )
        self.model.optimizer.build(self.model.trainable_variables)
        if training.weight_decay:
            for kernel in (v for v in self.model.trainable_variables if v.name.endswith("kernel")):
                kernel.regularizer = keras.regularizers.L2(training.weight_decay / 2)
        self._fresh_optimizer = [v.numpy() for v in self.model.optimizer.variables]

    def build(self, seed: int) -> keras.Model:
        """A fresh model with the weights of that seed, not compiled, so that it saves as an ordinary `.keras` file."""
        keras.utils.set_random_seed(seed)
        name, options, data = self._study.model, self._study.model_options, self._data
        if name.endswith(".keras"):
            return load_pretrained(name, data.image_shape, **options)
        mean, std = data.moments()
        return build_model(name, data.image_shape, data.num_classes, mean=mean.tolist(), std=std.tolist(), **options)

    def batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """The training batches of a seed, without end; see `train`."""
        return self._batches_of(self._split(seed if split_seed is None else split_seed)[0], seed)

    def train(
        self, model: keras.Model, seed: int, *, split_seed: int | None = None, until: int | None = None
    ) -> pd.DataFrame:
        """Trains a model in place.

        Args:
            model: of the study's architecture; where training starts, and where it ends.
            seed: of the batches, and of the validation part unless another is given.
            split_seed: of the validation part: that of the parent, whose validation images must not be trained on.
            until: end after so many steps, as if interrupted there.

        Returns:
            The history, one row an epoch.
        """
        training = self._training
        if not self.steps:
            return pd.DataFrame({"epoch": []})
        copy_variables(model, self.model)
        for variable, value in zip(self.model.optimizer.variables, self._fresh_optimizer, strict=True):
            variable.assign(value)
        part, held_out = self._split(seed if split_seed is None else split_seed)
        validation = held_out and held_out.batches(1024).map(
            lambda x, y: (tf.cast(x, tf.float32), _targets(training, y, held_out))
        )
        callbacks = list(self.callbacks)
        if training.steps is not None or until is not None:
            callbacks.append(_StopAt(self.steps if until is None else until))
        if training.keep == "best" and until is None:
            callbacks.append(
                keras.callbacks.EarlyStopping(
                    patience=self._epochs, restore_best_weights=True, start_from_epoch=self._first_kept_epoch
                )
            )
        history = self.model.fit(
            self._batches_of(part, seed),
            epochs=self._epochs,
            steps_per_epoch=self._steps_per_epoch,
            validation_data=validation,
            callbacks=callbacks,
            shuffle=False,  # the batches are shuffled, by the seed
            verbose=0,
        )
        copy_variables(self.model, model)
        frame = pd.DataFrame(history.history)
        frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
        return frame

    def _batches_of(self, data: Dataset, seed: int) -> tf.data.Dataset:
        training = self._training
        pairs = training_batches(data, batch_size=training.batch_size, seed=seed, augmentation=training.augmentation)
        return pairs.map(lambda x, y: (x, _targets(training, y, data)), num_parallel_calls=1)

    def _split(self, seed: int) -> tuple[Dataset, Dataset | None]:
        """The part to train on, and the part held out for validation."""
        if not self._training.validation:
            return self._data, None
        return split_validation(self._data, self._training.validation, seed)


def pruning_schedule(variant: Pruned, sparsity: float, steps: int) -> schedules.Schedule:
    """The cubic schedule of a pruned variant over a training of so many steps; it ends on an update, so it arrives.

    Example:
        >>> print(schedules.describe(pruning_schedule(Pruned(0.9, end=0.5, frequency=30), 0.9, steps=1000)))
        PolynomialDecay(..., final_sparsity=0.9, power=3, begin_step=0, end_step=480, frequency=30)
    """
    begin = min(round(variant.begin * steps), steps - 1)
    window = max(round(variant.end * steps) - begin, 1)
    frequency = min(variant.frequency or max(window // 100, 1), window)
    end = begin + window // frequency * frequency
    return schedules.polynomial(0.0, sparsity, begin, end, frequency)


@keras.saving.register_keras_serializable(package="tfaudit")
class Rate(keras.optimizers.schedules.LearningRateSchedule):
    """Learning rate over the steps: pieces from given epochs on, a linear warm-up, and a cosine to zero if asked."""

    def __init__(self, training: Training, steps: int, steps_per_epoch: int) -> None:
        pieces = training.learning_rate if isinstance(training.learning_rate, tuple) else ((0, training.learning_rate),)
        self._starts = [epoch * steps_per_epoch for epoch, _ in pieces]
        self._rates = [rate for _, rate in pieces]
        self._warmup = training.warmup * steps_per_epoch
        self._cosine_steps = steps if training.decay == "cosine" else None

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """The rate of the step, a float32 scalar; steps count from 0."""
        step = tf.cast(step, tf.float32)
        piece = tf.searchsorted(tf.constant(self._starts, tf.float32), step[None], side="right")[0] - 1
        rate = tf.gather(tf.constant(self._rates, tf.float32), piece)
        if self._warmup:
            rate *= tf.minimum((step + 1) / self._warmup, 1.0)
        if self._cosine_steps:
            rate *= 0.5 * (1 + tf.cos(math.pi * tf.minimum(step / self._cosine_steps, 1.0)))
        return rate


class _StopAt(keras.callbacks.Callback):
    """Ends training at a number of steps that need not be whole epochs."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps
        self._done = 0

    def on_train_begin(self, logs: dict | None = None) -> None:
        self._done = 0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._done += 1
        if self._done >= self._steps:
            self.model.stop_training = True


def _optimizer(training: Training, steps: int, steps_per_epoch: int) -> keras.optimizers.Optimizer:
    rate = Rate(training, steps, steps_per_epoch)
    if training.optimizer == "adam":
        return keras.optimizers.Adam(rate)
    return keras.optimizers.SGD(rate, momentum=training.momentum, nesterov=training.nesterov and training.momentum > 0)


def _loss(training: Training, num_classes: int) -> keras.losses.Loss:
    if training.label_smoothing:
        return keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=training.label_smoothing)
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _targets(training: Training, labels: tf.Tensor, data: Dataset) -> tf.Tensor:
    return tf.one_hot(labels, data.num_classes) if training.label_smoothing else labels


def copy_variables(source: keras.Model, target: keras.Model) -> None:
    """Copies every variable: weights, statistics, and the state of random layers such as Dropout."""
    for variable, value in zip(target.variables, source.variables, strict=True):
        variable.assign(value)
