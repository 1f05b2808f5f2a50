"""Prunable kernels of a Keras model, and their names."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import keras
import numpy as np

from tfaudit.compress.keras_model import require_keras_model
from tfaudit.errors import InputError, listed

KERNELS = ("kernel", "depthwise_kernel", "pointwise_kernel", "recurrent_kernel")
"""Names of the variables that are pruned: the kernels of Conv*, Conv*Transpose, DepthwiseConv*, SeparableConv*, Dense,
EinsumDense (also inside MultiHeadAttention), of recurrent cells as in TF-MOT, and of any custom layer that uses one of
these names. Biases, normalisation and embeddings have other names."""

Kernels: TypeAlias = Mapping[str, keras.Variable]
"""Kernels by name."""

Layers: TypeAlias = Iterable[str | keras.Layer] | str | keras.Layer | None
"""Names of layers, or layers, at any depth; None: all that have a kernel."""


def find_kernels(model: keras.Model) -> dict[str, keras.Variable]:
    """Return all prunable kernels of a model by Keras variable path, in the order of `model.weights`.

    If two kernels have one path, because layers in different parts of the model share a name, the second is called
    `path#2`, and so on. Raise an `InputError` unless it is a Keras 3 model with variables.

    >>> inputs = keras.Input((4,))
    >>> hidden = keras.layers.Dense(3, name="hidden")(inputs)
    >>> list(find_kernels(keras.Model(inputs, keras.layers.Dense(2, name="out")(hidden))))
    ['hidden/kernel', 'out/kernel']
    """
    kernels: dict[str, keras.Variable] = {}
    for variable in require_keras_model(model).weights:
        if variable.name in KERNELS and len(variable.shape) >= 2 and "float" in variable.dtype:
            twins = sum(name.partition("#")[0] == variable.path for name in kernels)
            kernels[f"{variable.path}#{twins + 1}" if twins else variable.path] = variable
    return kernels


def kernel_layers(model: keras.Model) -> list[str]:
    """Return the names of the layers that have a prunable kernel, in the order of the model.

    >>> kernel_layers(keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU()]))
    ['a']
    """
    prunable = {id(kernel) for kernel in find_kernels(model).values()}
    layers = (layer for layer in _layers(model) if {id(v) for v in layer._trainable_variables} & prunable)
    return list(dict.fromkeys(layer.name for layer in layers))


def select_kernels(model: keras.Model, layers: Layers) -> dict[str, keras.Variable]:
    """Return the kernels in some layers; a nested model stands for its layers.

    Raise an `InputError` as `find_kernels`, for a layer that is unknown or has no kernel, or with nothing to prune.
    """
    kernels = find_kernels(model)
    if not kernels:
        got = f"{model.name!r}, which has nothing to prune"
        raise InputError("model", got, f"a variable called {_quoted(KERNELS)}")
    if layers is None:
        return kernels
    choices = [layers] if isinstance(layers, str | keras.Layer) else list(layers)
    if not choices:
        raise InputError("layers", "an empty list", "one layer or more, or None to prune all")
    prunable = {id(kernel) for kernel in kernels.values()}
    owned = [(layer, {id(weight) for weight in layer.weights} & prunable) for layer in _layers(model)]
    selected: set[int] = set()
    for choice in choices:
        matches = [own for layer, own in owned if own and (layer is choice or layer.name == choice)]
        if not matches:
            name = choice.name if isinstance(choice, keras.Layer) else choice
            names = _quoted(sorted({layer.name for layer, own in owned if own}))
            raise InputError("layers", repr(name), f"layers of {model.name!r} with a kernel: {names}")
        selected.update(*matches)
    return {name: kernel for name, kernel in kernels.items() if id(kernel) in selected}


def kernels_of_masks(model: keras.Model, masks: Mapping[str, Any]) -> dict[str, keras.Variable]:
    """Return the kernels to which masks, by Keras variable path, belong; raise an `InputError` if they do not fit."""
    kernels = find_kernels(model)
    for name, mask in masks.items():
        if name not in kernels:
            raise InputError("masks", repr(name), f"kernels of {model.name!r}: {_quoted(kernels)}")
        shape = tuple(kernels[name].shape)
        if np.shape(mask) != shape:
            raise InputError("masks", f"shape {np.shape(mask)} for {name!r}", f"{shape}, the shape of the kernel")
    return {name: kernels[name] for name in masks}


def owners(model: keras.Model, kernels: Kernels) -> dict[str, keras.Layer]:
    """Return the layer, at any depth, that created each kernel.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="only")], name="net")
    >>> owners(model, find_kernels(model))["net/only/kernel"].name
    'only'
    """
    creators: dict[int, keras.Layer] = {}
    for layer in model._flatten_layers():
        creators |= {id(v): layer for v in (*layer._trainable_variables, *layer._non_trainable_variables)}
    return {name: creators[id(kernel)] for name, kernel in kernels.items()}


def _layers(model: keras.Model) -> list[keras.Layer]:
    return list(model._flatten_layers(include_self=False))  # Keras has no public way to layers inside layers.


def _quoted(names: Iterable[str]) -> str:
    return listed([repr(name) for name in names], most=12)
