"""How close training comes to the machine: operations a second of a member's step over those of matrix products.

    python benchmarks/training_rate.py [NET ...] [--batch-size 128] [--steps 100] [--rounds 3] [--clock cpu]
        [--precision mixed_bfloat16] [--kernels]

A step counts as three forward passes, each with the operations that `tfaudit.cost` reports; so what BatchNormalization,
ReLU, pooling and the optimizer do counts as time, but not as operations. The machine's rate is that of the best of
several products of square float32 matrices in the same thread. Of each net the benchmark prints

- `member`: steps as the engine does them, one after another, with batches from the seeded pipeline;
- `unfused`: the same with Keras' own BatchNormalization, and its time over `member`'s;
- `single`: `member` with `steps_per_execution=1`, as Keras does them by default, and its time over `member`'s;
- `compute`: the same compiled step on one batch that is there already;
- `pipeline`: the batches alone;
- `pruning`: `member` with gradual pruning to 90 %, whose masks change every 20 steps;
- what a member costs besides: seconds of the first step, which traces, and of saving, predicting 10,000 images.

`--clock cpu` counts the processor's seconds of all threads, which other load affects less. `--precision` is that of the
network; matrix products stay in float32. Goal for `member`: .6.

`--kernels` compares `member` alone, in alternate processes, with TensorFlow's own kernels and with oneDNN's, which
workers use. By default TensorFlow chooses by the processor.
"""

import argparse
import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tfaudit.population.machine import ONEDNN_VARIABLE, onednn_setting

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ |= onednn_setting()

import numpy as np
import tensorflow as tf

from tfaudit.compress.counts import counts
from tfaudit.datasets.dataset import Dataset
from tfaudit.datasets.pipeline import training_batches
from tfaudit.population.member import gradual_trainer
from tfaudit.population.training import Trainer
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

TESTED = 10_000
NETS = {
    "lenet_p": ((28, 28, 1), "crop_flip"),
    "lenet_r": ((28, 28, 1), "none"),
    "cifar_convnet": ((32, 32, 3), "crop_flip"),
    "resnet20": ((32, 32, 3), "crop_flip"),
}
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.process_time}


def random_images(shape: tuple[int, int, int], examples: int) -> Dataset:
    """Return a training set of noise."""
    draw = np.random.default_rng(0)
    return Dataset(
        name="noise",
        split="train",
        class_names=tuple("0123456789"),
        image_shape=shape,
        num_examples=examples,
        inputs=draw.integers(0, 256, (examples, *shape), np.uint8),
        known_labels=draw.integers(0, 10, examples),
        known_ids=np.arange(examples).astype(str),
    )


def matrix_rate(clock: Callable[[], float]) -> float:
    """Return the operations a second of the best matrix product."""
    best = 0.0
    for size in (512, 1024, 2048):
        left, right = (tf.random.stateless_normal([size, size], [size, i]) for i in (0, 1))
        product = tf.function(tf.matmul)
        product(left, right)
        repeats = max(1, round(2e10 / size**3))
        for _ in range(3):
            start = clock()
            for _ in range(repeats):
                product(left, right).numpy()
            best = max(best, repeats * 2 * size**3 / (clock() - start))
    return best


def study_of(net: str, options: argparse.Namespace) -> tuple[Study, Training, Dataset]:
    """Return a study of a net, its training and noise to train on."""
    shape, augmentation = NETS[net]
    plan = Training(
        steps=options.steps,
        batch_size=options.batch_size,
        augmentation=augmentation,
        weight_decay=5e-4,
        precision=options.precision,
    )
    study = Study(name="rate", dataset="cifar10", model=net, training=plan)
    return study, plan, random_images(shape, 100 * options.batch_size)


def member_step(net: str, options: argparse.Namespace) -> float:
    """Return the milliseconds of a step of `member`."""
    study, plan, data = study_of(net, options)
    trainer = Trainer(study, plan, data)
    model = trainer.build(0)
    trainer.train(model, 0)
    clock = CLOCKS[options.clock]
    start = clock()
    trainer.train(model, 0)
    return 1000 * (clock() - start) / options.steps


def compare_kernels(options: argparse.Namespace) -> None:
    """Print what a step of each net takes with TensorFlow's own kernels and with oneDNN's."""
    command = [sys.executable, *sys.argv, "--member"]
    times: dict[str, list[list[float]]] = {"0": [], "1": []}
    for _ in range(options.rounds):
        for setting, rounds in times.items():
            environment = os.environ | {ONEDNN_VARIABLE: setting}
            run = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, check=True
            )
            rounds.append([float(step) for step in run.stdout.split()])
    both = (zip(*rounds, strict=True) for rounds in times.values())
    for net, own, onednn in zip(options.nets or NETS, *both, strict=True):
        steps = (statistics.median(own), statistics.median(onednn))
        print("{}: TensorFlow's own kernels {:.1f} ms, oneDNN's {:.1f} ms".format(net, *steps))
        print_ratios("own / oneDNN's", own, onednn)


def print_ratios(name: str, ours: Sequence[float], others: Sequence[float]) -> None:
    """Print the median of the ratios of two series, and each."""
    ratios = sorted(a / b for a, b in zip(ours, others, strict=True))
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"  {name} {statistics.median(ratios):.2f} ({each})", flush=True)


def measure(
    net: str, options: argparse.Namespace, clock: Callable[[], float], machine: float
) -> None:
    """Print the rates of a net."""
    study, plan, data = study_of(net, options)
    size, steps = options.batch_size, options.steps
    shape, augmentation = NETS[net]
    trainer, pruner = (
        Trainer(study, plan, data),
        gradual_trainer(study, Pruned(0.9, frequency=20), data),
    )
    unfused = Trainer(study, plan, data)
    for layer in unfused.model.layers:
        vars(layer).pop("call", None)  # what `fuse_batch_norm` has set
    single = Trainer(study, dataclasses.replace(plan, steps_per_execution=1), data)
    model, pruned = trainer.build(0), pruner.build(0)
    operations = 3 * size * counts(model).summary()["flops"]

    def seconds(function: Callable[[], object]) -> float:
        start = clock()
        function()
        return clock() - start

    first = seconds(lambda: trainer.train(model, 0))
    pruner.train(pruned, 0)
    single.train(model, 0)
    unfused.train(model, 0)
    batches = training_batches(data, batch_size=size, seed=0, augmentation=augmentation)
    batch = next(iter(batches))
    constant = tf.data.Dataset.from_tensors(batch).cache().repeat()
    parts = {
        "member": lambda: trainer.train(model, 0),
        "unfused": lambda: unfused.train(model, 0),
        "single": lambda: single.train(model, 0),
        "compute": lambda: trainer.model.fit(
            constant, steps_per_epoch=steps, verbose=0, shuffle=False
        ),
        "pipeline": lambda: [None for _ in batches.take(steps)],
        "pruning": lambda: pruner.train(pruned, 0),
    }
    times = {name: [] for name in parts}
    for _ in range(options.rounds):
        for name, part in parts.items():
            times[name].append(seconds(part))
    print(f"{net}: batches of {size}, {operations / 1e9:.2f} billion operations a step")
    for name, values in times.items():
        step = statistics.median(values) / steps
        share = (
            ""
            if name == "pipeline"
            else f"  {operations / step / 1e9:6.1f} GFLOP/s  {operations / step / machine:.2f}"
        )
        print(f"  {name:9}{1000 * step:7.2f} ms{share}")
    for name in ("unfused", "single"):
        print_ratios(f"{name} / member", times[name], times["member"])
    with tempfile.TemporaryDirectory() as folder:
        saving = seconds(lambda: model.save(Path(folder) / "m.keras"))
    tests = np.zeros((TESTED, *shape), np.float32)
    predicting = seconds(lambda: model.predict(tests, batch_size=256, verbose=0))
    tracing = first - statistics.median(times["member"])
    print(
        f"  tracing {tracing:.2f} s, saving {saving:.2f} s, predicting {predicting:.2f} s",
        flush=True,
    )


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("nets", nargs="*", metavar="NET", help=", ".join(NETS))
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--member", action="store_true", help="print a step of `member` alone")
    options = parser.parse_args()
    nets = options.nets or NETS
    if options.kernels and not options.member:
        compare_kernels(options)
        return
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    if options.member:
        print(*(member_step(net, options) for net in nets))
        return
    clock = CLOCKS[options.clock]
    machine = matrix_rate(clock)
    print(f"matrix products: {machine / 1e9:.1f} GFLOP/s of one thread", flush=True)
    for net in nets:
        measure(net, options, clock, machine)


if __name__ == "__main__":
    main()
