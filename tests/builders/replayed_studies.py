"""A whole study whose members are replayed instead of trained: a run of it takes a tenth of a second.

Everything but the work of the members is real: `tfaudit.population.run`, its plan, the store, its locks and checksums.
"""

import contextlib
import gzip

import numpy as np
import pandas as pd

from tfaudit.population import local, worker
from tfaudit.population.engine_options import RETRIES
from tfaudit.population.plan import Event, MemberJob, missing_evaluations
from tfaudit.population.run import run
from tfaudit.stats.ranking import rank_scores
from tfaudit.store.parquet import prediction_bytes
from tfaudit.store.store import open_store
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned, Quantized

STUDY = Study(
    name="replayed",
    dataset="digits",
    model="digits_convnet",
    training=Training(epochs=1),
    variants=(Pruned(0.9), Quantized("int8")),
    population=3,
    limit=60,
    corruptions=("fog",),
    severities=(1, 3),
)


@contextlib.contextmanager
def replaying(version=0):
    """Let `run` replay members instead of starting workers; of another version, all members are others."""

    @contextlib.contextmanager
    def engine(directory, *_):
        def run_jobs(jobs):
            store = open_store(directory)
            for job in jobs:
                yield Event("started", job)
                yield _done(store, job, version)

        yield run_jobs

    usual, local.local_engine = local.local_engine, engine
    try:
        yield
    finally:
        local.local_engine = usual


SCRIPT = """
import json, sys
from tfaudit import Study, run
from tfaudit.population import worker_process
worker_process.COMMAND = (sys.executable, "-m", "tests.builders.replayed_worker")
run(Study.from_json(json.loads(sys.argv[1])), sys.argv[2], workers=2)
"""
"""Runs a study with real worker processes that replay members, and can be killed."""


def replayed_study(directory, study=STUDY, version=0):
    """Run a study whose members are replayed; return its store."""
    with replaying(version):
        return run(study, directory)


def _done(store, job, version):
    """Do a job, twice if need be, and return its last event; errors become what worker and engine make of them."""
    for _ in range(1 + RETRIES):
        try:
            replay(store, job, version)
        except OSError as problem:
            if fatal := worker.fatal_problem(problem, store.directory):
                raise fatal from None
            error = str(problem)
        else:
            return Event("done", job)
    return Event("failed", job, error)


def replay(store, job, version=0):
    """Store the members or evaluations of a job as if they had been made."""
    if isinstance(job, MemberJob):
        _save_member(store, job.variant, job.member, version)
        return
    for variant, member in missing_evaluations(store, job.condition):
        ranked = _predictions(store, variant, member, version, job.condition.severity)
        store.evaluations.save(variant, member, job.condition.split, ranked)


def _predictions(store, variant, member, version, severity=0):
    labels = store.examples(images=False, groups=False)["label"].to_numpy()
    rng = np.random.default_rng([version, len(variant), member, severity])
    evidence = rng.normal(size=(len(labels), 10)) * (1 + severity) + 3 * np.eye(10)[labels]
    if variant == "magnitude-0.9":
        evidence[labels == 3, 3] -= 2
    return rank_scores([evidence], k=5)


def _save_member(store, variant, member, version):
    rng = np.random.default_rng([version, member, len(variant)])
    model, quantized = rng.bytes(400), variant == "int8"
    path = store.member_path(variant, member, "model.tflite" if quantized else "model.keras")
    files = {path: model}
    if not quantized:
        history = pd.DataFrame({"epoch": [0, 1], "loss": rng.random(2)})
        files[store.member_path(variant, member, "history.csv")] = history.to_csv(
            index=False
        ).encode()
    files[store.prediction_path(variant, member)] = prediction_bytes(
        _predictions(store, variant, member, version)
    )
    sizes = {"bytes": len(model) - 10 * len(variant), "gzipped_bytes": len(gzip.compress(model))}
    sparsity = {"dense": 0.0, "int8": None}.get(variant, 0.9)
    store.save_member(
        variant, member, files, {"seed": member, "sparsity": sparsity, "seconds": 1.0, **sizes}
    )
