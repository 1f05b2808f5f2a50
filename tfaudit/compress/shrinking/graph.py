"""A Keras model as a list of steps, solved for the channels that stay, and built anew without the others."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from tfaudit.compress.shrinking.channel_cuts import Channels, Cut
from tfaudit.compress.shrinking.rules import steps_of, width
from tfaudit.compress.shrinking.steps import Step
from tfaudit.errors import InputError

__all__ = ["Graph"]


class Graph:
    """The calls of a functional model with what they ask of its channels.

    Args:
        model: a built functional or Sequential model.

    Attributes:
        operations: Everything that is called, in the order of the calls.
        steps: The steps of every operation, by its id.
        channels: Solved: which stay, and why.
    """

    def __init__(self, model: keras.Model) -> None:
        self._model = model
        # A view: it shares the layers, knows the calls of a Sequential too, and is never compiled.
        ends = (model.inputs, model.outputs) if isinstance(model, keras.Sequential) else (model.input, model.output)
        self._view = keras.Model(*ends, name=model.name)
        by_depth = self._view._nodes_by_depth  # Keras has no public way to the calls of this very model.
        nodes = [node for depth in sorted(by_depth, reverse=True) for node in by_depth[depth] if not node.is_input]
        calls = Counter(id(node.operation) for node in nodes)
        self.operations = list({id(node.operation): node.operation for node in nodes}.values())
        self.steps: dict[int, list[Step]] = {id(operation): [] for operation in self.operations}
        ordered: list[Step] = []
        for node in nodes:
            steps = steps_of(node, calls=calls[id(node.operation)])
            self.steps[id(node.operation)] += steps
            ordered += steps
        self.channels = self._solved(ordered)

    def _solved(self, steps: list[Step]) -> Channels:
        channels = Channels()
        for tensor in self._view.inputs:
            channels.add(id(tensor), np.full(width(tensor), np.nan))
        for step in steps:
            step.settle(channels)
        for ends, why in ((self._view.inputs, "an input of the model"), (self._view.outputs, "an output of the model")):
            for tensor in ends:
                channels.keep(id(tensor), np.ones(width(tensor), bool), why)
        while True:
            while channels.changed:
                channels.changed = False
                for step in reversed(steps):
                    step.spread(channels)
            empty = next((tensor for tensor, kept in channels.kept.items() if not kept.any()), None)
            if empty is None:
                return channels
            first = np.arange(channels.kept[empty].size) == 0
            channels.keep(empty, first, "one channel stays in every layer")

    def rebuilt(self, nested: Mapping[int, keras.Model]) -> keras.Model:
        """The model without the channels that go, on weights of its own.

        Args:
            nested: What takes the place of models inside the model, by the id of these.

        Raises:
            InputError: A layer cannot be copied.
        """
        cuts = {id(operation): self._cut(operation) for operation in self.operations}
        copies: dict[int, Any] = dict(nested)

        def copy(operation: Any) -> Any:
            if id(operation) not in copies:
                copies[id(operation)] = _copied(operation, cuts[id(operation)])
            return copies[id(operation)]

        built = self._built(copy)
        for operation in self.operations:
            if isinstance(operation, keras.Layer) and id(operation) not in nested:
                _fill(copies[id(operation)], operation, cuts[id(operation)])
        return built

    def _cut(self, operation: Any) -> Cut:
        total = Cut()
        for step in self.steps[id(operation)]:
            total |= step.cut(self.channels)
        return total

    def _built(self, copy: Callable) -> keras.Model:
        if not isinstance(self._model, keras.Sequential):
            return keras.models.clone_model(self._view, clone_function=copy)
        start = self._model.inputs[0]
        inputs = keras.Input(batch_shape=start.shape, dtype=start.dtype, name=start.name)
        return keras.Sequential([inputs, *map(copy, self._model.layers)], name=self._model.name)


def _copied(operation: Any, cut: Cut) -> Any:
    try:
        if type(operation) is keras.layers.Lambda:  # Keras does not read Lambdas from their configs unasked.
            return keras.layers.Lambda(
                operation.function, operation._output_shape, operation.mask, operation.arguments, name=operation.name
            )
        with warnings.catch_warnings():  # A lambda can be copied, if not saved.
            warnings.filterwarnings("ignore", "The object being serialized includes a `lambda`", UserWarning)
            config = operation.get_config()
        activation = getattr(operation, "activation", None)
        if "activation" in config and not isinstance(activation, keras.Layer):
            config["activation"] = activation  # itself: Keras does not find functions that are not registered
        return type(operation).from_config({**config, **cut.config})
    except Exception as error:  # A layer's own code raises whatever it likes.
        reason = " ".join(str(error).split())
        raise InputError(f"model: {operation.name!r} cannot be copied by its config: {reason}") from error


def _fill(copy: keras.Layer, layer: keras.Layer, cut: Cut) -> None:
    if not cut.weights:
        copy.set_weights(layer.get_weights())
    for variable in copy.weights:
        if variable.name in cut.weights:
            variable.assign(cut.weights[variable.name])
