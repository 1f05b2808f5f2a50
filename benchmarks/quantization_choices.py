"""What the choices of int8 quantization give on a real ResNet-50 and real photographs.

    python benchmarks/quantization_choices.py MODEL.keras FOLDER [LAYERS]

MODEL and FOLDER are those of `resnet50_photographs.py`. The model is converted and calibrated once, on every tenth
photograph; then ranges are clipped at percentiles and layers are left in float; last the LAYERS (0) of the largest
rounding error of TensorFlow's debugger are spared one by one. Flips are against the float model. int16x8 is timed on 8
images.
"""

import copy
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import keras
import numpy as np
from resnet50_photographs import photographs

import tfaudit
from tfaudit.compress.litert.quantize import calibrated
from tfaudit.compress.litert.selective import Calibrated
from tfaudit.compress.pruning.kernels import kernel_layers
from tfaudit.compress.sensitivity import DEBUGGED, rounding_errors
from tfaudit.quiet import captured_output


def main(model_path: str, folder: str, layers: int = 0) -> None:
    """Print one line per choice."""
    images = photographs(Path(folder))
    labels = np.arange(len(images))
    dense = keras.saving.load_model(model_path, compile=False)
    names = kernel_layers(dense)
    source, feeds = calibrated(dense, images[::10], [dense.get_layer(name) for name in names])
    operators = {name: source.operators_of(number) for number, name in enumerate(names)}
    before = tfaudit.predict(dense, images, batch_size=25).classes[:, 0]
    print(f"float: top-1 {(before == labels).mean():.3f}", flush=True)
    print(f"{'choice':44} {'top-1':>6} {'flips':>6} {'lost':>5} {'won':>5} {'MB':>6}", flush=True)

    def line(name: str, source: Calibrated, spared: Iterable[str] = ()) -> None:
        with captured_output():
            content = source.quantized(spared)
        after = tfaudit.predict(content, images, batch_size=25).classes[:, 0]
        was, now = before == labels, after == labels
        flips, lost, won = (after != before).sum(), (was & ~now).sum(), (~was & now).sum()
        print(f"{name:44} {now.mean():6.3f} {flips:6d} {lost:5d} {won:5d} {len(content) / 1e6:6.1f}", flush=True)

    line("int8", source)
    ends = [*operators[names[0]], *operators[names[-1]]]
    line(f"keep_float={names[-1]}", source, operators[names[-1]])
    line(f"keep_float={names[0]},{names[-1]}", source, ends)
    histograms = source.histograms(feeds)
    for percentile in (99.999, 99.99, 99.9):
        clipped = copy.deepcopy(source)
        clipped.clip_at(percentile, histograms)
        line(f"percentile={percentile}", clipped)
        line(f"percentile={percentile}, keep_float={names[-1]}", clipped, operators[names[-1]])
    begin = time.perf_counter()
    wide = tfaudit.quantize(dense, "int16x8", representative=images[::10])
    print(f"int16x8: {len(wide) / 1e6:.1f} MB, converted in {time.perf_counter() - begin:.0f} s", flush=True)
    begin = time.perf_counter()
    after = tfaudit.predict(wide, images[:8], batch_size=8).classes[:, 0]
    seconds = time.perf_counter() - begin
    print(f"int16x8: {seconds / 8:.2f} s an image, {(after != before[:8]).sum()} flips of 8", flush=True)
    if layers:
        errors = rounding_errors(source, feeds[:DEBUGGED])
        largest = {name: max(errors.get(own, 0.0) for own in operators[name]) for name in names}
        for name in sorted(largest, key=largest.get, reverse=True)[:layers]:
            line(f"keep_float={name} (RMSE {largest[name]:.2f} steps)", source, operators[name])


if __name__ == "__main__":
    main(*sys.argv[1:3], *map(int, sys.argv[3:]))
