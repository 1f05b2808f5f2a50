"""What is known of every channel of every tensor in a graph: is it constant, must it stay, and why."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Channels", "Cut"]


@dataclass(frozen=True)
class Cut:
    """What changes in a layer.

    Attributes:
        config: Entries of its config.
        weights: New values of its variables, by their names; the others keep theirs.
    """

    config: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def __or__(self, other: "Cut") -> "Cut":
        return Cut(self.config | other.config, self.weights | other.weights)


class Channels:
    """The channels, along the last axis, of tensors; a tensor is known by any hashable.

    Attributes:
        constant: Per tensor float64 `(C,)`: the value that a channel has at every position of every input, NaN where
            it varies.
        uneven: The tensors whose constants hold only inside, for zeros were padded around them. All their constant
            channels are then multiples of one pattern, and 0 is still 0.
        kept: Per tensor bool `(C,)`: whether the channel stays.
        why: Per tensor `(C,)` of strings: why it stays.
        changed: Set when a channel is found that must stay.
    """

    def __init__(self) -> None:
        self.constant: dict[Hashable, np.ndarray] = {}
        self.uneven: set[Hashable] = set()
        self.kept: dict[Hashable, np.ndarray] = {}
        self.why: dict[Hashable, np.ndarray] = {}
        self.changed = False

    def add(self, tensor: Hashable, constant: np.ndarray, *, uneven: bool = False) -> None:
        """Enter a tensor, whose channels may all go so far."""
        self.constant[tensor] = constant
        self.kept[tensor] = np.zeros(constant.size, bool)
        self.why[tensor] = np.full(constant.size, "", object)
        if uneven and np.nan_to_num(constant).any():
            self.uneven.add(tensor)

    def even(self, tensor: Hashable) -> np.ndarray:
        """Its constants that hold at every position: NaN where zeros were padded around another value."""
        constant = self.constant[tensor]
        return np.where(constant == 0, 0.0, np.nan) if tensor in self.uneven else constant

    def keep(self, tensor: Hashable, which: np.ndarray, why: str | np.ndarray) -> None:
        """These channels, bool `(C,)`, stay; the first reason is the one that is told."""
        fresh = which & ~self.kept[tensor]
        if fresh.any():
            self.why[tensor][fresh] = why[fresh] if isinstance(why, np.ndarray) else why
            self.kept[tensor] |= fresh
            self.changed = True
