import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow_datasets as tfds
from filelock import FileLock

from tfaudit.datasets import loading
from tfaudit.datasets.catalogue import CATALOGUE, PREPARABLE
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.loading import load_dataset
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
    assert steps[-1] == (42, 42)
    assert [p.name for p in (tmp_path / "d").iterdir() if p.is_dir()] == ["mnist"]
    images = read_idx(small_mnist / "train-images-idx3-ubyte.gz", 3)
    labels = read_idx(small_mnist / "train-labels-idx1-ubyte.gz", 1)
    assert sorted(zip(map(bytes, train.images), train.labels, strict=True)) == sorted(
        zip(map(bytes, images), labels, strict=True)
    )
    assert len(set(train.example_ids)) == 30


def test_tfds_itself_reads_the_set(tmp_path, small_mnist):
    prepare("mnist", small_mnist, data_dir=tmp_path)
    ours = load_dataset("mnist", "test", data_dir=tmp_path)
    theirs = tfds.load("mnist", split="test", data_dir=tmp_path, download=False, batch_size=-1)
    np.testing.assert_array_equal(ours.images, theirs["image"])
    np.testing.assert_array_equal(ours.labels, theirs["label"])
    half = load_dataset("mnist:3.0.1", "test[:50%]", data_dir=tmp_path)
    np.testing.assert_array_equal(half.labels, ours.labels[:6])


def test_cifar10_binary_becomes_the_tfds_set(tmp_path, small_cifar):
    prepare("cifar10", small_cifar, data_dir=tmp_path)
    train = load_dataset("cifar10", "train", data_dir=tmp_path)
    assert train.num_examples == 20
    assert train.class_names[:4] == ("airplane", "automobile", "bird", "cat")
    assert sorted(train.example_ids) == [f"train_{i:05d}" for i in range(20)]
    for name, label in zip(train.example_ids, train.labels, strict=True):
        assert int(name[-5:]) % 4 == label
    np.testing.assert_array_equal(train.images, np.broadcast_to(np.arange(3), train.images.shape))


@pytest.mark.slow
def test_a_stream_and_memory_hold_the_same(tmp_path, small_cifar, monkeypatch):
    prepare("cifar10", small_cifar, data_dir=tmp_path)
    memory = load_dataset("cifar10", "train", data_dir=tmp_path)
    monkeypatch.setattr(loading, "IN_MEMORY_BYTES", 0)
    stream = load_dataset("cifar10", "train", data_dir=tmp_path)
    assert not stream.in_memory
    np.testing.assert_array_equal(stream.labels, memory.labels)
    np.testing.assert_array_equal(stream.example_ids, memory.example_ids)
    images, labels = next(iter(stream.batches(20)))
    np.testing.assert_array_equal(images, memory.images)
    np.testing.assert_array_equal(labels, memory.labels)
    np.testing.assert_array_equal(stream.head(3), memory.head(3))


def test_emnist_has_its_own_file_names(tmp_path, small_mnist):
    for path in sorted(small_mnist.iterdir()):
        path.rename(small_mnist / f"emnist-letters-{path.name.replace('t10k', 'test')}")
    prepare("emnist/letters", small_mnist, data_dir=tmp_path)
    letters = load_dataset("emnist/letters", "test", data_dir=tmp_path)
    assert (letters.num_examples, letters.num_classes) == (12, 37)


def test_a_prepared_set_is_left_alone(tmp_path, small_mnist):
    first = prepare("mnist", small_mnist, data_dir=tmp_path)
    before = {p: p.stat().st_mtime_ns for p in first.iterdir()}
    assert prepare("mnist", tmp_path / "gone", data_dir=tmp_path) == first
    assert {p: p.stat().st_mtime_ns for p in first.iterdir()} == before


def test_same_files_same_bytes(tmp_path, small_mnist):
    one, two = (prepare("mnist", small_mnist, data_dir=tmp_path / name) for name in "ab")
    for path in one.glob("*.tfrecord*"):
        assert path.read_bytes() == (two / path.name).read_bytes()


@pytest.mark.parametrize("name", ["train-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte"])
def test_missing_files_are_named(tmp_path, small_mnist, name):
    (small_mnist / name).unlink()
    with pytest.raises(
        InputError, match=f"a folder without {name.partition('-idx')[0]}, expected IDX files"
    ):
        prepare("mnist", small_mnist, data_dir=tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_idx_files_that_do_not_fit(tmp_path, small_mnist, write_idx):
    labels = small_mnist / "t10k-labels-idx1-ubyte"
    write_idx(labels, np.zeros(11))
    with pytest.raises(InputError, match="split 'test': got 12 images and 11 labels"):
        prepare("mnist", small_mnist, data_dir=tmp_path / "d")
    write_idx(labels, np.full(12, 10))
    with pytest.raises(InputError, match="split 'test': got label 10, expected labels 0 to 9"):
        prepare("mnist", small_mnist, data_dir=tmp_path / "d")
    write_idx(small_mnist / "t10k-images-idx3-ubyte", np.zeros((12, 8, 8)))
    with pytest.raises(InputError, match=r"got images .8, 8, 1., expected images .28, 28, 1."):
        prepare("mnist", small_mnist, data_dir=tmp_path / "d")
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda f: (f / "data_batch_3.bin").unlink(),
            "without data_batch_3.bin, expected the files of",
        ),
        (
            lambda f: (f / "test_batch.bin").write_bytes(b"\0" * 3072),
            "got 3072 bytes, expected a multiple of 3073",
        ),
        (lambda f: (f / "test_batch.bin").write_bytes(b""), "test_batch.bin: got 0 bytes"),
        (
            lambda f: (f / "test_batch.bin").write_bytes(b"\x0a" + b"\0" * 3072),
            "got label 10, expected labels 0 to 9",
        ),
        (
            lambda f: (f / "batches.meta.txt").write_text("cat\ndog\n"),
            "meta.txt: got 2 class names, expected 10",
        ),
    ],
)
def test_cifar_files_that_do_not_fit(tmp_path, small_cifar, change, message):
    change(small_cifar)
    with pytest.raises(InputError, match=message):
        prepare("cifar10", small_cifar, data_dir=tmp_path / "d")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits", "expected a new name"),
        ("My Set", "expected a new name"),
        ("../x", "expected a new name"),
        ("imagenet2012", r"which TFDS prepares: python -c .*builder\('imagenet2012'\)"),
    ],
)
def test_names_that_are_not_to_be_had(tmp_path, name, message):
    with pytest.raises(InputError, match=message):
        prepare(name, tmp_path, data_dir=tmp_path / "d")


def test_a_source_that_is_no_folder(tmp_path):
    with pytest.raises(InputError, match=r"source: got '.*nowhere', expected a folder"):
        prepare("mnist", tmp_path / "nowhere", data_dir=tmp_path / "d")


def test_a_folder_that_cannot_be_written(tmp_path, small_mnist):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        InputError, match=r"data_dir: got .*mnist.*, which cannot be written .*Not a directory"
    ):
        prepare("mnist", small_mnist, data_dir=tmp_path / "file" / "d")


def test_another_process_at_work(tmp_path, small_mnist):
    with (
        FileLock(tmp_path / ".prepare-mnist-lock"),
        pytest.raises(InputError, match=r"'mnist', which another process is preparing in"),
    ):
        prepare("mnist", small_mnist, data_dir=tmp_path)


def interrupted(done, total):
    raise KeyboardInterrupt


def test_an_interrupt_leaves_nothing(tmp_path, small_mnist):
    with pytest.raises(KeyboardInterrupt):
        prepare("mnist", small_mnist, data_dir=tmp_path / "d", progress=interrupted)
    assert [p.name for p in (tmp_path / "d").iterdir()] == [".prepare-mnist-lock"]


@pytest.mark.slow
def test_a_kill_leaves_nothing_that_loads(tmp_path, small_mnist):
    script = """
import sys, time
from tfaudit.datasets.prepare import prepare
def stop(done, total):
    print("writing", flush=True); time.sleep(60)
prepare("mnist", sys.argv[1], data_dir=sys.argv[2], progress=stop)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(small_mnist), str(tmp_path / "d")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout.readline() == "writing\n"
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    leftover = [p for p in (tmp_path / "d").iterdir() if p.is_dir()]
    assert len(leftover) == 1
    with pytest.raises(InputError, match="which is not prepared"):
        load_dataset("mnist", "test", data_dir=tmp_path / "d")
    prepare("mnist", small_mnist, data_dir=tmp_path / "d")
    assert not leftover[0].exists()
    assert load_dataset("mnist", "test", data_dir=tmp_path / "d").num_examples == 12


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 200 kB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", folder], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("no right to mount a tmpfs")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_one_line(small_disk, tmp_path, write_idx):
    source = tmp_path / "big"
    source.mkdir()
    for stem in ("train", "t10k"):
        noise = np.random.default_rng(0).integers(0, 256, (600, 28, 28))
        write_idx(source / f"{stem}-images-idx3-ubyte", noise)
        write_idx(source / f"{stem}-labels-idx1-ubyte", np.zeros(600))
    with pytest.raises(
        InputError, match=r"which cannot be written .*No space left on device"
    ) as error:
        prepare("mnist", source, data_dir=small_disk)
    assert "\n" not in str(error.value)
    assert [p.name for p in small_disk.iterdir()] == [".prepare-mnist-lock"]


def test_every_preparable_name_is_known_to_tfds():
    known = tfds.list_builders(with_community_datasets=False)
    assert {name.partition("/")[0] for name in PREPARABLE} - set(known) == {
        name for name, entry in CATALOGUE.items() if entry.features
    }
