"""What tests of all audits test here, too."""

import functools

import numpy as np
import pandas as pd

from tests.builders.populations import population
from tfaudit.extensions.trends.trends import trends

COLUMN = pd.Series(np.arange(200) % 3, name="series").replace(2, None)
WRITERS = np.arange(200) // 4


def by_class(audit, before, after, **options):
    """The audit with the classes of the examples as the property."""
    return audit(before, after, before.labels, **options)


COMPARISONS = [(functools.partial(by_class, trends), 6)]
IN_RANGE = [("trends", lambda before, after: [trends(before, after, np.arange(60.0)).binned])]
RESULTS = [
    (
        "trends",
        lambda: trends(
            population(0),
            population(1, hurt=[3]),
            np.arange(200.0),
            column=COLUMN,
            individuals=WRITERS,
        ),
    ),
]
