"""The verdict first: headline, alerts and a table of every variant as HTML, in reports and in the viewer."""

from collections.abc import Mapping

from markupsafe import Markup

from tfaudit.audits.verdict.study_verdict import StudyVerdict
from tfaudit.outlets.columns import cell_of, column, verdict_columns, with_minus_signs
from tfaudit.outlets.outcome_marks import MARKS
from tfaudit.outlets.templates import PAGES

SHOWN = 3  # alerts above the table; the others unfold


def verdict_html(verdict: StudyVerdict, links: Mapping[str, str]) -> Markup:
    """Return headline, alerts and table as HTML, styled by `verdict.css`.

    Args:
        verdict: verdict on the variants of a study.
        links: address that a click on the row of a variant opens, by key.
    """
    columns = verdict_columns()
    rows = []
    for row in verdict.frame().to_dict("records"):
        cells = [(name, entry, cell_of(name, entry, row)) for name, entry in columns.items()]
        rows.append((row, links[row["variant"]], MARKS[row["outcome"]].sign, cells))
    first, _, rest = with_minus_signs(verdict.headline).partition(". ")
    headline = (f"{first}." if rest else first, rest)
    collapsed = verdict.alerts[len(verdict.missing) :]
    headings = [column("title"), column("outcome", "verdicts"), *columns.values()]
    module = PAGES.get_template("verdict.html.j2").module
    table = module.verdict_first(  # type: ignore[attr-defined]
        headline, verdict.missing, collapsed[:SHOWN], collapsed[SHOWN:], rows, headings
    )
    table = table.replace(" %", "\N{NO-BREAK SPACE}%")
    return Markup(table.replace("top-1", "top\N{NON-BREAKING HYPHEN}1"))
