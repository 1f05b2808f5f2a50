"""Cost of `tfaudit.Pruning` per training step on TensorFlow, JAX and torch, beside PQuantML's pruning on torch.

    pip install jax torch pquant-ml
    python benchmarks/pruning_backends.py [--backends tensorflow jax torch] [--rounds 20] [--nets lenet_r resnet20]

TF-MOT's wrapper, which knows TensorFlow only, stands in `pruning_step_time.py`. Each backend runs in a process of its
own on one core, with random images in batches of 128. Fits with and without `Pruning` take turns, every other round in
reverse; masks for 90 % are updated every fourth round, as there: once in 100 steps of LeNet and once in 20 of
ResNet-20. PQuantML trains the same layers in PyTorch by a plain loop, without and with its method PDP for 90 %, after
pretraining and without quantization.

Printed are the median milliseconds of processor time of a step, without the first of each round, and the median over
the rounds of the ratio with / without. Goal: 1.03.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

BATCH, SPARSITY = 128, 0.9
SHAPES = {"lenet_r": (28, 28, 1), "resnet20": (32, 32, 3)}
STEPS = {"lenet_r": 25, "resnet20": 5}
BACKENDS = ("tensorflow", "jax", "torch")

Fits = dict[str, Callable[[], float]]
"""Functions by name: each trains for the steps of a round and returns the milliseconds of one."""


def data_of(net: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the images and labels of one round."""
    draws = np.random.default_rng(0)
    images = draws.normal(size=(STEPS[net] * BATCH, *SHAPES[net])).astype(np.float32)
    return images, draws.integers(0, 10, len(images))


def keras_fits(net: str) -> Fits:
    """Return `fit` of Keras without and with `Pruning`."""
    import keras

    from tfaudit import Pruning
    from tfaudit.compress import ConstantSparsity
    from tfaudit.models.registry import build_model

    images, labels = data_of(net)
    steps = STEPS[net]
    schedule = ConstantSparsity(SPARSITY, steps // 2, 10**9, 4 * steps)

    class Clock(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 0:
                self.begin = time.process_time()

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.milliseconds = 1000 * (time.process_time() - self.begin) / (steps - 1)

    def fit(*callbacks: keras.callbacks.Callback) -> Callable[[], float]:
        model = build_model(net, SHAPES[net], 10)
        model.compile(
            keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True),
            keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            jit_compile=keras.backend.backend() == "jax",
        )

        def run() -> float:
            clock = Clock()
            model.fit(
                images, labels, BATCH, shuffle=False, verbose=0, callbacks=[*callbacks, clock]
            )
            return clock.milliseconds

        return run

    return {"plain": fit(), "pruned": fit(Pruning(schedule))}


def pquant_fits(net: str) -> Fits:
    """Return a loop of PyTorch without and with PQuantML's layers; LeNet only."""
    import torch
    from pquant import add_compression_layers, pdp_config
    from pquant.core.torch.layers import post_pretrain_functions
    from torch import nn

    images, labels = data_of(net)
    x, y = torch.tensor(images).permute(0, 3, 1, 2).contiguous(), torch.tensor(labels)

    def lenet() -> nn.Module:
        first = [nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2)]
        second = [nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()]
        dense = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
        return nn.Sequential(*first, *second, *dense)

    def loop(model: nn.Module) -> Callable[[], float]:
        optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9, nesterov=True)
        model.train()

        def run() -> float:
            for step, rows in enumerate(torch.arange(len(x)).split(BATCH)):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
                if step == 0:
                    begin = time.process_time()
            return 1000 * (time.process_time() - begin) / (STEPS[net] - 1)

        return run

    config = pdp_config()
    config.pruning_parameters.sparsity = SPARSITY
    config.quantization_parameters.enable_quantization = False
    shape = (1, *x.shape[1:])
    pruned = add_compression_layers(lenet(), config, shape)
    post_pretrain_functions(pruned, config, input_shape=shape)
    return {"plain": loop(lenet()), "pruned": loop(pruned)}


def measure(what: str, net: str, count: int) -> None:
    """Print the figures of one backend, or of PQuantML, in this process."""
    runs = (pquant_fits if what == "pquant" else keras_fits)(net)
    for run in runs.values():
        run()  # traces
    orders = (list(runs), list(reversed(runs)))  # the position within a round must not matter
    rounds = [{name: runs[name]() for name in orders[i % 2]} for i in range(count)]
    plain, pruned = (statistics.median(times[name] for times in rounds) for name in runs)
    ratios = [times["pruned"] / times["plain"] for times in rounds]
    low, _, high = statistics.quantiles(ratios, n=4)
    print(
        f"{net:9} {what:11} {pruned:7.2f} ms over {plain:7.2f} ms = {statistics.median(ratios):.3f} "
        f"(quartiles {low:.3f} to {high:.3f} of {count} rounds)",
        flush=True,
    )


def main() -> None:
    """Run every backend in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backends", nargs="*", choices=BACKENDS, default=list(BACKENDS))
    parser.add_argument("--nets", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument(
        "--rounds", type=int, default=40, help="of LeNet; half as many of ResNet-20"
    )
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        for net in options.nets:
            measure(options.alone, net, options.rounds if net == "lenet_r" else options.rounds // 2)
        return
    for what in (*options.backends, "pquant"):
        nets = [net for net in options.nets if what != "pquant" or net == "lenet_r"]
        command = [sys.executable, __file__, "--alone", what, "--rounds", str(options.rounds)]
        backend = {"KERAS_BACKEND": "torch" if what == "pquant" else what}
        subprocess.run([*command, "--nets", *nets], env={**os.environ, **backend}, check=False)


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    main()
