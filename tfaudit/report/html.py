"""`report.html`: one file that holds everything it shows and asks no network for anything."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tfaudit.audit.summary import Summary
from tfaudit.errors import InputError
from tfaudit.report.gallery import gallery
from tfaudit.report.headlines import headlines
from tfaudit.report.images import inline_svg, study_charts
from tfaudit.report.sections.order import study_sections
from tfaudit.report.sections.section import Section
from tfaudit.report.sources import cited
from tfaudit.report.study import read_study
from tfaudit.report.tables import html_table
from tfaudit.store import Store

__all__ = ["write_report"]

CLASS_LIMIT = 100  # classes in the table of a variant; with more, the significant ones only, up to so many

_PAGES = jinja2.Environment(
    loader=jinja2.PackageLoader("tfaudit.report", ""),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_report(
    store: Store,
    out: str | Path | None = None,
    *,
    split: str = "test",
    audit: Summary | None = None,
    sections: Sequence[Section] | None = None,
) -> Path:
    """Writes the report of a study and returns where it is.

    Args:
        store: of the study.
        out: the file; `report.html` in the study's directory by default.
        split: whose predictions to report.
        audit: what `read_study` gave for this split, where it is at hand; read now by default.
        sections: what `study_sections` gave, where they are at hand; made now by default.

    Raises:
        InputError: nothing to report yet, damaged files, or a place that cannot be written.
    """
    audit = audit or read_study(store, split)
    page = _page(store, audit, study_sections(store, audit, split=split) if sections is None else sections, split)
    place = store.directory.absolute() / "report.html" if out is None else Path(out).absolute()
    try:
        store.write(str(place), page.encode())
    except OSError as problem:
        raise InputError(f"out: {place} cannot be written ({problem.strerror})") from None
    return place


def _page(store: Store, audit: Summary, sections: Sequence[Section], split: str) -> str:
    examples = store.examples(split, groups=False)
    charts = study_charts(audit)
    return _PAGES.get_template("report.html.j2").render(
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
        galleries={key: gallery(found, examples["image"]) for key, found in audit.exemplars.items()},
    )


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
