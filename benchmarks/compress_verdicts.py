"""What searches of `tfaudit compress` find: share that pass, size, and the loss on images that no search had.

    python -m benchmarks.compress_verdicts [DATA ...] [--splits 10] [--trained] [--data-dir DIR]

A small network is trained on each data set. Every search takes its own random share of the test images; with
`--trained` also some training images, for pruned candidates. "The smallest" judges only the smallest file that passes
on the selection part, on the held-out part; "in turn" those that pass there, from the largest. "Plain on all" is what
`compress_to_limits` does. The loss, and whether it exceeds a limit, are measured on test images that no search took.
"""

import argparse
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import keras
import numpy as np
import pandas as pd

from benchmarks.first_screens import printed
from tfaudit import Limits, compress_to_limits, load_dataset
from tfaudit.audits.gate.checks import PASS
from tfaudit.compress.model_comparison import predictions_of
from tfaudit.datasets.dataset import Dataset
from tfaudit.search import search_report
from tfaudit.search.search_settings import FINE_TUNING
from tfaudit.search.trials import Trials

EPOCHS = {"digits": 30, "mnist": 2, "fashion_mnist": 3, "cifar10": 5}
"""Epochs of training of each network."""

TRAINED = 4000
"""Training images with which pruned candidates are fine-tuned."""

SEARCHES = {
    "digits": (0.7, Limits(4, 25)),
    "mnist": (0.2, Limits(1, 5)),
    "fashion_mnist": (0.2, Limits(1, 5)),
    "cifar10": (0.2, Limits(1, 5)),
}
"""Share of the test images that a search has, and its limits."""


def network(train: Dataset, epochs: int) -> keras.Model:
    """Return a trained network of two convolutions."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input(train.image_shape)])
    model.add(keras.layers.Rescaling(1 / float(train.images.max())))
    for filters in (16, 32):
        model.add(keras.layers.Conv2D(filters, 3, 2, padding="same", activation="relu"))
    model.add(keras.layers.Flatten())
    model.add(keras.layers.Dense(train.num_classes))
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(train.images, train.labels, batch_size=128, epochs=epochs, verbose=0)
    return model


def smallest(trials: Trials, *_: object) -> tuple[list[str], list[str]]:
    """Return the key of the smallest file that passes on the selection part, or else of the closest, as a sequence."""
    return [], [trials.smallest() or trials.closest()]


def in_turn(trials: Trials, *_: object) -> tuple[list[str], list[str]]:
    """Return the keys of all files that pass on the selection part, plain or not, as one sequence."""
    return sequences(trials, (), ())


sequences = Trials.sequences
RULES: dict[str, Callable] = {
    "the smallest": smallest,
    "in turn": in_turn,
    "plain on all": sequences,
}


def searches(
    model: keras.Model,
    test: Dataset,
    rows: np.ndarray,
    limits: Limits,
    seed: int,
    train: Dataset | None,
) -> list[dict]:
    """Return what each rule finds with some rows of the test images."""
    asked, others = (test.select(np.flatnonzero(one), split="test") for one in (rows, ~rows))
    found = []
    without_report = mock.patch.object(search_report, "write_report")
    with TemporaryDirectory() as folder, without_report:
        for rule, sequence in RULES.items():  # later ones find all files in the directory
            (Path(folder) / "model.tflite").unlink(missing_ok=True)
            for stale in Path(folder).glob("candidates/predictions/split=[hp]*"):
                shutil.rmtree(stale)  # each rule judges as if it were the first
            with mock.patch.object(Trials, "sequences", sequence):
                search = compress_to_limits(
                    model, asked, limits, train=train, training=FINE_TUNING, out=folder, seed=seed
                )
            row = {"judged": rule, "passes": 100.0 * (search.outcome == PASS)}
            if search.outcome == PASS:
                path = Path(folder) / "model.tflite"
                before, after = predictions_of({"before": model, "after": path}, others).values()
                lost = pd.Series(before.correct()[0].astype(float) - after.correct()[0])
                loss, worst = 100 * lost.mean(), 100 * lost.groupby(before.labels).mean().max()
                over = loss > limits.overall_drop_pp or worst > limits.worst_class_drop_pp
                pruned = search.chosen.startswith(("channel", "weight"))
                row |= {"kB": path.stat().st_size / 1e3, "loss": loss, "wrong": 100.0 * over}
                row |= {"pruned": 100.0 * pruned}
            found.append(row)
    return found


def main() -> None:
    """Print a table for each data set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("datasets", nargs="*", default=list(EPOCHS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--trained", action="store_true")
    parser.add_argument("--data-dir")
    options = parser.parse_args()
    for name in options.datasets:
        found = []
        train, test = (
            load_dataset(name, split, data_dir=options.data_dir) for split in ("train", "test")
        )
        model = network(train, EPOCHS[name])
        for seed in range(options.splits):
            share, limits = SEARCHES[name]
            rows = np.random.default_rng(seed).random(test.num_examples) < share
            some = train.take(TRAINED) if options.trained else None
            rules = searches(model, test, rows, limits, seed, some)
            found += [{"data": name, **row} for row in rules]
        means = pd.DataFrame(found).groupby(["data", "judged"], sort=False).mean()
        printed(means.reset_index())


if __name__ == "__main__":
    main()
