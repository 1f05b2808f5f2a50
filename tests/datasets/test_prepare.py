import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds
from filelock import FileLock
from numpy.testing import assert_array_equal

from tests.builders.refusals import assert_refused
from tfaudit.datasets.catalogue import CATALOGUE, PREPARABLE
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.loading import is_available, load_dataset
from tfaudit.datasets.prepare import prepare
from tfaudit.errors import InputError


def test_idx_files_become_the_tfds_set(tmp_path, small_mnist, capfd):
    steps = []
    capfd.readouterr()
    folder = prepare(
        "mnist", small_mnist, data_dir=tmp_path / "d", progress=lambda *step: steps.append(step)
    )
    train = load_dataset("mnist", "train", data_dir=tmp_path / "d")
    assert capfd.readouterr() == ("", "")
    assert folder == tmp_path / "d" / "mnist" / "3.0.1"
    assert is_available("mnist", data_dir=tmp_path / "d")
    assert not is_available("mnist")
    assert steps[-1] == (42, 42)
    assert [p.name for p in (tmp_path / "d").iterdir() if p.is_dir()] == ["mnist"]
    images = read_idx(small_mnist / "train-images-idx3-ubyte.gz", 3)
    labels = read_idx(small_mnist / "train-labels-idx1-ubyte.gz", 1)
    assert sorted(zip(map(bytes, train.images), train.labels, strict=True)) == sorted(
        zip(map(bytes, images), labels, strict=True)
    )
    assert len(set(train.example_ids)) == 30


def test_tfds_itself_reads_the_set(small_mnist, data_sets):
    prepare("mnist", small_mnist)
    ours = load_dataset("mnist", "test")
    theirs = tfds.load("mnist", split="test", data_dir=data_sets, download=False, batch_size=-1)
    assert_array_equal(ours.images, theirs["image"])
    assert_array_equal(ours.labels, theirs["label"])
    half = load_dataset("mnist:3.0.1", "test[:50%]")
    assert_array_equal(half.labels, ours.labels[:6])


def test_cifar10_binary_becomes_the_tfds_set(small_cifar):
    prepare("cifar10", small_cifar)
    train = load_dataset("cifar10", "train")
    assert train.num_examples == 20
    assert train.class_names[:4] == ("airplane", "automobile", "bird", "cat")
    assert sorted(train.example_ids) == [f"train_{i:05d}" for i in range(20)]
    for name, label in zip(train.example_ids, train.labels, strict=True):
        assert int(name[-5:]) % 4 == label
    assert_array_equal(train.images, np.broadcast_to(np.arange(3), train.images.shape))


def test_emnist_has_its_own_file_names(small_mnist):
    for path in sorted(small_mnist.iterdir()):
        path.rename(small_mnist / f"emnist-letters-{path.name.replace('t10k', 'test')}")
    prepare("emnist/letters", small_mnist)
    letters = load_dataset("emnist/letters", "test")
    assert (letters.num_examples, letters.num_classes) == (12, 37)


def test_a_prepared_set_is_left_alone(tmp_path, small_mnist):
    first = prepare("mnist", small_mnist)
    before = {p: p.stat().st_mtime_ns for p in first.iterdir()}
    assert prepare("mnist", tmp_path / "gone") == first
    assert {p: p.stat().st_mtime_ns for p in first.iterdir()} == before


def test_same_files_same_bytes(tmp_path, small_mnist):
    one, two = (prepare("mnist", small_mnist, data_dir=tmp_path / name) for name in "ab")
    for path in one.glob("*.tfrecord*"):
        assert path.read_bytes() == (two / path.name).read_bytes()


@pytest.mark.parametrize(
    ("file", "damage", "message"),
    [
        ("train-images-idx3-ubyte.gz", None, "without train-images, expected IDX files"),
        ("t10k-labels-idx1-ubyte", np.zeros(11), "split 'test': got 12 images and 11 labels"),
        ("t10k-labels-idx1-ubyte", np.full(12, 10), "got label 10, expected labels 0 to 9"),
        (
            "t10k-images-idx3-ubyte",
            np.zeros((12, 8, 8)),
            r"got images .8, 8, 1., expected images .28, 28, 1.",
        ),
        ("data_batch_3.bin", None, "without data_batch_3.bin, expected the files of"),
        ("test_batch.bin", b"", "test_batch.bin: got 0 bytes"),
        ("test_batch.bin", bytes([10]) + bytes(3072), "got label 10, expected labels 0 to 9"),
        ("batches.meta.txt", b"cat dog", "meta.txt: got 2 class names, expected 10"),
    ],
)
def test_files_that_do_not_fit(
    small_mnist, small_cifar, write_idx, file, damage, message, data_sets
):
    name, folder = ("mnist", small_mnist) if "ubyte" in file else ("cifar10", small_cifar)
    if damage is None:
        (folder / file).unlink()
    elif isinstance(damage, bytes):
        (folder / file).write_bytes(damage)
    else:
        write_idx(folder / file, damage)
    assert_refused(message, prepare, name, folder)
    assert not data_sets.exists()


@pytest.mark.parametrize(
    ("name", "source", "data_dir", "message"),
    [
        ("digits", ".", "d", "expected a new name"),
        ("imagenet2012", ".", "d", r"which TFDS prepares: python -c .*builder\('imagenet2012'\)"),
        ("mnist", "nowhere", "d", "source: got '.*nowhere', expected a folder"),
        (
            "mnist",
            "idx",
            "idx/t10k-labels-idx1-ubyte/d",
            "data_dir: got .*mnist.*, which cannot be written .*Not a directory",
        ),
    ],
)
def test_names_and_folders_that_cannot_be_used(
    tmp_path, small_mnist, name, source, data_dir, message
):
    assert_refused(message, prepare, name, tmp_path / source, data_dir=tmp_path / data_dir)


def test_another_process_at_work(tmp_path, small_mnist):
    with (
        FileLock(tmp_path / ".prepare-mnist-lock"),
        pytest.raises(InputError, match=r"'mnist', which another process is preparing in"),
    ):
        prepare("mnist", small_mnist, data_dir=tmp_path)


def interrupted(done, total):
    raise KeyboardInterrupt


def test_an_interrupt_leaves_nothing(small_mnist, data_sets):
    with pytest.raises(KeyboardInterrupt):
        prepare("mnist", small_mnist, progress=interrupted)
    assert [p.name for p in data_sets.iterdir()] == [".prepare-mnist-lock"]


@pytest.mark.slow
def test_a_kill_leaves_nothing_that_loads(small_mnist, data_sets):
    script = """
import sys, time
from tfaudit.datasets.prepare import prepare
def stop(done, total):
    print("writing", flush=True); time.sleep(60)
prepare("mnist", sys.argv[1], data_dir=sys.argv[2], progress=stop)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(small_mnist), str(data_sets)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "writing\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    leftover = [p for p in data_sets.iterdir() if p.is_dir()]
    assert len(leftover) == 1
    assert_refused("which is not prepared", load_dataset, "mnist", "test")
    prepare("mnist", small_mnist)
    assert not leftover[0].exists()
    assert load_dataset("mnist", "test").num_examples == 12


def test_a_full_disk_is_one_line(small_disk, tmp_path, write_idx):
    source = tmp_path / "big"
    source.mkdir()
    for stem in ("train", "t10k"):
        noise = np.random.default_rng(0).integers(0, 256, (600, 28, 28))
        write_idx(source / f"{stem}-images-idx3-ubyte", noise)
        write_idx(source / f"{stem}-labels-idx1-ubyte", np.zeros(600))
    assert_refused(
        r"which cannot be written .*No space left on device",
        prepare,
        "mnist",
        source,
        data_dir=small_disk,
    )
    assert [p.name for p in small_disk.iterdir()] == [".prepare-mnist-lock"]


def test_every_preparable_name_is_known_to_tfds():
    known = tfds.list_builders(with_community_datasets=False)
    assert {name.partition("/")[0] for name in PREPARABLE} - set(known) == {
        name for name, entry in CATALOGUE.items() if entry.features
    }
