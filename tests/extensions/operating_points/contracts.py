"""What tests of all audits test here, too."""

import pandas as pd

from tests.builders.populations import population
from tfaudit.extensions.operating_points.operating_points import operating_points, trade_offs

BEFORE, AFTER = population(0), population(1, hurt=[3])


def operated():
    facts = pd.DataFrame({"bytes": [4, 2], "title": ["a", "b"]}, index=["dense", "int8"])
    table = trade_offs({"dense": BEFORE, "int8": AFTER}, facts)
    goals = {"bytes": "min", "unfairness": "min"}
    return operating_points(
        table, objectives=goals, floor=0.1, weights={"bytes": 1, "unfairness": 2}
    )


REFUSALS = [
    ("table", (lambda: operating_points([1]), "table: got list, expected a pandas.DataFrame")),
]
RESULTS = [
    ("operating points", operated),
    (
        "operating points, no choice",
        lambda: operating_points(
            pd.DataFrame({"variant": ["a"], "sparsity": 0.5, "unfairness": 1})
        ),
    ),
]
