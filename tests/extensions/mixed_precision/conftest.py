"""Fixtures of searches, which try layers of several types."""

from importlib.util import find_spec

if find_spec("tfaudit.extensions.search"):
    from tests.builders.searches import *  # noqa: F403
