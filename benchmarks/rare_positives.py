"""Simulated detectors of a rare class, one image in a hundred: intervals of precision, and what the gate says.

    python -m benchmarks.rare_positives precision [--studies 400]

Members see the difficulty of an image through noise of their own (30 % of its variance); compressed members that are
made from the baseline's share 95 % of it. `holds` is the share of studies whose 95 % interval holds the true change of
precision, `passes` that of studies that pass at a loss of 1.1 times the limit, `fails` at .9 times the limit.
"""

import argparse

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tfaudit.audits.comparison import Comparison
from tfaudit.predictions import Predictions

__all__ = ["main"]

SENSITIVITY, NOISE, SHARED = 0.9, 0.3, 0.95
FALSE_ALARMS = ((0.005, 0.0115), (0.0005, 0.0015))
"""False positive rates before and after."""


def detectors(
    rng: np.random.Generator,
    labels: np.ndarray,
    alarms: tuple[float, float],
    members: int,
    paired: bool,
) -> tuple[Predictions, Predictions]:
    """Return populations with these shares of false alarms."""
    difficulty = rng.standard_normal(len(labels))
    noise = rng.standard_normal((members, len(labels)))
    other = rng.standard_normal(noise.shape)
    noises = noise, np.sqrt(SHARED) * noise + np.sqrt(1 - SHARED) * other if paired else other
    sides = []
    for own, share in zip(noises, alarms, strict=True):
        seen = np.sqrt(1 - NOISE) * difficulty + np.sqrt(NOISE) * own
        positive = seen < ndtri(np.where(labels, SENSITIVITY, share))
        sides.append(
            Predictions.from_top1(
                labels, positive.astype(int), parents=range(members) if paired else None
            )
        )
    return sides[0], sides[1]


def precision_row(
    positives: int, alarms: tuple[float, float], members: int, paired: bool, studies: int
):
    """Return the coverage and the error rates of the interval of the change of precision."""
    labels = (np.arange(100 * positives) < positives).astype(int)
    found = SENSITIVITY / (SENSITIVITY + 99 * np.array(alarms))
    loss = found[0] - found[1]
    rng = np.random.default_rng(positives * members)
    ends = []
    for _ in range(studies):
        comparison = Comparison(*detectors(rng, labels, alarms, members, paired))
        low, high = comparison.precision_changes().change.interval(most=1)
        ends.append((-high[1], -low[1]))
    low, high = np.transpose(ends)
    return {
        "K": members,
        "positives": positives,
        "paired": paired,
        "precision": f"{found[0]:.2f} to {found[1]:.2f}",
        "holds": ((low <= loss) & (loss <= high)).mean(),
        "passes": (high < loss / 1.1).mean(),
        "fails": (low > loss / 0.9).mean(),
        "half-width": (high - low).mean() / 2,
    }


def precision(studies: int) -> pd.DataFrame:
    """Return the table of intervals of precision."""
    return pd.DataFrame(
        precision_row(positives, alarms, members, paired, studies)
        for members in (1, 2, 5, 10)
        for positives in (10, 20, 50, 200)
        for alarms in FALSE_ALARMS
        for paired in ((True,) if members == 1 else (True, False))
    )


TABLES = {"precision": precision}


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("--studies", type=int, default=400)
    options = parser.parse_args()
    print(TABLES[options.table](options.studies).round(3).to_string(index=False))


if __name__ == "__main__":
    main()
