"""Charts as files and as inline SVG, without a browser and without a network."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
import vl_convert

from tfaudit.audit.summary import Summary
from tfaudit.errors import InputError
from tfaudit.report.charts.exemplars import difficulty_chart
from tfaudit.report.charts.style import Drawing
from tfaudit.report.sections.order import study_sections
from tfaudit.report.sections.section import Section
from tfaudit.report.study import read_study
from tfaudit.store import Store

__all__ = ["chart_bytes", "inline_svg", "save_charts", "study_charts"]

_FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # of equal widths: text is measured here and drawn elsewhere
_NUMBERS = itertools.count()


def study_charts(audit: Summary) -> dict[str, Drawing]:
    """The charts of a study by file name: `accuracy`, `difficulty` and `class-impact-VARIANT`."""
    charts: dict[str, Drawing] = {"accuracy": audit.chart()}
    titles = audit.table.set_index("variant")["title"]
    if audit.exemplars:
        tables = [found.difficulty.assign(title=titles[key]) for key, found in audit.exemplars.items()]
        charts["difficulty"] = difficulty_chart(pd.concat(tables, ignore_index=True))
    return charts | {f"class-impact-{key}": impact.chart() for key, impact in audit.impacts.items()}


def save_charts(
    store: Store,
    folder: str | Path,
    formats: Sequence[str] = ("png", "svg", "pdf"),
    *,
    split: str = "test",
    audit: Summary | None = None,
    sections: Sequence[Section] | None = None,
) -> list[Path]:
    """Writes every chart of a study in every format; returns the files.

    Args:
        store: of the study.
        folder: where to; made if need be.
        formats: any of "png", "svg", "pdf".
        split: whose predictions to audit.
        audit: what `read_study` gave for this split, where it is at hand; read now by default.
        sections: what `study_sections` gave, where they are at hand; made now by default.

    Raises:
        InputError: an unknown format, a folder that cannot be written, or as `read_study`.
    """
    unknown = [name for name in formats if name not in _WRITERS]
    if unknown or isinstance(formats, str):
        raise InputError(f"formats: {formats!r}, allowed is a sequence of {', '.join(_WRITERS)}")
    files = []
    audit = audit or read_study(store, split)
    sections = study_sections(store, audit, split=split) if sections is None else sections
    charts = study_charts(audit) | {figure.name: figure.chart for section in sections for figure in section.figures}
    for name, chart in charts.items():
        for suffix in formats:
            file = Path(folder).absolute() / f"{name}.{suffix}"
            try:
                store.write(str(file), chart_bytes(chart, suffix))
            except OSError as problem:
                raise InputError(f"folder: {file} cannot be written ({problem.strerror})") from None
            files.append(file)
    return files


def chart_bytes(chart: Drawing, form: str) -> bytes:
    """The chart as a file, dark on white.

    Args:
        chart: to draw.
        form: "png", "svg" or "pdf".
    """
    return _WRITERS[form](_specification(chart, "#1d1f24", "white"))


def inline_svg(chart: Drawing, description: str) -> str:
    """The chart as an SVG element that takes the colour of the text around it and shrinks with its column.

    Args:
        chart: to draw.
        description: what it shows, for those who do not see it.
    """
    svg = vl_convert.vegalite_to_svg(_specification(chart, "currentColor", "transparent"))
    prefix = f"c{next(_NUMBERS)}-"  # ids of several charts share one page
    svg = re.sub(r'\bid="', f'id="{prefix}', svg).replace("url(#", f"url(#{prefix}")
    label = escape(description, quote=True)

    def opening(found: re.Match[str]) -> str:
        width, height = found.groups()
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{label}" '
            f'viewBox="0 0 {width} {height}" style="max-width:{width}px">'
        )

    return re.sub(r'^<svg[^>]*? width="([\d.]+)" height="([\d.]+)"[^>]*>', opening, svg)


def _specification(chart: Drawing, ink: str, background: str) -> dict[str, Any]:
    faint = {
        "labelColor": ink,
        "titleColor": ink,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
    }
    config = {
        "font": _FONT,
        "background": background,
        "aria": False,  # the element as a whole is described; a thousand unlabelled marks would be noise
        "view": {"stroke": None},
        "axis": {**faint, "gridColor": ink, "gridOpacity": 0.12, "domain": False, "ticks": False, "titlePadding": 8},
        "legend": faint,
        "header": faint,
        "text": {"color": ink},
        "title": {"color": ink, "fontSize": 12, "fontWeight": "normal", "anchor": "start"},
    }
    return chart.to_dict() | {"config": config}


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "png": lambda specification: vl_convert.vegalite_to_png(specification, scale=2),
    "svg": lambda specification: vl_convert.vegalite_to_svg(specification).encode(),
    "pdf": vl_convert.vegalite_to_pdf,
}
