"""Settings of a pruning method, shared by `prune` and `Pruning`, and the masks that follow from them."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import keras
import numpy as np

from tfaudit.compress.pruning.channels import (
    AXES,
    channel_count,
    expand_channel_mask,
    norm,
    slices,
)
from tfaudit.compress.pruning.gradients import LOSSES, batch_gradients, check_loss
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masks import SCOPES, rank_masks
from tfaudit.compress.pruning.score_data import GradientData, batches, mean_over
from tfaudit.compress.pruning.scores import (
    GRANULARITIES,
    SCORE_INPUTS,
    check_method,
    draws_for,
    score_inputs,
)
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.errors import InputError, require, require_one_of, require_whole

ByKernel: TypeAlias = Mapping[str, Any]
"""An array or a tensor per kernel, by name."""

Axes: TypeAlias = Mapping[str, Sequence[int]]
"""Axes that index the channels of each kernel, as `channel_axes` returns them."""


@dataclasses.dataclass(frozen=True)
class PruningMethod:
    """Rule for ranking weights, with settings that `tfaudit.prune` describes.

    Raises:
        InputError: a setting is unknown, or two settings exclude each other.

    >>> PruningMethod(method="l1", granularity="channel").inputs
    frozenset({'norm'})
    """

    method: str = "magnitude"
    scope: str = "layer"
    granularity: str = "weight"
    axis: int = -2
    gradient: str = "loss"
    decay: float = 0.0
    seed: int = 0
    tfmot: TFMOT | None = None

    def __post_init__(self) -> None:
        check_method(self.method, self.granularity)
        require_one_of("scope", self.scope, SCOPES)
        require_one_of("axis", self.axis, AXES)
        require_one_of("gradient", self.gradient, LOSSES)
        require_whole("seed", self.seed, 0)
        require(
            self.decay >= 0 and bool(np.isfinite(self.decay)),
            "decay",
            self.decay,
            "a finite number >= 0",
        )
        got = f"method={self.method!r}, granularity={self.granularity!r} and scope={self.scope!r}"
        only = "method='magnitude', granularity='weight' and scope='layer'"
        if self.tfmot is not None and got != only:
            raise InputError("tfmot", got, f"{only}, the only ones that TF-MOT has")

    @property
    def inputs(self) -> frozenset[str]:
        """Names of the scoring function's inputs."""
        return score_inputs(self.method, self.granularity)

    @property
    def needs_loss(self) -> bool:
        """Whether scores need gradients of the model's loss."""
        return bool(self.inputs & {"gradients", "class_gradients"})

    @property
    def needs_data(self) -> bool:
        """Whether scores are averaged over examples."""
        return self.needs_loss or bool(self._measured)

    @property
    def _measured(self) -> list[str]:
        """Names of the inputs that an extension measures."""
        return [name for name in self.inputs if name in SCORE_INPUTS]

    def check_data(self, data: object) -> None:
        """Raise an `InputError` if the method averages its scores over examples, without any or on another backend."""
        backend = keras.backend.backend()
        if self.needs_data and backend != "tensorflow":
            expected = "a method that needs no examples, or KERAS_BACKEND=tensorflow"
            raise InputError("method", f"{self.method!r} with KERAS_BACKEND={backend}", expected)
        if self.needs_data and data is None:
            raise InputError(
                "gradient_data",
                "None",
                f"data to average the scores of method {self.method!r} over",
            )

    def check_kernels(self, kernels: Kernels, sparsity: float | None) -> None:
        """Raise an `InputError` if TF-MOT's settings do not suit a kernel or the sparsity (None if not known yet)."""
        if self.tfmot is not None:
            for name, kernel in kernels.items():
                self.tfmot.check(name, tuple(kernel.shape), sparsity)

    def draws(self, kernels: Kernels, axes: Axes) -> dict[str, np.ndarray]:
        """Return random numbers for all kernels, given their `channel_axes`; empty if the method needs none."""
        if "draws" not in self.inputs:
            return {}
        draws = {}
        for position, (name, kernel) in enumerate(kernels.items()):
            size = tuple(kernel.shape)
            if self.granularity == "channel":
                size = (channel_count(size, axes[name]),)
            draws[name] = draws_for(position, size, self.seed)
        return draws

    def measure(
        self, model: keras.Model, kernels: Kernels, values: Sequence[Any], inputs: Any, targets: Any
    ) -> list[Any]:
        """Compute the inputs of the scores on one batch: gradients, or what an extension measures."""
        for name in self._measured:
            made: list[Any] = SCORE_INPUTS[name](model, kernels, values, inputs, axis=self.axis)
            return made
        by_class = "class_gradients" in self.inputs
        of = "data" if by_class else self.gradient
        return batch_gradients(model, kernels, values, inputs, targets, of=of, by_class=by_class)

    def measured(
        self, model: keras.Model, kernels: Kernels, data: GradientData | None
    ) -> dict[str, np.ndarray]:
        """Compute these inputs of the scores, averaged over all examples; empty if the method needs no examples.

        Raises:
            InputError: the model has no loss, there is no data, or a gradient is not finite.
        """
        self.check_data(data)
        if data is None or not self.needs_data:
            return {}
        if self.needs_loss:
            check_loss(model)
        import tensorflow as tf

        values = [tf.convert_to_tensor(kernel) for kernel in kernels.values()]
        means = mean_over(batches(data), partial(self.measure, model, kernels, values))
        for name, mean in zip(kernels, means, strict=True):
            if self.needs_loss and not np.isfinite(mean).all():
                got = f"a gradient of {name!r} with NaN or infinity"
                raise InputError("gradient_data", got, "finite gradients")
        return dict(zip(kernels, means, strict=True))

    def masks(
        self,
        values: ByKernel,
        sparsity: Any,
        *,
        axes: Axes,
        draws: ByKernel,
        measured: ByKernel,
        zeros_first: bool = False,
        xla: bool = False,
    ) -> dict[str, Any]:
        """Compute the masks of all kernels: bool tensors in their shapes, True where a weight stays.

        Args:
            values: float values of the kernels.
            sparsity: share of the weights or channels to prune.
            axes: axes of the channels, as `channel_axes` returns them.
            draws: random numbers, if the method needs them.
            measured: what `measure` computes, if the method needs it.
            zeros_first: whether to prune weights or channels that are 0 first, whatever their scores.
            xla: whether XLA compiles the function.
        """
        if self.tfmot is not None:
            return {name: self.tfmot.mask(w, sparsity, xla=xla) for name, w in values.items()}
        values = {name: keras.ops.cast(weights, "float32") for name, weights in values.items()}
        scores = self._scores(values, axes, draws, measured)
        if zeros_first:
            for name, weights in values.items():
                alive = weights != 0
                if self.granularity == "channel":
                    alive = keras.ops.any(slices(alive, axes[name]), axis=1)
                scores[name] = keras.ops.where(alive, scores[name], 0.0)
        sparsity = keras.ops.cast(sparsity, "float32")
        ranked = rank_masks(list(scores.values()), sparsity, scope=self.scope, xla=xla)
        masks = dict(zip(scores, ranked, strict=True))
        if self.granularity == "channel":
            for name, mask in masks.items():
                masks[name] = expand_channel_mask(mask, values[name].shape, axes[name])
        return masks

    def _scores(
        self, values: ByKernel, axes: Axes, draws: ByKernel, measured: ByKernel
    ) -> dict[str, Any]:
        score = GRANULARITIES[self.granularity][self.method]
        totals = _class_totals(values, measured) if "class_totals" in self.inputs else None
        scores = {}
        for name, weights in values.items():
            supply = {
                "weights": weights,
                "gradients": measured.get(name),
                "class_gradients": measured.get(name),
                "class_totals": totals,
                "draws": draws.get(name),
                "decay": np.float32(self.decay),
                "norm": partial(norm, weights, axes[name]),
                **dict.fromkeys(self._measured, measured.get(name)),
            }
            scores[name] = score(**{argument: supply[argument] for argument in self.inputs})
        return scores


def _class_totals(values: ByKernel, measured: ByKernel) -> Any:
    """Return the sum of `|w dL_c/dw|` over all kernels for each class, at least the smallest float above 0."""
    totals = np.finfo(np.float32).tiny
    for name, weights in values.items():
        importance = abs(weights * measured[name])
        totals += keras.ops.sum(importance, axis=tuple(range(1, len(importance.shape))))
    return totals
