"""Studies on Ray: the bits of the local engine, begun with one and finished with the other; nodes that come and go."""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from tests.builders.engine_contract import EveryEngine
from tests.builders.refusals import assert_refused
from tests.builders.tiny_studies import STUDY as PLAIN
from tests.builders.tiny_studies import is_gone, wait_for
from tests.extensions.ray.clusters import NODE
from tfaudit import InputError, Pruned, run
from tfaudit.datasets.loading import load_dataset
from tfaudit.extensions.ray import ray_engine
from tfaudit.population import run as run_module
from tfaudit.population.plan import MemberJob as Job

pytestmark = pytest.mark.slow

STUDY = dataclasses.replace(PLAIN, corruptions=("fog",), severities=(5,))


class TestRay(EveryEngine):
    @pytest.fixture
    def run_jobs(self, run_on_ray):
        return run_on_ray


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


def test_ray_gives_the_bits_of_the_local_engine_and_each_goes_on_with_the_other(
    cluster, trained, warm_workers, tmp_path
):
    directory = shutil.copytree(trained.directory, tmp_path / "s")
    for path in directory.glob("members/*/001"):
        shutil.rmtree(path)
    store = run(STUDY, directory, engine="ray", timeout=300)
    assert store.failures() == store.evaluations.failures() == {}
    mixed = bits(store)
    assert {path: mixed[path] for path in mixed if "fog" not in path} == bits(trained)
    assert sum("fog-5" in path for path in mixed) == 6
    machines = json.loads((store.directory / "study.json").read_text())["machines"]
    assert [machine["engine"] for machine in machines] == ["local", "ray"]
    assert machines[0]["cpu"] == machines[1]["cpu"]
    assert store.record("int8", 1)["examples"] == store.record("int8", 0)["examples"]
    remade = "predictions/split=fog-5/variant=magnitude-0.5/001.parquet"  # names its model's file, which has a date
    shutil.rmtree(directory / "members/magnitude-0.5/001")
    (directory / "predictions/split=fog-5/variant=dense/000.parquet").unlink()
    run(STUDY, directory, workers=1)
    after = bits(store)
    assert after.pop(remade) != mixed.pop(remade)
    assert after == mixed
    assert not list(directory.rglob("*.part"))


def test_a_forked_member_is_continued_on_another_node_with_the_same_bits(
    cluster, warm_workers, tmp_path
):
    late = (Pruned(0.5, begin=0.5), Pruned(0.8, begin=0.25))
    forked = dataclasses.replace(PLAIN, variants=late, fork=True, population=1)
    store = run(forked, tmp_path / "s", workers=1)
    assert store.predictions(late[0].key).parents == (0,)
    whole = bits(store)
    states = {path.name for path in (tmp_path / "s/members/dense/000").glob("fork-*")}
    assert states == {"fork-5", "fork-2"}
    (tmp_path / "s/members/dense/000/fork-2").unlink()  # the dense member is not complete any more
    for variant in late:
        shutil.rmtree(tmp_path / "s/members" / variant.key)
    store = run(forked, tmp_path / "s", engine="ray", timeout=300)
    assert store.failures() == {}
    assert bits(store) == whole
    assert not list(store.directory.rglob("checkpoint"))


def made(tmp_path):
    return [json.loads(line) for line in (tmp_path / "made").read_text().splitlines()]


def numbers(files):
    return [int(file.name.rpartition("-")[2]) for file in files]


def test_the_members_of_a_node_that_is_lost_are_made_on_another(run_on_ray, cluster, tmp_path):
    node = cluster.add_node(**NODE)
    kinds = []
    for event in run_on_ray([Job("slow", member) for member in range(5)], workers=4):
        kinds.append((event.kind, event.job.member))
        if sum(kind == "started" for kind, _ in kinds) == 4 and node:
            wait_for(lambda: len(list(tmp_path.glob("busy-*"))) == 4)
            cluster.remove_node(node)
            node = None
    retried = sum(kind == "retried" for kind, _ in kinds)
    assert retried in (1, 2)  # one may have been done in that moment
    assert sorted(member for kind, member in kinds if kind == "done") == [0, 1, 2, 3, 4]


@pytest.mark.nightly
def test_a_run_whose_last_fitting_node_is_lost_goes_on_when_another_comes(run_on_ray, cluster):
    node, done = cluster.add_node(**NODE, num_gpus=1), []
    for event in run_on_ray([Job("dense", 0), Job("child", 0, "dense")], gpus=1):
        if event.kind == "done":
            done.append(event.job.variant)
            cluster.remove_node(node)
            node = cluster.add_node(**NODE, num_gpus=1) if len(done) == 1 else None
    assert done == ["dense", "child"]


def test_a_run_without_a_fitting_node_ends_in_one_line(run_on_ray, cluster, monkeypatch):
    monkeypatch.setattr(ray_engine, "NODE_PATIENCE", 1.0)
    monkeypatch.setattr(ray_engine, "CHECK_NODES", 0.2)
    node = cluster.add_node(**NODE, num_gpus=1)
    events = run_on_ray([Job("hung", 0)], gpus=1)
    assert next(events).kind == "started"
    cluster.remove_node(node)
    expected = "gpus: got 1 for each member, expected at most 0, the most that a node of the cluster has; or another"
    assert_refused(expected, list, events)


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"cpus": 64}, "cpus: got 64 for each member, expected at most 2, "),
        ({"gpus": 0.5}, "gpus: got 0.5 for each member, expected at most 0, "),
        ({"memory": 10**15}, "memory: got 1e"),
    ],
)
def test_what_no_node_can_hold_is_one_line_that_names_the_resource(run_on_ray, wanted, words):
    with pytest.raises(InputError) as caught:
        list(run_on_ray([Job("dense", 0)], **wanted))
    assert str(caught.value).startswith(words)
    assert "\n" not in str(caught.value)


@pytest.mark.nightly
def test_gpus_are_shared_or_held_alone(run_on_ray, cluster, tmp_path):
    node = cluster.add_node(**NODE, num_gpus=2)
    try:
        list(
            run_on_ray([Job("slow", member) for member in range(4)], workers=4, gpus=0.5, cpus=0.5)
        )
        shared = made(tmp_path)
        assert sorted(row[3] for row in shared) == ["0", "0", "1", "1"]
        assert len({row[2] for row in shared}) == 4, "not all at once"
        list(run_on_ray([Job("dense", member) for member in range(2)], workers=1, gpus=2, cpus=2))
        alone = made(tmp_path)[4:]
        assert [row[3] for row in alone] == ["0,1", "0,1"]
        assert alone[0][2] != alone[1][2], "a process that ended cannot hold a GPU's memory"
        assert [row[4] for row in alone] == ["2", "2"], "threads"
    finally:
        cluster.remove_node(node)


def test_a_process_of_ray_that_dies_is_tried_again(run_on_ray, tmp_path):
    seen = []
    for event in run_on_ray([Job("hangs once", 0)]):
        seen.append((event.kind, event.error))
        if event.kind == "started" and len(seen) == 1:
            wait_for(lambda: list(tmp_path.glob("hung-*")))
            (worker,) = numbers(tmp_path.glob("hung-*"))
            psutil.Process(worker).parent().kill()
    assert [kind for kind, _ in seen] == ["started", "retried", "started", "done"]
    assert "WorkerCrashedError" in seen[1][1]


@pytest.mark.nightly
def test_a_member_for_which_the_memory_of_its_node_does_not_suffice_is_tried_again(
    run_on_ray, cluster, monkeypatch
):
    with monkeypatch.context() as patch:
        patch.setenv("RAY_memory_usage_threshold", "0.001")
        patch.setenv("RAY_memory_monitor_refresh_ms", "100")
        node = cluster.add_node(**NODE, num_gpus=1)
    seen = []
    for event in run_on_ray([Job("slow", 0)], gpus=0.5, retries=20):
        seen.append((event.kind, event.error))
        if node and event.kind == "retried":
            cluster.remove_node(node)
            cluster.wait_for_nodes()
            node = None
            good = cluster.add_node(**NODE, num_gpus=1)
    cluster.remove_node(good)
    assert any("OutOfMemoryError" in error for _, error in seen)
    assert seen[-1][0] == "done"


@pytest.mark.nightly
def test_a_node_that_does_not_answer_any_more_is_given_up_by_the_driver(
    run_on_ray, tmp_path, monkeypatch
):
    """The node's own watch on the timeout is off. The timeout leaves a busy machine time for the second try."""
    monkeypatch.setattr(ray_engine, "GRACE", 0.5)
    facts = ray_engine.RunFacts
    monkeypatch.setattr(ray_engine, "RunFacts", lambda **given: facts(**{**given, "timeout": None}))
    seen = [event.kind for event in run_on_ray([Job("hangs once", 0)], timeout=8)]
    assert seen == ["started", "retried", "started", "done"]
    (worker,) = numbers(tmp_path.glob("hung-*"))
    wait_for(lambda: is_gone(worker))


@pytest.mark.nightly
def test_a_set_that_a_node_does_not_have_is_one_line_that_names_the_node(
    cluster, tmp_path, monkeypatch
):
    """The driver has it: a streaming set, of which nodes are sent nothing."""
    stream = SimpleNamespace(example_bytes=784)
    streams = dataclasses.replace(load_dataset("mock:kmnist", "train"), inputs=None, stream=stream)
    monkeypatch.setattr(
        run_module, "load_splits", lambda study: (streams, load_dataset("mock:kmnist", "test"))
    )
    study = dataclasses.replace(PLAIN, dataset="kmnist", model="lenet_r", model_options={})
    assert_refused(
        r"kmnist.* \(on node \S+\), expected .*tfaudit prepare kmnist",
        run,
        study,
        tmp_path / "s",
        engine="ray",
        workers=1,
    )


def test_other_versions_on_a_node_are_one_line(run_on_ray):
    expected = r"engine: got numpy \S+ on node \S+, expected numpy 0.1, as where the run was started; install the same"
    assert_refused(expected, list, run_on_ray([Job("dense", 0)], versions={"numpy": "0.1"}))


DRIVER = """
import sys, ray
from pathlib import Path
from tfaudit.datasets.loading import load_dataset
from tfaudit.population import worker_process
from tfaudit.population.engine_options import EngineOptions
from tfaudit.population.plan import MemberJob
from tfaudit.extensions.ray.ray_engine import ray_engine

address, directory, *worker_process.COMMAND = sys.argv[1:]
splits = load_dataset("digits", "train"), load_dataset("digits", "test")
with ray_engine(Path(directory), EngineOptions(engine="ray", workers=2, address=address), splits, {}) as run:
    for event in run([MemberJob("hung", member) for member in range(4)]):
        pass
"""


def test_the_workers_of_a_driver_that_is_killed_end(run_on_ray, fake_store, cluster, tmp_path):
    from tfaudit.population import worker_process

    arguments = [cluster.address, str(fake_store.directory), *worker_process.COMMAND]
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, *arguments], start_new_session=True)
    wait_for(lambda: len(list(tmp_path.glob("hung-*"))) == 2)
    workers = numbers(tmp_path.glob("hung-*"))
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    wait_for(lambda: all(map(is_gone, workers)))
    assert [event.kind for event in run_on_ray([Job("dense", 0)])] == ["started", "done"]


@pytest.mark.parametrize(
    ("address", "words"),
    [
        (
            "127.0.0.1:1",
            "'127.0.0.1:1', where nothing answers (Connection refused), expected HOST:PORT of the cluster's",
        ),
        ("head", "'head', expected HOST:PORT"),
        ("ray://127.0.0.1:10001", "expected HOST:PORT"),
    ],
)
def test_an_address_without_a_cluster_is_one_line(address, words):
    """Ray itself would try for minutes."""
    with pytest.raises(InputError) as caught:
        ray_engine._check_address(address)
    assert words in str(caught.value)
