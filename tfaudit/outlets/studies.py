"""Results of several studies together: tables for the terminal, and one self-contained HTML file."""

from pathlib import Path

from tfaudit.analysis.across_studies import AcrossStudies
from tfaudit.extensions import Registry
from tfaudit.outlets.columns import Column, P
from tfaudit.outlets.grid import Grid, crosstab
from tfaudit.outlets.html import drawings, style_sheet
from tfaudit.outlets.references import cited
from tfaudit.outlets.sections.section import Section
from tfaudit.outlets.templates import PAGES
from tfaudit.store.requested_files import write_requested

_HYPOTHESES = {
    "greater": "Does the earlier study have the steeper slope? p, independent, one-sided",
    "less": "Does the later study have the steeper slope? p, independent, one-sided",
    "two-sided": "Do consecutive studies differ? p, independent, two-sided",
}
MEANS = (
    "study",
    "method",
    "level",
    "members",
    "accuracy_before",
    "accuracy_after",
    "alpha",
    "alpha_se",
)


def studies_sections(result: AcrossStudies) -> tuple[Section, ...]:
    """Return the joint results of several studies: recall distortion [R], and what extensions add."""
    added = (make(result) for make in Registry("joint_sections", {}).values())
    return (_distortion(result), *filter(None, added))


def write_studies(result: AcrossStudies, out: Path) -> Path:
    """Write the sections as one HTML file and return its path.

    Raises:
        InputError: a path that cannot be written.
    """
    names = list(dict.fromkeys(result.slopes["study"]))
    sections = studies_sections(result)
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


def _distortion(result: AcrossStudies) -> Section:
    """Return the tables of [R] that several studies allow."""
    kind = "paired" if result.paired else "independent"
    title = f"{_HYPOTHESES[result.alternative]}, Bonferroni by column ([R] tables 5-7)"
    tested = [(title, result.between_studies(), P)]
    if result.slopes["method"].nunique() > 1:
        title = f"Do methods differ? p, {kind}, two-sided, Bonferroni over all tests ([R] tables 8 and 9)"
        tested.append((title, result.between_methods(), P))
    if result.slopes["level"].nunique() > 1:
        title = f"Does the slope grow with the level? p, {kind}, one-sided, Bonferroni by column ([R] tables 1-4)"
        tested.append((title, result.between_levels(), P))
    title = "Variance of recall over the classes ([R] table 11)"
    tested.append((title, result.variances(), Column("", ".4f")))
    return Section(
        "distortion",
        "Recall distortion",
        "Does compression drive the recalls of the classes further apart (a steeper slope) for some models, data sets "
        "or methods than for others?",
        "[R] 5",
        tables=(
            Grid.of("Accuracy before pruning ([R] table 10)", result.accuracies()),
            Grid.of("Slopes, means over the members", result.means(), MEANS, "studies"),
            *(crosstab(*table) for table in tested if table[1].notna().any(axis=None)),
        ),
    )
