"""A flatbuffer of one fully connected layer, made from the schema: no TensorFlow."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema


def dense_flatbuffer(names=(b"images", b"kernel", b"bias", b"scores"), side=2, classes=3):
    """Return the bytes of a model of images `(1, side, side, 1)`; `names` are those of its tensors."""
    rng = np.random.default_rng(0)
    kernel = rng.normal(size=(classes, side * side)).astype(np.float32)
    shapes = ([1, side, side, 1], kernel.shape, [classes], [1, classes])
    contents = (None, kernel, np.zeros(classes, np.float32), None)
    model = schema.ModelT()
    model.version, model.description = 3, b"dense"
    model.buffers, tensors = [schema.BufferT()], []
    for name, shape, content in zip(names, shapes, contents, strict=True):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type = name, list(shape), schema.TensorType.FLOAT32
        tensor.buffer = 0
        if content is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(content.tobytes(), np.uint8)
            tensor.buffer = len(model.buffers)
            model.buffers.append(buffer)
        tensors.append(tensor)
    operator, code, graph = schema.OperatorT(), schema.OperatorCodeT(), schema.SubGraphT()
    operator.inputs, operator.outputs = [0, 1, 2], [3]
    operator.builtinOptionsType = schema.BuiltinOptions.FullyConnectedOptions
    operator.builtinOptions = schema.FullyConnectedOptionsT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.FULLY_CONNECTED
    code.version = 1
    graph.tensors, graph.operators, graph.inputs, graph.outputs = tensors, [operator], [0], [3]
    model.operatorCodes, model.subgraphs = [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
