"""How far the mean of skewed values may lie above its estimate: large values are rare, and a sample may lack them."""

import numpy as np


def upper_quantile(
    quantile: float, values: np.ndarray, clusters: np.ndarray | None = None
) -> float:
    """Return the quantile for the upper end of the interval of a mean, corrected for positive skewness [Ch].

    With `a = skewness / (6 sqrt(n))` it is `q + a (1 + 2 q^2) + 4 a^2 (q + 2 q^3)`, where q is Student's quantile; for
    values that are not skewed, or to the left, q itself.

    Args:
        quantile: Student's quantile, such as 1.96.
        values: `(N,)` values.
        clusters: `(N,)` integers from 0, the cluster of each value; their sums then count. None for independent values.

    Example:
        >>> upper_quantile(2.0, np.array([-1.0, 0.0, 1.0])), upper_quantile(2.0, np.r_[np.zeros(99), 1.0]).__round__(2)
        (2.0, 5.42)
    """
    centred = values - values.mean()
    sums = centred if clusters is None else np.bincount(clusters, centred)
    spread = np.sqrt(np.square(sums).mean())
    skewness = (sums**3).mean() / spread**3 if spread > 0 else 0.0
    a = max(skewness, 0.0) / (6 * np.sqrt(len(sums)))
    return float(quantile + a * (1 + 2 * quantile**2) + 4 * a**2 * (quantile + 2 * quantile**3))
