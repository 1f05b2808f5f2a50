"""The kernels of microcontrollers, on bytes as a device takes and gives them."""

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def reference(content):
    """Runs the bytes of an input with the kernels of microcontrollers, and gives those of the output."""
    kernels = OpResolverType.BUILTIN_REF
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=kernels)
    interpreter.allocate_tensors()
    [source], [output] = interpreter.get_input_details(), interpreter.get_output_details()

    def run(example):
        values = np.frombuffer(example, source["dtype"]).reshape(source["shape"])
        interpreter.set_tensor(source["index"], values)
        interpreter.invoke()
        return interpreter.get_tensor(output["index"]).tobytes()

    return run
