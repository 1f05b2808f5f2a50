"""Where the change of a class's recall comes from: weights, order, mask, calibration or images.

    tfaudit prepare fashion_mnist --from FASHION_MNIST
    python -m benchmarks.sources_of_change DIR [digits] [fashion_mnist] [--picture SOURCES.svg]

Small networks are trained with every combination of initial weights and order of the training data. Each is pruned to
50 % with masks from gradients on several draws of 512 training images, trained for another epoch with the masks, and
converted to int8 with several draws of 100 calibration images. The outcome is the change, in points, of each class's
recall from the trained model to its int8 file. `benchmarks.crossed.variance_sources` splits its variance. DIR keeps the
predictions; the same command goes on where it stopped.
"""

import argparse
import itertools
from pathlib import Path
from typing import NamedTuple

import altair as alt
import keras
import numpy as np
import pandas as pd

import tfaudit
from benchmarks.crossed import variance_sources
from tfaudit.compress.pruning.hold_masks import HoldMasks
from tfaudit.datasets.dataset import Dataset
from tfaudit.models.registry import build_model

SPARSITY = 0.5
GRADIENT_IMAGES, CALIBRATION_IMAGES = 512, 100
SOURCES = {
    "initial weights": 6,
    "order of the data": 6,
    "images behind the mask": 3,
    "calibration images": 3,
}
"""Levels of each factor."""

LEGEND = "datum.label == 'again' ? 'if only this is drawn again' : 'missing if only this is shared'"
"""Words of the two shares in the chart."""


class Setting(NamedTuple):
    """A network and its training."""

    model: str
    epochs: int
    batch: int
    rate: float


SETTINGS = {
    "digits": Setting("digits_convnet", 20, 32, 0.05),
    "fashion_mnist": Setting("lenet_r", 4, 64, 0.05),
}


def fit(
    model: keras.Model,
    data: Dataset,
    setting: Setting,
    *,
    order: int,
    epochs: int,
    rate: float,
    callbacks: tuple[keras.callbacks.Callback, ...] = (),
) -> None:
    """Train, the images of each epoch in an order that depends on a seed alone."""
    generator = np.random.default_rng(order)
    steps = len(data.labels) // setting.batch
    decay = keras.optimizers.schedules.CosineDecay(rate, steps * epochs)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(decay, momentum=0.9), loss, steps_per_execution=steps)
    kept = [generator.permutation(len(data.labels))[: steps * setting.batch] for _ in range(epochs)]
    rows = np.concatenate(kept)
    model.fit(
        data.images[rows],
        data.labels[rows],
        setting.batch,
        shuffle=False,
        verbose=0,
        callbacks=list(callbacks),
    )


def draw(data: Dataset, count: int, seed: int) -> np.ndarray:
    """Return the rows of a random draw of training images."""
    return np.random.default_rng(1000 + seed).choice(len(data.labels), count, replace=False)


def changes(name: str, folder: Path) -> list[np.ndarray]:
    """Train, prune and quantize every combination; return, per class, the changes `(levels ..., images)` in points."""
    train, test = (tfaudit.load_dataset(name, split) for split in ("train", "test"))
    starts, orders, *others = SOURCES.values()
    found = np.zeros((starts, orders, *others, len(test.labels)), np.float32)
    for start, order in itertools.product(range(starts), range(orders)):
        file = folder / f"{name}-{start}-{order}.npy"
        if not file.is_file():
            np.save(file, changes_of_one_training(SETTINGS[name], train, test, start, order))
            print(file, f"{np.load(file).mean():+.2f} points", flush=True)
        found[start, order] = np.load(file)
    return [found[..., test.labels == label] for label in range(test.num_classes)]


def changes_of_one_training(
    setting: Setting, train: Dataset, test: Dataset, start: int, order: int
) -> np.ndarray:
    """Return the changes `(masks, calibrations, images)` of a trained network, in points."""

    def right(model: keras.Model | bytes) -> np.ndarray:
        return 100.0 * (tfaudit.predict(model, test.images)[0][:, 0] == test.labels)

    *_, masks, calibrations = SOURCES.values()
    found = np.zeros((masks, calibrations, len(test.labels)), np.float32)
    keras.utils.set_random_seed(start)
    mean, std = train.moments()
    shape = train.images.shape[1:]
    model = build_model(setting.model, shape, train.num_classes, mean=mean, std=std)
    fit(model, train, setting, order=order, epochs=setting.epochs, rate=setting.rate)
    before, weights = right(model), model.get_weights()
    for mask in range(masks):
        model.set_weights(weights)
        rows = draw(train, GRADIENT_IMAGES, mask)
        batch = (train.images[rows], train.labels[rows])
        kept = tfaudit.prune(model, SPARSITY, method="gradient", gradient_data=batch)
        rate, hold = setting.rate / 10, (HoldMasks(kept),)
        fit(model, train, setting, order=order, epochs=1, rate=rate, callbacks=hold)
        for calibration in range(calibrations):
            images = train.images[draw(train, CALIBRATION_IMAGES, 500 + calibration)]
            found[mask, calibration] = (
                right(tfaudit.quantize(model, "int8", representative=images)) - before
            )
    return found


def sources_chart(table: pd.DataFrame) -> alt.FacetChart:
    """Draw both shares of each source with their intervals, a panel per data set."""
    base = alt.Chart(table).encode(
        alt.Y("source", sort=None, title=None),
        alt.YOffset("part", sort=["again", "alone"]),
        alt.Color(
            "part",
            sort=["again", "alone"],
            title=None,
            scale=alt.Scale(range=["#1f5fa8", "#d9822b"]),
            legend=alt.Legend(orient="top", labelExpr=LEGEND),
        ),
    )
    points = base.mark_point(filled=True, size=50, opacity=1).encode(
        alt.X("share", title="share of the variance of a class's change, %")
    )
    lines = base.mark_rule().encode(alt.X("low"), alt.X2("high"))
    return (lines + points).properties(width=260).facet(alt.Facet("data", title=None), columns=2)


def main() -> None:
    """Print a row per data set and source, and write the chart."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("data", nargs="*", metavar="DATA", help=", ".join(SETTINGS))
    parser.add_argument("--picture", help="SVG or PNG of the shares")
    options = parser.parse_args()
    if unknown := set(options.data) - set(SETTINGS):
        parser.error(f"data: got {', '.join(sorted(unknown))}, expected {', '.join(SETTINGS)}")
    options.directory.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in options.data or SETTINGS:
        split = variance_sources(changes(name, options.directory), list(SOURCES))
        for source, found in split.iterrows():
            for part in ("again", "alone"):
                share, margin = 100 * found[part], 196 * found[f"{part}_error"]
                deviation = np.sqrt(max(found["again_variance"], 0))
                rows.append((name, source, part, share, share - margin, share + margin, deviation))
    names = ["data", "source", "part", "share", "low", "high", "deviation"]
    table = pd.DataFrame(rows, columns=names)
    print("| data | source | drawn again, points | share, % (95 %) | alone, % (95 %) |")
    print("|---|---|---|---|---|")
    for (name, source), two in table.groupby(["data", "source"], sort=False):
        shares = [f"{row.share:.0f} ({row.low:.0f} to {row.high:.0f})" for row in two.itertuples()]
        print(f"| {name} | {source} | {two['deviation'].iloc[0]:.2f} | {' | '.join(shares)} |")
    if options.picture:
        sources_chart(table).save(options.picture)


if __name__ == "__main__":
    main()
