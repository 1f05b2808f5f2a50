"""Shifts of probabilities by class: a class that is disturbed more, and none, in simulations of known truth."""

import numpy as np
import pytest

from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.refusals import assert_refused
from tfaudit import Predictions
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.extensions.divergence.divergence import LESS, MORE, divergence

CLASSES, DISTURBED = 10, 3


def pair_of(seed, images, factor=1.0, members=1, disturbance=0.15):
    """Dense and compressed models: logits with noise, in one class by a factor stronger."""
    rng = np.random.default_rng(seed)
    labels = np.arange(images) % CLASSES
    common = 3 * rng.normal(size=(images, CLASSES)) + 4 * np.eye(CLASSES)[labels]
    logits = common + 0.5 * rng.normal(size=(members, images, CLASSES))
    strength = np.where(labels == DISTURBED, factor, 1.0)[:, None] * disturbance
    strength = strength * np.exp(0.2 * rng.normal(size=(members, 1, 1)) * (members > 1))
    changed = logits + strength * rng.normal(size=logits.shape)
    options = {"scores_are": "logits", "k": CLASSES}
    dense = Predictions.from_scores(labels, logits, **options)
    return dense, Predictions.from_scores(labels, changed, parents=range(members), **options)


def test_a_class_that_is_disturbed_twice_as_much_is_found_where_flips_do_not_tell():
    pair = pair_of(0, 500, factor=2)
    frame = divergence(*pair).frame().set_index("class")
    assert frame["verdict"][str(DISTURBED)] == MORE
    assert set(flip_rates(*pair).frame()["verdict"]) == {"", "cannot tell"}
    assert frame["shift"].iloc[1:].idxmax() == str(DISTURBED)
    assert frame["agreement"].between(0.9, 1).all()
    assert divergence(*pair).summary()["most_moved"] == str(DISTURBED)


def test_bad_input_is_one_line():
    dense, compressed = pair_of(0, 50)
    bare = Predictions.from_top1(dense.labels, dense.top1)
    assert_refused("predictions: got no probabilities", divergence, dense, bare)
    unpaired = Predictions(dense.labels, compressed.ranked.repeat(2, 0))
    assert_refused("paired: got independent members", divergence, dense, unpaired)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "studies"), and_nightly([(1, 60)], [(1, 1000), (3, 400), (10, 300)])
)
def test_without_a_disturbed_class_few_studies_claim_one(members, studies):
    claims = []
    for seed in seeds(studies):
        verdicts = divergence(*pair_of(seed, 500, members=members)).frame()["verdict"]
        claims.append(verdicts.isin([MORE, LESS]).any())
    assert np.mean(claims) <= 0.05 + noise(0.05, studies)
