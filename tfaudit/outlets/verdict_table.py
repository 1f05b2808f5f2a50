"""The verdict first: headline, alerts and a table of every variant as HTML, in reports and in the viewer."""

import dataclasses
import re
from collections.abc import Hashable, Mapping

import jinja2
import pandas as pd
from markupsafe import Markup

from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.outlets.columns import column
from tfaudit.outlets.outcome_marks import MARKS

COLUMNS = (
    "title",
    "outcome",
    "reason",
    "top1",
    "change_pp",
    "worst_class",
    "changed_share",
    "size_ratio",
)
"""Columns of a `StudyVerdict` that have a column of the table; the others stand in them."""

SHOWN = 3  # alerts above the table; the others unfold

_TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("tfaudit.outlets", ""),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
)


@dataclasses.dataclass(frozen=True)
class VerdictRow:
    """One variant as text.

    Attributes:
        variant: key.
        title: of the variant.
        link: where a click on the row leads.
        outcome: of the gate.
        mark: beside the outcome.
        best: whether it is the smallest that passes.
        reason: why, in a sentence.
        top1: mean accuracy.
        change: of accuracy, with its interval.
        worst: name of the class that lost most.
        recalls: of that class, before and after.
        worst_change: its change with its interval.
        lost: what else is known of the classes, such as "2 collapsed"; may be empty.
        changed: share of the predictions that change.
        size: of the baseline's.
    """

    variant: str
    title: str
    link: str
    outcome: str
    mark: str
    best: bool
    reason: str
    top1: str
    change: tuple[str, str]
    worst: str
    recalls: str
    worst_change: tuple[str, str]
    lost: str
    changed: str
    size: str


def verdict_rows(verdict: StudyVerdict, links: Mapping[str, str]) -> list[VerdictRow]:
    """Return the rows of the table, in the order of the study.

    Args:
        verdict: on the variants of a study.
        links: where a click on the row of a variant leads, by key.
    """
    return [
        VerdictRow(
            variant=row["variant"],
            title=row["title"].replace(" %", "\u00a0%"),
            link=links[row["variant"]],
            outcome=row["outcome"],
            mark=MARKS[row["outcome"]].sign,
            best=row["variant"] == verdict.best,
            reason=_with_minus_signs(row["reason"]),
            top1=_percent(row["top1"]),
            change=_points(row, "change"),
            worst=row["worst_class"] or "",
            recalls=f"{_number(100 * row['worst_before'])} → {_percent(row['worst_after'])}",
            worst_change=_points(row, "worst_change", "worst"),
            lost=_lost(row),
            changed=_percent(row["changed_share"]),
            size=_percent(row["size_ratio"]),
        )
        for row in verdict.frame().to_dict("records")
    ]


def verdict_html(verdict: StudyVerdict, links: Mapping[str, str], *, several: bool) -> Markup:
    """Return headline, alerts and table as HTML, styled by `verdict.css`.

    Args:
        verdict: on the variants of a study.
        links: where a click on the row of a variant leads, by key.
        several: whether variants have several members, whose majority prediction counts.
    """
    headings = [column(name, "verdicts") for name in COLUMNS]
    if not several:
        headings[6] = column("changed_predictions", "verdicts")
    module = _TEMPLATES.get_template("verdict.html.j2").module
    first, _, rest = _with_minus_signs(verdict.headline).partition(". ")
    headline = (f"{first}." if rest else first, rest)
    collapsed = verdict.alerts[len(verdict.missing) :]
    alerts = collapsed[:SHOWN], collapsed[SHOWN:]
    shown = headline, verdict.missing, *alerts
    table = module.verdict_first(*shown, verdict_rows(verdict, links), headings)  # type: ignore[attr-defined]
    return Markup(table.replace(" %", "\N{NO-BREAK SPACE}%"))


def _with_minus_signs(text: str) -> str:
    """Return a sentence with true minus signs before its numbers.

    Example:
        >>> _with_minus_signs("fixed-point int8 changes by -0.5")
        'fixed-point int8 changes by −0.5'
    """
    return re.sub(r"(?<!\w)-(?=\d)", "−", text)


def _points(row: Mapping[Hashable, float], name: str, ends: str = "") -> tuple[str, str]:
    """Return a change and its interval, both in points; the interval is empty where it is unknown."""
    low, high = (row[f"{ends or name}_{end}_pp"] for end in ("low", "high"))
    return _number(row[f"{name}_pp"], "+"), "" if pd.isna(
        low
    ) else f"{_number(low, '+')} to {_number(high, '+')}"


def _lost(row: Mapping[Hashable, float]) -> str:
    counts = [("collapsed", row["collapsed"]), ("lost recall", row["lost"])]
    return ", ".join(f"{count:.0f} {name}" for name, count in counts if pd.notna(count) and count)


def _percent(share: float) -> str:
    return "–" if pd.isna(share) else f"{100 * share:.1f}\u00a0%"


def _number(value: float, sign: str = "") -> str:
    tenths = round(value, 1)
    return "–" if pd.isna(value) else f"{tenths:{sign}.1f}".replace("-", "−") if tenths else "0.0"
