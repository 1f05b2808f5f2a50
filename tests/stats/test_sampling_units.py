"""Errors over clusters of images: against statsmodels, the definition of CR2, and simulated studies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.builders.heterogeneous import heterogeneous_study
from tests.builders.nightly import and_nightly, noise, seeds
from tests.builders.simulated_studies import clustered, simulate
from tfaudit.audits.comparison import Comparison
from tfaudit.stats.changes import group_changes


def changes_of(before, after, groups, count, **options):
    """Values, errors and degrees of freedom of both changes."""
    changes = group_changes(before, after, groups, count, **options)
    return [
        values
        for change in (changes.absolute, changes.relative)
        for values in (change.value, change.error, change.df_images)
    ]


@pytest.mark.parametrize("members", [1, 4])
def test_copies_of_an_image_count_as_one(members, rng):
    """Every image five times over: with the copies as clusters, the intervals are those of the images."""
    before, after = heterogeneous_study(rng, members, 90, paired=members > 1)
    groups = np.arange(90) % 3
    options = {"paired": members > 1}
    once = changes_of(before, after, groups, 3, **options)
    copies = [np.repeat(values, 5, -1) for values in (before, after, groups, np.arange(90))]
    for expected, values in zip(
        once, changes_of(*copies[:3], 3, clusters=copies[3], **options), strict=True
    ):
        assert_allclose(values, expected, rtol=1e-9)
    _, error, *_ = changes_of(*copies[:3], 3, **options)
    assert (error < 0.8 * once[1]).all()


def test_errors_over_clusters_are_those_of_statsmodels(rng):
    """Single models: least squares with errors by cluster, of the groups' means and of their excess over all."""
    statsmodels = pytest.importorskip("statsmodels.api")
    writers, classes = 40, 3
    groups = np.tile(np.arange(classes), writers * 4)
    clusters = np.repeat(np.arange(writers), 4 * classes)
    change = rng.integers(-1, 2, (1, len(groups))).astype(float) * (
        rng.random(writers)[clusters] < 0.5
    )
    changes = group_changes(
        np.zeros_like(change), change, groups, classes, paired=True, clusters=clusters
    )
    fit = statsmodels.OLS(change[0], np.eye(classes)[groups]).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}
    )
    covariance = fit.cov_params() * writers / (writers - 1)
    excess = np.eye(classes) - 1 / classes
    for one, weights in ((changes.absolute, np.eye(classes)), (changes.relative, excess)):
        expected = np.sqrt(np.diag(weights @ covariance @ weights.T))
        assert_allclose(one.error, expected, rtol=1e-9)
        assert_allclose(one.df_images, writers - 1, atol=20)


@pytest.mark.parametrize("members", [1, 3])
def test_clusters_of_unequal_sizes_have_cr2_and_its_degrees_of_freedom(members, rng):
    """Whole matrices of the images by the definition [IK]; the jackknife is larger and the sandwich smaller."""
    groups = np.repeat([0, 1], [70, 50])
    clusters = rng.choice(9, 120, p=np.arange(1, 10) / 45)
    change = rng.integers(-1, 2, (members, 120)) * (rng.random(9)[clusters] < 0.6)
    found = group_changes(
        np.zeros_like(change), change, groups, 2, paired=True, clusters=clusters
    ).absolute
    for group, values in enumerate(np.split(change.mean(0), [70])):
        own = clusters[groups == group]
        size, residuals = len(own), values - values.mean()
        maker = np.eye(size) - 1 / size
        working = (own[:, None] == own).astype(float)
        variance, weights = 0.0, []
        jackknife, sandwich = 0.0, 0.0
        for cluster in np.unique(own):
            inside = own == cluster
            roots, vectors = np.linalg.eigh(maker[np.ix_(inside, inside)])
            adjusted = vectors / np.sqrt(roots) @ vectors.T @ np.ones(inside.sum()) / size
            variance += (adjusted @ residuals[inside]) ** 2
            weights.append(maker[:, inside] @ adjusted)
            jackknife += (values[~inside].mean() - values.mean()) ** 2
            sandwich += (residuals[inside].sum() / size) ** 2
        eigenvalues = np.linalg.eigvalsh(np.stack(weights) @ working @ np.stack(weights, 1))
        assert found.of_images[group] == pytest.approx(variance)
        assert sandwich < found.of_images[group] < jackknife
        expected = eigenvalues.sum() ** 2 / (eigenvalues**2).sum()
        assert found.df_images[group] == pytest.approx(expected)
        assert found.clusters[group] == pytest.approx(size**2 / np.square(np.bincount(own)).sum())
        assert found.df_images[group] < found.clusters[group] - 1


def test_a_single_cluster_has_no_interval(rng):
    before, after = heterogeneous_study(rng, 2, 40, paired=True)
    options = {"paired": True, "clusters": np.zeros(40, int)}
    assert np.isnan(group_changes(before, after, np.zeros(40, int), 1, **options).absolute.error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "of_one_class", "studies"),
    and_nightly(
        [(3, True, 40)],
        [(members, one, 300) for members in (1, 3, 10) for one in (True, False)],
    ),
)
def test_intervals_over_clusters_hold_the_truth(members, of_one_class, studies):
    """Nothing changes; images come in clusters of 20. Over single images, as few as 60 % of intervals hold that."""
    truth = clustered(members, of_one_class=of_one_class)
    held = []
    for seed in seeds(studies):
        comparison = Comparison(*simulate(truth, seed, members=members, images=100))
        whole = comparison.changes(np.zeros_like(comparison.baseline.labels), 1)
        low, high = np.concatenate(
            [whole.absolute.interval(), comparison.class_changes().absolute.interval()], axis=1
        )
        held.append((low <= 0) & (high >= 0))
    shares = np.mean(held, axis=0)
    assert shares[0] >= 0.95 - noise(0.95, studies) - 0.01
    assert shares[1:].mean() >= 0.95 - noise(0.95, studies)
