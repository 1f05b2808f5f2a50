"""Graph of a Keras model, which finds the channels that the model needs and builds it without the others."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Any

import keras
import numpy as np

from tfaudit.errors import InputError, one_line
from tfaudit.extensions.shrinking.layer_rewrites import ChannelStates, LayerChange, Step
from tfaudit.extensions.shrinking.rules import steps_of, width
from tfaudit.runtime.keras_internals import calls_in, output_shape_of


class ChannelGraph:
    """Calls of a built functional or Sequential model, and the channels that they need.

    Attributes:
        steps: steps of each operation, such as a layer, in the order of the calls.
        channels: states of all channels.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        is_sequential = isinstance(model, keras.Sequential)
        ends = (model.inputs, model.outputs) if is_sequential else (model.input, model.output)
        # A view that shares the layers, includes the calls of a Sequential, and is never compiled.
        self._view = keras.Model(*ends, name=model.name)
        nodes = [node for node in calls_in(self._view) if not node.is_input]
        calls = Counter(node.operation for node in nodes)
        self.steps: dict[Any, list[Step]] = {operation: [] for operation in calls}
        ordered: list[Step] = []
        for node in nodes:
            steps = steps_of(node, calls=calls[node.operation])
            self.steps[node.operation] += steps
            ordered += steps
        self.channels = self._solved(ordered)

    def _solved(self, steps: list[Step]) -> ChannelStates:
        channels = ChannelStates()
        for tensor in self._view.inputs:
            channels.add(tensor, np.full(width(tensor), np.nan))
        for step in steps:
            step.infer_constants(channels)
        for tensors, end in ((self._view.inputs, "input"), (self._view.outputs, "output")):
            for tensor in tensors:
                channels.need(tensor, slice(None), f"an {end} of the model")
        while True:
            while channels.changed:
                channels.changed = False
                for step in reversed(steps):
                    step.propagate(channels)
            empty = [tensor for tensor, needed in channels.needed.items() if not needed.any()]
            if not empty:
                return channels
            channels.need(empty[0], [0], "one channel stays in every layer")

    def rebuilt(self, nested: Mapping[Any, keras.Model]) -> keras.Model:
        """Return a copy of the model without unneeded channels.

        `nested` maps nested models to their replacements. Raise an `InputError` if a layer cannot be copied.
        """
        changes = {
            operation: reduce(or_, (step.change(self.channels) for step in steps), LayerChange())
            for operation, steps in self.steps.items()
        }
        copies = dict(nested)

        def copy(operation: Any) -> Any:
            if operation not in copies:
                copies[operation] = _copied(operation, changes[operation])
            return copies[operation]

        built = self._built(copy)
        for operation, change in changes.items():
            if isinstance(operation, keras.Layer) and operation not in nested:
                _fill(copies[operation], operation, change)
        return built

    def _built(self, copy: Callable) -> keras.Model:
        if not isinstance(self._model, keras.Sequential):
            return keras.models.clone_model(self._view, clone_function=copy)
        start = self._model.inputs[0]
        inputs = keras.Input(batch_shape=start.shape, dtype=start.dtype, name=start.name)
        return keras.Sequential([inputs, *map(copy, self._model.layers)], name=self._model.name)


def _copied(operation: Any, change: LayerChange) -> Any:
    try:
        # By default Keras does not read Lambdas from their configs.
        if type(operation) is keras.layers.Lambda:
            settings = (
                operation.function,
                output_shape_of(operation),
                operation.mask,
                operation.arguments,
            )
            return keras.layers.Lambda(*settings, name=operation.name)
        with warnings.catch_warnings():  # A lambda can be copied but not saved.
            warnings.filterwarnings(
                "ignore", "The object being serialized includes a `lambda`", UserWarning
            )
            config = operation.get_config()
        activation = getattr(operation, "activation", None)
        if "activation" in config and not isinstance(activation, keras.Layer):
            # The function itself: Keras cannot find unregistered ones by name.
            config["activation"] = activation
        return type(operation).from_config({**config, **change.config})
    except Exception as error:  # A layer's code may raise anything.
        got = f"layer {operation.name!r}, which its config cannot copy ({one_line(error)})"
        raise InputError("model", got, "layers with get_config and from_config") from error


def _fill(copy: keras.Layer, layer: keras.Layer, change: LayerChange) -> None:
    if not change.weights:
        copy.set_weights(layer.get_weights())
    for variable in copy.weights:
        if variable.name in change.weights:
            variable.assign(change.weights[variable.name])
