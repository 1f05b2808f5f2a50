"""Engines with workers that need no TensorFlow, and the simulated Ray cluster that all tests of Ray share."""

import contextlib
import sys
from pathlib import Path

import pytest

from tests.builders.ray_clusters import ray_cluster
from tests.builders.small_stores import small_study
from tests.builders.tiny_studies import STUDY
from tfaudit import open_store, run
from tfaudit.datasets.loading import load_dataset
from tfaudit.population import worker_process
from tfaudit.population.engine import EngineOptions
from tfaudit.population.local import local_engine
from tfaudit.store.store import Store


@pytest.fixture(scope="package")
def cluster():
    """A cluster of one node with two cores; its start takes longer than most tests."""
    with ray_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def trained(made_once, warm_python):
    """The tiny study with its members, and no condition. Do not write into it."""

    def make(directory):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(worker_process, "COMMAND", (*warm_python, *worker_process.COMMAND[1:]))
            run(STUDY, directory, workers=2)

    return open_store(made_once("tiny", make))


@pytest.fixture
def fake_store(tmp_path, monkeypatch):
    """A store whose workers are fake; `tmp_path` tells what they did."""
    command = (sys.executable, str(Path(__file__).with_name("fake_worker.py")), str(tmp_path))
    monkeypatch.setattr(worker_process, "COMMAND", command)
    return Store.create(tmp_path / "s", small_study(), {})


@pytest.fixture
def run_locally(fake_store):
    """A function that runs jobs with the local engine and yields events."""

    def start(jobs, workers=2, **options):
        engine = local_engine(fake_store.directory, EngineOptions(workers=workers, **options))
        with engine as run, contextlib.closing(run(jobs)) as events:
            yield from events

    return start


@pytest.fixture
def run_on_ray(fake_store, cluster):
    """A function that runs jobs on the cluster and yields events."""
    from tfaudit.population.ray_engine import ray_engine

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
