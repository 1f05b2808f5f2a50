"""One result of every kind, by name."""

import functools

import numpy as np
import pandas as pd

from tests.builders.extension_contracts import contributed
from tests.builders.populations import population
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.gate.limits import Limits
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.audits.robustness.robustness import robustness
from tfaudit.audits.summary.summary import audit_variant, summary
from tfaudit.audits.verdict.study_verdict import study_verdict

BEFORE, AFTER = population(0), population(1, hurt=[3])
ONE, OTHER = population(0, members=1), population(1, members=1, hurt=[3])
COLUMN = pd.Series(np.arange(200) % 3, name="series").replace(2, None)
WRITERS = np.arange(200) // 4


def corrupted(first, single=False):
    conditions = [("fog", 1), ("fog", 3), ("imagenet_a", 0)]
    return {
        c: population(first + i, noise=1.5, members=1 if single else 6)
        for i, c in enumerate(conditions)
    }


RESULTS = {
    "classes": lambda: class_impact(BEFORE, AFTER),
    "classes, one empty": lambda: class_impact(
        population(0, empty=[2]), population(1, empty=[2]), centering="none"
    ),
    "exemplars": lambda: exemplars(BEFORE, AFTER),
    "exemplars, none": lambda: exemplars(BEFORE, BEFORE),
    "chance": lambda: chance(BEFORE, AFTER, permutations=20),
    "chance, single": lambda: chance(ONE, AFTER, permutations=20),
    "summary": lambda: summary({"dense": BEFORE, "int8": AFTER, "one": OTHER}, permutations=20),
    "variant": lambda: audit_variant(BEFORE, AFTER, permutations=20),
    "tally": lambda: count_predictions(BEFORE),
    "robustness": lambda: robustness(corrupted(2), corrupted(20), clean=(BEFORE, AFTER)),
    "robustness, single": lambda: robustness(corrupted(2, single=True), corrupted(20, single=True)),
    "negative flips": lambda: flip_rates(BEFORE, AFTER),
    "groups": lambda: groups(BEFORE, AFTER, COLUMN, individuals=WRITERS),
    "groups, nobody": lambda: groups(BEFORE, AFTER, COLUMN),
    "attributes": lambda: attributes(BEFORE, AFTER, COLUMN.to_frame()),
    "pairs": lambda: compare(ONE, OTHER),
    "measurements": lambda: measure(BEFORE, AFTER),
    "measurements, single": lambda: measure(ONE, OTHER),
    "study verdict": lambda: study_verdict(
        {"a": measure(BEFORE, AFTER), "b": measure(ONE, OTHER), "c": None}
    ),
    "gate": lambda: gate(BEFORE, AFTER, Limits(worst_class_drop_pp=2, flips=0.1)),
    **dict(contributed("RESULTS")),
}


@functools.cache
def result_of(name):
    """Return the result of a name, made once."""
    return RESULTS[name]()
