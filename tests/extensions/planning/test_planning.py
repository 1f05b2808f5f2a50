"""Plans: what a plan foretells is what studies of that design show."""

import itertools

import numpy as np
import pytest

from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.populations import population
from tests.builders.simulated_studies import Truth, simulate
from tfaudit.audits.comparison import Comparison
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.errors import InputError
from tfaudit.extensions.planning.lossless_model import pilot_model, promise_interval
from tfaudit.extensions.planning.planning import (
    guessed_model,
    guessed_spread,
    pilot_spread,
    plan,
    plan_gate,
)


def passing(truth, limits, seeds, **sizes):
    """The share of simulated studies that the gate passes."""
    return np.mean(
        [
            judge(measure(*simulate(truth, seed, **sizes)), limits).outcome == "pass"
            for seed in seeds
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "classes", "paired", "pilot_studies", "studies"),
    and_nightly(
        [(1, 10, True, 1, 40), (3, 10, True, 1, 40)],
        [
            (members, classes, paired, 5, 300)
            for members, paired in ((1, True), (3, True), (10, True), (3, False), (10, False))
            for classes in (2, 10)
        ],
    ),
)
def test_the_gate_passes_as_often_as_a_large_pilot_promises(
    members, classes, paired, pilot_studies, studies
):
    """Nothing changes; with few classes or many members limits are tighter, so that not every study passes."""
    single = members == 1
    truth = Truth(paired=paired, image_shift=0.1, member_shift=0.0 if single else 0.1)
    limit = (5 if classes == 2 else 6) * (1 if paired else 2 if members > 3 else 4)
    limits = Limits(worst_class_drop_pp=limit, overall_drop_pp=limit / 2)
    pilots = [
        pilot_model(
            Comparison(
                *simulate(truth, seed, members=1 if single else 20, images=1000, classes=classes)
            )
        )
        for seed in range(pilot_studies)
    ]
    images = pilots[0].images_needed(limits, members, 0.8)
    promised = np.mean([pilot.passes(limits, members, images) for pilot in pilots])
    passed = passing(truth, limits, seeds(studies), members=members, images=images, classes=classes)
    assert abs(passed - promised) < 0.06 + noise(0.8, studies)


@pytest.mark.nightly
@pytest.mark.parametrize("classes", [2, 10])
@pytest.mark.parametrize("members", [1, 3, 10])
def test_the_interval_of_a_promise_holds_what_the_gate_does(members, classes):
    truth = Truth(paired=True, image_shift=0.1, member_shift=0.0 if members == 1 else 0.1)
    limits = Limits(worst_class_drop_pp=5, overall_drop_pp=2.5)
    sizes = {"classes": classes}
    large = simulate(truth, 1, members=1 if members == 1 else 20, images=1000, **sizes)
    images = pilot_model(Comparison(*large)).images_needed(limits, members, 0.8)
    fresh = seeds(400)
    passed = passing(truth, limits, fresh, members=members, images=images, **sizes)
    held = []
    for seed in range(fresh.stop, fresh.stop + 60):
        pilot = Comparison(*simulate(truth, seed, members=min(members, 2), images=100, **sizes))
        low, high = promise_interval(pilot, limits, members, images)
        held.append(low - 0.02 <= passed <= high + 0.02)
    assert np.mean(held) >= 0.95 - noise(0.95, len(held))


def test_the_pilots_own_design_is_the_one_that_was_measured():
    measured = measure(population(1, examples=1000), population(2, examples=1000))
    widths = (measured.classes.high - measured.classes.low) / 2
    design = {"members": [6], "images": [200]}
    own = [plan(pilot_spread(measured, str(c)), 3, **design).half_widths[0, 0] for c in range(5)]
    np.testing.assert_allclose(own, widths, rtol=0.25)  # a negative component counts as none
    together = plan(pilot_spread(measured), 3, **design).half_widths[0, 0]
    assert together == pytest.approx(widths.mean(), rel=0.1)


def test_groups_of_a_pilot_take_the_place_of_classes():
    sides = population(1, examples=1000), population(2, examples=1000)
    comparison = Comparison(*sides)
    labels = comparison.baseline.labels
    design = {"members": [3], "images": [200], "alpha": 0.05}
    by_class = plan_gate(comparison, Limits(worst_class_drop_pp=20), **design)
    by_group = plan_gate(comparison, Limits(group_drop_pp=20), groups=labels, **design)
    assert by_group.enough == by_class.enough
    np.testing.assert_array_equal(by_group.promises, by_class.promises)
    halves = plan_gate(comparison, Limits(group_drop_pp=20), groups=labels % 2, **design)
    assert len(halves.model.recalls) == 2
    with pytest.raises(InputError, match="group_drop_pp alone, in a plan of its own"):
        plan_gate(comparison, Limits(group_drop_pp=2, overall_drop_pp=1), **design)


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
        (
            lambda: plan(guessed_spread(), 0),
            "half_width_pp: got 0, expected percentage points above 0",
        ),
        (
            lambda: plan(guessed_spread(), 1, members=[0]),
            r"members: got \[0\], expected one or more numbers of 1",
        ),
        (
            lambda: plan_gate(guessed_model(guessed_spread()), Limits(flips=0.1)),
            "limits: got flips at most 10 %, expected one of overall_drop_pp, worst_class_drop_pp",
        ),
        (
            lambda: pilot_spread(measure(population(1), population(2)), "owl"),
            "class_name: got 'owl', expected a class",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_more_data_and_looser_limits_pass_more_often():
    model = guessed_model(guessed_spread(flips=0.03, member_sd_pp=0.5, paired=True), classes=5)
    limits = [Limits(worst_class_drop_pp=limit, flips=0.5) for limit in (3, 6)]
    tight, loose = (plan_gate(model, one, members=[3, 10], images=[100, 1000]) for one in limits)
    for planned in (tight, loose):
        assert (np.diff(planned.passes, axis=0) >= 0).all()
        assert (np.diff(planned.passes, axis=1) >= 0).all()
        assert np.isnan(planned.promises).all()
        assert planned.notes == ("Not simulated: flips. These limits can only lower the shares.",)
    assert (tight.passes < loose.passes).any()
    frame = loose.frame()
    assert frame["passes"].tolist() == loose.passes.ravel().tolist()
    needed = loose.summary()["images_by_members"]["10"]["images"]
    assert model.passes(limits[1], 10, needed) >= 0.8 > model.passes(limits[1], 10, needed - 1)
    chart = loose.chart().to_dict()
    assert chart["layer"][0]["encoding"]["y"]["datum"] == 0.8


def test_a_pilot_that_knows_little_promises_little():
    truth = Truth(paired=True, image_shift=0.1, member_shift=0.1)
    limits = Limits(worst_class_drop_pp=5)
    widths = []
    for members, images in ((2, 50), (20, 500)):
        pilot = Comparison(*simulate(truth, 0, members=members, images=images, classes=5))
        low, high = promise_interval(pilot, limits, 5, 100, draws=40)
        widths.append(high - low)
        again = promise_interval(pilot, limits, 5, 100, draws=40)
        assert again == (low, high)
    assert widths[1] < 0.5 * widths[0]


@pytest.mark.parametrize("paired", [False, True])
def test_members_may_agree_on_all_images_or_on_none(paired):
    limits = Limits(worst_class_drop_pp=90)
    for heterogeneity, accuracy, flips in itertools.product((0, 1), (0.001, 0.999), (0, 1)):
        spread = guessed_spread(
            accuracy=accuracy,
            member_sd_pp=0,
            heterogeneity=heterogeneity,
            flips=flips,
            paired=paired,
        )
        model = guessed_model(spread, accuracy, 3)
        assert [model.passes(limits, k, 200) for k in (1, 5, 30)] == [1.0, 1.0, 1.0]
        assert 0.5 < model.passes(limits, 2, 200) <= 1
