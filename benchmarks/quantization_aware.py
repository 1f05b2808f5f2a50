"""Quantization-aware training against TF-MOT's on tf_keras: accuracy, int8 files and step time.

    python benchmarks/quantization_aware.py FASHION_MNIST_FOLDER [SEEDS]

A network of convolutions with BatchNormalization is trained on 8,000 images of Fashion-MNIST for five epochs, then for
one more in mind of int8, from the same weights, on the same batches, with the same optimizer. Accuracies are on the
10,000 test images. For step times, plain and quantization-aware training of both take turns on blocks of 20 steps; they
are times of the processor, since other programs may run, and the ratio is that of the medians.
"""

import gzip
import sys
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
import tf_keras

import tfaudit
from tfaudit.compress.litert.flatbuffer import Flatbuffer
from tfaudit.runtime.captured_output import captured_output

tf.keras.version()  # before TF-MOT makes it Keras 2
import tensorflow_model_optimization as tfmot  # noqa: E402

IMAGES, EPOCHS, BATCH, BLOCK, BLOCKS = 8_000, 5, 100, 20, 7


def fashion(folder: Path, part: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images in [0, 1] and labels."""
    pixels = gzip.decompress((folder / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    images = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 28, 28, 1)[:count]
    return images.astype("float32") / 255, np.frombuffer(labels, np.uint8, offset=8)[:count].astype(
        "int32"
    )


def network(library):
    """Return the network in Keras 3 or in tf_keras."""
    layers = library.layers
    inputs = library.Input((28, 28, 1))
    x = inputs
    for filters in (8, 16, 16):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.Dense(32, activation="relu")(layers.Flatten()(x))
    return library.Model(inputs, layers.Dense(10)(x))


def compiled(library, model, rate):
    """Compile for classification with logits."""
    loss = library.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(library.optimizers.SGD(rate, momentum=0.9), loss, jit_compile=False)
    return model


def accuracy(scores, labels):
    """Return the share of right predictions."""
    return float((np.asarray(scores).argmax(1) == labels).mean())


def int8_of_tfmot(model):
    """Convert TF-MOT's model as its guide does."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    with captured_output():
        return converter.convert()


def compare_accuracy(seed, train, test):
    """Train both for int8 from the same weights; return the accuracies of models and files, and the agreements."""
    keras.utils.set_random_seed(seed)
    dense = compiled(keras, network(keras), 0.05)
    order = np.random.default_rng(seed).permutation(len(train[0]))
    x, y = train[0][order], train[1][order]
    dense.fit(x, y, batch_size=BATCH, epochs=EPOCHS, shuffle=False, verbose=0)
    old = network(tf_keras)
    old.set_weights(dense.get_weights())
    models = {
        "tfaudit": compiled(keras, tfaudit.quantization_aware(dense), 0.01),
        "TF-MOT": compiled(tf_keras, tfmot.quantization.keras.quantize_model(old), 0.01),
    }
    row = {"dense": accuracy(dense.predict(test[0], verbose=0), test[1])}
    for name, model in models.items():
        model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
        scores = model.predict(test[0], verbose=0)
        content = tfaudit.quantize(model, "int8") if name == "tfaudit" else int8_of_tfmot(model)
        stored = Flatbuffer(content)(test[0])
        row[name] = accuracy(scores, test[1])
        row[f"{name} int8"] = accuracy(stored, test[1])
        row[f"{name} agreement"] = float((stored.argmax(1) == scores.argmax(1)).mean())
        row[f"{name} kB"] = len(content) / 1000
    return row


def step_times(train):
    """Return the median step time of each of four trainings in milliseconds, measured interleaved."""
    x, y = train[0][: BATCH * BLOCK], train[1][: BATCH * BLOCK]
    models = {
        "Keras": compiled(keras, network(keras), 0.01),
        "tfaudit": compiled(keras, tfaudit.quantization_aware(network(keras)), 0.01),
        "tf_keras": compiled(tf_keras, network(tf_keras), 0.01),
        "TF-MOT": compiled(
            tf_keras, tfmot.quantization.keras.quantize_model(network(tf_keras)), 0.01
        ),
    }
    seconds = {name: [] for name in models}
    for block in range(BLOCKS + 1):
        for name, model in models.items():
            begin = time.process_time()
            model.fit(x, y, batch_size=BATCH, epochs=1, shuffle=False, verbose=0)
            if block:  # the first one traces
                seconds[name].append(time.process_time() - begin)
    return {name: 1000 * float(np.median(taken)) / BLOCK for name, taken in seconds.items()}


def main(folder: str, seeds: int = 3) -> None:
    """Print accuracies with their means, and step times with their ratios."""
    train, test = fashion(Path(folder), "train", IMAGES), fashion(Path(folder), "t10k", 10000)
    times = step_times(train)
    print("  ".join(f"{name} {taken:.1f} ms" for name, taken in times.items()), flush=True)
    print(f"tfaudit / Keras {times['tfaudit'] / times['Keras']:.2f}", flush=True)
    print(f"TF-MOT / tf_keras {times['TF-MOT'] / times['tf_keras']:.2f}", flush=True)
    rows = []
    for seed in range(seeds):
        rows.append(compare_accuracy(seed, train, test))
        print("  ".join(f"{name} {value:.4f}" for name, value in rows[-1].items()), flush=True)
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(
            f"{name:20} {np.mean(values):.4f} +- {np.std(values, ddof=1) if seeds > 1 else 0:.4f}",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
