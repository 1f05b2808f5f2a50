"""The command that a recommendation prints: it is accepted as it stands, whatever the limits are."""

import functools
import shlex

import keras
import pytest
import typer

from tests.builders.corrupted_studies import corrupted_study
from tests.builders.nightly import first_and_nightly
from tests.builders.studies import make_study
from tfaudit.analysis.recommendation import recommendation
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.audits.gate.limits import QUANTITIES, Limits

VALUES = {
    "overall_drop_pp": (3, 99),
    "worst_class_drop_pp": (12, 100),
    "precision_drop_pp": (12, 100),
    "f1_drop_pp": (12, 100),
    "corruption_drop_pp": (5, 99),
}
"""Limits that cannot be judged or that pass; of the others, the largest passes."""


def next_command(store, limits):
    study_audit = StudyAudit.read(store)
    return recommendation(study_audit, study_audit.verdict(limits)).command


def cases():
    for name, quantity in QUANTITIES.items():
        most = 10**9 if quantity.maximum > 1e9 else quantity.maximum
        for value in (quantity.minimum, *VALUES.get(name, (most,))):
            yield Limits(**{name: value})
    yield Limits()
    yield Limits(overall_drop_pp=99, corruption_drop_pp=0)
    yield Limits(overall_drop_pp=3, flips=0.5, size_ratio=1, min_baseline_accuracy=0.1)


def search_that_ends(*_, **__):
    """What takes the place of a search, whose settings were accepted."""
    raise typer.Exit(0)


@pytest.fixture
def accepted(tfaudit, monkeypatch):
    """Runs a command with cheap settings, and returns its name; a search ends before it begins."""
    monkeypatch.setattr("tfaudit.extensions.search.search.find_smallest_file", search_that_ends)

    def run(command):
        name, *arguments = shlex.split(command)[1:]
        cheap = ("--members", 2, "--images", 20) if name == "plan" else ()
        code, _, errors = tfaudit(name, *arguments, *cheap)
        assert ", expected " not in errors, command
        assert code in (0, 1, 2), errors
        return name

    return run


def study_with_a_model(directory):
    """A study that holds a file of its baseline, which a search can start from."""
    store = make_study(directory)
    layers = [keras.layers.Flatten(), keras.layers.Dense(10)]
    model = keras.Sequential([keras.Input((8, 8, 1)), *layers])
    model.save(store.directory / store.member_path("dense", 0, "model.keras"))
    return store


STUDIES = {
    "models": study_with_a_model,
    "predictions": make_study,
    "single": functools.partial(make_study, members=1),
    "corrupted": functools.partial(corrupted_study, without={("int8", "fog 1")}),
    "lacking": functools.partial(make_study, missing={("dense", 1)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", first_and_nightly(STUDIES))
def test_every_next_command_is_accepted(tmp_path, accepted, name):
    store = STUDIES[name](tmp_path / f"{name} of digits")
    commands = {next_command(store, limits) for limits in cases()}
    named = {accepted(command) for command in commands}
    assert named - {"compress"} == {"gate", "plan"}
    assert ("compress" in named) == (name == "models")


def test_the_next_command_is_printed_in_one_line_however_narrow_the_terminal(tmp_path, tfaudit):
    store = make_study(tmp_path / ("a folder with a long name " * 5).strip())
    code, printed, _ = tfaudit("audit", store.directory, "--permutations", 0)
    (line,) = (line for line in printed.splitlines() if line.startswith("next: "))
    assert code == 0
    assert line.strip() == f"next: {next_command(store, Limits())}"
