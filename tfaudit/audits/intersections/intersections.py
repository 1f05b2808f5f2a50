"""Intersections of groups, such as young women: gaps between the best and the worst group, before and after."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tfaudit.audits.classes.classes import CANNOT_TELL, MARGIN_PP, question_columns
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import InputError, plural
from tfaudit.predictions import Predictions
from tfaudit.stats.contingency import exact_changes, flip_counts
from tfaudit.stats.group_codes import group_codes, group_means
from tfaudit.stats.multiplicity import adjust
from tfaudit.stats.two_way import LEAST_IMAGES, accuracy_interval, mean_change

WIDER, NARROWER = "wider", "narrower"
CLASS = "class"
MOST_COLUMNS = 12
"""Columns at most that are crossed with each other and with the classes."""


@dataclasses.dataclass(frozen=True)
class Intersections(Result):
    """Accuracy of groups of every grouping: the classes, each column, and all pairs of these.

    Attributes:
        gaps: one row per grouping; see `frame`.
        cells: one row per group of the pairs; see `cell_frame`.
        alpha: level of the tests; 1 - alpha is that of the intervals.
        notes: caveats for the reader, one sentence each.
    """

    gaps: pd.DataFrame
    cells: pd.DataFrame
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return one row per grouping.

        Columns: `grouping`, `groups` (their number); `worst_group` (that of the lowest accuracy after),
        `worst_before` (the lowest accuracy of any group before) and `worst_after`, with `worst_before_low`,
        `worst_before_high`, `worst_after_low`, `worst_after_high`, which hold for all groups at once; `worst_change_pp`
        with `worst_change_low_pp`, `worst_change_high_pp`, `worst_change_p`; the best minus the worst accuracy,
        `gap_before_pp`, `gap_after_pp`, and its change `gap_change_pp` with `gap_change_low_pp`, `gap_change_high_pp`,
        `gap_change_p`, `gap_change_p_holm` (over the groupings) and `verdict` (wider, narrower, cannot tell).
        """
        return self.gaps.copy()

    def cell_frame(self) -> pd.DataFrame:
        """Return one row per group of two columns, the largest losses first.

        Columns: `grouping`, `group`, `examples`, `accuracy_before`, `accuracy_after`, and those of the two questions of
        `Groups.frame`, from `change_pp` to `relative_verdict`; corrections are for all these groups.
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
        worst = self.cells.iloc[0] if len(self.cells) else None
        return {
            "groupings": len(self.gaps),
            **{word: int((self.gaps["verdict"] == word).sum()) for word in (WIDER, NARROWER)},
            "widest_grouping": widest["grouping"],
            **{
                name: float(widest[name])
                for name in ("gap_before_pp", "gap_after_pp", "worst_after")
            },
            "widest_worst_group": widest["worst_group"],
            "intersections": len(self.cells),
            "lost_accuracy": int((self.cells["verdict"] == "lost accuracy").sum())
            if worst is not None
            else 0,
            "worst_intersection": None if worst is None else worst["group"],
            "worst_intersection_change_pp": float("nan")
            if worst is None
            else float(worst["change_pp"]),
        }

    def chart(self) -> Drawing:
        """Draw the lowest accuracy of each grouping before and after, with intervals that hold for all its groups."""
        from tfaudit.audits.intersections.chart import gaps_chart

        return gaps_chart(self.gaps)


class _Grouping(NamedTuple):
    name: str
    codes: np.ndarray  # (N,) group of each image
    names: tuple[str, ...]
    crossed: bool


def intersections(
    baseline: Predictions,
    compressed: Predictions,
    columns: pd.DataFrame | None = None,
    *,
    paired: bool | None = None,
    alpha: float = 0.05,
) -> Intersections:
    """Compare the gap between the best and the worst group before and after, for groups and for their intersections.

    Columns are crossed in pairs with each other and with the classes, but not where the groups of one lie within those
    of the other, as kinds lie in classes; groups of fewer than 10 images are left out. The best and the worst group are
    those that were observed; where another group becomes the worst and each has few images, intervals of the change may
    be too narrow.

    Args:
        baseline: the uncompressed population.
        compressed: the compressed population, on the same examples.
        columns: groups, N rows in the order of the examples; None for the classes alone.
        paired: whether members are compared in pairs (see `Comparison`); None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).

    Raises:
        InputError: other examples, columns of another length, no group of 10 images, or a level outside (0, 1).

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
    single = [_Grouping(CLASS, baseline.labels, baseline.class_names, crossed=False)]
    names = [] if columns is None else [str(name) for name in columns]
    if len(names) > MOST_COLUMNS:
        notes.append(f"Only the first {MOST_COLUMNS} of {len(names)} columns are crossed.")
    for name in names[:MOST_COLUMNS]:
        assert columns is not None
        single.append(
            _Grouping(
                name, *group_codes(columns[name], baseline.num_examples, "columns"), crossed=False
            )
        )
    crossed = (_cross(*pair) for pair in itertools.combinations(single, 2) if not _nested(*pair))
    groupings = [*single, *crossed]
    gaps = []
    cells = []
    small = 0
    for grouping in groupings:
        sizes = np.bincount(grouping.codes, minlength=len(grouping.names))
        kept = np.flatnonzero(sizes >= LEAST_IMAGES)
        small += int(((sizes > 0) & (sizes < LEAST_IMAGES)).sum())
        if not len(kept):
            continue
        images = np.isin(grouping.codes, kept)
        codes = np.searchsorted(kept, grouping.codes[images])
        labels = tuple(grouping.names[i] for i in kept)
        gaps.append({"grouping": grouping.name, **_gap(comparison, images, codes, labels)})
        if grouping.crossed:
            cells.append(_cells(comparison, grouping, kept))
    if not gaps:
        raise InputError(
            "columns",
            f"groups of fewer than {LEAST_IMAGES} images",
            f"one of {LEAST_IMAGES} or more",
        )
    if small:
        notes.append(f"Left out: {plural(small, 'group')} of fewer than {LEAST_IMAGES} images.")
    table = pd.DataFrame(gaps)
    p = adjust(table["gap_change_p"].to_numpy(), "holm")
    words = np.where(table["gap_change_pp"] > 0, WIDER, NARROWER)
    table = table.assign(gap_change_p_holm=p, verdict=np.where(p <= alpha, words, CANNOT_TELL))
    return Intersections(table, _cell_table(cells, alpha), alpha, tuple(notes))


def _nested(first: _Grouping, second: _Grouping) -> bool:
    """Return whether one splits the groups of the other, as kinds split classes: nothing to cross."""
    sizes = [len(np.unique(grouping.codes)) for grouping in (first, second)]
    return (
        len(np.unique(first.codes * len(second.names) + second.codes))
        == max(sizes)
        > min(sizes)
        > 1
    )


def _cross(first: _Grouping, second: _Grouping) -> _Grouping:
    codes, found = pd.factorize(first.codes * len(second.names) + second.codes, sort=True)
    pairs = (divmod(int(code), len(second.names)) for code in found)
    names = tuple(f"{first.names[i]}, {second.names[j]}" for i, j in pairs)
    return _Grouping(f"{first.name} and {second.name}", codes, names, crossed=True)


def _gap(
    comparison: Comparison, images: np.ndarray, codes: np.ndarray, names: tuple[str, ...]
) -> dict[str, Any]:
    """Return the row of a grouping, without its grouping; `images` are in its groups, whose codes are `codes`."""
    sides = comparison.before[:, images], comparison.after[:, images]
    count = len(names)
    alpha = comparison.alpha
    paired = bool(comparison.pairs)
    accuracy = [group_means(right, codes, count).mean(0) for right in sides]
    ends = [accuracy_interval(right, codes, count, confidence=1 - alpha / count) for right in sides]
    worst = [int(values.argmin()) for values in accuracy]
    weights = len(codes) / np.bincount(codes, minlength=count)
    of_worst = []
    of_gap = []
    for right, values, lowest in zip(sides, accuracy, worst, strict=True):
        low, high = (
            right * (codes == extreme) * weights[extreme]
            for extreme in (lowest, int(values.argmax()))
        )
        of_worst.append(low)
        of_gap.append(high - low)
    row: dict[str, Any] = {"groups": count, "worst_group": names[worst[1]]}
    for side, values, (low, high) in zip(("before", "after"), accuracy, ends, strict=True):
        row |= {
            f"worst_{side}": values.min(),
            f"worst_{side}_low": low.min(),
            f"worst_{side}_high": high.min(),
        }
    row |= {
        f"gap_{side}_pp": 100 * np.ptp(values)
        for side, values in zip(("before", "after"), accuracy, strict=True)
    }
    for name, (before, after) in (("worst_change", of_worst), ("gap_change", of_gap)):
        change = mean_change(before, after, paired=paired)
        low, high = change.interval(1 - alpha)
        figures = {"pp": change.value, "low_pp": low, "high_pp": high}
        row |= {f"{name}_{key}": 100 * float(value[0]) for key, value in figures.items()}
        row |= {f"{name}_p": float(change.p()[0])}
    return row


def _cells(comparison: Comparison, grouping: _Grouping, kept: np.ndarray) -> pd.DataFrame:
    """Return the groups of one grouping: images, accuracies, and the figures of the two questions."""
    codes = grouping.codes
    count = len(grouping.names)
    before = comparison.before
    after = comparison.after
    changes = comparison.changes(codes, count)
    columns: dict[str, Any] = {
        "grouping": grouping.name,
        "group": grouping.names,
        "examples": np.bincount(codes, minlength=count),
        "accuracy_before": group_means(before, codes, count).mean(0),
        "accuracy_after": group_means(after, codes, count).mean(0),
    }
    for name, change in (("change", changes.absolute), ("relative", changes.relative)):
        figures = change.value, *change.interval(comparison.confidence), change.p()
        if name == "change" and comparison.members == (1, 1):
            flips = flip_counts(before[0], after[0], codes, count)
            figures = (
                change.value,
                *exact_changes(*flips, changes.examples, confidence=comparison.confidence),
            )
        columns |= dict(zip([f"{name}_{figure}" for figure in _FIGURES], figures, strict=True))
    return pd.DataFrame(columns).iloc[kept]


_FIGURES = ("value", "low", "high", "p")


def _cell_table(cells: list[pd.DataFrame], alpha: float) -> pd.DataFrame:
    """Return the groups of all groupings with the columns of both questions, corrected for their number."""
    if not cells:
        return pd.DataFrame()
    table = pd.concat(cells, ignore_index=True)
    for name in ("change", "relative"):
        figures = [table.pop(f"{name}_{figure}").to_numpy() for figure in _FIGURES]
        columns = question_columns(
            name, *figures, alpha=alpha, margin_pp=MARGIN_PP, noun="accuracy"
        )
        table = table.assign(**columns)
    return table.sort_values("change_pp", kind="stable", ignore_index=True)
