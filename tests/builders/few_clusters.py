"""Simulated studies whose images come in few clusters of unequal sizes, some of which lose much."""

from tests.builders.limits_at_truth import errors_at_limit
from tests.builders.simulated_studies import CLASSES, Truth, expected_changes, simulate
from tfaudit.audits.gate.measurements import measure

IMAGES = 150


UNEQUAL = {"unequal": (0.7, 0.05), "very unequal": (1.0, 0.1)}
"""Standard deviation of the logarithm of the clusters' sizes, and how alike their images are lost."""

SIZES = UNEQUAL | {"equal, few lose much": (0.0, 0.4)}
"""The same with a design in which the clusters that lose may all be missing: then no variance shows their loss."""


def cluster_errors(
    clusters: int, members: int, seed: int, sizes: str = "unequal"
) -> dict[str, bool]:
    """Return whether a limit on accuracy errs, whether it would without the rule on few clusters, and the coverage."""
    spread, alike = SIZES[sizes]
    truth = Truth(
        paired=True,
        lost_alike=dict.fromkeys(CLASSES, 0.05),
        image_shift=0.05,
        member_shift=0.1 * (members > 1),
        cluster_images=10 * IMAGES // clusters,
        alike=alike,
        cluster_spread=spread,
    )
    true = -100 * float(expected_changes(truth, members).mean())
    measured = measure(*simulate(truth, seed, members=members, images=IMAGES))
    low, high = measured.overall.low[0], measured.overall.high[0]
    errs = errors_at_limit(measured, "overall_drop_pp", true, (low, high))
    return {
        "1.1: passes": errs["1.1: passes"],
        "1.1: interval below": bool(high < true / 1.1),
        ".9: fails": errs[".9: fails"],
        "coverage": errs["coverage"],
        "fewer than 20": bool(measured.overall.few_clusters[0]),
    }
