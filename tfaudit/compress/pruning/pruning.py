"""Gradual pruning inside `model.fit`: the callback `Pruning`."""

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.gradients import check_loss
from tfaudit.compress.pruning.kernels import Kernels, Layers, select_kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.pruning.masks import pruned_share
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import (
    TOLERANCE,
    UNMASKED,
    reached_sparsity,
    warn_of_files,
    warn_of_quantized,
    warn_of_shortfall,
)
from tfaudit.compress.pruning.schedules import (
    FunctionSchedule,
    Schedule,
    Table,
    as_schedule,
    check_sparsity,
    planned,
)
from tfaudit.compress.pruning.score_data import GradientData, gathered
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.compress.train_function_swap import OWN_LOOP, SecondTrainFunction
from tfaudit.errors import InputError, Notice, listed
from tfaudit.runtime.keras_internals import step_counter


class Pruning(MaskingCallback):
    """Callback that prunes a Keras 3 model while it trains: `model.fit(..., callbacks=[tfaudit.Pruning(0.9)])`.

    It adds no layers to the model, and nothing has to be stripped afterwards: a checkpoint is an ordinary `.keras` file
    whose kernels have zeros. Masks, losses and weights equal those of TF-MOT's `prune_low_magnitude` for the kernels
    that both prune. By default, TF-MOT prunes tables of embeddings too, but no depthwise kernels; `tfmot=TFMOT()` does
    the same here. (Updates on the first step of a later epoch differ if the length of the data is unknown: TF-MOT masks
    weights again at the end of an epoch, which cannot be foreseen then.) It works with `steps_per_execution`,
    `jit_compile`, mixed precision, a custom `train_step` or training loop that applies gradients with
    `model.optimizer` (a loop reports to `keras.callbacks.CallbackList`), averaged weights (`use_ema`), and distribution
    strategies. With Keras on JAX or torch it gives the same masks; scores over examples need TensorFlow,
    and JAX needs trainable layers and, for a function as the schedule, data of known length.

    It adds two values to the logs of an epoch, for callbacks after it: `sparsity`, the share of kernel weights that the
    masks prune, and `sparsity_reached`, the share of weights that are 0, including what LoRA adds. At the end of a
    training, the zeros of the weights and of every file that a callback saved are compared with the schedule. A warning
    says why they are too few: LoRA, kernels that Keras has quantized, a fit that ends early, a second optimizer, a
    callback that keeps or restores an epoch before the last mask, or a training step that was traced before.

    Training resumed from a checkpoint (the optimizer has done steps already) continues with the model's mask: zeros
    stay 0 until the schedule decides otherwise. Steps count from 1, over the life of the optimizer.

    One instance serves several fits of one or several models. On the same model, compiled as it was, the traced train
    function is reused. If an exception interrupts a fit, the next `fit` of the model takes the masks off before it
    begins, whether it prunes or not.

    Args:
        schedule: the final sparsity in [0, 1), for a cubic schedule over the first three quarters of this fit, which
            reaches it exactly unless the fit is stopped early; or `tfaudit.compress.PolynomialDecay`,
            `tfaudit.compress.ConstantSparsity`, a TF-MOT `PruningSchedule`, or any function of a step that returns
            (whether to prune now, sparsity).
        method: scoring method, as in `prune`, which also describes `scope`, `granularity`, `axis`, `layers`,
            `trainable_only`, `embeddings`, `gradient`, `decay` and `seed`.
        gradient_data: inputs and targets, as in `prune`; held in memory. At every update of the masks, the scores of
            "gradient", "undecayed" and "chip" are computed from the current masked network.
        tfmot: settings for choosing weights as TF-MOT does, as in `prune`; for m-by-n, whose sparsity does not rise,
            use `prune` and `HoldMasks`.

    Raises:
        InputError: a setting cannot be used; in `fit`: there is nothing to prune, or the schedule never prunes.

    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, name="only")], name="net")
    >>> model.compile("sgd", "mse")
    >>> pruning = Pruning(0.75)
    >>> _ = model.fit(np.ones((64, 8)), np.ones((64, 10)), epochs=2, verbose=0, callbacks=[pruning])
    >>> int(pruning.masks()["net/only/kernel"].sum())
    20
    """

    def __init__(
        self,
        schedule: Schedule | Callable[[Any], Any] | float,
        *,
        method: str = "magnitude",
        scope: str = "layer",
        granularity: str = "weight",
        axis: int = -2,
        layers: Layers = None,
        trainable_only: bool = False,
        embeddings: bool = False,
        gradient_data: GradientData | None = None,
        gradient: str = "loss",
        decay: float = 0.0,
        seed: int = 0,
        tfmot: TFMOT | None = None,
    ) -> None:
        method_settings = PruningMethod(
            method, scope, granularity, axis, gradient, decay, seed, tfmot
        )
        if tfmot is not None and tfmot.sparsity_m_by_n is not None:
            got = "sparsity_m_by_n, a constant mask"
            raise InputError("tfmot", got, "tfaudit.prune, then HoldMasks, for m-by-n")
        method_settings.check_data(gradient_data)
        needed = gradient_data if method_settings.needs_data else None
        super().__init__(method_settings, None if needed is None else gathered(needed))
        self._wanted: Schedule | float = _checked(schedule)
        self._schedule: Schedule | None = None  # of the latest fit
        self._select = partial(
            select_kernels,
            layers=layers,
            trainable_only=trainable_only,
            embeddings=embeddings,
            as_tfmot=tfmot is not None,
        )
        self._started = False  # whether an epoch of this fit has begun
        self._begun = 0  # optimizer steps before this fit
        self._planned = 0  # steps of this fit; 0 if unknown
        self._batches = 0  # batches in the epochs that have ended

    def masks(self) -> dict[str, np.ndarray]:
        """Return the masks of the latest fit, in the form of `prune`; raise an `InputError` if no fit has begun."""
        if self._masked is None:
            raise InputError("masks", "no fit", "a fit whose first epoch has begun")
        return self._masked.masks()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Take off masks that an interrupted fit of another model left."""
        super().on_train_begin(logs)
        self._started = False
        self._batches = 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Put the masks on; before, the epoch at which this fit begins is unknown."""
        if self._train_function is not None and self._train_function.active:
            assert self._masked is not None
            self._masked.begin_epoch(self._epoch_steps())
        elif self._started:  # a loop has called `make_train_function`, which ends a fit
            self._put_on()
        elif self.model.built:
            self._start(epoch)
        else:
            self._train_function = SecondTrainFunction(self.model, self)
            self._train_function.swap_in_when_built(lambda: self._start(epoch))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the sparsity to the logs."""
        if logs is not None and self._masked is not None:
            logs["sparsity"] = self._masked.sparsity()
            logs["sparsity_reached"] = reached_sparsity(self.model, self._masked.kernels)
        if not self.model.stop_training:  # which may have cut the epoch short
            self._batches += self._epoch_steps() or 0

    def training_state(self) -> dict[str, Any]:
        """Return what later steps of the fit depend on, by name."""
        counts = {"begun": self._begun, "planned": self._planned, "batches": self._batches}
        return {**super().training_state(), **counts}

    def restore_training(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state, in a fit whose masks are on."""
        super().restore_training(state)
        self._begun, self._planned = int(state["begun"]), int(state["planned"])
        self._batches = int(state["batches"])

    def _end(self) -> None:
        masked, schedule = self._masked, self._schedule
        self._detach()
        if masked is None or schedule is None or not self._started:
            text = "sparsity: nothing was pruned, since no epoch began (on_epoch_begin, in a loop)"
            warnings.warn(Notice(text), stacklevel=2)
            return
        done = int(step_counter(self.model.optimizer).numpy())
        if done == self._begun:
            got = f"{self.model.name!r}, whose optimizer made no step"
            raise InputError(
                "model", got, "gradients applied by model.optimizer, which holds the masks"
            )
        if not masked.updated() and not masked.sparsity() and not schedule.sparsity_by(done):
            got = f"{schedule}, which pruned nothing in this fit"
            expected = f"a schedule that prunes before the optimizer has done {done} steps"
            raise InputError("schedule", got, expected)
        reached = reached_sparsity(self.model, masked.kernels)
        goal = schedule.goal(max(self._begun + self._planned, done))
        reason = self._shortfall(masked, schedule, done, goal)
        if reason and reached < goal - TOLERANCE:
            text = f"sparsity: reached {reached:.2f} of {goal:.2f}: {reason}"
            warnings.warn(Notice(text), stacklevel=2)
        else:
            warn_of_shortfall(self.model, masked.kernels, masked.sparsity(), UNMASKED)
        warn_of_files(self._files, reached)

    def _shortfall(
        self, masked: MaskedKernels, schedule: Schedule, done: int, goal: float
    ) -> str | None:
        """Return why the masks prune less than this fit was to reach, or None."""
        ends, steps = self._begun + self._planned, done - self._begun
        if schedule.sparsity_by(done) < goal - TOLERANCE:
            if done >= ends:
                return f"the last update of {schedule} comes before its end_step"
            if steps < self._batches:
                return f"the model's optimizer did {steps} steps of {self._batches}, another one the others"
            return f"the fit ended after step {steps} of {self._planned}"
        if masked.updated() < schedule.last_update(done) > self._begun:
            return "the training step was traced before the masks were on; call a tf.function after on_epoch_begin only"
        if (
            self._method.tfmot is not None
            and masked.sparsity() < schedule.sparsity_by(done) - TOLERANCE
        ):
            return "TF-MOT's rule keeps all weights of equal magnitude, and whole blocks"
        return None

    def _epoch_steps(self) -> int | None:
        """Return the number of steps per epoch; None if unknown, for example in a custom training loop."""
        return (self.params or {}).get("steps")

    def _start(self, epoch: int) -> None:
        model = self.model
        kernels = self._select(model)
        _check_frozen(model, kernels)
        warn_of_quantized(model)
        if self._method.needs_loss:
            check_loss(model)
        self._method.check_kernels(kernels, None)
        self._begun = int(step_counter(model.optimizer).numpy())
        epochs = (self.params or {}).get("epochs", 1) - epoch
        self._planned = (self._epoch_steps() or 0) * epochs
        start = {
            name: _nonzero(kernel) if self._begun else np.ones(kernel.shape, bool)
            for name, kernel in kernels.items()
        }
        self._schedule = self._schedule_from(pruned_share(start.values()))
        self._attach(kernels, self._compiled(self._schedule), start, steps=self._epoch_steps())
        self._started = True

    def _schedule_from(self, pruned: float) -> Schedule:
        """Return the schedule of a fit that begins at the sparsity `pruned`."""
        begun, steps, wanted = self._begun, self._planned, self._wanted
        if isinstance(wanted, Schedule):
            first, last = begun + 1, begun + steps
            if steps and not pruned and not wanted.prunes(first, last):
                got = f"{wanted}, which never prunes in this fit"
                expected = f"a schedule that prunes in steps {first} to {last} of the optimizer"
                raise InputError("schedule", got, expected)
            return wanted
        if not steps:
            got = f"{wanted} for data of unknown length"
            expected = f"steps_per_epoch in fit, {OWN_LOOP} in a loop, or a schedule"
            raise InputError("schedule", got, expected)
        return planned(wanted, initial=min(pruned, wanted), done=begun, steps=steps)

    def _compiled(self, schedule: Schedule) -> Schedule:
        """Return a schedule in the form that a compiled step takes: JAX calls no function of another library."""
        if keras.backend.backend() != "jax" or not isinstance(schedule, FunctionSchedule):
            return schedule
        if not self._planned:
            expected = "steps_per_epoch in fit, for KERAS_BACKEND=jax"
            raise InputError("schedule", "data of unknown length", expected)
        return Table.of(schedule, self._begun + 1, self._planned)


def _checked(schedule: Any) -> Schedule | float:
    """Return a schedule or a final sparsity; raise an `InputError` for anything else."""
    if callable(schedule) or isinstance(schedule, Schedule):
        return as_schedule(schedule)
    check_sparsity("schedule", schedule, "a schedule or ")
    return float(schedule)


def _nonzero(kernel: keras.Variable) -> np.ndarray:
    """Return the mask that the zeros of a kernel imply; a kernel of zeros only was not pruned but initialised so."""
    nonzero = kernel.numpy() != 0
    return nonzero if nonzero.any() else ~nonzero


def _check_frozen(model: keras.Model, kernels: Kernels) -> None:
    """Warn of kernels in frozen layers, which are pruned too; raise an `InputError` if all kernels are frozen."""
    trainable = {id(variable) for variable in model.trainable_variables}
    frozen = sorted(name for name, kernel in kernels.items() if id(kernel) not in trainable)
    if len(frozen) == len(kernels):
        expected = "a trainable layer; tfaudit.prune prunes frozen ones"
        raise InputError("layers", "frozen layers only", expected)
    if frozen:
        remedy = "trainable_only=True leaves them as they are"
        text = f"kernels of frozen layers are pruned too: {listed(frozen)}; {remedy}"
        warnings.warn(Notice(text), stacklevel=3)
