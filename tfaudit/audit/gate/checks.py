"""One figure against one limit: beyond it, within it, or more than the data can tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from tfaudit.audit.gate.measurements import Drops, Measurements, Slope

__all__ = [
    "CANNOT_JUDGE",
    "FAIL",
    "OUTCOMES",
    "PASS",
    "Check",
    "check_class_drops",
    "check_harmed",
    "check_overall_drop",
    "check_slope",
    "check_value",
    "drop_outcomes",
]

FAIL, CANNOT_JUDGE, PASS = OUTCOMES = ("fail", "cannot judge", "pass")
"""The gravest first."""

LISTED = 10


@dataclasses.dataclass(frozen=True)
class Check:
    """One figure against its limit; `value`, `low`, `high` and `detectable` are in the unit of the limit.

    Attributes:
        name: of the limit.
        limit: the most that the figure may be.
        value: the figure, NaN where there is none.
        low: lower end of its interval, NaN for a count or a size.
        high: its upper end.
        detectable: the smallest value that is found with power 80 %; NaN where none is, or none is needed.
        outcome: "pass", "fail" or "cannot judge".
        sentence: the same for people.
    """

    name: str
    limit: float
    value: float
    low: float
    high: float
    detectable: float
    outcome: str
    sentence: str


def drop_outcomes(drops: Drops, limit: float, alpha: float) -> np.ndarray:
    """The rule for drops, `(C,)` outcomes; see `tfaudit.gate`."""
    sharp = ((drops.high < limit) | (drops.detectable <= limit)) & (drops.grain <= limit)
    beyond = np.where(drops.p <= alpha, FAIL, CANNOT_JUDGE)
    return np.where(drops.drop > limit, beyond, np.where(sharp, PASS, CANNOT_JUDGE))


def check_overall_drop(evidence: Measurements, limit: float, alpha: float) -> Check:
    """The drop of accuracy."""
    drops = evidence.overall()
    outcome = str(drop_outcomes(drops, limit, alpha)[0])
    return _drop_check("overall_drop_pp", "accuracy", evidence, drops, 0, limit, alpha, outcome)


def check_class_drops(evidence: Measurements, limit: float, alpha: float) -> tuple[Check, pd.DataFrame]:
    """The drop of the worst class, that is the one that falls most among those of the gravest outcome; and all classes.

    Columns of the frame: `class`, `examples`, `drop_pp`, `low_pp`, `high_pp`, `p_holm`, `detectable_pp`, `outcome`.
    """
    drops = evidence.classes()
    outcomes = drop_outcomes(drops, limit, alpha)
    gravity = np.array([OUTCOMES.index(outcome) for outcome in outcomes])
    order = np.lexsort((-drops.drop, gravity))  # NaN, a class without examples, comes last among its equals
    outcome, row = str(outcomes[order[0]]), int(order[0])
    subject = f"recall of {drops.names[row]}"
    check = _drop_check("worst_class_drop_pp", subject, evidence, drops, row, limit, alpha, outcome)
    alike = [drops.names[i] for i in order if outcomes[i] == outcome]
    count = f"{len(alike)} of {len(drops.names)} classes"
    verb = {FAIL: "fail", CANNOT_JUDGE: "cannot be judged", PASS: "pass"}[outcome]
    tail = f" {count} {verb}" + (f": {listed(alike)}." if outcome != PASS else ".")
    frame = pd.DataFrame(
        {
            "class": drops.names,
            "examples": drops.examples,
            "drop_pp": drops.drop,
            "low_pp": drops.low,
            "high_pp": drops.high,
            "p_holm": drops.p,
            "detectable_pp": drops.detectable,
            "outcome": outcomes,
        }
    )
    return dataclasses.replace(check, sentence=check.sentence + tail), frame


def _drop_check(
    name: str,
    subject: str,
    evidence: Measurements,
    drops: Drops,
    row: int,
    limit: float,
    alpha: float,
    outcome: str,
) -> Check:
    drop, low, high, p = (float(values[row]) for values in (drops.drop, drops.low, drops.high, drops.p))
    moves = f"falls by {drop:.2f}" if drop >= 0 else f"rises by {-drop:.2f}"
    found = f"The {subject} {moves} points ({100 * (1 - alpha):g} % interval of the drop {low:.2f} to {high:.2f})"
    if np.isnan(drop):
        sentence = f"The {subject} is unknown: no test examples."
    elif outcome == FAIL:
        sentence = f"{found}: more than {limit:g}, and more than chance explains (p = {p:.2g})."
    elif outcome == PASS:
        sentence = f"{found}, within {limit:g}."
    elif drop > limit:
        sentence = f"{found}: more than {limit:g}, but chance may explain it (p = {p:.2g})."
    else:
        sentence = f"{found}, but that is too coarse to vouch for {limit:g}."
    if outcome == CANNOT_JUDGE:
        sentence += f" {evidence.remedy(drops, row, limit)}"
    return Check(name, limit, drop, low, high, float(drops.detectable[row]), outcome, sentence)


def check_harmed(evidence: Measurements, limit: float, names: Sequence[str], *, harm: float) -> Check:
    """The share of harmed classes; those in which a drop of `harm` points would not be found count against a pass."""
    harmed, detectable = evidence.harmed(limit)
    blind = ~(detectable <= harm)  # NaN is blind
    share, unknown = harmed.mean(), (harmed | blind).mean()
    outcome = FAIL if share > limit else PASS if unknown <= limit else CANNOT_JUDGE
    hurt = [name for name, is_hurt in zip(names, harmed, strict=True) if is_hurt]
    sentence = f"{len(hurt)} of {len(names)} classes significantly harmed, limit {100 * limit:g} %"
    sentence += f": {listed(hurt)}." if hurt else "."
    if outcome == CANNOT_JUDGE:
        sentence += f" In {np.sum(blind & ~harmed)} more a drop of {harm:g} points would hardly be found."
    return Check("harmed_share", limit, float(share), np.nan, np.nan, np.nan, outcome, sentence)


def check_slope(found: Slope, limit: float, alpha: float) -> Check:
    """Intensification, by the same rule as drops, 1 in the place of no change."""
    if np.isnan(found.value):
        outcome, sentence = CANNOT_JUDGE, "Intensification is undefined here."
    else:
        beyond, sharp = found.value > limit, found.high < limit or found.detectable <= limit
        outcome = (FAIL if found.low > 1 else CANNOT_JUDGE) if beyond else PASS if sharp else CANNOT_JUDGE
        interval = f"{100 * (1 - alpha):g} % interval {found.low:.2f} to {found.high:.2f}"
        sentence = f"The classes drift apart by the slope {found.value:.3f} ({interval}), limit {limit:g}."
        if outcome == CANNOT_JUDGE:
            sentence += f" This data shows slopes of {found.detectable:.2f} or more."
    sentence = f"{sentence} {found.remark}".strip()
    return Check("intensification", limit, found.value, found.low, found.high, found.detectable, outcome, sentence)


def check_value(name: str, value: float, limit: float, sentence: str) -> Check:
    """A count or a size: exact, so beyond the limit or not."""
    outcome = FAIL if value > limit else PASS
    return Check(name, limit, value, np.nan, np.nan, np.nan, outcome, sentence)


def listed(names: Sequence[str]) -> str:
    """The first ten names, and how many more.

    Example:
        >>> listed(["cat", "dog"])
        'cat, dog'
    """
    return ", ".join(names[:LISTED]) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
