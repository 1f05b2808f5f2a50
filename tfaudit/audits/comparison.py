"""The comparison of two populations: the same examples, their pairs of members, the level of the tests."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np

from tfaudit.errors import InputError, listed, require_level
from tfaudit.outcomes import Outcomes, require_same_outcomes
from tfaudit.predictions import Predictions, require_same_examples
from tfaudit.stats.change_intervals import Change, GroupChanges
from tfaudit.stats.changes import group_changes
from tfaudit.stats.class_metrics import (
    Influences,
    MetricChanges,
    average_precision,
    macro_f1,
    metric_change,
    precision_changes,
    roc_area,
)
from tfaudit.stats.contingency import exact_changes, flip_counts
from tfaudit.stats.copies import notes_on_copies
from tfaudit.stats.member_rows import all_in_order
from tfaudit.stats.proportions import exact_interval
from tfaudit.stats.ratios import ratio
from tfaudit.stats.ties import BestClasses


@dataclasses.dataclass(frozen=True)
class OutcomeComparison:
    """How well a baseline and a compressed population do on the same examples, checked: right or wrong, or any outcome.

    Attributes and errors are those of `Comparison`.
    """

    baseline: Predictions | Outcomes
    compressed: Predictions | Outcomes
    paired: bool | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        require_level("alpha", self.alpha)
        self._require_same_examples()
        _ = self.partners

    def _require_same_examples(self) -> None:
        require_same_outcomes(self.baseline, self.compressed)

    @property
    def confidence(self) -> float:
        """Level of the intervals."""
        return 1 - self.alpha

    @property
    def members(self) -> tuple[int, int]:
        """Numbers of members of the baseline and of the compressed population."""
        return self.baseline.num_members, self.compressed.num_members

    @property
    def exact(self) -> bool:
        """Whether one model is compared with one on independent images, right or wrong: exact methods are for these."""
        graded = self.baseline.is_graded or self.compressed.is_graded
        return self.members == (1, 1) and self.clusters is None and not graded

    @property
    def is_one_against_several(self) -> bool:
        """Whether only one side has a single member, so that values have no standard errors."""
        return 1 in self.members and self.members != (1, 1)

    def require_like_sides(self) -> None:
        """Raise an `InputError` if one model is compared with several."""
        if self.is_one_against_several:
            before, after = self.members
            got = f"{after} members against a baseline of {before}"
            raise InputError(
                "compressed", got, "one model against one, or populations of 2 or more"
            )

    @functools.cached_property
    def partners(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Positions of the paired members in both populations; None if the populations are independent.

        Members without a partner on the other side are left out.
        """
        parents = self.compressed.parents
        if self.paired is False or (self.paired is None and parents is None):
            return None
        names = self.compressed.members if parents is None else parents
        position = {member: i for i, member in enumerate(self.baseline.members)}
        shared = [(position[name], i) for i, name in enumerate(names) if name in position]
        if shared:
            first, second = zip(*shared, strict=True)
            return np.array(first), np.array(second)
        if self.paired is None:
            return None
        got = f"members made from {listed([str(name) for name in names])}"
        known = listed([str(name) for name in self.baseline.members])
        raise InputError("paired", got, f"some of the baseline's, {known}")

    @property
    def compared(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the members that are compared: each pair, or every combination if members are not paired.

        Example:
            >>> before, after = (Predictions.from_top1([0], [[0]] * members) for members in (1, 2))
            >>> Comparison(before, after).compared
            (array([0, 0]), array([0, 1]))
        """
        if self.partners is not None:
            return self.partners
        first, second = np.indices(self.members).reshape(2, -1)
        return first, second

    @property
    def made_from(self) -> list[tuple[int, int]]:
        """Positions of each dense member and the compressed one made from it.

        Raises:
            InputError: several members of which none is known to be made from another.
        """
        if self.partners is None and self.members != (1, 1):
            expected = "models made from the baseline's members"
            raise InputError("paired", "independent members", expected)
        return [*zip(*self.compared, strict=True)]

    @property
    def pairs(self) -> int:
        """Number of pairs of members in intervals; 0 if the populations count as independent.

        A single pair does not show how members differ, so such populations count as independent.
        """
        return (
            len(self.partners[0]) if self.partners is not None and len(self.partners[0]) > 1 else 0
        )

    @property
    def rows(self) -> tuple[np.ndarray | slice, np.ndarray | slice]:
        """Positions of the members in intervals, in both populations: pairs in the same order, or without pairs all."""
        if self.pairs and self.partners is not None:
            first, second = map(all_in_order, self.partners, self.members)
            return first, second
        return slice(None), slice(None)

    @functools.cached_property
    def before(self) -> np.ndarray:
        """`(K0, N)` booleans, whether each baseline member in intervals is right; numbers in [0, 1] if classes tie."""
        return self.baseline.right()[self.rows[0]]

    @functools.cached_property
    def after(self) -> np.ndarray:
        """`(K1, N)` the same for the compressed population; K1 = K0 for pairs."""
        return self.compressed.right()[self.rows[1]]

    @property
    def clusters(self) -> np.ndarray | None:
        """`(N,)` integers, the cluster of each example; None if the examples are independent."""
        return None if self._clustered is None else self._clustered.clusters

    @property
    def _clustered(self) -> Predictions | Outcomes | None:
        """The side whose clusters count: clusters that are named come before those of exact copies."""
        sides = sorted((self.baseline, self.compressed), key=lambda side: side.clusters_are_copies)
        return next((side for side in sides if side.clusters is not None), None)

    def changes(self, groups: np.ndarray, count: int) -> GroupChanges:
        """Return the change of accuracy of each group of examples, with errors over images and members.

        Args:
            groups: `(N,)` integers, the group of each example from 0 to `count` - 1.
            count: number of groups.
        """
        return group_changes(
            self.before,
            self.after,
            groups,
            count,
            paired=bool(self.pairs),
            clusters=self.clusters,
        )

    def share_interval(self, share: Change, examples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of the intervals of shares of images, such as those that turn from right to wrong.

        For one model against one it is the exact interval of Clopper and Pearson [CP]; for populations, and where
        images form clusters, that of rare events over images and members [FF].

        Args:
            share: `(G,)` shares of groups of images.
            examples: `(G,)` numbers of their images.
        """
        if self.exact:
            return exact_interval(share.value * examples, examples, self.confidence)
        return share.rate_interval(self.confidence)

    def exact_changes(
        self, groups: np.ndarray, count: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return both ends of the intervals and the p-values of the groups' changes for one model against one.

        The test is McNemar's, the interval Tango's; the arguments are those of `changes`. Both take images as
        independent, so clusters of images have the interval over clusters instead.
        """
        if self.clusters is not None:
            change = self.changes(groups, count).absolute
            return *change.interval(self.confidence, most=1), change.p()
        lost, won = flip_counts(self.before[0], self.after[0], groups, count)
        sizes = np.bincount(groups, minlength=count)
        return exact_changes(lost, won, sizes, confidence=self.confidence)

    @property
    def notes(self) -> tuple[str, ...]:
        """Caveats for the reader, one sentence each."""
        notes: list[str] = []
        if (side := self._clustered) and side.clusters is not None:
            count = len(np.unique(side.clusters))
            notes.append(
                f"Intervals are over {count:,} clusters of the {side.num_examples:,} examples, not over single ones."
            )
        hashed = [side.contents for side in (self.baseline, self.compressed)]
        if known := [contents for contents in hashed if contents is not None]:
            notes += notes_on_copies(known[0], self.clusters)
        if self.partners is not None and not self.pairs and self.baseline.num_members > 1:
            notes.append(
                "A single pair of members: the populations are compared as if they were independent."
            )
        if self.is_one_against_several:
            before, after = self.members
            notes.append(
                f"No intervals: {before} against {after} members; they need two or more on both sides."
            )
        return tuple(notes)


@dataclasses.dataclass(frozen=True)
class Comparison(OutcomeComparison):
    """A baseline and a compressed population on the same examples, checked.

    Attributes:
        baseline: the uncompressed model or population.
        compressed: the compressed one, on the same examples.
        paired: whether each compressed member was made from the baseline's member of the same name; by default as
            `compressed.parents` says. Members without a partner are left out of intervals.
        alpha: level of the tests, in (0, 1); confidence intervals are at level 1 - alpha.

    Raises:
        InputError: different examples, a level outside (0, 1), or pairs are requested and there are none.

    Example:
        >>> before = Predictions.from_top1([0, 1], [[0, 1], [0, 0]])
        >>> after = Predictions.from_top1([0, 1], [[0, 1], [1, 1]], parents=[1, 0])
        >>> comparison = Comparison(before, after)
        >>> comparison.pairs, comparison.before.tolist(), comparison.after.tolist()
        (2, [[True, False], [True, True]], [[True, True], [False, True]])
    """

    baseline: Predictions
    compressed: Predictions

    def _require_same_examples(self) -> None:
        require_same_examples(self.baseline, self.compressed)

    @property
    def class_examples(self) -> np.ndarray:
        """`(C,)` number of examples of each class."""
        return np.bincount(self.baseline.labels, minlength=self.baseline.num_classes)

    @property
    def class_units(self) -> np.ndarray:
        """`(C,)` number of independent images of each class, or of clusters; unequal ones count as fewer."""
        examples = self.class_examples
        if self.clusters is None:
            return examples
        units = np.floor(self.class_changes().absolute.units)
        return np.fmin(units, examples).astype(int)  # unknown for one model against several

    def class_changes(self, *, moderated: bool = True) -> GroupChanges:
        """Return the change of recall of each class, with errors over images and members.

        Args:
            moderated: whether the variances between members borrow strength from other classes, True by default; see
                `Change.moderated`.
        """
        labels = self.baseline.labels
        changes = self.changes(labels, self.baseline.num_classes)
        if not moderated:
            return changes
        right = (self.before.mean(0) + self.after.mean(0)) / 2
        return changes.moderated(
            ratio(np.bincount(labels, right, self.baseline.num_classes), changes.examples)
        )

    @property
    def best(self) -> tuple[list[BestClasses], list[BestClasses]]:
        """The predictions of each member in intervals, of both populations; as many on both sides for pairs."""
        before, after = (
            [side.best(i) for i in np.arange(side.num_members)[rows]]
            for side, rows in zip((self.baseline, self.compressed), self.rows, strict=True)
        )
        return before, after

    def precision_changes(self) -> MetricChanges:
        """Return the change of precision of each class, with errors over images and members."""
        return precision_changes(
            *self.best,
            self.baseline.labels,
            self.baseline.num_classes,
            paired=bool(self.pairs),
            clusters=self.clusters,
        )

    def f1_change(self) -> MetricChanges:
        """Return the change of the mean F1 of the classes that have images."""
        labels, count = self.baseline.labels, self.baseline.num_classes
        shown = self.class_examples > 0
        before, after = (
            [functools.partial(macro_f1, best, labels, count) for best in side]
            for side in self.best
        )
        return self._metric_change(before, after, shown / shown.sum())

    def roc_area_change(self) -> MetricChanges | None:
        """Return the change of the area under the ROC curve of two classes; None without scores or for more."""
        return self._score_change(roc_area, 1)

    def average_precision_change(self, positive: int) -> MetricChanges | None:
        """Return the change of the average precision of one of two classes; None without scores or for more."""
        return self._score_change(average_precision, positive)

    def _score_change(
        self, metric: Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]], positive: int
    ) -> MetricChanges | None:
        populations = self.baseline, self.compressed
        if not all(side.has_probabilities and side.num_classes == 2 for side in populations):
            return None
        labels = (self.baseline.labels == positive).astype(int)

        def member(side: Predictions, position: int) -> tuple[float, np.ndarray]:
            return metric((2 * positive - 1) * side.log_odds(position), labels)

        before, after = (
            [functools.partial(member, side, i) for i in np.arange(side.num_members)[rows]]
            for side, rows in zip(populations, self.rows, strict=True)
        )
        return self._metric_change(before, after, np.ones(2))

    def _metric_change(
        self, before: Sequence[Influences], after: Sequence[Influences], weights: np.ndarray
    ) -> MetricChanges:
        return metric_change(
            before,
            after,
            self.baseline.labels,
            weights,
            paired=bool(self.pairs),
            clusters=self.clusters,
        )


def comparison_of(
    baseline: Predictions | Outcomes,
    compressed: Predictions | Outcomes,
    paired: bool | None,
    alpha: float,
) -> OutcomeComparison:
    """Return the comparison of two sides of one type."""
    if isinstance(baseline, Predictions) and isinstance(compressed, Predictions):
        return Comparison(baseline, compressed, paired, alpha)
    return OutcomeComparison(baseline, compressed, paired, alpha)
