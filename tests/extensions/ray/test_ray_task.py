"""The directory of a study on a node, without Ray: own files, data, and nothing left behind."""

import dataclasses
import os
import tempfile
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

from tests.builders.tiny_studies import STUDY
from tfaudit import InputError, open_store
from tfaudit.datasets.fingerprint import Fingerprint
from tfaudit.datasets.loading import load_dataset
from tfaudit.extensions.ray import ray_engine
from tfaudit.extensions.ray.ray_task import RunFacts, SharedInputs, _of_node, _Workplace
from tfaudit.population.node_folder import end_run, make_workplace, remove_workplace, shipped_splits
from tfaudit.population.plan import ConditionJob, MemberJob
from tfaudit.runtime.user_functions import import_reference, source_file
from tfaudit.store.store import Store
from tfaudit.study.conditions import Condition

FACTS = RunFacts(token="run", command=("false",), threads=1, fresh=False, timeout=None, versions={})


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"tfaudit-node-{os.getuid()}"


def test_files_of_the_users_own_come_along(root, tmp_path):
    """The paths of the driver need not exist on the node."""
    (tmp_path / "nets.py").write_text("def build():\n    return 'built'\n")
    fit = "def fit(model, train, *, seed, callbacks):\n    return 'fitted'\n"
    (tmp_path / "fits.py").write_text(fit)
    own = {"model": f"{tmp_path}/nets.py:build", "retraining": f"{tmp_path}/fits.py:fit"}
    study = dataclasses.replace(STUDY, **own).with_fingerprints()
    sources = {path: Path(path).read_bytes() for path in map(source_file, study.sources)}
    assert sorted(sources) == [f"{tmp_path}/fits.py", f"{tmp_path}/nets.py"]
    for path in sources:
        Path(path).unlink()
    data = {"test": Fingerprint.of(load_dataset("digits", "test"))}
    workplace = _Workplace(FACTS, SharedInputs(study.to_json(), sources, None, data))
    store = open_store(root / "run" / str(os.getpid()) / "study")
    there = store.study
    assert store.data == data
    assert there.model.startswith(str(root))
    assert import_reference("model", there.model)() == "built"
    assert import_reference("training", there.retraining)(0, 0, seed=0, callbacks=()) == "fitted"
    assert list(there.fingerprints) == [there.model, there.retraining]
    assert list(there.fingerprints.values()) == list(study.fingerprints.values())
    assert there.member_seed("dense", 1) == study.member_seed("dense", 1)
    assert there.member_seals == study.member_seals
    workplace.remove()
    assert not [path for path in root.iterdir() if path.name != ".lock"]


@pytest.mark.parametrize("job", [MemberJob("int8", 3), ConditionJob(Condition("fog", 5), 1)])
@pytest.mark.parametrize(
    "path",
    [
        "../ESCAPED.txt",
        "/etc/passwd",
        "study.json",
        "members/int8/004/model.tflite",
        "members/int8/003/../../../study.json",
        "members/int8/003/.hidden",
        "predictions/split=snow-5/variant=int8/003.parquet",
        "logs/../study.json",
    ],
)
def test_a_node_gives_the_driver_no_file_but_those_of_its_job(monkeypatch, tmp_path, job, path):
    deliveries = iter(["reference"])
    monkeypatch.setattr(
        ray_engine.ray, "get", lambda _: ({"error": None}, {"logs/a.log": b"", path: b"x"})
    )
    engine = ray_engine._RayEngine.__new__(ray_engine._RayEngine)
    engine._store = Store.create(tmp_path / "s", STUDY, {})
    before = sorted(tmp_path.rglob("*"))
    answer = engine._received(ray_engine._Task(job, deliveries, needed=False))
    assert answer == {"error": f"a node returned {path!r}, which is no file of {job.name}"}
    assert sorted(tmp_path.rglob("*")) == before


def test_a_module_that_only_the_driver_has_is_named_with_what_the_nodes_need(root, tmp_path):
    nets = tmp_path / "nets.py"
    nets.write_text("import parts_of_it\n\n\ndef build():\n    return parts_of_it.build()\n")
    study = dataclasses.replace(STUDY, model=f"{nets}:build").with_fingerprints()
    luggage = SharedInputs(study.to_json(), {str(nets): nets.read_bytes()}, None)
    nets.unlink()  # the node has neither the file, which comes along, nor what it imports
    workplace = _Workplace(FACTS, luggage)
    there = open_store(root / "run" / str(os.getpid()) / "study").study
    with pytest.raises(InputError) as caught:
        import_reference("model", there.model)
    workplace.remove()
    argument, got, expected = _of_node(*caught.value.args)
    assert argument == "model"
    failed = "ModuleNotFoundError: No module named 'parts_of_it', line 1 of nets.py"
    assert f"nets.py, whose import fails ({failed})" in got
    assert "(on node " in got
    assert expected.startswith("what your files import, installed or at the same paths, on every")
    assert _of_node("x", "1", "2")[2] == "2"


def test_data_are_laid_down_once_and_read_by_the_worker(root, tmp_path):
    splits = tuple(load_dataset("digits", split).take(9) for split in ("train", "test"))
    place = make_workplace("run", splits)
    for ours, theirs in zip(shipped_splits(place / "study"), splits, strict=True):
        assert_array_equal(ours.images, theirs.images)
        assert_array_equal(ours.labels, theirs.labels)
        assert ours.class_names == theirs.class_names
    before = (root / "run/splits.pickle").stat().st_mtime_ns
    make_workplace("run", splits)
    assert (root / "run/splits.pickle").stat().st_mtime_ns == before
    assert shipped_splits(tmp_path) is None, "elsewhere no pickle is read"
    assert root.stat().st_mode & 0o777 == 0o700


def test_what_dead_processes_left_is_removed_and_the_living_are_left_alone(root):
    mine = make_workplace("run", None)
    (root / "run/999999999/study").mkdir(parents=True)
    (root / "old/999999998/study").mkdir(parents=True)
    make_workplace("run", None)
    assert mine.exists()
    assert sorted(path.name for path in root.iterdir()) == [".lock", "run"]
    assert [path.name for path in (root / "run").iterdir()] == [str(os.getpid())]
    remove_workplace(root.parent)  # no node's folder
    assert mine.exists()
    end_run("run")
    assert not (root / "run").exists()


def test_a_folder_of_another_user_is_refused(root, monkeypatch):
    other = os.getuid() + 1
    root.with_name(f"tfaudit-node-{other}").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: other)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_workplace("run", None)
