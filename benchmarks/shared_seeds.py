"""Do shared seeds narrow intervals? Half-widths with a forked population and with independent members, on CIFAR-10.

The baseline is the same in both. Half of the pruned members' training is that of the baseline's members if they are
forked; otherwise they have seeds of their own.

    tfaudit prepare cifar10 --from CIFAR10
    nice python -m benchmarks.shared_seeds DIR
"""

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.first_screens import printed
from tfaudit import Pruned, Study, Training, run
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.store.store import Store

STUDY = Study(
    name="shared_seeds",
    dataset="cifar10",
    model="cifar_convnet",
    training=Training(epochs=6, learning_rate=0.2, decay="cosine", warmup=1.0, weight_decay=5e-4),
    variants=(Pruned(0.8, begin=0.5, end=0.75, unpruned_layers=("logits",)),),
    model_options={"filters": [8, 16, 32, 64]},
    population=6,
    limit=10_000,
)


def half_widths(store: Store) -> dict[str, float]:
    """Return flips and half-widths of 95 % intervals in points, of pruned against dense members of a study."""
    baseline, pruned = map(store.predictions, store.variants)
    comparison = Comparison(baseline, pruned)
    whole = comparison.changes(np.zeros_like(baseline.labels), 1).absolute
    classes = comparison.class_changes().absolute
    flips = flip_rates(baseline, pruned).frame()
    widths = {
        "change of accuracy": whole.value[0],
        "half-width": np.diff(np.ravel(whole.interval()))[0] / 2,
        "half-width, mean of classes": np.mean(np.diff(classes.interval(), axis=0)) / 2,
        "negative flips": flips["negative_share"].iloc[0],
    }
    return {name: 100 * share for name, share in widths.items()}


def main() -> None:
    """Run both studies and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args().directory
    rows = []
    for fork, members in ((True, "forked"), (False, "independent")):
        study = dataclasses.replace(STUDY, fork=fork)
        rows.append({"members": members, **half_widths(run(study, directory / members, workers=1))})
    printed(pd.DataFrame(rows).round(2).astype(str))


if __name__ == "__main__":
    main()
