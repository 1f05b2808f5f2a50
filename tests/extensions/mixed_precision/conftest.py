"""The fixtures of searches, which try layers of several types."""

from importlib.util import find_spec

if find_spec("tfaudit.extensions.search"):
    from tests.extensions.search.conftest import *  # noqa: F403
