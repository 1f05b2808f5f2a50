"""The local engine with workers that need no TensorFlow."""

import contextlib

import pytest

from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.local import local_engine


@pytest.fixture
def run_locally(fake_store):
    """A function that runs jobs with the local engine and yields events."""

    def start(jobs, workers=2, **options):
        engine = local_engine(fake_store.directory, EngineOptions(workers=workers, **options))
        with engine as run, contextlib.closing(run(jobs)) as events:
            yield from events

    return start
