"""The least variance of groups whose images hardly change."""

import numpy as np
import pytest

from tfaudit.stats.changes import group_changes


def test_no_group_is_surer_than_if_one_more_image_had_been_lost_and_another_won(rng):
    """A group of few images does not rely on others: all members may lose an image that is not among them."""
    groups = np.repeat([0, 1, 2, 3, 4], 40)
    before, after = np.ones((30, 200), bool), np.ones((30, 200), bool)
    after[:12, 0] = after[:24, 1] = after[:6, 40] = False  # the images lose .4, .8 and .2
    after[:, 120:160] = False
    after[:, 160:] = rng.random((30, 40)) < 0.5  # 40 images that change by themselves
    error = group_changes(before, after, groups, 5, paired=True).absolute.error
    lost = np.array([0.4**4 + 0.8**4, 0.2**4, 0, 40])
    least = np.sqrt(lost * (1 - lost / 40) + 2) / 42  # Bonett and Price (2012): b = c = 1 of n + 2
    assert error[[1, 2, 3]] == pytest.approx(least[1:])
    assert error[0] >= least[0]
    one = group_changes(before[:1], after[:1], groups, 5, paired=True).absolute.error
    assert one[[1, 2, 3]] == pytest.approx(np.sqrt([1 * (1 - 1 / 40) + 2, 2, 2]) / 42)
