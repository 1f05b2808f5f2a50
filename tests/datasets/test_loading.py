import subprocess

import pytest
import tensorflow_datasets as tfds

from tests.builders.refusals import assert_refused
from tfaudit.datasets.builders import data_folder, find_builder, not_prepared
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare
from tfaudit.errors import InputError


def test_configurations_go_by_a_slash(write_metadata, data_sets):
    write_metadata("mnist_corrupted/fog", test=7)
    with tfds.testing.mock_data(num_examples=7, data_dir=str(data_sets)):
        fog = load_dataset("mnist_corrupted/fog", "test")
    assert (fog.name, fog.images.shape) == ("mnist_corrupted/fog", (7, 28, 28, 1))
    assert fog.example_ids[0] == "mnist_corrupted-test.tfrecord-00000-of-00001__0"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("fashion_mnist", "get it with: tfaudit prepare fashion_mnist --from PATH"),
        ("svhn_cropped", r"tfds.builder\('svhn_cropped'\).download_and_prepare\(\)"),
    ],
)
def test_a_set_that_is_not_prepared_names_the_command(name, command):
    assert_refused(command, load_dataset, name, "test")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fashion_mnst", r"such as fashion_mnist.*tfaudit prepare fashion_mnst --from FOLDER"),
        ("mnist_corrupted/fogg", "expected a configuration of 'mnist_corrupted', such as fog"),
        ("mnist/fog", "got 'mnist/fog', expected 'mnist', without one"),
        ("mnist:9.9.9", "expected a version of 'mnist': .*3.0.1"),
        ("../mnist", "expected NAME, NAME/CONFIG or NAME:VERSION"),
        ("huggingface:mnist", "which is no module that can be imported"),
        ("voc/2007", "objects: Sequence.*, expected one feature 'label' of type ClassLabel"),
    ],
)
def test_names_that_cannot_be_loaded(name, message):
    assert_refused(message, load_dataset, name, "test")


def test_a_missing_split_lists_the_others(write_metadata):
    write_metadata("mnist", train=5, test=5)
    for split in ("validation", "test[:x%]", "test[:50%", ""):
        assert_refused(
            r"split: got .*, expected one of 'test', 'train' of 'mnist'",
            load_dataset,
            "mnist",
            split,
        )


def test_a_set_that_lost_examples_is_refused(write_metadata, data_sets):
    write_metadata("mnist", train=5)
    with (
        tfds.testing.mock_data(num_examples=3, data_dir=str(data_sets)),
        pytest.raises(InputError, match="with 3 examples, expected 5, as its description says"),
    ):
        load_dataset("mnist", "train")


@pytest.mark.parametrize(("name", "size"), [("digits", 16), ("cifar10", 0)])
def test_image_sizes_that_cannot_be(name, size):
    assert_refused(f"image_size: got {size}, expected", load_dataset, name, "test", image_size=size)


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", str(tmp_path / "here"))
    assert data_folder() == tmp_path / "here"
    assert data_folder(tmp_path) == tmp_path
    monkeypatch.delenv("TFDS_DATA_DIR")
    assert data_folder().name == "tensorflow_datasets"


def test_a_url_stays_one(monkeypatch):
    monkeypatch.setenv("TFDS_DATA_DIR", "gs://bucket/sets")
    folders = []
    monkeypatch.setattr(tfds, "builder", lambda name, data_dir: folders.append(data_dir))
    find_builder("mnist")
    assert [f"{folder / 'mnist'}" for folder in folders] == ["gs://bucket/sets/mnist"]
    assert "which is not prepared in gs://bucket/sets" in str(not_prepared("name", "mnist"))
    expected = "data_dir: got 'gs://bucket/sets', expected a folder of this machine"
    assert_refused(expected, prepare, "mnist", ".")


@pytest.mark.slow
def test_a_missing_set_fails_fast_and_without_a_word(warm_python, tmp_path):
    script = f"""
import tensorflow, tensorflow_datasets, time, sys
from tfaudit.datasets.loading import load_dataset
print("begin", flush=True); print("begin", file=sys.stderr, flush=True)
start = time.monotonic()
for name in ("cifar10", "no_such_set", "imagenet2012_real"):
    try: load_dataset(name, "test", data_dir={str(tmp_path)!r})
    except ValueError: pass
print(time.monotonic() - start)
"""
    done = subprocess.run([*warm_python, "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr.partition("begin\n")[2] == ""
    assert float(done.stdout.partition("begin\n")[2]) < 5  # no attempt at the network
