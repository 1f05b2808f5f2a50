# serial_line.py PORT
import sys

import serial
from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter("model.tflite")
interpreter.allocate_tensors()
size_in, size_out = (
    interpreter.get_tensor(tensors[0]["index"]).nbytes
    for tensors in (interpreter.get_input_details(), interpreter.get_output_details())
)
with (
    serial.Serial(sys.argv[1], 115200, timeout=10) as port,
    open("inputs.bin", "rb") as inputs,
    open("scores.bin", "wb") as scores,
):
    while example := inputs.read(size_in):
        port.write(example)
        answer = port.read(size_out)
        if len(answer) < size_out:
            sys.exit(f"the device sent {len(answer)} of {size_out} bytes in 10 s")
        scores.write(answer)
