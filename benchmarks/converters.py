"""Who makes the better file, TensorFlow or LiteRT Quantizer: networks x quantizers x kinds x kernels.

    python -m benchmarks.converters FOLDER [--networks NAME ...] [--resnet50 MODEL.keras PHOTOGRAPHS]

Networks: LeNet-5 on Fashion-MNIST, MobileNetV3Small on CIFAR-10 at 64 x 64 pixels and the transformer of
`tweets_transformer` (one epoch on 5,000 examples each), the network of `insurance_table` (5 epochs), CIFAR-10's
ResNet-56 with published weights, and `keras.applications`' ResNet-50 if MODEL.keras and a folder of photographs are
named, as in `resnet50_photographs.py`. Both quantizers calibrate with the same 100 training examples, 10 for ResNet-50.

Each quantizer makes its files in a process of its own, on one thread: TensorFlow begins with the Keras model and makes
the float32 file, LiteRT Quantizer begins with that file, without TensorFlow. Seconds are processor time. A heading has
the numbers of examples for the default and for the reference kernels, which are slow, and the largest memory of the two
processes. Columns of predictions count examples: "changed" ones have another class than in the float32 file with the
same kernels, "kernels" ones another class with the reference kernels than with the default ones, "quantizers" ones
another class in the two files of a kind, with the default kernels. A dash is a file that was not made, or whose run
ended the process.

FOLDER keeps models, test data (`NAME.keras`, `NAME.npz`), files (`NAME-KIND-QUANTIZER.tflite`) and predictions, so that
the same command goes on where it was interrupted.
"""

import argparse
import functools
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

FLOAT, TENSORFLOW, LITERT = "float32", "tensorflow", "litert"
KINDS = {
    TENSORFLOW: (FLOAT, "float16", "dynamic_range", "int8"),
    LITERT: ("float16", "dynamic_range", "int8", "int4"),
}
EXAMPLES = {
    "lenet": (10_000, 500),
    "resnet56": (500, 5),
    "mobilenet_v3": (500, 20),
    "tweets": (2_000, 200),
    "insurance": (4_454, 4_454),
    "resnet50": (50, 1),
}
"""Test examples for the default kernels, and of these for the reference kernels."""

BATCH = 50

LABELS = "y", "labels"
"""Names of the labels in an `.npz` of one array of inputs, and of several, as `tfaudit gate --data` reads them."""

TRAINED = 5_000
"""Number of training examples of images and texts."""


def prepared(name: str, options: argparse.Namespace):
    """Return a trained model, training inputs to calibrate with, test inputs and test labels."""
    import keras

    import tfaudit
    from tfaudit.models.registry import build_model
    from tfaudit.recipes import cifar10_pretrained, insurance_table, tweets_transformer

    keras.utils.set_random_seed(0)
    if name == "resnet50":
        from benchmarks.resnet50_photographs import photographs

        images = photographs(options.resnet50[1])
        model = keras.saving.load_model(options.resnet50[0], compile=False)
        rows = np.random.default_rng(0).permutation(len(images))
        return model, images[rows[-10:]], images[rows[:50]], rows[:50]
    if name in ("tweets", "insurance"):
        recipe = {"tweets": tweets_transformer, "insurance": insurance_table}[name]
        train, test = (recipe.load(split) for split in ("train", "test"))
        if name == "tweets":  # which are sorted by class
            train, test = _shuffled(train), _shuffled(test)
        shapes = {"numbers": (len(insurance_table.NUMBERS),)}
        model = recipe.build(shapes) if name == "insurance" else recipe.build()
        x, y, epochs = train.x, train.y, {"tweets": 1, "insurance": 5}[name]
    else:
        data = "fashion_mnist" if name == "lenet" else "cifar10"
        read = (tfaudit.load_dataset(data, split) for split in ("train", "test"))
        train, test = (tfaudit.Examples(one.images.astype("float32"), one.labels) for one in read)
        x, y, epochs = train.x, train.y, 1
        if name == "resnet56":
            model, epochs = cifar10_pretrained.build((32, 32, 3), 10), 0
        elif name == "mobilenet_v3":
            model = _mobilenet()
        else:
            model = build_model("lenet_r", (28, 28, 1), 10)
    if epochs:
        if name != "insurance":
            x, y = x[:TRAINED], y[:TRAINED]
        is_binary = model.outputs[0].shape[1] == 1
        losses = keras.losses
        loss = losses.BinaryCrossentropy if is_binary else losses.SparseCategoricalCrossentropy
        model.compile(keras.optimizers.Adam(1e-3), loss(from_logits=True))
        model.fit(x, y, batch_size=64, epochs=epochs, verbose=2)
        if name == "mobilenet_v3":
            tfaudit.recalibrate_batch_norm(model, x)  # its momentum expects long training
        model.optimizer, model.compiled = None, False  # the file needs none
    rows = np.random.default_rng(0).choice(len(y), 100, replace=False)
    count = EXAMPLES[name][0]
    part = keras.tree.map_structure(lambda array: array[:count], test.x)
    calibration = keras.tree.map_structure(lambda array: array[rows], x)
    return model, calibration, part, test.y[:count]


def _shuffled(examples):
    import tfaudit

    order = np.random.default_rng(0).permutation(len(examples.y))
    return tfaudit.Examples(examples.x[order], examples.y[order])


def _mobilenet():
    import keras

    images = keras.Input((32, 32, 3))
    x = keras.layers.Resizing(64, 64)(images)
    body = keras.applications.MobileNetV3Small(
        (64, 64, 3), weights=None, classes=10, classifier_activation=None
    )
    return keras.Model(images, body(x), name="mobilenet_v3")


def arrays(inputs) -> dict[str, np.ndarray]:
    """Return inputs by name; a single one is x."""
    return inputs if isinstance(inputs, dict) else {"x": np.asarray(inputs)}


def stored(path: Path):
    """Return inputs from a file."""
    with np.load(path) as file:
        found = {name: file[name] for name in file if name not in LABELS}
    return found if len(found) > 1 else found["x"]


def prepare(name: str, options: argparse.Namespace) -> None:
    """Write the model of a network and its data into the folder."""
    model, calibration, test, labels = prepared(name, options)
    place = options.folder / name
    np.savez(f"{place}-calibration.npz", **arrays(calibration))
    np.savez(f"{place}.npz", **{LABELS[isinstance(test, dict)]: labels}, **arrays(test))
    model.save(f"{place}.keras")


def make(name: str, quantizer: str, folder: Path) -> None:
    """Write the files of a quantizer, with bytes and seconds of each and the largest memory of this process."""
    calibration = stored(folder / f"{name}-calibration.npz")
    if quantizer == TENSORFLOW:
        from tfaudit.compress.litert.conversions import Conversions

        conversions = Conversions(folder / f"{name}.keras", representative=calibration)
        made = conversions.file
    else:
        import litert_quantizer.quantizer  # noqa: F401 - its import does not count

        float32 = (folder / f"{name}-{FLOAT}-{TENSORFLOW}.tflite").read_bytes()
        made = functools.partial(of_litert, float32, calibration)
    costs = {}
    for kind in KINDS[quantizer]:
        start = time.process_time()
        try:
            content = made(kind)
        except ValueError as error:
            print(error, file=sys.stderr)
            continue
        (folder / f"{name}-{kind}-{quantizer}.tflite").write_bytes(content)
        costs[kind] = len(content), time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (folder / f"{name}-{quantizer}.json").write_text(json.dumps([memory, costs]))


def of_litert(content: bytes, calibration, kind: str) -> bytes:
    """Return the file that LiteRT Quantizer makes of a float32 file."""
    from tfaudit.compress.litert.file_settings import FileSettings
    from tfaudit.compress.litert.litert_quantizer import quantizer_of

    count = len(next(iter(arrays(calibration).values())))
    feeds = [_rows(calibration, slice(row, row + 1)) for row in range(count)]
    return quantizer_of(kind, content, feeds).file(FileSettings(kind), {})


def _rows(inputs, rows: slice):
    if isinstance(inputs, dict):
        return {name: array[rows] for name, array in inputs.items()}
    return inputs[rows]


def predict(name: str, folder: Path) -> None:
    """Write the predicted classes of the first examples by both kernels beside every file."""
    from tfaudit.compress.litert.flatbuffer import Flatbuffer

    inputs = stored(folder / f"{name}.npz")
    size = len(next(iter(arrays(inputs).values())))
    for file in sorted(folder.glob(f"{name}-*.tflite")):
        if file.with_suffix(".npz").exists():
            continue
        np.savez(file.with_suffix(".npz"))  # stays if the process ends here
        found = {}
        for kernels, most in zip(("default", "reference"), EXAMPLES[name], strict=True):
            count = min(most, size)
            network = Flatbuffer(file.read_bytes(), kernels=kernels)
            parts = [slice(start, min(start + BATCH, count)) for start in range(0, count, BATCH)]
            scores = np.concatenate([network(_rows(inputs, part)) for part in parts])
            is_logit = scores.shape[1] == 1
            found[kernels] = (scores[:, 0] > 0).astype(int) if is_logit else scores.argmax(1)
        np.savez(file.with_suffix(".npz"), **found)


def child(*arguments: str) -> bool:
    """Run this module on one thread; return whether it ended well."""
    threads = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.converters", *arguments]
    return subprocess.run(command, env={**os.environ, **threads}, check=False).returncode == 0


def measure(name: str, options: argparse.Namespace) -> None:
    """Make the files of a network, predict, and print its part of the table."""
    folder = options.folder
    if not (folder / f"{name}.keras").exists():
        # In a process, too: the largest memory of a child counts that of its parent, from which it is forked.
        resnet50 = ["--resnet50", *map(str, options.resnet50)] if options.resnet50 else []
        child(str(folder), "--prepare", name, *resnet50)
    costs, memory = {}, []
    for quantizer in KINDS:
        place = folder / f"{name}-{quantizer}.json"
        if not place.exists():
            child(str(folder), "--make", name, quantizer)
        peak, made = json.loads(place.read_text())
        memory.append(f"{peak:,.0f}")
        costs |= {(kind, quantizer): cost for kind, cost in made.items()}
    while not child(str(folder), "--predict", name):
        print(f"{name}: the run of a file ended the process", file=sys.stderr)
    classes = {
        (*key, kernels): found
        for key in costs
        for kernels, found in np.load(folder / f"{name}-{key[0]}-{key[1]}.npz").items()
    }

    def differing(one: tuple, other: tuple) -> str:
        if one not in classes or other not in classes:
            return "-"
        few = min(len(classes[one]), len(classes[other]))
        return f"{(classes[one][:few] != classes[other][:few]).sum()}"

    sizes = [len(classes[FLOAT, TENSORFLOW, kernels]) for kernels in ("default", "reference")]
    shown = f"{sizes[0]:,} and {sizes[1]:,} examples; {memory[0]} and {memory[1]} MB"
    print(f"| **{name}**, {shown} | | | | | | | |")
    order = list(dict.fromkeys(kind for kinds in KINDS.values() for kind in kinds))
    for kind, quantizer in sorted(costs, key=lambda key: order.index(key[0])):
        size, seconds = costs[kind, quantizer]
        other = LITERT if quantizer == TENSORFLOW else TENSORFLOW
        own = kind, quantizer
        cells = [
            *own,
            f"{size / 1000:,.1f}",
            f"{seconds:.2f}",
            differing((*own, "default"), (FLOAT, TENSORFLOW, "default")),
            differing((*own, "reference"), (FLOAT, TENSORFLOW, "reference")),
            differing((*own, "default"), (*own, "reference")),
            differing((*own, "default"), (kind, other, "default")),
        ]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--networks", nargs="+", choices=EXAMPLES)
    parser.add_argument("--resnet50", nargs=2, type=Path, metavar=("MODEL", "PHOTOGRAPHS"))
    parser.add_argument("--prepare", help=argparse.SUPPRESS)
    parser.add_argument("--make", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--predict", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.prepare:
        return prepare(options.prepare, options)
    if options.make:
        return make(*options.make, options.folder)
    if options.predict:
        return predict(options.predict, options.folder)
    options.folder.mkdir(parents=True, exist_ok=True)
    names = [name for name in EXAMPLES if name != "resnet50" or options.resnet50]
    columns = (
        "kind",
        "quantizer",
        "kB",
        "seconds",
        "changed",
        "changed, reference",
        "kernels",
        "quantizers",
    )
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name in options.networks or names:
        measure(name, options)


if __name__ == "__main__":
    main()
