"""Recall distortion, [R]: whether compression drives the recalls of the classes apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.classes.class_rates import class_rates
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, listed
from tfaudit.extensions.distortion.attenuation import corrected_slope
from tfaudit.extensions.distortion.slope_marks import Mark, mark_slopes
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.change_intervals import Change
from tfaudit.stats.least_squares import slope, uncentred_r2
from tfaudit.stats.member_rows import all_in_order
from tfaudit.stats.ratios import normalised_balance, ratio


@dataclasses.dataclass(frozen=True)
class Distortion(Result):
    """Recall distortion of C classes in K members by compression.

    Attributes:
        metric: rate of the classes: "recall", "precision" or "f1".
        class_names: names of the classes.
        members: names of the K pairs of models.
        examples: `(C,)` test examples of each class.
        rates_before, rates_after: `(K, C)` rates of the dense and the pruned members, shares in [0, 1]; NaN for a class
            without examples.
        accuracy_before, accuracy_after: `(K,)` accuracies of the dense and the pruned members, shares in [0, 1].
        corrected: `(1,)` slope without the attenuation by finite test images and by independently trained members, with
            its error over images and members; NaN for rates other than recall, or if balances cannot be told from 0.
        paired: whether the pruned members are made from the dense members, or trained independently.
        notes: remarks for the reader, one sentence each.
    """

    metric: str
    class_names: tuple[str, ...]
    members: tuple[object, ...]
    examples: np.ndarray
    rates_before: np.ndarray
    rates_after: np.ndarray
    accuracy_before: np.ndarray
    accuracy_after: np.ndarray
    corrected: Change
    paired: bool
    notes: tuple[str, ...]

    @property
    def balance_before(self) -> np.ndarray:
        """`(K, C)` rate minus accuracy before compression, in [-1, 1]."""
        return self.rates_before - self.accuracy_before[:, None]

    @property
    def balance_after(self) -> np.ndarray:
        """`(K, C)` rate minus accuracy after compression, in [-1, 1]."""
        return self.rates_after - self.accuracy_after[:, None]

    @property
    def normalised_before(self) -> np.ndarray:
        """`(K, C)` balance / accuracy before compression; NaN for a member without correct predictions."""
        return normalised_balance(self.rates_before, self.accuracy_before)

    @property
    def normalised_after(self) -> np.ndarray:
        """`(K, C)` balance / accuracy after compression; NaN for a member without correct predictions."""
        return normalised_balance(self.rates_after, self.accuracy_after)

    @property
    def intensification(self) -> np.ndarray:
        """`(K, C)` normalised balance after / before, [R] 5; NaN if it is 0 before, unstable if it is near 0."""
        return ratio(self.normalised_after, self.normalised_before)

    @property
    def alpha(self) -> np.ndarray:
        """`(K,)` slope of each member's normalised balances, above 1 if they grow; NaN if undefined."""
        return slope(self.normalised_before, self.normalised_after)

    @property
    def pooled_slope(self) -> float:
        """The slope through the points of all members; members with an undefined slope do not count."""
        return float(slope(self.normalised_before.ravel(), self.normalised_after.ravel()))

    @property
    def pooled_r2(self) -> float:
        """The uncentred r^2 of the pooled slope, as statsmodels reports it for a fit without a constant."""
        return float(uncentred_r2(self.normalised_before.ravel(), self.normalised_after.ravel()))

    @property
    def slope_between_dense(self) -> float:
        """The mean slope of one dense member's balances on another's, without any compression or shared parent.

        It is 1 if all members have the same balances, less if they differ by chance, and NaN for a single member.
        """
        before = self.normalised_before
        if len(before) == 1:
            return float("nan")
        others = ~np.eye(len(before), dtype=bool)
        return float(slope(before[:, None], before[None])[others].mean())

    def mark(self, *, levels: int = 1, alpha: float = 0.05) -> Mark:
        """Return the corrected slope, its interval at confidence `1 - alpha`, and "<", ">" or "?".

        The interval is that of the gate. The mark claims that the slope is not 1 only if the interval at confidence
        `1 - alpha / levels` lies on one side of it: the probability that any of `levels` marks errs is at most `alpha`.
        Without a corrected slope, all figures are NaN and the mark is "?", which claims nothing.

        Raises:
            InputError: fewer than one level, or an alpha outside (0, 1).
        """
        surely = self.published_mark(levels=levels, alpha=alpha).confidence
        (low,), (high,) = self.corrected.interval(surely)
        mark = Mark.of(np.nan, low, high, surely).mark
        (low,), (high,) = self.corrected.interval(1 - alpha)
        return Mark(mark, float(self.corrected.value[0]), float(low), float(high), 1 - alpha)

    def published_mark(self, *, levels: int = 1, alpha: float = 0.05) -> Mark:
        """Return the mean slope with its interval over members alone, as published in [R] 6.2; see `mark`.

        Images are treated as fixed and their errors attenuate the slope: with 30 members and 50 images per class, 15 to
        24 % of marks are wrong.
        """
        return mark_slopes(self.alpha, levels=levels, alpha=alpha)

    def frame(self) -> pd.DataFrame:
        """Return one row per member and class with examples.

        Columns: `member`, `class`, `examples`, `rate_before`, `rate_after` (shares), `balance_before_pp`,
        `balance_after_pp` (percentage points), `normalised_before`, `normalised_after` (shares of the member's
        accuracy) and `intensification`, the ratio of the two.
        """
        rows = pd.MultiIndex.from_product(
            [self.members, self.class_names], names=["member", "class"]
        )
        frame = rows.to_frame(index=False).assign(
            examples=np.tile(self.examples, len(self.members)),
            rate_before=self.rates_before.ravel(),
            rate_after=self.rates_after.ravel(),
            balance_before_pp=100 * self.balance_before.ravel(),
            balance_after_pp=100 * self.balance_after.ravel(),
            normalised_before=self.normalised_before.ravel(),
            normalised_after=self.normalised_after.ravel(),
            intensification=self.intensification.ravel(),
        )
        return frame[frame["examples"] > 0].reset_index(drop=True)

    def members_frame(self) -> pd.DataFrame:
        """Return one row per member.

        Columns: `member`, `alpha`, `accuracy_before`, `accuracy_after`, `variance_before` and `variance_after`, the
        variance of the rates over the classes ([R] table 11).

        Variances divide by C, as the classes are the whole population; [R] does not say so.
        """
        return pd.DataFrame(
            {
                "member": self.members,
                "alpha": self.alpha,
                "accuracy_before": self.accuracy_before,
                "accuracy_after": self.accuracy_after,
                "variance_before": _variance(self.rates_before),
                "variance_after": _variance(self.rates_after),
            }
        )

    def spread_frame(self) -> pd.DataFrame:
        """Return how the slope and the mean intensification ratio spread over the models: [R] appendix G.

        The table has one row per `measure` (slope, mean of the ratios): `members` for which it is defined, `mean`, `sd`
        (NaN for one member), `least`, `most`. Ratios of classes whose recall is almost the accuracy are outliers: means
        of ratios spread far more than slopes.
        """
        ratios = pd.DataFrame(self.intensification).mean(axis=1)
        values = pd.DataFrame({"slope": self.alpha, "mean of the ratios": ratios})
        spread = values.agg(["count", "mean", "std", "min", "max"]).T.reset_index()
        names = ["measure", "members", "mean", "sd", "least", "most"]
        return spread.set_axis(names, axis=1).astype({"members": int})

    def classes_frame(self) -> pd.DataFrame:
        """Return one row per class with examples, means over the members.

        Columns: those of `frame` without `member`; `intensification` is the ratio of the mean normalised balances.
        """
        frame = self.frame()
        known = int((self.examples > 0).sum())
        figures = frame.drop(columns=["member", "class", "intensification"])
        means = figures.groupby(frame.index % known).mean()
        means["examples"] = frame["examples"]
        means.insert(0, "class", frame["class"].head(known))
        return means.assign(
            intensification=ratio(means["normalised_after"], means["normalised_before"])
        )

    def summary(self) -> dict[str, Any]:
        """Return means over the members, with the mark and intervals of a single level; variances divide by C."""
        published = self.published_mark()
        mark = self.mark()
        (low,), (high,) = self.corrected.interval(mark.confidence)
        members = self.members_frame()
        return {
            "metric": self.metric,
            "classes": int((self.examples > 0).sum()),
            "members": len(self.members),
            "alpha": published.mean,
            "alpha_low": published.low,
            "alpha_high": published.high,
            "pooled_slope": self.pooled_slope,
            "pooled_r2": self.pooled_r2,
            "slope_between_dense": self.slope_between_dense,
            "corrected": float(self.corrected.value[0]),
            "corrected_low": float(low),
            "corrected_high": float(high),
            "mark": mark.mark,
            **members.drop(columns=["member", "alpha"]).mean(),
        }

    def chart(self) -> Drawing:
        """Draw normalised balance after against before with the pooled slope, one panel of [R] figures 5 to 8."""
        from tfaudit.extensions.distortion.chart import balance_chart

        return balance_chart(
            self.frame().assign(level=""), pd.DataFrame([{"level": "", **self.summary()}])
        )


def distortion(
    dense: Predictions, pruned: Predictions, *, metric: str = "recall", paired: bool | None = None
) -> Distortion:
    """Compute recall distortion: how compression changes the balances of the classes, [R] 4 and 5.

    The balance of class c is `B[c] = R[c] - A`, recall minus accuracy, and its normalised balance `Bn[c] = B[c] / A`.
    The slope of a member is `alpha = sum_c Bn0[c] Bn[c] / sum_c Bn0[c]^2`, where 0 marks the dense model. Above 1 the
    classes drift apart, below 1 they move together. Members are paired by name, each with **its own** dense parent, the
    model that it was pruned from. If members of the same name were trained independently, the noise of the dense
    members attenuates the slope: it lies below 1 even without compression, and must be compared with
    `slope_between_dense`. Recalls on finite test images attenuate it, too, and so does training further after pruning.
    The `corrected` slope is free of all three, but for a single model that was trained further.

    With metric "precision" or "f1", that rate replaces recall; A stays the accuracy, as in [R] 4. (The sentence
    `R/A = I - 1` of [R] 5 is an error: `R/A = Bn + 1`.)

    Args:
        dense: the uncompressed population.
        pruned: the compressed population on the same examples; its members have the names of their parents.
        metric: "recall" (the default), "precision" (0 for a class that a member never predicts) or "f1".
        paired: whether the pruned members are made from the dense members or trained independently, which matters for
            `corrected`; by default as `pruned.parents` says.

    Raises:
        InputError: different examples, no member in common, or an unknown metric.

    Example:
        >>> def predicted(right_0, right_1):
        ...     return [*[0] * right_0, *[1] * (10 - right_0), *[1] * right_1, *[0] * (10 - right_1)]
        >>> labels = [0] * 10 + [1] * 10
        >>> dense, pruned = (Predictions.from_top1(labels, predicted(*hits)) for hits in ((9, 7), (7, 5)))
        >>> result = distortion(dense, pruned)
        >>> result.alpha.round(4), result.intensification.round(4)
        (array([1.3333]), array([[1.3333, 1.3333]]))
    """
    require_same_examples(dense, pruned)
    rates = [class_rates(population, metric) for population in (dense, pruned)]
    shared = [member for member in dense.members if member in pruned.members]
    if not shared:
        names = f"the names of their dense parents, which are {listed(dense.members)}"
        raise InputError("pruned", f"members {listed(pruned.members)}", names)
    before, after = (
        all_in_order(list(map(population.members.index, shared)), population.num_members)
        for population in (dense, pruned)
    )
    paired = pruned.parents is not None if paired is None else paired
    corrected = Change.without_error(np.array([np.nan]))
    if metric == "recall":
        right = dense.right(), pruned.right()
        if paired:
            right = right[0][before], right[1][after]
        corrected = corrected_slope(
            *right, dense.labels, dense.num_classes, paired=paired, clusters=dense.clusters
        )
    result = Distortion(
        metric=metric,
        class_names=dense.class_names,
        members=tuple(shared),
        examples=np.bincount(dense.labels, minlength=dense.num_classes),
        rates_before=rates[0][before],
        rates_after=rates[1][after],
        accuracy_before=dense.accuracy()[before],
        accuracy_after=pruned.accuracy()[after],
        corrected=corrected,
        paired=paired,
        notes=(),
    )
    everyone = dict.fromkeys((*dense.members, *pruned.members))
    unpaired = [member for member in everyone if member not in shared]
    return dataclasses.replace(result, notes=_notes(result, unpaired))


def _variance(rates: np.ndarray) -> np.ndarray:
    """Return the `(K,)` variances of the members' rates over the classes."""
    defined = rates[:, ~np.isnan(rates[0])]
    return defined.var(1) if defined.shape[1] else np.full(len(rates), np.nan)


def _notes(result: Distortion, unpaired: Sequence[object]) -> tuple[str, ...]:
    notes = []
    if unpaired:
        notes.append(f"Members of only one population are left out: {listed(unpaired)}.")
    counts = pd.Series(result.examples, result.class_names)
    if not counts.all():
        empty = list(counts.index[counts == 0])
        notes.append(f"Classes without test examples do not count: {listed(empty)}.")
    slopes = pd.Series(result.alpha, result.members)
    if slopes.hasnans:
        undefined = list(slopes.index[slopes.isna()])
        reason = "one model has no correct predictions, or the dense one has the same rate for every class."
        notes.append(f"The slope is undefined for members {listed(undefined)}: {reason}")
    tested = counts[counts > 0]
    reason = ""
    if result.metric != "recall":
        reason = f"The rates are {result.metric}"
    elif tested.min() != tested.max():
        reason = f"Classes have {tested.min()} to {tested.max()} test examples"
    if reason:
        notes.append(f"{reason}, so balances need not sum to 0; the line still passes the origin.")
    if result.metric == "recall" and np.isnan(result.corrected.value).all() and not slopes.hasnans:
        single = unpaired and len(result.members) == 1
        reason = (
            "one side is a single model"
            if single
            else "classes cannot be told apart before compression"
        )
        notes.append(f"There is no corrected slope: {reason}.")
    return tuple(notes)
