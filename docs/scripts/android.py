# android.py INPUT_NAME [FLAG ...]
import subprocess
import sys
from pathlib import Path

from ai_edge_litert.interpreter import Interpreter

place = "/data/local/tmp"
interpreter = Interpreter("model.tflite")
interpreter.allocate_tensors()
size = interpreter.get_tensor(interpreter.get_input_details()[0]["index"]).nbytes
inputs = Path("inputs.bin").read_bytes()


def adb(*command):
    return subprocess.run(["adb", *command], check=True, capture_output=True).stdout


adb("push", "model.tflite", "benchmark_model", place)
with open("scores.bin", "wb") as scores:
    for start in range(0, len(inputs), size):
        Path("example.bin").write_bytes(inputs[start : start + size])
        adb("push", "example.bin", place)
        files = f"--input_layer_value_files={sys.argv[1]}:{place}/example.bin --output_filepath={place}/scores.bin"
        runs = "--num_runs=1 --warmup_runs=0 --max_secs=0"
        flags = " ".join(sys.argv[2:])
        adb("shell", f"{place}/benchmark_model --graph={place}/model.tflite {files} {runs} {flags}")
        scores.write(adb("exec-out", f"cat {place}/scores.bin"))
