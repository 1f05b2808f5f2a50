"""Kernels under masks inside a compiled training step.

Keras' optimizers call `variable.constraint` after every update, within the compiled step. So a mask is a constraint:
it multiplies the kernel, after the constraint that the kernel had. The update of the masks happens there too: the
first constraint that is called after an optimizer's update, when all kernels hold their new values and none is masked
again yet, asks the schedule and, when it is due, ranks the weights of all kernels. So there is one `tf.cond` a step,
no Python per batch and no copy to the host, and it does not matter how many steps Keras runs in one execution.

At that moment the optimizer still counts the finished steps, so after step t it is t - 1, and the masks are those of
the next forward pass: the schedule is asked for that count + 2. TF-MOT computes the same masks from
the same weights, only at the beginning of that pass.

Scores that are taken over examples are those of the network as it is: the loss is differentiated, and feature maps are
computed, at the new values under the masks that still hold. The score of a weight takes its new value without a mask,
as that of the magnitude does, so a weight that was pruned may come back.
"""

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.channels import channel_axes, spread
from tfaudit.compress.pruning.chip import batch_independence
from tfaudit.compress.pruning.gradients import batch_gradients
from tfaudit.compress.pruning.pruning_method import Technique
from tfaudit.compress.pruning.schedules import Schedule, ask
from tfaudit.compress.pruning.score_data import mean_inside
from tfaudit.compress.pruning.tf_masks import rank_masks
from tfaudit.errors import InputError

__all__ = ["MaskedKernels", "steps_done"]


def steps_done(optimizer: keras.Optimizer) -> Any:
    """The variable that counts the steps of an optimizer: batches, also where several make one update.

    `optimizer.iterations` counts updates when gradients are accumulated, and is no variable then.
    """
    return getattr(optimizer, "inner_optimizer", optimizer)._iterations


class MaskedKernels:
    """The selected kernels of a model with their mask variables.

    Args:
        model: a compiled model.
        kernels: the kernels to prune, by name.
        schedule: when to update the masks, and to which sparsity.
        technique: how weights are ranked.
        data: inputs and targets, for techniques whose scores are taken over examples.

    Attributes:
        kernels: as given.
        schedule: as given.
    """

    def __init__(
        self,
        model: keras.Model,
        kernels: Mapping[str, keras.Variable],
        schedule: Schedule,
        technique: Technique | None = None,
        data: tuple[tf.Tensor, tf.Tensor] | None = None,
    ) -> None:
        self.kernels = dict(kernels)
        self.schedule = schedule
        self._done = steps_done(model.optimizer)
        self._model, self._technique, self._data = model, technique or Technique(), data
        self._axes = channel_axes(model, kernels, self._technique.axis)
        trainable = {id(variable) for variable in model.trainable_variables}
        self._frozen = {name for name, kernel in kernels.items() if id(kernel) not in trainable}
        self._constraints: dict[str, _Masked] = {}
        self._round = _Round()
        # Without aggregation every replica writes its own copy, also inside `tf.cond`; all replicas write the same.
        with model.distribute_strategy.scope():
            self._masks = {
                name: tf.Variable(tf.ones(kernel.shape, tf.bool), trainable=False) for name, kernel in kernels.items()
            }
            draws = self._technique.draws({name: kernel.shape for name, kernel in kernels.items()}, self._axes)
            self._draws = {name: tf.Variable(each, trainable=False) for name, each in draws.items()}
            self._updated = tf.Variable(0, dtype=tf.int64, trainable=False)
            self._beyond = tf.Variable(-1, dtype=tf.int64, trainable=False)

    def fits(self, kernels: Mapping[str, keras.Variable], schedule: Schedule) -> bool:
        """Whether these are the kernels and the schedule of a train function traced with these masks."""
        same = [id(kernel) for kernel in kernels.values()] == [id(kernel) for kernel in self.kernels.values()]
        return same and schedule is self.schedule

    def reset(self, masks: Mapping[str, np.ndarray], *, beyond: int) -> None:
        """Begin a run with these masks; `beyond` is the step after its last one, or -1: not known."""
        for name, mask in masks.items():
            self._masks[name].assign(mask)
        self._updated.assign(0)
        self._beyond.assign(beyond)

    def attach(self) -> None:
        """Make the masks constraints of the kernels.

        Raises:
            InputError: a kernel is under the masks of another callback.
        """
        for name, kernel in self.kernels.items():
            if isinstance(kernel.constraint, _Masked):
                raise InputError(f"layers: {name!r} is already pruned by another Pruning callback of this fit")
        for name, kernel in self.kernels.items():
            self._constraints[name] = kernel.constraint = _Masked(self, name, kernel.constraint)

    def detach(self) -> None:
        """Give the kernels the constraints back that they had."""
        for name, constraint in self._constraints.items():
            if self.kernels[name].constraint is constraint:
                self.kernels[name].constraint = constraint.inner
        self._constraints = {}

    def update(self, step: Any) -> None:
        """Compute new masks where the schedule prunes at this step; does not touch trainable kernels."""
        due, _ = ask(self.schedule, step)

        def rank() -> None:
            _, sparsity = ask(self.schedule, step)  # in here: most steps do not need it
            for name, mask in self._ranked(sparsity).items():
                self._masks[name].assign(mask)
                if name in self._frozen:  # No optimizer updates it, so its constraint is never called.
                    self.kernels[name].assign(self.masked(name, self.kernels[name]))
            self._updated.assign(tf.cast(step, tf.int64))

        # A call of its own: inlined, the many operations of a ranking that is not due would cost every step.
        rank = tf.function(rank, autograph=False, experimental_attributes={"_noinline": True})
        tf.cond(due & (tf.cast(step, tf.int64) != self._beyond), rank, lambda: None)

    def constrained(self, name: str) -> tf.Tensor:
        """What the kernel becomes after an optimizer's update."""
        if self._round.begins(name):
            self.update(tf.cast(self._done, tf.int64) + 2)
        return self.masked(name, self._before(name))

    def masked(self, name: str, values: Any) -> tf.Tensor:
        """The values of a kernel where its mask is True, and 0 elsewhere."""
        values = tf.convert_to_tensor(values)
        return tf.where(self._masks[name], values, tf.zeros((), values.dtype))

    def apply(self) -> None:
        """Set the pruned weights of all kernels to 0."""
        for name, kernel in self.kernels.items():
            kernel.assign(self.masked(name, kernel))

    def masks(self) -> dict[str, np.ndarray]:
        """The masks: bool arrays, True where a weight stays."""
        return {name: mask.read_value().numpy() for name, mask in self._masks.items()}

    def sparsity(self) -> float:
        """The share of the weights of all kernels that the masks prune."""
        kept = sum(int(tf.math.count_nonzero(mask.read_value())) for mask in self._masks.values())
        return 1 - kept / sum(int(np.prod(kernel.shape)) for kernel in self.kernels.values())

    def updated(self) -> int:
        """The step of the last update of the masks; 0: none in this run."""
        return int(self._updated.read_value())

    def _before(self, name: str) -> Any:
        """The kernel after the constraint that it had itself."""
        inner = self._constraints[name].inner if name in self._constraints else None
        return inner(self.kernels[name]) if inner else self.kernels[name]

    def _ranked(self, sparsity: tf.Tensor) -> dict[str, tf.Tensor]:
        """New masks, from the values of the kernels before they are masked again."""
        technique, xla = self._technique, bool(self._model.jit_compile)
        before = {name: tf.convert_to_tensor(self._before(name)) for name in self.kernels}
        if technique.tfmot is not None:
            return {name: technique.tfmot.mask(values, sparsity, xla=xla) for name, values in before.items()}
        measured = self._measured([self.masked(name, values) for name, values in before.items()])
        scores = [
            technique.scores(
                tf.cast(values, tf.float32),
                axes=self._axes[name],
                draws=tf.convert_to_tensor(self._draws[name]) if name in self._draws else None,
                measured=measured.get(name),
            )
            for name, values in before.items()
        ]
        masks = dict(zip(before, rank_masks(scores, sparsity, scope=technique.scope, xla=xla), strict=True))
        if technique.granularity == "weight":
            return masks
        return {name: spread(mask, before[name].shape, self._axes[name]) for name, mask in masks.items()}

    def _measured(self, values: list[tf.Tensor]) -> dict[str, tf.Tensor]:
        """What the technique takes over the examples, with these values in the kernels."""
        if self._data is None or not self._technique.needs_data:
            return {}

        def per_batch(inputs: tf.Tensor, targets: tf.Tensor) -> list[tf.Tensor]:
            if "independence" in self._technique.inputs:
                return batch_independence(self._model, self.kernels, values, inputs, axis=self._technique.axis)
            of = self._technique.gradient
            return batch_gradients(self._model, self.kernels, values, inputs, targets, of=of)

        return dict(zip(self.kernels, mean_inside(self._data, per_batch), strict=True))


class _Masked(keras.constraints.Constraint):
    """The constraint of a kernel under a mask."""

    def __init__(self, group: MaskedKernels, name: str, inner: Callable[[Any], Any] | None) -> None:
        self.inner = inner
        self._group, self._name = group, name

    def __call__(self, w: Any) -> tf.Tensor:
        return self._group.constrained(self._name)


class _Round(threading.local):
    """Tells the first constraint after an optimizer's update from the others, per replica (each traces in a thread).

    It is one in another graph than the last, or one that was called already. So it need not be a certain kernel:
    kernels that are frozen or get no gradient are never called.
    """

    def __init__(self) -> None:
        self._graph: Callable[[], Any] = lambda: None
        self._seen: set[str] = set()

    def begins(self, name: str) -> bool:
        graph = tf.compat.v1.get_default_graph()
        begins = self._graph() is not graph or name in self._seen
        if begins:
            self._graph, self._seen = weakref.ref(graph), set()
        self._seen.add(name)
        return begins
