"""`report.html`: one file that holds everything it shows and asks no network for anything."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audit.summary import Summary
from tfaudit.charts.rendering import inline_svg
from tfaudit.errors import InputError
from tfaudit.report.chart_files import study_charts
from tfaudit.report.exemplar_cards import Card, by_decisiveness, cards
from tfaudit.report.headlines import headlines
from tfaudit.report.references import cited
from tfaudit.report.sections.order import study_sections
from tfaudit.report.sections.section import Section
from tfaudit.report.tables import html_table
from tfaudit.store.store import Store

__all__ = ["PAGES", "write_report"]

CLASS_LIMIT = 100  # classes in the table of a variant; with more, the significant ones only, up to so many

GALLERY = 24  # cards of a variant

PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("tfaudit.report", ""),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
"""The templates; what they are given is text, not markup."""


def write_report(study_audit: StudyAudit, out: str | Path | None = None) -> Path:
    """Writes the report of a study and returns where it is.

    Args:
        study_audit: of the study.
        out: the file; `report.html` in the study's directory by default.

    Raises:
        InputError: damaged files, or a place that cannot be written.
    """
    page = _page(study_audit)
    place = study_audit.data.store.directory.absolute() / "report.html" if out is None else Path(out).absolute()
    try:
        study_audit.data.store.write(str(place), page.encode())
    except OSError as problem:
        raise InputError(f"out: {place} cannot be written ({problem.strerror})") from None
    return place


def _page(study_audit: StudyAudit) -> str:
    store, split, audit = study_audit.data.store, study_audit.data.split, study_audit.summary
    examples = store.examples(split, images=False, groups=False)
    sections, charts = study_sections(study_audit), study_charts(audit)
    return PAGES.get_template("report.html.j2").render(
        study=store.study,
        class_limit=CLASS_LIMIT,
        split=split,
        examples=len(examples),
        class_count=len(examples.attrs["class_names"]),
        style=Markup("".join((files("tfaudit.report") / sheet).read_text() for sheet in _sheets(sections))),
        versions=_versions(store),
        audit=audit,
        several=bool(audit.table["members"].max() > 1),
        table=html_table(audit),
        headlines=headlines(audit),
        charts={name: Markup(inline_svg(chart, _DESCRIPTIONS[name.split("-")[0]])) for name, chart in charts.items()},
        sections=sections,
        sources=cited([_CITED, *(f"{section.says} {section.source}" for section in sections)]),
        drawings={
            figure.name: Markup(inline_svg(figure.chart, figure.description))
            for section in sections
            for figure in section.figures
        },
        classes={key: _class_rows(audit, key) for key in audit.impacts},
        galleries=_galleries(study_audit),
    )


def _galleries(study_audit: StudyAudit) -> dict[str, list[Card]]:
    """The most decisive exemplars of every variant; images that several show are read once."""
    shown = {key: by_decisiveness(found.frame()).head(GALLERY) for key, found in study_audit.summary.exemplars.items()}
    positions = sorted({position for rows in shown.values() for position in rows["index"]})
    images = dict(zip(positions, study_audit.data.store.images(study_audit.data.split, positions), strict=True))
    return {key: cards(rows, [images[position] for position in rows["index"]]) for key, rows in shown.items()}


def _sheets(sections: Sequence[Section]) -> tuple[str, ...]:
    return ("report.css", *["strip.css"] * any(section.strip for section in sections))


_CITED = "[F] [W] [H] [BH]"
"""By the parts of the page that every report has."""

_DESCRIPTIONS = {
    "accuracy": "One line per variant: a dot for the top-1 accuracy of every member, a bar at the mean.",
    "difficulty": "Accuracy on PIEs, on the other images and on all, for baseline and compressed models.",
    "class": "Classes ordered by normalised difference of recall; the same figures are in the table of classes.",
}


def _class_rows(audit: Summary, key: str) -> list[dict[Hashable, Any]]:
    frame = audit.impacts[key].frame().dropna(subset=["p"]).sort_values("normalised_pp", kind="stable")
    if len(audit.impacts[key].class_names) > CLASS_LIMIT:
        frame = frame[frame["direction"] != "no evidence"].sort_values("p", kind="stable").head(CLASS_LIMIT)
        frame = frame.sort_values("normalised_pp", kind="stable")
    return frame.to_dict("records")


def _versions(store: Store) -> dict[str, str]:
    """Of the libraries, as `study.json` records them."""
    return json.loads((store.directory / "study.json").read_text()).get("versions", {})
