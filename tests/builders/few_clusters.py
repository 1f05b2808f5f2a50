"""Simulated studies whose images come in few clusters of unequal sizes, some of which lose much."""

from tests.builders.simulated_studies import CLASSES, Truth, expected_changes, simulate
from tfaudit.audits.gate.checks import FAIL, PASS
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure

IMAGES = 150


def cluster_errors(clusters: int, members: int, seed: int) -> dict[str, bool]:
    """Return whether a limit on accuracy errs, whether it would without the rule on few clusters, and the coverage."""
    truth = Truth(
        paired=True,
        lost_alike=dict.fromkeys(CLASSES, 0.05),
        image_shift=0.05,
        member_shift=0.1 * (members > 1),
        cluster_images=10 * IMAGES // clusters,
        alike=0.05,
        cluster_spread=0.7,
    )
    true = -100 * float(expected_changes(truth, members).mean())
    measured = measure(*simulate(truth, seed, members=members, images=IMAGES))
    low, high = float(measured.overall.low[0]), float(measured.overall.high[0])

    def outcome(ratio: float) -> str:
        return judge(measured, Limits(overall_drop_pp=true / ratio)).outcome

    return {
        "1.1: passes": outcome(1.1) == PASS,
        "1.1: interval below": high < true / 1.1,
        ".9: fails": outcome(0.9) == FAIL,
        "coverage": low <= true <= high,
        "fewer than 20": bool(measured.overall.few_clusters[0]),
    }
