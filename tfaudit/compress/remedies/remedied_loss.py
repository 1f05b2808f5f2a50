"""The loss of a training step with remedies: example weights, and terms added to the user's own loss.

Keras computes a loss in `model.compute_loss`, which the model's own `train_step` and most custom ones call. While a
fit has remedies, this method of the model is replaced. The user's loss, its metrics, class and sample weights,
penalties and a custom `compute_loss` therefore stay the same, and validation is not affected.
"""

import dataclasses
import inspect
import threading
from collections.abc import Mapping
from typing import Any

import keras

from tfaudit.compress.micro_batches import MicroBatches
from tfaudit.datasets.pipeline import MODEL_INPUTS
from tfaudit.errors import InputError, listed
from tfaudit.runtime.backends import replicas


@dataclasses.dataclass(frozen=True)
class Batch:
    """Data of a training step at the time when it computes its loss."""

    inputs: Any  # inputs of the model; None if the training step does not pass them on
    targets: Any
    outputs: Any
    columns: Mapping[str, Any]  # inputs that the remedies asked for, by name


class Term:
    """Contribution of a remedy to the loss.

    Attributes:
        used: whether a training step has used it.
        columns: names of inputs that it needs, whether or not the model takes them.
    """

    used = False
    columns: tuple[str, ...] = ()

    def example_weights(self, batch: Batch) -> Any | None:
        """Return the factors of the examples' losses `(B,)`, whose mean is 1; by default None, for 1."""
        return None

    def penalty(self, batch: Batch, weights: Any | None) -> Any | None:
        """Return a scalar to add to the mean loss of the batch; by default None, for 0.

        `weights` are the weights `(B,)` of the examples.
        """
        return None


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
            # Remedies see micro-batches, so that columns of the examples fit the outputs.
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
        """Run the model's own training step on a batch, without the columns that only remedies need.

        JAX hands the values of all variables to a step before the batch.
        """
        *state, data = arguments
        data, columns = self._without_columns(data)
        self._step.columns, self._step.losses = columns, 0
        try:
            logs = self._inner_step(*state, data)
        finally:
            losses = self._step.losses
            self._step.columns = None
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
        """Compute the model's own loss with the weights and terms of the remedies, in a training step only."""
        known = {"training": training} if self._takes_training else {}
        columns = self._step.columns
        if columns is None or not training:
            return self._inner_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, **known)
        self._step.losses += 1
        batch = Batch(x, y, y_pred, columns)
        weights = None if sample_weight is None else _per_example(sample_weight)
        for term in self._terms:
            term.used = True
            factors = term.example_weights(batch)
            if factors is not None:
                weights = factors if weights is None else weights * factors
        if weights is not None:
            sample_weight = weights
        loss = self._inner_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight, **known)
        for term in self._terms:
            penalty = term.penalty(batch, weights)
            if penalty is not None:
                # Keras sums the losses of the replicas; each loss is the mean over its examples.
                loss = loss + keras.ops.cast(penalty / replicas(), loss.dtype)
        return loss

    def _without_columns(self, data: Any) -> tuple[Any, dict[str, Any]]:
        wanted = {name for term in self._terms for name in term.columns}
        if not wanted:
            return data, {}
        inputs, targets, weights = keras.utils.unpack_x_y_sample_weight(data)
        if isinstance(inputs, Mapping) and MODEL_INPUTS in inputs:  # from a `tfaudit` data set
            own = inputs[MODEL_INPUTS]
            known = {**(own if isinstance(own, Mapping) else {}), **inputs}
            return (own, targets, weights), {name: known[name] for name in wanted}
        if not isinstance(inputs, Mapping) or not wanted <= set(inputs):
            names = isinstance(inputs, Mapping)
            got = f"inputs {listed(list(inputs))}" if names else "inputs without names"
            expected = (
                f"a dictionary of inputs with {listed(sorted(wanted))} among them, in fit too"
            )
            raise InputError("groups", got, expected)
        columns = {name: inputs[name] for name in wanted}
        return (model_inputs(self._model, inputs, wanted), targets, weights), columns


class _Step(threading.local):
    """State of the training step being traced: its columns (None outside a step) and the number of losses computed."""

    columns: dict[str, Any] | None = None
    losses = 0


def model_inputs(model: keras.Model, inputs: Any, columns: set[str] | tuple[str, ...]) -> Any:
    """Return inputs in the form that the model takes, without columns that it does not take."""
    if not isinstance(inputs, Mapping) or not columns:
        return inputs
    structure = getattr(model, "input", None)
    own = {tensor.name for tensor in keras.tree.flatten(structure)}
    if isinstance(structure, dict):
        own = set(structure)
    taken = {name: values for name, values in inputs.items() if name in own or name not in columns}
    single = structure is not None and not keras.tree.is_nested(structure)
    return next(iter(taken.values())) if single and len(taken) == 1 else taken


def _per_example(weights: Any) -> Any:
    weights = keras.ops.cast(weights, "float32")
    if len(weights.shape) == 2 and weights.shape[1] == 1:
        weights = weights[:, 0]
    if len(weights.shape) != 1:
        raise InputError(
            "sample_weight", f"weights of shape {tuple(weights.shape)}", "one per example (N,)"
        )
    return weights
