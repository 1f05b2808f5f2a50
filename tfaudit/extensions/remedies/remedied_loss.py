"""The loss of a training step with remedies: terms added to the user's own loss.

Keras computes a loss in `model.compute_loss`, which the model's own `train_step` and most custom ones call. While a
fit has remedies, this method of the model is replaced. The user's loss, its metrics, class and sample weights,
penalties and a custom `compute_loss` therefore stay the same, and validation is not affected.
"""

import dataclasses
import inspect
import threading
from typing import Any

import keras

from tfaudit.compress.micro_batches import MicroBatches
from tfaudit.errors import InputError
from tfaudit.runtime.backends import replicas


@dataclasses.dataclass(frozen=True)
class Batch:
    """Data of a training step at the time when it computes its loss."""

    inputs: Any  # inputs of the model; None if the training step does not pass them on
    targets: Any
    outputs: Any


class Term:
    """Contribution of a remedy to the loss.

    Attributes:
        used: whether a training step has used it.
    """

    used = False

    def penalty(self, batch: Batch, weights: Any | None) -> Any:
        """Return a scalar to add to the mean loss of the batch.

        `weights` are the weights `(B,)` of the examples.
        """
        raise NotImplementedError


class RemediedLoss:
    """Replacement of a model's `compute_loss` and `train_step` while it has remedies."""

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        self._terms: list[Term] = []
        self._replaced: list[
            tuple[Any, str, Any]
        ] = []  # owner, method, and its own attribute if it has one
        self._step = _Step()  # per thread: each replica is traced in its own thread

    @classmethod
    def of(cls, model: keras.Model) -> "RemediedLoss":
        """Return the instance for a model, always the same one, since traced train functions refer to it."""
        return vars(model).setdefault("_remedied_loss", cls(model))  # type: ignore[no-any-return]

    def add(self, term: Term) -> None:
        """Add a remedy."""
        model = self._model
        if not self._terms:
            # Remedies see micro-batches, whose losses are computed one by one.
            step = model.train_step
            owner = step if isinstance(step, MicroBatches) else model
            self._inner_loss, self._inner_step = model.compute_loss, owner.train_step
            self._takes_training = "training" in inspect.signature(self._inner_loss).parameters
            for holder, name in ((model, "compute_loss"), (owner, "train_step")):
                self._replaced.append((holder, name, vars(holder).get(name)))
                setattr(holder, name, getattr(self, name))
        self._terms.append(term)

    def remove(self, term: Term) -> None:
        """Remove a remedy; after the last one, restore the model's own methods."""
        self._terms = [other for other in self._terms if other is not term]
        if not self._terms:
            for holder, name, own in self._replaced:
                if getattr(vars(holder).get(name), "__self__", None) is self:
                    delattr(holder, name)
                    if own is not None:
                        setattr(holder, name, own)
            self._replaced = []

    def train_step(self, *arguments: Any) -> Any:
        """Run the model's own training step on a batch, and require that it computes its loss here."""
        self._step.traced, self._step.losses = True, 0
        try:
            logs = self._inner_step(*arguments)
        finally:
            losses = self._step.losses
            self._step.traced = False
        if not losses:
            got = f"{self._model.name!r}, whose train_step never calls compute_loss"
            expected = (
                "self.compute_loss(x=x, y=y, y_pred=y_pred, ...), as in Keras' own train_step"
            )
            raise InputError("model", got, expected)
        return logs

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: Any = None,
        training: Any = True,
    ) -> Any:
        """Compute the model's own loss with the terms of the remedies, in a training step only."""
        known = {"training": training} if self._takes_training else {}
        loss = self._inner_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, **known)
        if not self._step.traced or not training:
            return loss
        self._step.losses += 1
        batch = Batch(x, y, y_pred)
        weights = None if sample_weight is None else _per_example(sample_weight)
        for term in self._terms:
            term.used = True
            # Keras sums the losses of the replicas; each loss is the mean over its examples.
            penalty = term.penalty(batch, weights) / replicas()
            loss = loss + keras.ops.cast(penalty, loss.dtype)
        return loss


class _Step(threading.local):
    """Whether a training step is being traced, and the number of losses that it has computed."""

    traced = False
    losses = 0


def _per_example(weights: Any) -> Any:
    weights = keras.ops.cast(weights, "float32")
    if len(weights.shape) == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    if len(weights.shape) != 1:
        raise InputError(
            "sample_weight", f"weights of shape {tuple(weights.shape)}", "one per example (N,)"
        )
    return weights
