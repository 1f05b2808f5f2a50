"""Which variables of a Keras model are prunable kernels, and what they are called."""

from collections.abc import Iterable, Mapping

import keras

from tfaudit.compress.keras_model import is_tf_keras
from tfaudit.errors import InputError

__all__ = ["KERNELS", "find_kernels", "kernel_layers", "select_kernels"]

KERNELS = ("kernel", "depthwise_kernel", "pointwise_kernel", "recurrent_kernel")
"""Names of the variables that are pruned: the kernels of Conv*, Conv*Transpose, DepthwiseConv*, SeparableConv*, Dense,
EinsumDense (so also inside MultiHeadAttention), of recurrent cells as in TF-MOT, and of any layer of yours that calls
its variable so. Biases, normalisation and embeddings have other names."""


def find_kernels(model: keras.Model) -> dict[str, keras.Variable]:
    """All prunable kernels of a model, in the order of `model.weights`, by their Keras variable path.

    Where two kernels have one path, because layers of one name are in different parts of the model, the second is
    called `path#2`, and so on.

    Raises:
        InputError: not a Keras 3 model, or one that has no variables yet.

    >>> inputs = keras.Input((4,))
    >>> hidden = keras.layers.Dense(3, name="hidden")(inputs)
    >>> list(find_kernels(keras.Model(inputs, keras.layers.Dense(2, name="out")(hidden))))
    ['hidden/kernel', 'out/kernel']
    """
    _check_model(model)
    found: dict[str, keras.Variable] = {}
    for variable in model.weights:
        if variable.name in KERNELS and len(variable.shape) >= 2 and "float" in variable.dtype:
            twins = sum(name.partition("#")[0] == variable.path for name in found)
            found[f"{variable.path}#{twins + 1}" if twins else variable.path] = variable
    return found


def kernel_layers(model: keras.Model) -> list[str]:
    """Names of the layers that own a prunable kernel, in the order of the model.

    >>> kernel_layers(keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU()]))
    ['a']
    """
    owned = {id(kernel) for kernel in find_kernels(model).values()}
    layers = model._flatten_layers(include_self=False)  # Keras has no public way to layers inside layers.
    return list(dict.fromkeys(each.name for each in layers if {id(v) for v in each._trainable_variables} & owned))


def select_kernels(
    model: keras.Model, layers: Iterable[str | keras.Layer] | str | keras.Layer | None
) -> dict[str, keras.Variable]:
    """The kernels in some layers of a model.

    Args:
        model: a built Keras 3 model.
        layers: names of layers, or layers, at any depth; a nested model stands for all its layers. None: all.

    Raises:
        InputError: as `find_kernels`; a layer that is not there or has no kernel; nothing to prune.
    """
    kernels = find_kernels(model)
    if not kernels:
        raise InputError(f"model: {model.name!r} has nothing to prune: no variable is called {_listed(KERNELS)}")
    if layers is None:
        return kernels
    wanted = [layers] if isinstance(layers, str | keras.Layer) else list(layers)
    if not wanted:
        raise InputError("layers: came empty; leave it out to prune all layers")
    owned = [
        (layer, {id(weight) for weight in layer.weights} & {id(kernel) for kernel in kernels.values()})
        for layer in model._flatten_layers(include_self=False)  # Keras has no public way to layers inside layers.
    ]
    selected: set[int] = set()
    for choice in wanted:
        matches = [own for layer, own in owned if own and (layer is choice or layer.name == choice)]
        if not matches:
            came = choice.name if isinstance(choice, keras.Layer) else choice
            names = sorted({layer.name for layer, own in owned if own})
            raise InputError(f"layers: no layer {came!r} with a kernel in {model.name!r}; there are {_listed(names)}")
        selected.update(*matches)
    return {name: kernel for name, kernel in kernels.items() if id(kernel) in selected}


def owners(model: keras.Model, kernels: Mapping[str, keras.Variable]) -> dict[str, keras.Layer]:
    """The layer that made each kernel, at any depth.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="only")], name="net")
    >>> owners(model, find_kernels(model))["net/only/kernel"].name
    'only'
    """
    made = {
        id(variable): layer
        for layer in model._flatten_layers()
        for variable in (*layer._trainable_variables, *layer._non_trainable_variables)
    }
    return {name: made[id(kernel)] for name, kernel in kernels.items()}


def _check_model(model: object) -> None:
    if is_tf_keras(model):
        raise InputError(
            "model: this is a tf_keras (Keras 2) model: prune it with TF-MOT's own prune_low_magnitude and audit its "
            "predictions with tfaudit.Predictions.from_scores(labels, model.predict(images))"
        )
    if not isinstance(model, keras.Model):
        raise InputError(f"model: expected a Keras 3 model, came {type(model).__name__}")
    if not model.built:
        raise InputError(f"model: {model.name!r} has no variables yet: call model.build(...), or call it on a batch")


def _listed(names: Iterable[str], most: int = 12) -> str:
    names = [repr(name) for name in names]
    rest = [f"and {len(names) - most} more"] if len(names) > most else []
    return ", ".join(names[:most] + rest)
