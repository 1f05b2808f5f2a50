"""Which choices of int8 lose fewest predictions of a real model: chosen on one half, judged on the other.

    python benchmarks/quantization_choices.py MODEL.keras DATA FOLDER [BYTES]

DATA is a folder of photographs, as in `resnet50_photographs.py`, or the name of a data set, whose test split is taken.
Halves are random (seed 0). All calibration examples are of the first half: 100 of them unless a choice says otherwise.
Flips are against the float model. Tried are numbers of calibration examples, percentiles at which ranges end, and
layers left in float, with the ranges that were best so far: each alone on the first half, as in
`tfaudit.quantization_sensitivity`, but at most 2,000 of its images, then those that cost most together; last int16x8,
which LiteRT runs so slowly that 25 images of each half have to do.

Of the choices whose file has at most BYTES, the one with the fewest negative flips on the first half is the one to
judge on the second. FOLDER keeps the predictions of every choice as soon as they are made: the same command goes on
where it was interrupted. It prints a line after every choice.

Measured on one core that others shared: ResNet-50 and 1,000 photographs, 30e6 bytes (changed, lost, won, top-1):

    choice                                   MB |         first half |        second half
    int8                                  26.33 |    9    6    1  90.40 |   16    7    2  89.00
    percentile 99.9                       26.33 |   48   32    9  86.80 |   48   29    7  85.60
    percentile 99.99                      26.33 |   13    5    4  91.20 |    8    4    2  89.60
    percentile 99.999                     26.33 |    9    3    2  91.20 |    6    3    1  89.60
    20 calibration examples               26.33 |   10    6    2  90.60 |   10    4    1  89.40
    500 calibration examples              26.33 |   11    5    5  91.40 |   15    5    6  90.20
    99.999, conv2_block1_0_conv in float  26.37 |    7    1    2  91.60 |    6    2    2  90.00
    99.999, 2 layers in float             26.38 |    5    2    1  91.20 |    6    4    1  89.40
    99.999, 4 layers in float             26.45 |    3    2    0  91.00 |    6    3    2  89.80
    99.999, 8 layers in float             27.69 |    4    3    0  90.80 |    6    2    2  90.00

The one layer was chosen. CIFAR-10's ResNet-56, of which 99.999 was chosen, stands in docs/compression_measured.md.
"""

import functools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import keras
import numpy as np
from resnet50_photographs import photographs

import tfaudit
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.compress.litert.conversions import Conversions
from tfaudit.compress.pruning.kernels import kernel_layers

ALL = (None, None)
PERCENTILES = (99.9, 99.99, 99.999)
CALIBRATIONS = (20, 500)  # beside 100
TOGETHER = (1, 2, 4, 8)  # layers that are left in float together
STEP = 25  # images
MEASURED, SLOW = 2000, 25  # images of the first half for single layers, of each half for int16x8


class Choices:
    """Choices that were tried: bytes and predictions, kept in a folder.

    Args:
        folder: made if it is missing.
        images: all examples.
        labels: of these.
    """

    def __init__(self, folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._images, self._labels = folder, images, labels
        order = np.random.default_rng(0).permutation(len(labels))
        self.first, self.second = (
            np.sort(order[: len(labels) // 2]),
            np.sort(order[len(labels) // 2 :]),
        )
        self.names: list[str] = []

    def tried(
        self, name: str, content: Callable[[], keras.Model | bytes], *counts: int | None
    ) -> None:
        """Predict the first `counts` examples of each half with a choice, None for all; skip what was done before."""
        path = self._folder / f"{name}.npz"
        if not path.exists():
            model = content()
            answers = np.full(len(self._labels), -1)
            for half, count in zip((self.first, self.second), counts, strict=False):
                part = half[:count]
                answers[part] = tfaudit.predict(
                    model, self._images[part], batch_size=STEP, k=1
                ).classes[:, 0]
            partial = path.with_suffix(".partial.npz")
            np.savez(partial, answers=answers, size=len(model) if isinstance(model, bytes) else 0)
            partial.rename(path)
        self.names += [name] * (counts == ALL)

    def answers(self, name: str) -> np.ndarray:
        """Return the predicted classes of all examples."""
        return np.load(self._folder / f"{name}.npz")["answers"]

    def size(self, name: str) -> int:
        """Return the bytes of the file."""
        return int(np.load(self._folder / f"{name}.npz")["size"])

    def lost(self, name: str, part: np.ndarray) -> int:
        """Return the negative flips on a part, as far as it was predicted."""
        part = part[self.answers(name)[part] >= 0]
        was = self.answers("float")[part] == self._labels[part]
        return int((was & (self.answers(name)[part] != self._labels[part])).sum())

    def pair(self, before: str, after: str, part: np.ndarray) -> PairComparison:
        """Return the comparison of two choices on a part, as far as it was predicted."""
        part = part[self.answers(after)[part] >= 0]
        made = (
            tfaudit.Predictions.from_top1(self._labels[part], self.answers(name)[part])
            for name in (before, after)
        )
        return tfaudit.compare(*made)

    def line(self, name: str) -> str:
        """Return a row of the table: changed, lost and won predictions and accuracy on either half."""
        cells = [f"{name:36} {self.size(name) / 1e6:6.2f}"]
        for half in (self.first, self.second):
            part = half[self.answers(name)[half] >= 0]
            if not len(part):
                continue
            overall = self.pair("float", name, part).overall
            changed = (self.answers("float")[part] != self.answers(name)[part]).sum()
            top1 = (self.answers(name)[part] == self._labels[part]).mean()
            cells.append(f"{changed:5d} {overall.lost:4d} {overall.won:4d} {100 * top1:6.2f}")
        return " |".join(cells)


def examples(data: str) -> tuple[np.ndarray, np.ndarray]:
    """Return images as the model takes them, and labels."""
    if Path(data).is_dir():
        images = photographs(Path(data))
        return images, np.arange(len(images))
    read = tfaudit.load_dataset(data, "test")
    return read.images.astype("float32"), read.labels


def main(model_path: str, data: str, folder: str, most: float = np.inf) -> None:
    """Print one line per choice, then the one that was chosen and its judgement."""
    images, labels = examples(data)
    model = keras.saving.load_model(model_path, compile=False)
    choices, layers = Choices(Path(folder), images, labels), kernel_layers(model)

    @functools.cache
    def conversions(count: int) -> Conversions:
        calibration = images[choices.first[:count]]
        return Conversions(model, representative=calibration, calibration_examples=count)

    def int8(
        percentile: float = 100.0, count: int = 100, float_layers: Iterable[str] = ()
    ) -> bytes:
        return conversions(count).file(
            "int8", percentile=percentile, float_layers=tuple(float_layers)
        )

    def tried(name: str, *, counts: tuple = ALL, **settings: object) -> None:
        choices.tried(name, functools.partial(int8, **settings), *counts)
        print(choices.line(name), flush=True)

    heading = "changed lost won top-1"
    print(f"{'choice':36} {'MB':>6} | first half: {heading} | second half: {heading}")
    choices.tried("float", lambda: model, *ALL)
    print(choices.line("float"), flush=True)
    tried("int8")
    for percentile in PERCENTILES:
        tried(f"percentile {percentile:g}", percentile=percentile)
    for count in CALIBRATIONS:
        tried(f"{count} calibration examples", count=count)
    ranges = {"int8": 100.0} | {
        f"percentile {percentile:g}": percentile for percentile in PERCENTILES
    }
    best = min(ranges, key=lambda name: choices.lost(name, choices.first))
    alone = {f"{best}, {layer} in float": layer for layer in layers}
    for name, layer in alone.items():
        tried(name, counts=(MEASURED,), percentile=ranges[best], float_layers=[layer])
    # ties go to the smaller file
    order = sorted(alone, key=lambda name: (choices.lost(name, choices.first), choices.size(name)))
    ranked = [alone[name] for name in order if choices.size(name) <= most]
    for count in TOGETHER:
        tried(
            f"{best}, {count} of the layers in float",
            percentile=ranges[best],
            float_layers=ranked[:count],
        )
    calibration = images[choices.first[:100]]
    choices.tried(
        "int16x8",
        lambda: tfaudit.quantize(model, "int16x8", representative=calibration),
        SLOW,
        SLOW,
    )
    print(choices.line("int16x8"), flush=True)
    fitting = [name for name in choices.names if 0 < choices.size(name) <= most]
    chosen = min(fitting, key=lambda name: (choices.lost(name, choices.first), choices.size(name)))
    against = choices.pair("int8", chosen, choices.second).overall
    print(f"chosen on the first half: {chosen}")
    print(
        f"second half, against plain int8: {against.lost} lost, {against.won} won, McNemar's p {against.p:.2g}"
    )


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(float, sys.argv[4:]))
