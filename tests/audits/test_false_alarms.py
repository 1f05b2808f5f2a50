"""False alarms, coverage and power in simulated studies whose truth is known."""

import numpy as np
import pytest
from scipy import stats

from tests.builders.nightly import and_nightly
from tests.builders.simulated_studies import (
    CLASSES,
    RECALLS,
    TRUTHS,
    Truth,
    expected_changes,
    simulate,
)
from tfaudit.audits.classes.classes import class_impact

NULLS = {"independent": TRUTHS["nothing changes"], "paired": TRUTHS["nothing changes, pairs"]}


def impacts(truth, studies, **sizes):
    for seed in range(studies):
        yield class_impact(*simulate(truth, seed, **sizes))


def at_most(share, trials):
    """The largest count that a true share allows in all but one of a thousand runs."""
    return stats.binom.ppf(0.999, trials, share)


@pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)
def test_simulated_recalls_are_those_that_are_stated(truth):
    before, after = simulate(truth, 0, members=40, images=4000)
    tolerance = 0.03  # three standard errors of the member with the largest variance
    np.testing.assert_allclose(before.recall().mean(0), RECALLS, atol=tolerance)
    np.testing.assert_allclose(
        after.recall().mean(0) - before.recall().mean(0), expected_changes(truth, 40), atol=0.06
    )
    assert (after.parents == before.members) is truth.paired


@pytest.mark.slow
@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize(
    ("members", "classes", "images", "studies"),
    and_nightly(
        [(2, 10, 50, 100)],
        [
            (members, *sizes, 400)
            for members in (2, 4, 30)
            for sizes in ((10, 50), (10, 500), (100, 50))
        ],
    ),
)
def test_claims_of_harm_where_nothing_changed(members, classes, images, studies, kind):
    """One claim of any class makes a study a false alarm. With Satterthwaite's degrees of freedom: 13 % at K = 2."""
    alarms = np.zeros(3)
    for impact in impacts(NULLS[kind], studies, members=members, classes=classes, images=images):
        frame = impact.frame()
        lost, worse = (
            frame["verdict"] == "lost recall",
            frame["relative_verdict"] == "worse than average",
        )
        alarms += [lost.any(), worse.any(), frame["collapsed"].any()]
    assert (alarms <= at_most(0.05, studies)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize(
    ("members", "images", "studies"),
    and_nightly(
        [(2, 50, 100), (30, 20, 100)],
        [(members, images, 400) for members in (2, 4, 30) for images in (20, 50, 500)],
    ),
)
def test_intervals_cover_the_true_change(members, images, studies, kind):
    """Of recall, and relative to the overall accuracy.

    Few members make it wide. Few images may not show a rare loss, and many members cannot make up for it: as if the
    members were all that counts, 88 % of the intervals covered the change with 20 images and 30 pairs.
    """
    truth = Truth(paired=NULLS[kind].paired, everywhere=0.02, recalls={"Coat": (0.6,)})
    change = 100 * expected_changes(truth, members)
    covered = np.zeros(2)
    for impact in impacts(truth, studies, members=members, images=images):
        frame = impact.frame()
        for i, (name, expected) in enumerate(
            (("change", change), ("relative", change - change.mean()))
        ):
            inside = frame[f"{name}_low_pp"].le(expected) & frame[f"{name}_high_pp"].ge(expected)
            covered[i] += inside.mean() / studies
    assert (covered > {20: 0.93, 50: 0.915, 500: 0.93}[images]).all()
    if (members, images) == (30, 500):
        assert (covered < 0.98).all()


@pytest.mark.nightly
@pytest.mark.parametrize("kind", NULLS)
def test_power_grows_with_members_images_and_loss(kind):
    def power(loss, **sizes):
        truth = Truth(paired=NULLS[kind].paired, recalls={"Coat": (RECALLS[4] - loss,)})
        frames = [impact.frame() for impact in impacts(truth, 40, **sizes)]
        return np.mean(
            [frame["verdict"][CLASSES.index("Coat")] == "lost recall" for frame in frames]
        )

    members, loss = (4, 0.05) if NULLS[kind].paired else (10, 0.1)
    assert power(loss, members=2, images=500) < power(loss, members=members, images=500)
    assert power(loss, members=members, images=50) < power(loss, members=members, images=500)
    assert power(0.01, members=members, images=500) < power(loss, members=members, images=500)
    assert power(0.1, members=30, images=500) > 0.9


def test_no_change_is_not_said_of_a_class_whose_interval_leaves_out_zero():
    """A loss of two points is one, even within the margin of five."""
    said = [
        impact.frame().set_index("class").loc["Shirt"]
        for impact in impacts(TRUTHS["Shirt loses 2 points, pairs"], 30, members=4, images=1000)
    ]
    assert {row["verdict"] for row in said} <= {"lost recall", "cannot tell", "no change"}
    assert all(row["change_high_pp"] >= 0 for row in said if row["verdict"] == "no change")
    assert sum(row["verdict"] == "no change" for row in said) <= 3
