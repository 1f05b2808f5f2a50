"""Simulated errors of a regression before and after compression, whose mean increases by a known amount."""

import numpy as np
from scipy import integrate, stats

from tfaudit import Limits, Outcomes, gate

KINDS = ("normal", "skewed", "heavy", "clusters")
"""Kinds of errors; the last are in clusters of ten."""


def draw(
    kind: str, rng: np.random.Generator, studies: int, examples: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, float]:
    """Return errors before and after of many studies, (studies, examples); the clusters; and the true increase."""
    clusters = None
    size = (studies, examples)
    before = np.abs(rng.normal(size=size))
    if kind == "normal":
        after = before + 3 + rng.normal(size=size)
        true = 3.0
    elif kind == "skewed":
        after = before + rng.lognormal(0, 1, size)
        true = np.exp(0.5)
    elif kind == "heavy":  # symmetric noise of three degrees of freedom in the predictions
        residual = rng.normal(size=size)
        noise = rng.standard_t(3, size)
        before, after = np.abs(residual), np.abs(residual + noise)
        true = HEAVY
    else:
        clusters = np.repeat(np.arange(examples // 10), 10)
        shared = np.repeat(rng.lognormal(0, 0.5, (studies, examples // 10)), 10, axis=1)
        after = before + shared + rng.random(size)
        true = np.exp(0.125) + 0.5
    return before, np.maximum(after, 0), clusters, true


def expected_heavy() -> float:
    """Return the mean of |e + t| - |e|: e is normal, t has three degrees of freedom."""

    def weighted(x: float) -> float:
        folded = np.sqrt(2 / np.pi) * np.exp(-(x**2) / 2) + x * (1 - 2 * stats.norm.cdf(-x))
        return float(stats.t.pdf(x, 3) * folded)

    return 2 * integrate.quad(weighted, 0, np.inf)[0] - float(np.sqrt(2 / np.pi))


HEAVY = expected_heavy()


def error_rates(
    kind: str, rng: np.random.Generator, studies: int, examples: int
) -> tuple[float, float]:
    """Return how often an increase of 1.1 times the limit passes, and one of .9 times fails."""
    wrong = []
    before, after, clusters, true = draw(kind, rng, studies, examples)
    for errors in zip(before, after, strict=True):
        sides = [Outcomes(side, errors=True, clusters=clusters) for side in errors]
        above, below = (
            gate(*sides, Limits(mean_error_increase=true / factor)).outcome for factor in (1.1, 0.9)
        )
        wrong.append((above == "pass", below == "fail"))
    passes, fails = np.mean(wrong, axis=0)
    return float(passes), float(fails)
