import numpy as np
import onnxruntime
import torch
from onnxruntime.quantization import CalibrationDataReader, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process
from torch import nn
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, quantize_

train, test = np.load("train.npz"), np.load("test.npz")
x, held_out = (torch.tensor(data["x"]).permute(0, 3, 1, 2) / 255 for data in (train, test))
y = torch.tensor(train["y"])

torch.manual_seed(0)
hidden = [nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 64), nn.ReLU()]
model = nn.Sequential(*hidden, nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(40):
    for rows in torch.randperm(len(x)).split(32):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()
model.eval()


class Calibration(CalibrationDataReader):
    def __init__(self):
        self.rows = iter(x[:100].split(1))

    def get_next(self):
        row = next(self.rows, None)
        return None if row is None else {"images": row.numpy()}


sides = ({0: torch.export.Dim("count")},)
torch.onnx.export(model, (x[:2],), "float.onnx", input_names=["images"], dynamic_shapes=sides)
quant_pre_process("float.onnx", "prepared.onnx")
quantize_static("prepared.onnx", "int8.onnx", Calibration(), per_channel=True)
for name in ("float", "int8"):
    session = onnxruntime.InferenceSession(f"{name}.onnx")
    np.save(f"onnx_{name}.npy", session.run(None, {"images": held_out.numpy()})[0])

with torch.no_grad():
    np.save("torch_float.npy", model(held_out))
    quantize_(model, Int8DynamicActivationInt8WeightConfig())
    np.save("torchao_int8.npy", model(held_out))
