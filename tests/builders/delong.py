"""DeLong's covariances from their definition, as a reference."""

import numpy as np


def delong_covariance(many, positive):
    """DeLong's covariances of several areas, `(A, A)`, by the placements of all pairs."""
    wins = []
    for scores in many:
        one, other = scores[positive == 1], scores[positive == 0]
        wins.append((one[:, None] > other) + 0.5 * (one[:, None] == other))
    kinds = ([each.mean(axis) for each in wins] for axis in (1, 0))
    return sum(np.cov(placements) / len(placements[0]) for placements in kinds)
