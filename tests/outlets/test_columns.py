"""What the catalogue of columns prints, for every column at once."""

import re

import pytest

from tfaudit.outlets.columns import COLUMNS, Column, p_text


def test_no_heading_needs_a_word_that_only_the_papers_explain():
    """In brackets, behind what it means, such a word may stand."""
    alone = re.compile(r"(?<!\()\b(PIEs?|Holm|BH|signif|balance|dense)\b")
    headings = {name: f"{entry.title} {entry.heading}" for name, entry in COLUMNS.items()}
    found = {name for name, heading in headings.items() if alone.search(heading)}
    assert found == {"latency_1_ratio"}  # of the dense model's latency, as `tfaudit cost` calls it


@pytest.mark.parametrize(
    ("form", "value", "text"),
    [
        (".3g", 999.6, "1,000"),
        (".2g", 1100, "1,100"),
        ("+.4g", -0.0000123, "−0.0000123"),
        ("+.2g", 20_000.0, "+20,000"),
        ("+.2g", -20_000.0, "−20,000"),
        (",.6g", 12_345_678, "12,345,678"),
        (".3g", 0.00046, "0.00046"),
    ],
)
def test_numbers_of_any_size(form, value, text):
    assert Column("x", form).text(value) == text


def test_no_p_is_0():
    ps = {name: entry for name, entry in COLUMNS.items() if entry.is_p}
    assert {"p", "p_holm", "pies_p", "change_p", "relative_p_holm", "f_p", "survey.p"} <= set(ps)
    for value in (0.0, 1e-300, 0.00009):
        assert {entry.text(value) for entry in ps.values()} == {"< .0001"}
        assert p_text(value) == "<\u00a0.0001"
    assert all(float(entry.text(0.00034)) > 0 for entry in ps.values())
    assert (
        Column("p ≤ alpha", ",.0f").text(0.0) == "0"
    )  # a count of classes with p <= alpha is no p


def test_relative_and_absolute_changes_have_names_of_their_own():
    """In percent of what was before, or in points: a column of one never has the name of the other."""
    changes = [
        entry
        for entry in COLUMNS.values()
        if entry.unit in ("pp", "%") and entry.form.startswith("+")
    ]
    units = {entry.heading: entry.unit for entry in changes}
    assert {"change", "relative change", "against average", "centred change"} <= set(units)
    for entry in changes:
        assert entry.unit == units[entry.heading]  # one unit for one name
        assert ("relative" in entry.heading) is (entry.unit == "%")
