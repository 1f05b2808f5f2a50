"""Operators of a flatbuffer, as its file has them and before a delegate replaces any."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from ai_edge_litert import schema_py_generated as schema

_KINDS = {
    code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)
}


class Operator(NamedTuple):
    """Operator of a flatbuffer: its kind, and the indices of its operands and results."""

    kind: str
    inputs: list[int]
    outputs: list[int]


def kind_of(code: Any) -> str:
    """Return the name of an operator code, which `ModelT.operatorCodes` lists."""
    # Codes above 127 do not fit into the older of the two fields, which then holds a placeholder.
    return _KINDS.get(max(code.builtinCode, code.deprecatedBuiltinCode), "CUSTOM")


def kinds_of(model: Any) -> list[str]:
    """Return the kind of each operator code of a file."""
    codes = map(model.OperatorCodes, range(model.OperatorCodesLength()))
    return [kind_of(schema.OperatorCodeT.InitFromObj(code)) for code in codes]


def operators_in(graph: Any) -> Iterator[Any]:
    """Yield the operators of a subgraph."""
    return map(graph.Operators, range(graph.OperatorsLength()))


def tensors_in(graph: Any) -> Iterator[Any]:
    """Yield the tensors of a subgraph."""
    return map(graph.Tensors, range(graph.TensorsLength()))


def main_operators(content: bytes) -> list[Operator]:
    """Return the operators of the main subgraph."""
    model = schema.Model.GetRootAs(content, 0)
    kinds = kinds_of(model)
    return [
        Operator(
            kinds[operator.OpcodeIndex()],
            [operator.Inputs(place) for place in range(operator.InputsLength())],
            [operator.Outputs(place) for place in range(operator.OutputsLength())],
        )
        for operator in operators_in(model.Subgraphs(0))
    ]


def float_operators(content: bytes) -> list[str]:
    """Return the kinds of operators whose results are floats, each once."""
    graph = schema.Model.GetRootAs(content, 0).Subgraphs(0)
    return sorted(
        {
            operator.kind
            for operator in main_operators(content)
            for result in operator.outputs
            if graph.Tensors(result).Type() == schema.TensorType.FLOAT32
        }
    )
