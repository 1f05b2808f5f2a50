"""The section of recall distortion has the figures of the audit, and claims nothing without corrected slopes."""

from tests.builders.sections import cells, sections_of
from tfaudit.extensions.distortion.recall_distortion import distortion


def test_the_section_has_the_slopes_of_every_variant(store):
    section = sections_of(store)["distortion"]
    rows = cells(section.tables[0])
    expected = distortion(store.predictions("dense"), store.predictions("int8")).alpha.mean()
    assert rows["variant"] == ("magnitude 90 %", "fixed-point int8")
    assert rows["slope"][1] == f"{expected:.3f}"
    assert "Members of magnitude 90 % were trained independently" in section.notes[0]
    # These members have no corrected slope, and without one nothing is claimed.
    assert section.findings == (
        "For no variant do the data show that classes drift apart or move closer together.",
    )
    balances = section.figures[-1].chart.to_json(validate=False)
    # As everywhere, not as "magnitude 0.9".
    assert all(f'"{title}"' in balances for title in rows["variant"])
