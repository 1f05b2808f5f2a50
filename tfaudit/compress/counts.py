"""Counts of a model: its weights, its zeros and its floating-point operations."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.model_files import open_model

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
        flops: operations for one image, 2 per multiply-accumulate of a convolution or matrix product; NaN if unknown.
        effective_flops: operations whose kernel weight is not zero, as on hardware that skips zeros. LiteRT on a CPU
            does not skip them.
        notes: operations that are not counted, one sentence each.
    """

    parameters: int
    prunable: int
    zeros: int
    flops: float
    effective_flops: float
    notes: tuple[str, ...] = ()

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
    from tfaudit.compress.operations import Operations
    from tfaudit.compress.pruning.sparsity import sparsity

    rows = sparsity(opened).set_index("kernel").to_dict("index")
    prunable = rows["total: kernels"]
    parameters = rows["total: model"]["parameters"]
    operations = Operations((), ("all operations, which are counted with Keras on TensorFlow",))
    if keras.backend.backend() == "tensorflow":
        operations = keras_operations(opened)
    return _counted(operations, parameters, prunable["parameters"], prunable["zeros"])


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
        left_out = ", ".join(operations.uncounted)
        notes = (f"FLOPs are a lower bound: they leave out {left_out}", *notes)
        if not operations.counted:
            flops = effective_flops = float("nan")
    return Counts(parameters, prunable, zeros, flops, effective_flops, notes)
