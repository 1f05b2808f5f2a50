"""The published files: prepared once, read back as TFDS reads them."""

import numpy as np
import pytest

from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.loading import load_dataset
from tfaudit.datasets.prepare import prepare

pytestmark = pytest.mark.data


@pytest.fixture(scope="session")
def prepared(real_data, tmp_path_factory):
    """Prepares a data set in an empty folder."""
    folder = tmp_path_factory.mktemp("tfds")

    def prepared_folder(name):
        prepare(name, real_data / name, data_dir=folder)
        return folder

    return prepared_folder


@pytest.mark.slow
def test_fashion_mnist(prepared, real_data):
    folder = prepared("fashion_mnist")
    for split, stem, count in (("train", "train", 60_000), ("test", "t10k", 10_000)):
        dataset = load_dataset("fashion_mnist", split, data_dir=folder)
        assert (dataset.num_examples, dataset.image_shape, dataset.num_classes) == (count, (28, 28, 1), 10)
        source = read_idx(real_data / "fashion_mnist" / f"{stem}-images-idx3-ubyte.gz", 3)
        rows = [np.sort(images.reshape(count, -1).view("S784").ravel()) for images in (source, dataset.images)]
        np.testing.assert_array_equal(*rows)
        assert len(np.unique(dataset.example_ids)) == count
    assert dataset.class_names[:2] == ("T-shirt/top", "Trouser")
    assert np.bincount(dataset.labels).tolist() == [1000] * 10


def test_mnist_files(real_data):
    labels = read_idx(real_data / "mnist" / "t10k-labels-idx1-ubyte", 1)
    assert np.bincount(labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert read_idx(real_data / "mnist" / "train-images-idx3-ubyte", 3).shape == (60_000, 28, 28)


@pytest.mark.slow
def test_cifar10(prepared):
    train = load_dataset("cifar10", "train", data_dir=prepared("cifar10"))
    assert np.bincount(train.labels).tolist() == [5000] * 10
    assert train.class_names[3] == "cat"
    mean, std = train.moments()  # against the figures everyone normalises with
    np.testing.assert_allclose(mean / 255, [0.4914, 0.4822, 0.4465], atol=5e-5)
    np.testing.assert_allclose(std / 255, [0.2470, 0.2435, 0.2616], atol=5e-5)


@pytest.mark.slow
def test_qmnist_knows_the_writers_of_mnist(real_data, tmp_path):
    for place in (*(real_data / "mnist").iterdir(), *(real_data / "qmnist").glob("*.tsv.gz")):
        (tmp_path / place.name).symlink_to(place)
    prepare("qmnist", tmp_path, data_dir=tmp_path / "tfds")
    test = load_dataset("qmnist", "test", data_dir=tmp_path / "tfds")
    assert test.groups["writer"].nunique() == 297
    assert test.groups["series"].value_counts().to_dict() == {"hsf4": 5001, "hsf0": 4999}
