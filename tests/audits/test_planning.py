"""Plans: what a plan foretells is what studies of that design show."""

import numpy as np
import pytest

from tests.builders.nightly import and_nightly
from tests.builders.populations import population
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.planning.planning import guessed_spread, pilot_spread, plan
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions


def measured_study(rng, members, images, *, classes=4):
    """Independent populations without any true loss: a share of the images is hard for all members."""
    labels = np.arange(images * classes) % classes
    difficulty = rng.beta(3.6, 0.4, len(labels))
    skills = [rng.normal(1, 0.01, (members, 1)) for _ in range(2)]
    sides = [
        np.where(rng.random((members, len(labels))) < difficulty * skill, labels, classes)
        for skill in skills
    ]
    return measure(
        *(Predictions.from_top1(labels, side, class_names=range(classes + 1)) for side in sides)
    )


@pytest.mark.slow
@pytest.mark.parametrize(("members", "images"), and_nightly([(5, 100)], [(5, 800), (20, 100)]))
def test_half_widths_are_those_of_studies_of_that_design(members, images):
    rng = np.random.default_rng(3)
    pilot = pilot_spread(measured_study(rng, 8, 400))
    foretold = plan(pilot, 3, members=[members], images=[images]).half_widths[0, 0]
    found = [measured_study(rng, members, images).classes for _ in range(20)]
    widths = np.concatenate([(losses.high - losses.low)[:4] / 2 for losses in found])
    assert foretold == pytest.approx(widths.mean(), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("studies", and_nightly([20], [300]))
def test_four_of_five_studies_of_the_smallest_design_pass_the_limit_that_the_plan_names(studies):
    rng = np.random.default_rng(8)
    planned = plan(pilot_spread(measured_study(rng, 8, 400)), 4, members=[6])
    (design,) = planned.smallest
    passed = []
    for _ in range(studies):
        losses = measured_study(rng, 6, design.images).classes
        passed += list(losses.high[:4] < planned.passable_limit)
    assert 0.65 < np.mean(passed) < 0.95


def test_the_pilots_own_design_is_the_one_that_was_measured():
    measured = measure(population(1, examples=1000), population(2, examples=1000))
    widths = (measured.classes.high - measured.classes.low) / 2
    design = {"members": [6], "images": [200]}
    own = [plan(pilot_spread(measured, str(c)), 3, **design).half_widths[0, 0] for c in range(5)]
    np.testing.assert_allclose(own, widths, rtol=0.25)  # a negative component counts as none
    together = plan(pilot_spread(measured), 3, **design).half_widths[0, 0]
    assert together == pytest.approx(widths.mean(), rel=0.1)


def test_the_gate_and_the_plan_agree_on_what_would_decide():
    measured = measure(population(1, examples=300), population(2, examples=300))
    limit = 8.0
    check = judge(measured, Limits(worst_class_drop_pp=limit)).checks[0]
    assert check.outcome == "cannot judge"
    planned = plan(
        pilot_spread(measured, check.subject),
        limit - check.value,
        members=[check.members],
        images=[60],
    )
    assert planned.smallest[0].images == pytest.approx(check.images, rel=0.25)


def test_guesses():
    spread = guessed_spread(accuracy=0.8, member_sd_pp=0, heterogeneity=0, flips=0)
    assert spread.residual == pytest.approx(2 * 0.8 * 0.2 * 100**2)
    paired = guessed_spread(flips=0.1, heterogeneity=0.4, member_sd_pp=2, paired=True)
    assert (paired.image, paired.member, paired.residual) == pytest.approx((400, 4, 600))
    widths = plan(paired, 3, members=[3, 6], images=[100, 1000])
    assert (np.diff(widths.half_widths, axis=0) < 0).all()
    assert (np.diff(widths.half_widths, axis=1) < 0).all()
    frame = widths.frame()
    assert (
        frame.loc[(frame["members"] == 6) & (frame["images"] == 100), "half_width_pp"].item()
        == widths.half_widths[1, 0]
    )
    assert widths.summary()["images_by_members"] == {"3": None, "6": widths.smallest[1].images}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: guessed_spread(accuracy=1), r"accuracy: got 1, expected a share in \(0, 1\)"),
        (lambda: guessed_spread(flips=2), r"flips: got 2, expected a share in \[0, 1\]"),
        (lambda: guessed_spread(heterogeneity=-1), "heterogeneity: got -1"),
        (lambda: guessed_spread(member_sd_pp=-1), "member_sd_pp: got -1"),
        (
            lambda: plan(guessed_spread(), 0),
            "half_width_pp: got 0, expected percentage points above 0",
        ),
        (
            lambda: plan(guessed_spread(), 1, members=[0]),
            r"members: got \[0\], expected one or more numbers of 1",
        ),
        (lambda: plan(guessed_spread(), 1, images=[]), r"images: got \[\], expected one or more"),
        (lambda: plan(guessed_spread(), 1, alpha=1), "alpha: got 1"),
        (
            lambda: pilot_spread(measure(population(1), population(2)), "owl"),
            "class_name: got 'owl', expected a class",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_chart_has_a_line_per_number_of_members():
    planned = plan(guessed_spread(), 2.0, members=[1, 30], images=[100, 1000])
    chart = planned.chart().to_dict()
    assert chart["layer"][0]["encoding"]["y"]["datum"] == 2.0
    assert chart["layer"][1]["encoding"]["color"]["scale"]["domain"] == ["1 member", "30 members"]
