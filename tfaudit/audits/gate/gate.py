"""The gate: checks of a compressed model against limits, and their verdict."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tfaudit.audits.classes.classes import unproven_class_notes
from tfaudit.audits.doubts import Doubt
from tfaudit.audits.gate.checks import (
    CANNOT_JUDGE,
    FAIL,
    OUTCOMES,
    PASS,
    Check,
    Checks,
    doubted,
)
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, OF_ERRORS, OF_OUTCOMES, Limits, quantity_of
from tfaudit.audits.gate.measurements import (
    Corrupted,
    Measurements,
    TestedSlices,
    measure,
    measure_outcomes,
)
from tfaudit.audits.result import Drawing, Result
from tfaudit.audits.ties import TieReading
from tfaudit.errors import listed, plural, require, require_type
from tfaudit.outcomes import Outcomes
from tfaudit.predictions import Predictions, require_predictions
from tfaudit.stats.multiplicity import interim_level

EXIT_CODES = {PASS: 0, FAIL: 1, CANNOT_JUDGE: 2}

MISSING = "missing_members"
"""Name of the check of whether a study lacks results."""


@dataclasses.dataclass(frozen=True)
class Verdict(Result):
    """Verdict of a gate on one compressed model or population.

    It holds one check per limit that is set, or one per doubt that forbids a verdict; `classes`, the table of
    `Checks.class_frame`; `groups`, that of `Checks.group_frame`; `alpha`, the level of the tests; `examples`, the
    number of test examples; `members`, their numbers in the baseline and in the compressed population; `ties`, the
    effect of the deployed `argmax` on predictions in which classes tie; `notes` for the reader; `read_as`, what the
    columns of files were read as; the `doubts`, which every outlet says first; and `score`, what the mean of the
    examples is called.
    """

    checks: tuple[Check, ...]
    classes: pd.DataFrame
    alpha: float
    examples: int
    members: tuple[int, int]
    ties: TieReading
    notes: tuple[str, ...]
    read_as: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    score: str = "accuracy"
    groups: pd.DataFrame = dataclasses.field(default_factory=pd.DataFrame)

    @property
    def outcome(self) -> str:
        """Return the gravest outcome of the checks: "fail", "cannot judge" or "pass"."""
        return self.gravest.outcome

    @property
    def gravest(self) -> Check:
        """Return the gravest check; among equals, that of the classes."""

        def gravity(check: Check) -> tuple[int, bool]:
            return OUTCOMES.index(check.outcome), check.name != "worst_class_drop_pp"

        return min(self.checks, key=gravity)

    @property
    def headroom(self) -> float:
        """Return the least headroom of a check below its limit, in units of the limit; negative beyond it."""
        if self.doubts:
            return -math.inf

        def of(check: Check) -> float:
            worst = check.value if math.isnan(check.high) else check.high
            unit = max(check.limit, 1e-9)
            headroom = (check.limit - worst) / unit
            return -math.inf if math.isnan(headroom) else headroom

        return min(of(check) for check in self.checks if check.name != MISSING)

    @property
    def exit_code(self) -> int:
        """Return the exit code of `tfaudit gate`: 0 pass, 1 fail, 2 cannot judge."""
        return EXIT_CODES[self.outcome]

    def with_doubts(self, doubts: tuple[Doubt, ...]) -> Verdict:
        """Return the verdict if there are doubts: nothing is judged."""
        if not doubts:
            return self
        checks = tuple(map(doubted, doubts))
        classes, groups = self.classes.head(0), self.groups.head(0)
        return dataclasses.replace(
            self, checks=checks, classes=classes, groups=groups, doubts=doubts
        )

    def with_missing(self, missing: Sequence[str], allowed: int = 0) -> Verdict:
        """Return the verdict for a study that lacks results: if too many are missing, nothing passes.

        Args:
            missing: a few words on each missing result, such as "int8, member 3 (damaged)".
            allowed: number of results that may be missing, 0 by default.
        """
        if not missing:
            return self
        verb = "are" if len(missing) > 1 else "is"
        count = f"{plural(len(missing), 'result')} of the study {verb} missing"
        sentence = f"{count}: {listed(missing)}. `tfaudit run` makes them again."
        if len(missing) <= allowed:
            return dataclasses.replace(self, notes=(*self.notes, sentence))
        check = Check(
            name=MISSING,
            value=float(len(missing)),
            limit=float(allowed),
            outcome=CANNOT_JUDGE,
            reason=f"{count}, {allowed} allowed.",
            sentence=sentence,
        )
        return dataclasses.replace(self, checks=(*self.checks, check))

    def frame(self) -> pd.DataFrame:
        """Return one row per check, the gravest first.

        Columns: `check`, `subject` (the class it is about), `outcome`, `value`, `limit`, `low`, `high` (in the unit of
        the limit: names that end in `_pp` are percentage points, shares are in [0, 1]), `images` and `members` that
        would decide (0 if unknown), `reason` and `sentence`.
        """
        columns = ["check", "subject", "outcome", "value", "limit", "low", "high"]
        columns += ["images", "members", "reason", "sentence"]
        checks = sorted(self.checks, key=lambda check: OUTCOMES.index(check.outcome))
        return pd.DataFrame(map(vars, checks)).rename(columns={"name": "check"})[columns]

    def labelled_frame(self) -> pd.DataFrame:
        """Return `frame` with titles and printed values, for tables and charts.

        Adds `title` (name of the check), `measured`, `interval` and `allowed` (value, interval and limit as text with
        units).
        """
        frame = self.frame()
        quantities = [quantity_of(name) for name in frame["check"]]

        def printed(column: str) -> list[str]:
            values = zip(quantities, frame[column], strict=True)
            return [quantity.text(value) for quantity, value in values]

        return frame.assign(
            measured=printed("value"),
            interval=[
                quantity.interval_text(low, high)
                for quantity, low, high in zip(quantities, frame["low"], frame["high"], strict=True)
            ],
            allowed=printed("limit"),
            title=[quantity.title for quantity in quantities],
        )

    def summary(self) -> dict[str, Any]:
        """Return the whole verdict as plain values, ready for JSON: None instead of NaN."""
        return {
            "outcome": self.outcome,
            "exit_code": self.exit_code,
            "doubts": [vars(doubt) | {"order": list(doubt.order)} for doubt in self.doubts],
            "alpha": self.alpha,
            "examples": self.examples,
            "members": list(self.members),
            "ties": _plain(self.ties.summary()),
            "checks": _records(self.frame()),
            "classes": _records(self.classes),
            "groups": _records(self.groups),
            "notes": list(self.notes),
            "read_as": list(self.read_as),
        }

    def chart(self) -> Drawing:
        """Draw each quantity with its interval, in units of its limit."""
        from tfaudit.audits.gate.chart import gate_chart

        return gate_chart(self.labelled_frame())


def gate(
    baseline: Predictions | Outcomes,
    compressed: Predictions | Outcomes,
    limits: Limits = DEFAULT_LIMITS,
    *,
    alpha: float = 0.05,
    looks: int = 1,
    look: int | None = None,
    sizes: tuple[float, float] | None = None,
    latency_ms: float = math.nan,
    paired: bool | None = None,
    corrupted: Corrupted | None = None,
    groups: pd.DataFrame | None = None,
    min_group: int = 0,
    slices: TestedSlices | None = None,
) -> Verdict:
    """Check a compressed model, or a population of them, against limits.

    Every loss has an interval at level 1 - alpha, 95 % by default. A loss **passes** if the whole interval lies below
    its limit (non-inferiority), and **fails** if the whole interval lies above it; a class fails only by the interval
    that holds for all classes at once (Bonferroni). Otherwise the gate **cannot judge**, and states how many images or
    members would decide if the true loss is the measured one. At a true loss of exactly the limit, a pass and a failure
    each have a probability of at most alpha; a model that loses less fails even more rarely.

    - Single models: Tango's interval, over images; the interval that holds for all classes at once comes from exact
      intervals of both shares [ZD]. Over clusters if the images form clusters, as in populations [Mi].
      If these are worth fewer than 20 of equal size, nothing passes.
    - Populations (two members or more each): intervals over images and members [C]; those of ten classes or more have
      moderated variances between members (`Change.moderated`).
    - Share of classes beyond a loss: the interval of the share holds every share that a mixture of classes with any
      losses can have without contradicting the measurements (`LossMixture`); it says how many classes lose more than
      `worst_class_drop_pp` (5 points if that is not limited), not which. Only classes of like size speak for each
      other. One with too few images to show such a loss, at most 12 for 5 points, is unknown. A class that collapsed
      never passes, and fails if its recall is surely halved.
    - Drop under corruption: the baseline loses accuracy to a corruption, too, so what counts is the difference between
      the two models under the same corruption at the same severity. The model passes if it passes under each, and
      fails only by the interval that holds for all of them at once (Bonferroni).
    - Drop of groups: every named group of every column, by the same rule.
    - Increase of the mean error: Student's interval over examples or clusters, and members; its upper end allows for
      skewness [Ch].
    - Drop of slices: the slices that lose most on half of the images (`tfaudit.slices`), on the other half, by the same
      rule.
    - Flips of single models: the exact interval of Clopper and Pearson [CP]. Flips of populations are means over pairs
      of members, or over all combinations without pairs, with an interval for rare events over images and members [FF].
    - Sizes are exact: the value decides.
    - Doubts: nothing is judged if the baseline would be right in another order of its outputs, if it is not better than
      chance (one-sided at level alpha, given how often it predicts each class), less accurate than the compressed model
      by more than 10 points, or less accurate than `limits.min_baseline_accuracy`; nor if the compressed model has
      another order of outputs than the baseline. The usual causes are a different order of the classes or different
      preprocessing than in training.

    Args:
        baseline: the uncompressed model or population: predictions, or outcomes of examples (`Outcomes`), whose mean
            and groups can be limited.
        compressed: the compressed one, on the same examples.
        limits: limits to check; without any, those that `Limits.for_classes` gives.
        alpha: level of the tests; intervals are at level 1 - alpha.
        looks: maximum number of times that the gate is asked until it passes, at every commit for example. Each look
            then has a level of its own, as `tfaudit.stats.interim_level` says, so that all together err at level alpha.
        look: number of this look, from 1; by default it is not counted.
        sizes: bytes of the baseline's file and of the compressed model's file, or means over the members.
        latency_ms: time of one inference of the compressed model's file, milliseconds; a limit on it cannot be judged
            if it is NaN.
        paired: whether each compressed member of a population is made from the baseline's member of the same name, as
            quantized members are; by default as `compressed.parents` says.
        corrupted: predictions of both under corruption, two mappings by corruption and severity as for
            `tfaudit.robustness`, the baseline's first. They are read only if `corruption_drop_pp` is limited; without
            them, that limit cannot be judged.
        groups: table of named groups, such as people's sexes, `(N, columns)` in the order of the examples, as for
            `tfaudit.groups`; without it, a limit `group_drop_pp` cannot be judged.
        min_group: number of examples below which the groups of a column are judged together, as one group that names
            them; 0 by default.
        slices: what `tfaudit.slices` found for both; without it, a limit `slice_drop_pp` cannot be judged.

    Raises:
        InputError: different examples, one model against a population, a limit of size without sizes, a level outside
            (0, 1), or a look that is out of range.

    Example:
        >>> labels = [0] * 200 + [1] * 200
        >>> before = Predictions.from_top1(labels, labels)
        >>> after = Predictions.from_top1(labels, [1] * 40 + labels[40:])
        >>> verdict = gate(before, after, Limits(overall_drop_pp=15, worst_class_drop_pp=10))
        >>> verdict.frame()[["check", "outcome", "value", "limit"]]
                         check outcome  value  limit
        0  worst_class_drop_pp    fail   20.0   10.0
        1      overall_drop_pp    pass   10.0   15.0
    """
    level = interim_level(alpha, looks, look)
    require_type("tfaudit.Limits, such as Limits(overall_drop_pp=1)", Limits, limits=limits)
    require_type("the result of tfaudit.slices", TestedSlices, type(None), slices=slices)
    if not (isinstance(baseline, Outcomes) and isinstance(compressed, Outcomes)):
        require_predictions(baseline=baseline, compressed=compressed)
    if isinstance(baseline, Predictions) and isinstance(compressed, Predictions):
        measured = measure(baseline, compressed, paired=paired, alpha=level)
        if corrupted is not None and limits.corruption_drop_pp is not None:
            measured = measured.with_corruptions(corrupted, paired=paired)
        if slices is not None:
            measured = measured.with_slices(baseline, compressed, slices, paired=paired)
    else:
        what, names = OF_ERRORS if getattr(baseline, "errors", False) else OF_OUTCOMES
        expected = f"a limit on {what}, {' or '.join(names)}"
        for name, limit in limits.as_dict().items():
            require(name in names, name, limit, expected)
        require(what == "outcomes" or limits.as_dict() != {}, "limits", limits, expected)
        measured = measure_outcomes(baseline, compressed, paired=paired, alpha=level)
    if groups is not None and limits.group_drop_pp is not None:
        require_type("a pandas DataFrame", pd.DataFrame, groups=groups)
        measured = measured.with_groups(
            baseline, compressed, groups, least=min_group, paired=paired
        )
    lines = dict.fromkeys((*baseline.read_as, *compressed.read_as))
    verdict = dataclasses.replace(judge(measured, limits, sizes, latency_ms), read_as=tuple(lines))
    if looks == 1:
        return verdict
    return dataclasses.replace(verdict, notes=(*verdict.notes, _level_in_words(alpha, looks, look)))


def _level_in_words(alpha: float, looks: int, look: int | None) -> str:
    """Return the level of one of several looks, and what is left for later ones."""
    level = interim_level(alpha, looks, look)
    if look is None:
        return (
            f"One of at most {looks} looks: each is at level {level:.2g}, so that all together err at level {alpha:g}. "
            "After the last, the data are used up."
        )
    left = sum(interim_level(alpha, looks, later) for later in range(look + 1, looks + 1))
    return f"Look {look} of {looks} is at level {level:.2g}; of level {alpha:g}, {left:.2g} is left for later looks."


def judge(
    measurements: Measurements,
    limits: Limits,
    sizes: tuple[float, float] | None = None,
    latency_ms: float = math.nan,
) -> Verdict:
    """Return the verdict on measurements; see `gate` for the rules.

    Args:
        measurements: result of `measure`.
        limits: limits to check.
        sizes: bytes of the baseline's file and of the compressed model's file, or means over the members.
        latency_ms: time of one inference of the compressed model's file, milliseconds; NaN if it is unknown.

    Raises:
        InputError: a limit of size without sizes.
    """
    limits = limits.for_classes(len(measurements.classes.names))
    checks = Checks(measurements, limits, sizes, latency_ms)
    doubts = checks.doubts()
    return Verdict(
        checks=() if doubts else checks.all(),
        classes=checks.class_frame(),
        groups=checks.group_frame(),
        alpha=measurements.alpha,
        examples=int(measurements.overall.examples[0]),
        members=measurements.members,
        ties=measurements.ties,
        notes=(*measurements.notes, *_unproven(measurements, limits)),
        score=measurements.score,
    ).with_doubts(doubts)


def _unproven(measurements: Measurements, limits: Limits) -> list[str]:
    """Return a note on the classes of a population that are too small for the limit on classes."""
    if measurements.exact or not limits.judge_classes:
        return []
    examples = measurements.classes.examples
    return unproven_class_notes(examples, measurements.alpha, limits.bound_pp)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [_plain(row) for row in frame.to_dict("records")]


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return values for JSON: None instead of NaN."""
    return {
        str(name): None if isinstance(cell, float) and not math.isfinite(cell) else cell
        for name, cell in row.items()
    }
