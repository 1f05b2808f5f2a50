"""Settings of a pruning method, which `prune` and `Pruning` share, and the masks that follow from them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from tfaudit.compress.pruning.channels import AXES, channel_count, expand_channel_mask, norm
from tfaudit.compress.pruning.chip import batch_independence
from tfaudit.compress.pruning.gradients import LOSSES, batch_class_gradients, batch_gradients
from tfaudit.compress.pruning.kernels import Kernels
from tfaudit.compress.pruning.masks import SCOPES
from tfaudit.compress.pruning.scores import GRANULARITIES, draws_for, score_inputs
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.errors import InputError, require

ByKernel: TypeAlias = Mapping[str, Any]
"""An array or a tensor per kernel, by name."""


@dataclasses.dataclass(frozen=True)
class PruningMethod:
    """How weights are ranked. `tfaudit.prune` describes the settings.

    Raises:
        InputError: an unknown setting, or two that exclude each other.

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
        self._require_one_of("granularity", GRANULARITIES)
        self._require_one_of(
            "method", GRANULARITIES[self.granularity], f" with granularity={self.granularity!r}"
        )
        self._require_one_of("scope", SCOPES)
        self._require_one_of("axis", AXES)
        self._require_one_of("gradient", LOSSES)
        is_integer = isinstance(self.seed, int | np.integer) and not isinstance(self.seed, bool)
        require(is_integer and self.seed >= 0, "seed", self.seed, "an integer >= 0")
        require(
            self.decay >= 0 and bool(np.isfinite(self.decay)),
            "decay",
            self.decay,
            "a finite number >= 0",
        )
        if self.tfmot is not None and (self.method, self.granularity, self.scope) != (
            "magnitude",
            "weight",
            "layer",
        ):
            got = (
                f"method={self.method!r}, granularity={self.granularity!r} and scope={self.scope!r}"
            )
            expected = "method='magnitude', granularity='weight' and scope='layer', the only ones that TF-MOT has"
            raise InputError("tfmot", got, expected)

    def _require_one_of(self, argument: str, allowed: Any, condition: str = "") -> None:
        value = getattr(self, argument)
        require(value in allowed, argument, value, " or ".join(map(repr, allowed)) + condition)

    @property
    def inputs(self) -> frozenset[str]:
        """Inputs of the scoring function."""
        return score_inputs(self.method, self.granularity)

    @property
    def needs_data(self) -> bool:
        """Whether scores are averaged over examples."""
        return bool(self.inputs & {"gradients", "class_gradients", "independence"})

    def check_data(self, data: object) -> None:
        """Raise an `InputError` if the method averages its scores over examples and `data` is None."""
        if self.needs_data and data is None:
            raise InputError(
                "gradient_data",
                "None",
                f"data to average the scores of method {self.method!r} over",
            )

    def draws(
        self, shapes: Mapping[str, Sequence[int]], axes: Mapping[str, Sequence[int]]
    ) -> dict[str, np.ndarray]:
        """Return the random numbers of all kernels, from their shapes and `channel_axes`; none if it needs none."""
        if "draws" not in self.inputs:
            return {}
        by_channel = self.granularity == "channel"
        sizes = {
            name: (channel_count(s, axes[name]),) if by_channel else tuple(s)
            for name, s in shapes.items()
        }
        return {
            name: draws_for(position, size, self.seed)
            for position, (name, size) in enumerate(sizes.items())
        }

    def measure(
        self, model: keras.Model, kernels: Kernels, values: Sequence[Any], inputs: Any, targets: Any
    ) -> list[tf.Tensor]:
        """Compute what the scores need of one batch: gradients or `batch_independence`."""
        if "independence" in self.inputs:
            return batch_independence(model, kernels, values, inputs, axis=self.axis)
        if "class_gradients" in self.inputs:
            return batch_class_gradients(model, kernels, values, inputs, targets)
        return batch_gradients(model, kernels, values, inputs, targets, of=self.gradient)

    def masks(
        self,
        values: ByKernel,
        rank: Callable[[dict[str, Any]], ByKernel],
        *,
        axes: Mapping[str, Sequence[int]],
        draws: ByKernel,
        measured: ByKernel,
    ) -> dict[str, Any]:
        """Compute the masks of all kernels, as `masks.masks` does, from NumPy arrays or inside a graph from tensors.

        All arguments are by kernel: float32 values, the function `rank` from scores to masks, the axes that number the
        channels, and, if the method needs them, random numbers, and gradients or independence.
        """
        score = GRANULARITIES[self.granularity][self.method]
        scores = {}
        totals = _class_totals(values, measured) if "class_totals" in self.inputs else None
        for name, weights in values.items():
            supply = {
                "weights": weights,
                "gradients": measured.get(name),
                "class_gradients": measured.get(name),
                "class_totals": totals,
                "independence": measured.get(name),
                "draws": draws.get(name),
                "decay": np.float32(self.decay),
                "norm": partial(norm, weights, axes[name]),
            }
            scores[name] = score(**{argument: supply[argument] for argument in self.inputs})
        masks = rank(scores)
        if self.granularity == "weight":
            return dict(masks)
        return {
            name: expand_channel_mask(mask, values[name].shape, axes[name])
            for name, mask in masks.items()
        }


def _class_totals(values: ByKernel, measured: ByKernel) -> Any:
    """Return for each class the sum of `|w dL_c/dw|` over all kernels, at least the smallest float above 0."""
    totals = 0.0
    for name, weights in values.items():
        importance = abs(weights * measured[name])
        reduce = tf.reduce_sum if tf.is_tensor(importance) else np.sum
        totals = totals + reduce(importance, axis=tuple(range(1, len(importance.shape))))
    return totals + np.finfo(np.float32).tiny
