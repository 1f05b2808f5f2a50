"""The gate: checks of a compressed model against limits, and their verdict."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from tfaudit.audit.gate.checks import CANNOT_JUDGE, FAIL, OUTCOMES, PASS, Check, Checks
from tfaudit.audit.gate.limits import QUANTITIES, Limits
from tfaudit.audit.gate.measurements import Measurements, PairMeasurements, PopulationMeasurements
from tfaudit.errors import InputError, require
from tfaudit.predictions import Predictions, require_same_examples

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

EXIT_CODES = {PASS: 0, FAIL: 1, CANNOT_JUDGE: 2}


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Verdict of a gate on one compressed model or population.

    It holds one check per limit that is set; `classes` as in `Checks.class_frame`; `alpha`, the level of the tests; the
    number of test `examples`; `members` of the baseline and of the compressed population; and `notes` for the reader.
    """

    checks: tuple[Check, ...]
    classes: pd.DataFrame
    alpha: float
    examples: int
    members: tuple[int, int]
    notes: tuple[str, ...]

    @property
    def outcome(self) -> str:
        """Return the gravest outcome of the checks: "fail", "cannot judge" or "pass"."""
        return min((check.outcome for check in self.checks), key=OUTCOMES.index)

    @property
    def exit_code(self) -> int:
        """Return the exit code of `tfaudit gate`: 0 pass, 1 fail, 2 cannot judge."""
        return EXIT_CODES[self.outcome]

    def frame(self) -> pd.DataFrame:
        """Return one row per check, the gravest first.

        Columns: `check`, `outcome`, `value`, `limit`, `low`, `high`, `detectable` (in the unit of the limit: names
        that end in `_pp` are percentage points, shares are in [0, 1]) and `sentence`.
        """
        columns = ["check", "outcome", "value", "limit", "low", "high", "detectable", "sentence"]
        rows = [dataclasses.asdict(check) for check in self.checks]
        frame = pd.DataFrame(rows).rename(columns={"name": "check"})[columns]
        gravity = frame["outcome"].map(OUTCOMES.index)
        return frame.loc[gravity.sort_values(kind="stable").index].reset_index(drop=True)

    def labelled_frame(self) -> pd.DataFrame:
        """Return `frame` with titles and printed values, for tables and charts.

        Adds `title` (name of the check), `measured` and `allowed` (value and limit as text with units) and `neutral`
        (the value without any change).
        """
        frame = self.frame()
        quantities = [QUANTITIES[name] for name in frame["check"]]
        for column, source in (("measured", "value"), ("allowed", "limit")):
            frame[column] = [quantity.text(value) for quantity, value in zip(quantities, frame[source], strict=True)]
        titles, neutral = zip(*((quantity.title, quantity.neutral) for quantity in quantities), strict=True)
        return frame.assign(title=titles, neutral=neutral)

    def summary(self) -> dict[str, Any]:
        """Return the whole verdict as plain values, ready for JSON: None instead of NaN."""
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
        """Draw each quantity with its interval, in units of its limit."""
        from tfaudit.charts.gate import gate_chart

        return gate_chart(self.labelled_frame())


def gate(
    baseline: Predictions,
    compressed: Predictions,
    limits: Limits,
    *,
    alpha: float = 0.05,
    sizes: tuple[float, float] | None = None,
    paired: bool = False,
) -> Verdict:
    """Check a compressed model, or a population of them, against limits.

    A drop **fails** if it is larger than the limit *and* chance does not explain it: p <= alpha for no change at all,
    after Holm's correction over the classes. A model that loses nothing therefore fails with a probability of at most
    alpha. A drop **passes** if it is within the limit *and* the data could have shown otherwise: the interval ends
    below the limit, or a drop as large as the limit would be detected with power 80 %. Otherwise the gate **cannot
    judge**, and says which drop it could detect and how much data the limit takes. A true drop of exactly the limit
    passes about as often as not: set the limit below what would hurt.

    - Single models: McNemar's exact test and Tango's interval, over examples.
    - Populations (two members or more each): Welch's test over members. The test images are taken as fixed, so a class
      passes only if one example weighs no more than the limit.
    - Share of harmed classes: those significant after Benjamini and Hochberg. A class is blind if a drop of
      `worst_class_drop_pp` (10 points if that is not limited) is not detectable; the gate cannot judge if harmed and
      blind classes together exceed the limit. Without this rule, fewer examples would make a pass easier.
    - Intensification: the rule for drops with 1 as no change; the interval is a seeded bootstrap over the examples of
      each class, or Student's over members.
    - Flips and sizes are exact: the value decides.

    Args:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        limits: what to check.
        alpha: level of the tests; intervals are at level 1 - alpha.
        sizes: bytes of the baseline's and of the compressed model's file, or means over the members.
        paired: for populations: a compressed member is made from the baseline's member of the same name, as quantized
            members are. Student's paired test then takes the place of Welch's test.

    Raises:
        InputError: other examples, one model against a population, a limit of size without sizes, or a level outside
            (0, 1).

    Example:
        >>> labels = [0] * 200 + [1] * 200
        >>> before = Predictions.from_top1(labels, labels)
        >>> after = Predictions.from_top1(labels, [1] * 30 + labels[30:])
        >>> verdict = gate(before, after, Limits(overall_drop_pp=10, worst_class_drop_pp=10))
        >>> verdict.frame()[["check", "outcome", "value", "limit"]]
                         check outcome  value  limit
        0  worst_class_drop_pp    fail   15.0   10.0
        1      overall_drop_pp    pass    7.5   10.0
    """
    require(0 < alpha < 1, "alpha", alpha, "a level in (0, 1)")
    require_same_examples(baseline, compressed)
    members = baseline.num_members, compressed.num_members
    measurements: Measurements
    if members == (1, 1):
        measurements = PairMeasurements(baseline, compressed, alpha)
    elif min(members) > 1:
        measurements = PopulationMeasurements(baseline, compressed, alpha, paired)
    else:
        got = f"{members[1]} members against a baseline of {members[0]}"
        raise InputError("compressed", got, "one model against one, or populations of 2 or more")
    checks = Checks(measurements, limits, baseline.class_names, alpha, sizes)
    return Verdict(checks.all(), checks.class_frame(), alpha, baseline.num_examples, members, measurements.notes)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [
        {str(name): None if isinstance(cell, float) and not math.isfinite(cell) else cell for name, cell in row.items()}
        for row in frame.to_dict("records")
    ]
