"""Simulated errors of a regression before and after compression, whose mean increases by a known amount."""

import numpy as np
from scipy import stats

from tfaudit import Limits, Outcomes
from tfaudit.audits.gate.gate import judge
from tfaudit.audits.gate.measurements import measure_outcomes

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


HEAVY = float(
    stats.t(3).expect(lambda noise: stats.foldnorm.mean(abs(noise))) - stats.halfnorm.mean()
)
"""Mean of |e + noise| - |e|: e is normal, the noise has three degrees of freedom."""


def error_rates(
    kind: str, rng: np.random.Generator, studies: int, examples: int
) -> tuple[float, float]:
    """Return how often an increase of 1.1 times the limit passes, and one of .9 times fails."""
    wrong = []
    before, after, clusters, true = draw(kind, rng, studies, examples)
    for errors in zip(before, after, strict=True):
        measured = measure_outcomes(
            *(Outcomes(side, errors=True, clusters=clusters) for side in errors)
        )
        above, below = (
            judge(measured, Limits(mean_error_increase=true / factor)).outcome
            for factor in (1.1, 0.9)
        )
        wrong.append((above == "pass", below == "fail"))
    passes, fails = np.mean(wrong, axis=0)
    return float(passes), float(fails)
