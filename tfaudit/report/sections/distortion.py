"""Do the classes drift apart?"""

from __future__ import annotations

import pandas as pd

from tfaudit.audit.distortion import Distortion, distortion
from tfaudit.audit.slope_tables import level_table
from tfaudit.audit.slopes import balances, pooled, slope_frame, slope_intervals
from tfaudit.report.charts.distortion import balance_chart
from tfaudit.report.charts.slopes import interval_chart, slope_chart, tradeoff_chart
from tfaudit.report.sections.material import Material
from tfaudit.report.sections.section import Figure, Section, Table, column

__all__ = ["distortion_section"]

BY = ("method", "level")


def distortion_section(material: Material) -> Section | None:
    """Slopes of the normalised recall balances of every variant whose members carry the numbers of dense ones."""
    found = {
        (material.study.variant(key).family, material.titles[key]): distortion(material.baseline, population)
        for key, population in material.compressed.items()
        if set(population.members) & set(material.baseline.members)
    }
    found = {key: each for key, each in found.items() if each.alpha.size and pd.notna(each.alpha).any()}
    if not found:
        return None
    slopes = slope_frame(found, by=BY)
    intervals = slope_intervals(slopes, alpha=material.alpha)
    return Section(
        "distortion",
        "Recall distortion",
        "Whether the recalls of the classes drift apart (slope above 1) or together (below 1) when a model is "
        "compressed: the slope of each class's recall balance after compression on the one before.",
        "[R] 5 and 6",
        _figures(found, slopes, intervals),
        (_table(found, intervals),),
        tuple(dict.fromkeys((*_apart(material), *(note for each in found.values() for note in each.notes)))),
    )


def _figures(
    found: dict[tuple[str, str], Distortion], slopes: pd.DataFrame, intervals: pd.DataFrame
) -> tuple[Figure, ...]:
    named = {name: each for (_, name), each in found.items()}
    figures = [
        Figure("slopes", slope_chart(slopes, intervals), "A box and a dot per model for every variant.", "Slopes"),
        Figure("slope-intervals", interval_chart(intervals), "Mean slope with its interval.", "Mean slopes"),
        Figure(
            "accuracy-slope",
            tradeoff_chart(level_table(slopes)),
            "Mean accuracy and mean slope of every variant with standard errors.",
            "Accuracy and slope",
        ),
        Figure(
            "balances",
            balance_chart(balances(named), pooled(named)),
            "A point per class and member: normalised recall balance after against before.",
            "Balances after and before",
        ),
    ]
    single = slopes.groupby(["method", "level"]).size().max() == 1
    return tuple(figure for figure in figures if not (single and figure.name in ("slopes", "slope-intervals")))


def _table(found: dict[tuple[str, str], Distortion], intervals: pd.DataFrame) -> Table:
    rows = pd.DataFrame([{"method": m, "level": name, **each.summary()} for (m, name), each in found.items()])
    rows = rows.merge(intervals[[*BY, "low", "high"]], on=[*BY])
    return Table(
        "Slopes and variance of recall",
        (
            column(rows, "level", "variant"),
            column(rows, "members", "members"),
            column(rows, "alpha", "slope", ".3f", meaning="mean over the members"),
            column(rows, "low", "from", ".3f", meaning="interval of the mean; those of a family hold together"),
            column(rows, "high", "to", ".3f", meaning="upper end"),
            column(rows, "slope_between_dense", "two dense", ".3f", meaning="slope of one dense model on another"),
            column(rows, "accuracy_before", "top-1 before, %", ".2f", scale=100),
            column(rows, "accuracy_after", "after, %", ".2f", scale=100),
            column(rows, "variance_before", "variance before", ".5f", meaning="over the classes"),
            column(rows, "variance_after", "after", ".5f", meaning="over the classes"),
        ),
    )


def _apart(material: Material) -> list[str]:
    """Which variants have no dense parent."""
    names = [material.titles[key] for key in material.compressed if material.study.variant(key).parent is None]
    if not names or material.study.training is None:
        return []
    return [
        f"Members of {', '.join(names)} were trained on their own and are paired with dense members by number, which "
        "alone pulls the slope below 1. Compare it with “two dense”, the slope of one dense model on another."
    ]
