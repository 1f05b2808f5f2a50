"""The last layers of a model: the last ones with a kernel before its outputs, and all layers after them."""

from collections.abc import Iterable
from typing import Any

import keras

from tfaudit.compress.keras_model import chosen_output, layers_by_name, output_names
from tfaudit.compress.pruning.kernels import find_kernels
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import making_call
from tfaudit.study.quantization import LAST


def last_layers(model: keras.Model, output: str | None = None) -> list[Any]:
    """Return the last layers with a kernel, or a table of embeddings, and the layers between them and the output.

    A nested model is treated as its layers. Other layers with sublayers, such as `MultiHeadAttention`, count as one.

    Args:
        model: a built functional or sequential model.
        output: name of the only output that counts; None for all.

    Returns:
        Layers and functions of `keras.ops`, from the output backwards, without inputs.

    Raises:
        InputError: the model is subclassed or has no kernels.

    >>> layers = [keras.layers.Dense(3), keras.layers.Dense(2, name="logits"), keras.layers.Softmax(name="softmax")]
    >>> [layer.name for layer in last_layers(keras.Sequential([keras.Input((4,)), *layers]))]
    ['softmax', 'logits']
    """
    kernels = {id(kernel) for kernel in find_kernels(model, embeddings=True).values()}
    if not kernels:
        raise _without(f"{model.name!r}, which has no layer with a kernel")
    _require_graph(model)
    outputs = getattr(model, "output", model.outputs)
    ends = model.outputs if output is None else [chosen_output(model, outputs, output)]
    found: dict[Any, None] = {}
    _follow(ends, kernels, found)
    return list(found)


def kept_layers(
    model: keras.Model, names: Iterable[str] | str, output: str | None = None
) -> dict[str, list[Any]]:
    """Return the layers that stay in float by name; the key "last" holds all of the last layers.

    Raises:
        InputError: the model has no such layer.

    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="logits")])
    >>> [list(kept_layers(model, names)) for names in ("last", ["logits"])]
    [['last'], ['logits']]
    """
    if isinstance(names, str) and names == LAST:  # comparing a column gives no truth
        return {LAST: last_layers(model, output)}
    kept = layers_by_name(model, names, "float_layers")
    return {name: [layer] for name, layer in kept.items()}


def _follow(tensors: Iterable[Any], kernels: set[int], found: dict[Any, None]) -> set[Any]:
    """Add all layers before some tensors to `found`, back to the nearest kernels; return the inputs reached."""
    inputs = set()
    seen = set()
    ahead = list(tensors)
    while ahead:
        tensor = ahead.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        operation, sources, index = making_call(tensor)
        if isinstance(operation, keras.layers.InputLayer):
            inputs.add(tensor)
        elif isinstance(operation, keras.Model):
            _require_graph(operation)
            reached = _follow([operation.outputs[index]], kernels, found)
            pairs = zip(operation.inputs, sources, strict=True)
            ahead += [source for inner, source in pairs if inner in reached]
        else:
            found[operation] = None
            if not kernels & {id(weight) for weight in getattr(operation, "weights", ())}:
                ahead += sources
    return inputs


def _require_graph(model: keras.Model) -> None:
    if not output_names(model):
        raise _without(f"{model.name!r}, a subclassed model")


def _without(model: str) -> InputError:
    return InputError("float_layers", f"{LAST!r} for {model}", "names of layers")
