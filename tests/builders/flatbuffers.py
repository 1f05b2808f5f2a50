"""Flatbuffers made from the schema, without TensorFlow, with operators that Keras does not write."""

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from scipy.special import expit

KINDS = vars(schema.BuiltinOperator)
TYPES = {
    name: getattr(schema.TensorType, name.upper())
    for name in ("float32", "int32", "int8", "resource")
}


def tensor(name, shape, value=None, *, sides=None, is_variable=False, dtype="float32", scale=None):
    """A tensor with the data of a constant; `sides` holds -1 for open sides, `scale` is that of int8."""
    made = schema.TensorT()
    made.name, made.shape, made.shapeSignature = name, list(shape), sides
    made.type, made.isVariable, made.hasRank = TYPES[dtype], is_variable, True
    made.value = None if value is None else np.ascontiguousarray(value, dtype)
    if scale is not None:
        made.quantization = schema.QuantizationParametersT()
        made.quantization.scale, made.quantization.zeroPoint = [scale], [0]
    return made


def constant(name, value):
    value = np.asarray(value)
    dtype = "int32" if value.dtype.kind == "i" else "float32"
    return tensor(name, value.shape, value, dtype=dtype)


def operator(kind, inputs, outputs, options=None):
    """An operator on tensors by name, None for one that is left out; an option's type is its class' name."""
    made = schema.OperatorT()
    made.kind, made.names = kind, (inputs, outputs)
    made.builtinOptions = options
    if options is not None:
        name = type(options).__name__.removesuffix("T")
        made.builtinOptionsType = getattr(schema.BuiltinOptions, name)
    return made


def graph(name, tensors, operators, inputs=(), outputs=()):
    made = schema.SubGraphT()
    places = {one.name: place for place, one in enumerate(tensors)} | {None: -1}
    made.name, made.tensors, made.operators = name, tensors, operators
    made.inputs, made.outputs = [places[one] for one in inputs], [places[one] for one in outputs]
    for one in operators:
        one.inputs, one.outputs = ([places[name] for name in names] for names in one.names)
    return made


def flatbuffer(*graphs, signatures=()):
    """The bytes of a file of subgraphs; a signature is a name and the number of its subgraph."""
    model = schema.ModelT()
    model.version, model.subgraphs, model.description = 3, list(graphs), ""
    model.buffers = [schema.BufferT()]
    kinds = sorted({one.kind for part in graphs for one in part.operators})
    model.operatorCodes = []
    for kind in kinds:
        code = schema.OperatorCodeT()
        code.builtinCode, code.version = KINDS[kind], 1
        code.deprecatedBuiltinCode = min(KINDS[kind], 127)
        model.operatorCodes.append(code)
    for part in graphs:
        for one in part.operators:
            one.opcodeIndex = kinds.index(one.kind)
        for one in part.tensors:
            one.buffer = 0
            if one.value is not None:
                buffer = schema.BufferT()
                buffer.data = np.frombuffer(one.value.tobytes(), np.uint8)
                one.buffer = len(model.buffers)
                model.buffers.append(buffer)
    model.signatureDefs = [_signature(name, number, graphs[number]) for name, number in signatures]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _signature(name, number, part):
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = name, number
    made.inputs, made.outputs = (
        [_entry(part.tensors[place].name, place) for place in places]
        for places in (part.inputs, part.outputs)
    )
    return made


def _entry(name, place):
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name, place
    return made


def dense_flatbuffer(names=(b"images", b"kernel", b"bias", b"scores"), side=2, classes=3):
    """Return the bytes of a model of images `(1, side, side, 1)`; `names` are those of its tensors."""
    kernel = np.random.default_rng(0).normal(size=(classes, side * side)).astype(np.float32)
    tensors = [
        tensor("images", (1, side, side, 1)),
        constant("kernel", kernel),
        constant("bias", np.zeros(classes)),
        tensor("scores", (1, classes)),
    ]
    dense = operator("FULLY_CONNECTED", ["images", "kernel", "bias"], ["scores"], _dense())
    main = graph("main", tensors, [dense], ["images"], ["scores"])
    for one, name in zip(tensors, names, strict=True):
        one.name = name
    return flatbuffer(main)


def lstm(batch=1, *, open_batch=False, seed=0):
    """A fused LSTM, as Keras 2 is converted, for inputs `(N, 5, 3)`, and its scores by NumPy from zero state."""
    steps, units, classes = 5, 4, 3
    draws = np.random.default_rng(seed)
    kernels, recurrent, biases = (
        draws.normal(size=(4, units, *sides)).astype("float32") for sides in ((3,), (units,), ())
    )
    head = draws.normal(size=(classes, units)).astype("float32")
    named = {
        f"{name}{gate}": value
        for name, values in (("w", kernels), ("r", recurrent), ("b", biases))
        for gate, value in enumerate(values)
    }
    tensors = [
        tensor("x", (batch, steps, 3), sides=[-1, steps, 3] if open_batch else None),
        *(constant(name, value) for name, value in named.items()),
        *(tensor(name, (batch, units), is_variable=True) for name in "hc"),
        tensor("sequence", (batch, steps, units)),
        *(
            constant(name, place)
            for name, place in (
                ("begin", [0, steps - 1, 0]),
                ("end", [0, steps, 0]),
                ("step", [1, 1, 1]),
            )
        ),
        tensor("last", (batch, units)),
        constant("head", head),
        tensor("scores", (batch, classes)),
    ]
    settings = schema.UnidirectionalSequenceLSTMOptionsT()
    settings.fusedActivationFunction = schema.ActivationFunctionType.TANH
    last = schema.StridedSliceOptionsT()
    last.beginMask = last.endMask = 0b101
    last.shrinkAxisMask = 0b010
    gates = [[f"{name}{gate}" for gate in range(4)] for name in "wrb"]
    operands = [
        "x",
        *gates[0],
        *gates[1],
        *[None] * 3,
        *gates[2],
        *[None] * 2,
        "h",
        "c",
        *[None] * 4,
    ]
    operators = [
        operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, ["sequence"], settings),
        operator("STRIDED_SLICE", ["sequence", "begin", "end", "step"], ["last"], last),
        operator("FULLY_CONNECTED", ["last", "head", None], ["scores"], _dense()),
    ]

    def scores(x):
        hidden = cell = np.zeros((len(x), units))
        for step in range(steps):
            into, forget, new, out = (
                x[:, step] @ kernels[gate].T + hidden @ recurrent[gate].T + biases[gate]
                for gate in range(4)
            )
            cell = expit(forget) * cell + expit(into) * np.tanh(new)
            hidden = expit(out) * np.tanh(cell)
        return hidden @ head.T

    return flatbuffer(graph("main", tensors, operators, ["x"], ["scores"])), scores


def svdf(batch=1):
    """A layer of a streaming model (SVDF of rank 1), for inputs `(N, 3)`, and its scores from zero state."""
    draws = np.random.default_rng(1)
    features, times = (draws.normal(size=(4, side)).astype("float32") for side in (3, 6))
    tensors = [
        tensor("x", (batch, 3)),
        constant("features", features),
        constant("times", times),
        tensor("memory", (batch, 24), is_variable=True),
        tensor("scores", (batch, 4)),
    ]
    settings = schema.SVDFOptionsT()
    settings.rank = 1
    run = operator("SVDF", ["x", "features", "times", None, "memory"], ["scores"], settings)
    content = flatbuffer(graph("main", tensors, [run], ["x"], ["scores"]))
    return content, lambda x: (x @ features.T) * times[:, -1]


def streaming(batch=1, *, open_batch=False):
    """A variable to which a run adds the mean of its batch `(N, 3)`, and scores from a start of 1.

    As `tf.Variable` is converted, subgraph 1 gives the variable its first value, once.
    """
    kernel = np.random.default_rng(2).normal(size=(3, 3)).astype("float32")

    def handle():
        made = schema.VarHandleOptionsT()
        made.container, made.sharedName = "", "memory"
        return operator("VAR_HANDLE", [], ["variable"], made)

    once = schema.CallOnceOptionsT()
    once.initSubgraphIndex = 1
    mean = schema.ReducerOptionsT()
    mean.keepDims = True
    variable = tensor("variable", (), dtype="resource")
    tensors = [
        tensor("x", (batch, 3), sides=[-1, 3] if open_batch else None),
        variable,
        *(tensor(name, (1, 3)) for name in ("before", "mean", "after")),
        constant("axis", [0]),
        tensor("sum", (batch, 3)),
        constant("kernel", kernel),
        tensor("scores", (batch, 3)),
    ]
    operators = [
        operator("CALL_ONCE", [], [], once),
        handle(),
        operator("READ_VARIABLE", ["variable"], ["before"], schema.ReadVariableOptionsT()),
        operator("MEAN", ["x", "axis"], ["mean"], mean),
        operator("ADD", ["before", "mean"], ["after"], schema.AddOptionsT()),
        operator("ASSIGN_VARIABLE", ["variable", "after"], [], schema.AssignVariableOptionsT()),
        operator("ADD", ["x", "after"], ["sum"], schema.AddOptionsT()),
        operator("FULLY_CONNECTED", ["sum", "kernel", None], ["scores"], _dense()),
    ]
    first = [
        handle(),
        operator("ASSIGN_VARIABLE", ["variable", "one"], [], schema.AssignVariableOptionsT()),
    ]
    start = [tensor("variable", (), dtype="resource"), constant("one", np.ones((1, 3)))]
    content = flatbuffer(
        graph("main", tensors, operators, ["x"], ["scores"]), graph("start", start, first)
    )
    return content, lambda x: (1 + 2 * x) @ kernel.T


def _scaled(name, kernel, result="scores"):
    """A subgraph for `(N, 2)`: its scores, or their sum as a loss."""
    tensors = [
        tensor("x", (1, 2), sides=[-1, 2]),
        constant("kernel", np.float32(kernel)),
        tensor("scores", (1, 2), sides=[-1, 2]),
        constant("all", [0, 1]),
        tensor("loss", ()),
    ]
    operators = [
        operator("FULLY_CONNECTED", ["x", "kernel", None], ["scores"], _dense()),
        operator("SUM", ["scores", "all"], ["loss"], schema.ReducerOptionsT()),
    ]
    return graph(name, tensors, operators[: 2 if result == "loss" else 1], ["x"], [result])


def several_signatures(*names):
    """Subgraphs that train, swap and keep two scores; the names are those of signatures."""
    graphs = {
        "train": _scaled("train", np.eye(2), "loss"),
        "swap": _scaled("swap", [[0, 1], [1, 0]]),
        "keep": _scaled("keep", np.eye(2)),
    }
    numbers = [(name, [*graphs].index(name)) for name in names]
    return flatbuffer(*graphs.values(), signatures=numbers)


def drawing():
    """Random numbers instead of scores, for inputs `(N, 3)`."""
    tensors = [
        tensor("x", (1, 3), sides=[-1, 3]),
        tensor("shape", (2,), dtype="int32"),
        tensor("scores", (1, 3)),
    ]
    operators = [
        operator("SHAPE", ["x"], ["shape"], schema.ShapeOptionsT()),
        operator("RANDOM_UNIFORM", ["shape"], ["scores"], schema.RandomOptionsT()),
    ]
    operators[0].builtinOptions.outType = schema.TensorType.INT32
    return flatbuffer(graph("main", tensors, operators, ["x"], ["scores"]))


def _dense():
    return schema.FullyConnectedOptionsT()
