"""Checks that bad input is refused in one line."""

import pytest

from tfaudit.errors import InputError


def assert_refused(message, call, *arguments, **options):
    """Assert that a call raises an `InputError` of one line that matches the pattern `message`."""
    with pytest.raises(InputError, match=message) as caught:
        call(*arguments, **options)
    assert "\n" not in str(caught.value)
