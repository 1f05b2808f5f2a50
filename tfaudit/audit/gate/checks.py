"""Checks of measured quantities against their limits: pass, fail, or too little data to judge."""

import dataclasses
from functools import cached_property

import numpy as np
import pandas as pd

from tfaudit.audit.gate.limits import Limits
from tfaudit.audit.gate.measurements import Drops, Measurements
from tfaudit.errors import InputError, listed

FAIL, CANNOT_JUDGE, PASS = OUTCOMES = ("fail", "cannot judge", "pass")
"""The gravest first."""

HARM_PP = 10.0
"""Drop of a class that must be detectable if `Limits.worst_class_drop_pp` is not set."""

LISTED = 10
"""Most classes that a sentence names."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One quantity against its limit, the largest value that passes; the numbers are in the unit of the limit.

    `low` and `high` are the ends of its interval, `detectable` is the smallest value that a test detects with power
    80 %; they are NaN for exact quantities, and any number is where it is undefined. `sentence` is the `outcome`
    ("pass", "fail" or "cannot judge") in words.
    """

    name: str
    limit: float
    value: float
    low: float
    high: float
    detectable: float
    outcome: str
    sentence: str


@dataclasses.dataclass(frozen=True)
class Checks:
    """Checks of one compressed model or population; see `tfaudit.gate` for the rules.

    Every field of `Limits` has a method of its name, which takes the limit and returns a `Check`. `alpha` is the level
    of the tests; `sizes` are the bytes of the baseline's and of the compressed model's file.
    """

    measurements: Measurements
    limits: Limits
    class_names: tuple[str, ...]
    alpha: float
    sizes: tuple[float, float] | None = None

    def all(self) -> tuple[Check, ...]:
        """Return one check per limit that is set."""
        return tuple(getattr(self, name)(limit) for name, limit in self.limits.as_dict().items())

    def overall_drop_pp(self, limit: float) -> Check:
        """Check the drop of accuracy."""
        drops = self.measurements.overall()
        return self._drop("overall_drop_pp", "accuracy", drops, 0, limit, str(self._outcomes(drops, limit)[0]))

    def worst_class_drop_pp(self, limit: float) -> Check:
        """Check the drop of the worst class: the largest among the classes of the gravest outcome."""
        drops, outcomes = self._class_drops, self._outcomes(self._class_drops, limit)
        gravity = np.array([OUTCOMES.index(outcome) for outcome in outcomes])
        order = np.lexsort((-drops.drop, gravity))  # NaN, a class without examples, comes last among its equals
        row, outcome = int(order[0]), str(outcomes[order[0]])
        check = self._drop("worst_class_drop_pp", f"recall of {drops.names[row]}", drops, row, limit, outcome)
        alike = [drops.names[i] for i in order if outcomes[i] == outcome]
        verb = {FAIL: "fail", CANNOT_JUDGE: "cannot be judged", PASS: "pass"}[outcome]
        names = f": {listed(alike, LISTED)}." if outcome != PASS else "."
        sentence = f"{check.sentence} {len(alike)} of {len(drops.names)} classes {verb}{names}"
        return dataclasses.replace(check, sentence=sentence)

    def class_frame(self) -> pd.DataFrame:
        """Return the check of every class's drop; no rows if `worst_class_drop_pp` is not limited.

        Columns: `class`, `examples`, `drop_pp`, `low_pp`, `high_pp`, `p_holm`, `detectable_pp`, `outcome`.
        """
        limit = self.limits.worst_class_drop_pp
        columns = ["class", "examples", "drop_pp", "low_pp", "high_pp", "p_holm", "detectable_pp", "outcome"]
        if limit is None:
            return pd.DataFrame(columns=columns)
        drops = self._class_drops
        values = (drops.names, drops.examples, drops.drop, drops.low, drops.high, drops.p, drops.detectable)
        return pd.DataFrame(dict(zip(columns, (*values, self._outcomes(drops, limit)), strict=True)))

    def harmed_share(self, limit: float) -> Check:
        """Check the share of harmed classes; those in which harm is not detectable count against a pass."""
        harm = HARM_PP if self.limits.worst_class_drop_pp is None else self.limits.worst_class_drop_pp
        harmed, detectable = self.measurements.harmed(limit)
        blind = ~(detectable <= harm)  # NaN is blind
        share = harmed.mean()
        outcome = FAIL if share > limit else PASS if (harmed | blind).mean() <= limit else CANNOT_JUDGE
        names = [name for name, is_harmed in zip(self.class_names, harmed, strict=True) if is_harmed]
        sentence = f"{len(names)} of {len(harmed)} classes are significantly harmed, limit {100 * limit:g} %"
        sentence += f": {listed(names, LISTED)}." if names else "."
        if outcome == CANNOT_JUDGE:
            sentence += f" In {np.sum(blind & ~harmed)} more a drop of {harm:g} points is not reliably detectable."
        return Check("harmed_share", limit, float(share), np.nan, np.nan, np.nan, outcome, sentence)

    def intensification(self, limit: float) -> Check:
        """Check intensification by the rule for drops, with 1 as no change."""
        slope = self.measurements.slope()
        if np.isnan(slope.value):
            outcome, sentence = CANNOT_JUDGE, "Intensification is undefined."
        else:
            if slope.value > limit:
                outcome = FAIL if slope.low > 1 else CANNOT_JUDGE
            else:
                outcome = PASS if slope.high < limit or slope.detectable <= limit else CANNOT_JUDGE
            interval = f"{100 * (1 - self.alpha):g} % interval {slope.low:.2f} to {slope.high:.2f}"
            sentence = f"Recall distortion has the slope {slope.value:.3f} ({interval}), limit {limit:g}."
            if outcome == CANNOT_JUDGE:
                sentence += f" These data detect slopes of {slope.detectable:.2f} or more."
        sentence = f"{sentence} {slope.remark}".strip()
        return Check("intensification", limit, slope.value, slope.low, slope.high, slope.detectable, outcome, sentence)

    def flips(self, limit: float) -> Check:
        """Check the share of predictions that change."""
        return self._flip_share("flips", self._flips[0], "change", limit)

    def negative_flips(self, limit: float) -> Check:
        """Check the share of predictions that turn from right to wrong."""
        return self._flip_share("negative_flips", self._flips[1], "turn from right to wrong", limit)

    def size_bytes(self, limit: float) -> Check:
        """Check the size of the compressed model's file."""
        _, compressed = self._known_sizes("size_bytes")
        return _exact("size_bytes", compressed, limit, f"The model takes {compressed:,.0f} bytes, limit {limit:,.0f}.")

    def size_ratio(self, limit: float) -> Check:
        """Check its size against the baseline's."""
        baseline, compressed = self._known_sizes("size_ratio")
        ratio = compressed / baseline
        sentence = f"The model takes {ratio:.3f} of the baseline's bytes, limit {limit:g}."
        return _exact("size_ratio", ratio, limit, sentence)

    @cached_property
    def _class_drops(self) -> Drops:
        return self.measurements.classes()

    @cached_property
    def _flips(self) -> tuple[float, float]:
        return self.measurements.flips()

    def _outcomes(self, drops: Drops, limit: float) -> np.ndarray:
        """Return the `(C,)` outcomes of the rule for drops."""
        sharp = ((drops.high < limit) | (drops.detectable <= limit)) & (drops.grain <= limit)
        beyond = np.where(drops.p <= self.alpha, FAIL, CANNOT_JUDGE)
        return np.where(drops.drop > limit, beyond, np.where(sharp, PASS, CANNOT_JUDGE))

    def _drop(self, name: str, subject: str, drops: Drops, row: int, limit: float, outcome: str) -> Check:
        drop, low, high, p = (float(values[row]) for values in (drops.drop, drops.low, drops.high, drops.p))
        moves = f"falls by {drop:.2f}" if drop >= 0 else f"rises by {-drop:.2f}"
        interval = f"{100 * (1 - self.alpha):g} % interval of the drop {low:.2f} to {high:.2f}"
        change = f"The {subject} {moves} points ({interval})"
        if np.isnan(drop):
            sentence = f"The {subject} is unknown: no test examples."
        elif outcome == FAIL:
            sentence = f"{change}: above the limit of {limit:g}, and chance does not explain it (p = {p:.2g})."
        elif outcome == PASS:
            sentence = f"{change}, within the limit of {limit:g}."
        elif drop > limit:
            sentence = f"{change}: above the limit of {limit:g}, but chance may explain it (p = {p:.2g})."
        else:
            sentence = f"{change}, but the data are too few to confirm the limit of {limit:g}."
        if outcome == CANNOT_JUDGE:
            sentence += f" {self.measurements.remedy(drops, row, limit)}"
        return Check(name, limit, drop, low, high, float(drops.detectable[row]), outcome, sentence)

    def _flip_share(self, name: str, share: float, verb: str, limit: float) -> Check:
        sentence = f"{100 * share:.2f} % of the predictions {verb}, limit {100 * limit:g} %; exact on these data."
        return _exact(name, share, limit, sentence)

    def _known_sizes(self, name: str) -> tuple[float, float]:
        if self.sizes is None or min(self.sizes) <= 0:
            raise InputError("sizes", repr(self.sizes), f"the bytes of both models' files, because {name} is limited")
        return self.sizes


def _exact(name: str, value: float, limit: float, sentence: str) -> Check:
    return Check(name, limit, value, np.nan, np.nan, np.nan, FAIL if value > limit else PASS, sentence)
