# npu.py [DELEGATE]
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate

delegates = [load_delegate(library) for library in sys.argv[1:]]  # such as libedgetpu.so.1
interpreter = Interpreter(
    "model.tflite",
    experimental_delegates=delegates,
    experimental_op_resolver_type=OpResolverType.BUILTIN_REF,  # what the delegate leaves
)
interpreter.allocate_tensors()
[source], [output] = interpreter.get_input_details(), interpreter.get_output_details()
inputs = np.fromfile("inputs.bin", source["dtype"]).reshape(-1, *source["shape"])
with open("scores.bin", "wb") as scores:
    for example in inputs:
        interpreter.set_tensor(source["index"], example)
        interpreter.invoke()
        interpreter.get_tensor(output["index"]).tofile(scores)
