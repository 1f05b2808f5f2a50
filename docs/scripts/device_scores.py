import numpy as np
from ai_edge_litert.interpreter import Interpreter

[output] = Interpreter("model.tflite").get_output_details()
scores = np.fromfile("scores.bin", output["dtype"]).reshape(-1, *output["shape"][1:])
scale, zero_point = output["quantization"]
np.savez(
    "device.npz", scores=scores, **({"scale": scale, "zero_point": zero_point} if scale else {})
)
