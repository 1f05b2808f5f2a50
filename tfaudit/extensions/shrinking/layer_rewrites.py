"""Steps, the three ways in which operations relate output channels to input channels, and channel states.

A `MixingStep` computes every output channel from all input channels, so both may lose channels independently. A
`ChannelwiseStep` maps channels one by one, so they stay or go together. An `OpaqueStep` is any other operation: all its
channels stay.

`infer_constants` finds constant outputs, `propagate` finds channels that are needed because others are, and `change`
returns the layer's changes without the unneeded channels.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tfaudit.extensions.shrinking.elementwise import Values


@dataclass(frozen=True)
class LayerChange:
    """Changes to a layer after removal of channels: entries of its config, and new values of its variables by name."""

    config: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def __or__(self, other: "LayerChange") -> "LayerChange":
        return LayerChange(self.config | other.config, self.weights | other.weights)


class ChannelStates:
    """States of channels, which are along a tensor's last axis; any hashable identifies a tensor.

    Attributes:
        constant: constants per tensor, float64 `(C,)`: a channel's value at every position and input; NaN if it varies.
        uneven: tensors whose constants hold only inside, since zeros are padded around them. All their constant
            channels are multiples of one pattern, and 0 is still 0.
        needed: whether each channel has to stay, bool `(C,)` per tensor.
        reasons: why each channel has to stay, strings `(C,)` per tensor.
        changed: whether a channel was marked as needed; a caller resets it.
    """

    def __init__(self) -> None:
        self.constant: dict[Hashable, np.ndarray] = {}
        self.uneven: set[Hashable] = set()
        self.needed: dict[Hashable, np.ndarray] = {}
        self.reasons: dict[Hashable, np.ndarray] = {}
        self.changed = False

    def add(self, tensor: Hashable, constant: np.ndarray, *, uneven: bool = False) -> None:
        """Add a tensor; none of its channels is marked as needed yet."""
        self.constant[tensor] = constant
        self.needed[tensor] = np.zeros(constant.size, bool)
        self.reasons[tensor] = np.full(constant.size, "", object)
        if uneven and np.nan_to_num(constant).any():
            self.uneven.add(tensor)

    def even(self, tensor: Hashable) -> np.ndarray:
        """Return the constants that hold at every position; NaN if zeros are padded around another value."""
        constant = self.constant[tensor]
        return np.where(constant == 0, 0.0, np.nan) if tensor in self.uneven else constant

    def need(self, tensor: Hashable, which: Any, reasons: str | np.ndarray) -> None:
        """Mark channels as needed, given as any index of an array; only the first reason of each is stored."""
        places = np.arange(self.needed[tensor].size)[which]
        fresh = ~self.needed[tensor][places]
        if fresh.any():
            reasons = np.broadcast_to(np.asarray(reasons, object), places.shape)
            self.reasons[tensor][places[fresh]] = reasons[fresh]
            self.needed[tensor][places] = True
            self.changed = True


@dataclass(frozen=True)
class MixingStep:
    """Convolution or dense layer.

    The contribution of a removed constant input channel is added to the bias. If zeros are padded around the channel,
    its contribution differs at the border; one constant channel then stays and carries the contributions of all, with
    an altered kernel.
    """

    name: str
    input: Hashable
    output: Hashable
    kernel: np.ndarray  # (..., in, out)
    bias: np.ndarray | None  # (out,)
    padded: bool  # whether zeros count as inputs at the border
    count: str = "filters"  # config entry with the number of output channels
    variable: str = "kernel"  # name of the kernel
    transposed: bool = False  # whether the layer stores its kernel as (..., out, in)

    @cached_property
    def reads(self) -> np.ndarray:
        """Whether each input channel contributes to each output channel: bool `(in, out)`."""
        return np.asarray(self.flat.any(axis=0))

    @property
    def flat(self) -> np.ndarray:
        """The kernel with one axis for all places: `(places, in, out)`."""
        return self.kernel.reshape(-1, *self.kernel.shape[-2:])

    def _folds(self, channels: ChannelStates) -> bool:
        return not self.padded and self.input not in channels.uneven

    def _constants(self, channels: ChannelStates, which: np.ndarray) -> np.ndarray:
        """Return the contribution of some constant input channels to each output channel: `(out,)`."""
        total = self.flat[:, which].sum(axis=0, dtype=np.float64)
        return channels.constant[self.input][which] @ total

    def infer_constants(self, channels: ChannelStates) -> None:
        """Mark outputs that read no channel, or only constants, as constant."""
        constant = channels.constant[self.input]
        usable = ~np.isnan(constant) if self._folds(channels) else constant == 0
        values = np.zeros(self.reads.shape[1]) if self.bias is None else self.bias
        if (known := usable & (constant != 0)).any():
            values = values + self._constants(channels, known)
        varies = self.reads[~usable].any(axis=0)
        channels.add(self.output, np.where(varies, np.nan, values).astype(np.float64))

    def propagate(self, channels: ChannelStates) -> None:
        """Mark inputs that vary and are read as needed, and one constant input if the bias cannot replace it."""
        read = self.reads[:, channels.needed[self.output]].any(axis=1)
        constant = channels.constant[self.input]
        channels.need(self.input, read & np.isnan(constant), f"{self.name!r} reads it")
        if not self._folds(channels) and (read & (np.nan_to_num(constant) != 0)).any():
            reason = f"it carries all constants through the zero padding of {self.name!r}"
            channels.need(self.input, [self._carrier(constant)], reason)

    def _carrier(self, constant: np.ndarray) -> int:
        # The largest constant, so that no kernel is scaled up.
        return int(np.abs(np.nan_to_num(constant)).argmax())

    def change(self, channels: ChannelStates) -> LayerChange:
        """Return the changes for fewer inputs and outputs, including the constants of removed inputs."""
        constant = channels.constant[self.input]
        needed = channels.needed[self.input]
        gone = ~needed & (np.nan_to_num(constant) != 0)
        kernel = self.kernel[..., channels.needed[self.output]]  # a copy
        added = np.zeros(self.reads.shape[1])
        carrier = self._carrier(constant)
        if gone.any() and self._folds(channels):
            added = self._constants(channels, gone)
        elif gone.any() and needed[carrier]:
            shares = constant[gone] / constant[carrier]
            kernel[..., carrier, :] += np.einsum("i,...io->...o", shares, kernel[..., gone, :])
        kernel = kernel[..., needed, :]
        weights = {self.variable: np.swapaxes(kernel, -1, -2) if self.transposed else kernel}
        config: dict[str, Any] = {self.count: int(channels.needed[self.output].sum())}
        if self.bias is not None or added.any():
            bias = added if self.bias is None else self.bias + added
            weights["bias"] = bias[channels.needed[self.output]]
            config["use_bias"] = True
        return LayerChange(config, weights)


@dataclass(frozen=True)
class ChannelwiseStep:
    """Operation that maps channels one by one, such as normalisation, activation, pooling, addition or flattening.

    Attributes:
        sources: input channel from which each output channel comes, int `(C,)` per input; -1 for none.
        values: function from the even constants of the inputs to those of the outputs; None passes on the constants
            of the sources, or 0 without a source.
        pads: whether zeros are padded around the channels.
        resize: function that returns the change; None if the layer suits any number of channels.
    """

    name: str
    inputs: tuple[Hashable, ...]
    output: Hashable
    sources: tuple[np.ndarray, ...]
    values: Values | None = None
    pads: bool = False
    resize: Callable[[ChannelStates], LayerChange] | None = None

    def infer_constants(self, channels: ChannelStates) -> None:
        """Mark outputs that come from constants as constant, with the constants that `values` returns."""
        constants = [channels.even(tensor) for tensor in self.inputs]
        channels.add(self.output, (self.values or self._passed)(constants), uneven=self.pads)

    def _passed(self, constants: list[np.ndarray]) -> np.ndarray:
        values = np.zeros(self.sources[0].size)
        for source, constant in zip(self.sources, constants, strict=True):
            values[source >= 0] = constant[source[source >= 0]]
        return values

    def propagate(self, channels: ChannelStates) -> None:
        """Mark connected input and output channels as needed together."""
        varies = np.isnan(channels.constant[self.output])
        for tensor, source in zip(self.inputs, self.sources, strict=True):
            outputs = np.flatnonzero(source >= 0)
            origins = source[outputs]
            needed = channels.needed[self.output][outputs]
            lost = varies[outputs] & ~np.isnan(channels.constant[tensor][origins])
            reasons = np.where(
                lost,
                f"after {self.name!r} it is no longer constant",
                channels.reasons[self.output][outputs],
            )
            channels.need(tensor, origins[needed], reasons[needed])
            needed = channels.needed[tensor][origins]
            channels.need(self.output, outputs[needed], channels.reasons[tensor][origins[needed]])

    def change(self, channels: ChannelStates) -> LayerChange:
        """Return the change that `resize` makes."""
        return self.resize(channels) if self.resize else LayerChange()


@dataclass(frozen=True)
class OpaqueStep:
    """Operation without a rule, which needs all its channels."""

    name: str
    inputs: tuple[Hashable, ...]
    outputs: dict[Hashable, int]  # number of channels by tensor
    reason: str  # why all its channels stay

    def infer_constants(self, channels: ChannelStates) -> None:
        """Mark all outputs as varying."""
        for tensor, width in self.outputs.items():
            channels.add(tensor, np.full(width, np.nan))

    def propagate(self, channels: ChannelStates) -> None:
        """Mark all channels as needed."""
        for tensor in (*self.inputs, *self.outputs):
            channels.need(tensor, slice(None), f"{self.name!r} keeps all channels")

    def change(self, channels: ChannelStates) -> LayerChange:
        """Return no change."""
        return LayerChange()


Step = ChannelwiseStep | MixingStep | OpaqueStep
"""Part of one call of an operation."""
