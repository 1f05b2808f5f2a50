"""Fixtures of searches."""

from tests.builders.searches import *  # noqa: F403
