"""State of a flatbuffer: what one run leaves to the next, read from its operators and tensors."""

from typing import Any, NamedTuple

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tfaudit.compress.litert.operators import kinds_of, operators_in, tensors_in

_DRAWS = {
    "MULTINOMIAL",
    "RANDOM_STANDARD_NORMAL",
    "RANDOM_UNIFORM",
    "STABLEHLO_RNG_BIT_GENERATOR",
}


class RunState(NamedTuple):
    """What one run of a flatbuffer leaves to the next.

    Attributes:
        tensors: whether fused operators, such as an LSTM, keep tensors, with a row for each example of a batch.
        variables: whether it assigns variables, whose values any example of a batch may change.
        draws: kinds of its operators that draw random numbers.
    """

    tensors: bool
    variables: bool
    draws: list[str]


def run_state(content: bytes) -> RunState:
    """Return what one run of the main subgraph, and of those that it calls, leaves to the next."""
    model = schema.Model.GetRootAs(content, 0)
    kinds = kinds_of(model)
    graphs = [model.Subgraphs(number) for number in _reached(model, kinds)]
    has_tensors = any(tensor.IsVariable() for graph in graphs for tensor in tensors_in(graph))
    found = {kinds[operator.OpcodeIndex()] for graph in graphs for operator in operators_in(graph)}
    return RunState(has_tensors, "ASSIGN_VARIABLE" in found, sorted(found & _DRAWS))


def _reached(model: Any, kinds: list[str]) -> list[int]:
    """Return the subgraphs of each run: not those that run once, at first, and give variables their initial values."""
    reached = [0]
    for number in reached:  # which grows
        for operator in operators_in(model.Subgraphs(number)):
            if model.SubgraphsLength() > 1 and kinds[operator.OpcodeIndex()] != "CALL_ONCE":
                reached += {*_called(operator)} & {*range(model.SubgraphsLength())} - {*reached}
    return reached


def _called(operator: Any) -> list[int]:
    """Return the subgraphs that an operator runs, such as the body of a loop."""
    known = schema.OperatorT.InitFromObj(operator)
    options = {**_fields(known.builtinOptions), **_fields(known.builtinOptions2)}
    return [
        int(number) for name in options if "ubgraph" in name for number in np.ravel(options[name])
    ]


def _fields(options: Any) -> dict[str, Any]:
    return {} if options is None else vars(options)
