"""Operators of a flatbuffer, as its schema lists them."""

import numpy as np
from ai_edge_litert import schema_py_generated as schema

KINDS = {code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
TYPES = {
    getattr(schema.TensorType, name.upper()): np.dtype(name)
    for name in ("float32", "int8", "int16", "int32")
}
SHAPES = {"SHAPE", "STRIDED_SLICE", "PACK"}


def operators(content: bytes) -> list[tuple[str, np.dtype, str]]:
    """Return kind, type of the result and its name of every operator that computes scores; no arithmetic of shapes."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(content, 0))
    found = []
    for operator in model.subgraphs[0].operators:
        code = model.operatorCodes[operator.opcodeIndex]
        kind = KINDS[max(code.builtinCode, code.deprecatedBuiltinCode)]
        tensor = model.subgraphs[0].tensors[operator.outputs[0]]
        if kind not in SHAPES and TYPES[tensor.type] != np.int32:
            found.append((kind, TYPES[tensor.type], tensor.name.decode()))
    return found
