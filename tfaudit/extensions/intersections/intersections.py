"""Intersections of groups, such as young women: gaps between the best and the worst group, before and after."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, MARGIN_PP, question_columns, verdict_counts
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result, in_points
from tfaudit.errors import InputError, plural
from tfaudit.predictions import Predictions
from tfaudit.stats.changes import accuracy_interval, mean_change
from tfaudit.stats.group_codes import LEAST_IMAGES, group_codes, group_means
from tfaudit.stats.member_rows import Rows
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.ratios import member_mean

WIDER, NARROWER = "wider", "narrower"
CLASS = "class"
MOST_COLUMNS = 12
"""Maximum number of columns that are crossed with each other and with the classes."""


@dataclasses.dataclass(frozen=True)
class Intersections(Result):
    """Accuracy of groups of every grouping: the classes, each column, and all pairs of these.

    Attributes:
        gaps: one row per grouping; see `frame`.
        cells: one row per group of the pairs; see `cell_frame`.
        alpha: level of the tests; intervals are at level 1 - alpha.
        notes: caveats for the reader, one sentence each.
    """

    gaps: pd.DataFrame
    cells: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per grouping.

        Columns: `grouping`, `groups` (their number); `worst_group` (the one with the lowest accuracy after),
        `worst_before` (the lowest accuracy of any group before) and `worst_after`, with `worst_before_low`,
        `worst_before_high`, `worst_after_low`, `worst_after_high`, ends of intervals that hold for all groups at once;
        `worst_change_pp` with `worst_change_low_pp`, `worst_change_high_pp`, `worst_change_p`; the best minus the worst
        accuracy, `gap_before_pp`, `gap_after_pp`, and its change `gap_change_pp` with `gap_change_low_pp`,
        `gap_change_high_pp`, `gap_change_p`, `gap_change_p_holm` (over the groupings) and `verdict` (wider, narrower,
        cannot tell).
        """
        return self.gaps.copy()

    def cell_frame(self) -> pd.DataFrame:
        """Return one row per group of two columns, the largest losses first.

        Columns: `grouping`, `group`, `examples`, `accuracy_before`, `accuracy_after`, and the columns of the two
        questions of `Groups.frame`, from `change_pp` to `relative_verdict`, corrected for all these groups.
        """
        return self.cells.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables beside `frame`, by title."""
        return (
            {"Intersections, the largest losses first": self.cell_frame()}
            if len(self.cells)
            else {}
        )

    def summary(self) -> dict[str, Any]:
        """Return counts of groupings and groups by verdict, the widest gap, and the intersection that loses most."""
        widest = self.gaps.iloc[int(self.gaps["gap_after_pp"].argmax())]
        cells = self.cells.reindex(columns=["group", "change_pp", "verdict"])
        worst = next(iter(cells.to_dict("records")), {"group": None, "change_pp": float("nan")})
        return {
            "groupings": len(self.gaps),
            **verdict_counts(self.gaps["verdict"], WIDER, NARROWER),
            "widest_grouping": widest["grouping"],
            **widest[["gap_before_pp", "gap_after_pp", "worst_after"]].astype(float),
            "widest_worst_group": widest["worst_group"],
            "intersections": len(cells),
            **verdict_counts(cells["verdict"], "lost accuracy"),
            "worst_intersection": worst["group"],
            "worst_intersection_change_pp": worst["change_pp"],
        }

    def chart(self) -> Drawing:
        """Draw the lowest accuracy of each grouping before and after, with intervals that hold for all its groups."""
        from tfaudit.extensions.intersections.chart import gaps_chart

        return gaps_chart(self.gaps)


class _Grouping(NamedTuple):
    name: str
    codes: np.ndarray  # (N,) group of each image
    names: tuple[str, ...]

    @property
    def sizes(self) -> np.ndarray:
        return np.bincount(self.codes, minlength=len(self.names))


def intersections(
    baseline: Predictions,
    compressed: Predictions,
    columns: pd.DataFrame | None = None,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Intersections:
    """Compare the gap between the best and the worst group before and after, for groups and for their intersections.

    Columns are crossed in pairs with each other and with the classes, unless the groups of one are subsets of those of
    the other, as kinds are of classes. Groups of fewer than 10 images are left out. The best and the worst group are
    the observed ones; if another group becomes the worst and both have few images, intervals of the change may be too
    narrow.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        columns: groups, N rows in the order of the examples; None for the classes alone.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: different examples, columns of another length, no group of 10 images, or a level outside (0, 1).

    Example:
        >>> labels = [0] * 10 + [1] * 10
        >>> before = Predictions.from_top1(labels, labels)
        >>> after = Predictions.from_top1(labels, [0] * 5 + [1] * 15)
        >>> intersections(before, after).frame()[["grouping", "worst_group", "gap_before_pp", "gap_after_pp"]]
          grouping worst_group  gap_before_pp  gap_after_pp
        0    class           0            0.0          50.0
    """
    comparison = Comparison(baseline, compressed, paired, alpha)
    notes = [*comparison.notes]
    single = [_Grouping(CLASS, baseline.labels, baseline.class_names)]
    names = [] if columns is None else [str(name) for name in columns]
    if len(names) > MOST_COLUMNS:
        notes.append(f"Only the first {MOST_COLUMNS} of {len(names)} columns are crossed.")
    for name in names[:MOST_COLUMNS]:
        assert columns is not None
        codes = group_codes(columns[name], baseline.num_examples, "columns")
        single.append(_Grouping(name, *codes))
    crossed = [_cross(*pair) for pair in itertools.combinations(single, 2) if not _nested(*pair)]
    gaps = []
    small = 0
    for grouping in [*single, *crossed]:
        sizes = grouping.sizes
        enough = np.flatnonzero(sizes >= LEAST_IMAGES)
        small += int(((sizes > 0) & (sizes < LEAST_IMAGES)).sum())
        if len(enough):
            gaps.append(_gap(comparison, grouping, enough))
    if not gaps:
        got = f"groups of fewer than {LEAST_IMAGES} examples"
        raise InputError("columns", got, f"one of {LEAST_IMAGES} or more")
    if small:
        notes.append(f"Left out: {plural(small, 'group')} of fewer than {LEAST_IMAGES} examples.")
    table = pd.DataFrame(gaps)
    p = adjust(table["gap_change_p"].to_numpy(), "holm")
    words = np.where(table["gap_change_pp"] > 0, WIDER, NARROWER)
    table = table.assign(gap_change_p_holm=p, verdict=np.where(p <= alpha, words, CANNOT_TELL))
    return Intersections(table, _cells(comparison, crossed), alpha, tuple(notes))


def _nested(first: _Grouping, second: _Grouping) -> bool:
    """Return whether one splits the groups of the other, as kinds split classes, so that crossing adds nothing."""
    sizes = [np.count_nonzero(grouping.sizes) for grouping in (first, second)]
    return np.count_nonzero(_cross(first, second).sizes) == max(sizes) > min(sizes) > 1


def _cross(first: _Grouping, second: _Grouping) -> _Grouping:
    codes, found = pd.factorize(first.codes * len(second.names) + second.codes, sort=True)
    pairs = (divmod(int(code), len(second.names)) for code in found)
    names = tuple(f"{first.names[i]}, {second.names[j]}" for i, j in pairs)
    return _Grouping(f"{first.name} and {second.name}", codes, names)


def _gap(comparison: Comparison, grouping: _Grouping, enough: np.ndarray) -> dict[str, Any]:
    """Return the row of a grouping, over its groups with enough images."""
    images = np.isin(grouping.codes, enough)
    codes = np.searchsorted(enough, grouping.codes[images])
    count = len(enough)
    clusters = None if comparison.clusters is None else comparison.clusters[images]
    alpha = comparison.alpha
    weights = len(codes) / np.bincount(codes)
    worst = []
    gap = []
    columns: dict[str, Any] = {"grouping": grouping.name, "groups": count}
    gaps: dict[str, float] = {}
    for side, correct in (("before", comparison.before), ("after", comparison.after)):
        right = Rows.of(correct).map(operator.itemgetter(images))
        accuracy = member_mean(group_means(right, codes, count))
        # Intervals hold for all groups at once.
        low, high = accuracy_interval(
            right, codes, count, confidence=1 - alpha / count, clusters=clusters
        )
        lowest, highest = (
            (codes == extreme) * weights[extreme]
            for extreme in (accuracy.argmin(), accuracy.argmax())
        )
        worst.append(right.map(lowest.__mul__))
        gap.append(right.map((highest - lowest).__mul__))
        columns |= {
            "worst_group": grouping.names[enough[accuracy.argmin()]],
            f"worst_{side}": accuracy.min(),
            f"worst_{side}_low": low.min(),
            f"worst_{side}_high": high.min(),
        }
        gaps[f"gap_{side}_pp"] = 100 * np.ptp(accuracy)
    columns |= gaps
    for name, sides in (("worst_change", worst), ("gap_change", gap)):
        change = mean_change(*sides, paired=bool(comparison.pairs), clusters=clusters)
        low, high = change.interval(1 - alpha, most=1)
        columns |= in_points(name, change.value[0], low[0], high[0])
        columns[f"{name}_p"] = change.p()[0]
    return columns


def _cells(comparison: Comparison, groupings: list[_Grouping]) -> pd.DataFrame:
    """Return the groups of all groupings: images, accuracies and both questions, corrected for the number of groups."""
    cells = []
    figures: dict[str, list[np.ndarray]] = {"change": [], "relative": []}
    for grouping in groupings:
        codes = grouping.codes
        count = len(grouping.names)
        enough = grouping.sizes >= LEAST_IMAGES
        columns = {
            "grouping": grouping.name,
            "group": grouping.names,
            "examples": grouping.sizes,
            "accuracy_before": member_mean(group_means(comparison.before, codes, count)),
            "accuracy_after": member_mean(group_means(comparison.after, codes, count)),
        }
        cells.append(pd.DataFrame(columns)[enough])
        changes = comparison.changes(codes, count)
        questions = (("change", changes.absolute, 1), ("relative", changes.relative, 2))
        for name, change, most in questions:
            ends = change.interval(comparison.confidence, most=most)
            ends_and_p = [*ends, change.p()]
            if name == "change" and comparison.members == (1, 1):
                ends_and_p = [*comparison.exact_changes(codes, count)]
            figures[name].append(np.stack([change.value, *ends_and_p])[:, enough])
    if not sum(map(len, cells)):
        return pd.DataFrame()
    table = pd.concat(cells, ignore_index=True)
    for name, parts in figures.items():
        value, low, high, p = np.concatenate(parts, axis=1)
        answers = question_columns(
            name, value, low, high, p, alpha=comparison.alpha, margin_pp=MARGIN_PP, noun="accuracy"
        )
        table = table.assign(**answers)
    return table.sort_values("change_pp", kind="stable", ignore_index=True)
