"""Exact ties of int8 scores: predictions that change only because two classes share the best of 256 steps.

    python benchmarks/int8_ties.py MODEL.keras DATA

MODEL is a Keras classifier; DATA is the name of a data set that tfaudit loads, or a folder of one 256x256 photograph
per ImageNet class in the order of the classes, for a ResNet-50 of `keras.applications`. The float32 file is compared
with two int8 files, of which one keeps the last layer in float. Scores are those that the files give, with no softmax
after them; argmax predicts the first of equal ones. A changed prediction is a tie if the float32 file's class has the
best int8 score, too.
"""

import sys
from pathlib import Path

import numpy as np
from resnet50_photographs import photographs

import tfaudit
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.compress.model_files import load_keras

BATCH = 100


def images_of(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the test images, and some that calibrate."""
    if Path(data).is_dir():
        images = photographs(Path(data))
        return images, images[::10]
    test, train = (tfaudit.load_dataset(data, split) for split in ("test", "train"))
    return test.held.astype("float32"), train.head(100)


def scores_of(content: bytes, images: np.ndarray) -> np.ndarray:
    """Return the scores `(N, C)` that a file gives."""
    network = Flatbuffer(content, threads=2)
    return np.concatenate(
        [network(images[start : start + BATCH]) for start in range(0, len(images), BATCH)]
    )


def main(model: str, data: str) -> None:
    """Print one line per file."""
    images, calibration = images_of(data)
    dense = load_keras(Path(model))
    options = {"representative": calibration}
    files = {
        "float32": tfaudit.quantize(dense, "float32"),
        "int8": tfaudit.quantize(dense, "int8", **options),
        "int8, last layer float": tfaudit.quantize(dense, "int8", float_layers="last", **options),
    }
    print(f"{len(images):,} images")
    print(f"{'file':22} {'bytes':>11} {'changed':>8} {'of them ties':>13} {'images with ties':>17}")
    before = None
    for name, content in files.items():
        scores = scores_of(content, images)
        predicted, best = scores.argmax(1), scores.max(1)
        before = predicted if before is None else before
        changed, several = predicted != before, (scores == best[:, None]).sum(1) > 1
        tied = changed & (scores[np.arange(len(scores)), before] == best)
        counts = f"{changed.sum():8,} {tied.sum():13,} {several.sum():17,}"
        print(f"{name:22} {len(content):11,} {counts}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
