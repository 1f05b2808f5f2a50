"""Verdicts as Markdown: for a model card, a pull request, or the summary of a GitHub Action."""

import dataclasses
import json
import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.checks import OUTCOMES, PASS
from tfaudit.audits.gate.gate import Verdict
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.ties import joined_notes
from tfaudit.outlets.columns import TextColumn, signed, verdict_columns
from tfaudit.outlets.grid import Grid, markdown_text
from tfaudit.outlets.outcome_marks import MARKS
from tfaudit.outlets.verdict_texts import checks_grid, data_text, groups_grid, variants_grid
from tfaudit.stats.ratios import member_mean

SHOWN = 5  # classes of a variant that are listed


def gate_markdown(verdicts: Mapping[str, Verdict]) -> str:
    """Return the checks of every variant, the gravest first, and the classes and groups that lost most.

    Args:
        verdicts: verdicts by variant.

    Example:
        >>> gate_markdown({}).splitlines()
        ['## tfaudit gate']
    """
    parts = ["## tfaudit gate", ""]
    for name, verdict in sorted(verdicts.items(), key=lambda item: OUTCOMES.index(item[1].outcome)):
        parts += [
            f"### {markdown_text(name)}: {MARKS[verdict.outcome].markdown}",
            "",
        ]
        if not verdict.doubts:
            parts += [f"{data_text(verdict)}.", "", *checks_grid(verdict).markdown(), ""]
        parts += [
            f"- {markdown_text(check.sentence)}"
            for check in verdict.checks
            if check.outcome != PASS
        ]
        if verdict.outcome != PASS:
            parts.append("")
        parts += _worst(verdict.classes, "class", ("recall", "precision"))
        parts += _worst(verdict.groups, "group", (verdict.score,))
    notes = joined_notes(verdicts)
    return "\n".join([*parts, *(f"> {markdown_text(note)}" for note in notes)]).rstrip("\n") + "\n"


def study_markdown(study_audit: StudyAudit, limits: Limits) -> str:
    """Return the verdict on every variant of a study: headline, collapsed classes, table, exemplars.

    Args:
        study_audit: the study and its audits.
        limits: limits of the gate.
    """
    verdict = study_audit.verdict(limits)
    summary = study_audit.summary
    title = f"## {markdown_text(study_audit.data.study.name)}: what the compressed models forget"
    parts = [title, "", markdown_text(verdict.headline), ""]
    if verdict.alerts:
        parts += [*(f"- ⚠️ {markdown_text(alert)}" for alert in verdict.alerts), ""]
    if advice := recommendation(study_audit, verdict):
        facts = (f"- {name}: {markdown_text(text)}" for name, text in advice.facts)
        parts += [
            f"**{markdown_text(advice.headline)}**",
            "",
            *facts,
            f"- next: `{advice.command}`",
            "",
        ]
    columns = verdict_columns("reason", sizes=verdict.sizes)
    grid = variants_grid(verdict.rows, [row["best"] for row in verdict.rows], columns)
    exemplars = (summary.exemplars.get(row["variant"]) for row in verdict.rows)
    counts = tuple("" if found is None else f"{len(found.index):,}" for found in exemplars)
    grid = dataclasses.replace(grid, columns=(*grid.columns, TextColumn("exemplars", "", counts)))
    sentence = f"In brackets: {verdict.level} intervals. Limits: {verdict.limits.in_words()}."
    parts += [*grid.markdown(), "", sentence]
    if verdict.best is not None:
        parts[-1] += f" In bold: {verdict.rule}."
    if (groups := groups_grid(verdict)).rows:
        folded = f"<details><summary>{groups.title}</summary>"
        parts += ["", folded, "", *groups.markdown(), "", "</details>"]
    return "\n".join([*parts, *(f"\n> {markdown_text(note)}" for note in verdict.notes)]) + "\n"


def model_card(study_audit: StudyAudit, limits: Limits) -> str:
    """Return `study_markdown` as the page of a model on the Hugging Face Hub, with metrics as front matter.

    The metrics are accuracy and the recall of the class that lost most, for the recommended variant, or for the
    baseline if there is none.

    Args:
        study_audit: the study and its audits.
        limits: limits of the gate.
    """
    data = study_audit.data
    verdict = study_audit.verdict(limits)
    if verdict.best is None:
        accuracy: Any = member_mean(data.baseline.accuracy())
        metrics = [("accuracy", "Accuracy of the uncompressed model", accuracy)]
    else:
        row = verdict.frame().set_index("variant").loc[verdict.best]
        metrics = [("accuracy", f"Accuracy, {row['title']}", row["top1"])]
        if row["worst_class"]:
            name = f"Recall of {row['worst_class']}, the class that lost most, {row['title']}"
            metrics.append(("recall", name, row["worst_after"]))
    result = {
        "task": {"type": "image-classification" if data.holds_images else "other"},
        "dataset": {"type": data.study.dataset, "name": data.study.dataset, "split": data.split},
        "metrics": [
            {"type": kind, "name": name, "value": round(float(value), 4)}
            for kind, name, value in metrics
        ],
    }
    front = {
        "tags": ["tfaudit", "model-compression"],
        "model-index": [{"name": data.study.name, "results": [result]}],
    }
    # JSON is valid YAML, whatever characters the names contain.
    lines = [f"{key}: {json.dumps(value)}" for key, value in front.items()]
    return "\n".join(["---", *lines, "---", "", study_markdown(study_audit, limits)])


def _worst(frame: pd.DataFrame, noun: str, scores: tuple[str, ...]) -> list[str]:
    """Return the classes or groups that lose most, with the change of one score, or of recall and precision."""
    if frame.empty:
        return []
    worst = frame.dropna(subset="drop_pp").nlargest(SHOWN, "drop_pp")
    rows = []
    for row in worst.to_dict("records"):
        changes = (_change(row, prefix) for prefix in ("", "precision_")[: len(scores)])
        rows.append((row[noun], f"{row['examples']:,}", *changes))
    several = {"class": "classes", "group": "groups"}[noun]
    title = f"<details><summary>The {len(rows)} {several} that lose most</summary>"
    headings = (noun, "examples", *(f"{score}, points" for score in scores))
    return [title, "", *Grid.of_rows(headings, rows).markdown(), "", "</details>", ""]


def _change(row: Mapping[Hashable, Any], prefix: str) -> str:
    """Return the change that a loss is, with its interval; "unknown" for NaN."""
    drop, high, low = (row[f"{prefix}{name}_pp"] for name in ("drop", "high", "low"))
    if math.isnan(drop):
        return "unknown"
    return f"{signed(0 - drop)} ({signed(0 - high)} to {signed(0 - low)})"
