"""Whether the rules of verdicts keep their promises, on simulated studies whose truth is known.

    python -m benchmarks.verdicts [TABLE ...] [--studies 300] [--seed 0]

Without a choice it prints the tables of "Rules" in docs/verdict.md: in per cent, how often intervals hold the truth,
and how often a limit of exactly the truth passes or fails. Both errors should be 2.5 %.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd

from benchmarks.first_screens import printed
from tests.builders.simulated_studies import Truth, ratios_held, simulate, true_slope
from tfaudit.audits.distortion.attenuation import corrected_slope
from tfaudit.predictions import Predictions

SIZES = (50, 500)
MEMBERS = (2, 3, 10, 30)


def kind(paired: bool) -> str:
    """Return how members are called in tables."""
    return "paired" if paired else "independent"


def slopes(seeds: range) -> pd.DataFrame:
    """Return how often intervals hold the slope of recall distortion, and how often a limit at the slope errs."""
    rows = []
    for paired, shirt, members, images in itertools.product(
        (False, True), (0.65, 0.40), MEMBERS, SIZES
    ):
        truth = Truth(paired=paired, recalls={"Shirt": (shirt,)}, image_shift=0.1, member_shift=0.1)
        true = true_slope(truth)
        ends = np.array(
            [
                np.ravel(
                    corrected_slope(
                        before.correct(), after.correct(), before.labels, 10, paired=paired
                    ).interval()
                )
                for before, after in studies(truth, seeds, members=members, images=images)
            ]
        )
        low, high = ends[np.isfinite(ends[:, 0])].T
        held = (low <= true) & (true <= high)
        figures = [*(100 * np.mean(share) for share in (held, high < true, low > true))]
        undefined = 100 * np.mean(np.isnan(ends[:, 0]))
        rows.append((kind(paired), members, images, f"{true:.2f}", *figures, undefined))
    columns = ["members", "K", "images", "slope", "coverage", "passes", "fails", "undefined"]
    return pd.DataFrame(rows, columns=columns)


def ratios(seeds: range) -> pd.DataFrame:
    """Return how often intervals hold ratios of accuracies and of errors under corruption."""
    rows = []
    for paired, members, images in itertools.product((False, True), MEMBERS, SIZES):
        truth = Truth(everywhere=0.02, paired=paired, image_shift=0.1, member_shift=0.1)
        sizes = {"members": members, "images": images}
        held = pd.DataFrame([ratios_held(truth, seed, **sizes) for seed in seeds])
        rows.append({"members": kind(paired), "K": members, "images": images, **100 * held.mean()})
    return pd.DataFrame(rows)


def studies(truth: Truth, seeds: range, **sizes: int) -> Iterator[tuple[Predictions, Predictions]]:
    """Yield simulated studies."""
    return (simulate(truth, seed, **sizes) for seed in seeds)


TABLES: dict[str, Callable[[range], pd.DataFrame]] = {"slopes": slopes, "ratios": ratios}


def main() -> None:
    """Print the chosen tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []], default=list(TABLES))
    parser.add_argument("--studies", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.tables:
        print(name)
        printed(TABLES[name](range(options.seed, options.seed + options.studies)))


if __name__ == "__main__":
    main()
