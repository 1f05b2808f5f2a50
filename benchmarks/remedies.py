"""Time of a training step with remedies over that of plain `fit`, in one process.

    python benchmarks/remedies.py [--model digits_convnet] [--edge 32] [--batch 128] [--steps 60] [--rounds 9]

The same model, compiled once, is trained on random images by plain `fit`, with `Distillation` (a teacher of the same
architecture), plain and focal. They take turns with plain training, in a new order in every round, and each round gives
a ratio for each. The teacher's forward pass alone is timed in the same turns, by a compiled function on the same
batches. The script prints median ratios with their quartiles, of the process's CPU times, which
other processes hardly disturb.

Goal: at most one forward pass of the teacher and 10 % more than plain training.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import keras
import numpy as np
import tensorflow as tf

from tfaudit import Distillation
from tfaudit.models.registry import build_model

__all__ = ["main"]

CLASSES = 10


def turns(model_name: str, edge: int, batch: int, steps: int) -> dict[str, Callable[[], float]]:
    """Return functions that do `steps` steps each and return their seconds."""
    draws = np.random.default_rng(0)
    images = draws.random((batch * steps, edge, edge, 3), dtype=np.float32) * 255
    labels = draws.integers(0, CLASSES, len(images))
    options = {"mean": [127.0] * 3, "std": [74.0] * 3}
    model, teacher = (
        build_model(model_name, (edge, edge, 3), CLASSES, **options) for _ in range(2)
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(1e-4, momentum=0.9), loss, jit_compile=False)
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(batch).cache()

    def training(*callbacks: keras.callbacks.Callback) -> Callable[[], float]:
        def run() -> float:
            start = time.process_time()
            model.fit(batches, epochs=1, verbose=0, callbacks=list(callbacks))
            return time.process_time() - start

        return run

    forward = tf.function(lambda inputs: teacher(inputs, training=False), autograph=False)

    def teaching() -> float:
        start = time.process_time()
        for inputs, _ in batches:
            forward(inputs).numpy()
        return time.process_time() - start

    return {
        "plain": training(),
        "teacher's forward pass": teaching,
        "distillation": training(Distillation(teacher)),
        "focal distillation": training(Distillation(teacher, focus=(0.5, 2.0))),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="digits_convnet")
    for name, value in (("edge", 32), ("batch", 128), ("steps", 60), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=value)
    settings = parser.parse_args()
    keras.utils.set_random_seed(0)
    runs = turns(settings.model, settings.edge, settings.batch, settings.steps)
    draws, ratios = np.random.default_rng(0), {name: list[float]() for name in runs}
    for run in runs.values():
        run()  # traces
    plain = []
    for _ in range(settings.rounds):
        seconds = {name: runs[name]() for name in draws.permutation(list(runs))}
        plain.append(seconds["plain"])
        for name in runs:
            ratios[name].append(seconds[name] / seconds["plain"])
    print(f"plain training: {1000 * statistics.median(plain) / settings.steps:.1f} ms a step")
    for name in list(runs)[1:]:
        low, middle, high = statistics.quantiles(ratios[name], n=4)
        print(f"{name:24} {middle:.2f} of plain training ({low:.2f} to {high:.2f})")


if __name__ == "__main__":
    main()
