"""The command line, called within the process."""

import sys

import pytest

from tfaudit.cli import main
from tfaudit.cli.console import bad_input_code, out


@pytest.fixture
def tfaudit_in(monkeypatch, capsys):
    """`run = tfaudit_in(place, width=100)`; `run("gate", ...)` runs a command there: exit code, stdout, stderr."""

    def enter(place, width=None):
        monkeypatch.chdir(place)
        if width:
            monkeypatch.setattr(out, "width", width)

        def run(*arguments):
            monkeypatch.setattr(sys, "argv", ["tfaudit", *map(str, arguments)])
            with pytest.raises(SystemExit) as left:
                main()
            captured = capsys.readouterr()
            return left.value.code or 0, captured.out, captured.err

        return run

    return enter


@pytest.fixture
def tfaudit(tfaudit_in, tmp_path):
    """`tfaudit("gate", ...)` runs a command in an empty folder, or in what the test makes of it."""
    return tfaudit_in(tmp_path, width=100)


@pytest.fixture
def refused():
    """`refused(run(...), words)`: one line on standard error holds the words, and the code is that of bad input."""

    def check(result, words):
        code, _, errors = result
        assert (code, errors.count("\n")) == (bad_input_code(sys.argv[1:]), 1), errors
        assert errors.startswith("tfaudit: ")
        assert words in errors

    return check
