"""`report.html`: one self-contained file that loads nothing from a network."""

from __future__ import annotations

import base64
import collections
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.classes.classes import GAINED, LOST
from tfaudit.audits.classes.declaration import CLASSES
from tfaudit.audits.gate.limits import DEFAULT_LIMITS, Limits
from tfaudit.audits.summary.summary import Summary
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.charts.page_colours import TEXT, css_variables
from tfaudit.charts.renderer import DrawingError, can_draw
from tfaudit.errors import listed
from tfaudit.outlets.exemplar_cards import Card, cards
from tfaudit.outlets.grid import Grid
from tfaudit.outlets.headlines import headlines
from tfaudit.outlets.references import cited
from tfaudit.outlets.sections.order import in_parts, study_sections
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.summary_table import summary_grid
from tfaudit.outlets.templates import PAGES
from tfaudit.outlets.verdict_table import headline_html, verdict_html
from tfaudit.outlets.verdict_texts import groups_grid
from tfaudit.runtime.names import class_in_words
from tfaudit.store.requested_files import write_requested

if TYPE_CHECKING:
    from tfaudit.charts.style import Drawing

# Classes in the table of a variant; a study with more shows at most this many classes that changed.
CLASS_LIMIT = 100
GALLERY = 24  # cards of a variant
WORST, LOST_IMAGES, NAMED = 3, 6, 3  # worst classes on the first page, images and rivals of each

COLOURS = (
    f":root {{ {css_variables(TEXT['light'])} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {css_variables(TEXT['dark'])} }} }}\n"
)
"""Colours of both themes as CSS."""

FULL, HALF = 860, 460
"""Pixels of a chart that has the width of the page to itself, and of one of two side by side."""

PUBLISHED = "As published: Welch's test of the centred recall"

_OWN_METHODS = {"figures": "As published", "accuracy": "Accuracy"}
"""Sections of populations that the page itself holds, by anchor."""

_ALWAYS_CITED = "[F] [W] [H] [BH]"

_DESCRIPTIONS = {
    "accuracy": "One line per variant: a dot for the top-1 accuracy of every member, a bar at the mean.",
    "difficulty": "Accuracy on PIEs, on the other examples and on all, for baseline and compressed models.",
    "classes": "Change of recall of every class in every variant; a dot marks a loss or gain after the correction.",
    "class": "Classes by change of recall, with intervals; the table of classes has the same figures.",
}
"""Alternative text of the charts of the main table, by the first word of their names."""


def write_report(
    study_audit: StudyAudit, out: str | Path | None = None, *, limits: Limits = DEFAULT_LIMITS
) -> Path:
    """Write the report of a study and return its path.

    Args:
        study_audit: the study and its audits.
        out: the file; by default `report.html` in the study's directory.
        limits: limits of the gate on which the verdict is based.

    Raises:
        InputError: damaged files, or a path that cannot be written.
    """
    store = study_audit.data.store
    page = report_html(study_audit, limits)
    path = store.directory.absolute() / "report.html" if out is None else Path(out).absolute()
    write_requested("out", path, page.encode(), within=store.directory)
    return path


def report_html(study_audit: StudyAudit, limits: Limits) -> str:
    """Return the report as the text of one HTML file."""
    if not can_draw():
        return _page(study_audit, limits)
    from altair.utils import schemapi

    with schemapi.debug_mode(False):  # Altair would check every part of every chart; tests do
        return _page(study_audit, limits)


def _page(study_audit: StudyAudit, limits: Limits) -> str:
    data = study_audit.data
    audit = study_audit.summary
    examples = data.store.examples(data.split, images=False, groups=False)
    verdict = study_audit.verdict(limits) if audit.exemplars else None
    script, script_hash = page_script()
    focus = _focus(verdict)
    sections = [
        section.short(data.titles.get(focus, "")) for section in study_sections(study_audit, limits)
    ]
    return PAGES.get_template("report.html.j2").render(
        study=data.store.study,
        population=_population_in_words(study_audit, verdict),
        split=data.split,
        examples=len(examples),
        class_count=len(examples.attrs["class_names"]),
        versions=json.loads(data.store.read("study.json")).get("versions", {}),
        level=f"{100 - 100 * audit.alpha:g} %",
        audit=audit,
        focus=focus,
        several=audit.has_populations,
        drawable=can_draw(),
        table=summary_grid(audit),
        notes=audit.notes,
        script=script,
        script_hash=script_hash,
        charts=_main_charts(audit),
        methods=_OWN_METHODS if audit.has_populations else {"figures": "Figures"},
        **_verdict_part(study_audit, verdict),
        **_variant_part(study_audit),
        **_section_part(sections),
    )


def _population_in_words(study_audit: StudyAudit, verdict: StudyVerdict | None) -> str:
    """Return how many models of each variant there are, and which of them are not trained independently."""
    data = study_audit.data
    study = data.study
    if study.population == 1:
        return "one model per variant."
    count = study.population
    if study.training is None:
        return f"up to {count} models per variant."
    if study.initialise in ("file", "same"):
        weights = {"file": "weights of the file", "same": "initial weights"}[study.initialise]
        models = f"{count} models per variant, trained independently from the same {weights}"
    else:
        most = "up to " if verdict and verdict.missing else ""
        models = f"{most}{count} independently trained models per variant"
    converted = [data.titles[key] for key in data.compressed_keys if study.is_made_from_dense(key)]
    those = f"; those of {listed(converted)} are made from the baseline's" if converted else ""
    return f"{models}{those}."


def _verdict_part(study_audit: StudyAudit, verdict: StudyVerdict | None) -> dict[str, Any]:
    """Return what the template shows of the verdict; the first table leads to the classes of each variant."""
    audit = study_audit.summary
    links = {
        key: f"#classes-{key}" if key in audit.impacts else f"#{key}" for key in audit.exemplars
    }
    part: dict[str, Any] = {"verdict": verdict, "links": links}
    if verdict is None:
        return part
    groups = groups_grid(verdict)
    return part | {
        "verdicts": headline_html(verdict, recommendation(study_audit, verdict))
        + verdict_html(verdict, links)
        + (groups.folded_html() if groups.rows else ""),
        "worst": _worst_classes(study_audit, verdict),
    }


def _variant_part(study_audit: StudyAudit) -> dict[str, Any]:
    """Return what the template shows of each variant: sentences, tables of classes, and images."""
    audit = study_audit.summary
    lines = headlines(audit, study_audit.model_pairs)
    galleries = _galleries(study_audit)
    return {
        "headlines": lines,
        "class_answers": {line.variant: line.classes for line in lines},
        "class_tables": {key: _class_tables(audit, key) for key in audit.impacts},
        "galleries": galleries,
        "beside": any(card.beside for shown in galleries.values() for card in shown),
    }


def _section_part(sections: list[Section]) -> dict[str, Any]:
    """Return what the template shows of the declared sections, with the styles and sources that they need."""
    strip = (
        ["corruption_strip.css"] if any(section.corruption_strip for section in sections) else []
    )
    cites = [f"{section.method} {section.source}" for section in sections]
    return {
        "style": style_sheet("report.css", "verdict.css", *strip),
        "parts": in_parts(sections),
        "sources": cited([_ALWAYS_CITED, *cites]),
        "drawings": drawings(sections),
    }


def _focus(verdict: StudyVerdict | None) -> str:
    """Return the key of the variant that is shown unfolded: the recommended one, else the one with the worst class."""
    if verdict is None:
        return ""
    table = verdict.frame()
    losses = pd.to_numeric(table["worst_change_pp"]).fillna(0)
    return verdict.best or str(table["variant"].iloc[losses.argmin()])


@dataclasses.dataclass(frozen=True)
class WorstClass:
    """The class that a variant loses most of.

    Attributes:
        variant: key of the variant.
        title: its title.
        in_words: the class and its recall before and after, as the end of a sentence.
        cards: images of the class that compression gets wrong, the most decisive first.
    """

    variant: str
    title: str
    in_words: str
    cards: list[Card]


def _worst_classes(study_audit: StudyAudit, verdict: StudyVerdict) -> list[WorstClass]:
    """Return the worst class of the recommended variant and of those that lose most, with images that are lost."""
    rows = verdict.frame()
    rows["worst_change_pp"] = pd.to_numeric(rows["worst_change_pp"])
    rows = rows[rows["worst_change_pp"] < 0]
    rows = rows.sort_values(["best", "worst_change_pp"], ascending=[False, True], kind="stable")
    losses = []
    for row in rows.head(WORST).to_dict("records"):
        exemplars = study_audit.exemplars(row["variant"])
        lost = exemplars.frame().query("label == baseline_mode == @row['worst_class']")
        lost = lost.sort_values("decisiveness", ascending=False, kind="stable").head(LOST_IMAGES)
        images = study_audit.data.store.images(study_audit.data.split, list(lost["index"]))
        recalls = f"{100 * row['worst_before']:.1f} to {100 * row['worst_after']:.1f}\u00a0%"
        subject = class_in_words(row["worst_class"])
        became = exemplars.confusions().query("label == @row['worst_class']").head(NAMED)
        counts = [f"{name} ({count:,})" for name, count in became[["after", "images"]].to_numpy()]
        more = f". Lost examples become {', '.join(counts)}:" if counts else "."
        in_words = f"{subject} falls from {recalls}{more}"
        losses.append(WorstClass(row["variant"], row["title"], in_words, cards(lost, images)))
    return losses


def style_sheet(*names: str) -> Markup:
    """Return the colours and the named style sheets of this package as one style sheet."""
    room = files("tfaudit.outlets")
    return Markup(COLOURS + "".join((room / name).read_text() for name in names))


def page_script(*others: Path) -> tuple[Markup, str]:
    """Return what sorts tables, and other scripts, as one, and the hash by which the page's policy knows it."""
    text = "".join(file.read_text() for file in (files("tfaudit.outlets") / "sort.js", *others))
    return Markup(text), base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def drawings(sections: Iterable[Section]) -> dict[str, Markup]:
    """Return the figures of sections by name, as inline SVG."""
    return {
        figure.name: _drawn(figure.chart, figure.description, is_wide=section.fills_page(figure))
        for section in sections
        for figure in section.figures
    }


def _drawn(chart: Drawing, description: str, *, is_wide: bool) -> Markup:
    from tfaudit.charts.rendering import inline_svg

    try:
        return Markup(inline_svg(chart, description, width=FULL if is_wide else HALF))
    except DrawingError as problem:
        return Markup('<p class="limits">This chart is left out: {}.</p>').format(problem)


def _main_charts(audit: Summary) -> dict[str, Markup]:
    """Return the charts of the main table by name, empty if they cannot be drawn; those of classes share a row."""
    drawn: dict[str, Markup] = collections.defaultdict(Markup)
    if not can_draw():
        return drawn
    from tfaudit.outlets.chart_files import study_charts

    for name, chart in study_charts(audit).items():
        kind, _, variant = name.partition("-")
        drawn[name] = _drawn(chart, _DESCRIPTIONS[kind], is_wide=not variant)
    return drawn


def _galleries(study_audit: StudyAudit) -> dict[str, list[Card]]:
    """Return the most decisive exemplars of every variant, an unchanged image beside each; reads each image once."""
    data = study_audit.data
    exemplars = study_audit.summary.exemplars
    shown = {}
    beside = {}
    for key, result in exemplars.items():
        rows = result.frame().sort_values("decisiveness", ascending=False, kind="stable")
        shown[key] = rows.head(GALLERY)
        beside[key] = result.unchanged_beside(shown[key]["index"].to_numpy())
    positions = sorted(
        {*itertools.chain(*(rows["index"] for rows in shown.values()), *beside.values())} - {-1}
    )
    images = dict(zip(positions, data.store.images(data.split, positions), strict=True))
    return {
        key: cards(rows, map(images.__getitem__, rows["index"]), map(images.get, beside[key]))
        for key, rows in shown.items()
    }


def _class_tables(audit: Summary, key: str) -> list[Grid]:
    """Return the classes by change of recall, and the published test; if there are many, only classes with a claim."""
    frame = audit.impacts[key].frame().dropna(subset=["change_pp"])
    classes = len(audit.impacts[key].class_names)
    title = "Table of classes"
    if classes > CLASS_LIMIT:
        claimed = frame["verdict"].isin([LOST, GAINED]) | frame["collapsed"]
        frame = frame[claimed].sort_values("change_p", kind="stable").head(CLASS_LIMIT)
        title = f"The {len(frame)} of {classes:,} classes with most evidence of a loss or gain"
    if frame.empty:
        return []
    rows = frame.sort_values("change_pp", kind="stable")
    return [
        Grid.declared(title, CLASSES.table, rows, folded=True),
        Grid.declared(PUBLISHED, CLASSES.tables["published"], rows, folded=True),
        *_confusions(audit, key),
    ]


def _confusions(audit: Summary, key: str) -> list[Grid]:
    """Return a table of the classes that lost images are taken for; none if no image is lost."""
    frame = audit.exemplars[key].confusions().head(CLASS_LIMIT)
    title = "What lost examples become"
    return [] if frame.empty else [Grid.of(title, frame, table="confusions", folded=True)]
