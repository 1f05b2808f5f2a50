"""The area under the ROC curve against scikit-learn, and its variance against DeLong's formula."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tests.builders.delong import delong_covariance
from tfaudit.stats.separation import separation


@pytest.mark.parametrize("decimals", [0, 1, 8])
@pytest.mark.parametrize("prevalence", [0.02, 0.5])
def test_it_is_the_area_of_scikit_learn_with_the_covariance_of_delong(rng, decimals, prevalence):
    positive = (np.arange(400) < 400 * prevalence).astype(int)
    many = (rng.normal(size=(2, 400)) + rng.normal(size=400) + positive).round(decimals)
    areas, influences = zip(*(separation(scores, positive) for scores in many), strict=True)
    assert areas == pytest.approx([roc_auc_score(positive, scores) for scores in many])
    influences = np.array(influences)
    assert influences.mean(axis=1) == pytest.approx([0, 0], abs=1e-12)
    covariance = influences @ influences.T / 400**2
    assert covariance == pytest.approx(delong_covariance(many, positive), rel=1e-9)


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
