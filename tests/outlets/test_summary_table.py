"""The table as people read it."""

import io

import pandas as pd
import pytest
from rich.console import Console

from tests.builders.populations import population
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.summary.summary import summary
from tfaudit.outlets.summary_table import summary_columns, summary_grid, terminal_table


def printed(audit, width=80):
    console = Console(file=io.StringIO(), width=width)
    console.print(terminal_table(audit))
    return console.file.getvalue()


def test_terminal_table_fits_80_columns(store):
    audit = StudyAudit.read(store).summary
    text = printed(audit)
    row = next(line for line in text.splitlines() if line.strip().startswith("magnitude 90"))
    figures = audit.frame().iloc[1]
    assert "…" not in text
    for part in (
        " 5 ",
        " 4.5 ",
        f"{100 * figures['top1']:.2f}",
        "100.00",
        f"{figures['significant']} ({figures['expected_by_chance']:.2g})",
        f"{figures['pies']} ({figures['pies_by_chance']:.0f})",
        f"{figures['pies_p']:.2g}",
    ):
        assert part in row
    assert "4 members per variant" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "Welch's test treats the two as independent" in " ".join(text.split())


def test_names_are_no_markup(tmp_path):
    audit = summary({"dense": population(1), "[bold]<i>x": population(2)})
    assert "[bold]<i>x" in printed(audit)
    assert "[bold]&lt;i&gt;x" in summary_grid(audit).html()


@pytest.mark.parametrize(
    ("size", "heading", "text"),
    [
        (999, "size, B", "999"),
        (1000, "size, kB", "1"),
        (25_636_712, "size, MB", "25.6"),
        (4e12, "size, GB", "4,000"),
    ],
)
def test_sizes_share_a_unit(size, heading, text):
    facts = pd.DataFrame({"bytes": {"dense": float(size), "half": size / 4}})
    audit = summary({"dense": population(1), "half": population(2)}, facts)
    shown = {column.heading: column.cells for column in summary_columns(audit).values()}
    quarter = {4e12: "1,000", 25_636_712: "6.41"}.get(size) or f"{float(text) / 4:.3g}"
    assert shown[heading] == (text, quarter)


def test_html_table_is_accessible(store):
    table = summary_grid(StudyAudit.read(store).summary).html()
    assert table.count('<th scope="col"') == 15
    assert table.count('<th scope="row">') == 3
