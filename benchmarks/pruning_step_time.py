"""Cost of pruning per training step: `fit` with `tfaudit.Pruning` over plain `fit`, compared with TF-MOT's wrapper.

    python benchmarks/pruning_step_time.py [--rounds 80] [--nets lenet resnet20] [--clock wall]

Two networks: LeNet (5x5 kernels, 61,706 parameters) on 28x28 images and ResNet-20 on 32x32, with random data in batches
of 128. Four fits take turns in short rounds, every other round in reverse, so other load affects them alike: plain
Keras 3 and with `Pruning`, plain tf_keras and with TF-MOT's `prune_low_magnitude`, both with the same schedule. Masks
are updated every fourth round: once in 100 steps of LeNet, TF-MOT's default, and once in 20 of ResNet-20.

The benchmark prints the median milliseconds of a step and the median over the rounds of the ratio pruned / plain. Goal
for `Pruning`: 1.03. `--clock cpu` counts the process's CPU seconds on all cores, which other load affects less.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow_model_optimization.sparsity.keras as tfmot
import tf_keras

from tfaudit.compress.pruning.pruning import Pruning

__all__ = ["main"]

BATCH = 128
FOREVER = 10**9


def lenet(api: Any) -> Any:
    """Return LeNet-5 as in [R]."""
    layers = api.layers
    inputs = api.Input((28, 28, 1))
    x = layers.Conv2D(6, 5, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(16, 5, activation="relu")(layers.MaxPooling2D()(x))
    x = layers.Flatten()(layers.MaxPooling2D()(x))
    x = layers.Dense(84, activation="relu")(layers.Dense(120, activation="relu")(x))
    return api.Model(inputs, layers.Dense(10)(x))


def resnet20(api: Any) -> Any:
    """Return ResNet-20 with strided 1x1 shortcuts."""
    layers = api.layers

    def conv(x: Any, filters: int, size: int = 3, strides: int = 1) -> Any:
        x = layers.Conv2D(filters, size, strides, padding="same", use_bias=False)(x)
        return layers.BatchNormalization()(x)

    inputs = api.Input((32, 32, 3))
    x = layers.ReLU()(conv(inputs, 16))
    for filters, strides in (
        (16, 1),
        (16, 1),
        (16, 1),
        (32, 2),
        (32, 1),
        (32, 1),
        (64, 2),
        (64, 1),
        (64, 1),
    ):
        y = conv(layers.ReLU()(conv(x, filters, strides=strides)), filters)
        x = layers.ReLU()(layers.Add()([y, conv(x, filters, 1, strides) if strides > 1 else x]))
    return api.Model(inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x)))


def fits(
    net: Callable[[Any], Any], steps: int, now: Callable[[], float]
) -> dict[str, Callable[[], float]]:
    """Return the four fits by name: each runs `steps` steps and returns the milliseconds of one."""
    schedule = tfmot.ConstantSparsity(0.9, steps // 2, FOREVER, 4 * steps)
    parts = {
        "Keras 3": (keras, net(keras), []),
        "tfaudit.Pruning": (keras, net(keras), [Pruning(schedule)]),
        "tf_keras": (tf_keras, net(tf_keras), []),
        "TF-MOT": (
            tf_keras,
            tfmot.prune_low_magnitude(net(tf_keras), pruning_schedule=schedule),
            [tfmot.UpdatePruningStep()],
        ),
    }

    def fit(api: Any, model: Any, callbacks: list[Any]) -> Callable[[], float]:
        loss = api.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(
            api.optimizers.SGD(0.01, momentum=0.9, nesterov=True), loss, jit_compile=False
        )
        rng = np.random.default_rng(0)
        images = rng.normal(size=(steps * BATCH, *model.input_shape[1:])).astype(np.float32)
        labels = rng.integers(0, 10, len(images))

        def run() -> float:
            clock = Clock(api, now)
            model.fit(
                images,
                labels,
                batch_size=BATCH,
                shuffle=False,
                verbose=0,
                callbacks=[*callbacks, clock.callback],
            )
            return clock.milliseconds(steps)

        return run

    return {name: fit(*arguments) for name, arguments in parts.items()}


class Clock:
    """Times an epoch from its second step to its end, without the preparation of `fit`."""

    def __init__(self, api: Any, now: Callable[[], float]) -> None:
        clock = self

        class Timer(api.callbacks.Callback):
            def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
                if batch == 0:
                    clock.begin = now()
                clock.end = now()

        self.begin = self.end = 0.0
        self.callback = Timer()

    def milliseconds(self, steps: int) -> float:
        """Return the milliseconds per step."""
        return 1000 * (self.end - self.begin) / (steps - 1)


def main() -> None:
    """Run the rounds and print the table."""
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--rounds", type=int, default=80, help="rounds of LeNet; ResNet-20 has half as many"
    )
    arguments.add_argument(
        "--nets", nargs="+", choices=["lenet", "resnet20"], default=["lenet", "resnet20"]
    )
    arguments.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    chosen = arguments.parse_args()
    now = time.perf_counter if chosen.clock == "wall" else time.process_time
    for net in ({"lenet": lenet, "resnet20": resnet20}[name] for name in chosen.nets):
        steps, count = (25, chosen.rounds) if net is lenet else (5, chosen.rounds // 2)
        runs = fits(net, steps, now)
        for run in runs.values():
            run()  # traces
        orders = (list(runs), list(reversed(runs)))  # the position within a round must not matter
        rounds = [{name: runs[name]() for name in orders[i % 2]} for i in range(count)]
        print(
            f"{net.__name__}, {steps} steps of {BATCH} images, median of {count} rounds, {chosen.clock} time"
        )
        for pruned, plain in (("tfaudit.Pruning", "Keras 3"), ("TF-MOT", "tf_keras")):
            ratio = statistics.median(times[pruned] / times[plain] for times in rounds)
            one, other = (
                statistics.median(times[name] for times in rounds) for name in (pruned, plain)
            )
            print(
                f"  {pruned:16} {one:7.2f} ms   over plain {plain:9} {other:7.2f} ms   = {ratio:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
