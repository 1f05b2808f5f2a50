"""State of every channel of every tensor in a graph: whether it is constant, whether it has to stay, and why."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["ChannelStates", "LayerChange"]


@dataclass(frozen=True)
class LayerChange:
    """Changes to a layer when channels are removed: entries of its config, and new values of variables by name."""

    config: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def __or__(self, other: "LayerChange") -> "LayerChange":
        return LayerChange(self.config | other.config, self.weights | other.weights)


class ChannelStates:
    """States of the channels, along the last axis, of tensors; a tensor is identified by any hashable.

    Attributes:
        constant: per tensor float64 `(C,)`, the value of a channel at every position of every input; NaN if it varies.
        uneven: tensors whose constants hold only inside, since zeros are padded around them. All their constant
            channels are multiples of one pattern, and 0 is still 0.
        needed: per tensor bool `(C,)`: whether the channel has to stay.
        reasons: per tensor `(C,)` of strings: why it has to stay.
        changed: set when a channel turns out to be needed.
    """

    def __init__(self) -> None:
        self.constant: dict[Hashable, np.ndarray] = {}
        self.uneven: set[Hashable] = set()
        self.needed: dict[Hashable, np.ndarray] = {}
        self.reasons: dict[Hashable, np.ndarray] = {}
        self.changed = False

    def add(self, tensor: Hashable, constant: np.ndarray, *, uneven: bool = False) -> None:
        """Add a tensor without needed channels."""
        self.constant[tensor] = constant
        self.needed[tensor] = np.zeros(constant.size, bool)
        self.reasons[tensor] = np.full(constant.size, "", object)
        if uneven and np.nan_to_num(constant).any():
            self.uneven.add(tensor)

    def even(self, tensor: Hashable) -> np.ndarray:
        """Return the constants that hold at every position: NaN where zeros are padded around another value."""
        constant = self.constant[tensor]
        return np.where(constant == 0, 0.0, np.nan) if tensor in self.uneven else constant

    def need(self, tensor: Hashable, which: np.ndarray, reasons: str | np.ndarray) -> None:
        """Mark channels, bool `(C,)`, as needed; only the first reason of each is stored."""
        fresh = which & ~self.needed[tensor]
        if fresh.any():
            self.reasons[tensor][fresh] = reasons[fresh] if isinstance(reasons, np.ndarray) else reasons
            self.needed[tensor] |= fresh
            self.changed = True
