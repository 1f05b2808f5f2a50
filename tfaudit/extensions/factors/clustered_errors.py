"""Standard errors of regressions whose rows form few clusters, with degrees of freedom of their own [IK]."""

import numpy as np

from tfaudit.stats.ratios import ratio

LEAST_BETWEEN = 1.75
"""Clusters beyond the coefficients that they determine, below which nothing can be tested: with 5 clusters and three
covariates that vary between them, p <= .05 in 9 % of regressions without effects."""


def clustered_errors(
    matrix: np.ndarray, residuals: np.ndarray, clusters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute standard errors that are robust to any correlation within clusters, and their degrees of freedom.

    The variance is CR2, the sandwich `B sum_g X_g' A_g e_g e_g' A_g X_g B` with `B = (X'X)^-1` and
    `A_g = (I - X_g B X_g')^-1/2`, which is unbiased if the rows are independent and of one variance. The degrees of
    freedom are those of the chi-squared distribution with the mean and the variance that each coefficient's variance
    has if the rows of a cluster are correlated equally, as much as the residuals are [IK]. They are fewer than
    clusters, and far fewer if the clusters differ in size or a covariate is large in few of them. With 10 clusters, the
    usual sandwich (CR1, one degree of freedom fewer than clusters) finds p <= .05 in 12 to 16 % of regressions without
    effects.

    Args:
        matrix: `(n, p)` floats of full rank, the design X; for a generalized linear model its rows times the square
            roots of the weights.
        residuals: `(n,)` floats e; for a generalized linear model Pearson's residuals.
        clusters: `(n,)` integers, the cluster of each row.

    Returns:
        Errors and degrees of freedom, `(p,)` each; NaN for a coefficient that a single cluster determines. All degrees
        of freedom are NaN if there are hardly more clusters than coefficients that vary between clusters.

    Example:
        >>> values = np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
        >>> errors, freedom = clustered_errors(np.ones((6, 1)), values, np.array([0, 0, 1, 1, 2, 2]))
        >>> errors.round(4), freedom.round(4)
        (array([0.5774]), array([2.]))
    """
    orthogonal, triangle = np.linalg.qr(matrix)
    to_coefficients = np.linalg.inv(triangle)
    order = np.argsort(clusters, kind="stable")
    sizes = np.unique(clusters, return_counts=True)[1]
    blocks = (np.split(values[order], np.cumsum(sizes)[:-1]) for values in (orthogonal, residuals))
    alone = np.zeros(len(triangle))
    scores, lengths, shadows, sums, row_sums, totals = [], [], [], [], [], []
    for rows, own in zip(*blocks, strict=True):
        left, size, right = np.linalg.svd(rows, full_matrices=False)
        free = np.maximum(1 - size**2, 1e-9)
        parts = to_coefficients @ right.T
        # `A_g X_g B` is `left` times the transpose of this, without what this cluster alone determines.
        adjusted = parts * np.where(free > 1e-9, size / np.sqrt(free), 0.0)
        alone += np.square(parts[:, free <= 1e-9]).sum(1)
        scores.append(adjusted @ (left.T @ own))
        lengths.append(np.square(adjusted).sum(1))
        shadows.append((adjusted * size) @ right)
        sums.append(adjusted @ left.sum(0))
        row_sums.append(rows.sum(0))
        totals.append(own.sum())
    total = np.square(residuals).mean()
    pairs = np.square(sizes).sum() - len(residuals)
    products = np.square(totals).sum() - np.square(residuals).sum()
    shared = np.clip(products / pairs, 0, total) if pairs else 0.0
    freedom = np.zeros(len(triangle))
    for j, (shadow, length, sum_) in enumerate(
        zip(np.stack(shadows, 1), np.transpose(lengths), np.transpose(sums), strict=True)
    ):
        # `(G, G)` covariance of the clusters' scores: of independent rows, and of effects of whole clusters
        of_rows = np.diag(length) - shadow @ shadow.T
        effects = np.diag(sum_) - shadow @ np.transpose(row_sums)
        covariance = (total - shared) * of_rows + shared * effects @ effects.T
        freedom[j] = ratio(np.trace(covariance) ** 2, np.square(covariance).sum())
    between = len(sizes) - (np.square(row_sums).sum(1) / sizes).sum()
    known = alone <= 1e-9 * np.square(to_coefficients).sum(1)
    errors = np.where(known, np.sqrt(np.square(scores).sum(0)), np.nan)
    return errors, np.where(known & (between >= LEAST_BETWEEN), freedom, np.nan)
