"""Training of members one after another in one traced model."""

import contextlib
import copy
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
import numpy as np
import pandas as pd
import tensorflow as tf

from tfaudit.compress.counts import counts
from tfaudit.compress.micro_batches import MicroBatches
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import full_batches, training_batches
from tfaudit.datasets.validation import split_validation
from tfaudit.errors import InputError, Notice, one_line, require
from tfaudit.models.member_model import (
    build_member,
    check_outputs,
    gives_probabilities,
    strip_compilation,
)
from tfaudit.population.checkpoints import Checkpoint, CheckpointFile, Checkpoints
from tfaudit.population.fused_batch_norm import fuse_batch_norm
from tfaudit.study.study import Study, Training
from tfaudit.study.training import RATES
from tfaudit.study.variants import Pruned

LEAST_STEPS = 100
"""Trainings of fewer steps make them one by one."""
MOST_TOGETHER = 50
"""Most steps of one call of a train function, unless a training says otherwise."""
OPERATIONS_TOGETHER = 1e10
"""Most floating-point operations of such a call: a tenth of a second on a core."""


class TrainerInOneModel:
    """Base class of trainers that train members in place, one after another in one model.

    Tracing a train step costs about a second. A trainer compiles one model and trains each member in it, starting from
    exactly the weights, optimizer state and random state of a new model: no member depends on those before it.

    Attributes:
        study: study that sets the model.
        data: the training set.
        model: the model to train in.
        callbacks: callbacks of every training. If one has an attribute `columns`, batches also hold the groups with
            these names, which are not inputs of the model.
        sparsity: share of zeros that training must leave in the kernels of `layers`; None if it prunes nothing.
        layers: names of the layers that are pruned; None for all.
        fork_steps: numbers of steps after which other trainings continue the trainings of this one.
        forked: contents of the files with the checkpoints of the last training after these steps.
    """

    model: keras.Model

    def __init__(self, study: Study, data: Dataset) -> None:
        self.study = study
        self.data = data
        self.callbacks: list[keras.callbacks.Callback] = []
        self.sparsity: float | None = None
        self.layers: list[str] | None = None
        self.fork_steps: set[int] = set()
        self.forked: dict[int, bytes] = {}
        self._optimizer_start: list[tuple[keras.Variable, np.ndarray]] = []

    def build(self, seed: int) -> keras.Model:
        """Return a new model with the weights of a seed; not compiled, so it saves as an ordinary `.keras` file."""
        return strip_compilation(build_member(self.study, self.data, seed))

    def _set_model(self, model: keras.Model) -> None:
        self.model = model
        check_outputs(model, self.data, repr(self.study.model))

    def _note_optimizer(self) -> None:
        """Note the state of the optimizer with which every training begins."""
        optimizer = self.model.optimizer
        optimizer.build(self.model.trainable_variables)
        self._optimizer_start = [(variable, variable.numpy()) for variable in optimizer.variables]

    def _start_from(self, model: keras.Model) -> None:
        """Give the compiled model the variables of another one, and its optimizer the initial state."""
        copy_variables(model, self.model)
        for variable, value in self._optimizer_start:
            variable.assign(value)


class Trainer(TrainerInOneModel):
    """Trains models in place, one after another, as a `Training` specifies.

    Args:
        study: study that sets the model and its options.
        training: settings of the training.
        data: the training set.
        best_from: share of the epochs, from the start, that cannot be the best one; 0 by default.
        model: model to train in, of any origin, which the trainer compiles; by default the study's.
        rewrite: function that maps the model to the one that is compiled; the identity by default.

    Attributes:
        steps: number of optimizer steps of a training.
        micro_batch: examples whose gradients are computed at a time, or None for whole batches.
    """

    def __init__(
        self,
        study: Study,
        training: Training,
        data: Dataset,
        *,
        best_from: float = 0.0,
        model: keras.Model | None = None,
        rewrite: Callable[[keras.Model], keras.Model] = lambda model: model,
    ) -> None:
        super().__init__(study, data)
        self._training = training
        examples = training.trained_examples(data.num_examples)
        self.steps = training.total_steps(data.num_examples)
        epoch_steps = examples / training.batch_size
        self._steps_per_epoch = min(math.ceil(epoch_steps), max(self.steps, 1))
        # Of the learning rate, whose epochs then need not be whole steps.
        self._rate_steps = epoch_steps if training.across_epochs else self._steps_per_epoch
        self._epochs = math.ceil(self.steps / self._steps_per_epoch)
        self._first_best_epoch = math.ceil(self._epochs * best_from)
        with _device_scope(training):
            self._compile_model(rewrite(build_member(study, data, 0) if model is None else model))

    def _compile_model(self, model: keras.Model) -> None:
        training = self._training
        self._set_model(model)
        on_tensorflow = keras.backend.backend() == "tensorflow"
        if on_tensorflow and training.strategy is None and not _jit_compile(training):
            fuse_batch_norm(self.model)
        self._own_compilation = bool(self.model.compiled)
        if self._own_compilation:
            _check_settings(self.study, training)
        else:
            self.model.compile(
                optimizer=make_optimizer(training, self.steps, self._rate_steps),
                **self._loss_and_metrics(),
                jit_compile=_jit_compile(training),
                steps_per_execution=training.steps_per_execution or 1,
            )
        self._check_execution()
        self._together = self._steps_together()
        self._own_step = self.model.train_step
        micro_batch = training.micro_batch
        self._set_micro_batch(None if micro_batch == "auto" else micro_batch)  # type: ignore[arg-type]
        self._note_optimizer()
        if training.weight_decay:
            for variable in self._decayed():
                variable.regularizer = keras.regularizers.L2(training.weight_decay / 2)

    def _decayed(self) -> list[keras.Variable]:
        """Return every kernel, and the biases of the layers that the training names."""
        variables = self.model.trainable_variables
        kernels = [v for v in variables if v.name.endswith("kernel")]
        biases = {v.path.split("/")[-2]: v for v in variables if v.name == "bias"}
        named = self._training.decay_biases
        for name in named:
            require(name in biases, "decay_biases", name, f"among {', '.join(biases)}")
        return kernels + [biases[name] for name in named]

    def _set_micro_batch(self, size: int | None) -> None:
        self.micro_batch = size
        if size is not None:
            self.model.train_step = self._own_step
            self.model.train_step = MicroBatches(self.model, size)
        self.model.train_function = None  # Keras traces the step again

    def _halve(self) -> None:
        """Train in halves of the micro-batches that the memory did not hold; refuse where their size is set."""
        size = self.micro_batch or self._training.batch_size
        if self._training.micro_batch != "auto" or size == 1:
            got = f"{self._training.micro_batch} for batches of {self._training.batch_size}, too large for the memory"
            raise InputError("micro_batch", got, "'auto', or fewer examples") from None
        self._set_micro_batch(math.ceil(size / 2))
        text = f"micro_batch: {size} examples do not fit the memory; now {self.micro_batch}"
        warnings.warn(Notice(text), stacklevel=3)

    def _loss_and_metrics(self) -> dict[str, Any]:
        """Return the loss and the accuracy that fit the outputs: scores per class, or one logit or probability."""
        smoothing = self._training.label_smoothing
        logits = not gives_probabilities(self.model, self.data)
        if self._one_logit:
            loss = keras.losses.BinaryCrossentropy(from_logits=logits, label_smoothing=smoothing)
            accuracy = keras.metrics.BinaryAccuracy("accuracy", threshold=0.0 if logits else 0.5)
        elif smoothing:
            loss = keras.losses.CategoricalCrossentropy(
                from_logits=logits, label_smoothing=smoothing
            )
            accuracy = keras.metrics.CategoricalAccuracy("accuracy")
        else:
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=logits)
            accuracy = keras.metrics.SparseCategoricalAccuracy("accuracy")
        # No metrics by name: they make variables while the step is traced, and TensorFlow then traces it again.
        return {"loss": loss, "metrics": [accuracy]}

    @property
    def _one_logit(self) -> bool:
        return self.model.output_shape[-1] == 1

    def _check_execution(self) -> None:
        """Refuse a number of steps per execution at which training would stop late."""
        together = self.model.steps_per_execution
        for name, steps in (("an epoch", self._steps_per_epoch), ("the training", self.steps)):
            if steps % together:
                expected = f"a divisor of {steps}, the steps of {name}"
                raise InputError("steps_per_execution", str(together), expected)

    def _steps_together(self) -> int | None:
        """Return the steps per execution: many for a small network, since Keras takes milliseconds between executions.

        The weights do not depend on it. A long execution would keep the process from answering, and few steps gain
        nothing. None if the training, or a model that is compiled already, sets the number.
        """
        training = self._training
        if training.steps_per_execution or self._own_compilation:
            return None
        if keras.backend.backend() != "tensorflow" or training.strategy or self.steps < LEAST_STEPS:
            return 1
        operations = 3 * training.batch_size * counts(self.model).counted_flops
        if not operations > 0:  # unknown
            return 1
        most = min(MOST_TOGETHER, int(OPERATIONS_TOGETHER / operations))
        rewinds = [v.rewind_to for v in self.study.variants if isinstance(v, Pruned)]
        divisible = math.gcd(self._steps_per_epoch, self.steps, *rewinds)
        return max((number for number in range(2, most + 1) if divisible % number == 0), default=1)

    def _execute_together(self, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        """Let one call of the train function make several steps, or one step if a callback acts between two."""
        steps = 1 if any(map(_acts_between_steps, callbacks)) else self._together
        if self._together and steps != self.model.steps_per_execution:
            self.model.steps_per_execution = steps
            # The functions were made for another number.
            self.model.train_function = self.model.test_function = None

    def dense_steps(self, variant: Pruned) -> int:
        """Return the number of first steps that a gradually pruned variant has in common with the dense training."""
        return variant.dense_steps(self.steps, self._together or self.model.steps_per_execution)

    def batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return the endless training batches of a seed; see `train`."""
        return self._batches_of(self._split(seed, split_seed)[0], seed)

    def full_batches(self, seed: int, *, split_seed: int | None = None) -> tf.data.Dataset:
        """Return endless training batches of the model's inputs, none of them short; see `train`."""
        training = self._training
        part, _ = self._split(seed, split_seed)
        return full_batches(
            part,
            training.batch_size,
            seed,
            augmentation=training.augmentation,
            across_epochs=training.across_epochs,
        )

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
        """Train a model in place and return the history, one row per epoch, with `attrs["step_seconds"]`.

        Args:
            model: model of the study's architecture; holds the initial weights, then the trained ones.
            seed: seed of the batches.
            split_seed: seed of the validation part, `seed` by default; a member with a parent takes the parent's, so
                that it is not trained on the parent's validation images.
            until: number of steps after which training is interrupted; never by default.
            checkpoint: file from which an interrupted training goes on, and in which this one leaves its state.
            fork: state of another trainer's training, which a new training continues; none by default.
        """
        training = self._training
        if not self.steps:
            return pd.DataFrame({"epoch": []})
        part, held_out = self._split(seed, split_seed)
        validation = held_out and held_out.batches(
            1024, targets=self._own_compilation, weights=True
        ).map(self._with_targets)
        callbacks = list(self.callbacks)
        self._execute_together(callbacks)
        if training.steps is not None or training.across_epochs or until is not None:
            callbacks.append(StopAt(self.steps if until is None else until))
        if training.keep == "best" and until is None:
            callbacks.append(
                keras.callbacks.EarlyStopping(
                    patience=self._epochs,
                    restore_best_weights=True,
                    start_from_epoch=self._first_best_epoch,
                )
            )
        trained = False
        while not trained:
            self._start_from(model)
            last = Checkpoints(
                checkpoint,
                training.checkpoint_every if keras.backend.backend() == "tensorflow" else None,
                self._steps_per_epoch,
                callbacks,
                fork=fork,
                fork_steps=self.fork_steps if until is None else set(),
            )
            last.prepare(self.model)
            times = StepTimes()
            try:
                self.model.fit(
                    self._batches_of(part, seed, start=last.start),
                    initial_epoch=last.first_epoch,
                    epochs=self._epochs,
                    steps_per_epoch=self._steps_per_epoch,
                    validation_data=validation,
                    callbacks=[*callbacks, times, last],
                    shuffle=False,  # the batches are shuffled already, by the seed
                    verbose=0,
                )
                trained = True
            except tf.errors.ResourceExhaustedError:
                self._halve()
            finally:
                last.detach()
        copy_variables(self.model, model)
        self.forked = last.forked
        frame = pd.DataFrame(last.rows)
        frame.insert(0, "epoch", np.arange(1, len(frame) + 1))
        frame.attrs["step_seconds"] = times.median
        return frame

    def _batches_of(self, data: Dataset, seed: int, start: int = 0) -> tf.data.Dataset:
        pairs = training_batches(
            data,
            batch_size=self._training.batch_size,
            seed=seed,
            augmentation=self._training.augmentation,
            targets=self._own_compilation,
            weights=True,
            across_epochs=self._training.across_epochs,
            start=start,
        )
        return pairs.map(self._with_targets, num_parallel_calls=1)

    def _with_targets(self, x: Any, labels: tf.Tensor, *weights: tf.Tensor) -> tuple[Any, ...]:
        """Return a batch with the targets of the loss: labels, or one-hot rows if they are smoothed."""
        if self._own_compilation or self._one_logit or not self._training.label_smoothing:
            return x, labels, *weights
        return x, tf.one_hot(labels, self.data.num_classes), *weights

    def _split(self, seed: int, split_seed: int | None = None) -> tuple[Dataset, Dataset | None]:
        """Return the part to train on and the part held out for validation."""
        share = self._training.validation
        if not share:
            return self.data, None
        return split_validation(self.data, share, seed if split_seed is None else split_seed)


@keras.saving.register_keras_serializable(package="tfaudit")
class LearningRate(keras.optimizers.schedules.LearningRateSchedule):
    """A learning rate that is piecewise constant, with an optional linear warm-up and cosine decay to zero."""

    def __init__(self, training: Training, steps: int, steps_per_epoch: float) -> None:
        pieces = (
            training.learning_rate
            if isinstance(training.learning_rate, tuple)
            else ((0, training.learning_rate),)
        )
        self._starts = [epoch * steps_per_epoch for epoch, _ in pieces]
        self._rates = [rate for _, rate in pieces]
        self._warmup = training.warmup * steps_per_epoch
        self._cosine_steps = steps if training.decay == "cosine" else None

    def __call__(self, step: Any) -> Any:
        """Return the rate of a step, counted from 0, as a float32 scalar."""
        ops = keras.ops
        step = ops.cast(step, "float32")
        starts, rates = (
            ops.convert_to_tensor(values, "float32") for values in (self._starts, self._rates)
        )
        rate = rates[ops.searchsorted(starts, step[None], side="right")[0] - 1]
        if self._warmup:
            rate *= ops.minimum((step + 1) / self._warmup, 1.0)
        if self._cosine_steps:
            rate *= 0.5 * (1 + ops.cos(math.pi * ops.minimum(step / self._cosine_steps, 1.0)))
        return rate


def _acts_between_steps(callback: keras.callbacks.Callback) -> bool:
    plain = keras.callbacks.Callback
    hooks = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
    return any(
        getattr(getattr(callback, hook), "__func__", None) is not getattr(plain, hook)
        for hook in hooks
    )


class StopAt(keras.callbacks.Callback):
    """Ends training after a number of optimizer steps, also within an epoch."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self._steps = steps
        self.done = 0

    @property
    def step(self) -> int:
        """Number of optimizer steps between two calls of callbacks."""
        return getattr(self.model, "steps_per_execution", None) or 1

    @property
    def stopped(self) -> bool:
        """Whether training ended at that number of steps, neither earlier nor later."""
        return 0 <= self.done - self._steps < self.step

    def training_state(self) -> dict[str, Any]:
        """Return the number of steps."""
        return {"done": self.done}

    def restore_training(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state."""
        self.done = int(state["done"])

    def begin_late(self, step: int) -> None:
        """Take the state after some steps without the callback."""
        self.done = step

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Reset the count."""
        self.done = 0

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Count the steps of one execution."""
        self.done += self.step
        if self.done >= self._steps:
            self.model.stop_training = True


class StepTimes(keras.callbacks.Callback):
    """Measures the seconds of optimizer steps, input included, of the steps that this fit really makes."""

    def on_train_begin(self, logs: dict | None = None) -> None:
        """Reset the times."""
        self._seconds: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        """Note the time."""
        self._began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        """Note how long the steps of one execution took, unless an earlier attempt made them."""
        if logs:
            took = time.monotonic() - self._began
            self._seconds.append(took / (self.model.steps_per_execution or 1))

    @property
    def median(self) -> float | None:
        """Median over all but the first execution, which traces the step; None without a second one."""
        return float(np.median(self._seconds[1:])) if len(self._seconds) > 1 else None


def _check_settings(study: Study, training: Training) -> None:
    """Refuse settings that a model with an optimizer and a loss of its own would ignore."""
    ignored = ("optimizer", *RATES, "label_smoothing", "jit_compile", "steps_per_execution")
    if changed := training.changed(*ignored):
        got = f"{', '.join(changed)} for a model that {study.model!r} compiled"
        raise InputError(
            "training", got, "these settings in compile, or a model that is not compiled"
        )


def _jit_compile(training: Training) -> bool | str:
    if training.jit_compile is None and keras.backend.backend() != "tensorflow":
        return "auto"
    if training.jit_compile is None:  # slower than plain graphs on a CPU
        return training.strategy is None and bool(tf.config.list_physical_devices("GPU"))
    return training.jit_compile


def make_optimizer(
    training: Training, steps: int, steps_per_epoch: float
) -> keras.optimizers.Optimizer:
    """Return a training's optimizer, with its learning rate schedule; raise `InputError` if it is not usable."""
    if isinstance(training.optimizer, dict):
        try:
            return keras.optimizers.deserialize(copy.deepcopy(training.optimizer))
        except (ValueError, TypeError, KeyError) as problem:
            got = f"{training.optimizer['class_name']!r}, which Keras cannot make ({one_line(problem)})"
            raise InputError("optimizer", got, "keras.optimizers.serialize(optimizer)") from None
    rate = LearningRate(training, steps, steps_per_epoch)
    if training.optimizer == "sgd":
        return keras.optimizers.SGD(
            rate, momentum=training.momentum, nesterov=training.nesterov and training.momentum > 0
        )
    try:
        return type(keras.optimizers.get(training.optimizer))(rate)
    except (ValueError, TypeError):
        expected = "a name that Keras knows, such as 'sgd', 'adam' or 'adamw', or a Keras optimizer"
        raise InputError("optimizer", repr(training.optimizer), expected) from None


def _device_scope(training: Training) -> contextlib.AbstractContextManager:
    """Return the scope in which variables live on all devices that share a batch; of one device, an empty scope."""
    if training.strategy is None:
        return contextlib.nullcontext()
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    if training.batch_size % len(devices):
        expected = f"a multiple of {len(devices)}, the devices that share a batch"
        raise InputError("batch_size", str(training.batch_size), expected)
    scope: contextlib.AbstractContextManager = tf.distribute.MirroredStrategy(
        [d.name for d in devices]
    ).scope()
    return scope


def copy_variables(source: keras.Model, target: keras.Model) -> None:
    """Copy every variable: weights, statistics, and the state of random layers such as Dropout."""
    for variable, value in zip(target.variables, source.variables, strict=True):
        variable.assign(value)
