"""Schedules against TF-MOT's own, to the bit, and without it."""

import numpy as np
import pytest
import tensorflow as tf

from tests.builders.refusals import assert_refused
from tests.builders.small_nets import fit, small_model, zeros, zeros_at
from tfaudit.compress.pruning.pruning import Pruning
from tfaudit.compress.pruning.schedules import (
    ConstantSparsity,
    FunctionSchedule,
    PolynomialDecay,
    as_schedule,
    planned,
)


def updates(schedule, last):
    asked = [(step, *schedule.at(step)) for step in range(last + 1)]
    return [(step, sparsity) for step, due, sparsity in asked if due]


@pytest.mark.parametrize(
    "schedule",
    [
        PolynomialDecay(0.1, 0.8, 10, 110, frequency=20),
        PolynomialDecay(0.3, 0.95, 0, 301, 3, 7),
        PolynomialDecay(0.9, 0.2, 5, 93, 2.5, 1),
        PolynomialDecay(0.013, 0.7, 3, 160, 1),
        ConstantSparsity(0.7, 3),
        ConstantSparsity(0.1, 0, 77, 4),
    ],
    ids=str,
)
def test_values_are_those_of_tfmot_to_the_bit(tfmot, schedule):
    names = [*vars(schedule)]
    theirs = getattr(tfmot, type(schedule).__name__)(**vars(schedule))
    assert as_schedule(theirs) == schedule
    assert [getattr(theirs, name) for name in names] == [*vars(schedule).values()]
    for step in range(0, 320, 3):
        due, sparsity = theirs(tf.constant(step, tf.int64))
        assert schedule.at(step) == (bool(due), float(sparsity))
    begin, steps = schedule.begin_step, schedule.frequency
    for place, sparsity in enumerate(schedule.sparsities[:40]):
        assert sparsity == np.float32(schedule.at(begin + place * steps)[1])


def test_a_schedule_of_a_subclass_of_tfmots_is_asked_as_a_function(tfmot):
    class Late(tfmot.ConstantSparsity):
        def __call__(self, step):
            return super().__call__(step - 10)

    schedule = as_schedule(Late(0.5, 1, 21, 10))
    assert isinstance(schedule, FunctionSchedule)
    assert updates(schedule, 50) == [(11, 0.5), (21, 0.5), (31, 0.5)]
    assert [schedule.last_update(step) for step in (10, 11, 25, 99)] == [0, 11, 21, 31]


@pytest.mark.parametrize("done", [0, 40])
@pytest.mark.parametrize("steps", [1, 2, 3, 4, 5, 7, 99, 134, 135, 1000])
def test_a_planned_schedule_reaches_its_sparsity_in_the_run(done, steps):
    schedule = planned(0.9, done=done, steps=steps)
    found = updates(schedule, done + steps + 5)
    assert found[0][0] == done + 1
    assert found[-1][0] <= done + 1 + 0.75 * steps
    assert found[-1][1] == pytest.approx(0.9, abs=1e-7)
    assert len(found) <= 101
    assert [sparsity for _, sparsity in found] == sorted(sparsity for _, sparsity in found)
    assert schedule.goal(done + steps) == found[-1][1]


def test_a_planned_schedule_goes_on_from_a_sparsity():
    assert updates(planned(0.9, initial=0.5, steps=100), 2)[0] == (1, pytest.approx(0.5))


def test_what_a_training_asks_of_a_schedule():
    for schedule in (
        PolynomialDecay(0.0, 0.8, 10, 30, frequency=7),
        ConstantSparsity(0.5, 3, 12, 4),
        ConstantSparsity(0.5, 3, frequency=4),
        ConstantSparsity(0.0, 3, frequency=4),
    ):
        steps = dict(updates(schedule, 60))
        for last in range(60):
            until = [step for step in steps if step <= last]
            assert schedule.last_update(last) == max(until, default=0)
            assert schedule.sparsity_by(last) == (steps[until[-1]] if until else 0)
            for first in range(1, last):
                pruned = any(steps[step] > 0 for step in until if step >= first)
                assert schedule.prunes(first, last) == pruned
    missed = PolynomialDecay(0.0, 0.8, 10, 30, frequency=7)
    assert missed.sparsity_by(40) < missed.goal(40) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantSparsity(1.0, 0), r"target_sparsity: got 1.0, expected a number in \[0"),
        (lambda: ConstantSparsity(0.5, 9, 3), "end_step: got 3, expected -1 or 9 or more"),
        (lambda: PolynomialDecay(0, -0.1, 0, 9), "final_sparsity: got -0.1, expected a number"),
        (lambda: PolynomialDecay(0, 0.1, 9, 9), "end_step: got 9, expected 10 or more"),
        (lambda: PolynomialDecay(0, 0.1, 0, 9, -1), "power: got -1, expected 0 or more"),
        (lambda: as_schedule(lambda step: 0.5).at(1), r"returns \(should_prune, sparsity\)"),
    ],
)
def test_what_is_refused(make, message):
    assert_refused(message, make)


@pytest.mark.slow
def test_a_function_of_python_prunes_as_the_schedule_that_it_is():
    def plain(step):
        return (step >= 2) & (step % 5 == 2) & (step <= 17), 0.8

    model = small_model()
    fit(model, Pruning(plain))
    assert zeros(model) == zeros_at(0.8)
