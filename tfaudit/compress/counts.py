"""Counts of a model: its weights, its zeros and its floating-point operations."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.model_files import open_model
from tfaudit.errors import listed

if TYPE_CHECKING:
    import keras

    from tfaudit.compress.operations import Operations


@dataclasses.dataclass(frozen=True)
class Counts:
    """Weights, zeros and floating-point operations of a model.

    Attributes:
        parameters: number of weights, including BatchNorm's averages. A flatbuffer has fewer: BatchNorm is folded into
            its kernels, and zero biases are dropped.
        prunable: number of weights in kernels.
        zeros: number of zeros among the prunable weights; in an integer kernel, also those due to rounding.
        flops: operations for one image, 2 per multiply-accumulate of a convolution or matrix product; NaN if some of
            them cannot be counted, such as those of a recurrent layer's loop.
        effective_flops: operations whose kernel weight is not zero, as on hardware that skips zeros. LiteRT on a CPU
            does not skip them.
        notes: what is not counted, one sentence each.
        counted_flops: operations that could be counted: `flops`, or a lower bound of them.
    """

    parameters: int
    prunable: int
    zeros: int
    flops: float
    effective_flops: float
    notes: tuple[str, ...] = ()
    counted_flops: int = 0

    @property
    def sparsity(self) -> float:
        """Share of zeros among the prunable weights; 0 if there are none."""
        return self.zeros / max(self.prunable, 1)

    def summary(self) -> dict[str, Any]:
        """Return all counts and `sparsity` as plain numbers, without the notes."""
        names = ("parameters", "prunable", "zeros", "sparsity", "flops", "effective_flops")
        return {name: getattr(self, name) for name in names}


def counts(model: keras.Model | bytes | str | Path) -> Counts:
    """Count weights, zeros and floating-point operations, fast enough for every member of a population.

    Convolutions and matrix products of any layer are counted, including custom layers and attention: for a Keras model
    in its traced graph (LeNet: 0.02 s), for a flatbuffer in its list of operators. Elementwise operations, such as
    biases, activations and pooling, are not counted, as is common.

    Weights that Keras or LiteRT packs, such as two of int4 in a byte, are counted one by one; scales and zero points of
    quantization are no weights.

    The model is any that `cost` takes; an open side of its input counts as 64 pixels. Others raise an `InputError`.

    >>> import keras
    >>> inputs = keras.Input((8, 8, 1))
    >>> counts(keras.Model(inputs, keras.layers.Conv2D(2, 3)(inputs))).summary()
    {'parameters': 20, 'prunable': 18, 'zeros': 0, 'sparsity': 0.0, 'flops': 1296, 'effective_flops': 1296}
    """
    opened = open_model(model)
    if isinstance(opened, bytes):
        return _of_flatbuffer(opened)
    import keras

    from tfaudit.compress.keras_operations import keras_operations
    from tfaudit.compress.keras_weights import keras_weights
    from tfaudit.compress.operations import Operations

    weights = keras_weights(opened)
    operations = Operations((), ("all operations, which are counted with Keras on TensorFlow",))
    if keras.backend.backend() == "tensorflow":
        operations = keras_operations(opened)
    packed = f"zeros are not counted in {listed(weights.packed)}: packed integers"
    notes = (packed,) if weights.packed else ()
    return _counted(operations, weights.parameters, weights.prunable, weights.zeros, notes)


def _of_flatbuffer(content: bytes) -> Counts:
    from tfaudit.compress.litert.flatbuffer_contents import read_flatbuffer

    contents = read_flatbuffer(content)
    notes = contents.notes
    if contents.sparse:
        note = "kernels are stored without their zeros; LiteRT puts the zeros back when it loads the file, so it is "
        notes += (f"{len(contents.sparse)} {note}smaller, not faster",)
    return _counted(
        contents.operations, contents.parameters, contents.prunable, contents.zeros, notes
    )


def _counted(
    operations: Operations, parameters: int, prunable: int, zeros: int, notes: tuple[str, ...] = ()
) -> Counts:
    flops: float = operations.flops
    effective_flops: float = operations.effective_flops
    if operations.uncounted:
        flops = effective_flops = float("nan")
        left_out = listed(operations.uncounted)
        bound = f"a lower bound of {operations.flops:,} leaves out {left_out}"
        notes = (f"FLOPs are unknown: {bound}", *notes)
    return Counts(
        parameters, prunable, zeros, flops, effective_flops, notes, counted_flops=operations.flops
    )
