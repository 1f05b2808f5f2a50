"""Shrinking: removal of pruned channels from a Keras model, with the same outputs."""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.audits.result import Result
from tfaudit.compress.keras_model import require_keras_model
from tfaudit.errors import InputError, listed
from tfaudit.extensions.shrinking.graph import ChannelGraph
from tfaudit.extensions.shrinking.layer_rewrites import ChannelwiseStep, MixingStep, OpaqueStep
from tfaudit.runtime.keras_internals import layers_in

COLUMNS = (
    "layer",
    "channels_before",
    "channels_after",
    "parameters_before",
    "parameters_after",
    "idle",
    "why",
)
"""Columns of a shrunk model's table."""


@dataclass(frozen=True, eq=False)
class Shrunk(Result):
    """Smaller model, not compiled, with a table of the channels removed from each layer."""

    model: keras.Model
    layers: pd.DataFrame
    notes = ()

    def frame(self) -> pd.DataFrame:
        """Return a row per layer with weights, in the order of the calls.

        Columns: `layer` (`outer/inner` inside a nested model), `channels_before`, `channels_after` (outputs),
        `parameters_before`, `parameters_after`, `idle` and `why`. `idle` counts channels that could not be removed
        although they are constant outputs of the layer or inputs that it ignores; `why` gives the reasons.
        """
        return self.layers.copy()

    def summary(self) -> dict[str, float]:
        """Return the numbers of parameters before and after, their ratio, and the number of remaining idle channels."""
        before = int(self.layers["parameters_before"].sum())
        after = int(self.layers["parameters_after"].sum())
        return {
            "parameters_before": before,
            "parameters_after": after,
            "ratio": before / after if after else float("nan"),
            "idle": int(self.layers["idle"].sum()),
        }


def shrink(model: keras.Model) -> Shrunk:
    """Remove channels without a contribution, such as those that channel pruning leaves; the outputs do not change.

    An output channel of a convolution or dense layer whose kernel is all zero is still a constant: its bias, after
    normalisation and activation. This constant is added to the biases of the layers that read it (a layer without a
    bias receives one). If zeros are padded around it, one constant channel stays and carries the contributions of all
    others, so that outputs at the borders are equal too. An output channel is also removed if all layers that read it
    have only zeros for it. Channels that are joined, as by `Add`, are only removed together. Inputs and outputs of the
    model keep their channels, and every layer keeps at least one.

    Channels are tracked through Dense, Conv1D to 3D, transposed, depthwise and separable convolutions,
    BatchNormalization, elementwise activations and arithmetic, pooling, upsampling, cropping, zero padding, dropout,
    Add and the other merging layers, Concatenate, Flatten and Reshape, and the same in operators and `keras.ops`.
    A nested model is shrunk separately and keeps the channels of its inputs and outputs. All other layers, grouped
    convolutions, and layers that are called more than once keep their channels and those of their neighbours; `frame`
    names them.

    The model itself does not change. Outputs are equal in inference only, since BatchNormalization uses other
    statistics in training. Compile the smaller model to train it.

    Args:
        model: a built functional or Sequential Keras 3 model, channels last.

    Returns:
        The smaller model, with the same layer names, and a table of the changes.

    Raises:
        InputError: the model is of another kind, or one of its layers cannot be copied.

    >>> inputs = keras.Input((4,))
    >>> hidden = keras.layers.Dense(3, "relu", name="hidden")(inputs)
    >>> model = keras.Model(inputs, keras.layers.Dense(2, name="logits")(hidden))
    >>> model.layers[1].set_weights([np.eye(4, 3) * [1, 0, 1], np.array([0.0, 0.5, 0.0])])
    >>> shrink(model).frame().iloc[:, :5]
        layer  channels_before  channels_after  parameters_before  parameters_after
    0  hidden                3               2                 15                10
    1  logits                2               2                  8                 6
    """
    _check(model)
    graph = ChannelGraph(model)
    nested = {inner: shrink(inner) for inner in graph.steps if isinstance(inner, keras.Model)}
    smaller = graph.rebuilt({inner: shrunk.model for inner, shrunk in nested.items()})
    copies = {layer.name: layer for layer in smaller.layers}
    rows: list[tuple[Any, ...]] = []
    for layer in graph.steps:
        if layer in nested:
            inside = nested[layer].layers.itertuples(index=False)
            rows += [(f"{layer.name}/{inner}", *rest) for inner, *rest in inside]
        elif getattr(layer, "weights", ()):
            rows.append(_row(graph, layer, copies[layer.name]))
    return Shrunk(smaller, pd.DataFrame(rows, columns=COLUMNS))


def _row(graph: ChannelGraph, layer: Any, copy: Any) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    steps = graph.steps[layer]
    channels = graph.channels
    reasons = [f"unchanged: {steps[0].reason}"] if isinstance(steps[0], OpaqueStep) else []
    idle: list[str] = []  # one reason per channel
    for step in steps[:-1]:  # the last step is the activation, or the only one
        if isinstance(step, MixingStep | ChannelwiseStep):
            constant = channels.needed[step.output] & ~np.isnan(channels.constant[step.output])
            idle += channels.reasons[step.output][constant].tolist()
        if isinstance(step, MixingStep):
            read = step.reads[:, channels.needed[step.output]].any(axis=1)
            idle += channels.reasons[step.input][channels.needed[step.input] & ~read].tolist()
    last = steps[-1]
    output = next(iter(last.outputs)) if isinstance(last, OpaqueStep) else last.output
    needed = channels.needed[output]
    return (
        layer.name,
        needed.size,
        int(needed.sum()),
        layer.count_params(),
        copy.count_params(),
        len(idle),
        "; ".join(reasons + sorted(set(idle))),
    )


def _check(model: object) -> None:
    kind: Any = type(model)
    # Keras does not publish it.
    bases = [base for base in kind.__mro__ if base.__name__ == "Functional"]
    functional = kind is keras.Sequential or any(kind.call is base.call for base in bases)
    if isinstance(model, keras.Model) and not functional:
        got = f"{model.name!r}, a subclassed model ({type(model).__name__}), whose code cannot be analysed"
        raise InputError("model", got, "a functional or Sequential model")
    require_keras_model(model, "a functional or Sequential Keras 3 model")
    assert isinstance(model, keras.Model)
    eighths = [
        layer.name
        for layer in layers_in(model)
        if getattr(layer, "quantization_mode", None) == "float8"
    ]
    if eighths:
        got = f"{model.name!r}, whose layers {listed(eighths)} Keras has quantized to float8"
        raise InputError("model", got, "a model before it is quantized: shrink, then quantize")
