"""Kernels under masks inside a compiled training step.

Keras' optimizers call `variable.constraint` after every update, inside the compiled step. A mask is therefore a
constraint: it is applied after the constraint that the kernel already has. Masks are updated there as well: the first
constraint called after an optimizer's update, when all kernels have their new values and none is masked again, asks the
schedule and, if an update is due, ranks the weights of all kernels. The cost is one `tf.cond` per step, without Python
code per batch or copies to the host, however many steps Keras runs in one execution.

At that moment the optimizer still counts finished steps: after step t its count is t - 1, and the masks are those of
the next forward pass. So the schedule is asked for that count + 2. TF-MOT computes the same masks from the same
weights, at the beginning of that pass.

The masks of an epoch's first step are computed between the epochs, from masked weights: TF-MOT masks them at the end of
every epoch, after validation under the old masks.

Scores that are averaged over examples are those of the masked network: gradients and feature maps are computed at the
new values under the current masks. The score of a weight uses its new value without the mask, as for magnitude, so a
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
from tfaudit.compress.pruning.pruning_method import PruningMethod
from tfaudit.compress.pruning.schedules import Schedule, ask
from tfaudit.compress.pruning.score_data import mean_inside
from tfaudit.compress.pruning.tf_masks import rank_masks
from tfaudit.errors import InputError


def steps_done(optimizer: keras.Optimizer) -> Any:
    """Return the variable that counts an optimizer's steps: batches, also where several make one update.

    `optimizer.iterations` counts updates if gradients are accumulated, and is no variable then.
    """
    return getattr(optimizer, "inner_optimizer", optimizer)._iterations


class MaskedKernels:
    """Kernels of a compiled model with their mask variables.

    The schedule states when to update the masks, and to which sparsity; the method, how weights are ranked. `data`,
    inputs and targets, are for methods that average their scores over examples.
    """

    def __init__(
        self,
        model: keras.Model,
        kernels: Kernels,
        schedule: Schedule,
        method: PruningMethod | None = None,
        data: tuple[tf.Tensor, tf.Tensor] | None = None,
    ) -> None:
        self.kernels, self.schedule = dict(kernels), schedule
        self._done = steps_done(model.optimizer)
        self._model, self._method, self._data = model, method or PruningMethod(), data
        self._axes = channel_axes(model, kernels, self._method.axis)
        trainable = {id(variable) for variable in model.trainable_variables}
        self._frozen = {name for name, kernel in kernels.items() if id(kernel) not in trainable}
        self._constraints: dict[str, _Masked] = {}
        self._first_call = _FirstCall()
        # Without aggregation every replica writes its own copy, also inside `tf.cond`; all write the same values.
        with model.distribute_strategy.scope():
            shapes = {name: kernel.shape for name, kernel in kernels.items()}
            self._masks = {
                name: tf.Variable(tf.ones(s, tf.bool), trainable=False)
                for name, s in shapes.items()
            }
            draws = self._method.draws(shapes, self._axes)
            self._draws = {
                name: tf.Variable(numbers, trainable=False) for name, numbers in draws.items()
            }
            self._updated = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._beyond = tf.Variable(-1, dtype=tf.int64, trainable=False)
        self._update_now: Callable[[Any], Any] | None = None

    def fits(self, kernels: Kernels, schedule: Schedule) -> bool:
        """Return whether a train function traced with these masks serves these kernels and this schedule."""
        return (
            list(map(id, kernels.values())) == list(map(id, self.kernels.values()))
            and schedule is self.schedule
        )

    def reset(self, masks: Mapping[str, np.ndarray], *, beyond: int) -> None:
        """Start a run with these masks; `beyond` is the step after its first epoch, or -1 if unknown."""
        for name, mask in masks.items():
            self._masks[name].assign(mask)
        self._updated.assign(0)
        self._beyond.assign(beyond)

    def begin_epoch(self, steps: int | None) -> None:
        """Update the masks for the first step of a later epoch of so many steps (None: unknown) if an update is due."""
        done = int(self._done.numpy())
        first = int(self._beyond.numpy())
        self._beyond.assign(done + steps + 1 if steps else -1)
        if self.updated() < first <= done + 1:
            self.detach()  # the constraints that the kernels had are met already
            # A concrete function: TensorFlow warns of retracing after a few runs.
            if self._update_now is None:
                specification = tf.TensorSpec((), tf.int64)
                self._update_now = tf.function(self.update, autograph=False).get_concrete_function(
                    specification
                )
            self._update_now(tf.constant(first, tf.int64))
            self.attach()
            self.apply()

    def attach(self) -> None:
        """Make the masks constraints of the kernels; raise an `InputError` if another callback masks one of them."""
        for name, kernel in self.kernels.items():
            if isinstance(kernel.constraint, _Masked):
                got = f"{name!r}, which another callback of this fit prunes"
                raise InputError("layers", got, "one callback per kernel")
        for name, kernel in self.kernels.items():
            self._constraints[name] = kernel.constraint = _Masked(self, name, kernel.constraint)

    def detach(self) -> None:
        """Restore the constraints that the kernels had."""
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
                # No optimizer updates it, and its constraint is never called.
                if name in self._frozen:
                    self.kernels[name].assign(self.masked(name, self.kernels[name]))
            self._updated.assign(tf.cast(step, tf.int64))

        # Not inlined: the many operations of a ranking that is not due would slow down every step.
        rank = tf.function(rank, autograph=False, experimental_attributes={"_noinline": True})
        tf.cond(due & (tf.cast(step, tf.int64) != self._beyond), rank, lambda: None)

    def constrained(self, name: str) -> tf.Tensor:
        """Return the values of a kernel after an optimizer's update."""
        if self._first_call.is_first(name):
            self.update(tf.cast(self._done, tf.int64) + 2)
        return self.masked(name, self._unmasked(name))

    def masked(self, name: str, values: Any) -> tf.Tensor:
        """Return the values of a kernel, 0 where its mask is False."""
        values = tf.convert_to_tensor(values)
        return tf.where(self._masks[name], values, tf.zeros((), values.dtype))

    def apply(self) -> None:
        """Set the pruned weights of all kernels to 0."""
        for name, kernel in self.kernels.items():
            kernel.assign(self.masked(name, kernel))

    def masks(self) -> dict[str, np.ndarray]:
        """Return the masks: bool arrays, True where a weight stays."""
        return {name: mask.read_value().numpy() for name, mask in self._masks.items()}

    def sparsity(self) -> float:
        """Return the share of the weights of all kernels that the masks prune."""
        remaining = sum(
            int(tf.math.count_nonzero(mask.read_value())) for mask in self._masks.values()
        )
        return 1 - remaining / sum(int(np.prod(kernel.shape)) for kernel in self.kernels.values())

    def unheld(self) -> float:
        """Return the share of the weights of all kernels that are not 0 although the masks prune them."""
        kernels = self.kernels.items()
        count = sum(
            int(tf.math.count_nonzero(~self._masks[name] & (kernel.value != 0)))
            for name, kernel in kernels
        )
        return count / sum(int(np.prod(kernel.shape)) for _, kernel in kernels)

    def updated(self) -> int:
        """Return the step of the last update of the masks; 0 if there was none in this run."""
        return int(self._updated.read_value())

    def _unmasked(self, name: str) -> Any:
        inner = self._constraints[name].inner if name in self._constraints else None
        return inner(self.kernels[name]) if inner else self.kernels[name]

    def _new_masks(self, sparsity: tf.Tensor) -> dict[str, tf.Tensor]:
        """Compute new masks from the kernels' values before they are masked again."""
        method = self._method
        xla = bool(self._model.jit_compile)
        values = {name: tf.convert_to_tensor(self._unmasked(name)) for name in self.kernels}
        if method.tfmot is not None:
            return {
                name: method.tfmot.mask(weights, sparsity, xla=xla)
                for name, weights in values.items()
            }
        measured = {}
        if self._data is not None and method.needs_data:
            masked = [self.masked(name, weights) for name, weights in values.items()]
            means = mean_inside(
                self._data, partial(method.measure, self._model, self.kernels, masked)
            )
            measured = dict(zip(self.kernels, means, strict=True))

        def rank(scores: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
            masks = rank_masks(list(scores.values()), sparsity, scope=method.scope, xla=xla)
            return dict(zip(scores, masks, strict=True))

        values = {name: tf.cast(weights, tf.float32) for name, weights in values.items()}
        draws = {name: tf.convert_to_tensor(numbers) for name, numbers in self._draws.items()}
        return method.masks(values, rank, axes=self._axes, draws=draws, measured=measured)


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

    A call is the first if it is in another graph than the last one, or of a kernel that was called before. No certain
    kernel can mark it: kernels that are frozen or have no gradient are never called.
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
