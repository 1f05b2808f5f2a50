import numpy as np
from ai_edge_litert.interpreter import Interpreter

import tfaudit

data = np.load("data.npz")  # images as the models take them, and labels
interpreter = Interpreter("model.tflite")
[source], [output] = interpreter.get_input_details(), interpreter.get_output_details()
inputs, (scale, zero_point) = data["images"], source["quantization"]
if scale:
    bounds = np.iinfo(source["dtype"])
    inputs = np.clip(np.rint(inputs / scale) + zero_point, bounds.min, bounds.max)
inputs.astype(source["dtype"]).tofile("inputs.bin")
np.save("labels.npy", data["labels"])
for name, file in {"dense": "dense.keras", "desktop": "model.tflite"}.items():
    classes, probabilities = tfaudit.predict(file, data["images"], k=1000)
    scores = np.empty_like(probabilities)
    np.put_along_axis(scores, classes, probabilities, axis=1)
    np.savez(f"{name}.npz", probabilities=scores)
print(len(inputs), "examples; scale and zero point of the output:", output["quantization"])
