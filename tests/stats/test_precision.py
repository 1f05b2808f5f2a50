"""Precision of planned designs: half-widths are those that two-way intervals have on data of that design."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders.heterogeneous import heterogeneous_study
from tfaudit.stats.changes import group_changes
from tfaudit.stats.precision import SampleSize, Spread


def change_of(before, after, *, paired):
    return group_changes(before, after, np.zeros(before.shape[1], int), 1, paired=paired).absolute


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("members", "images"), [(4, 50), (5, 400), (30, 60)])
def test_at_its_own_design_a_spread_gives_the_interval_that_was_measured(
    members, images, paired, rng
):
    change = change_of(*heterogeneous_study(rng, members, images, paired=paired), paired=paired)
    components = (float(part[0]) for part in (change.of_images, change.of_members, change.overlap))
    spread = Spread.measured(*components, SampleSize(images, members), paired=paired)
    low, high = change.interval(0.9)
    tolerance = (
        1e-9 if paired else 0.2
    )  # Welch's degrees of freedom depend on how unlike the two sides are
    assert spread.half_width(images, members, 0.9) == pytest.approx(
        (high[0] - low[0]) / 2, rel=tolerance
    )


@pytest.mark.slow
@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("members", "images"), [(5, 100), (5, 1000), (30, 100)])
def test_the_spread_of_one_design_foretells_the_intervals_of_others(members, images, paired):
    rng = np.random.default_rng(4)

    def mean_components(*size, times):
        changes = [
            change_of(*heterogeneous_study(rng, *size, paired=paired), paired=paired)
            for _ in range(times)
        ]
        rows = [
            (c.of_images[0], c.of_members[0], c.overlap[0], *np.ravel(c.interval()))
            for c in changes
        ]
        return np.mean(rows, axis=0)

    pilot = mean_components(10, 300, times=60)
    spread = Spread.measured(*pilot[:3], SampleSize(300, 10), paired=paired)
    low, high = mean_components(members, images, times=60)[3:]
    assert spread.half_width(images, members) == pytest.approx((high - low) / 2, rel=0.15)


@settings(max_examples=60)
@given(
    st.floats(0, 0.2),
    st.floats(0, 0.001),
    st.floats(0, 0.3),
    st.integers(10, 500),
    st.integers(1, 12),
    st.booleans(),
)
def test_more_of_everything_is_more_precise_and_designs_decide(
    image, member, residual, images, members, paired
):
    spread = Spread(image, member, residual, paired)
    width = spread.half_width(images, members)
    assert spread.half_width(4 * images, 4 * members) <= width * (1 + 1e-9) or members == 1
    gap = width / 2
    design = spread.decides(gap, SampleSize(images, members), 0.95)
    if design is None:
        return
    assert spread.half_width(design.images, design.members) < gap
    if design.members == members and design.images > images + 1:
        assert spread.half_width(design.images - 1, members) >= gap
    if design.images == images and design.members > members + 1:
        assert spread.half_width(images, design.members - 1) >= gap


def test_images_then_members_then_both():
    few = SampleSize(100, 4)
    assert Spread(0.1, 1e-6, 0.1).decides(0.02, few, 0.95).members == 4
    by_members = Spread(1e-4, 0.004, 0.001).decides(0.05, few, 0.95)
    assert (by_members.images, by_members.members > 4) == (100, True)
    both = Spread(0.1, 0.004, 0.1).decides(0.02, few, 0.95)
    assert both.images > 100
    assert both.members > 4
    slow = Spread(0.2, 0.002, 0.2)  # very many images, or a few members more
    width = 1.02 * slow.half_width(10**9, 4)
    assert slow.images_needed(width, 4) > 10 * 400
    assert slow.decides(width, SampleSize(400, 4), 0.95).images == 400
    assert Spread(0.1, 0.004, 0.1).decides(0.0, few, 0.95) is None
    assert Spread(0.1, 0, 0.1).decides(1e-7, SampleSize(100, 1), 0.95) is None


def test_where_nothing_changed_precision_grows_with_the_number_of_images_and_not_its_root():
    right = np.ones((3, 100), bool)
    change = change_of(right, right, paired=True)
    components = (float(part[0]) for part in (change.of_images, change.of_members, change.overlap))
    spread = Spread.measured(*components, SampleSize(100, 3), paired=True)
    many = np.ones((3, 1000), bool)
    low, high = change_of(many, many, paired=True).interval()
    assert spread.half_width(1000, 3) == pytest.approx((high[0] - low[0]) / 2)
