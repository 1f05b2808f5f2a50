"""The command line, called within the process."""

import sys

import pytest

from tfaudit.cli import main
from tfaudit.cli.console import out


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
