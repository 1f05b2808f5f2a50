"""Kernels under masks inside a compiled training step.

Keras' optimizers call `variable.constraint` after every update, inside the compiled step. A mask is therefore a
constraint, applied after the kernel's own constraint. Masks are updated there as well: the first constraint called
after an optimizer's update asks the schedule and, if an update is due, ranks the weights of all kernels. At that time
all kernels have their new values, and none is masked yet. The cost is one `tf.cond` per step, without Python
code per batch or copies to the host, however many steps Keras runs in one execution.

At this time the optimizer has not counted the current step: after step t its count is t - 1. The masks are for the
next forward pass, so the schedule is asked about count + 2. TF-MOT computes the same masks from the same weights, at
the beginning of that pass.

The masks of an epoch's first step are computed between the epochs, from masked weights, since TF-MOT masks them at the
end of every epoch, after validation under the old masks.

Scores that are averaged over examples belong to the masked network: gradients and feature maps are computed from the
new values under the current masks. As for magnitude, the score of a weight uses its new value without the mask, so a
pruned weight may come back.

On JAX, a compiled step reads and writes only what it is given. Masks are therefore variables of the optimizer while
they are on, without being saved with it. Torch compiles nothing.
"""

import threading
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.channels import channel_axes
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masks import masked, pruned_share
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import FunctionSchedule, Periodic, Schedule
from tfaudit.compress.pruning.score_data import mean_inside
from tfaudit.errors import InputError, listed
from tfaudit.runtime.backends import strategy_scope
from tfaudit.runtime.keras_internals import hold_in_optimizer, moving_averages, step_counter


class MaskedKernels:
    """Kernels of a compiled model with their mask variables.

    The schedule decides when to update the masks and to which sparsity, and None never to; the method decides how
    weights are ranked. `data` holds inputs and targets for methods that average their scores over examples.
    """

    def __init__(
        self,
        model: keras.Model,
        kernels: Kernels,
        schedule: Schedule | None,
        method: PruningMethod,
        data: tuple[Any, Any] | None,
    ) -> None:
        self.kernels, self.schedule = dict(kernels), schedule
        self._backend = keras.backend.backend()
        self._done = step_counter(model.optimizer)
        self._model, self._method, self._data = model, method, data
        self._axes = channel_axes(model, kernels, method.axis)
        trainable = {id(variable) for variable in model.trainable_variables}
        self._frozen = {name for name, kernel in kernels.items() if id(kernel) not in trainable}
        self._constraints: dict[str, _Masked] = {}
        self._first_call = _FirstCall()
        # Without aggregation, every replica writes its own copy, even inside `tf.cond`; all write the same values.
        with strategy_scope(model):
            self._masks = {
                name: _variable(np.ones(tuple(kernel.shape), bool))
                for name, kernel in kernels.items()
            }
            self._draws = {
                name: _variable(numbers)
                for name, numbers in method.draws(kernels, self._axes).items()
            }
            self._updated = _variable(np.array(0, self._done.dtype))
            self._beyond = _variable(np.array(-1, self._done.dtype))
        self._update_now: Callable[[Any], Any] | None = None
        self._release: Callable[[], None] = lambda: None
        if self._backend == "jax" and self._frozen:
            got = f"frozen layers ({listed(sorted(self._frozen))}) with KERAS_BACKEND=jax"
            raise InputError("layers", got, "trainable layers: trainable_only=True")

    def fits(self, kernels: Kernels, schedule: Schedule | None) -> bool:
        """Return whether a train function traced with these masks serves these kernels and this schedule."""
        same = list(map(id, kernels.values())) == list(map(id, self.kernels.values()))
        return same and schedule == self.schedule

    def start(self, masks: Mapping[str, np.ndarray], steps: int | None) -> None:
        """Start a run with these masks; `steps` is the length of the first epoch, None if unknown."""
        for name, mask in masks.items():
            self._masks[name].assign(mask)
        self._updated.assign(0)
        self._set_length(steps)
        self.update(int(self._done.numpy()) + 1)

    def begin_epoch(self, steps: int | None) -> None:
        """Update the masks for the first step of a later epoch, if due; `steps` is its length, None if unknown."""
        first = int(self._beyond.numpy())
        self._set_length(steps)
        if self.updated() < first <= int(self._done.numpy()) + 1:
            self.detach()  # the kernels' own constraints are met already
            # A concrete function: TensorFlow warns of retracing after a few runs.
            if self._backend != "tensorflow":
                self._update_now = self.update
            elif self._update_now is None:
                update = tf.function(self.update, autograph=False)
                self._update_now = update.get_concrete_function(tf.TensorSpec((), tf.int64))
            self._update_now(keras.ops.cast(first, self._done.dtype))
            self.attach()
            self.apply()

    def _set_length(self, steps: int | None) -> None:
        """Record the first step after the epoch that begins now; its masks are computed between the epochs."""
        self._beyond.assign(int(self._done.numpy()) + steps + 1 if steps else -1)

    def attach(self) -> None:
        """Add the masks to the kernels' constraints; raise an `InputError` if another callback masks one of them."""
        for name, kernel in self.kernels.items():
            if isinstance(kernel.constraint, _Masked):
                got = f"{name!r}, which another callback of this fit prunes"
                raise InputError("layers", got, "one callback per kernel")
        for name, kernel in self.kernels.items():
            self._constraints[name] = kernel.constraint = _Masked(self, name, kernel.constraint)
        if self._backend == "jax":
            held = [*self._masks.values(), self._updated, self._beyond]
            self._release = hold_in_optimizer(self._model.optimizer, held)

    def detach(self) -> None:
        """Restore the kernels' own constraints."""
        for name, constraint in self._constraints.items():
            if self.kernels[name].constraint is constraint:
                self.kernels[name].constraint = constraint.inner
        self._constraints = {}
        self._release()
        self._release = lambda: None

    def update(self, step: Any) -> None:
        """Compute new masks if the schedule prunes at this step; trainable kernels do not change."""
        if self.schedule is None:
            return
        due, sparsity = self._ask(self.schedule, step)
        if self._backend == "jax":
            self._update_by_values(step, due, sparsity)
            return

        def rank() -> None:
            for name, mask in self._new_masks(sparsity).items():
                self._masks[name].assign(mask)
                # No optimizer updates this kernel, and its constraint is never called.
                if name in self._frozen:
                    self.kernels[name].assign(masked(self.kernels[name], mask))
            self._updated.assign(step)

        if self._backend == "torch":
            if due and step != int(self._beyond):
                rank()
            return
        # Not inlined: the many operations of a ranking would slow down every step, even if none is due.
        rank = tf.function(rank, autograph=False, experimental_attributes={"_noinline": True})
        tf.cond(due & (tf.cast(step, tf.int64) != self._beyond), rank, lambda: None)

    def _ask(self, schedule: Schedule, step: Any) -> tuple[Any, Any]:
        """Return whether the schedule prunes at a step, and the sparsity then."""
        if self._backend == "torch":
            return schedule.at(step)
        if isinstance(schedule, FunctionSchedule):
            due, sparsity = schedule(keras.ops.cast(step, "int64"))
            return keras.ops.cast(due, "bool"), keras.ops.cast(sparsity, "float32")
        assert isinstance(schedule, Periodic)
        step = keras.ops.cast(step, self._done.dtype)
        places = len(schedule.sparsities)
        place = (step - schedule.begin_step) // schedule.frequency
        sparsity = keras.ops.take(schedule.sparsities, keras.ops.clip(place, 0, places - 1))
        return schedule.due(step) & (sparsity >= 0), sparsity

    def _update_by_values(self, step: Any, due: Any, sparsity: Any) -> None:
        """Compute new masks like `update`, with a condition whose branches return values and assign none."""
        due &= keras.ops.cast(step, self._done.dtype) != self._beyond.value
        before = {name: mask.value for name, mask in self._masks.items()}
        masks = keras.ops.cond(due, lambda: self._new_masks(sparsity), lambda: before)
        for name, mask in masks.items():
            self._masks[name].assign(mask)
        self._updated.assign(keras.ops.where(due, step, self._updated.value))

    def constrained(self, name: str) -> Any:
        """Return the values of a kernel after an optimizer's update."""
        if self._first_call.is_first(name, self._moment()):
            done = self._done
            torch = self._backend == "torch"
            self.update((int(done) if torch else keras.ops.cast(done, self._done.dtype)) + 2)
        self._mask_average(name)
        return masked(self._unmasked(name), self._masks[name])

    def _mask_average(self, name: str) -> None:
        """Mask the average that an optimizer with `use_ema` keeps of a kernel, and puts in its place at the end."""
        average = moving_averages(self._model.optimizer).get(id(self.kernels[name]))
        if average is not None:
            average.assign(masked(average, self._masks[name]))

    def _moment(self) -> Any:
        """Return what differs between two updates by the optimizer, or between two traces of one."""
        if self._backend == "torch":
            return int(self._done)
        return (
            tf.compat.v1.get_default_graph() if self._backend == "tensorflow" else self._done.value
        )

    def apply(self) -> None:
        """Set the pruned weights of all kernels to 0."""
        for name, kernel in self.kernels.items():
            kernel.assign(masked(kernel, self._masks[name]))
            self._mask_average(name)

    def masks(self) -> dict[str, np.ndarray]:
        """Return the masks: bool arrays, True where a weight stays."""
        return {name: mask.numpy() for name, mask in self._masks.items()}

    def prune_nothing(self) -> None:
        """Let all masks keep all weights."""
        for mask in self._masks.values():
            mask.assign(np.ones(tuple(mask.shape), bool))

    def state(self) -> dict[str, np.ndarray]:
        """Return the masks and the steps of their updates, by name."""
        return {name: variable.numpy() for name, variable in self._state().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state."""
        for name, variable in self._state().items():
            variable.assign(state[name])

    def _state(self) -> dict[str, keras.Variable]:
        masks = {f"mask/{i}": mask for i, mask in enumerate(self._masks.values())}
        return {**masks, "updated": self._updated, "beyond": self._beyond}

    def sparsity(self) -> float:
        """Return the share of all kernels' weights that the masks prune."""
        return pruned_share(self.masks().values())

    def unheld(self) -> float:
        """Return the share of all kernels' weights that are not 0 although the masks prune them."""
        masks = self.masks()
        held = [masks[name] | (kernel.numpy() == 0) for name, kernel in self.kernels.items()]
        return pruned_share(held)

    def updated(self) -> int:
        """Return the step of the last update of the masks; 0 if there was none in this run."""
        return int(self._updated.numpy())

    def _unmasked(self, name: str) -> Any:
        inner = self._constraints[name].inner if name in self._constraints else None
        return inner(self.kernels[name]) if inner else self.kernels[name]

    def _new_masks(self, sparsity: Any) -> dict[str, Any]:
        """Compute new masks from the kernels' values before they are masked."""
        method = self._method
        values = {name: _tensor(self._unmasked(name)) for name in self.kernels}
        measured = {}
        if self._data is not None:
            held = [masked(weights, self._masks[name]) for name, weights in values.items()]
            measure = partial(method.measure, self._model, self.kernels, held)
            means = mean_inside(self._data, measure)
            measured = dict(zip(self.kernels, means, strict=True))
        return method.masks(
            values,
            sparsity,
            axes=self._axes,
            draws={name: _tensor(numbers) for name, numbers in self._draws.items()},
            measured=measured,
            xla=bool(self._model.jit_compile),
        )


class _Masked(keras.constraints.Constraint):
    """Constraint of a kernel under a mask."""

    def __init__(
        self, kernels: MaskedKernels, name: str, inner: Callable[[Any], Any] | None
    ) -> None:
        self.inner, self._kernels, self._name = inner, kernels, name

    def __call__(self, w: Any) -> Any:
        return self._kernels.constrained(self._name)


class _FirstCall(threading.local):
    """Detector of the first constraint called after an optimizer's update, per replica (each traces in a thread).

    A call is the first one if it is at another moment than the last call, such as in another graph, or if its kernel
    was called before. No fixed kernel can mark it, since constraints of frozen kernels and kernels without gradients
    are never called.
    """

    def __init__(self) -> None:
        self._moment: Callable[[], Any] = lambda: None
        self._seen: set[str] = set()

    def is_first(self, name: str, moment: Any) -> bool:
        last = self._moment()
        same = moment == last if isinstance(moment, int) else moment is last
        first = not same or name in self._seen
        if first:
            self._moment, self._seen = (lambda: moment), set()
            if isinstance(moment, tf.Graph):
                self._moment = weakref.ref(moment)
        self._seen.add(name)
        return first


def _variable(value: np.ndarray) -> keras.Variable:
    return keras.Variable(value, dtype=str(value.dtype), trainable=False)


def _tensor(value: Any) -> Any:
    """Return the value of a variable, or a tensor itself."""
    on_tensorflow = keras.backend.backend() == "tensorflow"
    return (tf if on_tensorflow else keras.ops).convert_to_tensor(value)
