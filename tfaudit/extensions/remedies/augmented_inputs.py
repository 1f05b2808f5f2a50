"""Predictions of a teacher for images that a model's own random layers have augmented."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import keras

from tfaudit.compress.layer_calls import replaced_calls
from tfaudit.errors import InputError
from tfaudit.runtime.keras_internals import layers_in

_NAMES = ("AugMix", "CutMix", "MixUp", "RandAugment")


class AugmentedInputs:
    """Replay of a model's random layers for its teacher, in a training step that is being traced.

    If the teacher has random layers of the same kinds, they return the outputs of the model's layers. If it has none,
    it receives the last of these outputs as its inputs; the random layers then have to be the model's first layers.

    Raises:
        InputError: the teacher has other random layers, or the model's random layers are not its first ones.
    """

    def __init__(self, model: keras.Model, teacher: keras.Model) -> None:
        self._model, self._teacher = model, teacher
        self._layers, self._copies = random_layers(model), random_layers(teacher)
        self._seen = _Seen()
        self._recording = contextlib.ExitStack()
        kinds, teachers = _kinds(self._layers), _kinds(self._copies)
        got = None
        if self._copies and teachers != kinds:
            got = f"a teacher with {teachers} for a model with {kinds}"
        elif self._layers and not self._copies and not _come_first(model, self._layers):
            got = f"a teacher without the model's {kinds}, which is not its first layer"
        if got:
            expected = "the same random layers in both, or augmentation in the data"
            raise InputError("teacher", got, expected)

    def record(self) -> None:
        """Start recording the outputs of the model's random layers."""
        self._recording.enter_context(replaced_calls(self._layers, self._recorded))
        self._recording.enter_context(replaced_calls(self._copies, self._repeated))

    def stop(self) -> None:
        """Restore the layers."""
        self._recording.close()

    def teacher_outputs(self, inputs: Any) -> Any:
        """Return the teacher's outputs for the inputs of the model's latest call."""
        if self._layers and not self._copies:
            inputs = self._seen.outputs[len(self._layers) - 1]
        return self._teacher(inputs, training=False)

    def _recorded(self, layer: keras.Layer, call: Callable[..., Any]) -> Callable[..., Any]:
        position = self._layers.index(layer)

        def recorded(*args: Any, **kwargs: Any) -> Any:
            self._seen.outputs[position] = outputs = call(*args, **kwargs)
            return outputs

        return recorded

    def _repeated(self, copy: keras.Layer, call: Callable[..., Any]) -> Callable[..., Any]:
        position = self._copies.index(copy)
        return lambda *args, **kwargs: self._seen.outputs[position]


class _Seen(threading.local):
    """Outputs of the random layers by position, per thread, since each replica is traced in its own thread."""

    def __init__(self) -> None:
        self.outputs: dict[int, Any] = {}


def random_layers(model: keras.Model) -> list[keras.Layer]:
    """Return a model's Keras layers that augment images in training, in the order of the model.

    >>> model = keras.Sequential([keras.Input((4, 4, 1)), keras.layers.RandomFlip(), keras.layers.Flatten()])
    >>> [type(layer).__name__ for layer in random_layers(model)]
    ['RandomFlip']
    """
    return [
        layer
        for layer in layers_in(model, itself=False)
        if type(layer).__module__.partition(".")[0] == "keras"
        and (type(layer).__name__.startswith("Random") or type(layer).__name__ in _NAMES)
    ]


def _come_first(model: keras.Model, layers: list[keras.Layer]) -> bool:
    own = _without_inputs(getattr(model, "layers", []))
    if own and isinstance(own[0], keras.Sequential):  # a block of random layers
        own = _without_inputs([*own[0].layers, *own[1:]])
    return own[: len(layers)] == layers


def _without_inputs(layers: list[keras.Layer]) -> list[keras.Layer]:
    return [layer for layer in layers if not isinstance(layer, keras.layers.InputLayer)]


def _kinds(layers: list[keras.Layer]) -> str:
    return " and ".join(type(layer).__name__ for layer in layers) or "no random layers"
