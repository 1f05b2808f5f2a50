"""The charts of a study as files."""

import warnings
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.classes.heat_map import variants_heat_map
from tfaudit.audits.exemplars.chart import difficulty_chart
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.summary.summary import Summary
from tfaudit.charts.renderer import DrawingError
from tfaudit.charts.rendering import FORMS, chart_files
from tfaudit.charts.style import Drawing
from tfaudit.errors import InputError, Notice
from tfaudit.outlets.sections.order import study_sections
from tfaudit.store.requested_files import write_requested


def study_charts(audit: Summary) -> dict[str, Drawing]:
    """Return the charts of the main table by file name: `accuracy`, `difficulty`, `classes`, `class-impact-VARIANT`."""
    charts: dict[str, Drawing] = {"accuracy": audit.chart()}
    titles = audit.table.set_index("variant")["title"]
    if audit.exemplars:
        tables = [
            exemplars.difficulty.assign(title=titles[key])
            for key, exemplars in audit.exemplars.items()
        ]
        charts["difficulty"] = difficulty_chart(pd.concat(tables, ignore_index=True))
    if len(audit.impacts) > 1:
        frames = {titles[key]: impact.frame() for key, impact in audit.impacts.items()}
        charts["classes"] = variants_heat_map(frames)
    return charts | {f"class-impact-{key}": impact.chart() for key, impact in audit.impacts.items()}


def save_charts(
    study_audit: StudyAudit,
    folder: str | Path,
    formats: Sequence[str] = FORMS,
    *,
    limits: Limits = DEFAULT_LIMITS,
) -> list[Path]:
    """Write every chart of a study in every format and return the files; a `Notice` names charts that cannot be drawn.

    Args:
        study_audit: the study and its audits.
        folder: directory for the files; created if it does not exist.
        formats: any of "png", "svg", "pdf"; all by default.
        limits: limits of the gate that operating points must pass.

    Raises:
        InputError: an unknown format, a folder that cannot be written, or damaged files in the study.
    """
    if isinstance(formats, str) or not set(formats) <= set(FORMS):
        raise InputError("formats", repr(formats), f"a sequence of {', '.join(FORMS)}")
    charts = study_charts(study_audit.summary)
    for section in study_sections(study_audit, limits):
        charts |= {figure.name: figure.chart for figure in section.figures}
    files = []
    for name, chart in charts.items():
        try:
            contents = chart_files(chart, formats)
        except DrawingError as problem:
            warnings.warn(Notice(f"chart {name} is left out: {problem}"), stacklevel=2)
            continue
        for form, content in contents.items():
            file = Path(folder).absolute() / f"{name}.{form}"
            write_requested("folder", file, content, expected="a writable folder")
            files.append(file)
    return files
