"""The published files: prepared once, read back as TFDS reads them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from tfaudit.datasets.builders import find_builder
from tfaudit.datasets.cifar import cifar10_files
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare
from tfaudit.recipes._qmnist import qmnist_files

pytestmark = pytest.mark.data


@pytest.mark.slow
def test_fashion_mnist(real_data, tmp_path, write_idx):
    """All published images are read, and the test set and the first 6,000 training images prepared."""
    files, sources = tmp_path / "files", {}
    files.mkdir()
    for split, stem, whole, count in (
        ("train", "train", 60_000, 6_000),
        ("test", "t10k", 10_000, 10_000),
    ):
        for kind, dimensions in (("images-idx3", 3), ("labels-idx1", 1)):
            name = f"{stem}-{kind}-ubyte.gz"
            values = read_idx(real_data / "fashion_mnist" / name, dimensions)
            assert len(values) == whole
            write_idx(files / name, values[:count])
            sources[split, dimensions] = values[:count]
    prepare("fashion_mnist", files)
    for split, count in (("train", 6_000), ("test", 10_000)):
        dataset = load_dataset("fashion_mnist", split)
        assert dataset.images.shape == (count, 28, 28, 1)
        rows = [
            np.sort(images.reshape(count, -1).view("S784").ravel())
            for images in (sources[split, 3], dataset.images)
        ]
        assert_array_equal(*rows)
        assert (np.bincount(dataset.labels) == np.bincount(sources[split, 1])).all()
        assert len(np.unique(dataset.example_ids)) == count
    assert dataset.class_names[:2] == ("T-shirt/top", "Trouser")
    assert np.bincount(dataset.labels).tolist() == [1000] * 10


def test_mnist_files(real_data):
    labels = read_idx(real_data / "mnist" / "t10k-labels-idx1-ubyte", 1)
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


def moments(images):
    """Mean and standard deviation of each channel, from its histogram: 150 million values need no floats."""
    shares = [
        np.bincount(images[..., channel].ravel(), minlength=256) / images[..., 0].size
        for channel in range(3)
    ]
    means = np.array([share @ np.arange(256) for share in shares])
    return means, np.sqrt(
        [share @ (np.arange(256) - mean) ** 2 for share, mean in zip(shares, means, strict=True)]
    )


@pytest.mark.slow
def test_cifar10(real_data, tmp_path):
    """All published images are read."""
    read = cifar10_files(real_data / "cifar10", find_builder("cifar10", tmp_path)).splits["train"]
    images, labels = zip(*((one["image"], one["label"]) for _, one in read), strict=True)
    assert np.bincount(labels).tolist() == [5000] * 10
    mean, std = moments(np.stack(images))  # against the figures everyone normalises with
    assert_allclose(mean / 255, [0.4914, 0.4822, 0.4465], atol=5e-5)
    assert_allclose(std / 255, [0.2470, 0.2435, 0.2616], atol=5e-5)


@pytest.mark.slow
def test_qmnist_knows_the_writers_of_mnist(real_data, tmp_path, write_idx):
    """All published files are read, and the test set and the first 1,000 training images prepared."""
    for place in (*(real_data / "mnist").iterdir(), *(real_data / "qmnist").glob("*.tsv.gz")):
        (tmp_path / place.name).symlink_to(place)
    qmnist_files(tmp_path)  # whose labels agree with MNIST's
    for kind, dimensions in (("images-idx3", 3), ("labels-idx1", 1)):
        file = tmp_path / f"train-{kind}-ubyte"
        values = read_idx(file, dimensions)
        assert len(values) == 60_000
        file.unlink()
        write_idx(file, values[:1_000])
    prepare("qmnist", tmp_path)
    test = load_dataset("qmnist", "test")
    assert test.groups["writer"].nunique() == 297
    assert test.groups["series"].value_counts().to_dict() == {"hsf4": 5001, "hsf0": 4999}
