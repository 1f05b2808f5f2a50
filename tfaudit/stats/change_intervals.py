"""Intervals and p-values of changes whose variance has a part due to images and one due to members."""

import dataclasses
import functools

import numpy as np
from scipy import special

from tfaudit.stats.moderated_variances import moderated_variances
from tfaudit.stats.ratios import ratio

_SMALLEST_P, _BISECTIONS = 1e-300, 32


@dataclasses.dataclass(frozen=True)
class Change:
    """Estimated changes of G groups of images. Arrays are `(G,)` float64; changes are shares, variances squared shares.

    Attributes:
        value: mean accuracy after minus before, or relative to all images; NaN for a group without images.
        of_images: the part of the variance that falls with the number of images; NaN for a group with fewer than two.
        of_members: the part that falls with the number of members; 0 for one model against one.
        overlap: the part that both contain, which falls with either.
        df_images: degrees of freedom of `of_images`.
        df_members: degrees of freedom of `of_members`, Welch's for two populations.
        clusters: number of clusters of the images; None for independent images. Clusters of unequal sizes count as the
            number of equal ones whose mean varies as much [Ki].
    """

    value: np.ndarray
    of_images: np.ndarray
    of_members: np.ndarray
    overlap: np.ndarray
    df_images: np.ndarray
    df_members: np.ndarray
    clusters: np.ndarray | None = None

    @property
    def error(self) -> np.ndarray:
        """`(G,)` standard error over images and members, of a variance never below that of either; NaN if unknown."""
        least = np.maximum(self.of_images, self.of_members)
        return np.sqrt(np.maximum(self.of_images + self.of_members - self.overlap, least))

    @property
    def units(self) -> np.ndarray:
        """`(G,)` number of independent images, or of their clusters."""
        return self.df_images + 1 if self.clusters is None else self.clusters

    @classmethod
    def without_error(cls, value: np.ndarray) -> "Change":
        """Return changes whose errors are unknown, NaN.

        Example:
            >>> Change.without_error(np.array([0.5])).p()
            array([nan])
        """
        return cls(value, *np.full((5, *np.shape(value)), np.nan))

    def moderated(self, accuracy: np.ndarray) -> "Change":
        """Return the changes with variances between members that borrow strength from the other groups [Sm].

        Two or three members hardly show how they differ on one group, but all groups together do. Members that differ
        alike in strength differ in accuracy by the slope of the normal distribution at that accuracy. This prior
        variance counts as one more degree of freedom, however many groups there are: false claims about groups whose
        members differ more than others stay below 5 %, but the intervals of these groups are too short
        (`python -m benchmarks.verdicts members`). With fewer than ten groups nothing changes.

        Args:
            accuracy: `(G,)` mean accuracy of each group, a share.

        Example:
            >>> from tfaudit.stats.changes import group_changes
            >>> rng = np.random.default_rng(0)
            >>> before, after = rng.random((2, 5000)) < 0.9, rng.random((2, 5000)) < 0.9
            >>> change = group_changes(before, after, np.arange(5000) % 10, 10, paired=True).absolute
            >>> both = change, change.moderated(np.full(10, 0.9))
            >>> [float(np.diff(one.interval(), axis=0).mean().round(3)) for one in both]
            [0.187, 0.082]
        """
        own = np.where(np.isfinite(self.error), self.of_members, np.nan)
        of_members = moderated_variances(own, self.overlap, self.df_members, accuracy)
        changed = np.isfinite(of_members)
        if not changed.any():
            return self
        return dataclasses.replace(
            self,
            of_members=np.where(changed, of_members, self.of_members),
            df_members=self.df_members + changed,
        )

    def at_least(self, variance: np.ndarray) -> "Change":
        """Return the changes with a least variance due to images, `(G,)`.

        Example:
            >>> from tfaudit.stats.changes import mean_change
            >>> mean_change(np.zeros((1, 9)), np.zeros((1, 9)), paired=True).at_least(np.array([0.04])).error
            array([0.2])
        """
        return dataclasses.replace(self, of_images=np.maximum(self.of_images, variance))

    def interval(
        self, confidence: float = 0.95, *, least: float | None = None, most: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of the interval at a confidence level, `(G,)` each.

        They lie within `least` and `most`, the possible values; `least` is -`most` by default.
        """
        margin = self._critical((1 + confidence) / 2) * self.error
        least = -most if least is None else least
        low, high = (np.clip(self.value + side * margin, least, most) for side in (-1, 1))
        return low, high

    def rate_interval(self, confidence: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Return both ends of the interval of rates in [0, 1] of events that may be rare, `(G,)` each.

        The lower end is a quantile of the gamma distribution of the rate. The upper end is one of the rate that would
        follow if one more image, or cluster, showed the event in every model [FF]. Both have the tail of `interval`. At
        equal distance from a rate of a few images both ends would be too low.

        Example:
            >>> from tfaudit.stats.changes import mean_change
            >>> none = mean_change(np.zeros((1, 100)), np.zeros((1, 100)), paired=True)
            >>> none.rate_interval()[1].round(3)
            array([0.061])
        """
        tail = special.ndtr(-self._critical((1 + confidence) / 2))
        ends = []
        for more, quantile in (
            (0.0, special.gammaincinv),
            (1 / self.units, special.gammainccinv),
        ):
            rate, variance = self.value + more, self.error**2 + more**2
            shape, scale = ratio(rate**2, variance), ratio(variance, rate)
            ends.append(np.where(rate > 0, quantile(shape, tail) * scale, 0 * variance))
        return ends[0], np.minimum(ends[1], 1)

    def p(self) -> np.ndarray:
        """Return the two-sided p-values of no change, `(G,)`; 1 where nothing varies and nothing changes.

        It is the level at which the interval's end is 0, found by bisection.
        """
        return self._p

    @functools.cached_property
    def _p(self) -> np.ndarray:
        """P-values, cached because a table of many classes needs them repeatedly."""
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.value) / self.error
        few, many = (choose(self.df_images, self.df_members) for choose in (np.minimum, np.maximum))
        least, most = (np.log(np.maximum(special.stdtr(df, -t), _SMALLEST_P)) for df in (many, few))
        for _ in range(_BISECTIONS):
            middle = (least + most) / 2
            wide = -self._critical(np.exp(middle)) > t
            least = np.where(wide, middle, least)
            most = np.where(wide, most, middle)
        return np.where((self.error == 0) & (self.value == 0), 1.0, 2 * np.exp(most))

    def _critical(self, probability: np.ndarray | float) -> np.ndarray:
        return critical_value(
            probability, self.of_images, self.of_members, self.df_images, self.df_members
        )


@dataclasses.dataclass(frozen=True)
class GroupChanges:
    """Changes of accuracy of G groups of images: `absolute`, and `relative` to the change over all images.

    `examples` is `(G,)`, the number of images of each group.
    """

    examples: np.ndarray
    absolute: Change
    relative: Change

    def moderated(self, accuracy: np.ndarray) -> "GroupChanges":
        """Return the changes with moderated variances between members; see `Change.moderated`."""
        absolute, relative = (
            change.moderated(accuracy) for change in (self.absolute, self.relative)
        )
        return GroupChanges(self.examples, absolute, relative)


def critical_value(
    probability: np.ndarray | float,
    of_images: np.ndarray | float,
    of_members: np.ndarray | float,
    df_images: np.ndarray | float,
    df_members: np.ndarray | float,
) -> np.ndarray:
    """Return the quantile of a change over its standard error: both sources' t quantiles, weighted by variance.

    This is Cochran's approximation [Co]. Satterthwaite's degrees of freedom are large if two members happen to agree:
    for two members and ten classes of 500 images each, corrected claims at 5 % then had an error rate of 23 %.

    Args:
        probability: probability of the quantile, such as .975.
        of_images: the images' part of the variance.
        of_members: the members' part.
        df_images: degrees of freedom of the images' part.
        df_members: degrees of freedom of the members' part.

    Example:
        >>> critical_value(0.975, 1.0, [0.0, 0.1, 1.0], 99, 1).round(2)
        array([1.98, 2.96, 7.35])
    """
    total = np.add(of_images, of_members)
    share = np.divide(of_members, total, out=np.zeros_like(total), where=total > 0)
    by_images, by_members = (special.stdtrit(df, probability) for df in (df_images, df_members))
    return by_images + share * (by_members - by_images)
