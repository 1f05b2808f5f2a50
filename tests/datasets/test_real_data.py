"""The published files: prepared once, read back as TFDS reads them."""

import numpy as np
import pytest

from tfaudit.datasets.catalogue import load_dataset
from tfaudit.datasets.idx import read_idx
from tfaudit.datasets.prepare import prepare

pytestmark = pytest.mark.data


@pytest.fixture(scope="session")
def prepared(real_data, tmp_path_factory):
    """Lays a set down where no test has yet."""
    folder = tmp_path_factory.mktemp("tfds")

    def lay(name):
        prepare(name, real_data / name, data_dir=folder)
        return folder

    return lay


def check_idx(name, prepared, real_data):
    folder = prepared(name)
    for split, stem, count in (("train", "train", 60_000), ("test", "t10k", 10_000)):
        dataset = load_dataset(name, split, data_dir=folder)
        assert (dataset.num_examples, dataset.image_shape, dataset.num_classes) == (count, (28, 28, 1), 10)
        source = next((real_data / name).glob(f"{stem}-images*"))
        images = np.sort(read_idx(source, 3).reshape(count, -1).view("S784").ravel())
        np.testing.assert_array_equal(np.sort(dataset.images.reshape(count, -1).view("S784").ravel()), images)
        assert len(np.unique(dataset.example_ids)) == count
    return dataset


@pytest.mark.slow
def test_fashion_mnist(prepared, real_data):
    test = check_idx("fashion_mnist", prepared, real_data)
    assert test.class_names[:2] == ("T-shirt/top", "Trouser")
    assert np.bincount(test.labels).tolist() == [1000] * 10


@pytest.mark.slow
def test_mnist(prepared, real_data):
    test = check_idx("mnist", prepared, real_data)
    assert np.bincount(test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]


@pytest.mark.slow
def test_cifar10(prepared):
    train = load_dataset("cifar10", "train", data_dir=prepared("cifar10"))
    assert np.bincount(train.labels).tolist() == [5000] * 10
    assert train.class_names[3] == "cat"
    mean, std = train.moments()  # against the figures everyone normalises with
    np.testing.assert_allclose(mean / 255, [0.4914, 0.4822, 0.4465], atol=5e-5)
    np.testing.assert_allclose(std / 255, [0.2470, 0.2435, 0.2616], atol=5e-5)
