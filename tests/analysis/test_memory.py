"""An audit of many images: populations are read piece by piece, with the same results in little memory."""

import io
import re
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.builders.equality import require_equal
from tfaudit.audits.chance.chance import chance
from tfaudit.audits.flips.negative_flips import flip_rates
from tfaudit.audits.gate.measurements import measure
from tfaudit.audits.prediction_counts.prediction_counts import count_predictions
from tfaudit.audits.summary.summary import audit_variant
from tfaudit.predictions import Predictions
from tfaudit.stats import modes
from tfaudit.stats.ranking import RankedClasses, rank_scores
from tfaudit.store import parquet
from tfaudit.store.store import Store
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

AUDIT = """
import re, sys
from pathlib import Path
from tfaudit.analysis.study_audit import StudyAudit
from tfaudit.store.store import open_store

def most_memory():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

audit = StudyAudit.read(open_store(sys.argv[1]), permutations=50)
before = most_memory()
print(audit.summary.summary()["compressed"], 1024 * (most_memory() - before))
"""

BYTES = 130
"""Bytes of memory per image and member of a population; 60 of them go with more members. Copies in floats took 260."""


def save_population(store, variant, members, labels, rng, classes=20):
    """Save members whose predictions are right for two images in three, and return them."""
    ranked = []
    for member in range(members):
        noise = rng.integers(0, 9, (len(labels), classes)).astype(np.float32)
        noise[np.arange(len(labels)), labels] += 4
        ranked.append(rank_scores([noise], probabilities=False))
        content = parquet.prediction_bytes(ranked[-1])
        store.save_member(variant, member, {store.prediction_path(variant, member): content}, {})
    return ranked


def study_of(directory, labels, members, classes=20):
    """Return a store with the examples of a study without members."""
    study = Study(
        name="large",
        dataset="numbers",
        model="none",
        training=Training(epochs=1),
        variants=(Pruned(0.9),),
        population=members,
    )
    store = Store.create(directory, study, {})
    ids = [f"image {i}" for i in range(len(labels))]
    store.save_examples("test", labels, ids, list(map(str, range(classes))), [b""] * len(labels))
    return store


def test_populations_of_a_store_give_what_those_in_memory_give(tmp_path, rng, monkeypatch):
    labels = rng.integers(0, 20, 400)
    store = study_of(tmp_path, labels, 4)
    keys = [variant.key for variant in store.study.all_variants]
    members = [save_population(store, key, 4, labels, rng) for key in keys]
    stored = [store.predictions(key) for key in keys]
    ids = stored[0].example_ids
    assert stored[0].ties
    assert stored[1].example_ids is ids, "read once"
    names = {"class_names": list(map(str, range(20))), "example_ids": ids}
    known = [Predictions.from_ranked(labels, ranked, **names) for ranked in members]
    whole = results(*known), tuple(population.probabilities for population in known)
    monkeypatch.setattr(modes, "VOTES_AT_ONCE", 100)  # blocks of 25 images
    monkeypatch.setattr("tfaudit.audits.prediction_counts.prediction_counts.VOTES_AT_ONCE", 100)
    require_equal(results(*stored), whole[0])
    require_equal(tuple(population.probabilities for population in stored), whole[1])


def results(before, after):
    """Return the results of audits that need every member."""
    modal = [population.modal() for population in (before, after)]
    return (
        *modal,
        audit_variant(before, after, permutations=50),
        chance(before, after, permutations=20),
        measure(before, after),
        flip_rates(before, after),
        count_predictions(after),
    )


def test_row_groups_are_joined(rng):
    scores = rng.integers(0, 4, (50, 6)).astype(np.float32)
    ranked = rank_scores([scores], probabilities=False)
    buffer = io.BytesIO()
    table = pq.read_table(io.BytesIO(parquet.prediction_bytes(ranked)))
    pq.write_table(table, buffer, row_group_size=7)
    read, known = parquet.read_classes(buffer)
    assert known
    np.testing.assert_array_equal(read.classes, ranked.classes)
    np.testing.assert_array_equal(read.ties.rows, ranked.ties.rows)
    np.testing.assert_array_equal(read.ties.classes, ranked.ties.classes)
    np.testing.assert_array_equal(parquet.read_probabilities(buffer), ranked.probabilities)
    _, known = parquet.read_classes(io.BytesIO(parquet.prediction_bytes(RankedClasses(scores > 9))))
    assert not known


@pytest.mark.nightly  # every day: tests/audits/test_memory.py
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_memory_per_image_and_member_is_small(tmp_path, rng):
    images, members = 60_000, 20
    labels = rng.integers(0, 20, images)
    store = study_of(tmp_path, labels, members)
    for variant in store.study.all_variants:
        for member in range(members):
            best = np.where(rng.random(images) < 0.7, labels, rng.integers(0, 20, images))
            classes = (best[:, None] + np.arange(5)) % 20
            ranked = RankedClasses(classes, np.full(classes.shape, 0.2))
            path = store.prediction_path(variant.key, member)
            store.save_member(variant.key, member, {path: parquet.prediction_bytes(ranked)}, {})
    command = [sys.executable, "-c", AUDIT, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    compressed, grown = map(int, re.findall(r"\d+", done.stdout))
    assert compressed == 1
    print(grown / images / members)
    assert grown < BYTES * images * members
