"""Counts of a model's zeros, and the sparsity that a compression ratio needs."""

import math
from collections.abc import Iterable

import keras
import pandas as pd

from tfaudit.compress.pruning.kernels import find_kernels, owners, select_kernels
from tfaudit.compress.pruning.reached_sparsity import effective_values
from tfaudit.errors import InputError, require


def sparsity(model: keras.Model, *, embeddings: bool = False) -> pd.DataFrame:
    """Count the zeros in each prunable kernel, in all kernels and in the whole model, a built Keras 3 model.

    Kernels of layers with LoRA include what LoRA adds. With `embeddings`, tables of embeddings count as kernels.

    Returns:
        Columns `kernel`, `parameters`, `zeros`, `sparsity` (zeros / parameters); a row per kernel in the order of
        `model.weights`, then the rows `total: kernels` and `total: model`. The last counts every weight of the model,
        including normalisation and biases, which start at zero.

    Raises:
        InputError: the model is not a Keras 3 model, or has no variables yet.

    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="only")], name="net")
    >>> _ = model.layers[0].kernel.assign(keras.ops.eye(4, 3))
    >>> sparsity(model)
                kernel  parameters  zeros  sparsity
    0  net/only/kernel          12      9      0.75
    1  total: kernels          12      9      0.75
    2    total: model          15     12      0.80
    """
    kernels = find_kernels(model, embeddings=embeddings)
    layers = owners(model, kernels)
    values = {name: effective_values(kernel, layers[name]) for name, kernel in kernels.items()}
    prunable = {id(kernel) for kernel in kernels.values()}
    others = [
        keras.ops.convert_to_numpy(weight) for weight in model.weights if id(weight) not in prunable
    ]
    rows = {
        **{name: [array] for name, array in values.items()},
        "total: kernels": [*values.values()],
        "total: model": [*values.values(), *others],
    }
    frame = pd.DataFrame(
        {
            "kernel": list(rows),
            "parameters": [sum(array.size for array in arrays) for arrays in rows.values()],
            "zeros": [sum(int((array == 0).sum()) for array in arrays) for arrays in rows.values()],
        }
    )
    return frame.assign(sparsity=frame["zeros"] / frame["parameters"].clip(lower=1))


def sparsity_at(
    model: keras.Model,
    ratio: float,
    layers: Iterable[str] | None = None,
    *,
    count_biases: bool = True,
) -> float:
    """Compute the sparsity of the pruned kernels at which a model has `ratio` times fewer parameters, [R] 6.

    Biases, BatchNorm's scales and offsets, and the layers that are not pruned count as parameters and stay. BatchNorm's
    moving statistics do not count.

    Args:
        model: a built Keras 3 model.
        ratio: compression ratio, above 1: parameters before divided by parameters after.
        layers: names of the layers to prune; None stands for all that have a kernel.
        count_biases: whether the biases of pruned layers count among the remaining parameters. ShrinkBench, which [R]
            uses, prunes these biases and can leave that many more weights; False does the same.

    Raises:
        InputError: these kernels cannot reach the ratio.

    >>> model = keras.Sequential([keras.Input((9,)), keras.layers.Dense(10)])  # 90 weights, 10 biases
    >>> sparsity_at(model, 2), sparsity_at(model, 2, count_biases=False)  # 40 weights and 10 biases; 50 weights
    (0.5555555555555556, 0.4444444444444444)
    """
    require(ratio > 1, "ratio", ratio, "a number above 1")
    total = _size(model.trainable_variables)
    kernels = select_kernels(model, layers)
    prunable = _size(kernels.values())
    pruned_layers = dict.fromkeys(owners(model, kernels).values())
    biases = [getattr(layer, "bias", None) for layer in pruned_layers]
    freed = 0 if count_biases else _size(bias for bias in biases if bias is not None)
    others = total - prunable - freed
    remaining = (total / ratio - others) / prunable
    if remaining <= 0:
        most = total / others if others else float("inf")
        expected = (
            f"below {most:.4g}, since only {prunable:,} of {total:,} parameters can be pruned"
        )
        raise InputError("ratio", f"{ratio:g}", expected)
    if remaining >= 1:
        expected = f"above {total / (others + prunable):.4g}, at which no weight is pruned"
        raise InputError("ratio", f"{ratio:g}", expected)
    return 1 - remaining


def _size(variables: Iterable[keras.Variable]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)
