"""Simulated studies of many classes of unequal sizes, some of which lose recall."""

import numpy as np

from tests.builders.limits_at_truth import errors_at_limit
from tests.builders.simulated_studies import Truth, class_names, expected_changes, simulate
from tfaudit.audits.gate.measurements import measure

BOUND_PP = 5.0

_LONG, _LONGER = (np.geomspace(*ends, 100).astype(int).tolist() for ends in ((1000, 10), (2000, 5)))

TAILS: dict[str, tuple[list[int], range, float]] = {
    "92 x 500, 8 x 5 lose 12": ([500] * 92 + [5] * 8, range(92, 100), 0.13),
    "90 x 500, 10 x 5 lose 8": ([500] * 90 + [5] * 10, range(90, 100), 0.088),
    "80 x 500, 20 x 10 lose 8": ([500] * 80 + [10] * 20, range(80, 100), 0.088),
    "92 x 500, 8 x 20 lose 12": ([500] * 92 + [20] * 8, range(92, 100), 0.13),
    "70 x 500, 30 x 30 of which 10 lose 8": ([500] * 70 + [30] * 30, range(90, 100), 0.088),
    "1,000 to 10, the 8 rarest lose 12": (_LONG, range(92, 100), 0.13),
    "1,000 to 10, 8 in the middle lose 8": (_LONG, range(50, 58), 0.088),
    "1,000 to 10, every 12th loses 8": (_LONG, range(3, 100, 12), 0.088),
    "2,000 to 5, the 10 rarest lose 8": (_LONGER, range(90, 100), 0.088),
    "2,000 to 5, the 10 largest lose 8": (_LONGER, range(10), 0.088),
}
"""Images of each class, the classes that lose, and which share of their images every member loses."""


def tail_errors(name: str, members: int, seed: int) -> dict[str, bool]:
    """Return whether a limit on the share of classes beyond 5 points errs, and whether its interval holds the share."""
    sizes, losers, share = TAILS[name]
    names = class_names(len(sizes))
    single = members == 1
    truth = Truth(
        paired=True,
        lost_alike={names[c]: share for c in losers},
        image_shift=0.05,
        member_shift=0.0 if single else 0.1,
    )
    changes = expected_changes(truth, members, len(sizes))
    true = float(np.mean(-100 * changes > BOUND_PP))
    measured = measure(*simulate(truth, seed, members=members, images=sizes))
    found = measured.share_beyond(BOUND_PP)
    errs = errors_at_limit(measured, "share_beyond", true, (found.low, found.high))
    return errs | {"nothing known": bool(found.high >= 1)}
