"""Checks that bad input is refused in one line."""

import shlex

import pytest

from tfaudit.errors import InputError


def assert_refused(message, call, *arguments, **options):
    """Assert that a call raises an `InputError` of one line that matches the pattern `message`."""
    with pytest.raises(InputError, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)


def refused_lines(table):
    """Return the parameters `words` and `message` for a table of command lines, each above what refuses it."""
    lines = [line.strip() for line in table.strip().splitlines()]
    cases = zip(lines[::2], lines[1::2], strict=True)
    return pytest.mark.parametrize(
        ("words", "message"),
        [pytest.param(shlex.split(line), message, id=line) for line, message in cases],
    )
