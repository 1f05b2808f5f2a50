"""What compression changes in outcomes that are no classes: overall, in every group, and example by example."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from tfaudit.audits.gate.measurements import CHANGES, Measurements, measure_outcomes
from tfaudit.audits.result import Drawing, Result
from tfaudit.errors import number, require
from tfaudit.outcomes import Outcomes
from tfaudit.stats.permutation import CountNull, assign

HALF = 0.5
"""Change of the mean outcome of several models beyond which an example counts as changed."""


@dataclasses.dataclass(frozen=True)
class OutcomeChanges(Result):
    """Changes of outcomes from a baseline to a compressed model or population.

    Attributes:
        measurements: losses of the mean outcome, overall and in every group.
        examples: a row per example; see `changed`.
        margin: change of an example's mean outcome beyond which it counts as changed.
        fallen: number of examples that fall by more than the margin, and what retraining alone would give; None for one
            model against one.
        texts: names of the columns of texts in `examples`.
        alpha: level of the tests.
        notes: caveats for the reader, one sentence each.
    """

    measurements: Measurements
    examples: pd.DataFrame
    margin: float
    fallen: CountNull | None
    texts: tuple[str, ...]
    alpha: float
    notes: tuple[str, ...]

    def frame(self) -> pd.DataFrame:
        """Return a row for all examples, and one per group.

        Columns: `group`, such as "topic: law"; `examples`; `before` and `after`, mean outcomes; `change_pp`,
        `change_low_pp`, `change_high_pp`, `p`, and `p_holm`, corrected for the number of groups.
        """
        parts = [part for part in (self.measurements.overall, self.measurements.groups) if part]
        tables = [losses.changes().assign(group=losses.names, p=losses.p) for losses in parts]
        columns = ["group", "examples", "before", "after", *CHANGES, "p", "p_holm"]
        return pd.concat(tables, ignore_index=True)[columns]

    def changed(self) -> pd.DataFrame:
        """Return the examples that change by more than the margin, those that fall most first.

        Columns: `example`; `before` and `after`, means over the members; `change`; `retrained`, the mean difference of
        two baseline members on this example, NaN for one; and texts, with those of the compressed model, where they
        differ, as `NAME after`. The order is that of the fall beyond what retraining changes.
        """
        table = self.examples[self.examples["change"].abs() > self.margin]
        beyond = table["change"] + table["retrained"].fillna(0) * np.sign(-table["change"])
        return table.loc[beyond.sort_values(kind="stable").index].reset_index(drop=True)

    def summary(self) -> dict[str, Any]:
        """Return the figures in short; `other_NAME` counts examples whose text differs."""
        overall = self.frame().iloc[0]
        change = self.examples["change"]
        other = {
            f"other_{name}": int((self.examples[name] != self.examples[f"{name} after"]).sum())
            for name in self.texts
            if f"{name} after" in self.examples
        }
        return {
            **{str(name): value for name, value in overall.drop(["group", "p_holm"]).items()},
            "fell": int((change < -self.margin).sum()),
            "rose": int((change > self.margin).sum()),
            "fell_by_chance": None if self.fallen is None else self.fallen.mean,
            "fell_p": None if self.fallen is None else self.fallen.p,
            **other,
        }

    def chart(self) -> Drawing:
        """Draw the change in every group with its interval."""
        from tfaudit.charts.change_rows import change_rows

        title = "change of the mean outcome, points"
        return change_rows(self.frame(), "group", title, alpha=self.alpha)


def compare_outcomes(
    baseline: Outcomes,
    compressed: Outcomes,
    groups: pd.DataFrame | None = None,
    *,
    margin: float | None = None,
    min_group: int = 0,
    texts: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    paired: bool | None = None,
    alpha: float = 0.05,
    permutations: int = 1000,
    seed: int = 0,
) -> OutcomeChanges:
    """Compare outcomes before and after compression: overall, in every group, and example by example.

    Losses are those that `tfaudit.gate` judges. Of populations, the number of examples that fall is compared with what
    it would be if members were reassigned to both sides at random, as `tfaudit.chance` does for PIEs.

    Args:
        baseline: outcomes of the uncompressed model or population.
        compressed: those of the compressed one, on the same examples.
        groups: `(N, columns)` groups of the examples; None by default.
        margin: change of an example's mean outcome beyond which it counts as changed, in [0, 1); by default 0 for one
            model against one, .5 for populations.
        min_group: number of examples below which the groups of a column are taken together; 0 by default.
        texts: texts of the examples, such as prompts and answers, for both sides, with the same columns; None by
            default.
        paired: whether members are compared in pairs; None pairs them by `compressed.parents`.
        alpha: level of the tests, in (0, 1).
        permutations: maximum number of reassignments of members; 0 for none.
        seed: seed of the reassignments.

    Raises:
        InputError: different examples, one model against a population, or a margin outside [0, 1).

    Example:
        >>> before, after = Outcomes([1, 1, 0.5, 0] * 10), Outcomes([1, 0, 0.5, 0] * 10)
        >>> changes = compare_outcomes(before, after, pd.DataFrame({"topic": ["law", "art"] * 20}))
        >>> changes.frame()[["group", "examples", "before", "after", "change_pp"]]
                  group  examples  before  after  change_pp
        0  all examples        40   0.625  0.375      -25.0
        1    topic: art        20   0.500  0.000      -50.0
        2    topic: law        20   0.750  0.750        0.0
        >>> changes.summary()["fell"]
        10
    """
    measured = measure_outcomes(baseline, compressed, paired=paired, alpha=alpha)
    require(not measured.of_errors, "baseline", "errors", "outcomes in [0, 1]")
    if groups is not None and len(groups.columns):
        measured = measured.with_groups(
            baseline, compressed, groups, least=min_group, paired=paired
        )
    margin = (0.0 if measured.single else HALF) if margin is None else number(margin)
    require(0 <= margin < 1, "margin", margin, "a change in [0, 1)")
    examples = _examples(baseline, compressed, texts)
    fallen = None
    if not measured.single and permutations:
        values = np.concatenate([baseline.values, compressed.values])
        pairs = measured.pairs == baseline.num_members == compressed.num_members
        fallen = _fallen(values, baseline.num_members, margin, permutations, seed, paired=pairs)
    names = () if texts is None else tuple(map(str, texts[0]))
    return OutcomeChanges(measured, examples, margin, fallen, names, alpha, measured.notes)


def _examples(
    baseline: Outcomes,
    compressed: Outcomes,
    texts: tuple[pd.DataFrame, pd.DataFrame] | None,
) -> pd.DataFrame:
    """Return a row per example: its outcomes, what retraining changes, and texts."""
    ids = baseline.example_ids
    before, after = baseline.values.mean(0), compressed.values.mean(0)
    pairs = itertools.combinations(baseline.values, 2)
    differences = [np.abs(one - other) for one, other in pairs]
    columns: dict[str, Any] = {
        "example": np.arange(baseline.num_examples) if ids is None else ids,
        "before": before,
        "after": after,
        "change": (after - before).round(12),
        "retrained": np.mean(differences, axis=0) if differences else np.nan,
    }
    if texts is not None:
        first, second = texts
        for name in first:
            columns[str(name)] = first[name].to_numpy()
            if (first[name].to_numpy() != second[name].to_numpy()).any():
                columns[f"{name} after"] = second[name].to_numpy()
    return pd.DataFrame(columns)


def _fallen(
    values: np.ndarray, first: int, margin: float, permutations: int, seed: int, *, paired: bool
) -> CountNull:
    """Return the number of examples whose mean falls, under random reassignments of `(K0 + K1, N)` outcomes."""
    second = len(values) - first
    drawn = assign(first, second, permutations=permutations, seed=seed, paired=paired)
    counts = [
        int((values[~own].mean(0) - values[own].mean(0) < -margin - 1e-12).sum())
        for own in drawn.first
    ]
    return drawn.null(np.array(counts))
