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
from tfaudit.compress.pruning.schedules import Schedule, ask
from tfaudit.compress.pruning.score_data import mean_inside
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import step_counter


class MaskedKernels:
    """Kernels of a compiled model with their mask variables.

    The schedule decides when to update the masks and to which sparsity; the method decides how weights are ranked.
    `data` holds inputs and targets for methods that average their scores over examples.
    """

    def __init__(
        self,
        model: keras.Model,
        kernels: Kernels,
        schedule: Schedule,
        method: PruningMethod,
        data: tuple[Any, Any] | None,
    ) -> None:
        self.kernels, self.schedule = dict(kernels), schedule
        self._done = step_counter(model.optimizer)
        self._model, self._method, self._data = model, method, data
        self._axes = channel_axes(model, kernels, method.axis)
        trainable = {id(variable) for variable in model.trainable_variables}
        self._frozen = {name for name, kernel in kernels.items() if id(kernel) not in trainable}
        self._constraints: dict[str, _Masked] = {}
        self._first_call = _FirstCall()
        # Without aggregation, every replica writes its own copy, even inside `tf.cond`; all write the same values.
        with model.distribute_strategy.scope():
            self._masks = {
                name: tf.Variable(tf.ones(kernel.shape, tf.bool), trainable=False)
                for name, kernel in kernels.items()
            }
            self._draws = {
                name: tf.Variable(numbers, trainable=False)
                for name, numbers in method.draws(kernels, self._axes).items()
            }
            self._updated = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._beyond = tf.Variable(-1, dtype=tf.int64, trainable=False)
        self._update_now: Callable[[Any], Any] | None = None

    def fits(self, kernels: Kernels, schedule: Schedule) -> bool:
        """Return whether a train function traced with these masks serves these kernels and this schedule."""
        same = list(map(id, kernels.values())) == list(map(id, self.kernels.values()))
        return same and schedule is self.schedule

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
            if self._update_now is None:
                update = tf.function(self.update, autograph=False)
                self._update_now = update.get_concrete_function(tf.TensorSpec((), tf.int64))
            self._update_now(tf.constant(first, tf.int64))
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

    def detach(self) -> None:
        """Restore the kernels' own constraints."""
        for name, constraint in self._constraints.items():
            if self.kernels[name].constraint is constraint:
                self.kernels[name].constraint = constraint.inner
        self._constraints = {}

    def update(self, step: Any) -> None:
        """Compute new masks if the schedule prunes at this step; trainable kernels do not change."""
        due, _ = ask(self.schedule, step)

        def rank() -> None:
            _, sparsity = ask(self.schedule, step)  # inside: most steps do not need it
            for name, mask in self._new_masks(sparsity).items():
                self._masks[name].assign(mask)
                # No optimizer updates this kernel, and its constraint is never called.
                if name in self._frozen:
                    self.kernels[name].assign(masked(self.kernels[name], mask))
            self._updated.assign(tf.cast(step, tf.int64))

        # Not inlined: the many operations of a ranking would slow down every step, even if none is due.
        rank = tf.function(rank, autograph=False, experimental_attributes={"_noinline": True})
        tf.cond(due & (tf.cast(step, tf.int64) != self._beyond), rank, lambda: None)

    def constrained(self, name: str) -> tf.Tensor:
        """Return the values of a kernel after an optimizer's update."""
        if self._first_call.is_first(name):
            self.update(tf.cast(self._done, tf.int64) + 2)
        return masked(self._unmasked(name), self._masks[name])

    def apply(self) -> None:
        """Set the pruned weights of all kernels to 0."""
        for name, kernel in self.kernels.items():
            kernel.assign(masked(kernel, self._masks[name]))

    def masks(self) -> dict[str, np.ndarray]:
        """Return the masks: bool arrays, True where a weight stays."""
        return {name: mask.read_value().numpy() for name, mask in self._masks.items()}

    def prune_nothing(self) -> None:
        """Let all masks keep all weights."""
        for mask in self._masks.values():
            mask.assign(tf.ones(mask.shape, tf.bool))

    def state(self) -> dict[str, np.ndarray]:
        """Return the masks and the steps of their updates, by name."""
        return {name: variable.read_value().numpy() for name, variable in self._state().items()}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Take such a state."""
        for name, variable in self._state().items():
            variable.assign(state[name])

    def _state(self) -> dict[str, tf.Variable]:
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
        return int(self._updated.read_value())

    def _unmasked(self, name: str) -> Any:
        inner = self._constraints[name].inner if name in self._constraints else None
        return inner(self.kernels[name]) if inner else self.kernels[name]

    def _new_masks(self, sparsity: tf.Tensor) -> dict[str, tf.Tensor]:
        """Compute new masks from the kernels' values before they are masked."""
        method = self._method
        values = {name: tf.convert_to_tensor(self._unmasked(name)) for name in self.kernels}
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
            draws={name: tf.convert_to_tensor(numbers) for name, numbers in self._draws.items()},
            measured=measured,
            xla=bool(self._model.jit_compile),
        )


class _Masked(keras.constraints.Constraint):
    """Constraint of a kernel under a mask."""

    def __init__(
        self, kernels: MaskedKernels, name: str, inner: Callable[[Any], Any] | None
    ) -> None:
        self.inner, self._kernels, self._name = inner, kernels, name

    def __call__(self, w: Any) -> tf.Tensor:
        return self._kernels.constrained(self._name)


class _FirstCall(threading.local):
    """Detector of the first constraint called after an optimizer's update, per replica (each traces in a thread).

    A call is the first one if it is in another graph than the last call, or if its kernel was called before. No fixed
    kernel can mark it, since constraints of frozen kernels and kernels without gradients are never called.
    """

    def __init__(self) -> None:
        self._graph: Callable[[], Any] = lambda: None
        self._seen: set[str] = set()

    def is_first(self, name: str) -> bool:
        graph = tf.compat.v1.get_default_graph()
        first = self._graph() is not graph or name in self._seen
        if first:
            self._graph, self._seen = weakref.ref(graph), set()
        self._seen.add(name)
        return first
