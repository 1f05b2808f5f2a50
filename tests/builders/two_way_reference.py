"""Intervals over images and members, written out with SciPy."""

import numpy as np
from scipy import optimize, stats


def _member_part(values):
    """Variance of the mean of `(K, N)` over members, the part of it that images and members share, and K - 1."""
    members, images = values.shape
    residuals = values - values.mean(0) - values.mean(1, keepdims=True) + values.mean()
    overlap = np.square(residuals).sum() / ((members - 1) * (images - 1)) / (members * images)
    return values.mean(1).var(ddof=1) / members, overlap, members - 1


def two_way(before, after, *, paired, confidence=0.95):
    """Change of accuracy, the ends of its interval, and its p-value; for two single models over the images alone.

    One more image may be lost and another won.
    """
    before, after = np.asarray(before, float), np.asarray(after, float)
    images = after.mean(0) - before.mean(0)
    of_images = images.var(ddof=1) / len(images)
    changed = (images**4).sum()
    varying = np.clip(changed * (1 - changed / len(images)), 0, 8)
    of_images = max(of_images, (varying + 2) / (len(images) + 2) ** 2)
    sides = (
        [] if len(before) == len(after) == 1 else [after - before] if paired else [after, before]
    )
    parts = [_member_part(side) for side in sides]
    of_members = sum(part[0] for part in parts)
    variance = max(of_images + of_members - sum(part[1] for part in parts), of_images, of_members)
    df_members = of_members**2 / sum(part[0] ** 2 / part[2] for part in parts) if parts else 1
    share = of_members / (of_images + of_members)

    def quantile(level):
        """Cochran's: each source's t quantile by its share of the variance."""
        return (1 - share) * stats.t.ppf(level, len(images) - 1) + share * stats.t.ppf(
            level, df_members
        )

    change, error = images.mean(), np.sqrt(variance)
    margin = quantile((1 + confidence) / 2) * error
    log_p = optimize.brentq(
        lambda log: quantile(1 - np.exp(log) / 2) - abs(change) / error, -30, 0, xtol=1e-12
    )
    return change, change - margin, change + margin, np.exp(log_p)
