"""Populations that grow until the gate decides: when they end, what is printed, and what a second run does."""

import functools

import numpy as np
import pytest

from tests.builders.refusals import assert_refused
from tests.builders.simulated_studies import CLASSES, Truth, simulate
from tests.builders.small_stores import save_examples, save_member, small_study
from tfaudit import Limits, Pruned
from tfaudit.cli import app
from tfaudit.cli.until_decided import run_until_decided
from tfaudit.stats.multiplicity import interim_level, interim_sizes
from tfaudit.store.store import Store

LIMITS = Limits(overall_drop_pp=2)
MILD, HARSH = Pruned(0.5), Pruned(0.9)
STUDY = small_study(variants=(MILD, HARSH), population=12)
LOSSES = {MILD.key: 0.0, HARSH.key: 0.06}


class Runs:
    """A function that runs a study, whose members are simulated; `populations` tells how often it was called."""

    def __init__(self, directory, losses=LOSSES):
        self.directory, self.losses = directory, losses
        self.populations = []
        self.failing = None  # number of the member that fails

    @functools.cached_property
    def predictions(self):
        found = {}
        for key, loss in self.losses.items():
            truth = Truth(everywhere=loss)
            found["dense"], found[key] = simulate(truth, 3, members=12, images=300)
        return found

    def __call__(self, study):
        self.populations.append(study.population)
        new = not self.directory.exists()
        store = Store.create(self.directory, study, {})
        if new:
            save_examples(store, labels=self.predictions["dense"].labels, names=CLASSES)
        for key, predictions in self.predictions.items():
            for member in range(study.population):
                if (key, member) == self.failing:
                    store.save_failure(key, member, "ValueError: boom")
                elif not store.is_complete(key, member):
                    save_member(store, key, member, predictions.member(member))
        return store


def test_sizes_rise_by_half_and_end_at_the_population():
    for most in range(1, 200):
        sizes = interim_sizes(most)
        assert sizes[-1] == most
        assert list(sizes) == sorted(set(sizes))
        assert min(sizes) == min(most, 3) or most == 4
        levels = [interim_level(0.05, len(sizes), look + 1) for look in range(len(sizes))]
        assert np.isclose(sum(levels), 0.05)


def test_members_are_added_until_all_variants_are_decided(tmp_path, capsys):
    run = Runs(tmp_path / "s")
    store = run_until_decided(STUDY, run.directory, run, LIMITS, None)
    told = capsys.readouterr().out.splitlines()
    assert run.populations == [3, 5, 8]
    assert store.study.population == 8
    assert told[0] == "look 1 of 4, 3 members: cannot judge yet magnitude 50 %, magnitude 90 %"
    assert told[2] == "look 3 of 4, 8 members: pass magnitude 50 %; fail magnitude 90 %"
    assert told[3:] == ["8 members of each variant were made, of at most 12"]
    # A second run comes to the same end without another member.
    again = Runs(tmp_path / "s")
    run_until_decided(STUDY, again.directory, again, LIMITS, None)
    assert again.populations == [8]
    assert capsys.readouterr().out.splitlines() == told


def test_a_member_that_fails_ends_it(tmp_path, capsys):
    run = Runs(tmp_path / "s")
    run.failing = (MILD.key, 4)
    store = run_until_decided(STUDY, run.directory, run, LIMITS, None)
    assert store.failures()
    assert run.populations == [3, 5]
    assert len(capsys.readouterr().out.splitlines()) == 1


@pytest.mark.parametrize("option", [["--gate", "gate.toml"], ["--variant", "int8"]])
def test_options_of_decisions_are_for_decisions(option):
    expected = "no such option without --until-decided"
    assert_refused(expected, app, ["run", "digits", *option], standalone_mode=False)
