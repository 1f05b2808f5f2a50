"""Memory of audits: beside the predictions they hold few bytes of each, and floats of one member at a time."""

import tracemalloc

import numpy as np
import pytest

from tests.builders.extension_contracts import contributed
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.measurements import measure
from tfaudit.predictions import Predictions
from tfaudit.stats.ties import Ties

IMAGES, CLASSES, FEW, MANY = 20_000, 10, 4, 12


def population(members: int, seed: int, *, paired: bool) -> Predictions:
    """Return members whose probabilities are made at each use, as a store reads them; 1 % of predictions tie."""
    rng = np.random.default_rng(seed)
    labels = np.arange(IMAGES) % CLASSES
    first = np.where(rng.random((members, IMAGES)) < 0.8, labels, (labels + 3) % CLASSES)
    ranked = np.stack([first, (first + 1) % CLASSES], axis=2).astype(np.uint8)
    rows = np.flatnonzero(rng.random(members * IMAGES) < 0.01)
    flat = ranked.reshape(-1, 2)
    flat[rows] = np.sort(flat[rows])

    def probabilities(position: int) -> np.ndarray:
        likely = np.random.default_rng(position).uniform(0.5, 1, IMAGES).astype(np.float32)
        return np.stack([likely, 1 - likely], axis=1)

    predictions = Predictions(
        labels,
        ranked,
        probabilities,
        parents=range(members) if paired else None,
        ties=Ties(np.repeat(rows, 2), flat[rows].ravel().astype(np.int64)),
    )
    predictions.recall()  # whether each prediction is right is part of the predictions
    return predictions


EITHER = (flip_rates, measure)
CASES = [(audit, paired) for audit in EITHER for paired in (True, False)]


@pytest.mark.parametrize(("audit", "paired"), [*CASES, *contributed("LEAN")])
def test_memory_of_an_audit_grows_by_few_bytes_a_member_and_image(audit, paired):
    peaks = []
    for members in (FEW, MANY):
        populations = [population(members, seed, paired=paired) for seed in (0, 1)]
        tracemalloc.start()
        audit(*populations)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    bytes_each = (peaks[1] - peaks[0]) / (MANY - FEW) / IMAGES
    assert bytes_each < 14  # a float of either side takes 16
