"""Errors name the flag that was typed, whatever the library calls its argument; TensorFlow is never imported."""

import sys

import pytest
import typer

from tests.builders.refusals import refused_lines
from tfaudit.cli import app
from tfaudit.cli.flags import errors_naming_flags
from tfaudit.errors import InputError


def commands(group, *names):
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "commands"):
            yield from commands(command, name)
        else:
            yield pytest.param(command, id=" ".join([*names, name]))


@pytest.mark.parametrize("command", [*commands(typer.main.get_command(app))])
def test_every_option_of_every_command(command):
    for parameter in command.params:
        for got, value, flag in (
            ("3", 3, parameter.opts[0]),
            ("none", None, parameter.opts[0]),
            ("3, of a recipe", None, parameter.name),
        ):
            error = InputError(parameter.name, got, "another")
            with (
                pytest.raises(InputError),
                errors_naming_flags(command.params, {parameter.name: value}),
            ):
                raise error
            assert error.argument == flag


@refused_lines("""
    plan --half-width -1
        --half-width: got -1.0, expected percentage points above 0
    plan --member-sd nan
        --member-sd: got nan, expected percentage points, 0 or more
    plan --gate no.toml
        --gate: got no.toml, which cannot be read
    audit nowhere
        study: got nowhere, which holds no study
    report nowhere --alpha 0
        directory: got nowhere, which holds no study
    export nowhere --format xml
        --format: got 'xml', expected
    run digits --memory nan
        --memory: got nan, expected gigabytes above 0
    run digits --population 0
        --population: got 0, expected 1 or more
    compare --baseline m.h5 --compressed m.tflite --data x
        --baseline: got 'm.h5', expected a
    gate --baseline no.keras --compressed m.tflite --data x
        --baseline: got no.keras, which
    compress m.keras --data x --seed -1
        --seed: got -1, expected 0 or more
    view nowhere --port 0
        directory: got nowhere, which holds no study
""")
def test_wrong_values(tfaudit, refused, words, message):
    loaded = "tensorflow" in sys.modules
    refused(tfaudit(*words), f"tfaudit: {message}")
    assert ("tensorflow" in sys.modules) == loaded
