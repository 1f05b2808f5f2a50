"""A teacher on the images that a model's own random layers have augmented."""

import threading
from collections.abc import Callable
from typing import Any

import keras

from tfaudit.errors import InputError

_NAMES = ("AugMix", "CutMix", "MixUp", "RandAugment")


class AugmentedInputs:
    """Hands a teacher what the random layers of a model returned, in a training step that is being traced.

    If the teacher has random layers of the same kinds, they return what those of the model did. If it has none, it
    receives the last of these outputs in place of the inputs, which therefore has to be the models' first layers.

    Raises:
        InputError: the teacher has other random layers, or those of the model are not its first.
    """

    def __init__(self, model: keras.Model, teacher: keras.Model) -> None:
        self._model, self._teacher = model, teacher
        self._layers, self._copies = random_layers(model), random_layers(teacher)
        self._seen = _Seen()
        self._undo: list[Callable[[], None]] = []
        kinds = [type(layer).__name__ for layer in self._layers]
        if self._copies and [type(layer).__name__ for layer in self._copies] != kinds:
            got = f"a teacher with {_kinds(self._copies)} for a model with {_kinds(self._layers)}"
            raise InputError(
                "teacher", got, "the same random layers in both, or augmentation in the data"
            )
        if self._layers and not self._copies and not _come_first(model, self._layers):
            got = f"a teacher without the model's {_kinds(self._layers)}, which is not its first layer"
            raise InputError(
                "teacher", got, "the same random layers in both, or augmentation in the data"
            )

    def record(self) -> None:
        """Begin to record the outputs of the model's random layers."""
        for position, layer in enumerate(self._layers):
            self._replace(
                layer,
                lambda *args, at=position, call=layer.call, **kwargs: self._note(
                    at, call, args, kwargs
                ),
            )
        for position, layer in enumerate(self._copies):
            self._replace(layer, lambda *args, at=position, **kwargs: self._seen.outputs[at])

    def stop(self) -> None:
        """Restore the layers."""
        for undo in self._undo:
            undo()
        self._undo = []

    def teacher_outputs(self, inputs: Any) -> Any:
        """Return the teacher's outputs for the inputs of the model's latest call."""
        if self._layers and not self._copies:
            inputs = self._seen.outputs[len(self._layers) - 1]
        return self._teacher(inputs, training=False)

    def _replace(self, layer: keras.Layer, call: Callable[..., Any]) -> None:
        layer.call = call
        self._undo.append(lambda: delattr(layer, "call"))

    def _note(self, position: int, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        self._seen.outputs[position] = outputs = call(*args, **kwargs)
        return outputs


class _Seen(threading.local):
    """Outputs of the random layers by position, per thread: each replica is traced in one of its own."""

    def __init__(self) -> None:
        self.outputs: dict[int, Any] = {}


def random_layers(model: keras.Model) -> list[keras.Layer]:
    """Return Keras' layers that augment images while a model trains, in the order of the model.

    >>> model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.RandomFlip(), keras.layers.Flatten()])
    >>> [type(layer).__name__ for layer in random_layers(model)]
    ['RandomFlip']
    """
    layers = model._flatten_layers(include_self=False)
    ours = [layer for layer in layers if type(layer).__module__.partition(".")[0] == "keras"]
    return [
        layer
        for layer in ours
        if type(layer).__name__.startswith("Random") or type(layer).__name__ in _NAMES
    ]


def _come_first(model: keras.Model, layers: list[keras.Layer]) -> bool:
    own = [
        layer
        for layer in getattr(model, "layers", [])
        if not isinstance(layer, keras.layers.InputLayer)
    ]
    if own and isinstance(own[0], keras.Sequential):  # a block of random layers
        own = [*own[0].layers, *own[1:]]
    own = [layer for layer in own if not isinstance(layer, keras.layers.InputLayer)]
    return own[: len(layers)] == layers


def _kinds(layers: list[keras.Layer]) -> str:
    return " and ".join(type(layer).__name__ for layer in layers) or "no random layers"
