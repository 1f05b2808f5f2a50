"""Pruned channels taken out: a smaller Keras model with the same outputs."""

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import pandas as pd

from tfaudit.compress.keras_model import is_tf_keras
from tfaudit.compress.shrinking.graph import Graph
from tfaudit.compress.shrinking.steps import Link, Mix, Wall
from tfaudit.errors import InputError

__all__ = ["Shrunk", "shrink"]


@dataclass(frozen=True, eq=False)
class Shrunk:
    """A smaller model, and layer by layer what went and what did not.

    Attributes:
        model: The smaller model; not compiled.
        layers: What `frame` gives.
    """

    model: keras.Model
    layers: pd.DataFrame

    def frame(self) -> pd.DataFrame:
        """A row per layer with weights, in the order of the calls.

        Returns:
            Columns `layer` (`outer/inner` inside a nested model), `channels_before`, `channels_after` (outputs),
            `parameters_before`, `parameters_after`, `idle` and `why`. Idle channels could not go: outputs of the layer
            that are constant, and inputs that it ignores. `why` names what keeps them, or the layer whole.
        """
        return self.layers.copy()

    def summary(self) -> dict[str, float]:
        """Parameters before and after, their ratio, and the idle channels that are left."""
        before, after, idle = (int(self.layers[name].sum()) for name in _COUNTS)
        return {
            "parameters_before": before,
            "parameters_after": after,
            "ratio": before / after if after else float("nan"),
            "idle": idle,
        }


_COUNTS = ("parameters_before", "parameters_after", "idle")


def shrink(model: keras.Model) -> Shrunk:
    """Removes the channels that contribute nothing, as pruning by channel leaves them, without a change of outputs.

    An output channel of a convolution or dense layer whose kernel is all zero still gives a constant: its bias, and
    what normalisation and activation make of it. This constant goes into the biases of the layers that read it (one
    without a bias gets one). Where zeros are padded around it, one constant channel stays and carries those of all
    others, so the outputs are equal at the borders too. An output channel goes as well when every layer that reads
    it has zeros for it. Channels that are joined, as by `Add`, go only together. Inputs and outputs of the model keep
    their channels, and every layer keeps one.

    Channels are followed through Dense, Conv1D to 3D, transposed, depthwise and separable convolutions,
    BatchNormalization, elementwise activations and arithmetic, pooling, upsampling, cropping, zero padding, dropout,
    Add and the other merging layers, Concatenate, Flatten and Reshape; also written with operators and `keras.ops`.
    Models inside the model are shrunk by themselves, with all channels at their borders. All other layers, grouped
    convolutions, and layers that are called more than once keep their channels, and those of their neighbours;
    `frame` names them.

    The model given stays as it is. Equal are the outputs of inference: in training, BatchNormalization would
    see other statistics. Compile the smaller model to train it.

    Args:
        model: A built functional or Sequential Keras 3 model, channels last.

    Returns:
        The smaller model with the names of its layers unchanged, and a table of what was done.

    Raises:
        InputError: Not such a model, or a layer of it that cannot be copied.

    Example:
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
    graph = Graph(model)
    nested = {id(inner): shrink(inner) for inner in graph.operations if isinstance(inner, keras.Model)}
    smaller = graph.rebuilt({inner: shrunk.model for inner, shrunk in nested.items()})
    copies = {layer.name: layer for layer in smaller.layers}
    rows: list[pd.DataFrame] = []
    for layer in graph.operations:
        if id(layer) in nested:
            inside = nested[id(layer)].frame()
            rows.append(inside.assign(layer=layer.name + "/" + inside["layer"]))
        elif getattr(layer, "weights", ()):
            rows.append(pd.DataFrame([_row(graph, layer, copies[layer.name])]))
    columns = ["layer", "channels_before", "channels_after", "parameters_before", "parameters_after", "idle", "why"]
    return Shrunk(smaller, pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=columns))


def _row(graph: Graph, layer: Any, copy: Any) -> dict[str, Any]:
    steps, channels = graph.steps[id(layer)], graph.channels
    reasons = [f"kept whole: {steps[0].reason}"] if isinstance(steps[0], Wall) else []
    idle: list[str] = []  # a reason per channel
    for step in steps[:-1]:  # the last is the activation of the others, or the only one
        if isinstance(step, Mix | Link):
            constant = channels.kept[step.output] & ~np.isnan(channels.constant[step.output])
            idle += channels.why[step.output][constant].tolist()
        if isinstance(step, Mix):
            read = step.reads[:, channels.kept[step.output]].any(axis=1)
            idle += channels.why[step.input][channels.kept[step.input] & ~read].tolist()
    reasons += sorted(set(idle))
    last = steps[-1]
    kept = channels.kept[next(iter(last.outputs)) if isinstance(last, Wall) else last.output]
    return {
        "layer": layer.name,
        "channels_before": kept.size,
        "channels_after": int(kept.sum()),
        "parameters_before": layer.count_params(),
        "parameters_after": copy.count_params(),
        "idle": len(idle),
        "why": "; ".join(reasons),
    }


def _check(model: object) -> None:
    if is_tf_keras(model):
        raise InputError("model", "a tf_keras (Keras 2) model", "Keras 3 models")
    if not isinstance(model, keras.Model):
        raise InputError("model", str(type(model).__name__), "a functional or Sequential Keras 3 model")
    plain = type(model) is keras.Sequential or (isinstance(model, keras.Function) and _calls_its_graph(model))
    if not plain:
        raise InputError(
            "model",
            f"{model.name!r} is a subclassed model ({type(model).__name__}), whose code is not seen;",
            "a functional or Sequential model",
        )
    if not model.built or not model.inputs:
        raise InputError(f"model: {model.name!r} has no variables yet: call model.build(...), or call it on a batch")


def _calls_its_graph(model: keras.Model) -> bool:
    kind: Any = type(model)
    functional = next(base for base in kind.__mro__ if base.__name__ == "Functional")  # Keras does not publish it.
    return kind.call is functional.call
