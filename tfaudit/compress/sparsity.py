"""How many weights of a model are zero."""

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.kernels import find_kernels

__all__ = ["sparsity"]


def sparsity(model: keras.Model) -> pd.DataFrame:
    """Count the zeros of each prunable kernel, of all kernels and of the whole model.

    Args:
        model: a built Keras 3 model.

    Returns:
        Columns `kernel`, `parameters`, `zeros`, `sparsity` (zeros / parameters); a row per kernel in the order of
        `model.weights`, then the rows `total: kernels` and `total: model`. The last counts every weight of the model,
        so also biases, which start at zero, and normalisation.

    Raises:
        InputError: not a Keras 3 model, or one that has no variables yet.

    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="only")], name="net")
    >>> _ = model.layers[0].kernel.assign(np.eye(4, 3))
    >>> sparsity(model)
                kernel  parameters  zeros  sparsity
    0  net/only/kernel          12      9      0.75
    1  total: kernels          12      9      0.75
    2    total: model          15     12      0.80
    """
    kernels = find_kernels(model)
    counts = {id(weight): (int(np.prod(weight.shape)), _zeros(weight)) for weight in model.weights}
    rows = [(name, *counts[id(kernel)]) for name, kernel in kernels.items()]
    rows.append(("total: kernels", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    rows.append(("total: model", sum(n for n, _ in counts.values()), sum(zeros for _, zeros in counts.values())))
    frame = pd.DataFrame(rows, columns=["kernel", "parameters", "zeros"])
    return frame.assign(sparsity=frame["zeros"] / frame["parameters"].clip(lower=1))


def _zeros(weight: keras.Variable) -> int:
    values = weight.numpy()
    return values.size - int(np.count_nonzero(values))
