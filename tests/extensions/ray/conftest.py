"""The simulated Ray cluster that all tests of Ray share."""

import contextlib

import pytest

from tests.extensions.ray.clusters import ray_cluster
from tfaudit.datasets.loading import load_dataset
from tfaudit.extensions.ray.ray_engine import ray_engine
from tfaudit.population.engine_options import EngineOptions


@pytest.fixture(scope="package")
def cluster():
    """A cluster of one node with two cores; its start takes longer than most tests."""
    with ray_cluster() as cluster:
        yield cluster


@pytest.fixture
def run_on_ray(fake_store, cluster):
    """A function that runs jobs on the cluster and yields events."""

    splits = tuple(load_dataset("digits", split).take(20) for split in ("train", "test"))

    def start(jobs, workers=2, versions=(), **options):
        engine = ray_engine(
            fake_store.directory,
            EngineOptions(engine="ray", workers=workers, **options),
            splits,
            dict(versions),
        )
        with engine as run, contextlib.closing(run(jobs)) as events:
            yield from events

    return start
