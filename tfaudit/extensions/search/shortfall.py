"""Why nothing passes: the limit that binds, by how much, and what would be needed."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from tfaudit.audits.gate.checks import PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import OF_FILE, quantity_of
from tfaudit.audits.gate.measurements import Measurements
from tfaudit.runtime.names import class_in_words


def shortfall(
    verdict: Verdict,
    measured: Measurements,
    on_selection: Mapping[str, Verdict],
    table: pd.DataFrame,
) -> tuple[str, ...]:
    """Return sentences on every limit that the chosen candidate does not keep to.

    Args:
        verdict: verdict on the chosen candidate, on the examples that judge it.
        measured: measurements that this verdict judges.
        on_selection: verdicts on the selection part, by key of the candidate.
        table: table of the candidates, with `candidate`, `title` and `bytes`.
    """
    if verdict.doubts:
        return tuple(doubt.sentence for doubt in verdict.doubts)
    failing = verdict.frame()
    failing = failing[failing["outcome"] != PASS]
    sentences = [_binding(row) for row in failing.to_dict("records")]
    names = set(failing["check"])
    if names & {"overall_drop_pp", "worst_class_drop_pp"}:
        sentences += _images(failing, measured)
    if names & set(OF_FILE):
        sentences += _size(on_selection, table)
    return tuple(sentences)


def _binding(row: dict) -> str:
    quantity = quantity_of(row["check"])
    subject = row["subject"]
    of_class = f" ({class_in_words(subject)})" if subject else ""
    title = f"{quantity.title[0].upper()}{quantity.title[1:]}{of_class}"
    text = (
        "{:,.0f} bytes".format if row["check"] == "size_bytes" else quantity.text
    )  # megabytes are too coarse
    allowed = text(row["limit"])
    worst = row["high"] if math.isfinite(row["high"]) else row["value"]
    if not math.isfinite(worst):
        return f"{title} is unknown."
    if worst < row["limit"]:  # a collapse, whatever the share of classes
        return str(row["reason"])
    measured = text(row["value"])
    if math.isfinite(row["high"]):
        measured += f", and up to {text(row['high'])} by its interval,"
    over = text(worst - row["limit"])
    return f"{title}: {measured} where {allowed} is allowed; that is {over} too much."


def _images(failing: pd.DataFrame, measured: Measurements) -> list[str]:
    """Say how many judging images of each class would let all classes pass if compression did no harm."""
    limits = failing.loc[failing["check"] == "worst_class_drop_pp", "limit"]
    if limits.empty or not limits.iloc[0]:
        return []
    needed = measured.images_for_every_class(float(limits.iloc[0]))
    fewest = int(measured.classes.examples.min())
    most = int(measured.classes.examples.max())
    if not needed or needed <= fewest:
        return []
    present = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return [
        f"Without any harm all classes pass this limit in 4 of 5 searches if about {needed:,} examples of each class "
        f"judge; here {present} do."
    ]


def _size(on_selection: Mapping[str, Verdict], table: pd.DataFrame) -> list[str]:
    """Say which is the smallest candidate that keeps to all limits except limits on size."""
    kept = [
        key
        for key, verdict in on_selection.items()
        if all(check.outcome == PASS for check in verdict.checks if check.name not in OF_FILE)
    ]
    rows = table[table["candidate"].isin(kept)].sort_values("bytes", kind="stable")
    if rows.empty:
        return ["No candidate keeps to the other limits, whatever its size."]
    first = rows.iloc[0]
    return [
        f"The smallest candidate that keeps to the other limits is {first['title']}: {int(first['bytes']):,} bytes."
    ]
