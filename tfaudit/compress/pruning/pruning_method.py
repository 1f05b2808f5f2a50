"""How weights are ranked: the settings that `prune` and `Pruning` share, and the scores that follow from them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tfaudit.compress.pruning.channels import AXES, channel_count, norm
from tfaudit.compress.pruning.gradients import LOSSES
from tfaudit.compress.pruning.masks import SCOPES
from tfaudit.compress.pruning.scores import GRANULARITIES, draws_for, inputs
from tfaudit.compress.pruning.tfmot_masks import TFMOT
from tfaudit.errors import InputError

__all__ = ["Technique"]


@dataclasses.dataclass(frozen=True)
class Technique:
    """Settings of a ranking; for their meaning see `tfaudit.prune`.

    Raises:
        InputError: a setting, or two together, that cannot be used.

    >>> Technique(method="l1", granularity="channel").inputs
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
        _one_of("granularity", self.granularity, tuple(GRANULARITIES))
        methods = GRANULARITIES[self.granularity]
        if self.method not in methods:
            allowed = " or ".join(map(repr, methods))
            raise InputError(f"method: expected {allowed} with granularity={self.granularity!r}, came {self.method!r}")
        _one_of("scope", self.scope, SCOPES)
        _one_of("axis", self.axis, AXES)
        _one_of("gradient", self.gradient, LOSSES)
        if isinstance(self.seed, bool) or not isinstance(self.seed, int | np.integer) or self.seed < 0:
            raise InputError(f"seed: expected an integer >= 0, came {self.seed!r}")
        if not self.decay >= 0 or not np.isfinite(self.decay):
            raise InputError(f"decay: expected a number >= 0, came {self.decay!r}")
        if self.tfmot is not None and (self.method, self.granularity, self.scope) != ("magnitude", "weight", "layer"):
            raise InputError(
                "tfmot: TF-MOT knows method='magnitude', granularity='weight' and scope='layer', "
                f"came {self.method!r}, {self.granularity!r} and {self.scope!r}"
            )

    @property
    def inputs(self) -> frozenset[str]:
        """What the scoring function asks for."""
        return inputs(self.method, self.granularity)

    @property
    def needs_data(self) -> bool:
        """Whether scores are taken over examples."""
        return bool(self.inputs & {"gradients", "independence"})

    def check_data(self, data: object) -> None:
        """Refuse to go on without the examples that scores are taken over.

        Raises:
            InputError: they are needed, and None.
        """
        if self.needs_data and data is None:
            raise InputError(f"gradient_data: method {self.method!r} needs data to take its scores over")

    def draws(self, shapes: Mapping[str, Sequence[int]], axes: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
        """The random numbers of all kernels, where the method asks for them.

        Args:
            shapes: of the kernels, by name, in their order.
            axes: that number the channels of each; ignored for single weights.
        """
        if "draws" not in self.inputs:
            return {}
        by_channel = self.granularity == "channel"
        sizes = {name: (channel_count(s, axes[name]),) if by_channel else tuple(s) for name, s in shapes.items()}
        return {name: draws_for(position, size, self.seed) for position, (name, size) in enumerate(sizes.items())}

    def scores(self, weights: Any, *, axes: Sequence[int], draws: Any, measured: Any) -> Any:
        """The scores of one kernel.

        Args:
            weights: its values, float32: an array or a tensor.
            axes: that number its channels; ignored for single weights.
            draws: its random numbers, or None.
            measured: its gradients, or its independence, where the method asks for them, or None.

        Returns:
            One score per weight in the kernel's shape, or per channel `(channels,)`.
        """
        supply: dict[str, Callable[[], Any]] = {
            "weights": lambda: weights,
            "gradients": lambda: measured,
            "independence": lambda: measured,
            "draws": lambda: draws,
            "decay": lambda: np.float32(self.decay),
            "norm": lambda: partial(norm, weights, axes),
        }
        return GRANULARITIES[self.granularity][self.method](**{name: supply[name]() for name in self.inputs})


def _one_of(argument: str, value: object, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{argument}: expected {' or '.join(map(repr, allowed))}, came {value!r}")
