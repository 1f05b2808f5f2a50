"""May this compressed model be shipped? Limits, held against what the data can carry."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.audit.gate.checks import (
    CANNOT_JUDGE,
    FAIL,
    OUTCOMES,
    PASS,
    Check,
    check_class_drops,
    check_harmed,
    check_overall_drop,
    check_slope,
    check_value,
)
from tfaudit.audit.gate.limits import Limits
from tfaudit.audit.gate.measurements import Measurements
from tfaudit.audit.gate.model_pair import PairMeasurements
from tfaudit.audit.gate.populations import PopulationMeasurements
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

__all__ = ["Verdict", "gate"]

HARM_PP = 10.0
"""A drop of a class that must be findable where the limits name none."""

EXIT_CODES = {PASS: 0, FAIL: 1, CANNOT_JUDGE: 2}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What a gate says of one compressed model or population.

    Attributes:
        checks: one per limit that was given.
        classes: one row per class where the worst class is limited, else empty: `class`, `examples`, `drop_pp`,
            `low_pp`, `high_pp`, `p_holm`, `detectable_pp`, `outcome`.
        alpha: level of the tests.
        examples: how many test examples.
        members: of the baseline and of the compressed population.
        notes: what a reader has to know, one sentence each.
    """

    checks: tuple[Check, ...]
    classes: pd.DataFrame
    alpha: float
    examples: int
    members: tuple[int, int]
    notes: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """The gravest of the checks' outcomes: fail, then cannot judge, then pass."""
        return min((check.outcome for check in self.checks), key=OUTCOMES.index)

    @property
    def exit_code(self) -> int:
        """0 pass, 1 fail, 2 cannot judge."""
        return EXIT_CODES[self.outcome]

    def frame(self) -> pd.DataFrame:
        """One row per check, the gravest first.

        Columns: `check`, `outcome`, `value`, `limit`, `low`, `high`, `detectable` (all in the unit of the limit: names
        ending in `_pp` are percentage points, shares are in [0, 1]) and `sentence`.
        """
        rows = [dataclasses.asdict(check) for check in self.checks]
        columns = ["check", "outcome", "value", "limit", "low", "high", "detectable", "sentence"]
        frame = pd.DataFrame(rows).rename(columns={"name": "check"})[columns]
        gravity = frame["outcome"].map(OUTCOMES.index)
        return frame.loc[gravity.sort_values(kind="stable").index].reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON: None where there is no number."""
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "alpha": self.alpha,
            "examples": self.examples,
            "members": list(self.members),
            "checks": _records(self.frame()),
            "classes": _records(self.classes),
            "notes": list(self.notes),
        }

    def chart(self) -> Drawing:
        """Each figure with its interval, in units of its limit."""
        from tfaudit.charts.gate import gate_chart  # report depends on audit, never the other way at import

        return gate_chart(self.frame())


def gate(
    baseline: Predictions,
    compressed: Predictions,
    limits: Limits,
    *,
    alpha: float = 0.05,
    sizes: tuple[float, float] | None = None,
    paired: bool = False,
) -> Verdict:
    """Holds a compressed model, or a population of them, against limits.

    A drop **fails** where it is larger than the limit *and* not explained by chance: p <= alpha for no change at all,
    after Holm's correction over the classes. So a model that loses nothing fails with a chance of at most alpha. It
    **passes** where it is within the limit *and* the data could have told otherwise: the interval ends below the limit,
    or a drop as large as the limit would have been found with a chance of 80 %. Else the gate **cannot judge**, and
    says which drop it could have found and how much data would do. A true drop of just the limit passes about as often
    as not: set the limit below what would hurt.

    - Single models: McNemar's exact test and Tango's interval, over examples.
    - Populations (two members or more each): Welch's test over members. The test images are taken as given, so a class
      passes only where one example weighs no more than the limit.
    - Share of harmed classes: those significant after Benjamini and Hochberg. A class is blind where a drop of
      `worst_class_drop_pp` (10 points if that is no limit) would not be found; the gate cannot judge if harmed and
      blind classes together exceed the limit. Without this rule, the fewer examples the easier the pass.
    - Intensification: the same rule as for drops with 1 as no change; the interval is a seeded bootstrap over the
      examples of each class, or Student's over members.
    - Flips and sizes are exact: by value.

    Args:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        limits: what to check.
        alpha: level of the tests; intervals are at level 1 - alpha.
        sizes: bytes of the baseline's and of the compressed model's file, or means over the members.
        paired: of populations: members of one name belong together, the compressed one made from the other, as
            quantized members are; Student's paired test then takes the place of Welch's, which would waste the pairing.

    Raises:
        InputError: other examples, one model against a population, a limit of size without sizes, or a level outside
            (0, 1).

    Example:
        >>> labels = [0] * 200 + [1] * 200
        >>> before = Predictions.from_top1(labels, labels)
        >>> after = Predictions.from_top1(labels, [1] * 30 + labels[30:])
        >>> verdict = gate(before, after, Limits(overall_drop_pp=10, worst_class_drop_pp=10))
        >>> verdict.outcome, verdict.exit_code
        ('fail', 1)
        >>> verdict.frame()[["check", "outcome", "value", "limit"]]
                         check outcome  value  limit
        0  worst_class_drop_pp    fail   15.0   10.0
        1      overall_drop_pp    pass    7.5   10.0
    """
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require_same_examples(baseline, compressed)
    evidence = _evidence(baseline, compressed, alpha, paired)
    given, checks, classes = limits.given(), [], pd.DataFrame(columns=_CLASS_COLUMNS)
    for name, limit in given.items():
        if name == "overall_drop_pp":
            checks.append(check_overall_drop(evidence, limit, alpha))
        elif name == "worst_class_drop_pp":
            worst, classes = check_class_drops(evidence, limit, alpha)
            checks.append(worst)
        elif name == "harmed_share":
            checks.append(
                check_harmed(evidence, limit, baseline.class_names, harm=given.get("worst_class_drop_pp", HARM_PP))
            )
        elif name == "intensification":
            checks.append(check_slope(evidence.slope(), limit, alpha))
        elif name in ("flips", "negative_flips"):
            checks.append(_check_flips(name, evidence, limit))
        else:
            checks.append(_check_size(name, sizes, limit))
    members = baseline.num_members, compressed.num_members
    return Verdict(tuple(checks), classes, alpha, baseline.num_examples, members, evidence.notes)


_CLASS_COLUMNS = ["class", "examples", "drop_pp", "low_pp", "high_pp", "p_holm", "detectable_pp", "outcome"]


def _evidence(baseline: Predictions, compressed: Predictions, alpha: float, paired: bool) -> Measurements:
    members = baseline.num_members, compressed.num_members
    if members == (1, 1):
        return PairMeasurements(baseline, compressed, alpha)
    if min(members) == 1:
        raise InputError(
            "compressed",
            f"{members[1]} members against a baseline of {members[0]}",
            "one model against one, or populations of 2 or more",
        )
    return PopulationMeasurements(baseline, compressed, alpha, paired)


def _check_flips(name: str, evidence: Measurements, limit: float) -> Check:
    if name == "flips":
        share, what = evidence.flips(), "are answered differently"
    else:
        share, what = evidence.negative_flips(), "were right and are wrong now"
    sentence = f"{100 * share:.2f} % of the examples {what}, limit {100 * limit:g} %; exact on this data."
    return check_value(name, share, limit, sentence)


def _check_size(name: str, sizes: tuple[float, float] | None, limit: float) -> Check:
    if sizes is None or min(sizes) <= 0:
        raise InputError("sizes", f"{sizes!r}, but limits name {name}", "the bytes of both models' files")
    before, after = sizes
    if name == "size_bytes":
        return check_value(name, after, limit, f"The model takes {after:,.0f} bytes, limit {limit:,.0f}.")
    ratio = after / before
    return check_value(name, ratio, limit, f"The model takes {ratio:.3f} of the baseline's bytes, limit {limit:g}.")


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {
            str(name): None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]
