"""What `tfaudit compress` finds with the moving statistics that few steps of fine-tuning leave, and with new ones.

    python benchmarks/stale_statistics.py OUT [--dataset fashion_mnist] [--examples 6000] [--epochs 6] [--limits 3 12]

A network of Keras' own layers, three strided convolutions with BatchNormalization of the default momentum .99, is
trained on all training images. `compress_to_limits` searches with the first `--examples` of them, which are 141 steps
for each pruned model, once without `recalibrate_batch_norm` and once with it, all else alike: seeds, batches, limits
(points of accuracy, and of any class's recall). Printed are the trained models of both searches, on the selection part
and before they are quantized; how many candidates were left out since a model failed before it was quantized; and the
file that was chosen, judged on the held-out part.
"""

import argparse
import contextlib
from pathlib import Path
from unittest import mock

import keras
import numpy as np
import pandas as pd

from tfaudit import Limits, compress_to_limits, load_dataset
from tfaudit.datasets.dataset import Dataset
from tfaudit.extensions.search import candidate_models
from tfaudit.extensions.search.candidate_store import FOLDER
from tfaudit.extensions.search.search_inputs import Parts
from tfaudit.extensions.search.smallest_file import NOT_TRIED, SmallestFile
from tfaudit.store.store import open_store

__all__ = ["main"]


def network(train: Dataset, epochs: int) -> keras.Model:
    """Return a trained network."""
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input(train.image_shape), keras.layers.Rescaling(1 / 255)])
    for filters in (32, 64, 128):
        model.add(keras.layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False))
        model.add(keras.layers.BatchNormalization())
        model.add(keras.layers.ReLU())
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(train.num_classes))
    rate = keras.optimizers.schedules.CosineDecay(3e-3, epochs * -(-train.num_examples // 128))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(rate), loss, metrics=["accuracy"])
    model.fit(train.images, train.labels, batch_size=128, epochs=epochs, verbose=2)
    return model


def unquantized(out: Path, labels: np.ndarray) -> pd.DataFrame:
    """Return accuracy and lowest recall, in percent, of the models that a search trained."""
    rows = {}
    store = open_store(out / FOLDER)
    for key in store.variants:
        if not (store.directory / store.member_path(key, 0, "model.keras")).exists():
            continue
        right = store.predictions(key).ranked[0, :, 0] == labels
        recalls = [right[labels == label].mean() for label in np.unique(labels)]
        rows[key] = {"top-1": 100 * right.mean(), "lowest recall": 100 * min(recalls)}
    return pd.DataFrame.from_dict(rows, orient="index").round(1)


def summary(found: SmallestFile) -> dict[str, object]:
    """Return what a search came to."""
    table = found.frame()
    failed = table["reason"].str.contains("before it is quantized")
    judged = found.verdict.frame().set_index("check")["value"].round(2).to_dict()
    return {
        "candidates": len(table),
        "left out": int((table["outcome"] == NOT_TRIED).sum()),
        "left out since a model failed": int(failed.sum()),
        "made": int((table["outcome"] != NOT_TRIED).sum()),
        "chosen": found.chosen,
        "bytes": len(found.content),
        "held-out verdict": found.outcome,
        **judged,
    }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--dataset", default="fashion_mnist")
    parser.add_argument("--examples", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--limits", type=float, nargs=2, default=(3, 12))
    options = parser.parse_args()
    train, test = (load_dataset(options.dataset, split) for split in ("train", "test"))
    model, labels = (
        network(train, options.epochs),
        Parts.of(test, held_out=0.5, seed=0).selection.labels,
    )
    limits = Limits(overall_drop_pp=options.limits[0], worst_class_drop_pp=options.limits[1])
    without = mock.patch.object(candidate_models, "recalibrate_batch_norm", return_value=())
    trained, summaries = {}, {}
    for name, statistics in (("moving", without), ("new", contextlib.nullcontext())):
        with statistics:
            found = compress_to_limits(
                model, test, limits, train=train.take(options.examples), out=options.out / name
            )
        trained[name], summaries[name] = unquantized(options.out / name, labels), summary(found)
    print(pd.concat(trained, axis=1).to_string(na_rep="-"))
    print(pd.DataFrame(summaries).to_string(na_rep="-"))


if __name__ == "__main__":
    main()
