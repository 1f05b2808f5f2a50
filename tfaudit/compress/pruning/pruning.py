"""Pruning of Keras 3 models: gradually inside `model.fit`, or at one blow."""

from collections.abc import Iterable
from numbers import Real
from typing import Any, TypeAlias

import keras
import numpy as np

from tfaudit.compress.pruning.gradients import check_loss
from tfaudit.compress.pruning.kernels import select_kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels, steps_done
from tfaudit.compress.pruning.one_shot import ranked
from tfaudit.compress.pruning.pruning_method import Technique
from tfaudit.compress.pruning.schedules import Schedule, describe, first_update, planned
from tfaudit.compress.pruning.score_data import GradientData, gathered
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.compress.pruning.train_function import MaskedTrainFunction
from tfaudit.errors import InputError

__all__ = ["Pruning", "prune"]

Layers: TypeAlias = Iterable[str | keras.Layer] | str | keras.Layer | None


def prune(
    model: keras.Model,
    sparsity: float,
    *,
    method: str = "magnitude",
    scope: str = "layer",
    granularity: str = "weight",
    axis: int = -2,
    layers: Layers = None,
    gradient_data: GradientData | None = None,
    gradient: str = "loss",
    decay: float = 0.0,
    seed: int = 0,
    tfmot: TFMOT | None = None,
) -> dict[str, np.ndarray]:
    """Set the weights with the lowest scores to 0, in place. Weights that are 0 already go first.

    Exactly `max(round(n * (1 - sparsity)), 1)` of the n weights, or channels, of a kernel stay (with `scope="global"`:
    of all kernels together); among equal scores those at the lower positions. Training the model afterwards revives
    the weights, unless `Pruning` or `HoldMasks` holds them.

    Args:
        model: a built Keras 3 model; compiled with its loss for methods that need gradients.
        sparsity: the share of the weights, or of the channels, that become 0, in [0, 1).
        method: see `tfaudit.compress.pruning.scores`: for weights "magnitude", "gradient", "undecayed" or "random"; for
            channels "l1", "l2", "linf", "random" or "chip".
        scope: "layer": each kernel reaches the sparsity; "global": all kernels are ranked together, and one may go
            as a whole.
        granularity: "weight", or "channel": whole slices of a kernel stay or go.
        axis: of the channels, -2: those that come in, [P]; -1: those that go out; see `pruning.channels`.
        layers: names of layers, or layers, at any depth; None: all that have a kernel.
        gradient_data: inputs and targets as two arrays, or batches of them, over which scores of the methods
            "gradient", "undecayed" and "chip" are averaged.
        gradient: "loss": of all that training minimises ([R]'s text); "data": without penalties (its authors' code).
        decay: of the method "undecayed": eps of the decay `eps/2 |w|^2`; Keras' `L2(l)` is eps = 2 l.
        seed: of the method "random".
        tfmot: choose as TF-MOT does: ties all stay, blocks, m-by-n; see `tfaudit.compress.pruning.tfmot_masks`.

    Returns:
        The masks by Keras variable path: bool arrays of the kernels' shapes, True where a weight stays.

    Raises:
        InputError: a model, a layer or a setting that cannot be used.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(2, name="only")], name="net")
    >>> _ = model.layers[0].kernel.assign([[1.0, -4.0], [3.0, -2.0]])
    >>> prune(model, 0.5)
    {'net/only/kernel': array([[False,  True],
           [ True, False]])}
    >>> model.layers[0].kernel.numpy().tolist()
    [[0.0, -4.0], [3.0, 0.0]]
    """
    _check_sparsity("sparsity", sparsity)
    technique = Technique(method, scope, granularity, axis, gradient, decay, seed, tfmot)
    kernels = select_kernels(model, layers)
    kept = ranked(model, kernels, sparsity, technique, gradient_data)
    for name, kernel in kernels.items():
        values = kernel.numpy()
        kernel.assign(np.where(kept[name], values, np.zeros((), values.dtype)))
    return kept


class Pruning(keras.callbacks.Callback):
    """Prune a Keras 3 model while it trains: `model.fit(..., callbacks=[tfaudit.Pruning(0.9)])`.

    The model stays what it is: no wrapper layers, nothing to strip; a checkpoint is an ordinary `.keras` file whose
    kernels have zeros. Masks, losses and weights are those of TF-MOT's `prune_low_magnitude`. Works with
    `steps_per_execution`, `jit_compile`, mixed precision, a custom `train_step` that lets `model.optimizer` apply the
    gradients, and distribution strategies. Adds `sparsity`, the share of pruned kernel weights, to the logs of an
    epoch for the callbacks that come after it.

    Training resumed from a checkpoint (the optimizer has done steps already) goes on with the mask that the model
    had: what is 0 stays 0, until the schedule says otherwise. Steps count from 1 on, over the life of the optimizer.

    One instance may be used again, on another model or the same. On the same model, compiled as it was, the traced
    train function is reused. Where a fit was interrupted by an exception, the next `fit` of the model takes the masks
    off before it begins, whether it prunes or not.

    Args:
        schedule: any TF-MOT `PruningSchedule`, e.g. `tfmot.sparsity.keras.PolynomialDecay`, or the final sparsity
            in [0, 1): a cubic schedule over the first three quarters of this fit, which surely reaches it when the
            fit is not stopped early.
        method: as in `prune`, and so are `scope`, `granularity`, `axis`, `layers`, `gradient`, `decay` and `seed`.
        gradient_data: as in `prune`; kept in memory. Wherever the schedule prunes, the scores of the methods
            "gradient", "undecayed" and "chip" are taken anew from the network under its masks.
        tfmot: as in `prune`; for m-by-n, which does not rise, use `prune` and `HoldMasks`.

    Raises:
        InputError: a setting that cannot be used; in `fit`: nothing to prune, or a schedule that never prunes.

    >>> model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(10, name="only")], name="net")
    >>> model.compile("sgd", "mse")
    >>> pruning = Pruning(0.75)
    >>> _ = model.fit(np.ones((64, 8)), np.ones((64, 10)), epochs=2, verbose=0, callbacks=[pruning])
    >>> int(pruning.masks()["net/only/kernel"].sum())
    20
    """

    def __init__(
        self,
        schedule: Schedule | float,
        *,
        method: str = "magnitude",
        scope: str = "layer",
        granularity: str = "weight",
        axis: int = -2,
        layers: Layers = None,
        gradient_data: GradientData | None = None,
        gradient: str = "loss",
        decay: float = 0.0,
        seed: int = 0,
        tfmot: TFMOT | None = None,
    ) -> None:
        super().__init__()
        if not callable(schedule):
            _check_sparsity("schedule", schedule, "a TF-MOT PruningSchedule or ")
        technique = Technique(method, scope, granularity, axis, gradient, decay, seed, tfmot)
        if tfmot is not None and tfmot.sparsity_m_by_n is not None:
            raise InputError("tfmot: m-by-n is one mask from the first step on: use tfaudit.prune, then HoldMasks")
        technique.check_data(gradient_data)
        self._given = schedule
        self._technique = technique
        self._data = gathered(gradient_data) if gradient_data is not None and technique.needs_data else None
        self._layers = layers
        self._plan: tuple[dict[str, Any], Schedule] | None = None
        self._masked: MaskedKernels | None = None
        self._train_function: MaskedTrainFunction | None = None

    def masks(self) -> dict[str, np.ndarray]:
        """The masks by Keras variable path: bool arrays of the kernels' shapes, True where a weight stays.

        Raises:
            InputError: no fit has begun yet.
        """
        if self._masked is None:
            raise InputError("masks: there are none before the first epoch of a fit has begun")
        return self._masked.masks()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Take off what an interrupted fit of another model may have left."""
        self._detach()

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Put the masks on: only now it is known at which epoch this fit begins."""
        if self._train_function is not None and self._train_function.active:
            return
        if self.model.built:
            self._attach(epoch)
        else:
            self._train_function = MaskedTrainFunction(self.model, self._detach)
            self._train_function.swap_in_when_built(lambda: self._attach(epoch))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Report the sparsity."""
        if logs is not None and self._masked is not None:
            logs["sparsity"] = self._masked.sparsity()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the masks off; the pruned weights stay 0."""
        self._detach()
        if self._masked is None:
            return
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        if optimizer.use_ema:  # Keras has just put the averages in place, which lag behind the masks.
            self._masked.apply()
        if not self._masked.updated() and not self._masked.sparsity():
            schedule, done = describe(self._masked.schedule), int(steps_done(optimizer).numpy())
            raise InputError(f"schedule: {schedule} pruned nothing in this fit; the optimizer has done {done} steps")

    def _attach(self, epoch: int) -> None:
        model, kernels = self.model, select_kernels(self.model, self._layers)
        trainable = {id(variable) for variable in model.trainable_variables}
        if not any(id(kernel) in trainable for kernel in kernels.values()):
            raise InputError("layers: every selected kernel is frozen: prune them at one blow with tfaudit.prune")
        if "gradients" in self._technique.inputs:
            check_loss(model)
        for name, kernel in kernels.items():
            if self._technique.tfmot is not None:
                self._technique.tfmot.check(name, tuple(kernel.shape), None)
        if model.optimizer is None:
            raise InputError("model: Pruning counts the steps of model.optimizer, and this model has none")
        done = int(steps_done(model.optimizer).numpy())
        steps = self.params["steps"] and self.params["steps"] * (self.params["epochs"] - epoch)
        start = {name: _present(kernel) if done else np.ones(kernel.shape, bool) for name, kernel in kernels.items()}
        pruned = 1 - sum(mask.sum() for mask in start.values()) / sum(mask.size for mask in start.values())
        schedule = self._schedule(done, steps, float(pruned))

        masked, train_function = self._masked, self._train_function
        if (
            masked is None
            or train_function is None
            or not (train_function.fits(model) and masked.fits(kernels, schedule))
        ):
            masked = MaskedKernels(model, kernels, schedule, self._technique, self._data)
            train_function = MaskedTrainFunction(model, self._detach)
        masked.reset(start, beyond=done + steps + 1 if steps else -1)
        masked.update(done + 1)
        masked.attach()
        self._masked, self._train_function = masked, train_function
        train_function.swap_in()
        masked.apply()

    def _detach(self) -> None:
        if self._masked is not None:
            self._masked.detach()
        if self._train_function is not None:
            self._train_function.swap_out()

    def _schedule(self, done: int, steps: int | None, pruned: float) -> Schedule:
        """The schedule of a run of `steps` steps (None: not known) after `done` steps, with this share pruned."""
        if callable(self._given):
            if steps and not pruned and first_update(self._given, done + 1, done + steps) is None:
                raise InputError(
                    f"schedule: {describe(self._given)} never prunes in this fit: "
                    f"the optimizer has done {done} steps, the fit does steps {done + 1} to {done + steps}"
                )
            return self._given
        if not steps:
            raise InputError(
                "schedule: a float is planned over the steps of the fit, and the data do not tell them: "
                "give fit steps_per_epoch, or Pruning a TF-MOT schedule"
            )
        plan: dict[str, Any] = {
            "final": self._given,
            "initial": min(pruned, self._given),
            "done": done,
            "steps": steps,
        }
        if self._plan is None or self._plan[0] != plan:
            self._plan = plan, planned(**plan)
        return self._plan[1]


def _present(kernel: keras.Variable) -> np.ndarray:
    """The mask that a kernel shows by its zeros; one of zeros only was not pruned but initialised so."""
    present = kernel.numpy() != 0
    return present if present.any() else ~present


def _check_sparsity(argument: str, value: object, alternative: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise InputError(f"{argument}: expected {alternative}a number in [0, 1), came {value!r}")
