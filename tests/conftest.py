"""Fixtures of all tests."""

import os
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data that TFAUDIT_DATA names; the test is skipped without it."""
    folder = os.environ.get("TFAUDIT_DATA")
    if not folder:
        pytest.skip("TFAUDIT_DATA names no folder of real data")
    return Path(folder)


@pytest.fixture
def rng() -> np.random.Generator:
    """A seeded generator, the same for every test."""
    return np.random.default_rng(0)
