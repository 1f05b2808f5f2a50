"""Is training for int8 fairer than quantizing afterwards? LeNet-5 on Fashion-MNIST, with and without a teacher.

    python -m benchmarks.faithful_int8 DIR [--members 10] [--epochs 2]

DIR holds the dense members of `benchmarks.ensemble_teacher`. Each becomes an int8 file in three ways: quantized
as it is; trained for int8; and trained for int8 with `Distillation` from the dense member, which keeps margins.
Losses are against the dense member, with intervals over images and members.
"""

import argparse
from pathlib import Path

import keras
import numpy as np

import tfaudit
from tfaudit.datasets.dataset import Dataset
from tfaudit.predictions import Predictions

WAYS = {"after training": None, "trained for int8": 0.0, "trained, with a teacher": 10.0}
"""Weight of the teacher; None for no training."""


def int8_file(
    dense: keras.Model, weight: float | None, train: Dataset, epochs: int, seed: int
) -> bytes:
    """Return the int8 file of a dense model."""
    if weight is None:
        rows = np.random.default_rng(seed).choice(len(train.labels), 100, replace=False)
        return tfaudit.quantize(dense, "int8", representative=train.images[rows])
    keras.utils.set_random_seed(seed)
    aware = tfaudit.quantization_aware(dense)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    aware.compile(keras.optimizers.Adam(1e-4), loss, jit_compile=False)
    teacher = (
        [tfaudit.Distillation(dense, temperature=1.0, weight=weight, from_logits=True)]
        if weight
        else []
    )
    aware.fit(train.images, train.labels, 128, epochs, verbose=0, callbacks=teacher)
    return tfaudit.quantize(aware, "int8")


def main() -> None:
    """Print a row per way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    parser.add_argument("--members", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    train, test = (tfaudit.load_dataset("fashion_mnist", split) for split in ("train", "test"))

    def predicted(models: list[keras.Model | bytes]) -> Predictions:
        scores = np.zeros((len(models), len(test.labels), 10), np.float32)
        for member, model in zip(scores, models, strict=True):
            classes, probabilities = tfaudit.predict(model, test.images, k=10)
            np.put_along_axis(member, classes, probabilities, axis=1)
        return Predictions.from_scores(test.labels, scores)  # which sees ties

    members = range(options.members)
    dense = [keras.saving.load_model(options.directory / f"dense-{k}.keras") for k in members]
    before = predicted(dense)
    columns = "accuracy, points (95 %)", "worst class", "largest gap", "negative flips, % (95 %)"
    print(f"| int8 | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for way, weight in WAYS.items():
        files = [int8_file(dense[k], weight, train, options.epochs, k) for k in members]
        after = predicted(files)
        classes = tfaudit.class_impact(before, after, paired=True).frame()
        worst = classes.loc[classes["change_pp"].idxmin()]
        limits = tfaudit.Limits(overall_drop_pp=1, negative_flips=1)
        overall, lost = tfaudit.gate(before, after, limits, paired=True).checks
        print(
            f"| {way} | {-overall.value:+.2f} ({-overall.high:+.2f} to {-overall.low:+.2f}) "
            f"| {worst['class']}, {worst['change_pp']:+.2f} ({worst['change_low_pp']:+.2f} to "
            f"{worst['change_high_pp']:+.2f}) | {-classes['relative_pp'].min():.2f} "
            f"| {100 * lost.value:.2f} ({100 * lost.low:.2f} to {100 * lost.high:.2f}) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
