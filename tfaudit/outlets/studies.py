"""Results of several studies together: sections of extensions, and one self-contained HTML file."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.extensions import Registry
from tfaudit.outlets.html import drawings, style_sheet
from tfaudit.outlets.references import cited
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.templates import PAGES
from tfaudit.store.requested_files import write_requested


def studies_sections(studies: Mapping[str, StudyAudit]) -> tuple[Section, ...]:
    """Return what extensions say of several studies, each by its name."""
    sections = (make(studies) for make in Registry("joint_sections", {}).values())
    return tuple(filter(None, sections))


def write_studies(names: Sequence[str], sections: Sequence[Section], out: Path) -> Path:
    """Write the sections on studies of these names as one HTML file and return its path.

    Raises:
        InputError: a path that cannot be written.
    """
    sources = cited(f"{section.question} {section.source}" for section in sections)
    page = PAGES.get_template("studies.html.j2").render(
        style=style_sheet("report.css"),
        title=f"{len(names)} studies: what compression forgets",
        heading=f"What compression forgets in {len(names)} studies",
        lead=", ".join(names),
        sections=sections,
        drawings=drawings(sections),
        sources=sources,
    )
    write_requested("out", out, page.encode())
    return out.absolute()
