"""The first screen of simulated studies whose truth is known: headline, verdict, alerts and the class that is named."""

import sys

import numpy as np
import pandas as pd
import pytest

from benchmarks import first_screens as benchmark
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


@pytest.mark.slow
@pytest.mark.parametrize("members", [2, 4, 30])
@pytest.mark.parametrize("kind", ["", ", pairs"])
def test_a_small_loss_everywhere_at_the_limit_is_undecided(kind, members):
    outcomes = [
        row["outcome"]
        for _, row in first_screens(f"every class loses 1 point{kind}", members, seeds=range(6))
    ]
    assert outcomes.count("cannot judge") >= 5  # the limit is 1 point: either error has 2.5 %
    for screen, row in first_screens(f"every class loses 1 point{kind}", members):
        assert not screen.alerts
        if members == 30 and kind:
            assert row["lost"] == 10
            assert HARM in screen.headline


@pytest.mark.parametrize("members", [1, 2, 4, 30])
def test_a_small_loss_that_every_member_shares_is_found_through_the_pairs(members):
    claims = []
    for screen, row in first_screens("Shirt loses 2 points, pairs", members):
        assert not screen.alerts
        assert row["outcome"] == "pass" or members == 2
        assert row["worst_class"] == "Shirt" or members < 4
        claims.append(screen.lost["small"])
    if members == 30:
        assert claims == [("Shirt",)] * len(claims)
    assert set(claims) <= {(), ("Shirt",)}


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


@pytest.mark.parametrize("chosen", [[], ["power", "cases"]])
def test_the_benchmark_prints_the_chosen_tables_or_all(chosen, monkeypatch, capsys):
    columns = ["members", "images", "K", "loss", "power"]
    names = ["cases", "alarms", "coverage", "power"]
    for name in names:
        table = pd.DataFrame([[name, 50, 2, 1, 80.0]], columns=columns)
        monkeypatch.setattr(benchmark, name, lambda studies=0, table=table: table)
    monkeypatch.setattr(sys, "argv", ["first_screens", *chosen])
    benchmark.main()
    cells = capsys.readouterr().out.split("| ")
    assert [cell.strip() for cell in cells if cell.strip() in names] == (chosen or names)
    monkeypatch.setattr(sys, "argv", ["first_screens", "none"])
    with pytest.raises(SystemExit):
        benchmark.main()
    assert "tables: got none, expected cases, " in capsys.readouterr().err
