"""Marks in the trace of a model, by which a flatbuffer's operators are found that come from a layer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from ai_edge_litert import schema_py_generated as schema


def marked(layers: Sequence[Any]) -> AbstractContextManager[None]:
    """Trace each layer inside its own name scope, by which `Operators` finds the layer's operators."""
    from tfaudit.compress.layer_calls import replaced_calls  # loads Keras

    scopes = {layer: _scope(number) for number, layer in enumerate(layers)}
    return replaced_calls(scopes, lambda layer, call: _in_scope(call, scopes[layer]))


def _in_scope(call: Any, scope: str) -> Any:
    import tensorflow as tf

    def in_scope(*args: Any, **options: Any) -> Any:
        with tf.name_scope(scope):
            return call(*args, **options)

    return in_scope


def _scope(number: int) -> str:
    return f"tfaudit_layer_{number}_"


def unmarked(operator: str) -> str:
    """Return the name of an operator in a file of the same model whose layers are not marked."""
    return re.sub(r"tfaudit_layer_\d+_/", "", operator)


class Operators:
    """Operators of a float flatbuffer, and the layers that they come from.

    Attributes:
        operands: names of each operator's float operands (not axes or shapes), by the name of the operator's result,
            which converters use as the operator's name.
    """

    def __init__(self, content: bytes) -> None:
        graph = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0)).subgraphs[0]
        names = [tensor.name.decode() for tensor in graph.tensors]
        floats = {
            index
            for index, tensor in enumerate(graph.tensors)
            if tensor.type == schema.TensorType.FLOAT32
        }
        self.operands: Mapping[str, tuple[str, ...]] = {
            names[operator.outputs[0]]: tuple(
                names[index] for index in operator.inputs if index in floats
            )
            for operator in graph.operators
        }

    def of(self, *numbers: int) -> list[str]:
        """Return the operators of layers by their numbers in `marked`, including operators fused with others."""
        scopes = [_scope(number) for number in numbers]

        def has_scope(name: str) -> bool:
            return any(scope in name for scope in scopes)

        own = set[str]()
        for name, operands in self.operands.items():
            weights = any(
                has_scope(operand) for operand in operands if operand not in self.operands
            )
            # Results of the model have other names: operators without weights, such as softmax, join the layer before.
            last = name.startswith("StatefulPartitionedCall") and own.issuperset(operands)
            if has_scope(name) or weights or (last and operands):
                own.add(name)
        return sorted(own)
