"""The verdict first, as HTML in reports and in the viewer: what to ship and why, then a table of every variant."""

from collections.abc import Mapping

from markupsafe import Markup

from tfaudit.analysis.recommendation import Recommendation
from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.outlets.columns import cell_of, column, verdict_columns, with_minus_signs
from tfaudit.outlets.outcome_marks import MARKS
from tfaudit.outlets.templates import PAGES


def headline_html(verdict: StudyVerdict, advice: Recommendation | None) -> Markup:
    """Return what is missing, the headline and the recommendation as HTML, styled by `verdict.css`."""
    first, _, rest = with_minus_signs(verdict.headline).partition(". ")
    facts = [(name, with_minus_signs(text)) for name, text in advice.facts] if advice else []
    return _rendered(
        "headline", (f"{first}." if rest else first, rest), verdict.missing, advice, facts
    )


def verdict_html(verdict: StudyVerdict, links: Mapping[str, str]) -> Markup:
    """Return the table of every variant as HTML, styled by `verdict.css`.

    Args:
        verdict: verdict on the variants of a study.
        links: address that a click on the row of a variant opens, by key.
    """
    columns = verdict_columns(sizes=verdict.sizes)
    rows = []
    for row in verdict.rows:
        cells = [(name, entry, cell_of(name, entry, row)) for name, entry in columns.items()]
        key = row["variant"]
        collapsed = verdict.collapsed.get(key, "")
        rows.append((row, links[key], MARKS[row["outcome"]].sign, cells, collapsed))
    headings = [column("title"), column("outcome", "verdicts"), *columns.values()]
    return _rendered("variants", rows, headings)


def _rendered(macro: str, *arguments: object) -> Markup:
    text = getattr(PAGES.get_template("verdict.html.j2").module, macro)(*arguments)
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return Markup(text.replace("top-1", "top\N{NON-BREAKING HYPHEN}1"))
