"""A store of forty examples whose members are written by hand, and damage to its files."""

import numpy as np
import pyarrow.parquet as pq

from tfaudit.stats.ranking import RankedClasses
from tfaudit.store.members import read_sealed_json, sealed_json
from tfaudit.store.parquet import prediction_bytes
from tfaudit.study.study import Study, Training
from tfaudit.study.variants import Pruned

LABELS = np.arange(40) % 4


def small_study(**settings):
    """A study of digits; settings replace those of three members of a baseline and a pruned variant."""
    usual = {"training": Training(epochs=1), "variants": (Pruned(0.5),), "population": 3}
    names = {"name": "s", "dataset": "digits", "model": "digits_convnet"}
    return Study(**names | usual | settings)


def save_examples(store, split="test", *, labels=LABELS, names="abcd", images=None, groups=None):
    """Save examples called e0, e1 and so on."""
    ids = [f"e{i}" for i in range(len(labels))]
    store.save_examples(split, labels, ids, list(names), images or [b"png"] * len(ids), groups)


def random_ranks(rng):
    """Two of four classes for each example, and their probabilities."""
    ranked = rng.permuted(np.tile(np.arange(4), (len(LABELS), 1)), axis=1)[:, :2]
    return RankedClasses(ranked, rng.random(ranked.shape, np.float32))


def save_member(store, variant, member, ranked, model=b"weights", file="model.keras", **facts):
    """Save a member's predictions, and any bytes as its model."""
    files = {
        store.member_path(variant, member, file): model,
        store.prediction_path(variant, member): prediction_bytes(ranked),
    }
    store.save_member(variant, member, files, {"seed": member} | facts)


def save_population(store, variant, population, **facts):
    """Save the predictions of all members of a variant."""
    for member in range(population.num_members):
        content = prediction_bytes(population.member(member))
        files = {store.prediction_path(variant, member): content}
        store.save_member(variant, member, files, {"seed": member} | facts)


def flips(path, step):
    """Flip one bit in every `step`-th byte of a file, one byte at a time, and yield after each flip."""
    content = path.read_bytes()
    for position in range(0, len(content), step):
        flipped = bytes([content[position] ^ 0x10])
        path.write_bytes(content[:position] + flipped + content[position + 1 :])
        yield


def reseal(path, **changes):
    """Change values of a sealed JSON file together with its checksum."""
    path.write_bytes(sealed_json(read_sealed_json(path.read_bytes()) | changes))


def forge(path, column, values):
    """Replace a column of a Parquet file, but not the checksums."""
    table = pq.read_table(path)
    forged = table.set_column(table.column_names.index(column), column, [values])
    pq.write_table(forged.replace_schema_metadata(table.schema.metadata), path)
