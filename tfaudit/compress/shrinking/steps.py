"""The three ways in which operations pass channels on, and what each asks of the channels around it.

`Mix` computes every output channel from all input channels, so both may lose channels independently. `Link` passes
channels on one by one, so they stay or go together. `Wall` is everything else: all its channels stay.

Every step answers three questions: `settle`, which outputs are constant; `spread`, which channels stay because others
do; `cut`, how the layer looks without the rest.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tfaudit.compress.shrinking.channel_cuts import Channels, Cut

__all__ = ["Link", "Mix", "Step", "Wall"]


@dataclass(frozen=True)
class Mix:
    """A convolution or a dense layer.

    A constant input channel that goes is not lost. Its contribution to the outputs goes into the bias. Where zeros are
    padded around it, the contribution differs at the border; then one constant channel stays and carries, with an
    altered kernel, the contributions of all.

    Attributes:
        name: Of the layer.
        input: Tensor.
        output: Tensor.
        kernel: `(..., in, out)`.
        bias: `(out,)`, or None.
        padded: Whether zeros count as inputs at the border.
        count: The name in the config of the number of output channels.
        variable: The name of the kernel.
        transposed: Whether the layer keeps its kernel as `(..., out, in)`.
    """

    name: str
    input: Hashable
    output: Hashable
    kernel: np.ndarray
    bias: np.ndarray | None
    padded: bool
    count: str = "filters"
    variable: str = "kernel"
    transposed: bool = False

    @cached_property
    def reads(self) -> np.ndarray:
        """Whether an input channel contributes to an output channel: bool `(in, out)`."""
        return (self.kernel != 0).any(axis=self._places)

    @property
    def _places(self) -> tuple[int, ...]:
        return tuple(range(self.kernel.ndim - 2))

    def _folds(self, channels: Channels) -> bool:
        return not self.padded and self.input not in channels.uneven

    def _constants(self, channels: Channels, which: np.ndarray) -> np.ndarray:
        """What constant input channels add to every output channel: `(out,)`."""
        total = self.kernel[..., which, :].sum(axis=self._places, dtype=np.float64)
        return channels.constant[self.input][which] @ total

    def settle(self, channels: Channels) -> None:
        """Constant are the outputs that read nothing, or only constants."""
        constant = channels.constant[self.input]
        settled = ~np.isnan(constant) if self._folds(channels) else constant == 0
        values = np.zeros(self.reads.shape[1]) if self.bias is None else self.bias.astype(np.float64)
        known = settled & (constant != 0)
        if known.any():
            values = values + self._constants(channels, known)
        channels.add(self.output, np.where(self.reads[~settled].any(axis=0), np.nan, values))

    def spread(self, channels: Channels) -> None:
        """The inputs that vary and are read stay, and one constant where they cannot go into the bias."""
        read = self.reads[:, channels.kept[self.output]].any(axis=1)
        constant = channels.constant[self.input]
        channels.keep(self.input, read & np.isnan(constant), f"{self.name!r} reads it")
        if not self._folds(channels) and (read & (np.nan_to_num(constant) != 0)).any():
            carrier = np.arange(constant.size) == self._carrier(constant)
            channels.keep(self.input, carrier, f"it carries all constants through the zero padding of {self.name!r}")

    def _carrier(self, constant: np.ndarray) -> int:
        return int(np.abs(np.nan_to_num(constant)).argmax())  # the largest, so no kernel is scaled up

    def cut(self, channels: Channels) -> Cut:
        """Fewer inputs and outputs, with the constants of the inputs that go."""
        constant, kept = channels.constant[self.input], channels.kept[self.input]
        gone = ~kept & (np.nan_to_num(constant) != 0)
        kernel = self.kernel[..., channels.kept[self.output]]
        added = np.zeros(self.reads.shape[1])
        if gone.any() and self._folds(channels):
            added = self._constants(channels, gone)
        carrier = self._carrier(constant)
        if gone.any() and not self._folds(channels) and kept[carrier]:
            shares = constant[gone] / constant[carrier]
            carried = kernel[..., carrier, :] + np.einsum("i,...io->...o", shares, kernel[..., gone, :])
            kernel = kernel.copy()
            kernel[..., carrier, :] = carried
        kernel = kernel[..., kept, :]
        weights = {self.variable: np.swapaxes(kernel, -1, -2) if self.transposed else kernel}
        config: dict = {self.count: int(channels.kept[self.output].sum())}
        if self.bias is not None or added.any():
            bias = added if self.bias is None else self.bias + added
            weights["bias"], config["use_bias"] = bias[channels.kept[self.output]], True
        return Cut(config, weights)


@dataclass(frozen=True)
class Link:
    """Normalisation, activation, pooling, addition, concatenation, flattening and the like.

    Attributes:
        name: Of the operation.
        inputs: Tensors.
        output: Tensor.
        sources: Per input int `(C,)`: the input channel from which each output channel comes, -1 for none.
        values: Constants of the outputs from the even constants of the inputs; None: those of the sources, and 0
            without any.
        pads: Whether zeros are padded around the channels.
        resize: The cut; None: the layer is the same for any number of channels.
    """

    name: str
    inputs: tuple[Hashable, ...]
    output: Hashable
    sources: tuple[np.ndarray, ...]
    values: Callable[[list[np.ndarray]], np.ndarray] | None = None
    pads: bool = False
    resize: Callable[[Channels], Cut] | None = None

    def settle(self, channels: Channels) -> None:
        """Constant are the outputs that come from constants, as `values` has it."""
        constants = [channels.even(tensor) for tensor in self.inputs]
        channels.add(self.output, (self.values or self._passed)(constants), uneven=self.pads)

    def _passed(self, constants: list[np.ndarray]) -> np.ndarray:
        values = np.zeros(self.sources[0].size)
        for source, constant in zip(self.sources, constants, strict=True):
            values[source >= 0] = constant[source[source >= 0]]
        return values

    def spread(self, channels: Channels) -> None:
        """What comes from one another stays together."""
        varies = np.isnan(channels.constant[self.output])
        for tensor, source in zip(self.inputs, self.sources, strict=True):
            outputs = np.flatnonzero(source >= 0)
            origins = source[outputs]
            needed, why = channels.kept[self.output][outputs], channels.why[self.output][outputs]
            lost = varies[outputs] & ~np.isnan(channels.constant[tensor][origins])
            why = np.where(lost, f"after {self.name!r} it is constant no more", why)
            which, reasons = np.zeros_like(channels.kept[tensor]), np.full_like(channels.why[tensor], "")
            which[origins[needed]], reasons[origins[needed]] = True, why[needed]
            channels.keep(tensor, which, reasons)
            which, reasons = np.zeros_like(channels.kept[self.output]), np.full_like(channels.why[self.output], "")
            which[outputs], reasons[outputs] = channels.kept[tensor][origins], channels.why[tensor][origins]
            channels.keep(self.output, which, reasons)

    def cut(self, channels: Channels) -> Cut:
        """As `resize` has it."""
        return self.resize(channels) if self.resize else Cut()


@dataclass(frozen=True)
class Wall:
    """An operation about whose channels nothing is known.

    Attributes:
        name: Of the operation.
        inputs: Tensors.
        outputs: Tensors, with the number of their channels.
        reason: Why all its channels stay.
    """

    name: str
    inputs: tuple[Hashable, ...]
    outputs: dict[Hashable, int]
    reason: str

    def settle(self, channels: Channels) -> None:
        """All outputs vary."""
        for tensor, width in self.outputs.items():
            channels.add(tensor, np.full(width, np.nan))

    def spread(self, channels: Channels) -> None:
        """All channels stay."""
        for tensor in (*self.inputs, *self.outputs):
            channels.keep(tensor, np.ones_like(channels.kept[tensor]), f"{self.name!r} keeps all channels")

    def cut(self, channels: Channels) -> Cut:
        """Nothing."""
        return Cut()


Step = Link | Mix | Wall
"""A part of one call of one operation."""
