"""Would fewer members have shown the same? Random choices of a study's members, audited class by class.

For the thirty members of `docs/recipe_notes.md`, after `tfaudit run thirty.py`:

    python -m benchmarks.fewer_members runs/thirty
"""

import argparse

import numpy as np
import pandas as pd

from benchmarks.first_screens import printed
from tfaudit import class_impact, open_store
from tfaudit.store.store import Store


def impacts(store: Store, variant: str, members: list[int] | None = None) -> pd.DataFrame:
    """Return the class impact of a variant's chosen members, by class; of all members by default."""
    before, after = (
        store.predictions(key, members=members) for key in (store.variants[0], variant)
    )
    return class_impact(before, after).frame().set_index("class")


def drawn(store: Store, variant: str, members: int, times: int, seed: int) -> dict[str, str]:
    """Compare classes found by random choices of members, and their intervals, with all members."""
    rng = np.random.default_rng(seed)
    whole, found = impacts(store, variant).change_pp, []
    population = len(store.predictions(variant).members)
    for _ in range(times):
        some = impacts(store, variant, rng.choice(population, members, replace=False).tolist())
        found.append(
            {
                "shown to change": some.verdict.isin(["lost recall", "gained recall"]).sum(),
                "[F]'s test": (some.published_p < 0.05).sum(),
                "[F], Holm": (some.published_p_holm < 0.05).sum(),
                "coverage": whole.between(some.change_low_pp, some.change_high_pp).mean(),
            }
        )
    found = pd.DataFrame(found)
    coverage = found.pop("coverage").mean()
    counts = {
        column: f"{counts.mean():.1f} ({counts.min()} to {counts.max()}), any {counts.gt(0).sum()}"
        for column, counts in found.items()
    }
    return {"variant": variant, **counts, "intervals hold the mean of all": f"{coverage:.1%}"}


def main() -> None:
    """Print a table with a row per variant: classes found, mean (range), and how many choices find any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", help="directory of a study")
    parser.add_argument("--members", type=int, default=10, help="how many are drawn at a time")
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    store = open_store(options.study)
    draws = options.members, options.times, options.seed
    printed(pd.DataFrame([drawn(store, variant, *draws) for variant in store.variants[1:]]))


if __name__ == "__main__":
    main()
