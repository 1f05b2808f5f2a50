"""What tests of all audits test here, too."""

import numpy as np

from tests.builders.populations import population
from tfaudit.extensions.slices.slices import slices

RESULTS = [
    (
        "slices",
        lambda: slices(
            population(0),
            population(1, hurt=[3]),
            np.random.default_rng(0).normal(size=(200, 3)),
        ),
    ),
]
