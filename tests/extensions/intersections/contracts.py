"""What tests of all audits test here, too."""

import numpy as np
import pandas as pd

from tests.builders.populations import population
from tfaudit.extensions.intersections.intersections import NARROWER, WIDER, intersections

BEFORE, AFTER = population(0), population(1, hurt=[3])
SERIES = pd.Series(np.arange(200) % 3, name="series").replace(2, None).to_frame()
HALVES = pd.DataFrame({"half": np.where(np.arange(60) < 30, "a", "b")})


def of_halves(before, after):
    """Both tables of the intersections of classes and halves of 60 examples."""
    crossed = intersections(before, after, HALVES)
    return [crossed.frame(), crossed.cell_frame()]


COMPARISONS = [(intersections, 6)]
OF_ONE_AND_SEVERAL = [intersections]
LEAN = [(intersections, True), (intersections, False)]
IN_RANGE = [("intersections", of_halves)]
RESULTS = [
    ("intersections", lambda: intersections(BEFORE, AFTER, SERIES)),
    ("intersections, classes", lambda: intersections(BEFORE, AFTER)),
]
VERDICTS = [NARROWER, WIDER]
