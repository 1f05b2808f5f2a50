"""Prunable kernels of a Keras model, and their names."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import keras
import numpy as np

from tfaudit.compress.keras_model import require_keras_model
from tfaudit.compress.layer_kinds import DEPTHWISE
from tfaudit.errors import InputError, listed, require
from tfaudit.runtime.keras_internals import layers_in

KERNELS = ("kernel", "depthwise_kernel", "pointwise_kernel", "recurrent_kernel")
"""Names of the variables that are pruned: the kernels of Conv*, Conv*Transpose, DepthwiseConv*, SeparableConv*, Dense,
EinsumDense (also inside MultiHeadAttention), of recurrent cells as in TF-MOT, and of any custom layer that uses one of
these names. Biases and normalisation weights have other names. TF-MOT also prunes tables of embeddings, but no
depthwise kernels; see `select_kernels`."""

EMBEDDINGS = "embeddings"
"""Name of the variable of an Embedding, which is pruned only on request."""

Kernels: TypeAlias = Mapping[str, keras.Variable]
"""Kernels by name."""

Layers: TypeAlias = Iterable[str | keras.Layer] | str | keras.Layer | None
"""Layers or their names, at any depth; None stands for all that have a kernel."""


def find_kernels(model: keras.Model, *, embeddings: bool = False) -> dict[str, keras.Variable]:
    """Return all prunable kernels of a model by Keras variable path, in the order of `model.weights`.

    `embeddings` includes the tables of embeddings. If several kernels have the same path, because layers in different
    parts of the model share a name, the second is called `path#2`, and so on. Raise an `InputError` unless the model
    is a Keras 3 model with variables.

    >>> inputs = keras.Input((4,))
    >>> hidden = keras.layers.Dense(3, name="hidden")(inputs)
    >>> list(find_kernels(keras.Model(inputs, keras.layers.Dense(2, name="out")(hidden))))
    ['hidden/kernel', 'out/kernel']
    """
    kernels: dict[str, keras.Variable] = {}
    names = (*KERNELS, EMBEDDINGS) if embeddings else KERNELS
    for variable in require_keras_model(model).weights:
        if variable.name in names and len(variable.shape) >= 2 and "float" in variable.dtype:
            twins = sum(name.partition("#")[0] == variable.path for name in kernels)
            kernels[f"{variable.path}#{twins + 1}" if twins else variable.path] = variable
    return kernels


def kernel_layers(model: keras.Model) -> list[str]:
    """Return the names of the layers with a prunable kernel, in the order of the model.

    >>> kernel_layers(keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.ReLU()]))
    ['a']
    """
    layers = owners(model, find_kernels(model)).values()
    return list(dict.fromkeys(layer.name for layer in layers))


def select_kernels(
    model: keras.Model,
    layers: Layers,
    *,
    trainable_only: bool = False,
    embeddings: bool = False,
    as_tfmot: bool = False,
) -> dict[str, keras.Variable]:
    """Return the kernels in some layers; a nested model stands for all of its layers.

    Args:
        model: a Keras 3 model.
        layers: layers or their names; None selects all that have a kernel.
        trainable_only: whether to leave out kernels of frozen layers.
        embeddings: whether to include the tables of embeddings.
        as_tfmot: whether None selects the kernels that TF-MOT prunes: with embeddings, without depthwise kernels.

    Raises:
        InputError: the model is not a Keras 3 model, a layer is unknown or has no kernel, or nothing can be pruned.
    """
    for argument, value in (("trainable_only", trainable_only), ("embeddings", embeddings)):
        require(isinstance(value, bool), argument, value, "True or False")
    kernels = find_kernels(model, embeddings=embeddings or as_tfmot)
    if as_tfmot and layers is None:
        makers = owners(model, kernels)
        kernels = {
            name: kernel
            for name, kernel in kernels.items()
            if kernel.name != "depthwise_kernel" and not isinstance(makers[name], DEPTHWISE)
        }
    expected = f"a float variable called {_quoted(KERNELS)}"
    if trainable_only:
        expected += " in a trainable layer"
        trainable = {id(variable) for variable in model.trainable_variables}
        kernels = {name: kernel for name, kernel in kernels.items() if id(kernel) in trainable}
    if not kernels:
        raise InputError("model", f"{model.name!r}, which has nothing to prune", expected)
    return kernels if layers is None else _in_layers(model, kernels, layers)


def _in_layers(
    model: keras.Model, kernels: Kernels, layers: Iterable[str | keras.Layer] | str | keras.Layer
) -> dict[str, keras.Variable]:
    """Return the kernels of some layers; raise an `InputError` for an unknown layer or one without kernels."""
    choices = [layers] if isinstance(layers, str | keras.Layer) else list(layers)
    if not choices:
        raise InputError("layers", "an empty list", "one layer or more, or None to prune all")
    prunable = {id(kernel) for kernel in kernels.values()}
    # Keras has no public access to layers inside layers.
    owned = [
        (layer, {id(weight) for weight in layer.weights} & prunable)
        for layer in layers_in(model, itself=False)
    ]
    selected: set[int] = set()
    for choice in choices:
        matches = [own for layer, own in owned if own and (layer is choice or layer.name == choice)]
        if not matches:
            name = choice.name if isinstance(choice, keras.Layer) else choice
            names = _quoted(sorted({layer.name for layer, own in owned if own}))
            expected = f"layers of {model.name!r} with a kernel: {names}"
            raise InputError("layers", repr(name), expected)
        selected.update(*matches)
    return {name: kernel for name, kernel in kernels.items() if id(kernel) in selected}


def kernels_of_masks(model: keras.Model, masks: Mapping[str, Any]) -> dict[str, keras.Variable]:
    """Return the kernels to which masks belong, under the names of the masks; raise an `InputError` if they do not fit.

    A mask's name is a Keras variable path. Since saving and loading changes the first part of a path, a mask without an
    equal path belongs to the only kernel whose path ends in the same two or more parts.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="only")], name="net")
    >>> kernels_of_masks(model, {"other/only/kernel": np.ones((2, 1))})["other/only/kernel"].path
    'net/only/kernel'
    """
    kernels = find_kernels(model, embeddings=True)
    selected = dict[str, keras.Variable]()
    for name, mask in masks.items():
        match = _match(name, kernels)
        if match is None:
            raise InputError("masks", repr(name), f"kernels of {model.name!r}: {_quoted(kernels)}")
        shape = tuple(kernels[match].shape)
        if np.shape(mask) != shape:
            got = f"shape {np.shape(mask)} for {name!r}"
            raise InputError("masks", got, f"{shape}, the shape of the kernel")
        if any(kernels[match] is other for other in selected.values()):
            got = f"{name!r} and another mask for {match!r}"
            raise InputError("masks", got, "one mask per kernel")
        selected[name] = kernels[match]
    return selected


def _match(name: str, kernels: Iterable[str]) -> str | None:
    """Return the kernel with this name, or else the only one with the most equal end parts, two or more."""
    if name in kernels:
        return name
    shared = {kernel: _equal_parts(name, kernel) for kernel in kernels}
    most = max(shared.values(), default=0)
    best = [kernel for kernel, count in shared.items() if count == most]
    return best[0] if most >= 2 and len(best) == 1 else None


def _equal_parts(one: str, other: str) -> int:
    """Return the number of equal parts at the end of two paths."""
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return [*(mine == theirs for mine, theirs in pairs), False].index(False)


def owners(model: keras.Model, kernels: Kernels) -> dict[str, keras.Layer]:
    """Return the layer, at any depth, that created each kernel.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="only")], name="net")
    >>> owners(model, find_kernels(model))["net/only/kernel"].name
    'only'
    """
    creators = {
        id(variable): layer
        for layer in layers_in(model)
        for variable in layer.variables  # a layer comes before those that it holds
    }
    return {name: creators[id(kernel)] for name, kernel in kernels.items()}


def _quoted(names: Iterable[str]) -> str:
    return listed([repr(name) for name in names], most=12)
