"""Candidates of `tfaudit compress` per minute: a conversion for all files of a model, or one for each.

    python -m benchmarks.candidate_rate MODEL.keras DATA.npz [--images 1000]

DATA.npz holds `images` and `labels`, as for `tfaudit compress`. The files are those of a search without training data:
all kinds but int4 and int16x8, and int8 with the last layer in float, at percentiles and with one and three layers in
float. Each is made in two ways in turn: by conversions that all files share, as a search does, and by `quantize`, which
converts the model again. Then it predicts some of the images.

Measured for CIFAR-10's ResNet-56 with 500 images, on two cores that much other work shared: 2.7 and 1.0 files a minute,
2.87 times as many; with the predictions 2.53 times. All files have equal bytes. The first file of each trace and of
each calibration takes long (seconds, shared and on its own):

    float32                            20.6   34.3
    float16                            17.0   53.1
    dynamic_range                      14.3   61.8
    int8                               16.0   36.5
    int8, last layer in float          60.1   57.1
    int8, percentile 99.999            46.1   99.1
    int8, percentile 99.99              1.3  102.8
    int8, one layer in float           20.4   65.2
    int8, three layers in float         1.1   55.4
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tfaudit import predict, quantize
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.model_files import load_keras
from tfaudit.compress.pruning.kernels import kernel_layers
from tfaudit.study.quantization import KINDS


def timed(made: Callable[[], bytes]) -> tuple[bytes, float]:
    """Return what a function makes, and the seconds that it takes."""
    begin = time.perf_counter()
    return made(), time.perf_counter() - begin


def main(path: str, data: str, images: int) -> None:
    """Print a line per file: seconds for it in both ways, and to predict; then the files per minute."""
    model = load_keras(Path(path))
    layers = kernel_layers(model)
    examples = np.load(data)["images"].astype("float32")
    calibration, shown = examples[:100], examples[100 : 100 + images]
    shared = Conversions(model, representative=calibration)
    files = [(kind, {}) for kind in KINDS if not KINDS[kind].slow]
    files += [("int8", {"float_layers": "last"})]
    files += [("int8", {"percentile": percentile}) for percentile in (99.999, 99.99)]
    files += [("int8", {"percentile": 99.999, "float_layers": layers[:count]}) for count in (1, 3)]
    seconds = []
    for kind, settings in files:
        content, once = timed(lambda kind=kind, settings=settings: shared.file(kind, **settings))
        again, each = timed(
            lambda kind=kind, settings=settings: quantize(
                model, kind, representative=calibration, **settings
            )
        )
        begin = time.perf_counter()
        predict(content, shown, batch_size=32, threads=2, check_range=False)
        seconds.append((once, each, time.perf_counter() - begin))
        same = "equal bytes" if content == again else "other bytes"
        words = " ".join(f"{name}={value}" for name, value in settings.items())
        print(f"{kind:14}{''.join(f'{one:8.2f}' for one in seconds[-1])}  {same}  {words[:50]}")
    once, each, predicted = np.sum(seconds, axis=0) / len(files)
    for what, added in (("files", 0), (f"files, {images:,} images", predicted)):
        rates = [60 / (one + added) for one in (once, each)]
        print(
            f"{what} a minute: {rates[0]:.1f} and {rates[1]:.1f}, ratio {rates[0] / rates[1]:.2f}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("data")
    parser.add_argument("--images", type=int, default=1000)
    chosen = parser.parse_args()
    main(chosen.model, chosen.data, chosen.images)
