"""Training of one model after another in place: weights and optimizer state are put back, traced functions stay."""

from __future__ import annotations

import math

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress import schedules
from tfaudit.compress.pruning import Pruning
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import split_validation, training_batches
from tfaudit.models.registry import build_model
from tfaudit.study import Study, Training
from tfaudit.variants import Pruned, Variant

__all__ = ["Rate", "Trainer", "pruning_schedule"]


class Trainer:
    """Trains the members of one variant.

    Tracing a train step costs about a second. A trainer compiles one model and trains each member in it, from the very
    weights, optimizer state and random state that a fresh model with the member's seed would have: a member does not
    depend on those before it.

    Args:
        study: model, training and data.
        variant: dense, or pruned while it trains.
        data: the training set.
    """

    def __init__(self, study: Study, variant: Variant, data: Dataset) -> None:
        self._study = study
        self._data = data
        mean, std = data.moments()
        self._moments = {"mean": mean.tolist(), "std": std.tolist()}
        training = study.planned_training
        held_out = math.ceil(data.num_examples * training.validation)
        self._steps = training.total_steps(data.num_examples - held_out)
        self._steps_per_epoch = min(math.ceil((data.num_examples - held_out) / training.batch_size), self._steps)
        self._epochs = math.ceil(self._steps / self._steps_per_epoch)
        self._model = self._build(0)
        self._model.compile(
            optimizer=_optimizer(training, self._steps, self._steps_per_epoch),
            loss=_loss(training, data.num_classes),
            metrics=["accuracy"],
            jit_compile=bool(tf.config.list_physical_devices("GPU")),  # slower than plain graphs on a CPU
        )
        self._model.optimizer.build(self._model.trainable_variables)
        if training.weight_decay:
            for kernel in (v for v in self._model.trainable_variables if v.name.endswith("kernel")):
                kernel.regularizer = keras.regularizers.L2(training.weight_decay / 2)
        self._fresh_optimizer = [v.numpy() for v in self._model.optimizer.variables]
        self._callbacks: list[keras.callbacks.Callback] = []
        if isinstance(variant, Pruned):
            schedule = pruning_schedule(variant, self._steps)
            pruning = Pruning(schedule, method=variant.method, scope=variant.scope, layers=variant.layers)
            self._callbacks.append(pruning)
        if training.steps is not None:
            self._callbacks.append(_StopAt(self._steps))
        self._first_kept_epoch = math.ceil(self._epochs * variant.end) if isinstance(variant, Pruned) else 0

    def train(self, seed: int) -> tuple[keras.Model, pd.DataFrame]:
        """Trains the member of that seed.

        Returns:
            The trained model, not compiled, so that it saves as an ordinary `.keras` file; and its history, one row an
            epoch.
        """
        training = self._study.planned_training
        model = self._build(seed)
        _copy(model, self._model)
        for variable, value in zip(self._model.optimizer.variables, self._fresh_optimizer, strict=True):
            variable.assign(value)
        data, validation = self._data, None
        if training.validation:
            data, held_out = split_validation(data, training.validation, seed)
            validation = held_out.batches(1024).map(
                lambda x, y: (tf.cast(x, tf.float32), _targets(training, y, held_out))
            )
        batches = training_batches(
            data, batch_size=training.batch_size, seed=seed, augmentation=training.augmentation
        ).map(lambda x, y: (x, _targets(training, y, data)), num_parallel_calls=1)
        callbacks = list(self._callbacks)
        if training.keep == "best":
            callbacks.append(
                keras.callbacks.EarlyStopping(
                    patience=self._epochs, restore_best_weights=True, start_from_epoch=self._first_kept_epoch
                )
            )
        history = self._model.fit(
            batches,
            epochs=self._epochs,
            steps_per_epoch=self._steps_per_epoch,
            validation_data=validation,
            callbacks=callbacks,
            shuffle=False,  # the batches are shuffled, by the seed
            verbose=0,
        )
        _copy(self._model, model)
        frame = pd.DataFrame(history.history)
        frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
        return model, frame

    def _build(self, seed: int) -> keras.Model:
        keras.utils.set_random_seed(seed)
        data = self._data
        return build_model(
            self._study.model, data.image_shape, data.num_classes, **self._moments, **self._study.model_options
        )


def pruning_schedule(variant: Pruned, steps: int) -> schedules.Schedule:
    """The cubic schedule of a pruned variant over a training of so many steps; it ends on an update, so it arrives.

    Example:
        >>> print(schedules.describe(pruning_schedule(Pruned(0.9, end=0.5, frequency=30), steps=1000)))
        PolynomialDecay(..., final_sparsity=0.9, power=3, begin_step=0, end_step=480, frequency=30)
    """
    begin = min(round(variant.begin * steps), steps - 1)
    window = max(round(variant.end * steps) - begin, 1)
    frequency = min(variant.frequency or max(window // 100, 1), window)
    end = begin + window // frequency * frequency
    return schedules.polynomial(0.0, variant.sparsity, begin, end, frequency)


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


def _copy(source: keras.Model, target: keras.Model) -> None:
    """Copies every variable: weights, statistics, and the state of random layers such as Dropout."""
    for variable, value in zip(target.variables, source.variables, strict=True):
        variable.assign(value)
