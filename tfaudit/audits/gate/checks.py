"""Checks of measured quantities against their limits: pass, fail, or too little data to judge."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pandas as pd

from tfaudit.audits.doubts import ACCURACY, Doubt
from tfaudit.audits.gate.limits import CLASS_LIMITS, MORE_THAN_PREDICTIONS, QUANTITIES, Limits
from tfaudit.audits.gate.measurements import LEAST_CLUSTERS, Estimate, Losses, Measurements
from tfaudit.errors import InputError, listed, plural, require_one_of
from tfaudit.runtime.names import class_in_words
from tfaudit.stats.precision import SampleSize

FAIL, CANNOT_JUDGE, PASS = OUTCOMES = ("fail", "cannot judge", "pass")
"""Outcomes, the gravest first."""

PASSES_UNCORRECTED = "passes uncorrected"
"""Outcome of a variant that passes, but not after the correction for all variants of its study."""

LISTED = 10
"""Maximum number of classes that a sentence names."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Check:
    """One quantity against its limit; the numbers are in the unit of the limit.

    Attributes:
        name: name of the limit.
        subject: name of the class that is checked; empty for a check of the whole model.
        limit: value that the quantity must stay below.
        value: measured value; NaN if it is undefined.
        low, high: ends of its interval at level 1 - alpha; NaN for exact quantities.
        images, members: smallest numbers that would decide if the true value is the measured one; 0 if unknown.
        outcome: "pass", "fail" or "cannot judge".
        reason: the value and the limit in few words.
        sentence: the outcome in words.
    """

    name: str
    subject: str = ""
    limit: float
    value: float
    low: float = np.nan
    high: float = np.nan
    images: int = 0
    members: int = 0
    outcome: str
    reason: str
    sentence: str

    def decided_by(self, design: SampleSize | None) -> Check:
        """Return the check with the numbers of a design that would decide; the same without one."""
        if design is None:
            return self
        return dataclasses.replace(self, images=design.images, members=design.members)

    @property
    def is_of_recall(self) -> bool:
        """Whether the check is about the recall of classes."""
        return self.name in CLASS_LIMITS


@dataclasses.dataclass(frozen=True)
class Checks:
    """Checks of one compressed model or population; see `tfaudit.gate` for the rules.

    Every field of `Limits` has a method of the same name, which takes the limit and returns a `Check`. `sizes` are the
    bytes of the baseline's file and of the compressed model's file; `measured_latency_ms` is the time of one inference
    of the latter, NaN if it is unknown.
    """

    measurements: Measurements
    limits: Limits
    sizes: tuple[float, float] | None = None
    measured_latency_ms: float = np.nan

    def all(self) -> tuple[Check, ...]:
        """Return one check per limit that is set."""
        return tuple(getattr(self, name)(limit) for name, limit in self.limits.as_dict().items())

    def doubts(self) -> tuple[Doubt, ...]:
        """Return what forbids a verdict: the doubts about the data, and a baseline less accurate than is required."""
        accuracy = float(self.measurements.overall.before[0])
        least = self.limits.min_baseline_accuracy
        if self.measurements.doubts or least is None or accuracy >= least:
            return self.measurements.doubts
        right = f"The baseline is right on {100 * accuracy:.2f} % of the examples"
        reason = f"{right}; {100 * least:g} % or more are required."
        return (Doubt(ACCURACY, reason, "Nothing is judged against it.", accuracy, least),)

    def overall_drop_pp(self, limit: float) -> Check:
        """Check the loss of accuracy."""
        measured = self.measurements
        return self._whole("overall_drop_pp", measured.score, measured.overall, limit)

    def worst_class_drop_pp(self, limit: float) -> Check:
        """Check the loss of the worst class: the largest among the classes of the gravest outcome."""
        losses = self.measurements.classes
        row, outcome, alike = _gravest(losses, limit, "classes")
        name = losses.names[row]
        recall = f"recall of {class_in_words(name)}"
        check = self._loss("worst_class_drop_pp", recall, losses, row, limit, outcome, name)
        check = dataclasses.replace(check, sentence=f"{check.sentence} {alike}")
        if (
            outcome != CANNOT_JUDGE
            or not self._is_rare(row)
            or not check.value < limit < check.high
        ):
            return check
        return self._of_rare_class(check, int(losses.examples[row]))

    def _is_rare(self, row: int) -> bool:
        """Return whether a class has images, but fewer than half as many as the median class."""
        examples = self.measurements.classes.examples
        return bool(0 < examples[row] < np.median(examples) / 2)

    def _of_rare_class(self, check: Check, images: int) -> Check:
        """Return a check that the few images of one class do not decide, with a reason that says so."""
        name = class_in_words(check.subject)
        has = f"{name[0].upper()}{name[1:]} has {plural(images, 'example')}"
        reason = f"{has}: a loss of up to {check.high:.0f} points cannot be excluded"
        if check.images > images:
            reason += f"; {_about(check.images):,} examples would decide"
        return dataclasses.replace(
            check,
            reason=f"{reason}, limit {check.limit:g}.",
            sentence=f"{reason}. {check.sentence}",
        )

    def precision_drop_pp(self, limit: float) -> Check:
        """Check the loss of precision of the worst class: the largest among the classes of the gravest outcome."""
        losses = self.measurements.precision
        row, outcome, alike = _gravest(losses, limit, "classes")
        name = losses.names[row]
        subject = f"precision of {class_in_words(name)}"
        if np.isnan(losses.loss[row]):
            reason = f"The {subject} is unknown: the baseline or the compressed model never predicts this class."
            check = _unknown("precision_drop_pp", limit, reason, alike)
            return dataclasses.replace(check, subject=name)
        check = self._loss("precision_drop_pp", subject, losses, row, limit, outcome)
        return dataclasses.replace(check, subject=name, sentence=f"{check.sentence} {alike}")

    def f1_drop_pp(self, limit: float) -> Check:
        """Check the loss of the mean F1 of all classes."""
        return self._whole("f1_drop_pp", "macro F1", self.measurements.f1, limit)

    def sensitivity_drop_pp(self, limit: float) -> Check:
        """Check the loss of recall of the positive class."""
        return self._of_positive("sensitivity", limit, self.measurements.classes.only)

    def specificity_drop_pp(self, limit: float) -> Check:
        """Check the loss of recall of the negative class."""
        classes = self.measurements.classes
        return self._of_positive("specificity", limit, lambda row: classes.only(1 - row))

    def auroc_drop_pp(self, limit: float) -> Check:
        """Check the loss of the area under the ROC curve."""
        name, title = "auroc_drop_pp", "area under the ROC curve"
        if unknown := self._unknown_detector(name, title, limit):
            return unknown
        losses = self.measurements.roc_area
        return (
            self._whole(name, title, losses, limit)
            if losses
            else _without_scores(name, title, limit)
        )

    def average_precision_drop_pp(self, limit: float) -> Check:
        """Check the loss of the average precision of the positive class."""
        losses = self.measurements.average_precision
        return self._of_positive(
            "average_precision", limit, lambda row: losses[row] if losses else None
        )

    def _of_positive(
        self, metric: str, limit: float, losses_of: Callable[[int], Losses | None]
    ) -> Check:
        """Check the loss of a metric of the positive class of two, from its losses by number of the class."""
        name, title = f"{metric}_drop_pp", metric.replace("_", " ")
        if unknown := self._unknown_detector(name, title, limit):
            return unknown
        classes, positive = self.measurements.classes.names, self.limits.positive
        if positive is None:
            reason = f"The {title} is unknown: no class is declared positive."
            return _unknown(name, limit, reason, f"`--positive` names it: {' or '.join(classes)}.")
        require_one_of("positive", positive, classes)
        losses = losses_of(classes.index(positive))
        return (
            self._whole(name, title, losses, limit)
            if losses
            else _without_scores(name, title, limit)
        )

    def _unknown_detector(self, name: str, title: str, limit: float) -> Check | None:
        """Return the check of a metric of two classes if there are more."""
        count = len(self.measurements.classes.names)
        if count == 2:
            return None
        reason = f"The {title} is unknown: it is defined for two classes, and there are {count}."
        return _unknown(name, limit, reason, "`--max-f1-drop` is for any number of classes.")

    def _whole(self, name: str, title: str, losses: Losses, limit: float) -> Check:
        """Check a loss of all images, or of one class that was named beforehand."""
        if not np.isfinite(losses.before[0]):
            reason = f"The {title} is unknown: a class has no test examples."
            return _unknown(name, limit, reason, "Examples of both classes are needed.")
        outcome = str(_outcomes(losses, limit)[0])
        return self._loss(name, title, losses, 0, limit, outcome)

    def corruption_drop_pp(self, limit: float) -> Check:
        """Check the loss under the worst corruption: the largest among the corruptions of the gravest outcome."""
        losses = self.measurements.corruptions
        if losses is None:
            reason = (
                "Accuracy under corruption is unknown: there are no predictions under corruption."
            )
            remedy = "A study that names corruptions has them."
            return _unknown("corruption_drop_pp", limit, reason, remedy)
        row, outcome, alike = _gravest(losses, limit, "corruptions")
        checks = dataclasses.replace(self, measurements=self.measurements.of_corrupted_members())
        subject = f"accuracy in {losses.names[row]}"
        check = checks._loss("corruption_drop_pp", subject, losses, row, limit, outcome)
        clean = 100 * self.measurements.overall.before[0]
        before, after = (100 * accuracy[row] for accuracy in (losses.before, losses.after))
        moves = "falls" if before < clean else "rises"
        baseline = f"the baseline itself {moves} from {clean:.1f} to {before:.1f} %"
        where = f"In {losses.names[row]} accuracy is {after:.1f} %; {baseline}."
        return dataclasses.replace(check, sentence=f"{check.sentence} {where} {alike}")

    def group_drop_pp(self, limit: float) -> Check:
        """Check the loss of the worst named group: the largest among the groups of the gravest outcome."""
        losses = self.measurements.groups
        if losses is None:
            reason = "Groups are unknown: there is no table of groups."
            return _unknown("group_drop_pp", limit, reason, "`--groups TABLE` names them.")
        limits = np.array(self.limits.of_groups(losses.names))
        if np.isinf(limits).all():
            columns = listed([name for name, _ in self.limits.group_drops or ()])
            reason = f"Groups are unknown: the table has no column {columns}."
            return _unknown("group_drop_pp", limit, reason, "`--groups TABLE` names them.")
        row, outcome, alike = _gravest(losses, limits, "groups")
        limit = float(limits[row])
        name = f"{losses.names[row]} ({plural(int(losses.examples[row]), 'example')})"
        check = self._loss(
            "group_drop_pp", f"{self.measurements.score} in {name}", losses, row, limit, outcome
        )
        return dataclasses.replace(
            check, subject=losses.names[row], sentence=f"{check.sentence} {alike}"
        )

    def slice_drop_pp(self, limit: float) -> Check:
        """Check the loss of the worst slice: the largest among the slices of the gravest outcome."""
        losses = self.measurements.slices
        if losses is None or not losses.names:
            reason = "Slices are unknown: there are no features, or too few examples."
            remedy = "`tfaudit slices DIR` stores features of a study."
            return _unknown("slice_drop_pp", limit, reason, remedy)
        row, outcome, alike = _gravest(losses, limit, "slices")
        subject = f"accuracy in {losses.names[row]}"
        check = self._loss("slice_drop_pp", subject, losses, row, limit, outcome)
        return dataclasses.replace(check, sentence=f"{check.sentence} {alike}")

    def mean_error_increase(self, limit: float) -> Check:
        """Check the increase of the mean error."""
        measured = self.measurements
        if not measured.of_errors:
            reason = "The mean error is unknown: there are no errors."
            remedy = "`--outcome COLUMN` names the column that holds them."
            return _unknown("mean_error_increase", limit, reason, remedy)
        losses = measured.overall
        increase, low, high = (float(ends[0]) for ends in (losses.loss, losses.low, losses.high))
        moves = f"{'increases' if increase >= 0 else 'decreases'} by {abs(increase):.3g}"
        ends = f"{low:z.3g} to {high:z.3g}"
        before, after = (f"{mean[0]:.4g}" for mean in (losses.before, losses.after))
        check = _check(
            "mean_error_increase",
            limit,
            Estimate(increase, low, high),
            str(_outcomes(losses, limit)[0]),
            f"The mean error {moves}, from {before} to {after} ({self._level} interval {ends})",
            f"The mean error {moves} ({ends}), limit {limit:g}",
        )
        return self._completed(check, losses, 0, "increase")

    def class_frame(self) -> pd.DataFrame:
        """Return the check of every class's loss; no rows if `worst_class_drop_pp` is not limited.

        Columns: `class`, `examples`, `drop_pp`, `low_pp`, `high_pp`, `sure_low_pp` (lower end of the interval that
        holds for all classes at once), `p_holm` (of no change), `outcome`, and the loss of precision:
        `precision_drop_pp`, `precision_low_pp`, `precision_high_pp`.
        """
        limit = self.limits.worst_class_drop_pp
        losses = self.measurements.classes
        precision = self.measurements.precision
        frame = losses.table().assign(
            outcome=_outcomes(losses, np.inf if limit is None else limit),
            precision_drop_pp=precision.loss,
            precision_low_pp=precision.low,
            precision_high_pp=precision.high,
        )
        frame.insert(0, "class", losses.names)
        return frame.head(0) if limit is None else frame

    def group_frame(self) -> pd.DataFrame:
        """Return the check of every named group's loss; no rows if `group_drop_pp` is not limited.

        Columns: `group`, such as "sex: female", those of `Losses.table`, `limit_pp` (infinite for columns without one)
        and `outcome`.
        """
        limit, losses = self.limits.group_drop_pp, self.measurements.groups
        if limit is None or losses is None:
            losses = self.measurements.overall.head(0)
            limits = np.array([])
        else:
            limits = np.array(self.limits.of_groups(losses.names))
        frame = losses.table().assign(limit_pp=limits, outcome=_outcomes(losses, limits))
        frame.insert(0, "group", losses.names)
        return frame

    def share_beyond(self, limit: float) -> Check:
        """Check the share of classes that lose more than the limit of the worst class; none may collapse.

        A class collapses by its recall on these images; the check fails only if recall is halved by more than chance.
        """
        bound = self.limits.bound_pp
        losses = self.measurements.classes
        share = self.measurements.share_beyond(bound)
        surely = losses.sure_low > bound
        collapsed = self.measurements.collapsed
        outcome = _outcome(share, limit)
        low, high = (f"{100 * end:.1f} %" for end in (share.low, share.high))
        many = {PASS: f"At most {high}", FAIL: f"At least {low}"}.get(
            outcome, f"Between {low} and {high}"
        )
        parts = [
            f"{many} of the {len(surely):,} classes lose more than {bound:g} points of recall "
            f"({self._level} interval), limit {100 * limit:g} %."
        ]
        if few := int(self.measurements.unknown_classes(bound).sum()):
            parts.append(f"Unknown, for too few examples: {few:,} of the classes.")
        for verb, which in (("Collapsed", collapsed), ("Surely lose more", surely & ~collapsed)):
            if names := list(np.array(losses.names, object)[which]):
                parts.append(f"{verb}: {listed(names, LISTED)}.")
        parts += self._about_every_class(bound)
        check = _check("share_beyond", limit, share, outcome, " ".join(parts))
        if not collapsed.any() or outcome == FAIL:
            return check
        gone = [losses.names[c] for c in np.argsort(-losses.loss, kind="stable") if collapsed[c]]
        halved = losses.sure_low > 100 * losses.before / 2
        certain = (collapsed & surely & halved).any()
        classes = listed([class_in_words(name) for name in gone], LISTED)
        return dataclasses.replace(
            check,
            subject=gone[0],
            outcome=FAIL if certain else CANNOT_JUDGE,
            reason=f"Recall of {classes} collapsed, whatever the share of classes.",
        )

    def _about_every_class(self, bound: float) -> list[str]:
        """Return which number of images a limit on every single class needs; nothing if there are as many."""
        images = self.measurements.images_for_every_class(bound)
        if images and images <= self.measurements.classes.examples.min():
            return []
        needs = f"about {_about(images):,} examples of each" if images else "more members"
        return [f"Which other classes do is unknown; a limit on every class needs {needs}."]

    def flips(self, limit: float) -> Check:
        """Check the share of predictions that change."""
        return self._share("flips", self.measurements.flips, "change", limit)

    def negative_flips(self, limit: float) -> Check:
        """Check the share of predictions that turn from right to wrong."""
        return self._share(
            "negative_flips", self.measurements.negative_flips, "turn from right to wrong", limit
        )

    def size_bytes(self, limit: float) -> Check:
        """Check the size of the compressed model's file."""
        _, compressed = self._known_sizes("size_bytes")
        sentence = f"The model takes {compressed:,.0f} bytes, limit {limit:,.0f}."
        return _exact("size_bytes", compressed, limit, sentence)

    def size_ratio(self, limit: float) -> Check:
        """Check the size of the compressed model's file as a share of the baseline's."""
        baseline, compressed = self._known_sizes("size_ratio")
        ratio = compressed / baseline
        sentence = f"The model takes {ratio:.3f} of the baseline's bytes, limit {limit:g}."
        return _exact("size_ratio", ratio, limit, sentence)

    def latency_ms(self, limit: float) -> Check:
        """Check the time that the compressed model's file takes on this machine."""
        latency, quantity = self.measured_latency_ms, QUANTITIES["latency_ms"]
        sentence = f"The latency is {quantity.text(latency)}, limit {quantity.text(limit)}."
        return _exact("latency_ms", latency, limit, sentence)

    @property
    def _level(self) -> str:
        return f"{100 * (1 - self.measurements.alpha):g} %"

    def _loss(
        self,
        name: str,
        subject: str,
        losses: Losses,
        row: int,
        limit: float,
        outcome: str,
        short: str = "",
    ) -> Check:
        loss, low, high = (float(values[row]) for values in (losses.loss, losses.low, losses.high))
        moves = f"falls by {loss:.2f}" if loss >= 0 else f"rises by {-loss:.2f}"
        change = f"The {subject} {moves} points ({self._level} interval of the loss {low:z.2f} to {high:z.2f})"
        in_words = class_in_words(short)
        loser = in_words or subject
        if loser != short:  # the name of a class keeps its case
            loser = f"{loser[0].upper()}{loser[1:]}"
        reason = f"{loser} {_moves(loss, low, high)}, limit {limit:g}"
        check = _check(name, limit, Estimate(loss, low, high), outcome, change, reason)
        check = dataclasses.replace(check, subject=short)
        if not losses.examples[row]:
            unknown = f"The {subject} is unknown: no test examples."
            return dataclasses.replace(check, reason=unknown, sentence=unknown)
        if np.isnan(high):
            before, after = self.measurements.members
            sizes = f"{before} against {after} members"
            return dataclasses.replace(
                check,
                reason=f"{loser}: no interval with {sizes}, limit {limit:g}.",
                sentence=f"The {subject} {moves} points; there is no interval with {sizes}.",
            )
        if outcome == CANNOT_JUDGE and low > limit:  # by its own interval alone
            for_all = _judged_alone(name, len(losses.names) - 1)
            check = dataclasses.replace(
                check, reason=f"{reason}{for_all}", sentence=f"{change[:-1]}{for_all})"
            )
        return self._completed(check, losses, row, of_class=f" of {in_words}" if short else "")

    def _completed(
        self, check: Check, losses: Losses, row: int, quantity: str = "loss", of_class: str = ""
    ) -> Check:
        """Return a check whose reason and sentence end with the side of the limit, or with what would decide."""
        limit = f"the limit of {check.limit:g}"
        if check.outcome != CANNOT_JUDGE:
            side = "above" if check.outcome == FAIL else "below"
            sentence = f"{check.sentence}: {side} {limit}."
            return dataclasses.replace(check, reason=f"{check.reason}.", sentence=sentence)
        design = self.measurements.decides(losses, row, check.limit)
        remedy = self._remedy(design, int(losses.examples[row]), quantity, of_class)
        if check.high < check.limit:
            remedy = f"a pass needs {LEAST_CLUSTERS} clusters of examples or more"
        data = f"{self._data(losses, row)} do not decide on {limit}"
        return dataclasses.replace(
            check.decided_by(design),
            reason=f"{check.reason}; {remedy}.",
            sentence=f"{check.sentence}: {data}; {remedy}.",
        )

    def _data(self, losses: Losses, row: int) -> str:
        count = int(losses.examples[row])
        images = plural(count, "example")
        if self.measurements.single:
            return images
        before, after = self.measurements.members
        pairs = self.measurements.pairs
        members = f"{pairs} pairs of" if pairs else f"{before} and {after}"
        return f"{images} and {members} members"

    def _remedy(
        self, design: SampleSize | None, images: int, quantity: str = "loss", of_class: str = ""
    ) -> str:
        """Return how many images or members would decide, and how many there are, as the end of a sentence."""
        if design is None:
            return f"if the true {quantity} is this large, no number of examples can decide"
        more = []
        if design.images > images:
            more.append(f"{_about(design.images):,} examples{of_class} (you have {images:,})")
        members = self.measurements.members_a_side
        if design.members > members:
            have = f" (you have {members:,})" if members == max(self.measurements.members) else ""
            more.append(f"{_about(design.members):,} members on each side{have}")
        return f"with {' and '.join(more) or 'a few more examples'} this could be decided"

    def _share(self, name: str, share: Estimate, verb: str, limit: float) -> Check:
        ends = QUANTITIES[name].interval_text(share.low, share.high)
        interval = f"{self._level} interval {ends}" if ends else "no interval"
        changed = f"{100 * share.value:.2f} % of the predictions {verb} ({interval})"
        sentence = f"{changed}, limit {100 * limit:g} %. {share.remark}".strip()
        check = _check(name, limit, share, _outcome(share, limit), sentence)
        if check.outcome == PASS and self.measurements.overall.few_clusters[0]:
            needs = f"A pass needs {LEAST_CLUSTERS} clusters of examples or more."
            return dataclasses.replace(check, outcome=CANNOT_JUDGE, sentence=f"{sentence} {needs}")
        if check.outcome != CANNOT_JUDGE:
            return check
        design = self.measurements.decides_rate(share, limit)
        remedy = self._remedy(design, int(self.measurements.overall.examples[0]), "rate")
        sentence = f"{sentence} {remedy[0].upper()}{remedy[1:]}."
        return dataclasses.replace(check.decided_by(design), sentence=sentence)

    def _known_sizes(self, name: str) -> tuple[float, float]:
        if self.sizes is None or min(self.sizes) <= 0:
            raise InputError(
                "sizes",
                repr(self.sizes),
                f"the bytes of both models' files, because {name} is limited",
            )
        return self.sizes


def _unknown(name: str, limit: float, reason: str, remedy: str) -> Check:
    """Return a check of what was not measured."""
    return _check(name, limit, Estimate(), CANNOT_JUDGE, f"{reason} {remedy}", reason)


def _without_scores(name: str, title: str, limit: float) -> Check:
    """Return a check of a metric of scores if there are none."""
    reason = f"The {title} is unknown: the predictions have no scores."
    return _unknown(name, limit, reason, "Files of scores, one column per class, have them.")


def doubted(doubt: Doubt) -> Check:
    """Return a doubt as a check that cannot be judged."""
    return Check(
        name=doubt.name,
        value=doubt.value,
        limit=doubt.limit,
        outcome=CANNOT_JUDGE,
        reason=doubt.reason,
        sentence=doubt.sentence,
    )


def _about(count: int) -> int:
    """Return a number rounded up to two digits.

    Example:
        >>> _about(37), _about(429_102)
        (37, 430000)
    """
    step = 10 ** max(len(str(count)) - 2, 0)
    return -(-count // step) * step


def _judged_alone(name: str, others: int) -> str:
    """Return why a class, corruption or slice whose own interval lies above the limit does not fail."""
    noun = name.partition("_")[0] if name in MORE_THAN_PREDICTIONS else "class"
    return f"; judged alone this {noun} fails; judged with the other {others} it may be chance"


def _moves(loss: float, low: float, high: float) -> str:
    if round(loss, 1) >= 0:
        return f"loses {loss:z.1f} points ({low:z.1f} to {high:z.1f})"
    bound = f"loss at most {high:z.1f}" if round(high, 1) >= 0 else f"at least {-high:.1f}"
    return f"gains {-loss:.1f} points ({bound})"


def _outcomes(losses: Losses, limit: float | np.ndarray) -> np.ndarray:
    """Return the `(C,)` outcomes: pass if the interval is below the limit, fail if that for all classes is above."""
    return np.where(
        losses.sure_low > limit,
        FAIL,
        np.where((losses.high < limit) & ~losses.few_clusters, PASS, CANNOT_JUDGE),
    )


def _gravest(losses: Losses, limit: float | np.ndarray, noun: str) -> tuple[int, str, str]:
    """Return the row of the largest loss of the gravest outcome, this outcome, and a sentence on all that share it."""
    outcomes = _outcomes(losses, limit)
    gravity = np.array([OUTCOMES.index(outcome) for outcome in outcomes])
    # NaN, a class without images, sorts last among equals; others sort by name.
    order = np.lexsort((np.array(losses.names), limit - losses.loss.round(9), gravity))
    outcome = str(outcomes[order[0]])
    alike = [losses.names[i] for i in order if outcomes[i] == outcome]
    verb = {FAIL: "fail", CANNOT_JUDGE: "cannot be judged", PASS: "pass"}[outcome]
    names = f": {listed(alike, LISTED)}." if outcome != PASS else "."
    sentence = f"{len(alike)} of {len(losses.names)} {noun} {verb}{names}"
    return int(order[0]), outcome, sentence


def _outcome(estimate: Estimate, limit: float) -> str:
    return FAIL if estimate.low > limit else PASS if estimate.high < limit else CANNOT_JUDGE


def _exact(name: str, value: float, limit: float, sentence: str) -> Check:
    """Return the check of a quantity without an interval."""
    if np.isnan(value):
        unknown = f"The {QUANTITIES[name].title} is unknown."
        return _check(name, limit, Estimate(), CANNOT_JUDGE, unknown)
    return _check(name, limit, Estimate(value), FAIL if value > limit else PASS, sentence)


def _check(
    name: str, limit: float, estimate: Estimate, outcome: str, sentence: str, reason: str = ""
) -> Check:
    """Return the check of an estimate; by default the reason is the value beside the limit."""
    quantity = QUANTITIES[name]
    title = quantity.title[0].upper() + quantity.title[1:]
    return Check(
        name=name,
        limit=limit,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        outcome=outcome,
        reason=reason or f"{title}: {quantity.text(estimate.value)}, limit {quantity.text(limit)}.",
        sentence=sentence,
    )
