"""Training of members one after another in one traced model."""

import math
from collections.abc import Sequence

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.datasets.validation import split_validation
from tfaudit.models.pretrained import load_pretrained
from tfaudit.models.registry import build_model
from tfaudit.study.study import Study, Training


class Trainer:
    """Trains models in place, one after another, as a `Training` specifies.

    Tracing a train step costs about a second. A trainer compiles one model and trains each member in it, starting from
    exactly the weights, optimizer state and random state of a new model: no member depends on those before it.

    Args:
        study: sets the model and its options.
        training: the training.
        data: the training set.
        callbacks: callbacks of every training; also an attribute.
        best_from: share of the epochs before which none can be the best one.

    Attributes:
        model: the compiled model.
        steps: optimizer steps of a training.
    """

    def __init__(
        self,
        study: Study,
        training: Training,
        data: Dataset,
        *,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        best_from: float = 0.0,
    ) -> None:
        self._study, self._training, self._data = study, training, data
        held_out = math.ceil(data.num_examples * training.validation)
        self.steps = training.total_steps(data.num_examples - held_out)
        self._steps_per_epoch = min(math.ceil((data.num_examples - held_out) / training.batch_size), max(self.steps, 1))
        self._epochs = math.ceil(self.steps / self._steps_per_epoch)
        self._first_best_epoch = math.ceil(self._epochs * best_from)
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
        self._initial_optimizer = [v.numpy() for v in self.model.optimizer.variables]

    def build(self, seed: int) -> keras.Model:
        """Return a new model with the weights of a seed; not compiled, so it saves as an ordinary `.keras` file."""
        keras.utils.set_random_seed(seed)
        name, options, data = self._study.model, self._study.model_options, self._data
        if name.endswith(".keras"):
            return load_pretrained(name, data.image_shape, **options)
        mean, std = data.moments()
        return build_model(name, data.image_shape, data.num_classes, mean=mean.tolist(), std=std.tolist(), **options)

    def batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return the endless training batches of a seed; see `train`."""
        return self._batches_of(self._split(seed if split_seed is None else split_seed)[0], seed)

    def train(
        self, model: keras.Model, seed: int, *, split_seed: int | None = None, until: int | None = None
    ) -> pd.DataFrame:
        """Train a model in place and return the history, one row per epoch.

        Args:
            model: of the study's architecture; holds the initial weights, then the trained ones.
            seed: of the batches.
            split_seed: of the validation part, `seed` by default; a member with a parent takes the parent's, so that it
                is not trained on the parent's validation images.
            until: number of steps after which training is interrupted.
        """
        training = self._training
        if not self.steps:
            return pd.DataFrame({"epoch": []})
        copy_variables(model, self.model)
        for variable, value in zip(self.model.optimizer.variables, self._initial_optimizer, strict=True):
            variable.assign(value)
        part, held_out = self._split(seed if split_seed is None else split_seed)
        validation = held_out and held_out.batches(1024).map(
            lambda x, y: (tf.cast(x, tf.float32), _targets(training, y, held_out))
        )
        callbacks = list(self.callbacks)
        if training.steps is not None or until is not None:
            callbacks.append(_StopAt(self.steps if until is None else until))
        if training.keep == "best" and until is None:
            best = {"restore_best_weights": True, "start_from_epoch": self._first_best_epoch}
            callbacks.append(keras.callbacks.EarlyStopping(patience=self._epochs, **best))
        history = self.model.fit(
            self._batches_of(part, seed),
            epochs=self._epochs,
            steps_per_epoch=self._steps_per_epoch,
            validation_data=validation,
            callbacks=callbacks,
            shuffle=False,  # the batches are shuffled already, by the seed
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
        """Return the part to train on and the part held out for validation."""
        if not self._training.validation:
            return self._data, None
        return split_validation(self._data, self._training.validation, seed)


@keras.saving.register_keras_serializable(package="tfaudit")
class LearningRate(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that is piecewise constant, with an optional linear warm-up and cosine decay to zero."""

    def __init__(self, training: Training, steps: int, steps_per_epoch: int) -> None:
        pieces = training.learning_rate if isinstance(training.learning_rate, tuple) else ((0, training.learning_rate),)
        self._starts = [epoch * steps_per_epoch for epoch, _ in pieces]
        self._rates = [rate for _, rate in pieces]
        self._warmup = training.warmup * steps_per_epoch
        self._cosine_steps = steps if training.decay == "cosine" else None

    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        """Return the rate of a step, counted from 0, as a float32 scalar."""
        step = tf.cast(step, tf.float32)
        piece = tf.searchsorted(tf.constant(self._starts, tf.float32), step[None], side="right")[0] - 1
        rate = tf.gather(tf.constant(self._rates, tf.float32), piece)
        if self._warmup:
            rate *= tf.minimum((step + 1) / self._warmup, 1.0)
        if self._cosine_steps:
            rate *= 0.5 * (1 + tf.cos(math.pi * tf.minimum(step / self._cosine_steps, 1.0)))
        return rate


class _StopAt(keras.callbacks.Callback):
    """Ends training after a number of steps, also within an epoch."""

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
    rate = LearningRate(training, steps, steps_per_epoch)
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
    """Copy every variable: weights, statistics, and the state of random layers such as Dropout."""
    for variable, value in zip(target.variables, source.variables, strict=True):
        variable.assign(value)
