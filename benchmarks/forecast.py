"""What the dense model alone tells about compression: changed images, classes that lose, and images that need a label.

    python benchmarks/forecast.py DIR [DIR ...]

DIR is a study with probabilities. For every variant that is made from the dense models: the separation of changed from
unchanged predictions by the dense margin, with its interval; the rank correlation, over classes, of the points of
recall lost with three forecasts by class; and the images on which both models differ, the only ones whose labels decide
on the change of accuracy. The forecasts are the mean over the images of a class of the margin of its true class
(negative), the share of its images with a margin below .1, and its error rate. Figures are means over pairs of members.
"""

import sys

import numpy as np
from scipy.stats import spearmanr

from tfaudit import Predictions, open_store
from tfaudit.audits.comparison import Comparison
from tfaudit.extensions.forecast.forecast import margins
from tfaudit.extensions.forecast.quality import forecast_quality

CLOSE = 0.1
FORECASTS = "margin", "close", "errors"


def class_forecasts(dense: Predictions, member: int) -> dict[str, np.ndarray]:
    """Return the forecasts of every class, `(C,)` each."""
    margin, right = margins(dense, member), dense.correct()[member]
    signed = np.where(right, margin, -margin)
    counts = np.bincount(dense.labels)

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(dense.labels, values) / counts

    forecasts = -mean(signed), mean(margin < CLOSE), 1 - mean(right)
    return dict(zip(FORECASTS, forecasts, strict=True))


def correlations(dense: Predictions, compressed: Predictions) -> dict[str, float]:
    """Return the rank correlation of lost recall with each forecast."""
    found: dict[str, list[float]] = {}
    for i, j in zip(*Comparison(dense, compressed).compared, strict=True):
        lost = dense.recall()[i] - compressed.recall()[j]
        for name, forecast in class_forecasts(dense, i).items():
            if np.ptp(lost) and np.ptp(forecast):
                found.setdefault(name, []).append(spearmanr(forecast, lost).statistic)
    return {name: float(np.mean(values)) for name, values in found.items()}


def main(directories: list[str]) -> None:
    """Print one line per variant."""
    print(
        "| study, variant | change | differ | separation (95 %) | in the first tenth | margin | close | errors |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for directory in directories:
        store = open_store(directory)
        dense = store.predictions("dense")
        for key in store.variants:
            if key == "dense" or not store.study.is_made_from_dense(key):
                continue
            compressed = store.predictions(key)
            quality = forecast_quality(
                dense, compressed, paired=True if dense.num_members > 1 else None
            )
            ranks = correlations(dense, compressed)
            known = [f"{ranks[name]:.2f}" if name in ranks else "-" for name in FORECASTS]
            change = 100 * (compressed.accuracy().mean() - dense.accuracy().mean())
            print(
                f"| {store.study.name}, {store.study.titles[key]} | {change:+.2f} "
                f"| {100 * quality.changes / dense.num_examples:.1f} % "
                f"| {quality.separation:.3f} ({quality.low:.3f} to {quality.high:.3f}) "
                f"| {100 * quality.summary()['found_in_tenth']:.0f} % "
                f"| {' | '.join(known)} |",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
