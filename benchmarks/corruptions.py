"""Images per second and corruption on one core: `tfaudit.corrupt`, imagecorruptions and TensorFlow Datasets.

    pip install --no-deps imagecorruptions "setuptools<81"
    python benchmarks/corruptions.py [--edges 224 32] [--seconds 0.5] [--textures DIR]

All implementations alternate. Each gets the same photographs of scikit-image at each edge length, with ImageNet-C's
constants, at each of the five severities. imagecorruptions and TensorFlow Datasets take one image at a time;
corruptions that no longer run are shown as `-` (they need removed names of NumPy or scikit-image, ImageMagick, or 224
pixels). The frost of TensorFlow Datasets needs ImageNet-C's pictures, whose folder `--textures` names; the other two
read a picture from its file for every image, ours from memory. For fog, TensorFlow Datasets always computes a map of
512 x 512 pixels, ours is as large as the image needs. Goal: a geometric mean of at least 5 times the speed of the
faster of the two, and no corruption slower.

Measured with `python benchmarks/corruptions.py --textures frost` on one core of an AMD EPYC: 9.0x at 224 pixels (least:
pixelate, 1.3x) and 8.0x at 32 (pixelate, 1.5x); without frost and glass blur, for which the others read files and loop
in Python, 6.2x and 5.4x.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy's BLAS is loaded

import cv2
import numpy as np
from PIL import Image
from skimage import data

from tfaudit.datasets.corruptions.corrupt import corrupt
from tfaudit.datasets.corruptions.registry import SEVERITIES, corruption_names

__all__ = ["main"]

Batch = Callable[[int], object]


def photographs(edge: int) -> np.ndarray:
    """Return six photographs, uint8 `(6, edge, edge, 3)`."""
    sources = (
        data.astronaut(),
        data.chelsea(),
        data.coffee(),
        data.rocket(),
        data.retina(),
        data.hubble_deep_field(),
    )
    return np.stack(
        [cv2.resize(source, (edge, edge), interpolation=cv2.INTER_AREA) for source in sources]
    )


def peers(textures: Path | None) -> dict[str, Callable[[str, np.ndarray, int], object]]:
    """Return the other implementations, as functions of a name, an image and a severity."""
    functions: dict[str, Callable[[str, np.ndarray, int], object]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tensorflow_datasets.image_classification import corruptions as tfds

        if textures:
            tfds.FROST_FILENAMES[:] = sorted(map(str, textures.glob("frost*")))
        functions["TFDS"] = lambda name, image, severity: getattr(tfds, name)(image, severity)
        try:
            from imagecorruptions import corruptions
        except ImportError as problem:
            print(f"imagecorruptions is left out: {problem}")
        else:
            # The same as its `corrupt`, which rejects images below 32 pixels.
            functions["imagecorruptions"] = lambda name, image, severity: np.uint8(
                getattr(corruptions, name)(Image.fromarray(image), severity)
            )
    return functions


def rate(batch: Batch, images: int, seconds: float) -> float:
    """Return images per second: the median over rounds of all severities."""
    rounds, end = [], time.perf_counter() + seconds
    while not rounds or time.perf_counter() < end:
        begin = time.perf_counter()
        for severity in SEVERITIES:
            batch(severity)
        rounds.append(time.perf_counter() - begin)
    return images * len(SEVERITIES) / statistics.median(rounds)


def compare(
    edge: int, others: dict[str, Callable[[str, np.ndarray, int], object]], seconds: float
) -> None:
    """Time every corruption at one size and print the rates."""
    images = photographs(edge)
    print(
        f"\n{edge} x {edge} x 3   {'tfaudit':>10}"
        + "".join(f"{name:>18}" for name in others)
        + "     ratio"
    )
    ratios = {}
    for name in corruption_names():

        def ours(severity: int, name: str = name) -> object:
            return corrupt(images, name, severity, scale="imagenet")

        for severity in SEVERITIES:  # tables are computed once
            ours(severity)
        rates = {"tfaudit": rate(ours, len(images), seconds)}
        for peer, function in others.items():

            def theirs(
                severity: int,
                name: str = name,
                function: Callable[[str, np.ndarray, int], object] = function,
            ) -> object:
                return [function(name, image, severity) for image in images]

            try:
                function(name, images[0], 1)
            except Exception:  # the corruption does not run here, for whatever reason
                continue
            rates[peer] = rate(theirs, len(images), seconds)
        line = f"{name:18}{rates['tfaudit']:10.0f}" + "".join(
            f"{rates[p]:18.1f}" if p in rates else f"{'-':>18}" for p in others
        )
        if len(rates) > 1:
            ratios[name] = rates["tfaudit"] / max(rates[peer] for peer in others if peer in rates)
            line += f"{ratios[name]:9.1f}x"
        print(line, flush=True)
    slowest = min(ratios, key=lambda name: ratios[name])
    mean = statistics.geometric_mean(ratios.values())
    print(
        f"geometric mean {mean:.1f}x over {len(ratios)}, the least {slowest} {ratios[slowest]:.2f}x"
    )


def main() -> None:
    """Time all corruptions at every size."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--edges", type=int, nargs="+", default=[224, 32])
    arguments.add_argument(
        "--seconds", type=float, default=0.5, help="seconds per implementation and corruption"
    )
    arguments.add_argument("--textures", type=Path, help="folder of ImageNet-C's frost pictures")
    chosen = arguments.parse_args()
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")
    others = peers(chosen.textures)
    for edge in chosen.edges:
        compare(edge, others, chosen.seconds)


if __name__ == "__main__":
    main()
