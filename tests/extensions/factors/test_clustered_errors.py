"""Errors by cluster against the formulas written out, published degrees of freedom, t tests, and degenerate designs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from tfaudit.extensions.factors.clustered_errors import clustered_errors


def design(rng, clusters=7, rows=60):
    """Rows of clusters of different sizes, with a covariate of clusters, and the residuals of a fit."""
    cluster = np.sort(np.r_[np.arange(clusters), rng.integers(0, clusters, rows - clusters)])
    matrix = np.column_stack(
        [np.ones(rows), rng.normal(size=(rows, 2)), rng.normal(size=clusters)[cluster]]
    )
    response = rng.normal(size=rows) + rng.normal(size=clusters)[cluster]
    return matrix, residuals_of(matrix, response), cluster


def residuals_of(matrix, response):
    return response - matrix @ np.linalg.lstsq(matrix, response, rcond=None)[0]


def test_they_are_those_of_the_formulas_written_out(rng):
    """Imbens and Kolesár's: whole matrices of the rows, and residuals that are equally correlated within a cluster."""
    matrix, residuals, cluster = design(rng)
    bread = np.linalg.inv(matrix.T @ matrix)
    maker = np.eye(60) - matrix @ bread @ matrix.T
    same = cluster[:, None] == cluster
    shared = np.outer(residuals, residuals)[same & ~np.eye(60, dtype=bool)].mean()
    assert shared > 0
    working = shared * same + (np.mean(residuals**2) - shared) * np.eye(60)
    meat = np.zeros((4, 4))
    weights = []
    for g in range(7):
        inside = cluster == g
        values, vectors = np.linalg.eigh(maker[np.ix_(inside, inside)])
        adjusted = vectors / np.sqrt(values) @ vectors.T @ matrix[inside]
        score = adjusted.T @ residuals[inside]
        meat += np.outer(score, score)
        weights.append(maker[:, inside] @ adjusted @ bread)
    errors, freedom = clustered_errors(matrix, residuals, cluster)
    assert_allclose(errors, np.sqrt(np.diag(bread @ meat @ bread)))
    for j in range(4):
        of_clusters = np.stack([one[:, j] for one in weights], 1)
        roots = np.linalg.eigvalsh(of_clusters.T @ working @ of_clusters)
        assert freedom[j] == pytest.approx(roots.sum() ** 2 / (roots**2).sum())


@pytest.mark.parametrize(("few", "many"), [(3, 27), (10, 10)])
def test_two_samples_have_the_published_degrees_of_freedom(few, many, rng):
    """Rows without clusters and a dummy: Welch's error, and Bell and McCaffrey's degrees in closed form [IK]."""
    total = few + many
    matrix = np.column_stack([np.ones(total), np.arange(total) < few])
    response = rng.normal(size=total)
    errors, freedom = clustered_errors(matrix, residuals_of(matrix, response), np.arange(total))
    parts = response[:few].var(ddof=1) / few, response[few:].var(ddof=1) / many
    assert errors[1] == pytest.approx(np.sqrt(sum(parts)))
    expected = total**2 * (few - 1) * (many - 1) / (few**2 * (few - 1) + many**2 * (many - 1))
    assert freedom[1] == pytest.approx(expected)


def test_equal_clusters_of_a_mean_are_a_t_test_of_their_means(rng):
    values = rng.normal(size=(9, 5)) + rng.normal(size=(9, 1))
    matrix, cluster = np.ones((45, 1)), np.repeat(np.arange(9), 5)
    errors, freedom = clustered_errors(matrix, residuals_of(matrix, values.ravel()), cluster)
    assert errors[0] == pytest.approx(stats.sem(values.mean(1)))
    assert freedom[0] == pytest.approx(8)


def test_order_names_and_units_play_no_part(rng):
    matrix, residuals, cluster = design(rng)
    expected = clustered_errors(matrix, residuals, cluster)
    order, names = rng.permutation(60), rng.permutation(7)
    scaled = (matrix * [1, 1000, 1, 0.01])[order]
    errors, freedom = clustered_errors(scaled, residuals[order], names[cluster[order]])
    assert_allclose(errors * [1, 1000, 1, 0.01], expected[0])
    assert_allclose(freedom, expected[1])


def test_coefficients_that_one_cluster_determines_and_too_few_clusters(rng):
    matrix, residuals, cluster = design(rng)
    own = np.column_stack([matrix, cluster == 3])
    errors, freedom = clustered_errors(own, residuals_of(own, residuals), cluster)
    assert np.isnan([errors[4], freedom[4]]).all()
    assert np.isfinite([errors[:4], freedom[:4]]).all()
    of_four = np.column_stack([np.ones(60), matrix[:, 3], rng.normal(size=7)[cluster]])[cluster < 4]
    errors, freedom = clustered_errors(
        of_four, residuals_of(of_four, residuals[cluster < 4]), cluster[cluster < 4]
    )
    assert np.isfinite(errors).all()
    assert np.isnan(freedom).all()  # four clusters for three coefficients
    nothing = clustered_errors(matrix, np.zeros(60), cluster)
    assert np.isnan(nothing[1]).all()
    assert_array_equal(nothing[0], 0)
