"""Gradual pruning inside `model.fit`: the callback `Pruning`."""

import warnings
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from tfaudit.compress.pruning.gradients import check_loss
from tfaudit.compress.pruning.kernels import Kernels, Layers, select_kernels
from tfaudit.compress.pruning.masked_kernels import MaskedKernels, steps_done
from tfaudit.compress.pruning.masked_training import MaskingCallback
from tfaudit.compress.pruning.one_shot import check_sparsity
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.reached_sparsity import (
    TOLERANCE,
    UNMASKED,
    KeptEpochs,
    reached_sparsity,
    require_best_keepers,
    warn_of_quantized,
    warn_of_shortfall,
)
from tfaudit.compress.pruning.schedules import Schedule, ask, describe, first_update, planned
from tfaudit.compress.pruning.score_data import GradientData, gathered
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.compress.second_train_function import SecondTrainFunction
from tfaudit.errors import InputError, listed

OWN_LOOP = "keras.callbacks.CallbackList(callbacks, model=model, epochs=..., steps=...)"
"""Events that a training loop of one's own, without `model.fit`, reports to callbacks."""


class Pruning(MaskingCallback):
    """Callback that prunes a Keras 3 model while it trains: `model.fit(..., callbacks=[tfaudit.Pruning(0.9)])`.

    It adds no layers to the model, and nothing has to be stripped afterwards: a checkpoint is an ordinary `.keras` file
    whose kernels have zeros. Masks, losses and weights equal those of TF-MOT's `prune_low_magnitude` for the kernels
    that both prune: by default TF-MOT prunes tables of embeddings too, but no depthwise kernels, as `tfmot=TFMOT()`
    does here. (An exception are updates on the first step of a later epoch with data of unknown length: TF-MOT masks
    weights again at the end of an epoch, which cannot be foreseen then.) It works with `steps_per_execution`,
    `jit_compile`, mixed precision, a custom `train_step` that applies gradients with `model.optimizer`, and
    distribution strategies.

    It adds to the logs of an epoch, for the callbacks that come after it, `sparsity`, the share of kernel weights that
    the masks prune, and `sparsity_reached`, the share that is 0, what LoRA adds included. Warnings say where the model
    does not become what was asked: frozen layers, LoRA, kernels that Keras has quantized, a fit that ends early, a
    second optimizer, and callbacks that keep an epoch before the last mask for being the best.

    Training resumed from a checkpoint (the optimizer has done steps already) continues with the mask that the model
    had: zeros stay 0 until the schedule decides otherwise. Steps count from 1, over the life of the optimizer.

    One instance serves several fits, of one model or several. On the same model, compiled as it was, the traced train
    function is reused. If an exception interrupts a fit, the next `fit` of the model takes the masks off before it
    begins, whether it prunes or not.

    Args:
        schedule: any TF-MOT `PruningSchedule`, e.g. `tfmot.sparsity.keras.PolynomialDecay`, or the final sparsity in
            [0, 1): a cubic schedule over the first three quarters of this fit, which reaches it exactly unless the fit
            is stopped early.
        method: as in `prune`, and so are `scope`, `granularity`, `axis`, `layers`, `trainable_only`, `embeddings`,
            `gradient`, `decay` and `seed`.
        gradient_data: as in `prune`; held in memory. At every update of the masks, the scores of "gradient",
            "undecayed" and "chip" are computed from the current masked network.
        best_epochs: callbacks of the same fit that keep its best epoch, such as `ModelCheckpoint(save_best_only=True)`:
            a warning says if that epoch was before the last mask.
        tfmot: as in `prune`; for m-by-n, whose sparsity does not rise, use `prune` and `HoldMasks`.

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
        trainable_only: bool = False,
        embeddings: bool = False,
        gradient_data: GradientData | None = None,
        gradient: str = "loss",
        decay: float = 0.0,
        seed: int = 0,
        best_epochs: Iterable[keras.callbacks.Callback] = (),
        tfmot: TFMOT | None = None,
    ) -> None:
        super().__init__()
        self._best_epochs = tuple(best_epochs)
        require_best_keepers(self._best_epochs)
        if not callable(schedule):
            check_sparsity("schedule", schedule, "a TF-MOT PruningSchedule or ")
        self._method = PruningMethod(method, scope, granularity, axis, gradient, decay, seed, tfmot)
        if tfmot is not None and tfmot.sparsity_m_by_n is not None:
            raise InputError(
                "tfmot",
                "sparsity_m_by_n, a constant mask",
                "tfaudit.prune, then HoldMasks, for m-by-n",
            )
        self._method.check_data(gradient_data)
        self._schedule, self._layers = schedule, layers
        self._choice: dict[str, Any] = {"trainable_only": trainable_only, "embeddings": embeddings}
        self._choice["as_tfmot"] = tfmot is not None
        self._kept: KeptEpochs | None = None
        self._ends, self._planned, self._batches = 0, 0, 0
        self._data = (
            gathered(gradient_data)
            if gradient_data is not None and self._method.needs_data
            else None
        )
        self._plan: tuple[dict[str, Any], Schedule] | None = None

    def masks(self) -> dict[str, np.ndarray]:
        """Return the masks of the latest fit, as `prune` does; raise an `InputError` if no fit has begun yet."""
        if self._masked is None:
            raise InputError("masks", "no fit", "a fit whose first epoch has begun")
        return self._masked.masks()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Take off masks that an interrupted fit of another model left."""
        self._detach()
        self._kept, self._batches = None, 0

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Put the masks on; the epoch at which this fit begins is unknown before."""
        self._note_kept_epochs()
        if self._train_function is not None and self._train_function.active:
            assert self._masked is not None
            self._masked.begin_epoch((self.params or {}).get("steps"))
            return
        if self.model.built:
            self._start(epoch)
        else:
            self._train_function = SecondTrainFunction(self.model, self._detach)
            self._train_function.swap_in_when_built(lambda: self._start(epoch))

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the sparsity to the logs."""
        if logs is not None and self._masked is not None:
            logs["sparsity"] = self._masked.sparsity()
            logs["sparsity_reached"] = reached_sparsity(self.model, self._masked.kernels)
        self._batches += (self.params or {}).get("steps") or 0

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Take the masks off; pruned weights stay 0."""
        self._detach()
        if self._masked is None:
            return
        optimizer = getattr(self.model.optimizer, "inner_optimizer", self.model.optimizer)
        if optimizer.use_ema:  # Keras has just assigned the averages, which lag behind the masks.
            self._masked.apply()
        done = int(steps_done(optimizer).numpy())
        if not self._masked.updated() and not self._masked.sparsity():
            got = f"{describe(self._masked.schedule)}, which pruned nothing in this fit"
            raise InputError(
                "schedule",
                got,
                f"a schedule that prunes before the optimizer has done {done} steps",
            )
        self._warn(self._masked, done)

    def _note_kept_epochs(self) -> None:
        if self._kept is None:
            self._kept = KeptEpochs(self._best_epochs)
        elif self._masked is not None:
            self._kept.after_epoch(self._masked.sparsity())

    def _warn(self, masked: MaskedKernels, done: int) -> None:
        """Warn if the fit ended at another sparsity than it was to reach."""
        self._note_kept_epochs()
        assert self._kept is not None
        reached = masked.sparsity()
        last = masked.updated()
        final = float(ask(masked.schedule, max(self._ends, last, 1))[1])
        asked = float(ask(masked.schedule, last)[1]) if last else reached
        if done < self._ends and asked < final - TOLERANCE:
            begun = self._ends - self._planned
            planned = self._planned
            reason = f"the fit ended after step {done - begun} of {planned}"
            if done - begun < self._batches:
                reason = f"the model's optimizer did {done - begun} steps of {self._batches}, another one the others"
            warnings.warn(f"sparsity: reached {reached:.2f} of {final:.2f}: {reason}", stacklevel=2)
        if not self._kept.warn(reached):
            warn_of_shortfall(self.model, masked.kernels, reached, UNMASKED)

    def _start(self, epoch: int) -> None:
        params = {"steps": None, "epochs": 1} | (
            self.params or {}
        )  # a loop of the user's own may state none
        model, kernels = self.model, select_kernels(self.model, self._layers, **self._choice)
        _check_frozen(model, kernels)
        warn_of_quantized(model)
        if "gradients" in self._method.inputs:
            check_loss(model)
        for name, kernel in kernels.items():
            if self._method.tfmot is not None:
                self._method.tfmot.check(name, tuple(kernel.shape), None)
        self._require_optimizer()
        done = int(steps_done(model.optimizer).numpy())
        steps = params["steps"] and params["steps"] * (params["epochs"] - epoch)
        self._planned, self._ends = steps or 0, done + (steps or 0)
        start = {
            name: _nonzero(kernel) if done else np.ones(kernel.shape, bool)
            for name, kernel in kernels.items()
        }
        pruned = 1 - np.concatenate([mask.ravel() for mask in start.values()]).mean()
        schedule = self._schedule_of(done, steps, float(pruned))
        beyond = done + params["steps"] + 1 if params["steps"] else -1
        self._attach(
            kernels,
            schedule,
            start,
            method=self._method,
            data=self._data,
            first=done + 1,
            beyond=beyond,
        )

    def _schedule_of(self, done: int, steps: int | None, pruned: float) -> Schedule:
        """Return the schedule of a run of `steps` steps (None: unknown) after `done` steps, with this share pruned."""
        if callable(self._schedule):
            if (
                steps
                and not pruned
                and first_update(self._schedule, done + 1, done + steps) is None
            ):
                expected = (
                    f"a schedule that prunes in steps {done + 1} to {done + steps} of the optimizer"
                )
                raise InputError(
                    "schedule",
                    f"{describe(self._schedule)}, which never prunes in this fit",
                    expected,
                )
            return self._schedule
        if not steps:
            got = f"{self._schedule} for data of unknown length"
            raise InputError(
                "schedule",
                got,
                f"steps_per_epoch in fit, {OWN_LOOP} in a loop, or a TF-MOT schedule",
            )
        plan: dict[str, Any] = {"final": self._schedule, "initial": min(pruned, self._schedule)}
        plan |= {"done": done, "steps": steps}
        if self._plan is None or self._plan[0] != plan:
            self._plan = plan, planned(**plan)
        return self._plan[1]


def _nonzero(kernel: keras.Variable) -> np.ndarray:
    """Return the mask that the zeros of a kernel imply; a kernel of zeros only was initialised so, not pruned."""
    nonzero = kernel.numpy() != 0
    return nonzero if nonzero.any() else ~nonzero


def _check_frozen(model: keras.Model, kernels: Kernels) -> None:
    """Warn of kernels of frozen layers, which are pruned too; raise `InputError` if all are."""
    trainable = {id(variable) for variable in model.trainable_variables}
    frozen = sorted(name for name, kernel in kernels.items() if id(kernel) not in trainable)
    if len(frozen) == len(kernels):
        expected = "a trainable layer; tfaudit.prune prunes frozen ones"
        raise InputError("layers", "frozen layers only", expected)
    if frozen:
        remedy = "trainable_only=True leaves them as they are"
        text = f"kernels of frozen layers are pruned too: {listed(frozen)}; {remedy}"
        warnings.warn(text, stacklevel=3)
