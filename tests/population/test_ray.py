"""Studies on Ray: the bits of the local engine, begun with one and finished with the other, on nodes that come and go.

All tests share one simulated cluster, whose start takes longer than most of them.
"""

import dataclasses
import json
import shutil

import pytest

from tests.builders.ray_clusters import ray_cluster
from tests.builders.tiny_studies import STUDY as PLAIN
from tfaudit import open_store, run

pytestmark = pytest.mark.slow

STUDY = dataclasses.replace(PLAIN, corruptions=("fog",), severities=(5,))


@pytest.fixture(scope="module")
def cluster():
    with ray_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def local(made_once):
    return open_store(made_once("tiny", lambda directory: run(PLAIN, directory, workers=2)))


def bits(store):
    """What decides about a study's members, by path: weights, flatbuffers, histories, predictions."""
    import keras

    found = {}
    for path in sorted(store.directory.glob("members/*/*/model.keras")):
        weights = keras.saving.load_model(path).get_weights()
        found[str(path.relative_to(store.directory))] = [w.tobytes() for w in weights]
    for pattern in ("members/*/*/*.tflite", "members/*/*/*.csv", "predictions/*/*/*.parquet"):
        for path in store.directory.glob(pattern):
            found[str(path.relative_to(store.directory))] = path.read_bytes()
    return found


def test_ray_gives_the_bits_of_the_local_engine_and_each_goes_on_with_the_other(cluster, local, tmp_path):
    directory = shutil.copytree(local.directory, tmp_path / "s")
    for path in directory.glob("members/*/001"):
        shutil.rmtree(path)
    store = run(STUDY, directory, engine="ray", timeout=300)
    assert store.failures() == store.evaluations.failures() == {}
    mixed = bits(store)
    assert {path: mixed[path] for path in mixed if "fog" not in path} == bits(local)
    assert sum("fog-5" in path for path in mixed) == 6
    machines = json.loads((store.directory / "study.json").read_text())["machines"]
    assert [machine["engine"] for machine in machines] == ["local", "ray"]
    assert machines[0]["cpu"] == machines[1]["cpu"]
    assert store.record("int8", 1)["examples"] == store.record("int8", 0)["examples"]
    remade = (
        "predictions/split=fog-5/variant=magnitude-0.5/001.parquet"  # names the file of its model, which has a date
    )
    shutil.rmtree(directory / "members/magnitude-0.5/001")
    (directory / "predictions/split=fog-5/variant=dense/000.parquet").unlink()
    run(STUDY, directory, workers=1)
    after = bits(store)
    assert after.pop(remade) != mixed.pop(remade)
    assert after == mixed
    assert not list(directory.rglob("*.part"))
