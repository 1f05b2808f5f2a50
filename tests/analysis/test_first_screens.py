"""The first screen of simulated studies whose truth is known: headline, verdict, alerts and the class that is named."""

import numpy as np
import pytest

from tests.builders.simulated_studies import CLASSES, TRUTHS, simulate, simulated_store
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.verdict.study_verdict import study_verdict

SEEDS = range(4)
HARM = "more than chance explains"


def first_screens(truth, members, images=500, seeds=SEEDS):
    """First screens of several studies of one truth, and their rows."""
    for seed in seeds:
        screen = study_verdict(
            {"small": measure(*simulate(TRUTHS[truth], seed, members=members, images=images))}
        )
        assert not any(
            f" {name.lower()} " in screen.headline for name in CLASSES
        )  # names keep their capitals
        yield screen, screen.frame().iloc[0]


@pytest.mark.parametrize(
    ("truth", "members"),
    [("nothing changes", k) for k in (2, 4, 30)]
    + [("nothing changes, pairs", k) for k in (1, 2, 4, 30)],
)
def test_nothing_is_claimed_where_nothing_changed(truth, members):
    for screen, row in first_screens(truth, members):
        assert row["outcome"] in ("pass", "cannot judge")
        assert screen.lost == {"small": ()}
        assert not screen.alerts
        assert HARM not in screen.headline
        assert "fails" not in screen.headline
    if truth.endswith("pairs") and members >= 4:
        assert row["outcome"] == "pass"


@pytest.mark.parametrize("members", [1, 2, 4, 30])
def test_a_collapsed_class_is_named_and_alerted_with_any_number_of_members(members):
    """Half of the members lose it: two or four models do not tell how others would fare, but these are blind."""
    outcomes = []
    for screen, row in first_screens("Coat collapses", members):
        outcomes.append(row["outcome"])
        assert row["worst_class"] == "Coat"
        assert "ecall of Coat falls from" in screen.headline
        (alert,) = screen.alerts
        assert alert.startswith("small: recall of Coat collapsed from ")
        if members > 1:
            assert f"; {members // 2} of {members} models almost never find it." in alert
        if members in (1, 30):
            assert HARM in screen.headline
        else:
            assert (
                f"a collapse; {members // 2} of {members} models almost never find it."
                in screen.headline
            )
        assert -100 <= row["worst_low_pp"] <= row["worst_high_pp"] <= 100
    assert "pass" not in outcomes
    if members in (1, 30):
        assert set(outcomes) == {"fail"}


@pytest.mark.parametrize("truth", ["Coat collapses", "Shirt loses 2 points, pairs"])
def test_a_study_on_disk_has_the_same_first_screen(truth, tmp_path):
    store = simulated_store(tmp_path, TRUTHS[truth], 0, members=4)
    screen = StudyAudit.read(store).verdict()
    ((expected, row),) = first_screens(truth, 4, seeds=[0])
    (stored,) = screen.frame().to_dict("records")
    for name in ("outcome", "worst_class", "reason", "lost", "collapsed"):
        assert stored[name] == row[name]
    figures = [
        "top1",
        "change_pp",
        "change_low_pp",
        "change_high_pp",
        "worst_low_pp",
        "changed_share",
    ]
    np.testing.assert_allclose([stored[name] for name in figures], row[figures].astype(float))
    assert stored["size_ratio"] == pytest.approx(0.25)
    assert len(screen.alerts) == len(expected.alerts)
