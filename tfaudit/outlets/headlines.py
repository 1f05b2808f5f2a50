"""The results of a study in sentences that claim no more than the figures support."""

import dataclasses
from collections.abc import Hashable, Mapping
from types import MappingProxyType
from typing import Any

import pandas as pd

from tfaudit.audits.chance.chance import CONSISTENT, MORE, Chance, count_verdict
from tfaudit.audits.classes.classes import GAINED, LOST, NO_CHANGE, worst_class
from tfaudit.audits.exemplars.exemplars import Exemplars
from tfaudit.audits.model_pair.model_pair import PairComparison
from tfaudit.audits.summary.summary import Summary
from tfaudit.outlets.columns import p_text
from tfaudit.outlets.pair_headlines import (
    accuracy_sentence,
    classes_sentence,
    interval,
    points,
    predictions_sentence,
)
from tfaudit.outlets.phrases import none_lost
from tfaudit.stats.permutation import CountNull


@dataclasses.dataclass(frozen=True)
class Headline:
    """The results of one variant.

    Attributes:
        variant: key.
        title: title of the variant.
        accuracy: the change of mean top-1 accuracy.
        classes: the classes that lost or gained recall, or the worst one; empty without a population.
        images: how many images change their majority prediction, compared with the number expected by chance, or how
            many predictions of a single model change.
        twins: how many predictions differ between two models, and how many change when the baseline is trained again;
            empty if the baseline has a single member.
    """

    variant: str
    title: str
    accuracy: str
    classes: str
    images: str
    twins: str


def headlines(
    audit: Summary, pairs: Mapping[str, PairComparison] = MappingProxyType({})
) -> list[Headline]:
    """Return one headline per compressed variant.

    Args:
        audit: summary of all variants.
        pairs: comparisons with the single baseline model, by key of each variant that is a single model; none by
            default.
    """
    rows = {row["variant"]: row for row in audit.frame().to_dict("records")}
    baseline = rows[audit.baseline]
    lines = []
    for key, exemplars in audit.exemplars.items():
        row = rows[key]
        if pair := pairs.get(key):
            told = accuracy_sentence(pair), classes_sentence(pair), predictions_sentence(pair)
        else:
            told = (
                _accuracy(100 * row["top1"], 100 * baseline["top1"]),
                _classes(audit, key),
                _images(exemplars, audit.chances.get(key)),
            )
        lines.append(Headline(key, row["title"], *told, _twins(row, baseline)))
    return lines


def _twins(row: Mapping[Hashable, Any], baseline: Mapping[Hashable, Any]) -> str:
    changed = row["changed_predictions"]
    floor = baseline["changed_predictions"]
    if pd.isna(changed) or pd.isna(floor):
        return ""
    between = (
        f"On average {changed:,.0f} predictions differ between a compressed and a baseline model"
    )
    return f"{between}; training the baseline again changes {floor:,.0f}."


def _accuracy(now: float, before: float) -> str:
    change = now - before
    if abs(change) < 0.05:
        return f"Mean top-1 accuracy stays within 0.05 points ({before:.2f}\u00a0% → {now:.2f}\u00a0%)."
    verb = "falls" if change < 0 else "rises"
    return f"Mean top-1 accuracy {verb} by {abs(change):.1f} points ({before:.1f}\u00a0% → {now:.1f}\u00a0%)."


def _classes(audit: Summary, key: str) -> str:
    if key not in audit.impacts:
        return ""
    impact = audit.impacts[key]
    frame = impact.frame()
    collapsed = frame[frame["collapsed"]].sort_values("change_pp")["class"]
    if len(collapsed):
        first = f"{len(collapsed)} of {len(frame):,} classes collapsed ({_named(collapsed)})."
        others = frame[~frame["collapsed"]]
        moved = _moved(others, f"of the other {len(others):,}")
        return f"{first} {moved}." if moved else first
    if moved := _moved(frame, f"of {len(frame):,} classes"):
        return f"{moved}."
    worst = worst_class(frame)
    if worst is None:
        return ""
    row: Any = frame.loc[worst]
    if (frame["verdict"] == NO_CHANGE).all():
        return f"The recall of none of {len(frame):,} classes changes by {impact.margin_pp:g} points or more."
    figures = f"{points(row['change_pp'])} points ({interval(row)})"
    none = none_lost(len(frame))
    return f"{none}; {row['class']} changes most, by {figures}."


def _moved(frame: pd.DataFrame, of_all: str) -> str:
    """Return the classes that lost or gained recall, as a sentence without its full stop; may be empty."""
    parts: list[str] = []
    for verdict in (LOST, GAINED):
        rows = frame[frame["verdict"] == verdict]
        names = rows.sort_values("change_pp", ascending=verdict == LOST)["class"]
        if len(names):
            of = "" if parts else f" {of_all}"
            parts.append(f"{len(names)}{of} {verdict} ({_named(names)})")
    return " and ".join(parts)


def _named(names: pd.Series) -> str:
    return ", ".join([*names[:3], "…"] if len(names) > 3 else names)


def _images(exemplars: Exemplars, chance: Chance | None) -> str:
    counts = exemplars.summary()
    if not counts["pies"]:
        ties = f"; {counts['undecided']:,} are ties between models" if counts["undecided"] else ""
        return f"No example changes its majority prediction{ties}."
    several = f"{counts['pies']:,} examples change their"
    subject = "1 example changes its" if counts["pies"] == 1 else several
    changes = f"{subject} majority prediction ({100 * counts['share']:.1f}\u00a0%)"
    if chance is None:
        return f"{changes}."
    return changes + against_chance(chance.pies, chance.alpha)


def against_chance(null: CountNull, alpha: float) -> str:
    """Return the end of a sentence on a count: the number expected by chance, and whether the count exceeds it.

    Args:
        null: the count and its null distribution.
        alpha: level of the test.

    Example:
        >>> against_chance(CountNull(104, 75.0, 54, 104, 0.057, 1000, False, 0.001, ()), 0.05).replace("\u00a0", " ")
        '; 75 by chance. Cannot tell the two apart (p = 0.057): up to 50 more than by chance cannot be ruled out.'
    """
    expected = f"{null.mean:,.3g}" if null.mean < 100 else f"{null.mean:,.0f}"
    p = f"p\u00a0{p_text(null.p)}"
    verdict = count_verdict(null, alpha)
    if verdict == MORE:
        return f", more than the {expected} expected by chance ({p})."
    if verdict == CONSISTENT:
        return f", consistent with chance, which gives {expected} ({p})."
    if null.smallest_p > alpha:
        few = f"with so few members p cannot be below {null.smallest_p:.2g}"
        return f"; {expected} by chance. Cannot tell the two apart: {few}."
    excess = f"up to {null.observed - null.low:,.0f} more than by chance cannot be ruled out"
    return f"; {expected} by chance. Cannot tell the two apart ({p}): {excess}."
