"""What every comparison of two populations keeps to: order plays no part, results are frozen, bad input is one line."""

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest

from tests.builders.populations import LIMITS, population
from tfaudit.audits.attributes.attributes import attributes
from tfaudit.audits.calibration.calibration import calibration
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.classes.classes import class_impact
from tfaudit.audits.distortion.recall_distortion import distortion
from tfaudit.audits.divergence.divergence import divergence
from tfaudit.audits.exemplars.exemplars import exemplars
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.forecast.quality import forecast_quality
from tfaudit.audits.gate.gate import gate
from tfaudit.audits.groups.groups import groups
from tfaudit.audits.intersections.intersections import intersections
from tfaudit.audits.model_pair.model_pair import compare
from tfaudit.audits.trends.trends import trends
from tfaudit.errors import InputError
from tfaudit.predictions import Predictions

GATE = functools.partial(gate, limits=LIMITS)


def by_class(audit, before, after, **options):
    """An audit of a column of the examples, here their classes."""
    column = before.labels if audit is not attributes else pd.DataFrame({"class": before.labels})
    return audit(before, after, column, **options)


AUDITS = [
    (class_impact, 6),
    (exemplars, 6),
    (functools.partial(chance, permutations=50), 6),
    (flip_rates, 6),
    (calibration, 6),
    (distortion, 6),
    (intersections, 6),
    (functools.partial(by_class, groups), 6),
    (functools.partial(by_class, trends), 6),
    (functools.partial(by_class, attributes), 6),
    (GATE, 6),
    (GATE, 1),
    (compare, 1),
    (forecast_quality, 1),
    (divergence, 1),
]
every_audit = pytest.mark.parametrize(("audit", "members"), AUDITS)


def pair(members, **options):
    return population(1, members=members), population(2, members=members, hurt=[3], **options)


def table(result):
    """The table of a result in an order that is not that of the examples."""
    frame = result.frame()
    return (
        frame.drop(columns="index").sort_values("example", ignore_index=True)
        if "example" in frame
        else frame
    )


@every_audit
def test_the_order_of_the_examples_plays_no_part(audit, members, rng):
    order = rng.permutation(200)
    shuffled = (
        Predictions(
            p.labels[order], p.ranked[:, order], p.probabilities[:, order], example_ids=order
        )
        for p in pair(members)
    )
    again, plain = audit(*shuffled), audit(*pair(members))
    pd.testing.assert_frame_equal(table(again), table(plain), rtol=1e-9)
    if not isinstance(audit, functools.partial):
        summaries = (pd.Series(result.summary()) for result in (again, plain))
        pd.testing.assert_series_equal(*summaries, rtol=1e-9)


@every_audit
def test_results_are_frozen(audit, members):
    result = audit(*pair(members))
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.notes = ()


def test_a_result_of_a_thousand_classes_fits_a_screen():
    labels = np.repeat(np.arange(1000), 5)
    worse = np.where(labels < 3, 999, labels)
    sides = (Predictions.from_top1(labels, predicted) for predicted in (labels, worse))
    head, columns, *rows = str(compare(*sides)).splitlines()
    assert head.startswith(
        "PairComparison: examples 5000, accuracy_before 1, accuracy_after 0.997,"
    )
    assert columns.split()[:3] == ["class", "change_pp", "verdict"]
    assert [row.split()[:2] for row in rows[:4]] == [
        ["0", "-100"],
        ["1", "-100"],
        ["2", "-100"],
        ["3", "0"],
    ]
    assert rows[20].startswith("(20 of 1,000 rows, ")
    assert len(rows) < 28


@every_audit
def test_other_examples_and_levels_are_refused(audit, members):
    before, after = pair(members)
    with pytest.raises(InputError, match="compressed: got 100 examples, expected 200"):
        audit(before, population(2, members=members, examples=100))
    if audit not in (exemplars, distortion):
        with pytest.raises(InputError, match=r"alpha: got 5, expected a level in \(0, 1\)"):
            audit(before, after, alpha=5)
