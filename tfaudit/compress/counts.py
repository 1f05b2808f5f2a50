"""What a model consists of: its weights, its zeros and its multiplications."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tfaudit.compress.model_files import open_model

if TYPE_CHECKING:
    import keras

    from tfaudit.compress.operations import Products

__all__ = ["Counts", "counts"]


@dataclasses.dataclass(frozen=True)
class Counts:
    """Weights and multiplications of a model.

    Attributes:
        parameters: All weights, BatchNorm's averages too. A flatbuffer has BatchNorm folded into its kernels and drops
            biases that are zero, so it has fewer.
        prunable: Weights in kernels.
        zeros: Zeros among the prunable weights; in an integer kernel also what rounding made zero.
        flops: Operations for one image, 2 per multiply-add of a convolution or matrix product; NaN where unknown.
        effective_flops: The same without those whose kernel weight is zero: what hardware that skips zeros would
            do. LiteRT on a CPU does not skip them.
        notes: What was left out, one sentence each.
    """

    parameters: int
    prunable: int
    zeros: int
    flops: float
    effective_flops: float
    notes: tuple[str, ...] = ()

    @property
    def sparsity(self) -> float:
        """Zeros as a share of the prunable weights; 0 where there are none."""
        return self.zeros / max(self.prunable, 1)

    def summary(self) -> dict[str, Any]:
        """All figures, and `sparsity`, as plain numbers; the notes stay here."""
        figures = {field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "notes"}
        names = ("parameters", "prunable", "zeros", "sparsity", "flops", "effective_flops")
        return {name: (figures | {"sparsity": self.sparsity})[name] for name in names}


def counts(model: keras.Model | bytes | str | Path) -> Counts:
    """Counts weights, zeros and floating-point operations; cheap enough to do for every member of a population.

    Convolutions and matrix products of any layer are counted, also of your own and of attention: for a Keras model in
    the graph it traces (LeNet: 0.02 s), for a flatbuffer in its list of operators. Operations on each element, such as
    biases, activations and pooling, are not, as is common.

    Args:
        model: A built Keras 3 model, the bytes of a flatbuffer, or the path of a `.keras` or `.tflite` file. A side
            that its input leaves open counts as 64 pixels.

    Raises:
        InputError: Not such a model.

    Example:
        >>> import keras
        >>> inputs = keras.Input((8, 8, 1))
        >>> counts(keras.Model(inputs, keras.layers.Conv2D(2, 3)(inputs))).summary()
        {'parameters': 20, 'prunable': 18, 'zeros': 0, 'sparsity': 0.0, 'flops': 1296, 'effective_flops': 1296}
    """
    opened = open_model(model)
    if isinstance(opened, bytes):
        return _of_flatbuffer(opened)
    from tfaudit.compress.operations import keras_products
    from tfaudit.compress.pruning.sparsity import sparsity

    rows = sparsity(opened).set_index("kernel").to_dict("index")
    return Counts(
        parameters=rows["total: model"]["parameters"],
        prunable=rows["total: kernels"]["parameters"],
        zeros=rows["total: kernels"]["zeros"],
        **_figures(keras_products(opened)),
    )


def _of_flatbuffer(content: bytes) -> Counts:
    from tfaudit.compress.litert.flatbuffer_contents import read_flatbuffer

    contents = read_flatbuffer(content)
    figures = _figures(contents.products)
    figures["notes"] += contents.notes
    if contents.sparse:
        figures["notes"] += (
            f"{len(contents.sparse)} kernels are stored without their zeros; LiteRT puts the zeros back when it loads "
            "the file, so it is smaller, not faster",
        )
    return Counts(contents.parameters, contents.prunable, contents.zeros, **figures)


def _figures(products: Products) -> dict[str, Any]:
    left_out = products.left_out
    unknown = bool(left_out) and not products.counted
    return {
        "flops": float("nan") if unknown else products.flops,
        "effective_flops": float("nan") if unknown else products.effective_flops,
        "notes": (f"FLOPs are a lower bound: they leave out {', '.join(left_out)}",) if left_out else (),
    }
