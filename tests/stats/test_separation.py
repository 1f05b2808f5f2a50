"""The area under the ROC curve against scikit-learn, and its variance against DeLong's formula."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tfaudit.stats.separation import separation


def delong_variance(scores, positive):
    """DeLong's variance by the placements of all pairs."""
    one, other = scores[positive == 1], scores[positive == 0]
    wins = (one[:, None] > other) + 0.5 * (one[:, None] == other)
    return wins.mean(1).var(ddof=1) / len(one) + wins.mean(0).var(ddof=1) / len(other)


@pytest.mark.parametrize("decimals", [1, 8])
def test_it_is_the_area_of_scikit_learn_with_the_variance_of_delong(rng, decimals):
    positive = (rng.random(400) < 0.2).astype(int)
    scores = (rng.normal(size=400) + positive).round(decimals)
    area, influence = separation(scores, positive)
    assert area == pytest.approx(roc_auc_score(positive, scores))
    assert influence.mean() == pytest.approx(0, abs=1e-12)
    variance = (influence**2).sum() / len(scores) ** 2
    assert variance == pytest.approx(delong_variance(scores, positive), rel=0.02)


def test_shares_count_as_so_many_examples(rng):
    scores = rng.random(50).round(1)
    positive = rng.integers(0, 5, 50)
    kinds = np.repeat([1, 0], 50)
    weights = np.concatenate([positive, 4 - positive])
    expected = roc_auc_score(kinds, np.tile(scores, 2), sample_weight=weights)
    assert separation(scores, positive / 4)[0] == pytest.approx(expected)


def test_one_kind_alone_has_no_area():
    assert np.isnan(separation(np.arange(3.0), np.zeros(3))[0])
    assert np.isnan(separation(np.arange(3.0), np.ones(3))[0])
