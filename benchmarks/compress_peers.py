"""The search of `tfaudit compress` beside the quantizers of NNCF and MCT, with the same model, images and limit.

    pip install "tfaudit[keras,quantizer]" nncf openvino model-compression-toolkit torch torchvision torch-optim==0.0.3
    pip download --no-deps -d ~/tensorflow_datasets torch-optim==0.0.3
    python benchmarks/compress_peers.py [--images 6000] [--drop 1] [--tools tfaudit nncf mct] [--out DIR]
    python benchmarks/compress_peers.py --seeds 50 --images 3000 --tools tfaudit nncf

The model is CIFAR-10's ResNet-56 with its published weights. No tool sees two thirds of the images, the held-out part,
except that tfaudit judges plain files on all images. All calibrate with the same images of the other third.

- tfaudit: the smallest file whose loss stays below the limit, with its interval.
- NNCF: `quantize_with_accuracy_control` of the model in OpenVINO, which puts layers back into float until the measured
  loss on the selection part is below the limit. Its bytes are those of the weights, `nncf.bin`; the graph comes on top.
- MCT limits size instead of accuracy: its mixed precision (2, 4 or 8 bits a layer) is asked for fewer and fewer mean
  bits a weight, until the measured loss on the selection part exceeds the limit. Its bytes are those that it reckons
  for the weights; it writes no smaller file.

The gate judges the predictions of each result on the held-out part against those of the float model in Keras: by the
limit on accuracy alone, then also by 5 points for every class. Everything runs on one core; seconds are processor time
of the tool alone, from the model to its result.

With `--seeds` the convolutional network of `compress_verdicts.py` is compressed again and again, each time with other
random test images. All test images that a tool did not get tell whether its result truly keeps to the limit. A
tool passes if it says that its result does: NNCF by its measured loss, tfaudit by its verdict.
"""

import argparse
import contextlib
import dataclasses
import functools
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

with contextlib.suppress(ImportError):
    import torchvision  # noqa: F401 - MCT needs it, and its triton crashes if TensorFlow comes first

import keras
import numpy as np
import pandas as pd

import tfaudit
from tfaudit.audits.gate.checks import PASS
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.datasets.dataset import Dataset
from tfaudit.extensions.search.candidates import Candidate
from tfaudit.extensions.search.progress import SearchProgress
from tfaudit.extensions.search.search_inputs import Parts

BATCH = 50
HELD_OUT, SEED = 2 / 3, 0
CLASS_DROP = 5.0
BITS = (8, 6, 5, 4.5, 4, 3.5, 3)  # mean bits per weight to ask MCT for, one after another


Scores = Callable[[np.ndarray], np.ndarray]
"""Scores of images."""


@dataclasses.dataclass(frozen=True)
class Reached:
    """What a tool made: its words, whether it says that the limit is kept, bytes, scores of images, and seconds."""

    what: str
    passes: bool
    size: int
    scores: Scores
    seconds: float


def accuracy(scores: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of right predictions."""
    return float((scores.argmax(1) == labels).mean())


def batches(images: np.ndarray) -> Iterable[np.ndarray]:
    """Return the images in batches, as floats."""
    for start in range(0, len(images), BATCH):
        yield images[start : start + BATCH].astype(np.float32)


def torch_resnet56() -> Any:
    """Return the network of `recipes/cifar10_pretrained.py` as a module of PyTorch."""
    import torch
    from torchopt.model.resnet import resnet56

    from tfaudit.recipes.cifar10_pretrained import _weights

    network = resnet56()
    weights = _weights("resnet56_cifar10_0.9320_45k.pth")
    network.load_state_dict({key: torch.tensor(value) for key, value in weights.items()})
    return network.eval()


def torch_images(images: np.ndarray) -> Any:
    """Return images as the tensor that `torch_resnet56` takes."""
    import torch

    return torch.from_numpy(images.astype(np.float32) / 255).permute(0, 3, 1, 2)


def calibration_batches(images: np.ndarray) -> Callable[[], Iterable[list[Any]]]:
    """Return the function from which MCT takes images, in batches."""
    return lambda: ([torch_images(part)] for part in batches(images))


def torch_scores(network: Any, images: np.ndarray) -> np.ndarray:
    """Return the scores of a module of PyTorch."""
    import torch

    with torch.no_grad():
        return np.concatenate([network(torch_images(part)).numpy() for part in batches(images)])


def in_batches(network: Callable[[np.ndarray], np.ndarray]) -> Scores:
    """Return the scores of a network that takes batches."""
    return lambda images: np.concatenate([network(part) for part in batches(images)])


def with_tfaudit(path: Path, data: Dataset, parts: Parts, drop: float, folder: Path) -> Reached:
    """Search with `compress_to_limits`."""
    start = time.process_time()

    class Verdicts(SearchProgress):
        def judged(self, candidate: Candidate, examples: int) -> None:
            spent = time.process_time() - start
            print(f"{candidate.title} passes after {spent:.1f} s of processor time", flush=True)

    limits = tfaudit.Limits(overall_drop_pp=drop)
    out = folder / "tfaudit"
    found = tfaudit.compress_to_limits(
        path, data, limits, held_out=HELD_OUT, seed=SEED, out=out, progress=Verdicts()
    )
    seconds = time.process_time() - start
    columns = ["title", "bytes", "change_pp", "outcome", "judged"]
    print(found.frame()[columns].to_string(index=False), flush=True)
    what = f"{found.title}, {found.outcome}"
    scores = in_batches(Flatbuffer(found.content))
    return Reached(what, found.outcome == PASS, len(found.content), scores, seconds)


def with_nncf(path: Path, data: Dataset, parts: Parts, drop: float, folder: Path) -> Reached:
    """Quantize with NNCF's control of accuracy, in OpenVINO."""
    os.environ["CI"] = "true"  # no telemetry: its forks hang beside TensorFlow
    import nncf
    import openvino

    def validate(compiled: Any, items: Iterable[Any]) -> tuple[float, list[float]]:
        right = [compiled(images)[0].argmax(1) == labels for images, labels in items]
        return float(np.concatenate(right).mean()), [float(batch.mean()) for batch in right]

    start = time.process_time()
    keras.models.load_model(path).export(str(folder / "saved"), verbose=False)
    model = openvino.convert_model(str(folder / "saved"))
    selection, calibration = parts.selection, parts.calibration.images
    labels = (selection.labels[i : i + BATCH] for i in range(0, selection.num_examples, BATCH))
    pairs = list(zip(batches(selection.images), labels, strict=True))
    made = nncf.quantize_with_accuracy_control(
        model,
        nncf.Dataset([image[None].astype(np.float32) for image in calibration]),
        nncf.Dataset(pairs, lambda pair: pair),
        validate,
        max_drop=drop / 100,
        subset_size=len(calibration),
    )
    openvino.save_model(made, folder / "nncf.xml")
    seconds = time.process_time() - start
    layers = sum(op.get_type_name() in ("Convolution", "MatMul") for op in made.get_ops())
    rounded = sum(op.get_type_name() == "FakeQuantize" for op in made.get_ops())
    size = (folder / "nncf.bin").stat().st_size
    compiled = openvino.compile_model(made, "CPU", {"INFERENCE_NUM_THREADS": 1})
    what = f"int8, {layers} layers, {rounded} rounded tensors"
    return Reached(what, True, size, in_batches(lambda part: compiled(part)[0]), seconds)


def with_mct(path: Path, data: Dataset, parts: Parts, drop: float, folder: Path) -> Reached:
    """Quantize with MCT's mixed precision in PyTorch, to fewer bits until the loss reaches the limit."""
    import model_compression_toolkit as mct

    start = time.process_time()
    network = torch_resnet56()
    calibration = calibration_batches(parts.calibration.images)
    selection = parts.selection
    before = accuracy(torch_scores(network, selection.images), selection.labels)
    eight = mct.core.pytorch_resource_utilization_data(network, calibration).weights_memory
    made, size, least = network, 0.0, np.nan
    for bits in BITS:
        target = mct.core.ResourceUtilization(weights_memory=eight * bits / 8)
        smaller, told = mct.ptq.pytorch_post_training_quantization(network, calibration, target)
        loss = before - accuracy(torch_scores(smaller, selection.images), selection.labels)
        reached = told.final_resource_utilization.weights_memory
        print(f"MCT: {bits} bits, {reached:,.0f} bytes, {100 * loss:.2f} points lost", flush=True)
        if 100 * loss > drop:
            break
        made, size, least = smaller, reached, bits
    seconds = time.process_time() - start
    what = f"{least} bits a weight"
    return Reached(what, True, int(size), functools.partial(torch_scores, made), seconds)


TOOLS: dict[str, Callable[[Path, Dataset, Parts, float, Path], Reached]] = {
    "tfaudit": with_tfaudit,
    "nncf": with_nncf,
    "mct": with_mct,
}


def line(
    name: str, reached: Reached, held_out: Dataset, before: tfaudit.Predictions, drop: float
) -> str:
    """Return what a tool reached, and the verdict on the held-out images, as a row of Markdown."""
    after = tfaudit.Predictions.from_scores(
        before.labels,
        reached.scores(held_out.images),
        class_names=before.class_names,
        example_ids=before.example_ids,
    )
    pair = tfaudit.compare(before, after)
    figures, classes = pair.summary(), pair.frame().set_index("class")
    worst = classes.loc[figures["worst_class"]]
    verdicts = [
        tfaudit.gate(before, after, limits).outcome
        for limits in (
            tfaudit.Limits(overall_drop_pp=drop),
            tfaudit.Limits(overall_drop_pp=drop, worst_class_drop_pp=CLASS_DROP),
        )
    ]
    cells = [
        f"{name}: {reached.what}",
        f"{reached.size / 1000:,.0f} kB",
        "{change_pp:.2f} ({change_low_pp:.2f} to {change_high_pp:.2f})".format(**figures),
        "{} {change_pp:.1f} ({change_low_pp:.1f} to {change_high_pp:.1f})".format(
            worst.name, **worst
        ),
        "; ".join(verdicts),
        f"{reached.seconds:.0f} s",
    ]
    return f"| {' | '.join(cells)} |"


def once(options: argparse.Namespace, folder: Path) -> None:
    """Print what each tool makes of the published ResNet-56."""
    from tfaudit.recipes.cifar10_pretrained import build

    data = tfaudit.load_dataset("cifar10", "test").take(options.images)
    parts = Parts.of(data, HELD_OUT, SEED)
    model = build((32, 32, 3), 10)
    model.save(folder / "float.keras")
    before = tfaudit.Predictions.on(parts.held_out, tfaudit.predict(model, parts.held_out))
    print(f"{parts.selection.num_examples} and {parts.held_out.num_examples} images", flush=True)
    for name in options.tools:
        reached = TOOLS[name](folder / "float.keras", data, parts, options.drop, folder)
        print(line(name, reached, parts.held_out, before, options.drop), flush=True)


def repeated(options: argparse.Namespace, folder: Path) -> None:
    """Print how often each tool passes with random images, and how often a pass loses more than the limit."""
    from benchmarks.compress_verdicts import NETWORKS, TRAINED, network

    train, test = (tfaudit.load_dataset("cifar10", split) for split in ("train", "test"))
    architecture, epochs, *_ = NETWORKS["cifar10"]
    model, path = network(architecture, train.take(TRAINED), epochs), folder / "float.keras"
    model.save(path)
    before = model.predict(test.images.astype(np.float32), verbose=0)
    right = before.argmax(1) == test.labels
    print(f"{100 * right.mean():.2f} % right before", flush=True)
    rows = []
    for seed in range(options.seeds):
        order = np.random.default_rng(seed).permutation(test.num_examples)
        data = test.select(np.sort(order[: options.images]), split="test")
        others = order[options.images :]
        parts = Parts.of(data, HELD_OUT, SEED)
        for name in options.tools:
            out = folder / f"{seed}"
            out.mkdir(exist_ok=True)
            reached = TOOLS[name](path, data, parts, options.drop, out)
            after = reached.scores(test.images[others]).argmax(1) == test.labels[others]
            loss = 100 * float(right[others].mean() - after.mean())
            wrong = reached.passes and loss > options.drop
            rows.append((name, reached.passes, wrong, reached.size / 1000, loss, reached.seconds))
            print(seed, reached.what, *rows[-1], flush=True)
    columns = ["tool", "passes", "wrong", "kB", "loss", "s"]
    table = pd.DataFrame(rows, columns=columns)
    print(table.groupby("tool").mean().to_string())


def main() -> None:
    """Run each tool and print a table of the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument(
        "--drop", type=float, default=1.0, help="limit of the loss of accuracy, points"
    )
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=list(TOOLS))
    parser.add_argument("--out", type=Path, help="folder of the files; kept if given")
    parser.add_argument("--seeds", type=int, help="number of draws of the images")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        (repeated if options.seeds else once)(options, folder)


if __name__ == "__main__":
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    main()
